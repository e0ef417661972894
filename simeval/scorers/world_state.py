"""Compare the state of a trial's world after its conversation with the required one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from simeval.core.conversation import Conversation
from simeval.core.trial import Score
from simeval.core.validation import require
from simeval.errors import NotMeasured
from simeval.scorers.base import ColumnScorer
from simeval.scorers.conditions import holds, require_condition, show_condition, show_found, value_at


@dataclass(kw_only=True, eq=False)
class StateMatch(ColumnScorer):
    """Whether the state of a trial's world matches `state`, {path with dots: value, or operators}.

    `null` is met by null and by an absent value. An unmeasured part proves nothing: if all known parts agree and
    another is unknown, there is no score.
    """

    state: Mapping[str, Any] = field(default_factory=dict)

    direction = "higher"
    gives_ratings = False
    quick = True

    def __post_init__(self) -> None:
        self.name = self.name or "state"
        super().__post_init__()
        usable = isinstance(self.state, Mapping) and len(self.state) > 0
        do = "give paths and values, such as {orders.F1001.status: refunded}"
        require(usable, "state", found=self.state, do=do)
        for path, condition in self.state.items():
            require(isinstance(path, str) and all(path.split(".")), "state", found=path, do=do)
            require_condition(condition, f"state.{path}")

    def score(self, conversation: Conversation) -> Score:
        """Return 1 if the state matches, else 0 with the differences in the details under "state".

        Raises NotMeasured if it is unknown.
        """
        found = conversation.world
        if found is None:
            raise NotMeasured("no world was looked at when the conversation was over")
        wrong, unmeasured = dict(self._wrong(found["state"], found["unmeasured"])), found["unmeasured"]
        if not wrong and (unknown := [why for path in self.state for why in _unknown(path, unmeasured)]):
            raise NotMeasured(f"the state of the world could not be measured: {unknown[0]}")
        reason = "; ".join(
            f"{path} is {show_found(value)}, not {show_condition(self.state[path])}" for path, value in wrong.items()
        )
        details = {"state": {path: show_found(each) for path, each in wrong.items()}}
        return Score(value=float(not wrong), reasoning=reason, details=details)

    def _wrong(self, state: Any, unmeasured: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
        for path, condition in self.state.items():
            if not any(_unknown(path, unmeasured)) and not holds(condition, found := value_at(state, path)):
                yield path, found


def _unknown(path: str, unmeasured: Mapping[str, str]) -> Iterator[str]:
    """Yield why a path is not known: it is in a part that is unknown, or has one in it."""
    for part, why in unmeasured.items():
        if not part or f"{path}.".startswith(f"{part}.") or part.startswith(f"{path}."):
            yield why
