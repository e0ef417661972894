"""Scenarios: the user, the user's aim, the expectation, and the evaluator that concludes on it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from simeval.core.conversation import UserFaultKind
from simeval.core.filling import filled
from simeval.core.judging import Controls, GivenLevels, Shown, as_messages, placed_levels
from simeval.core.originals import OF_EXPECTATIONS, OF_SCENARIOS
from simeval.core.redaction import clean_values
from simeval.core.setting_field import dated
from simeval.core.trial import Quarantine
from simeval.core.validation import AnswersOriginals, nearest, require, require_level, require_size, require_whole
from simeval.core.world import WorldMaker
from simeval.errors import DefinitionError
from simeval.scorers.base import Scorer, as_scorer
from simeval.scorers.conditions import StateMatch
from simeval.scorers.text.tool_calls import ToolRules
from simeval.suites.fitting import directed, require_fit, worst_turn, wrong_path
from simeval.suites.script import Step, UserMix, UserPersona, require_script
from simeval.suites.tool_faults import ToolFaults, faulty_world

if TYPE_CHECKING:
    from simeval.evaluators.base import Evaluator

MAX_TURNS = 10
PROPOSED = "proposed"  # the tag of a scenario that a model wrote and nobody has read
LONGEST_LABEL = 60
WAYS = ("expected_behavior", "criteria", "scorer", "tools", "state")  # to measure; an expectation has one
SHOWN = (
    "expected_behavior",
    "criteria",
    "reference",
    "label",
    "rubric",
    "example",
    "counterexample",
)  # parts of an expectation that are shown, or judged by


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation(AnswersOriginals):
    """What to measure and the evaluator, or evaluators, that conclude on it.

    Give `expected_behavior` for the judge's rating from 1 to 10; or `criteria`, texts on each of which the judge rules,
    with a quote: the rating is 10 if all are met, else 1; or a `scorer`, with `score` as the path of the deciding
    number if it returns several; or rules for the `tools` that are called; or the `state` that the trial's world is to
    have at the end, {path: value or operators} (see StateMatch), with `always` after each answer too. `reference` is
    an answer as it should be, for the judge alone.

    `rubric` defines the ratings, so that the judge's model does not write them: a list of 2, 3, 5 or 10 levels, from
    the worst to the best, or a mapping of ratings to levels. A rating of 6 or more meets the expectation.

    Before it judges, the judge is shown controls: an empty answer, one to something else, and one to the point with one
    thing wrong, as far as that can be made from these texts. It must fail all of them. A `counterexample`, which does
    not meet the expectation, takes their place, for instance if an empty answer is expected; an `example`, which meets
    it, is shown too. Either is the app's answer as a text, or a conversation as a list of messages with role and
    content. Without `controls` the judge is shown none.
    """

    originals = OF_EXPECTATIONS

    evaluator: "Evaluator | Sequence[Evaluator]"
    expected_behavior: str | Sequence[str] | None = None
    scorer: Scorer | Callable[..., Any] | str | None = None
    tools: ToolRules | None = None
    state: Mapping[str, Any] | None = None
    always: bool = False
    score: str | None = None
    label: str | None = None
    rubric: GivenLevels | None = None
    criteria: Sequence[str] | None = None
    reference: str | None = None
    example: Shown | None = None
    counterexample: Shown | None = None
    controls: bool = True

    def __post_init__(self) -> None:
        from simeval.evaluators.base import Evaluator

        if isinstance(self.expected_behavior, (list, tuple)):  # sentences, which are one text
            for sentence in self.expected_behavior or [""]:
                _require_text(sentence, "Expectation.expected_behavior")
            object.__setattr__(self, "expected_behavior", " ".join(map(str.strip, self.expected_behavior)))
        given = [way for way in WAYS if getattr(self, way) is not None]
        if len(given) != 1:
            do = f"give one of {', '.join(WAYS[:-1])} or {WAYS[-1]}"
            raise DefinitionError("Expectation", found=f"found {' and '.join(given) or 'nothing to measure'}", do=do)
        self._check_judged()
        usable = self.tools is None or isinstance(self.tools, ToolRules)
        require(
            usable, "Expectation.tools", found=self.tools, do="give ToolRules, such as ToolRules(required=['refund'])"
        )
        do = "leave it out: it is for a state"
        require(self.state is not None or not self.always, "Expectation.always", found=self.always, do=do)
        if self.label is not None:
            _require_text(self.label, "Expectation.label")
        self._check_score()
        do = "give an evaluator, such as SuccessRateEvaluator(min_proportion=0.9)"
        require(not isinstance(self.evaluator, str), "Expectation.evaluator", found=self.evaluator, do=do)
        require(
            bool(self.evaluators),
            "Expectation.evaluator",
            found=self.evaluator,
            do="give one or more evaluators",
        )
        for evaluator in self.evaluators:
            require(
                isinstance(evaluator, Evaluator),
                "Expectation.evaluator",
                found=evaluator,
                do=do,
            )
        directed_ones = [directed(self, each) for each in self.evaluators]
        object.__setattr__(
            self, "evaluator", directed_ones if isinstance(self.evaluator, Sequence) else directed_ones[0]
        )
        object.__setattr__(self, "score", worst_turn(self))
        for evaluator in self.evaluators:
            require_fit(self, evaluator)

    def __repr__(self) -> str:
        return f"<Expectation {self.title!r}: {', '.join(each.describe() for each in self.evaluators)}>"

    def _check_score(self) -> None:
        """Raise DefinitionError for an invalid scorer, and for the path of a number that it is known not to give."""
        if self.scorer is not None and not isinstance(self.scorer, str):  # a text names one of an experiment's
            as_scorer(self.scorer)
        if self.score is not None and (wrong := wrong_path(self.measured_by, self.score)):
            raise DefinitionError("Expectation.score", found=wrong[0], do=wrong[1])

    def _check_judged(self) -> None:
        """Raise DefinitionError if a judge cannot use the texts it is to go by."""
        is_judged = self.expected_behavior is not None or self.criteria is not None
        if self.expected_behavior is not None:
            _require_text(self.expected_behavior, "Expectation.expected_behavior")
        if self.criteria is not None:
            usable = (
                not isinstance(self.criteria, str) and isinstance(self.criteria, Sequence) and len(self.criteria) > 0
            )
            do = "give a list of one or more texts"
            require(usable, "Expectation.criteria", found=self.criteria, do=do)
            for each in self.criteria:
                _require_text(each, "Expectation.criteria")
        if self.reference is not None:
            _require_text(self.reference, "Expectation.reference")
        do = "leave it out: a rating is one number"
        require(not is_judged or self.score is None, "Expectation.score", found=self.score, do=do)
        do = "leave it out: only a judge reads it; a scorer takes a column"
        require(is_judged or self.reference is None, "Expectation.reference", found=self.reference, do=do)
        rates = self.expected_behavior is not None
        do = "leave it out: only a rating of an expected_behavior goes by one"
        require(rates or self.rubric is None, "Expectation.rubric", found=self.rubric, do=do)
        for name in ("example", "counterexample"):
            found, do = getattr(self, name), "leave it out: it is for the judge of an expected_behavior or of criteria"
            require(is_judged or found is None, f"Expectation.{name}", found=found, do=do)
        _ = self.levels, self.shown_controls

    @property
    def behaviour(self) -> str | None:
        """The expected behaviour as one text; None without one."""
        found = self.expected_behavior
        return found if found is None or isinstance(found, str) else " ".join(found)

    @property
    def judged(self) -> str | None:
        """The text a judge goes by: the expected behaviour, or the criteria; None if a scorer measures."""
        if self.criteria is None:
            return self.behaviour
        return "\n".join(f"{number}. {text}" for number, text in enumerate(self.criteria, 1))

    @property
    def measured_by(self) -> Any:
        """The scorer that measures it; None if a judge does."""
        if self.state is not None:
            return StateMatch(state=self.state, always=self.always or None)
        return self.scorer if self.tools is None else self.tools

    @property
    def evaluators(self) -> "tuple[Evaluator, ...]":
        """The evaluators, always as a tuple."""
        return tuple(self.evaluator) if isinstance(self.evaluator, Sequence) else (self.evaluator,)

    @property
    def levels(self) -> Mapping[str, str] | None:
        """The levels of its own rubric, by the ratings they describe; None if a model is to write them."""
        return None if self.rubric is None else placed_levels(self.rubric, "Expectation.rubric")

    @property
    def shown_controls(self) -> Controls | None:
        """The controls that its judges are shown; None without controls, or without a judge."""
        own = {name: getattr(self, name) for name in ("example", "counterexample")}
        given = {name: shown for name, shown in own.items() if shown is not None}
        if not self.controls:
            do = "leave out either controls: false or the example and the counterexample"
            require(not given, "Expectation.controls", found=[*given], do=do)
        if not self.controls or self.judged is None:
            return None
        shown = {name: as_messages(shown, f"Expectation.{name}") for name, shown in given.items()}
        return Controls(
            example=shown.get("example", ()),
            counterexample=shown.get("counterexample", ()),
            expected=tuple(self.criteria) if self.criteria is not None else (self.judged,),
            reference=self.reference or "",
            unwritten=self.criteria is None and self.rubric is None,
        )

    @property
    def title(self) -> str:
        """The label, or one made from the measurement."""
        if self.label:
            return self.label
        if self.judged is not None:
            return shorten(self.behaviour or "; ".join(self.criteria or ()), LONGEST_LABEL)
        scorer = self.measured_by
        name = getattr(scorer, "name", None) or getattr(scorer, "__name__", "score")
        return f"{name}.{self.score}" if self.score else str(name)

    def cleaned(self, clean: Callable[[str], str]) -> "Expectation":
        """Return the expectation with `clean`, which takes secrets out, applied to every text shown or judged by."""
        found = {name: (getattr(self, name), clean_values(getattr(self, name), clean)) for name in SHOWN}
        changed = {name: cleaned for name, (before, cleaned) in found.items() if cleaned != before}
        return replace(self, **changed) if changed else self

    def dated(self, today: date) -> "Expectation":
        """Return the expectation with days such as {today+3} as dates in its texts and state; its label stays."""
        of_day = self.cleaned(partial(dated, today=today))
        state = clean_values(self.state, partial(dated, today=today))
        if of_day is self and state == self.state:
            return self
        return replace(of_day, label=self.title, state=state)

    def of_case(self, case: Mapping[str, Any]) -> "Expectation":
        """Return the expectation with places such as {nights} filled, in its scorer's arguments too."""
        own = {name: getattr(self, name) for name in (*SHOWN, "scorer", "tools")}
        new = {name: filled(value, case) for name, value in own.items()}
        changed = {name: value for name, value in new.items() if value is not own[name]}
        if self.state is not None:
            changed["state"] = filled(self.state, case, typed=True)
        return replace(self, **changed) if changed else self


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioTest(AnswersOriginals):
    """A test of one behaviour: Given (the user), When (the user's aim), Then (the expectations).

    `sample_size` is how many trials it may use, `significance_level` the level of its evaluators that have none of
    their own; both default to the engine's. `max_turns` bounds the user's messages in a trial.

    `facts` are true whatever the conversation claims, such as the app's data: for judges, and for scorers that name
    them; never for the simulated user or the app.

    `world` makes the world of each trial (see World), an async context manager: a class, or a function of nothing or of
    the trial's `seed`. `faults` make the tools of each world time out, or answer wrongly, at a given rate.

    A `script` fixes the conversation: given turns, simulated ones, and checks at points of the conversation (see Step).

    `allowed_user_faults` are the faults of a simulated user that are none here, such as "repeats_itself": the user is
    to behave so. `users` are not all alike: each trial has one of the mix. `tags` are words for `--only`; results do
    not depend on them. In `quarantine` its outcome is reported and decides nothing.

    With `needs_replies`, a trial in which the app fails, or answers with nothing, counts neither for nor against it:
    such a trial is missing, whatever `on_app_error` is.

    `cases` is a table: rows, a frame or the path of a file. A place such as {nights} in a text, the state or the
    arguments of tools and scorers has the value of the trial's row. Each block of trials has every row once, in random
    order; with `case_weights`, the name of a column, each trial draws its row. There is one verdict over all rows, or
    one for each with `per_case`, with `sample_size` trials each.
    """

    originals = OF_SCENARIOS

    title: str
    given: str
    when: str
    then: Expectation | Sequence[Expectation]
    sample_size: int | None = None
    significance_level: float | None = None
    max_turns: int = MAX_TURNS
    facts: str | None = None
    allowed_user_faults: Sequence[UserFaultKind] = ()
    users: UserMix | None = None
    tags: Sequence[str] = ()
    quarantine: Quarantine | None = None
    world: WorldMaker | None = None
    faults: ToolFaults | Sequence[ToolFaults] = ()
    script: Sequence[Step] = ()
    needs_replies: bool = False
    cases: Sequence[Mapping[str, Any]] | str | Path = ()
    case_weights: str | None = None
    per_case: bool = False

    def __post_init__(self) -> None:
        for field in ("title", "given", "when"):
            _require_text(getattr(self, field), f"ScenarioTest.{field}")
        if self.facts is not None:
            _require_text(self.facts, "ScenarioTest.facts")
        where = f"ScenarioTest {self.title!r}"
        require(bool(self.expectations), f"{where}: then", found=self.then, do="give one or more Expectations")
        require(not isinstance(self.then, str), f"{where}: then", found=self.then, do="give one or more Expectations")
        for expectation in self.expectations:
            require(
                isinstance(expectation, Expectation),
                f"{where}: then",
                found=expectation,
                do="give Expectations only",
            )
            if isinstance(expectation.scorer, str):
                as_scorer(expectation.scorer, f"{where}: scorer")
        given = [each.label for each in self.expectations if each.label]
        for label in given:
            found, do = f"there are two expectations with the label {label!r}", "give each its own label"
            if given.count(label) > 1:
                raise DefinitionError(f"{where}: then", found=found, do=do)
        require_size(self.sample_size, f"{where}: sample_size", optional=True)
        require_whole(self.max_turns, f"{where}: max_turns")
        require_level(self.significance_level, f"{where}: significance_level", optional=True)
        require(
            self.quarantine is None or isinstance(self.quarantine, Quarantine),
            f"{where}: quarantine",
            found=self.quarantine,
            do="give a Quarantine, with its reason and until",
        )
        self._check_world(where)
        self._check_allowed(f"{where}: allowed_user_faults")
        do = "give a UserMix of UserPersonas"
        require(self.users is None or isinstance(self.users, UserMix), f"{where}: users", found=self.users, do=do)
        for at, script in self.scripts.items():
            require_script(script, f"{where}: {at}", has_world=self.world is not None)
        is_list = not isinstance(self.tags, str) and isinstance(self.tags, Sequence)
        usable = is_list and all(isinstance(tag, str) and tag for tag in self.tags)
        require(usable, f"{where}: tags", found=self.tags, do="give a list of words, such as [smoke, returns]")
        self._check_cases(where)

    def __repr__(self) -> str:
        return f"<ScenarioTest {self.title!r}: {', '.join(map(repr, self.labels))}>"

    def _check_cases(self, where: str) -> None:
        """Read the table of cases. Raises DefinitionError for an invalid one, or a place without a column."""
        if isinstance(self.cases, (list, tuple)) and not self.cases:
            named = "case_weights" if self.case_weights is not None else "per_case"
            is_alone = self.case_weights is not None or self.per_case
            require(not is_alone, f"{where}: {named}", found=getattr(self, named), do="give cases, or leave it out")
            return
        from simeval.suites.cases import read_cases, require_places, require_weights  # a scenario without needs none

        rows = read_cases(self.cases, f"{where}: cases")
        object.__setattr__(self, "cases", rows)
        if self.case_weights is not None:
            require_weights(self.case_weights, rows, f"{where}: case_weights")
            do = "leave out either case_weights or per_case"
            require(not self.per_case, f"{where}: per_case", found=self.per_case, do=do)
        for field in ("title", "given", "when", "facts", "script", "users", "world"):
            require_places(getattr(self, field), rows, f"{where}: {field}")
        for number, each in enumerate(self.expectations):
            for field in (*SHOWN, "state", "tools"):
                require_places(getattr(each, field), rows, f"{where}: then.{number}.{field}")
            if getattr(getattr(each.scorer, "scorer", each.scorer), "quick", False):  # others may have prompts
                require_places(each.scorer, rows, f"{where}: then.{number}.scorer")

    def _check_world(self, where: str) -> None:
        do = "give a class, or a function, that makes an async context manager, such as module:Shop in a file"
        require(self.world is None or callable(self.world), f"{where}: world", found=self.world, do=do)
        if faults := self._faults:
            usable = isinstance(faults, (list, tuple)) and all(isinstance(each, ToolFaults) for each in faults)
            require(usable, f"{where}: faults", found=self.faults, do="give ToolFaults, such as timeout=0.2")
            do = "give the scenario a world, whose tools have them"
            require(self.world is not None, f"{where}: faults", found=self.faults, do=do)
        if self.world is None and any(each.state is not None for each in self.expectations):
            found, do = "found a state to be and no world that has one", "give the scenario a world"
            raise DefinitionError(f"{where}: then", found=found, do=do)

    def _check_allowed(self, where: str) -> None:
        kinds, found = get_args(UserFaultKind), self.allowed_user_faults
        is_list = not isinstance(found, str) and isinstance(found, Sequence)
        require(is_list, where, found=found, do=f"give a list of {', '.join(kinds)}")
        for each in found:
            require(each in kinds, where, found=each, do=nearest(str(each), kinds))

    @property
    def expectations(self) -> tuple[Expectation, ...]:
        """The expectations, always as a tuple."""
        return tuple(self.then) if isinstance(self.then, Sequence) else (self.then,)

    @property
    def _faults(self) -> Sequence[ToolFaults]:
        return (self.faults,) if isinstance(self.faults, ToolFaults) else self.faults

    @property
    def surroundings(self) -> WorldMaker | None:
        """What makes the world of a trial, with the faults of its tools; None without a world."""
        return faulty_world(self.world, self._faults) if self.world and self._faults else self.world

    @property
    def is_watched(self) -> bool:
        """Whether its world is looked at after each answer."""
        return any(each.always for each in self.expectations)

    @property
    def scripts(self) -> Mapping[str, Sequence[Step]]:
        """Its script and those of its users, by where they are written."""
        mix = self.users.mix if self.users else ()
        of_users = {
            f"users.{place}.scripts.{number}": script
            for place, persona in enumerate(mix)
            for number, script in enumerate(persona.scripts)
        }
        return {"script": self.script, **of_users}

    @property
    def courses(self) -> Sequence[Sequence[Step]]:
        """The scripts that its trials may have, each once; an empty one is a simulated user alone."""
        mix = self.users.mix if self.users else ()
        return [script for persona in mix for script in persona.scripts or [self.script]] or [self.script]

    @property
    def most_turns(self) -> int:
        """How many messages its user writes at most in a trial."""
        return max(sum(step.most_turns(self.max_turns) for step in each) or self.max_turns for each in self.courses)

    @property
    def is_simulated(self) -> bool:
        """Whether a simulated user writes in any of its trials: a script may fix all messages."""
        return any(not script or any(step.is_simulated for step in script) for script in self.courses)

    @property
    def labels(self) -> tuple[str, ...]:
        """One name for each expectation, made unique by a number where two are equal."""
        labels: list[str] = []
        for expectation in self.expectations:
            label, number = expectation.title, 1
            while label in labels:
                number += 1
                label = f"{expectation.title} ({number})"
            labels.append(label)
        return tuple(labels)

    def cleaned(self, clean: Callable[[str], str]) -> "ScenarioTest":
        """Return the scenario with `clean`, which takes secrets out, applied to every text shown or judged by."""
        then = tuple(each.cleaned(clean) for each in self.expectations)
        title, given, when = clean(self.title), clean(self.given), clean(self.when)
        facts, quarantine = self.facts and clean(self.facts), self.quarantine
        users = self.users and self.users.cleaned(clean)
        if quarantine is not None:
            quarantine = replace(quarantine, reason=clean(quarantine.reason))
        script = [step.cleaned(clean) for step in self.script]
        cases = [clean_values(case, clean) for case in self.rows]
        own = (self.title, self.given, self.when, self.facts, self.quarantine, self.users, [*self.rows])
        is_clean = (title, given, when, facts, quarantine, users, cases) == own and not script
        if is_clean and all(new is old for new, old in zip(then, self.expectations, strict=True)):
            return self
        said: Mapping[str, Any] = {"title": title, "given": given, "when": when, "facts": facts, "script": script}
        return replace(self, **said, then=then, quarantine=quarantine, users=users, cases=cases)

    def dated(self, today: date) -> "ScenarioTest":
        """Return the scenario with days such as {today+3} as dates; titles and labels stay, for the next run.

        Raises DefinitionError for a day that is named otherwise.
        """
        made = self.cleaned(partial(dated, today=today))
        then = tuple(each.dated(today) for each in self.expectations)
        is_same = made is self and all(new is old for new, old in zip(then, self.expectations, strict=True))
        return self if is_same else replace(made, title=self.title, quarantine=self.quarantine, then=then)

    def played_by(self, persona: UserPersona | None) -> "ScenarioTest":
        """Return the scenario as shown to a user with this persona."""
        return self if persona is None else replace(self, given=f"{self.given}\n{persona.persona}")

    @property
    def rows(self) -> Sequence[Mapping[str, Any]]:
        """The rows of its table of cases; none without one."""
        return self.cases if isinstance(self.cases, tuple) else ()

    def case_at(self, index: int, seed: int) -> int | None:
        """Return the place of the row that a trial has, where its scenario has this seed; None without a table."""
        if not self.rows:
            return None
        from simeval.suites.cases import case_at

        return case_at(self.rows, index, seed=seed, weights=self.case_weights)

    def of_case(self, case: Mapping[str, Any]) -> "ScenarioTest":
        """Return the scenario of one row, with its places filled."""
        own = {name: getattr(self, name) for name in ("title", "given", "when", "facts", "script", "users")}
        new = {name: filled(value, case) for name, value in own.items()}
        new["world"] = filled(self.world, case, typed=True)
        then = [each.of_case(case) for each in self.expectations]
        return replace(self, **new, then=then, cases=(), case_weights=None, per_case=False)

    def script_of(self, persona: UserPersona | None, seed: int) -> Sequence[Step]:
        """Return the script of the trial that has this seed and persona; empty if it has none."""
        return (persona.script(seed) if persona else ()) or self.script


