"""The document of a run: all that is known of it, with its words. Faces, comparisons and merges read it alone.

RunDocument ─► ScenarioDocument ─┬─► ExpectationDocument ─┬─► Requirement   a verdict with its words, bar and cut
                                 │                        └─► Finding       a sentence and its numbers
                                 └─► TrialResult                              a trial
A live result makes it (`SuiteResult.document`), `encoding` writes it as JSON, `reading` reads that.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from operator import ge, gt, le, lt
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from simeval.core.direction import Direction, slack
from simeval.core.run_records import Usage, players
from simeval.core.setting_field import Gate
from simeval.core.settings import DEFAULTS
from simeval.core.trial import Bar, Estimate, Failure, Outcome, Quarantine, Score, TrialResult, Verdict
from simeval.core.version import __version__
from simeval.results.guarantee import UserConduct
from simeval.results.text import BaselineGate, show_rubrics, show_trial, shown_outcome

if TYPE_CHECKING:
    from simeval.evaluators.base import Evaluator

Thing = TypeVar("Thing")
Sign = Literal[">=", "<=", ">", "<"]
_SIGNS: Mapping[Sign, Callable[[float, float], bool]] = {">=": ge, "<=": le, ">": gt, "<": lt}
OLDER_ALPHA = 0.025  # on each side of the intervals of results that do not say it

LEAST = 2  # conversations, to be compared, and scenarios, to be counted
MOST_TOLD = 5  # kinds of misses with a line of their own


@dataclass(frozen=True, slots=True)
class ScoreCut:
    """The score at which a conversation begins to meet a requirement."""

    sign: Sign
    score: float

    def holds(self, score: float) -> bool:
        """Return whether a score is on the good side."""
        around = slack(self.score)
        return _SIGNS[self.sign](score, self.score + (around if self.sign in ("<=", ">") else -around))


@dataclass(frozen=True, slots=True)
class PeopleStandard:
    """The share of conversations that people must find good, how many of them they label, and in how many looks."""

    labels: int
    share: float
    looks: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement(Verdict):
    """A verdict with its words.

    `said` is the observation and the requirement in a sentence. `observed` and `required` are the estimate and the bar
    in words, `range` is the interval, `ends` are the ends of the bar's scale. `missed` are the scores that do not meet
    it, if no cut tells. `least` is the smallest number of trials that can prove it, `met` the shares of conversations
    that met it and must: both are known only to a live result. `by_people` is set if it is on the rate of people,
    `lacks_outcomes` if an older version did not keep which trials met it.
    """

    outcome: Outcome = "inconclusive"
    method: str = ""
    n: int = 0
    significance_level: float = OLDER_ALPHA
    said: str = ""
    observed: str = ""
    required: str = ""
    range: str = ""
    bar: Bar | None = None
    ends: tuple[str, str] | None = None
    cut: ScoreCut | None = None
    missed: frozenset[float] = frozenset()
    least: int = 0
    met: tuple[float, float] | None = None
    by_people: PeopleStandard | None = None
    lacks_outcomes: bool = False

    @classmethod
    def of(
        cls,
        label: str,
        evaluator: "Evaluator",
        verdict: Verdict,
        scores: Iterable[float],
        *,
        missed: frozenset[float] = frozenset(),
        repetitions: int = 1,
    ) -> "Requirement":
        """Return a verdict on what `label` names with its words; `scores` are some of those it rests on."""
        is_known = verdict.outcome != "error"
        interval = verdict.confidence_interval if is_known else None
        bar = evaluator.bar_on_scale
        return cls(
            **{each.name: getattr(verdict, each.name) for each in fields(Verdict)},
            said=evaluator.tell(evaluator.named(label, scores), verdict)
            + _besides(verdict)
            + _repeated(evaluator, repetitions),
            observed=evaluator.show(verdict.estimate) if is_known and verdict.estimate is not None else "",
            required=evaluator.show_bar(),
            range="" if interval is None else " to ".join(map(evaluator.show, interval)),
            bar=bar,
            ends=(evaluator.show(bar.low), evaluator.show(bar.high)) if bar else None,
            cut=ScoreCut(*evaluator.cut) if evaluator.cut else None,
            missed=missed,
            least=evaluator.minimum_trials() if verdict.outcome == "inconclusive" else 0,
            met=_met(evaluator.rule, verdict),
            by_people=_by_people(evaluator),
        )

    def verdict(self) -> Verdict:
        """Return the verdict without its words."""
        return Verdict(**{each.name: getattr(self, each.name) for each in fields(Verdict)})

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval, unless nothing was measured."""
        return None if self.outcome == "error" else self.confidence_interval

    def is_met_by(self, score: float) -> bool:
        """Return whether a score meets the requirement."""
        return self.cut.holds(score) if self.cut else score not in self.missed


