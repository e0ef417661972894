"""What is known of an expectation beside its verdicts: how attacks, judges, turns, rows and users fared."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil, isnan
from statistics import mean
from typing import TYPE_CHECKING, Self

from simeval.core.judging import ESCALATION
from simeval.core.terminal import counted_of, show_share
from simeval.core.trial import BREACH, SAID, Failure, Kind, Rating, Score, Verdict, breaches_in
from simeval.evaluators.base import Evaluator
from simeval.results.document import Finding
from simeval.results.text import show_untold, speaks_against
from simeval.stats.agreement import krippendorff_alpha
from simeval.stats.binomial import clopper_pearson
from simeval.stats.clusters import anova_icc, korn_graubard
from simeval.stats.reliability import JudgeVariance, judge_variance, repeats_worth_paying

if TYPE_CHECKING:
    from simeval.results.cases import CaseTable

EACH_SIDE = 0.025
LEVEL = 0.05  # of calling a persona worse off than others
STEP = 1000  # bounds are rounded up to a tenth of a percent
COST_RATIOS = (1.0, 5.0, 10.0)  # the price of one conversation, in ratings of one
LEAST_FOR_ADVICE = 20  # conversations; variances are too rough with fewer
ENOUGH = 50  # conversations; the interval of turns is too narrow with fewer


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonaShare:
    """The number of a persona's `n` conversations that met the expectation, with the exact 95% interval.

    Trials lost by the app, or by a check of its script, count as not met; other missing ones do not count, nor do
    failures of the app that were to be left out. `p_worse` is that of "it is met as often as with the others": Fisher's
    test, by Holm's correction over all personas.
    """

    name: str
    met: int
    n: int
    interval: tuple[float, float]
    p_worse: float

    @property
    def is_worse(self) -> bool:
        """Whether the app does worse with this persona than with the others, at the 5% level."""
        return self.p_worse <= LEVEL

    def __str__(self) -> str:
        lower, upper = self.interval
        return f"{self.name} {self.met} of {self.n} ({lower:.0%} to {upper:.0%})"


def personas_of(
    personas: Sequence[str | None],
    results: Sequence[Score | Failure],
    evaluators: Sequence[Evaluator],
    *,
    leaves_out_crashes: bool = False,
) -> tuple[PersonaShare, ...]:
    """Return how each persona fared, in the order of names; each result had one or none."""
    met: dict[str, list[bool]] = defaultdict(list)
    for name, result in zip(personas, results, strict=True):
        if name is not None and (isinstance(result, Score) or result.is_miss(leaves_out_crashes=leaves_out_crashes)):
            met[name].append(not speaks_against(result, evaluators))
    if not met:
        return ()
    from simeval.stats.multiple import holm
    from simeval.stats.two_sample import fisher

    names = sorted(met)
    all_met, n = sum(map(sum, met.values())), sum(map(len, met.values()))
    counts = [(sum(met[name]), len(met[name])) for name in names]
    worse = holm([fisher(good, size, all_met - good, n - size).p_new_worse for good, size in counts])
    return tuple(
        PersonaShare(
            name=name,
            met=good,
            n=size,
            interval=clopper_pearson(good, size, EACH_SIDE),
            p_worse=p_value,
        )
        for name, (good, size), p_value in zip(names, counts, worse, strict=True)
    )


def show_personas(shares: Sequence[PersonaShare]) -> str | None:
    """Describe how the personas fared, and the ones the app does worse with; None without any."""
    if not shares:
        return None
    told = f"met with {', '.join(map(str, shares))}"
    worse = [f"{each.name} (p = {each.p_worse:.1g})" for each in shares if each.is_worse]
    return f"{told}; worse than with the others: {', '.join(worse)}" if worse else told


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """The successful ones of so many `attempts` that had a reply, with the number of each kind of breach.

    `attackers` are those with one or more successes, each with their number, and its attempts. With this confidence at
    most the share `at_most` of all attempts succeeds; it is 1 if they are too few. `without_reply` counts attempts
    without an answer of the app: they are neither, and the bound is valid whatever they were.
    """

    attempts: int
    succeeded: int
    breaches: Mapping[Kind, int]
    attackers: Mapping[str, tuple[int, int]]
    without_reply: int
    at_most: float
    confidence: float

    @classmethod
    def of(
        cls,
        results: Sequence[Score | Failure],
        evaluators: Sequence[Evaluator],
        verdicts: Sequence[Verdict],
        personas: Sequence[PersonaShare],
    ) -> Self | None:
        """Return the summary of attempts; None if nothing looked for breaches, or nothing was concluded."""
        looked = [each for each in results if isinstance(each, Score) and BREACH in each.details]
        if not looked or not verdicts:
            return None
        verdict, bar = verdicts[0], evaluators[0].bar_on_scale
        if verdict.confidence_interval is None or bar is None or bar.is_lower_bound:
            return None
        kinds = Counter(kind for each in looked for kind in kinds_of(each))
        upper = verdict.confidence_interval[1]
        return cls(
            attempts=len(looked),
            succeeded=sum(each.value > 0 for each in looked),
            breaches=dict(kinds),
            attackers={each.name: (each.n - each.met, each.n) for each in personas if each.met < each.n},
            without_reply=sum(isinstance(each, Failure) and each.is_no_reply for each in results),
            at_most=bar.value if verdict.passed else min(ceil(upper * STEP) / STEP, 1.0),
            confidence=1 - verdict.significance_level,
        )

    def __str__(self) -> str:
        is_bounded = self.at_most < 1
        bound = f"at most {show_share(self.at_most)}, with {show_share(self.confidence)} confidence"
        bound = bound if is_bounded else "too few to say how often attempts succeed"
        lost = f"; {self.without_reply} more had no reply, and are neither" if self.without_reply else ""
        if self.succeeded:
            kinds = ", ".join(f"{SAID[kind]} in {self.breaches[kind]}" for kind in SAID if kind in self.breaches)
            attackers = ", ".join(f"{name} {met} of {n}" for name, (met, n) in self.attackers.items())
            by = f", by {attackers}" if attackers else ""
            return f"{self.succeeded} of {self.attempts} attempts succeeded ({kinds}){by}{lost}; {bound}"
        clean = f"{counted_of(self.attempts, 'clean attempt')}{lost}"
        return f"{bound}: {clean}" if is_bounded else f"{clean}: {bound}"


def kinds_of(score: Score) -> list[Kind]:
    """Return the kinds of breach in a score, each once."""
    told = {kind for kind, _ in breaches_in(score.details)}
    return [kind for kind in SAID if kind in told]


@dataclass(frozen=True, slots=True, kw_only=True)
class Escalations:
    """How many of the `rated` conversations were left to the second judge; the others the first settled.

    `audited` settled ones were also rated by the second judge, without effect; on `agreed` of those both agree about
    the requirement. `interval` is of the share agreed, 95%, exact for a sample of fixed size.
    """

    rated: int
    escalated: int
    audited: int
    agreed: int
    interval: tuple[float, float] | None

    def __str__(self) -> str:
        said = f"{self.escalated} of {self.rated} conversations ({self.escalated / self.rated:.0%}) left to the second"
        if self.interval is None:
            return f"{said}; none of the others audited"
        low, high = self.interval
        return (
            f"{said}; on what the first settled both agree in {self.agreed} of {self.audited} audited "
            f"(95% interval {low:.0%} to {high:.0%})"
        )


def escalations_of(results: Sequence[Score | Failure], evaluators: Sequence[Evaluator]) -> Escalations | None:
    """Return the summary of the conversations that a composite judge rated; None without one."""
    told = [each.details[ESCALATION] for each in results if isinstance(each, Score) and ESCALATION in each.details]
    found = [each for each in told if isinstance(each, dict)]
    if not found:
        return None
    settled = [each for each in found if each["why"] == "settled"]
    audited = [(each["first"], each["second"]) for each in settled if "second" in each]
    agreed = sum(_meets(first, evaluators) == _meets(second, evaluators) for first, second in audited)
    return Escalations(
        rated=len(found),
        escalated=len(found) - len(settled),
        audited=len(audited),
        agreed=agreed,
        interval=clopper_pearson(agreed, len(audited), EACH_SIDE) if audited else None,
    )


def _meets(rating: float, evaluators: Sequence[Evaluator]) -> bool:
    return all(evaluator.meets(rating) for evaluator in evaluators)


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """How many ratings a conversation pay where holding one costs `cost_ratio` times as much as rating it.

    `saving` is the part of the cost that they save at equal precision of the mean, against one rating each.
    """

    cost_ratio: float
    repeats: int
    saving: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """How far the ratings of one expectation agree with each other. It does not measure whether they are right.

    `icc` is the part of a single rating's variance that is due to conversations, and not to the judge: 1 for one that
    never contradicts itself, None if all ratings are equal or one conversation was rated. Of a panel it is that of any
    rating, whichever judge gives it, and `alpha` is the agreement of the judges (Krippendorff's, interval level, each
    judge's mean over its repeats); None for one judge. `advice` is for one judge's repeats only, from 20 conversations
    on.
    """

    judges: tuple[str, ...]
    repeats: int
    conversations: int
    icc: float | None
    variance_judge: float | None
    variance_conversations: float | None
    alpha: float | None
    advice: tuple[Advice, ...] = ()

    def __str__(self) -> str:
        size = "one conversation" if self.conversations == 1 else f"{self.conversations} conversations"
        if self.icc is None:
            why = f"because all ratings of {size} are equal" if self.variance_judge == 0 else f"from {size}"
            return f"no ICC, {why}"
        icc, over = f"ICC {show_coefficient(self.icc)}", f"over {self.repeats} repeats ({size})"
        if len(self.judges) == 1:
            return f"{icc} {over}; {self._advise()}"
        agreed = f"alpha {show_coefficient(self.alpha)} between {len(self.judges)} judges"
        return f"{agreed}, {icc} of a single rating {over if self.repeats > 1 else f'({size})'}"

    def _advise(self) -> str:
        if not self.advice:
            return f"fewer than {LEAST_FOR_ADVICE} give no advice on repeats"
        if all(advice.repeats == 1 for advice in self.advice):
            return "one rating a conversation is enough"
        counts = [f"{advice.repeats}" for advice in self.advice]
        ratios = [f"{advice.cost_ratio:g}" for advice in self.advice]
        return (
            f"worth paying: {_listed(counts)} ratings where a conversation costs as much as {_listed(ratios)} of them"
        )


def reliability_of(results: Sequence[Score | Failure]) -> Reliability | None:
    """Return how far the ratings behind an expectation's scores agree; None if none is a mean of several."""
    rated = [result.ratings for result in results if isinstance(result, Score) and len(result.ratings) > 1]
    if not rated:
        return None
    judges = tuple(dict.fromkeys(rating.judge for ratings in rated for rating in ratings))
    if all({rating.judge for rating in ratings} != set(judges) for ratings in rated):
        return None  # one escalates to the other: their own conversations are not comparable
    places = dict.fromkeys((rating.judge, rating.repeat) for ratings in rated for rating in ratings)
    found = judge_variance([_row(ratings, list(places)) for ratings in rated])
    return Reliability(
        judges=judges,
        repeats=len({repeat for _, repeat in places}),
        conversations=len(rated),
        icc=_known(found.icc1),
        variance_judge=_known(found.judge),
        variance_conversations=_known(found.conversation),
        alpha=_agreement(rated, judges) if len(judges) > 1 else None,
        advice=_advice(found) if len(judges) == 1 and len(rated) >= LEAST_FOR_ADVICE else (),
    )


def show_coefficient(value: float | None) -> str:
    """Write a coefficient that cannot be above 1, as .93; "undefined" for NaN or None."""
    return "undefined" if value is None or isnan(value) else f"{value:.2f}".replace("0.", ".", 1)


def _row(ratings: Sequence[Rating], places: Sequence[tuple[str, int]]) -> list[float | None]:
    scores = {(rating.judge, rating.repeat): rating.score for rating in ratings}
    return [scores.get(place) for place in places]


def _known(value: float) -> float | None:
    return None if isnan(value) else value


def _agreement(rated: Sequence[Sequence[Rating]], judges: Sequence[str]) -> float | None:
    own = [[[rating.score for rating in ratings if rating.judge == judge] for ratings in rated] for judge in judges]
    means = [[mean(scores) if scores else None for scores in row] for row in own]
    return _known(krippendorff_alpha(means, level="interval").value)


def _advice(found: JudgeVariance) -> tuple[Advice, ...]:
    if isnan(found.icc1):
        return ()
    best = [(ratio, repeats_worth_paying(found.judge, found.conversation, cost_ratio=ratio)) for ratio in COST_RATIOS]
    return tuple(Advice(cost_ratio=ratio, repeats=each.count, saving=each.saving) for ratio, each in best)


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnShare:
    """The share of all turns that are good: long conversations count for more, which a verdict does not allow.

    `interval` is Korn and Graubard's for turns that are alike within their conversation, 5% on each side; `icc` is how
    alike they are (0 not, 1 wholly, None if it is undefined), and so many turns carry no more information than `turns /
    design_effect` independent ones.
    """

    share: float
    interval: tuple[float, float]
    turns: int
    conversations: int
    icc: float | None
    design_effect: float | None

    def __str__(self) -> str:
        low, high = self.interval
        alike = "" if self.icc is None else f", ICC {self.icc:.2f}"
        effect = "" if self.design_effect is None else f", design effect {self.design_effect:.2f}"
        rough = f" (rough: it wants {ENOUGH} conversations)" if self.conversations < ENOUGH else ""
        return (
            f"{self.share:.1%} of all {self.turns} turns [{low:.1%}, {high:.1%}]{rough}{alike}{effect}; a description, "
            "not what the verdict is about"
        )


def turns_of(results: Sequence[Score | Failure]) -> TurnShare | None:
    """Describe the turns of all conversations together, if the scores count good ones; else None."""
    counts = [result.turn_counts for result in results if isinstance(result, Score) and result.turn_counts]
    if not counts:
        return None
    good, sizes = [each.good for each in counts], [each.turns for each in counts]
    found, alike = korn_graubard(good, sizes, alpha=0.05), anova_icc(good, sizes)
    return TurnShare(
        share=found.ratio,
        interval=(found.low, found.high),
        turns=int(sum(sizes)),
        conversations=len(counts),
        icc=None if isnan(alike.icc) else alike.icc,
        design_effect=None if isnan(alike.design_effect) else alike.design_effect,
    )


def findings_of(
    results: Sequence[Score | Failure],
    evaluators: Sequence[Evaluator],
    verdicts: Sequence[Verdict],
    personas: Sequence[PersonaShare],
    cases: "CaseTable | None",
) -> tuple[Finding, ...]:
    """Return all findings of an expectation: a row for each kind, with the name of its numbers in JSON."""
    attempts = Attempts.of(results, evaluators, verdicts, personas)
    rows = (
        ("attacks", "", attempts),
        ("judge", "escalations", escalations_of(results, evaluators)),
        ("judge", "reliability", reliability_of(results)),
        ("judge", "", show_untold(results)),
        ("turns", "turns", turns_of(results)),
        ("cases", "cases", cases),
    )
    found = [
        Finding(f"{of}: {each}", name, asdict(each) if name and not isinstance(each, str) else None)
        for of, name, each in rows
        if each
    ]
    fared = show_personas(personas) if attempts is None else None
    numbers = [asdict(each) for each in personas]
    users = [Finding(f"users: {fared}" if fared else "", "personas", numbers)] if numbers else []
    return (*found, *users)
