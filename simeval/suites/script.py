"""Scripts of conversations: turns that are given, turns that are simulated, and checks in between."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from simeval.core.redaction import clean_values
from simeval.core.validation import require
from simeval.errors import DefinitionError
from simeval.scorers.conditions import StateMatch
from simeval.scorers.text.tool_calls import ToolRules
from simeval.scorers.values import folded, stands_in

MOST_TAKEN_BACK = 3  # messages of one attacker
KINDS = ("user", "app", "simulate", "attack", "check")
_ONE = "give either {} or {}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A condition at a point of a conversation; one of these.

    `judged` is a sentence that the judge rules on, for the conversation by then. `contains` is a text, or several, and
    `matches` a regular expression, for the app's last answer. `tools` are rules for the calls made by then, `state` is
    how the trial's world is to be by then.
    """

    judged: str | None = None
    contains: str | Sequence[str] | None = None
    matches: str | None = None
    tools: ToolRules | None = None
    state: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        _require_one(self, [each.name for each in fields(self)], "check")
        if self.judged is not None:
            _require_text(self.judged, "check.judged")
        if self.contains is not None:
            usable = isinstance(self.contains, Sequence) and len(self.contains) > 0
            require(usable, "check.contains", found=self.contains, do="give a text, or a list of texts")
        for text in self.texts:
            _require_text(text, "check.contains")
        do = "give ToolRules, such as ToolRules(required=['refund'])"
        require(self.tools is None or isinstance(self.tools, ToolRules), "check.tools", found=self.tools, do=do)
        if self.matches is not None:
            try:
                re.compile(self.matches)
            except (re.error, TypeError) as error:
                found = f"{self.matches!r} is no regular expression ({error})"
                raise DefinitionError("check.matches", found=found, do="correct it") from None
        if self.state is not None:
            StateMatch(state=self.state)

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that the last answer is to contain, always as a tuple."""
        found = self.contains
        return (found,) if isinstance(found, str) else tuple(found or ())

    def misses(self, answer: str) -> str:
        """Return the texts, or the pattern, missing from an answer; empty if it has them."""
        said = folded(answer)
        missing = [text for text in self.texts if not stands_in(folded(text), said)]
        if missing:
            return f"the answer does not contain {missing[0]!r}"
        if self.matches is not None and re.search(self.matches, answer) is None:
            return f"the answer does not match {self.matches!r}"
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a script: one of these.

    `user` is the user's message, and the app answers; if the next step is `app`, that is the answer, and the app is not
    asked. `simulate` lets the simulated user talk for at most so many turns, or "to_end": until it leaves or the
    scenario's `max_turns` messages are written. `attack` is the aim of an attacker, played by the simulated user's
    model in the way that `given` and the persona describe: it writes `max_turns` messages, besides those that the app
    refuses outright; a few of these it takes back and words differently. `check` is a sentence that the judge rules on,
    or a Check: if it does not hold, the trial ends there, and meets no requirement of its scenario.
    """

    user: str | None = None
    app: str | None = None
    simulate: int | Literal["to_end"] | None = None
    attack: str | None = None
    check: Check | str | None = None

    def __post_init__(self) -> None:
        _require_one(self, KINDS, "script")
        for name in ("user", "app", "attack"):
            if (text := getattr(self, name)) is not None:
                _require_text(text, f"script.{name}")
        do = "give a sentence, or a Check"
        require(isinstance(self.check, Check | str | None), "script.check", found=self.check, do=do)
        turns = self.simulate
        is_number = isinstance(turns, int) and not isinstance(turns, bool) and turns >= 1
        do = "give the number of turns, or to_end"
        require(turns in (None, "to_end") or is_number, "script.simulate", found=turns, do=do)

    @property
    def is_simulated(self) -> bool:
        """Whether a model writes the user's messages in it."""
        return bool(self.simulate or self.attack)

    @property
    def has_turn(self) -> bool:
        """Whether the user writes a message in it."""
        return bool(self.user) or self.is_simulated

    def most_turns(self, max_turns: int) -> int:
        """Return the most messages the user writes in it, in a scenario with so many."""
        if self.attack or self.simulate == "to_end":
            return max_turns
        return int(self.simulate or 0) or int(bool(self.user))

    @property
    def checks(self) -> Check | None:
        """The check that it is; None if it is none."""
        return Check(judged=self.check) if isinstance(self.check, str) else self.check

    def cleaned(self, clean: Callable[[str], str]) -> "Step":
        """Return the step with `clean`, which takes secrets out, applied to its texts."""
        texts: dict[str, Any] = {
            name: clean(text) for name in ("user", "app", "attack") if (text := getattr(self, name)) is not None
        }
        check = self.checks
        if check is not None:
            shown = {name: getattr(check, name) for name in ("judged", "contains", "matches", "state")}
            cleaned = {name: clean_values(found, clean) for name, found in shown.items() if found is not None}
            return replace(self, check=replace(check, **cleaned))
        return replace(self, **texts)

    def shown(self) -> Mapping[str, Any]:
        """Return it as JSON, for the identity of a run."""
        check = self.checks
        if check is None:
            return {name: found for name in KINDS if (found := getattr(self, name)) is not None}
        (said,) = [(each.name, found) for each in fields(check) if (found := getattr(check, each.name)) is not None]
        name, found = said
        return {"check": {name: repr(found) if name == "tools" else found}}


def require_script(script: Sequence[Step], where: str, *, has_world: bool) -> None:
    """Raise DefinitionError for anything but a list of steps, or for steps that cannot follow each other."""
    is_list = not isinstance(script, str) and isinstance(script, Sequence)
    usable = is_list and all(isinstance(step, Step) for step in script)
    require(usable, where, found=script, do="give a list of Steps, such as [Step(user='Hello'), Step(simulate=2)]")
    for place, step in enumerate(script):
        at = f"{where}.{place}"
        if step.app is not None and (place == 0 or script[place - 1].user is None):
            raise DefinitionError(
                at, found="found an answer to nothing", do="put `app:` right after the `user:` it answers"
            )
        if (check := step.checks) is None:
            continue
        is_on_answer = bool(check.texts) or check.matches is not None
        if is_on_answer and not any(before.has_turn for before in script[:place]):
            raise DefinitionError(at, found="found a check of an answer before any", do="put a turn before it")
        if check.state is not None and not has_world:
            raise DefinitionError(at, found="found a state to be and no world", do="give the scenario a world")
    if script and not any(step.has_turn for step in script):
        raise DefinitionError(where, found="found no turn", do="give a `user:`, a `simulate:` or an `attack:`")


def _require_one(record: object, names: Sequence[str], where: str) -> None:
    given = [name for name in names if getattr(record, name) is not None]
    found = f"found {' and '.join(given) or 'nothing'}"
    if len(given) != 1:
        raise DefinitionError(where, found=found, do=_ONE.format(", ".join(names[:-1]), names[-1]))


def _require_text(text: object, where: str) -> None:
    require(isinstance(text, str) and bool(text.strip()), where, found=text, do="give a text that is not empty")
