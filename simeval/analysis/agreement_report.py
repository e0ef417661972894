"""How far a run's judge agrees with people: records, printed as text."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isnan
from typing import Any, Literal

from simeval.analysis.labels import Label, judged_in
from simeval.analysis.people_standard import PeopleVerdict
from simeval.analysis.saved_run import scenarios_of
from simeval.core.serialization import plain
from simeval.core.terminal import indent as indented
from simeval.core.terminal import line_of, printed_room, show_share
from simeval.core.version import __version__
from simeval.results.document import RunDocument
from simeval.results.findings import show_coefficient
from simeval.stats.agreement import BootstrapInterval, Confusion, Rate
from simeval.stats.calibration import CorrectedRate

Trust = Literal["usable", "tentative", "do not trust", "unknown", "too few labels"]
USABLE, TOO_LOW = 0.8, 0.667  # Krippendorff's custom
ADVICE: Mapping[Trust, str] = {
    "usable": "usable",
    "tentative": "for tentative conclusions only (usable where the whole interval is .80 or more)",
    "do not trust": "DO NOT TRUST this judge (below .667)",
    "unknown": "cannot be told, because the labels or the judge's scores do not differ",
}
WEIGHTED = "; more that the judge fails were drawn, so rates and coefficients are weighted to be those of all"
ROUGH = 50  # labelled conversations below which a bootstrap interval is too narrow, and no advice is given

MOST_SHOWN = 20


def indent(text: str, spaces: int) -> str:
    """Wrap a text at the width of the terminal that it is printed on, every line of it indented."""
    return indented(text, spaces, width=line_of(printed_room()))


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAgreement:
    """A judge compared with people on one requirement.

    `labelled` of its `trials` with an outcome have a label; on `ties` of them people are split evenly, and `unused`
    labelled trials have no outcome. `confusion`, on the trials the judge scored, and `rate`, on all, use the majority
    of people's labels of a trial; `kappa`, `weighted_kappa` (quadratic, for ratings) and `alpha` (Krippendorff's,
    ordinal) compare each person's label with the judge, and `alpha_of_people` people with each other. For ratings,
    which may agree in order and yet fall on different sides of the bar, `alpha_at_cut` is that of the passes and
    failures they make. Verdicts depend on these, so `trust` follows `alpha_at_cut`, or `alpha` if labels are passes and
    failures themselves. `cut` is the bar, such as ">= 6", if known. `exact` is whether the interval of `rate` is;
    `conditions` when it is valid. For a sample that is `stratified`, with more of the judge's failures, the table
    counts labels, and rates and coefficients are those of all trials.
    """

    scenario: str
    expectation: str
    evaluator: str
    cut: str
    are_ratings: bool
    trials: int
    labelled: int
    unused: int
    ties: int
    confusion: Confusion
    kappa: BootstrapInterval
    weighted_kappa: BootstrapInterval | None
    alpha: BootstrapInterval
    alpha_at_cut: BootstrapInterval | None
    alpha_of_people: float | None
    trust: Trust
    rate: CorrectedRate
    exact: bool
    conditions: tuple[str, ...]
    stratified: bool = False

    def __str__(self) -> str:
        return self.describe(self.evaluator)

    def describe(self, requirements: str) -> str:
        """Write the numbers under a head that names the requirement, or all requirements they are of."""
        table, rate, n = self.confusion, self.rate, self.trials
        passed, failed = table.sensitivity, table.specificity
        kappa = f"Cohen's kappa {show_interval(self.kappa)}"
        if self.weighted_kappa is not None:
            kappa += f"; of the ratings, with quadratic weights, {show_interval(self.weighted_kappa)}"
        surety = "exact" if self.exact else "approximate"
        lines = [
            f"{self.labelled} of {n} conversations are labelled{self._left_out()}{WEIGHTED * self.stratified}",
            f"of {passed.n} that people pass the judge passes {passed.successes}: sensitivity {_show_rate(passed)}",
            f"of {failed.n} that people fail the judge fails {failed.successes}: specificity {_show_rate(failed)}",
            kappa,
            f"Krippendorff's alpha {self._alphas()}{self._people()}",
            f"the judge finds {_share(rate.judge_rate)} of the {n} conversations good, people would find "
            f"{_share(rate.estimate)} [{_share(rate.lower)}, {_share(rate.upper)}] ({rate.method}, {surety})",
        ]
        head = f"{self.scenario}: {self.expectation}: {requirements}"
        grid = [
            f"{'people pass':>27}{'people fail':>13}",
            f"    judge passes{table.true_pass:>11}{table.false_pass:>13}",
            f"    judge fails {table.false_fail:>11}{table.true_fail:>13}",
        ]
        wrapped = [indent(line, 2) for line in lines]
        return "\n".join([indent(head, 0), wrapped[0], *grid, *wrapped[1:]])

    def _left_out(self) -> str:
        unused = f", {self.unused} labelled trials have no outcome here" if self.unused else ""
        return f"{unused}, on {self.ties} of them people are split evenly" if self.ties else unused

    def _alphas(self) -> str:
        if self.alpha_at_cut is None:
            return _with_advice(self.alpha)
        return f"at the bar {_with_advice(self.alpha_at_cut)}; of the ratings (ordinal) {show_interval(self.alpha)}"

    def _people(self) -> str:
        if self.alpha_of_people is None:
            return ""
        return f"; people among themselves {show_coefficient(self.alpha_of_people)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementReport:
    """A run's judge compared with people: one entry for each labelled requirement.

    `overall` is the alpha of all passes and failures together, each expectation at its first requirement; None for one
    expectation. Bounds have `significance_level` on each side. It is about the judge: no pass or fail comes of it, but
    of `people`: the verdicts on requirements whose standard is people.
    """

    run_id: str
    judge: str
    judge_repeats: int
    raters: tuple[str, ...]
    significance_level: float
    entries: tuple[JudgeAgreement, ...]
    overall: BootstrapInterval | None
    people: tuple[PeopleVerdict, ...] = ()
    examples: int = 0  # labelled conversations left out, because the judge was shown them as examples

    def __str__(self) -> str:
        times = f" ({self.judge_repeats} ratings each)" if self.judge_repeats > 1 else ""
        people = "one person" if len(self.raters) == 1 else f"{len(self.raters)} people"
        kind = "ratings" if self.entries[0].are_ratings else "passes and failures"
        head = f"judge {self.judge}{times} against {people} ({kind}), run {self.run_id}"
        overall = []
        if self.overall is not None:
            overall = [indent(f"all expectations together: alpha {_with_advice(self.overall)}", 0)]
        conditions = dict.fromkeys(condition for entry in self.entries for condition in entry.conditions)
        holds = ["what people would find holds on conditions:", *(indent(f"- {each}", 2) for each in conditions)]
        shown = f"{self.examples} labelled conversations are left out: the judge was shown them as examples"
        heads = [indent(head, 0), *([indent(shown, 0)] if self.examples else [])]
        return "\n\n".join(
            [*map(str, self.people), *heads, *self._blocks(), *overall, indent(self._legend(), 0), "\n".join(holds)]
        )

    def _blocks(self) -> list[str]:
        """Write the entries; those of an expectation with the same cut and the same numbers once, naming each."""
        alike: dict[tuple[str, str], list[JudgeAgreement]] = {}
        for entry in self.entries:
            alike.setdefault((entry.cut, entry.describe("")), []).append(entry)
        return [same[0].describe(" and ".join(entry.evaluator for entry in same)) for same in alike.values()]

    def _legend(self) -> str:
        rough = min(entry.alpha.n_clusters for entry in self.entries) < ROUGH
        narrow = f", too narrow with fewer than {ROUGH} labelled conversations" if rough else ""
        level = show_share(1 - 2 * self.significance_level)
        return f"intervals: {level} confidence; of kappa and alpha by bootstrap of conversations: approximate{narrow}"


def trust_in(alpha: BootstrapInterval) -> Trust:
    """Return how far a judge with this alpha of passes and failures can be relied on.

    There is no advice on fewer than 50 labelled conversations. The estimate alone warns; only an interval of .80 or
    above makes a judge usable.
    """
    if alpha.n_clusters < ROUGH:
        return "too few labels"
    if isnan(alpha.estimate):
        return "unknown"
    if alpha.estimate < TOO_LOW:
        return "do not trust"
    return "usable" if alpha.low >= USABLE else "tentative"


def show_interval(found: BootstrapInterval) -> str:
    """Write a coefficient with its interval."""
    if isnan(found.low):
        return show_coefficient(found.estimate)
    bounds = f"{show_coefficient(found.low)}, {show_coefficient(found.high)}"
    return f"{show_coefficient(found.estimate)} [{bounds}]"


def _with_advice(alpha: BootstrapInterval) -> str:
    trust, wanted = trust_in(alpha), ROUGH - alpha.n_clusters
    few = f"no advice on fewer than {ROUGH} labelled conversations ({wanted} more wanted)"
    return f"{show_interval(alpha)}: {few if trust == 'too few labels' else ADVICE[trust]}"


def encode_agreement(report: AgreementReport) -> dict[str, Any]:
    """Return a report as the machine-readable result of `simeval people agree`."""
    found: dict[str, Any] = {"simeval": __version__, **plain(asdict(report))}
    return found


def _show_rate(rate: Rate) -> str:
    return f"{_share(rate.value)} [{_share(rate.low)}, {_share(rate.high)}]"


def _share(share: float) -> str:
    return "-" if isnan(share) else show_share(round(share, 3))


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """A trial on which a person and the judge do not agree; `score` is the judge's, None if it gave none."""

    scenario: str
    index: int
    expectation: str
    rater: str
    passes: bool
    score: float | None
    reasoning: str

    def __str__(self) -> str:
        said, judged = ("pass", "fail") if self.passes else ("fail", "pass")
        score = "" if self.score is None else f" with {self.score:g}"
        why = f": {self.reasoning}" if self.reasoning else ""
        who = self.rater or "the label"
        return f"{self.scenario}, trial {self.index}: {who} says {said}, the judge {judged}{score}{why}"


