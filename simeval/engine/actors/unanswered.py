"""An app that never answered: each conversation failed at its first turn, in one way, so nothing is known of it."""

import re
from dataclasses import dataclass, field

from simeval.core.counted import counted_of
from simeval.core.logs import warn_all
from simeval.core.trial import Judgement
from simeval.engine.actors.silence import Silence
from simeval.results.failures import kind_of, without_turn

_CHANGING = re.compile(r"\d+")  # what may differ between errors that are one
FIRST_FEW = 5  # conversations after which it is told


@dataclass(slots=True)
class Unanswered:
    """Looks whether an app has answered anything by now, and warns once where the first few conversations got none.

    It is known by its `silence` to answer in conversations that are under way.
    """

    who: str = "your app"
    asked: str = "conversation"  # as what it is counted
    silence: Silence | None = None
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
        self.causes.setdefault(_CHANGING.sub("#", kind_of(failure.error)), failure.error)
        is_answering = self.silence is not None and self.silence.has_answered
        if self.taken == FIRST_FEW and self.said and not is_answering:
            warn_all(f"{self.who} has not answered once in {counted_of(self.taken, self.asked)}: {self._cause}")

    @property
    def said(self) -> str:
        """What keeps everything from being concluded, where all trials failed so; else nothing."""
        if self.has_answered or len(self.causes) != 1:
            return ""
        return f"{self.who} never answered in {counted_of(self.taken, self.asked)}: {self._cause}"

    @property
    def _cause(self) -> str:
        return without_turn(next(iter(self.causes.values())))