def _by_people(evaluator: "Evaluator") -> PeopleStandard | None:
    if evaluator.standard == "judge":
        return None
    from simeval.evaluators.base import ShareEvaluator  # a result that is read back does without

    rule = evaluator.rule
    if not isinstance(rule, ShareEvaluator):
        return None
    return PeopleStandard(evaluator.labels_wanted, rule.required_share, evaluator.looks)


def _met(rule: "Evaluator", verdict: Verdict) -> tuple[float, float] | None:
    known = [each for each in (verdict.chart.met if verdict.chart else ()) if each is not None]
    from simeval.evaluators.base import ShareEvaluator  # a result that is read back does without

    return (sum(known) / len(known), rule.required_share) if known and isinstance(rule, ShareEvaluator) else None


def _besides(verdict: Verdict) -> str:
    """Say how many conversations are not among those that were measured."""
    counts = ((verdict.missing, "missing"), (verdict.left_out, "left out, because the app failed"))
    more = "more " if verdict.estimate is not None and verdict.outcome != "error" else ""
    return "".join(f"; {count} {more}{'is' if count == 1 else 'are'} {what}" for count, what in counts if count)


def _repeated(evaluator: "Evaluator", repetitions: int) -> str:
    """Say that all answers to an example are one value, and where it is a share that all of them have to meet it."""
    if repetitions == 1:
        return ""
    how = "which all have to meet it" if hasattr(evaluator.rule, "threshold") else "and counts once"
    return f"; an example has {repetitions} answers, {how}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One more thing that is known: a sentence, and the numbers under a name of their own."""

    said: str = ""
    name: str = ""
    numbers: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A part of a document that has findings."""

    findings: Sequence[Finding] = ()

    @property
    def described(self) -> list[str]:
        """The sentences of its findings."""
        return [each.said for each in self.findings if each.said]

    def sentence(self, about: str) -> str:
        """Return the sentence of a finding about "cases", "attacks" or the like; empty without one."""
        found = (each.partition(": ") for each in self.described)
        return next((said for subject, _, said in found if subject == about), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureKind:
    """Misses of one expectation that have the same evidence, or reasons in nearly the same words.

    `trials` are those of `misses` in all, `interval` is the 95% interval of its share among all misses. `turns` are
    the first turns with the evidence, from the earliest to the latest; None if they are not known. `key` is the
    evidence in a form that is the same in other runs; "" if there are reasons alone.
    """

    said: str
    trials: tuple[int, ...]
    misses: int
    interval: tuple[float, float]
    turns: tuple[int, int] | None = None
    key: str = ""

    @property
    def range(self) -> str:
        """The interval of its share in words."""
        return " to ".join(f"{each:.0%}" for each in self.interval)

    @property
    def name(self) -> str:
        """Its typical reason, with the turns."""
        first, last = self.turns or (0, 0)
        at = "" if not first else f", first at turn {first}" if first == last else f", first at turns {first} to {last}"
        return self.said + at


def told_kinds(kinds: Sequence[FailureKind]) -> list[str]:
    """Return the number of misses and of their kinds, then a line for each; [] for fewer than two kinds."""
    if len(kinds) < 2:
        return []
    lines = [f"{len(each.trials)} ({each.range}): {each.name}" for each in kinds[:MOST_TOLD]]
    left = kinds[MOST_TOLD:]
    more = [f"{sum(len(each.trials) for each in left)} of {len(left)} more kinds"] if left else []
    return [
        f"{kinds[0].misses} misses of {len(kinds)} kinds (with their shares of all misses, 95% intervals):",
        *lines,
        *more,
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectationDocument(Described):
    """One expectation with its requirements. `kinds` are those of its misses, the most frequent first.

    `rubric` names its rubric and the author, `controls` are the controls of its judges and their scores. `distrusted`
    are the judges that failed their controls. `worst` is the trial that speaks most against the expectation.
    """

    label: str
    verdicts: Sequence[Requirement]
    outcome: Outcome = "inconclusive"
    expected_behavior: str | None = None
    rubric: Mapping[str, Any] | None = None
    controls: Sequence[Mapping[str, Any]] = ()
    warnings: Sequence[str] = ()
    distrusted: Sequence[str] = ()
    scores: Sequence[float | None] = ()
    worst: int | None = None
    kinds: Sequence[FailureKind] = ()

    def is_met_by(self, score: float) -> bool:
        """Return whether a score meets all requirements."""
        return all(verdict.is_met_by(score) for verdict in self.verdicts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioDocument(Described):
    """One scenario. `judgements` are its trials, or some of them; `extras` counts trials that no verdict needed."""

    title: str
    sample_size: int
    trials: int
    expectations: Sequence[ExpectationDocument]
    judgements: Sequence[TrialResult] = ()
    outcome: Outcome = "inconclusive"
    given: str | None = None
    when: str | None = None
    quarantine: Quarantine | None = None
    decides: bool = True
    extras: Mapping[str, int] = field(default_factory=dict)
    users: UserConduct | None = None
    errors: Sequence[tuple[int, Failure]] = ()

    @property
    def verdicts(self) -> list[Requirement]:
        """The requirements of all expectations, in order."""
        return [verdict for each in self.expectations for verdict in each.verdicts]

    @property
    def shown_outcome(self) -> str:
        """Its outcome, or "undecided"."""
        return shown_outcome(self.outcome, (verdict.reason for verdict in self.verdicts))

    @property
    def quarantine_told(self) -> str:
        """The meaning of its quarantine in a sentence; empty without one."""
        return self.quarantine.told(self.title, self.outcome, holds=not self.decides) if self.quarantine else ""

    @property
    def labels(self) -> list[str]:
        """The labels of its expectations, which are those of its trials' results."""
        return [each.label for each in self.expectations]

    def by_index(self) -> dict[int, TrialResult]:
        """Return its trials by their places in the order dealt."""
        return {each.trial.index: each for each in self.judgements}

    def shown_worst(self, place: int) -> str:
        """Return the conversation that speaks most against an expectation as text; empty without one."""
        trial = next((each for each in self.judgements if each.trial.index == self.expectations[place].worst), None)
        return show_trial(trial, trial.results[place]) if trial else ""

    def scores(self, trial: TrialResult) -> dict[str, Score]:
        """Return the scores of a trial by the labels of their expectations."""
        found = zip(self.expectations, trial.results, strict=False)
        return {each.label: result for each, result in found if isinstance(result, Score)}


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetRecord:
    """Which dataset an experiment was run on, in which version, and how often each of its examples."""

    name: str
    kind: str = ""
    version: str
    size: int = 0
    repetitions: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHead(Described):
    """The facts of a whole run, of a suite or an experiment.

    `models` names the models by their roles, `usage` has what each role used. `status` is the state of a run that has
    not ended: nothing is concluded then.
    """

    simeval: str = __version__
    run_id: str
    app: str
    seed: int | None = None
    models: Mapping[str, str] = field(default_factory=dict)
    outcome: Outcome | None = "inconclusive"
    gate: Gate = DEFAULTS.gate
    gate_met: bool = False
    joint: bool = False
    guarantee: str = ""
    baseline: BaselineGate | None = None
    judge_repeats: int = 1
    judge_examples: Sequence[str] = ()
    started: datetime | None = None
    seconds: float = 0.0
    notes: Sequence[str] = ()
    stopped: str = ""
    status: str = ""
    conditions: Mapping[str, Any] | None = None
    dataset: DatasetRecord | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, Usage] = field(default_factory=dict)

    @property
    def has_ended(self) -> bool:
        """Whether anything is concluded."""
        return not self.status

    @property
    def played(self) -> Mapping[str, str]:
        """The judge and the model of the user, if they were asked."""
        return players(self.models.get("judge", ""), self.models.get("user", ""), asked=self.usage)

    def roles_for(self, expectations: "Iterable[ExpectationDocument]") -> list[str]:
        """Return who played what, and who wrote the rubrics of these expectations, in words."""
        repeated = f" ({self.judge_repeats} ratings each)" if self.judge_repeats > 1 else ""
        played = [f"{role} {name}{repeated if role == 'judge' else ''}" for role, name in self.played.items()]
        authors = [each.rubric["model"] for each in expectations if each.rubric]
        return [f"app {self.app}", *played, *show_rubrics(authors)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDocument(RunHead):
    """The run of a suite."""

    seed: int
    models: Mapping[str, str]
    outcome: Outcome = "inconclusive"
    scenarios: Sequence[ScenarioDocument]

    @property
    def verdicts(self) -> list[Requirement]:
        """All requirements, in order."""
        return [verdict for each in self.scenarios for verdict in each.verdicts]

    @property
    def expectations(self) -> Iterator[ExpectationDocument]:
        """All expectations, in order."""
        return (one for each in self.scenarios for one in each.expectations)

    @property
    def has_words(self) -> bool:
        """Whether a screen can show it: older versions kept too little."""
        return all(each.users is not None for each in self.scenarios) and all(each.said for each in self.verdicts)

    @property
    def roles(self) -> list[str]:
        """Who played what, and who wrote the rubrics, in words."""
        return self.roles_for(self.expectations)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricDocument:
    """One metric of an experiment; `direction` is unknown in results of versions that did not keep it."""

    name: str
    kind: Literal["share", "mean"]
    direction: Direction | Literal["unknown"] | None = "unknown"
    estimate: Estimate | None = None
    missing: int = 0
    crashed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentDocument(RunHead):
    """An experiment: its metrics, and the values of each example by metric, repetitions side by side.

    `keys` tell the examples, `crashed` are the places of answers that the app failed on. `judgements` are the worst
    answers, with a result for each expectation. A store adds all answers (`answered`), with a result for each of
    `labels`.
    """

    dataset: DatasetRecord
    answers: int = 0
    significance_level: float = OLDER_ALPHA
    scorers: Sequence[str] = ()
    metrics: Sequence[MetricDocument]
    summaries: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    categories: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    expectations: Sequence[ExpectationDocument] = ()
    failures: Mapping[str, int] = field(default_factory=dict)
    keys: Sequence[str] = ()
    values: Mapping[str, Sequence[float | None]] = field(default_factory=dict)
    crashed: frozenset[int] = frozenset()
    judgements: Sequence[TrialResult] = ()
    answered: Sequence[TrialResult] = ()
    labels: Sequence[str] = ()

    @property
    def scenarios(self) -> Sequence[ScenarioDocument]:
        """Its one scenario: the dataset."""
        return [
            ScenarioDocument(
                title=f"dataset {self.dataset.name}",
                outcome=self.outcome or "inconclusive",
                trials=self.answers,
                sample_size=self.dataset.size * self.dataset.repetitions,
                expectations=self.expectations,
                judgements=self.judgements,
            )
        ]

    @property
    def verdicts(self) -> list[Requirement]:
        """All requirements, in order."""
        return [verdict for each in self.expectations for verdict in each.verdicts]

    @property
    def roles(self) -> list[str]:
        """The dataset, who played what, and who wrote the rubrics, in words."""
        dataset = f"dataset {self.dataset.name} (version {self.dataset.version})"
        return [dataset, *self.roles_for(self.expectations)]

    @property
    def has_words(self) -> bool:
        """Whether a screen can show it: older versions kept too little."""
        return all(verdict.required and verdict.said for verdict in self.verdicts)

    def kind_of(self, name: str) -> Literal["share", "mean"] | None:
        """Return the kind of a metric; None if the run has no value of it."""
        return next((metric.kind for metric in self.metrics if metric.name == name), None)

    def measured(self, name: str) -> bool:
        """Return whether the scorer of a metric was in the run."""
        return any(name == scorer or name.startswith(f"{scorer}.") for scorer in self.scorers)

    def direction_of(self, name: str) -> Direction | None:
        """Return which way a metric is better, as its scorer declared; None if that is not known.

        Results of versions that did not keep it have that of a scorer of simeval's own by its name.
        """
        metric = next((metric for metric in self.metrics if metric.name == name), None)
        if metric is not None and metric.direction != "unknown":
            return metric.direction
        from simeval.scorers.metrics import direction_by_name  # most results do not need it

        owners = [scorer for scorer in self.scorers if name == scorer or name.startswith(f"{scorer}.")]
        owner = max(owners, key=len, default=None)
        return None if owner is None else direction_by_name(owner, name[len(owner) + 1 :])

    def value(self, name: str, place: int, *, is_share: bool) -> float | None:
        """Return the mean of the answers to the example at a place; None without any.

        Of a share, an answer that the app failed on is no.
        """
        times, crashed = self.dataset.repetitions, self.crashed if is_share else frozenset()
        found = self.values.get(name)
        places = range(place * times, (place + 1) * times)
        values = [0.0 if at in crashed else found[at] if found else None for at in places]
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if known else None

    def crashes(self, place: int) -> float:
        """Return the share of the answers to the example at a place that the app failed on."""
        times = self.dataset.repetitions
        return sum(at in self.crashed for at in range(place * times, (place + 1) * times)) / times

    def places(self) -> dict[str, int]:
        """Return the places of examples by their keys, numbered if one came before; without those not reached."""
        return {key: place for place, key in numbered((at, key) for at, key in enumerate(self.keys) if key)}


Document = RunDocument | ExperimentDocument


def numbered(named: Iterable[tuple[Thing, str]]) -> Iterator[tuple[Thing, str]]:
    """Yield things with their names; a name that comes again has a number."""
    seen = Counter[str]()
    for thing, name in named:
        seen[name] += 1
        yield thing, name if seen[name] == 1 else f"{name} ({seen[name]})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeatability:
    """How many scenarios all of their conversations met, some, or none; those with two conversations or more count.

    `agreement` is the chance that two conversations of one scenario end alike (both meet it, or neither), on
    average over scenarios. It describes the conversations there were: a scenario that ended early shows fewer. One that
    is never met is as repeatable as one that always is.
    """

    always: int
    sometimes: int
    never: int
    agreement: float

    def __str__(self) -> str:
        return (
            f"repeatability: {self.always} of {self.always + self.sometimes + self.never} scenarios met in every "
            f"conversation, {self.sometimes} in some, {self.never} in none; two conversations of one scenario end "
            f"alike in {self.agreement:.0%} of cases"
        )


def repeatability_of(scenarios: Iterable[Iterable[bool | None]]) -> Repeatability | None:
    """Say how repeatable scenarios are, by the conversations that met each; None if fewer than two can be compared."""
    counts = [(met.count(True), met.count(False)) for met in map(list, scenarios)]
    compared = [(good, bad) for good, bad in counts if good + bad >= LEAST]
    if len(compared) < LEAST:
        return None
    return Repeatability(
        always=sum(not bad for _, bad in compared),
        sometimes=sum(good > 0 and bad > 0 for good, bad in compared),
        never=sum(not good for good, _ in compared),
        agreement=fmean(1 - 2 * good * bad / ((good + bad) * (good + bad - 1)) for good, bad in compared),
    )


def met_in(
    expectations: "Sequence[tuple[Sequence[Evaluator], Sequence[Score | Failure]]]", *, leaves_out_crashes: bool
) -> Iterator[bool | None]:
    """Yield of each conversation whether it met all that is required of a share of them; None where some is not known.

    If one requirement is settled before another, later conversations do not count: one miss is enough for the other, so
    counting them would count bad ones alone.
    """
    from simeval.evaluators.base import ShareEvaluator  # a result that is read back does without

    asked = [[one for one in evaluators if isinstance(one.rule, ShareEvaluator)] for evaluators, _ in expectations]
    for trial in zip(*(results for _, results in expectations), strict=True):
        if leaves_out_crashes and any(isinstance(each, Failure) and each.stage == "app" for each in trial):
            continue
        found = [_is_met(measured, required) for measured, required in zip(trial, asked, strict=True) if required]
        yield None if None in found or not found else False not in found


def _is_met(measured: Score | Failure, required: "Sequence[Evaluator]") -> bool | None:
    if isinstance(measured, Failure):
        return False if measured.is_of_app and not measured.is_unneeded else None
    return all(evaluator.meets(measured.value) for evaluator in required)
