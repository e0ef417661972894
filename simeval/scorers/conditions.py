"""Conditions on JSON values: equal to one, or by operators; and the value at a path with dots."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from simeval.core.conversation import Conversation
from simeval.core.trial import Score
from simeval.core.validation import nearest, require
from simeval.errors import DefinitionError, NotMeasured
from simeval.scorers.base import ColumnScorer
from simeval.scorers.values import folded, is_array, same, shown, stands_in

ABSENT: Any = object()  # the value at a path that has none
EACH = "*"  # in a path: every part of a list or a mapping


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _contains(found: Any, part: Any) -> bool:
    if isinstance(found, str):
        return isinstance(part, str) and stands_in(folded(part), folded(found))
    if isinstance(found, Mapping):
        return isinstance(part, str) and part in found
    return is_array(found) and any(same(each, part) for each in found)


def _has_count(found: Any, wanted: Any) -> bool:
    return (is_array(found) or isinstance(found, Mapping)) and holds(wanted, len(found))


def _adds_up_to(found: Any, wanted: Any) -> bool:
    """Return whether the sum of numbers fulfils a condition; it is rounded as money is, to what a float can hold."""
    is_sum = is_array(found) and all(map(_is_number, found))
    return is_sum and holds(wanted, round(sum(found), _DECIMALS))


_DECIMALS = 9  # of a sum: 0.1 + 0.2 is 0.3
_AGGREGATES = ("count", "sum")
_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "equals": same,
    "is_not": lambda found, wanted: not same(found, wanted),
    "one_of": lambda found, wanted: any(same(found, each) for each in wanted),
    "contains": _contains,
    "matches": lambda found, pattern: isinstance(found, str) and re.search(pattern, found) is not None,
    "at_least": lambda found, bar: _is_number(found) and found >= bar,
    "at_most": lambda found, bar: _is_number(found) and found <= bar,
    "count": _has_count,
    "sum": _adds_up_to,
}


def require_condition(condition: object, where: str) -> None:
    """Raise DefinitionError for operators that cannot be used; a mapping without any is a value."""
    if not _has_operators(condition):
        return
    for name, wanted in condition.items():
        at = f"{where}.{name}"
        require(name in _OPERATORS, at, found=name, do=f"{nearest(str(name), [*_OPERATORS])}; or write equals: {{...}}")
        if name == "one_of":
            require(is_array(wanted), at, found=wanted, do="give a list of values")
        if name in ("at_least", "at_most"):
            require(_is_number(wanted), at, found=wanted, do="give a number")
        if name == "matches":
            _require_pattern(wanted, at)
        if name in _AGGREGATES:
            require(_is_number(wanted) or _has_operators(wanted), at, found=wanted, do="give a number, or {at_most: 1}")
            require_condition(wanted, at)


def _require_pattern(pattern: object, where: str) -> None:
    require(isinstance(pattern, str), where, found=pattern, do="give a regular expression as a text")
    try:
        re.compile(str(pattern))
    except re.error as error:
        raise DefinitionError(where, found=f"{pattern!r} is no regular expression ({error})", do="correct it") from None


def holds(condition: object, found: object) -> bool:
    """Return whether a value fulfils a condition; nothing at all is as null, and fulfils no operator but `is_not`."""
    value = None if found is ABSENT else found
    if not _has_operators(condition):
        return same(value, condition)
    return all(_OPERATORS[name](value, wanted) for name, wanted in condition.items())


def show_condition(condition: object) -> str:
    """Return a condition in words, for a reason."""
    if not _has_operators(condition):
        return shown(condition)
    shows = {name: show_condition if name in _AGGREGATES else shown for name in condition}
    return " and ".join(f"{name} {shows[name](wanted)}" for name, wanted in condition.items())


def show_found(found: object) -> str:
    """Return a value for a reason; "nothing" if there is no value."""
    return "nothing" if found is ABSENT else shown(found)


def value_at(found: Any, path: str) -> Any:
    """Return the value at a path with dots, also through places of lists and names that have dots; else ABSENT.

    Of each part (*) of a list or a mapping it is the flat list of the values that exist.
    """
    return _at(found, path.split("."))


def _at(found: Any, parts: Sequence[str]) -> Any:
    if not parts:
        return found
    if parts[0] == EACH and (is_array(found) or isinstance(found, Mapping)) and not _is_named(EACH, found):
        values = found.values() if isinstance(found, Mapping) else found
        below = [value for each in values if (value := _at(each, parts[1:])) is not ABSENT]
        return [value for each in below for value in each] if EACH in parts[1:] else below
    if is_array(found):
        place = int(parts[0]) if parts[0].isdecimal() else len(found)
        return _at(found[place], parts[1:]) if place < len(found) else ABSENT
    if not isinstance(found, Mapping):
        return ABSENT
    by_text = {str(key): value for key, value in found.items()}
    for length in range(1, len(parts) + 1):
        name = ".".join(parts[:length])
        if name in by_text and (inner := _at(by_text[name], parts[length:])) is not ABSENT:
            return inner
    return ABSENT


def _is_named(name: str, found: Any) -> bool:
    return isinstance(found, Mapping) and name in found


def _has_operators(condition: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(condition, Mapping) and any(name in _OPERATORS for name in condition)


@dataclass(kw_only=True, eq=False)
class StateMatch(ColumnScorer):
    """Whether the state of a trial's world matches `state`, {path with dots: value, or operators}.

    `null` is met by null and by an absent value. An unmeasured part proves nothing: if all known parts agree and
    another is unknown, there is no score. With `always` the state is to match after each of the app's answers too.
    """

    state: Mapping[str, Any] = field(default_factory=dict)
    always: bool | None = None

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
        looks = self._looks(conversation)
        for when, found in looks:
            if wrong := dict(self._wrong(found["state"], found["unmeasured"])):
                reason = "; ".join(
                    f"{path} is {show_found(value)}, not {show_condition(self.state[path])}"
                    for path, value in wrong.items()
                )
                details = {"state": {path: show_found(each) for path, each in wrong.items()}}
                return Score(value=0.0, reasoning=f"{when}{reason}", details=details)
        if unknown := [why for _, found in looks for path in self.state for why in _unknown(path, found["unmeasured"])]:
            raise NotMeasured(f"the state of the world could not be measured: {unknown[0]}")
        return Score(value=1.0, reasoning="", details={"state": {}})

    def _looks(self, conversation: Conversation) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """Return the states to match, each with the words for its time. Raises NotMeasured if there is none."""
        last = conversation.world
        if last is None:
            raise NotMeasured("no world was looked at when the conversation was over")
        turns = conversation.worlds if self.always else ()
        return [*((f"after turn {turn}: ", each) for turn, each in enumerate(turns, 1)), ("", last)]

    def _wrong(self, state: Any, unmeasured: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
        for path, condition in self.state.items():
            if not any(_unknown(path, unmeasured)) and not holds(condition, found := value_at(state, path)):
                yield path, found


def _unknown(path: str, unmeasured: Mapping[str, str]) -> Iterator[str]:
    """Yield why a path is not known: it is in a part that is unknown, or has one in it; * has each part in it."""
    wanted = path.split(".")
    for part, why in unmeasured.items():
        if not part or all(one in (EACH, other) for one, other in zip(wanted, part.split("."), strict=False)):
            yield why
