"""Scenarios: who the user is, what they try, what is expected, and how it is concluded on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from simeval.core.controls import Controls, Shown, as_messages
from simeval.core.redaction import clean_values
from simeval.core.rubric_levels import GivenLevels, placed_levels
from simeval.core.validation import require, require_level, require_size, require_whole
from simeval.errors import DefinitionError

if TYPE_CHECKING:
    from simeval.evaluators.base import Evaluator

MAX_TURNS = 10
LONGEST_LABEL = 60
SHOWN = (
    "expected_behavior",
    "label",
    "rubric",
    "example",
    "counterexample",
)  # what an expectation has that is shown, or judged by


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What to measure and the evaluator, or evaluators, that conclude on it.

    Give `expected_behavior` for the judge's rating from 1 to 10, or a `scorer`; `score` is the path of
    the number to conclude on where the scorer returns several.

    `rubric` says what the ratings mean, where the judge's model shall not write that: a list of 2, 3, 5 or 10 levels,
    from the worst to the best, or a mapping of ratings to levels. A rating of 6 or more meets the expectation.

    Before it judges, the judge is shown controls: an answer that says nothing and one to something else, which it must
    fail. A `counterexample`, which does not meet the expectation, takes their place, for instance where to say nothing
    is what is expected; an `example`, which meets it, is shown too. Either is the app's answer as a text, or a
    conversation as a list of messages with role and content. Without `controls` the judge is shown none.
    """

    evaluator: "Evaluator | Sequence[Evaluator]"
    expected_behavior: str | None = None
    scorer: Callable[..., Any] | Any | None = None
    score: str | None = None
    label: str | None = None
    rubric: GivenLevels | None = None
    example: Shown | None = None
    counterexample: Shown | None = None
    controls: bool = True

    def __post_init__(self) -> None:
        from simeval.evaluators.base import Evaluator

        require(
            (self.expected_behavior is None) != (self.scorer is None),
            "Expectation",
            found=(self.expected_behavior, self.scorer),
            do="give either expected_behavior or scorer",
        )
        if self.expected_behavior is not None:
            _require_text(self.expected_behavior, "Expectation.expected_behavior")
            require(
                self.score is None, "Expectation.score", found=self.score, do="leave it out: a rating is one number"
            )
        do = "leave it out: it is for the judge of an expected_behavior"
        for name in ("rubric", "example", "counterexample"):
            found = getattr(self, name)
            require(self.expected_behavior is not None or found is None, f"Expectation.{name}", found=found, do=do)
        _ = self.levels, self.shown_controls
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
                do="give an evaluator, such as SuccessRateEvaluator(min_proportion=0.9)",
            )

    @property
    def evaluators(self) -> "tuple[Evaluator, ...]":
        """The evaluators, always as a tuple."""
        return tuple(self.evaluator) if isinstance(self.evaluator, Sequence) else (self.evaluator,)

    @property
    def levels(self) -> Mapping[str, str] | None:
        """The levels of its own rubric, by the ratings they describe; None where a model is to write them."""
        return None if self.rubric is None else placed_levels(self.rubric, "Expectation.rubric")

    @property
    def shown_controls(self) -> Controls | None:
        """The controls that its judges are shown; None where they are shown none."""
        own = {name: getattr(self, name) for name in ("example", "counterexample")}
        given = {name: shown for name, shown in own.items() if shown is not None}
        if not self.controls:
            do = "leave out either controls: false or the example and the counterexample"
            require(not given, "Expectation.controls", found=[*given], do=do)
            return None
        return Controls(**{name: as_messages(shown, f"Expectation.{name}") for name, shown in given.items()})

    @property
    def title(self) -> str:
        """The label, or one made from what is measured."""
        if self.label:
            return self.label
        if self.expected_behavior is not None:
            return shorten(self.expected_behavior, LONGEST_LABEL)
        name = getattr(self.scorer, "name", None) or getattr(self.scorer, "__name__", "score")
        return f"{name}.{self.score}" if self.score else str(name)

    def cleaned(self, clean: Callable[[str], str]) -> "Expectation":
        """Return the expectation with `clean`, which takes secrets out, applied to every text shown or judged by."""
        found = {name: (getattr(self, name), clean_values(getattr(self, name), clean)) for name in SHOWN}
        changed = {name: cleaned for name, (before, cleaned) in found.items() if cleaned != before}
        return replace(self, **changed) if changed else self


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioTest:
    """A test of one behaviour: Given (who the user is), When (what they try), Then (what is expected).

    `sample_size` is how many trials it may use, `significance_level` the level of its evaluators that have
    none of their own; both default to the engine's. `max_turns` bounds the user's messages in a trial.
    """

    title: str
    given: str
    when: str
    then: Expectation | Sequence[Expectation]
    sample_size: int | None = None
    significance_level: float | None = None
    max_turns: int = MAX_TURNS

    def __post_init__(self) -> None:
        for field in ("title", "given", "when"):
            _require_text(getattr(self, field), f"ScenarioTest.{field}")
        where = f"ScenarioTest {self.title!r}"
        require(bool(self.expectations), f"{where}: then", found=self.then, do="give one or more Expectations")
        for expectation in self.expectations:
            require(
                isinstance(expectation, Expectation),
                f"{where}: then",
                found=expectation,
                do="give Expectations only",
            )
        require_size(self.sample_size, f"{where}: sample_size", optional=True)
        require_whole(self.max_turns, f"{where}: max_turns")
        require_level(self.significance_level, f"{where}: significance_level", optional=True)

    @property
    def expectations(self) -> tuple[Expectation, ...]:
        """The expectations, always as a tuple."""
        return tuple(self.then) if isinstance(self.then, Sequence) else (self.then,)

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
        is_clean = (title, given, when) == (self.title, self.given, self.when)
        if is_clean and all(new is old for new, old in zip(then, self.expectations, strict=True)):
            return self
        return replace(self, title=title, given=given, when=when, then=then)


def count_requirements(scenarios: Sequence[ScenarioTest]) -> int:
    """Say how many requirements, each with a verdict of its own, these scenarios have."""
    return sum(len(expectation.evaluators) for scenario in scenarios for expectation in scenario.expectations)


def shorten(text: str, length: int) -> str:
    """Cut a text to at most `length` characters, at a word where that is possible."""
    flat = " ".join(text.split())
    if len(flat) <= length:
        return flat
    cut = flat[: length - 1]
    return (cut.rsplit(" ", 1)[0] if " " in cut[length // 2 :] else cut).rstrip(" ,.;:") + "…"


def _require_text(value: object, where: str) -> None:
    if not isinstance(value, str) or not value.strip():
        raise DefinitionError(where, found=f"found {value!r}", do="give a text that is not empty")