def by_case(scenarios: Sequence[ScenarioTest]) -> list[ScenarioTest]:
    """Return scenarios with each one that has a verdict per case split into its cases."""
    return [one for each in scenarios for one in (_of_each_case(each) if each.per_case else [each])]


def _of_each_case(scenario: ScenarioTest) -> list[ScenarioTest]:
    """Return the scenario of each row; if the title does not distinguish the rows, it ends with their values."""
    from simeval.suites.cases import show_case

    found = [scenario.of_case(case) for case in scenario.rows]
    if len({each.title for each in found}) == len(found):
        return found
    return [
        replace(each, title=f"{each.title} [{show_case(case)}]")
        for each, case in zip(found, scenario.rows, strict=True)
    ]


def count_requirements(scenarios: Sequence[ScenarioTest]) -> int:
    """Say how many requirements, each with a verdict of its own, these scenarios have."""
    return sum(len(expectation.evaluators) for scenario in scenarios for expectation in scenario.expectations)


def shorten(text: str, length: int) -> str:
    """Cut a text to at most `length` characters, at a word if possible."""
    flat = " ".join(text.split())
    if len(flat) <= length:
        return flat
    cut = flat[: length - 1]
    return (cut.rsplit(" ", 1)[0] if " " in cut[length // 2 :] else cut).rstrip(" ,.;:") + "…"


def _require_text(value: object, where: str) -> None:
    if not isinstance(value, str) or not value.strip():
        raise DefinitionError(where, found=f"found {value!r}", do="give a text that is not empty")
