"""Scripts of conversations, and personas of users, one of which is drawn for each trial."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from math import isclose
from typing import Any, Literal

from simeval.core.redaction import clean_values
from simeval.core.user_measures import MEASURES
from simeval.core.validation import require
from simeval.errors import DefinitionError
from simeval.scorers.conditions import StateMatch
from simeval.scorers.text.tool_calls import ToolRules
from simeval.scorers.values import folded, stands_in

MOST_TAKEN_BACK = 3  # messages of one attacker
KINDS = ("user", "app", "simulate", "attack", "check")
_ONE = "give either {} or {}"

SHARES_OFF = 0.005  # the tolerance of the sum of shares: they are often rounded
LONGEST_NAME = 40


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


@dataclass(frozen=True, slots=True, kw_only=True)
class UserPersona:
    """One kind of user: a description, in a sentence or more, and its share of all users, from 0 to 1.

    `style` is how it writes, by the names of the writing styles' axes or of others, such as language: a text, or texts
    with their shares, one drawn for each trial. Axes it leaves out are drawn as always. Reports call it by its `name`,
    by default the beginning of the sentence. If it has `scripts`, each a list of steps as a scenario's `script` is, one
    of them is drawn for a trial and takes its place.
    """

    persona: str
    share: float
    name: str = ""
    style: Mapping[str, str | Mapping[str, float]] = field(default_factory=dict)
    scripts: Sequence[Sequence[Step]] = ()

    def __post_init__(self) -> None:
        is_text = isinstance(self.persona, str) and bool(self.persona.strip())
        require(is_text, "UserPersona.persona", found=self.persona, do="say who the user is, in a sentence")
        do = "give a text, or leave it out"
        require(isinstance(self.name, str), "UserPersona.name", found=self.name, do=do)
        is_share = isinstance(self.share, int | float) and not isinstance(self.share, bool) and 0 < self.share <= 1
        where = f"UserPersona {self.title!r}"
        require(is_share, f"{where}: share", found=self.share, do="give a number above 0, up to 1")
        usable = isinstance(self.style, Mapping) and all(
            isinstance(name, str) and name and _is_drawable(value) for name, value in self.style.items()
        )
        do = "give texts by names, such as {tone: Impatient.}, or texts with shares that add up to 1"
        require(usable, f"{where}: style", found=self.style, do=do)
        is_list = not isinstance(self.scripts, str) and isinstance(self.scripts, Sequence)
        require(is_list, f"{where}: scripts", found=self.scripts, do="give a list of scripts, each a list of Steps")

    @property
    def title(self) -> str:
        """The name in reports."""
        flat = " ".join(self.persona.split()).rstrip(".")
        return self.name or (flat if len(flat) <= LONGEST_NAME else f"{flat[: LONGEST_NAME - 1].rstrip()}…")

    def drawn_style(self, seed: int) -> dict[str, str]:
        """Return how this persona writes in the trial that has this seed."""
        from simeval.core import seeds  # loads hashlib, which a command that only shows its help does not need

        def drawn(name: str, value: str | Mapping[str, float]) -> str:
            if isinstance(value, str):
                return value
            return seeds.generator(seed, "persona", name).choices([*value], [*value.values()])[0]

        return {name: drawn(name, value) for name, value in self.style.items()}

    def script(self, seed: int) -> Sequence[Step]:
        """Return its script in the trial that has this seed; empty if it has no scripts."""
        from simeval.core import seeds  # loads hashlib, which a command that only shows its help does not need

        return seeds.generator(seed, "script").choice(self.scripts) if self.scripts else ()


def _is_drawable(value: object) -> bool:
    """Return whether a value of a style is a text, or texts with shares that add up to 1."""
    if not isinstance(value, Mapping):
        return isinstance(value, str) and bool(value)
    texts = all(isinstance(text, str) and text for text in value)
    shares = all(isinstance(share, int | float) and share > 0 for share in value.values())
    return texts and shares and isclose(sum(value.values()), 1, abs_tol=SHARES_OFF)


@dataclass(frozen=True, slots=True)
class UserMix:
    """Personas whose shares add up to 1: every trial has one of them, drawn by its seed.

    The verdict is on the mix: the rate for users who are distributed so. `logs` are the figures that a run compares its
    users with: the mean, standard deviation and number of conversations of each measure (`fit_users` has them).
    """

    mix: Sequence[UserPersona]
    logs: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        do = "give personas, each with its share"
        usable = isinstance(self.mix, Sequence) and len(self.mix) > 0
        require(usable and all(isinstance(each, UserPersona) for each in self.mix), "UserMix", found=self.mix, do=do)
        titles = [each.title for each in self.mix]
        twins = sorted({title for title in titles if titles.count(title) > 1})
        if twins:
            raise DefinitionError("UserMix", found=f"two personas are called {twins}", do="give each its own name")
        total = sum(each.share for each in self.mix)
        fits = isclose(total, 1, abs_tol=SHARES_OFF)
        if not fits:
            raise DefinitionError("UserMix", found=f"the shares add up to {total:g}", do="let them add up to 1")
        is_measured = isinstance(self.logs, Mapping) and all(
            name in MEASURES and _is_spread(value) for name, value in self.logs.items()
        )
        do = f"give mean, standard deviation and number of conversations of {', '.join(MEASURES)}, as fit_users does"
        require(is_measured, "UserMix.logs", found=self.logs, do=do)

    def draw(self, seed: int) -> UserPersona:
        """Return the persona of the trial that has this seed."""
        from simeval.core import seeds  # loads hashlib, which a command that only shows its help does not need

        [drawn] = seeds.generator(seed, "persona").choices(self.mix, [each.share for each in self.mix])
        return drawn

    def cleaned(self, clean: Callable[[str], str]) -> "UserMix":
        """Return the mix with `clean`, which takes secrets out, applied to every text."""
        cleaned = [
            replace(
                each,
                persona=clean(each.persona),
                name=clean(each.name),
                style=clean_values(each.style, clean),
                scripts=each.scripts and [[step.cleaned(clean) for step in script] for script in each.scripts],
            )
            for each in self.mix
        ]
        return self if cleaned == [*self.mix] else UserMix(cleaned, self.logs)


def _is_spread(value: object) -> bool:
    """Return whether a value is a mean, a standard deviation and a number of conversations."""
    if not isinstance(value, Sequence) or not all(isinstance(each, int | float) for each in value):
        return False
    return len(value) == 3 and value[1] >= 0 and value[2] >= 1