def disagreements(run: RunDocument, labels: Sequence[Label]) -> list[Disagreement]:
    """Return each label that differs from the judge, by the first requirement of its expectation."""
    judged, scenarios = judged_in(run, reasoned_only=False), scenarios_of(run)
    trials = {title: each.by_index() for title, each in scenarios.items()}
    found = []
    for label in labels:
        requirement = next(iter(judged.get((label.scenario, label.expectation or ""), {}).values()), None)
        met = requirement.met.get(label.index) if requirement and requirement.met else None
        if requirement is None or met is None or (passes := _passes(label, requirement.cut)) is met:
            continue
        scores = scenarios[label.scenario].scores(trials[label.scenario][label.index])
        score = scores.get(label.expectation or "")
        found.append(
            Disagreement(
                scenario=label.scenario,
                index=label.index,
                expectation=label.expectation or "",
                rater=label.rater,
                passes=passes,
                score=None if score is None or isnan(score.value) else score.value,
                reasoning=score.reasoning if score else "",
            )
        )
    return found


def _passes(label: Label, cut: Any) -> bool:
    if isinstance(label.value, bool):
        return label.value
    return bool(cut.holds(label.value)) if cut else False


def show_disagreements(found: Sequence[Disagreement]) -> str:
    """Write the disagreements of people and judge, or that there are none."""
    if not found:
        return "people and the judge agree on every label"
    lines = [indent(str(each), 2) for each in found[:MOST_SHOWN]]
    more = [f"  … and {len(found) - MOST_SHOWN} more"] if len(found) > MOST_SHOWN else []
    return "\n".join([f"people and the judge disagree on {len(found)}:", *lines, *more])
