"""Rules for the tools that an app calls in a conversation, judged on its calls and never on its text."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simeval.core.conversation import Conversation
from simeval.core.trial import Score
from simeval.core.validation import require
from simeval.scorers.base import ColumnScorer
from simeval.scorers.conditions import holds, require_condition, show_condition, show_found, value_at
from simeval.scorers.text.tool_calls import ToolCall, calls_made

_NAMES_OF_TOOLS = "give a list of names of tools"


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
