"""Compare tool calls with a reference: which tools the app called, with which arguments, in which order."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from simeval.core.conversation import Conversation
from simeval.core.trial import Score
from simeval.core.validation import require, require_one_of
from simeval.errors import DefinitionError
from simeval.scorers.base import ColumnScorer
from simeval.scorers.conditions import holds, require_condition, show_condition, show_found, value_at
from simeval.scorers.values import given, is_array, same, shown

Mode = Literal["strict", "unordered", "subset", "superset"]
Arguments = Literal["exact", "ignore", "subset", "superset"]

NAMES = ("name", "function", "tool")
ARGUMENTS = ("arguments", "args", "input", "parameters")

_NAMES_OF_TOOLS = "give a list of names of tools"


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
    for at in range(n_found):
        _pair(at, fits, partner, set())
    return partner


def _pair(at: int, fits: Sequence[Sequence[int]], partner: dict[int, int], tried: set[int]) -> bool:
    """Pair one more, if there is a path along which it can be."""
    for to in fits[at]:
        if to in tried:
            continue
        tried.add(to)
        if to not in partner or _pair(partner[to], fits, partner, tried):
            partner[to] = at
            return True
    return False


@dataclass(kw_only=True, eq=False)
class ToolRules(ColumnScorer):
    """Whether the calls of a conversation keep all of these rules; a rule with no matching call is kept.

    Each tool of `required` is called once or more, none of `forbidden` ever. With `allowed`, no tool is called but
    these and the required ones. `before` names for a tool the others that must each have been called before its first
    call. `max_calls` is how many calls there are at most, of all tools together or {tool: calls}. `where` holds
    conditions on the arguments of every call of a tool, {tool: {argument: value}}: a value, or operators such as
    {at_most: 50}, {one_of: [...]}, {matches: "F[0-9]+"}; an argument's name may be a path with dots.

    A call is counted whether or not it succeeded, and calls of one turn have the order of their list.
    """

    required: Sequence[str] = ()
    forbidden: Sequence[str] = ()
    allowed: Sequence[str] | None = None
    before: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    max_calls: int | Mapping[str, int] | None = None
    where: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    direction = "higher"
    gives_ratings = False
    quick = True

    def __post_init__(self) -> None:
        self.name = self.name or "tools"
        super().__post_init__()
        for name in ("required", "forbidden", "allowed"):
            if (found := getattr(self, name)) is not None:
                require(_are_names(found), f"tools.{name}", found=found, do=_NAMES_OF_TOOLS)
        self._check_calls()
        named = {*self.required, *(self.allowed or ()), *self.before}
        twice = sorted({*self.forbidden} & named)
        do = "leave it out of either forbidden or the other rules"
        require(not twice, "tools.forbidden", found=twice, do=do)
        has_any = self.allowed is not None or self.max_calls is not None
        given = has_any or any((self.required, self.forbidden, self.before, self.where))
        do = "give required, forbidden, allowed, before, max_calls or where"
        require(given, "tools", found="no rule", do=do)

    def _check_calls(self) -> None:
        """Raise DefinitionError if a rule by tools cannot be used."""
        for tool, earlier in self.before.items():
            names = [earlier] if isinstance(earlier, str) else earlier
            where = f"tools.before.{tool}"
            require(_are_names(names) and tool not in names, where, found=earlier, do="name other tools, or one")
        limits = self.max_calls if isinstance(self.max_calls, Mapping) else {"": self.max_calls}
        for tool, most in limits.items():
            usable = most is None or (isinstance(most, int) and not isinstance(most, bool) and most >= 0)
            where = f"tools.max_calls{'.' if tool else ''}{tool}"
            require(usable, where, found=most, do="use a whole number of 0 or more")
        for tool, arguments in self.where.items():
            require(isinstance(arguments, Mapping), f"tools.where.{tool}", found=arguments, do="name its arguments")
            for argument, condition in arguments.items():
                require_condition(condition, f"tools.where.{tool}.{argument}")

    def score(self, conversation: Conversation) -> Score:
        """Return 1 if all rules are kept, else 0 and the broken ones.

        Raises DefinitionError if the app reports something as a call that is none.
        """
        calls = calls_made(conversation, scorer=self.name)
        broken = list(self._broken(calls))
        return Score(value=float(not broken), reasoning="; ".join(broken))

    def _broken(self, calls: Sequence[ToolCall]) -> Iterator[str]:
        times = Counter(call.name for call in calls)
        yield from (f"{tool} was not called" for tool in self.required if not times[tool])
        yield from (f"{tool} was called, which is forbidden" for tool in dict.fromkeys(self.forbidden) if times[tool])
        if self.allowed is not None:
            known = {*self.allowed, *self.required}
            yield from (f"{tool} was called, which is not allowed" for tool in times if tool not in known)
        yield from self._out_of_order([call.name for call in calls])
        yield from self._too_many(times)
        yield from self._with_other_arguments(calls)

    def _out_of_order(self, names: Sequence[str]) -> Iterator[str]:
        for tool, earlier in self.before.items():
            made_before = names[: names.index(tool)] if tool in names else None
            for other in [earlier] if isinstance(earlier, str) else earlier:
                if made_before is not None and other not in made_before:
                    yield f"{tool} was called, and {other} not before it"

    def _too_many(self, times: Mapping[str, int]) -> Iterator[str]:
        if isinstance(self.max_calls, Mapping):
            for tool, most in self.max_calls.items():
                if times[tool] > most:
                    yield f"calls of {tool}: {times[tool]}, more than {most}"
        elif self.max_calls is not None and (total := sum(times.values())) > self.max_calls:
            yield f"calls of tools: {total}, more than {self.max_calls}"

    def _with_other_arguments(self, calls: Sequence[ToolCall]) -> Iterator[str]:
        for call in calls:
            for argument, condition in self.where.get(call.name, {}).items():
                found = value_at(call.arguments, argument)
                if not holds(condition, found):
                    yield f"{call.name} was called with {argument} {show_found(found)}, not {show_condition(condition)}"


def _are_names(found: object) -> bool:
    if isinstance(found, str) or not isinstance(found, Sequence):
        return False
    return all(isinstance(each, str) and each for each in found)
