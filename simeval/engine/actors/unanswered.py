"""An app that never answered: every conversation ended at its first turn, so nothing is known of the app."""

import re
from collections import Counter
from dataclasses import dataclass, field

from simeval.core.counted import counted_of
from simeval.core.logs import warn_all
from simeval.core.trial import Judgement
from simeval.engine.actors.silence import Silence
from simeval.results.failures import kind_of, without_turn

_CHANGING = re.compile(r"\d+")  # the parts in which equal errors may differ
FIRST_FEW = 5  # conversations before the warning
GIVEN_UP = 10  # conversations after which no further one is held
SHOWN_KINDS = 3  # of errors


@dataclass(slots=True)
class Unanswered:
    """Checks whether an app has answered anything by now, and warns once if the first few conversations got none.

    Its `silence` shows whether it answers in conversations in progress.
    """

    who: str = "your app"
    asked: str = "conversation"  # the noun of its count
    silence: Silence | None = None
    taken: int = 0
    has_answered: bool = False
    _new: int = 0
    _kinds: Counter[str] = field(default_factory=Counter)
    _errors: dict[str, str] = field(default_factory=dict)  # the first error of each kind

    def take(self, judgement: Judgement, *, is_recalled: bool = False) -> None:
        """Check one more trial that counts; a recalled one was held by an earlier attempt."""
        failure = judgement.failure
        self.taken += 1
        self._new += not is_recalled
        if failure is None or failure.stage not in ("app", "app_access") or judgement.conversation.responses:
            self.has_answered = True
            return
        kind = _CHANGING.sub("#", kind_of(failure.error))
        self._kinds[kind] += 1
        self._errors.setdefault(kind, without_turn(failure.error))
        if self.taken == FIRST_FEW and self.said and not self._is_answering:
            warn_all(f"{self.who} has not answered once in {counted_of(self.taken, self.asked)}: {self._causes}")

    @property
    def said(self) -> str:
        """Return why nothing can be concluded, if the app never answered; else ""."""
        if self.has_answered or not self._kinds:
            return ""
        return f"{self.who} never answered in {counted_of(self.taken, self.asked)}: {self._causes}"

    @property
    def is_given_up(self) -> bool:
        """Whether it has been asked often enough to hold no further conversation."""
        return self._new >= GIVEN_UP and bool(self.said) and self.silence is not None and not self._is_answering

    @property
    def _is_answering(self) -> bool:
        return self.silence is not None and self.silence.has_answered

    @property
    def _causes(self) -> str:
        """Name the errors, each kind with its count, if there are several."""
        if len(self._kinds) == 1:
            return next(iter(self._errors.values()))
        shown = [f"{times} x {self._errors[kind]}" for kind, times in self._kinds.most_common(SHOWN_KINDS)]
        more = len(self._kinds) - len(shown)
        return "; ".join([*shown, *([f"and {counted_of(more, 'other kind')}"] if more else [])])
