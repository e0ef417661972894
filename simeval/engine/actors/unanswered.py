"""An app that never answered: each conversation failed at its first turn, in one way, so nothing is known of it."""

import re
from dataclasses import dataclass, field

from simeval.core.logs import warn_all
from simeval.core.trial import Judgement
from simeval.results.text import counted_of

FIRST_FEW = 5  # conversations after which it is told
_CHANGING = re.compile(r"\d+")  # what may differ between errors that are one
# what an app sent, which its failure quotes: it may repeat what it was asked
_SENT = re.compile(r"(?<=HTTP \d{3}): .*|(?<= of its answer) .*|(?<= in its answer) .*|(?<= JSON or text): .*")
# an exception of the app's own code: its kind and the line where it was raised, whatever it says of what was asked
_RAISED = re.compile(r"^(\w+): .*( \([^()]*:\d+ in [^()]*\))$", re.DOTALL)
_LINE = re.compile(r":\d+ in ")  # of a file of the app, where it raised
_TURN = re.compile(r"^the app failed at turn \d+: ")


@dataclass(slots=True)
class Unanswered:
    """Looks whether an app has answered anything by now, and warns once where the first few conversations got none."""

    who: str = "your app"
    taken: int = 0
    has_answered: bool = False
    causes: dict[str, str] = field(default_factory=dict)

    def take(self, judgement: Judgement) -> None:
        """Look at one more trial that counts."""
        failure = judgement.failure
        self.taken += 1
        if failure is None or failure.stage != "app" or judgement.conversation.responses:
            self.has_answered = True
            return
        cause = _RAISED.sub(r"\1\2", _SENT.sub("", _TURN.sub("", failure.error)))
        self.causes.setdefault(_CHANGING.sub("#", cause), failure.error)
        if self.taken == FIRST_FEW and self.said:
            warn_all(f"{self.who} has not answered once in {self.taken} conversations: {self._cause}")

    @property
    def said(self) -> str:
        """What keeps everything from being concluded, where all trials failed so; else nothing."""
        if self.has_answered or len(self.causes) != 1:
            return ""
        more = " (--log-level debug shows the traceback)" if _LINE.search(self._cause) else ""
        return f"{self.who} never answered in {counted_of(self.taken, 'conversation')}: {self._cause}{more}"

    @property
    def _cause(self) -> str:
        return _TURN.sub("", next(iter(self.causes.values())))
