"""Compare tool calls with a reference: which tools the app called, with which arguments, in which order."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from simeval.core.conversation import Conversation
from simeval.core.validation import require_one_of
from simeval.errors import DefinitionError
from simeval.scorers.base import ColumnScorer
from simeval.scorers.values import given, is_array, same, shown

Mode = Literal["strict", "unordered", "subset", "superset"]
Arguments = Literal["exact", "ignore", "subset", "superset"]

NAMES = ("name", "function", "tool")
ARGUMENTS = ("arguments", "args", "input", "parameters")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call: the tool's name and its arguments, a mapping if they could be read as one."""

    name: str
    arguments: Any

    def __str__(self) -> str:
        return f"{self.name}({shown(self.arguments)})"


@dataclass(kw_only=True, eq=False)
class ToolCallMatch(ColumnScorer):
    """Whether the calls of a conversation match the reference, a list of calls; text does not count.

    `mode`: "strict", the same calls in the same order; "unordered", the same in any order; "subset", none beside those
    of the reference; "superset", none of them missing. `argument_mode`: "exact", the same; "ignore"; "subset", no
    argument beside the reference's; "superset", none of them missing. `overrides` sets this for single tools: one of
    these words, or the names of the arguments that count.

    A call is {"name", "arguments"}, or that under "function"; "args" and "input" are understood, and arguments as JSON
    text. Each call matches at most one of the other side, paired so that as many as possible match.
    """

    gives_ratings = False
    mode: Mode = "strict"
    argument_mode: Arguments = "exact"
    overrides: Mapping[str, Arguments | Sequence[str]] = field(default_factory=dict)

    default_score = "match"
    paths = ("match",)
    direction = "higher"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_one_of(self.mode, get_args(Mode), "ToolCallMatch.mode")
        require_one_of(self.argument_mode, get_args(Arguments), "ToolCallMatch.argument_mode")
        for tool, rule in self.overrides.items():
            if isinstance(rule, str):
                require_one_of(rule, get_args(Arguments), f"ToolCallMatch.overrides[{tool!r}]")

    def score(self, conversation: Conversation, reference: Any, reference_tool_calls: Any = None) -> Mapping[str, Any]:
        """Return whether they match, and the first that does not.

        Of a recorded dialogue that is replayed, `reference_tool_calls` are the calls of the last turn, which those of
        the last answer are matched with. Raises DefinitionError for anything but a list of calls.
        """
        is_turn = reference_tool_calls is not None
        wanted = given(reference_tool_calls if is_turn else reference, self.name)
        wanted = read_calls(wanted, scorer=self.name, whose="the reference")
        last = conversation.responses[-1:] if is_turn else conversation.responses
        found = calls_made(replace(conversation, messages=last), scorer=self.name)
        problem = self._in_order(found, wanted) if self.mode == "strict" else self._in_any_order(found, wanted)
        return {"match": not problem, "reason": problem}

    def _in_order(self, found: Sequence[ToolCall], wanted: Sequence[ToolCall]) -> str:
        for place, (call, expected) in enumerate(zip(found, wanted, strict=False), 1):
            if not self._matches(call, expected):
                return f"call {place} is {call}, not {expected}"
        if len(found) > len(wanted):
            return f"call {len(wanted) + 1} is not wanted: {found[len(wanted)]}"
        return f"call {len(found) + 1} is missing: {wanted[len(found)]}" if len(wanted) > len(found) else ""

    def _in_any_order(self, found: Sequence[ToolCall], wanted: Sequence[ToolCall]) -> str:
        partner = _pairing(len(found), len(wanted), lambda at, to: self._matches(found[at], wanted[to]))
        extra = [call for at, call in enumerate(found) if at not in partner.values()]
        missing = [call for at, call in enumerate(wanted) if at not in partner]
        if missing and self.mode != "subset":
            return f"{len(missing)} missing, first {missing[0]}"
        return f"{len(extra)} not wanted, first {extra[0]}" if extra and self.mode != "superset" else ""

    def _matches(self, call: ToolCall, wanted: ToolCall) -> bool:
        if call.name != wanted.name:
            return False
        return _arguments_match(call.arguments, wanted.arguments, self.overrides.get(call.name, self.argument_mode))


def calls_made(conversation: Conversation, *, scorer: str) -> list[ToolCall]:
    """Return the calls that the app made, in order.

    Raises DefinitionError if it reports something as a call that is none.
    """
    made = [call for message in conversation.responses for call in message.tool_calls]
    return read_calls(made, scorer=scorer, whose="the conversation")


def read_calls(calls: object, *, scorer: str, whose: str) -> list[ToolCall]:
    """Return calls in any of the forms in use. Raises DefinitionError for anything but a list of them."""
    read = [_call(each) for each in calls] if is_array(calls) else [None]
    if None in read:
        found = f"{whose} holds {calls!r:.120}"
        raise DefinitionError(f"scorer {scorer}", found=found, do="give a list of calls with name and arguments")
    return [call for call in read if call is not None]


def _call(found: object) -> ToolCall | None:
    """Return the call in one of the forms in use; None for anything else."""
    if not isinstance(found, Mapping):
        return None
    inner = found.get("function")
    if isinstance(inner, Mapping):
        return _call(inner)
    name = next((found[key] for key in NAMES if isinstance(found.get(key), str)), None)
    arguments: Any = next((found[key] for key in ARGUMENTS if found.get(key) is not None), {})
    return None if name is None else ToolCall(name, _read(arguments))


def _read(arguments: Any) -> Any:
    """Return arguments as a mapping; as they are if they are no JSON text."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments


def _arguments_match(found: Any, wanted: Any, rule: Arguments | Sequence[str]) -> bool:
    if rule == "ignore":
        return True
    if rule == "exact" or not (isinstance(found, Mapping) and isinstance(wanted, Mapping)):
        return same(found, wanted)
    if isinstance(rule, str):
        keys = list(wanted if rule == "superset" else found)
        return all(key in found and key in wanted and same(found[key], wanted[key]) for key in keys)
    return all((key in found) == (key in wanted) and same(found.get(key), wanted.get(key)) for key in rule)


def _pairing(n_found: int, n_wanted: int, matches: Callable[[int, int], bool]) -> dict[int, int]:
    """Return a largest pairing, {wanted: found}, by looking for paths along which one more can be paired (H. W. Kuhn).

    Taking the first that fits can miss one: a call that fits two must leave one of them to a call that fits only that.
    """
    fits = [[to for to in range(n_wanted) if matches(at, to)] for at in range(n_found)]
    partner: dict[int, int] = {}

    def pair(at: int, tried: set[int]) -> bool:
        for to in fits[at]:
            if to in tried:
                continue
            tried.add(to)
            if to not in partner or pair(partner[to], tried):
                partner[to] = at
                return True
        return False

    for at in range(n_found):
        pair(at, set())
    return partner
