"""A run's judge compared with people's labels: how far they agree, and the rate that people would find.

References: see `simeval.stats.agreement` and `simeval.stats.calibration`.

Labels of a sample that has more of the judge's failures than a random one are weighted. The probabilities with which
trials were drawn identify such a sample. The judge's outcome by the first requirement of the expectation divides the
trials into two strata; within each, labels are of a random subset. Such a sample allows no conclusion on other
requirements of the expectation.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simeval.analysis.agreement_report import AgreementReport, JudgeAgreement, trust_in
from simeval.analysis.labels import (
    HIGHEST,
    LOWEST,
    Judged,
    Label,
    first_outcomes,
    judged_in,
    read_labels,
    transcript_of,
)
from simeval.analysis.people_standard import PeopleLabels, PeopleVerdict, people_verdicts, require_of_run
from simeval.analysis.saved_run import Key, RequirementOutcomes, Source, read_file, read_suite, scenarios_of
from simeval.core.arrays import Floats
from simeval.core.feedback import transcript_key
from simeval.core.settings import DEFAULTS
from simeval.core.validation import is_number, require, require_level
from simeval.errors import DefinitionError
from simeval.evaluators.verdicts import PEOPLE
from simeval.results.document import RunDocument, ScenarioDocument
from simeval.stats.agreement import (
    BootstrapInterval,
    Confusion,
    Rate,
    bootstrap_by_cluster,
    cohen_kappa,
    confusion,
    krippendorff_alpha,
)
from simeval.stats.calibration import CONDITIONS, CorrectedRate, corrected_rate
from simeval.stats.stratified import (
    StratifiedRates,
    StratifiedShare,
    Stratum,
    stratified_rates,
    weighted_alpha,
    weighted_kappa,
)

METHOD = "weighted by how the sample was drawn (Horvitz-Thompson)"
HOLDS = (
    "Among what the judge passes, and among what it fails, the labelled conversations must be a random subset.",
    CONDITIONS[-1],
)
NEARLY = 1e-6

Statistic = Callable[[Floats, Floats, Floats], float]
STOPS = (
    "The run could stop early, which pulls rates to the side it stops on; with early stopping off this does not happen."
)


def stratified_in(labels: Sequence[Label], run: RunDocument) -> set[str | None]:
    """Return the expectations with labels of a stratified sample. Raises DefinitionError for ratings of one."""
    outcomes = first_outcomes(run)
    stratified = {
        name
        for name in dict.fromkeys(each.expectation for each in labels)
        if _is_stratified(
            [each for each in labels if each.expectation == name],
            {title: met for (title, label), met in outcomes.items() if label == name},
        )
    }
    if any(each.expectation in stratified and not isinstance(each.value, bool) for each in labels):
        do = "label a stratified sample with pass and fail"
        raise DefinitionError("labels", found="ratings of a stratified sample", do=do)
    return stratified


def _is_stratified(labels: Sequence[Label], outcomes: Mapping[str, Mapping[int, bool | None]]) -> bool:
    """Return whether trials that the judge passes were drawn with another probability than those that it fails.

    If only one of the two kinds is labelled so far: whether its probability fits no whole number drawn from all.
    """
    chances: dict[bool, set[float]] = {True: set(), False: set()}
    for each in labels:
        if each.inclusion is not None:
            chances[bool(outcomes.get(each.scenario, {}).get(each.index))].add(each.inclusion)
    if all(chances.values()):
        return chances[True] != chances[False]
    size = sum(is_met is not None for met in outcomes.values() for is_met in met.values())
    return not all(_is_whole(chance * size) for found in chances.values() for chance in found)


def _is_whole(number: float) -> bool:
    return abs(number - round(number)) < NEARLY


@dataclass(frozen=True, slots=True)
class StratifiedLabels:
    """The majority of people's labels of a requirement's trials, and the judge's outcomes: of each, by its index."""

    human: Mapping[int, bool]
    judge: Mapping[int, bool]

    def weights(self, indexes: Sequence[int]) -> Floats:
        """Return the number of trials that each of these represents."""
        each = {True: self._stratum(True), False: self._stratum(False)}
        stands = {said: found.size / max(1, found.labelled) for said, found in each.items()}
        return np.array([stands[self.judge[index]] for index in indexes], dtype=np.float64)

    def rates(self, alpha: float) -> StratifiedRates:
        """Return the rates on all trials."""
        return stratified_rates(self._stratum(True), self._stratum(False), alpha=alpha)

    def weighted(self, table: Confusion, *, alpha: float) -> Confusion:
        """Return a table of the labels as they were given with the rates of all trials."""
        found = self.rates(alpha)
        return replace(
            table,
            sensitivity=_with(table.sensitivity, found.sensitivity),
            specificity=_with(table.specificity, found.specificity),
            accuracy=_with(table.accuracy, found.accuracy),
        )

    def corrected(self, plain: CorrectedRate, *, alpha: float) -> CorrectedRate:
        """Return the rate that people would find."""
        found = self.rates(alpha).rate
        return replace(
            plain, method=METHOD, estimate=found.value, lower=found.low, upper=found.high, exact=True, conditions=HOLDS
        )

    def _stratum(self, said: bool) -> Stratum:
        labelled = [people for index, people in self.human.items() if self.judge[index] is said]
        return Stratum(list(self.judge.values()).count(said), len(labelled), labelled.count(True))


def _with(plain: Rate, found: StratifiedShare) -> Rate:
    return replace(plain, value=found.value, low=found.low, high=found.high)


def agreement(
    result: Source | Path | str,
    labels: Sequence[Label] | Path | str,
    *,
    alpha: float = DEFAULTS.significance_level,
    skipped: Sequence[tuple[str, str, int]] = (),
) -> AgreementReport:
    """Compare the judge of a run with people's labels of some of its trials.

    `result` is a result of an engine, the JSON result of `simeval run`, or its path; `labels` are Labels, or the path
    of a file of them (see `read_labels`). The labelled trials must be a random subset of the run's: `simeval people
    agree --sample` draws one. `skipped` are trials that people could not label: title, expectation and index. Intervals
    have `alpha` on each side. Raises DefinitionError for labels that match no trial, that are of another run, or that
    do not fit together.
    """
    require_level(alpha, "alpha")
    run = load_run(result)
    given = read_labels(Path(labels)) if isinstance(labels, (str, Path)) else list(labels)
    require(bool(given), "labels", found=given, do="give one or more labels")
    used = _examples_in(given, run)
    given = [label for label in given if (label.scenario, label.index) not in used]
    do = "label trials that the judge was not shown"
    require(bool(given), "labels", found="only conversations that are examples of the judge", do=do)
    require_of_run(given, run)
    matched = _matched(given, run)
    judged, stratified = judged_in(run, reasoned_only=False), stratified_in(_named(matched), run)
    kept = [
        _Labelled((*key, evaluator), requirement, found, key[1] in stratified)
        for key, found in matched.items()
        for evaluator, requirement in list(judged[key].items())[: 1 if key[1] in stratified else None]
    ]
    firsts = {each.key[:2]: each for each in reversed(kept)}
    people = people_verdicts(run, _majorities(firsts.values(), skipped))
    return AgreementReport(
        run_id=run.run_id,
        judge=run.models.get("judge", ""),
        judge_repeats=run.judge_repeats,
        raters=tuple(dict.fromkeys(label.rater for label in given)),
        significance_level=alpha,
        examples=len(used),
        entries=tuple(_of_people(_agreement(each, alpha), people) for each in kept),
        people=people,
        overall=_overall([firsts[key] for key in matched], alpha) if len(matched) > 1 and not stratified else None,
    )


def _of_people(entry: JudgeAgreement, people: Iterable[PeopleVerdict]) -> JudgeAgreement:
    """Return an entry with the interval of its verdict of people, if there is one."""
    key = entry.scenario, entry.expectation, entry.evaluator
    for found in people:
        if found.interval and key == (found.scenario, found.expectation, found.evaluator):
            low, high = found.interval
            return replace(entry, rate=replace(entry.rate, lower=low, upper=high, method=PEOPLE))
    return entry


def people_labels(
    run: RunDocument, labels: Sequence[Label], skipped: Iterable[tuple[str, str, int]] = ()
) -> PeopleLabels:
    """Return the majority of people's labels of each expectation whose standard is people; others are left out."""
    used = _examples_in(labels, run)
    by_people = {
        key: next(iter(found.items()))
        for key, found in judged_in(run, reasoned_only=False).items()
        if any(each.by_people for each in found.values())
    }
    labelled = list[_Labelled]()
    for key, (evaluator, requirement) in by_people.items():
        given = [
            each
            for each in labels
            if (each.scenario, each.expectation) == key and (each.scenario, each.index) not in used
        ]
        labelled += [_Labelled((*key, evaluator), requirement, found) for found in _matched(given, run).values()]
    return _majorities(labelled, (each for each in skipped if each[:2] in by_people))


def _majorities(labelled: Iterable["_Labelled"], skipped: Iterable[tuple[str, str, int]]) -> PeopleLabels:
    """Return the majority of people's labels by title and expectation, then by trial; None where nobody could tell."""
    found: dict[tuple[str, str], dict[int, bool | None]] = {}
    for title, label, index in skipped:
        found.setdefault((title, label), {})[index] = None
    for each in labelled:
        found.setdefault(each.key[:2], {}).update({index: each.majority(index) for index in each.labels})
    return found


def _examples_in(labels: Sequence[Label], run: RunDocument) -> set[tuple[str, int]]:
    """Return the labelled trials that the judge was shown as examples: on these its rating is not its own."""
    if not run.judge_examples:
        return set()
    keys = {
        (title, trial.trial.index): {transcript_key(transcript_of(trial, with_tools=each)) for each in (True, False)}
        for title, scenario in scenarios_of(run).items()
        for trial in scenario.judgements
    }
    labelled = {(label.scenario, label.index) for label in labels}
    shown = {*run.judge_examples}
    return {place for place in labelled if shown & keys.get(place, set())}


def load_run(result: Source | Path | str) -> RunDocument:
    """Return the run of a result, or of the path of its JSON. Raises DefinitionError if there is none."""
    if not isinstance(result, (str, Path)):
        return read_suite(result, "result")
    return read_file(Path(result), f"result {str(result)!r}")


@dataclass(frozen=True, slots=True)
class _Labelled:
    """A requirement and the labels of its expectation, by trial."""

    key: Key
    requirement: RequirementOutcomes
    labels: Mapping[int, Sequence[Label]]
    stratified: bool = False  # the sample that was labelled

    @property
    def met(self) -> Mapping[int, bool]:
        """The trials with an outcome, and whether they met the requirement."""
        return {index: met for index, met in (self.requirement.met or {}).items() if met is not None}

    @property
    def pairs(self) -> list[tuple[int, Label]]:
        """Each label of a trial that the judge scored."""
        scored = [index for index in self.met if index in self.requirement.scores]
        return [(index, label) for index in scored for label in self.labels.get(index, ())]

    @property
    def are_ratings(self) -> bool:
        return any(not isinstance(label.value, bool) for found in self.labels.values() for label in found)

    def passes(self, label: Label) -> bool:
        """Return whether a person passes a trial: in words, or by a rating on the good side of the evaluator's cut."""
        if isinstance(label.value, bool):
            return label.value
        if self.requirement.cut is None:
            do = "run again with this version, or label with pass and fail"
            raise DefinitionError("result", found="it does not say which ratings are good", do=do)
        return self.requirement.cut.holds(label.value)

    def majority(self, index: int) -> bool | None:
        """Return the majority of people's labels of a trial; None without a label, and for a tie."""
        said = [self.passes(label) for label in self.labels.get(index, ())]
        return None if 2 * sum(said) == len(said) else 2 * sum(said) > len(said)

    def values(self) -> tuple[Floats, Floats]:
        """Return people's and the judge's ratings of each pair, or passes and failures where labels are that."""
        if not self.are_ratings:
            return self.outcomes()
        people = np.array([label.value for _, label in self.pairs], dtype=np.float64)
        return people, np.array([self.requirement.scores[index] for index, _ in self.pairs], dtype=np.float64)

    def outcomes(self) -> tuple[Floats, Floats]:
        """Return people's and the judge's passes (1) and failures (0) of each pair."""
        people = np.array([self.passes(label) for _, label in self.pairs], dtype=np.float64)
        return people, np.array([self.met[index] for index, _ in self.pairs], dtype=np.float64)


def _agreement(labelled: _Labelled, alpha: float) -> JudgeAgreement:
    met, requirement = labelled.met, labelled.requirement
    human = [labelled.majority(index) for index in met]
    scored = [index in requirement.scores for index in met]
    values, outcomes = labelled.values(), labelled.outcomes()
    clusters = [index for index, _ in labelled.pairs]
    found = _bootstrap(values, clusters, alpha, _alpha)
    at_cut = _bootstrap(outcomes, clusters, alpha, _alpha) if labelled.are_ratings else None
    rate = corrected_rate(human, list(met.values()), alpha=alpha)
    title, label, evaluator = labelled.key
    plain = JudgeAgreement(
        scenario=title,
        expectation=label,
        evaluator=evaluator,
        cut=f"{requirement.cut.sign} {requirement.cut.score:g}" if requirement.cut else "",
        are_ratings=labelled.are_ratings,
        trials=len(met),
        labelled=sum(index in labelled.labels for index in met),
        unused=sum(index not in met for index in labelled.labels),
        ties=sum(said is None and index in labelled.labels for index, said in zip(met, human, strict=True)),
        confusion=confusion(
            [said for said, is_scored in zip(human, scored, strict=True) if is_scored],
            [is_met for is_met, is_scored in zip(met.values(), scored, strict=True) if is_scored],
            alpha=alpha,
        ),
        kappa=_bootstrap(outcomes, clusters, alpha, lambda p, j: cohen_kappa(p, j).value),
        weighted_kappa=_bootstrap(values, clusters, alpha, _weighted_kappa) if labelled.are_ratings else None,
        alpha=found,
        alpha_at_cut=at_cut,
        alpha_of_people=_among_people(labelled),
        trust=trust_in(at_cut or found),
        rate=rate,
        exact=rate.exact and not requirement.sequential,
        conditions=(*rate.conditions, STOPS) if requirement.sequential else rate.conditions,
    )
    return _weighted(plain, labelled, alpha) if labelled.stratified else plain


def _weighted(plain: JudgeAgreement, labelled: _Labelled, alpha: float) -> JudgeAgreement:
    """Return the agreement on all trials if the judge's failures were drawn with another probability."""
    met, scores = labelled.met, labelled.requirement.scores
    said = {index: human for index in met if (human := labelled.majority(index)) is not None}
    rated = {index: is_met for index, is_met in met.items() if index in scores}
    every = StratifiedLabels(said, met)
    of_judge = StratifiedLabels({index: said[index] for index in said if index in rated}, rated)
    clusters = [index for index, _ in labelled.pairs]
    (people, judge), weights = labelled.outcomes(), of_judge.weights(clusters)
    kappa, agreed = (
        bootstrap_by_cluster(partial(_of_rows, statistic, people, judge, weights), clusters, alpha=alpha)
        for statistic in (weighted_kappa, weighted_alpha)
    )
    return replace(
        plain,
        stratified=True,
        confusion=of_judge.weighted(plain.confusion, alpha=alpha),
        kappa=kappa,
        alpha=agreed,
        trust=trust_in(agreed),
        rate=every.corrected(plain.rate, alpha=alpha),
        exact=not labelled.requirement.sequential,
        conditions=(*HOLDS, STOPS) if labelled.requirement.sequential else HOLDS,
    )


def _of_rows(statistic: Statistic, people: Floats, judge: Floats, weights: Floats, rows: NDArray[np.intp]) -> float:
    return statistic(people[rows], judge[rows], weights[rows])


def _named(matched: Mapping[tuple[str, str], Mapping[int, Sequence[Label]]]) -> list[Label]:
    """Return the labels with the expectation that each was found to be of."""
    return [
        replace(each, expectation=key[1])
        for key, by_trial in matched.items()
        for found in by_trial.values()
        for each in found
    ]


def _overall(labelled: Sequence[_Labelled], alpha: float) -> BootstrapInterval:
    """Return the alpha of all passes and failures, by conversation, which may occur in several expectations."""
    values = [each.outcomes() for each in labelled]
    people, judge = (np.concatenate([pair[side] for pair in values]) for side in (0, 1))
    clusters = [f"{index} {each.key[0]}" for each in labelled for index, _ in each.pairs]
    return _bootstrap((people, judge), clusters, alpha, _alpha)


def _bootstrap(
    values: tuple[Floats, Floats],
    clusters: Sequence[int] | Sequence[str],
    alpha: float,
    statistic: Callable[[Floats, Floats], float],
) -> BootstrapInterval:
    people, judge = values
    kinds = np.unique(np.stack(values), axis=1, return_inverse=True)[1].ravel()
    known: dict[bytes, float] = {}  # by how often each kind of pair is drawn: a third of the time with 20

    def of_pairs(rows: NDArray[np.intp]) -> float:
        drawn = np.bincount(kinds[rows]).tobytes()
        if drawn not in known:
            known[drawn] = statistic(people[rows], judge[rows])
        return known[drawn]

    return bootstrap_by_cluster(of_pairs, clusters, alpha=alpha)


def _alpha(people: Floats, judge: Floats) -> float:
    return krippendorff_alpha([people, judge], level="ordinal").value


def _weighted_kappa(people: Floats, judge: Floats) -> float:
    return cohen_kappa(people, judge, weights="quadratic").value


def _among_people(labelled: _Labelled) -> float | None:
    raters = dict.fromkeys(label.rater for found in labelled.labels.values() for label in found)
    if len(raters) < 2:
        return None
    by_rater = {(index, each.rater): float(each.value) for index, found in labelled.labels.items() for each in found}
    table = [[by_rater.get((index, rater)) for index in labelled.labels] for rater in raters]
    return krippendorff_alpha(table, level="ordinal").value


def _matched(labels: Sequence[Label], run: RunDocument) -> dict[tuple[str, str], dict[int, list[Label]]]:
    """Return the labels of each expectation by trial, in the run's order."""
    every, reasoned, scenarios = judged_in(run, reasoned_only=False), judged_in(run), scenarios_of(run)
    found: dict[tuple[str, str], dict[int, list[Label]]] = {}
    for number, label in enumerate(labels):
        where = label.where or f"label {number}"
        _require_usable(label, where)
        _require_run(label, where, run.run_id)
        _require_trial(label, where, scenarios)
        key = _expectation(label, where, every, reasoned)
        earlier = found.setdefault(key, {}).setdefault(label.index, [])
        if any(each.rater == label.rater for each in earlier):
            twice = f"trial {label.index} of {key[0]!r} has a label by {label.rater or 'the same person'} already"
            raise DefinitionError(where, found=twice, do="keep one, or name different people in a column rater")
        earlier.append(label)
    _require_one_kind(labels)
    return {key: found[key] for key in every if key in found}


def _require_usable(label: Label, where: str) -> None:
    value = label.value
    usable = isinstance(value, bool) or (is_number(value) and LOWEST <= value <= HIGHEST)
    require(usable, where, found=value, do="give True or False, or a rating from 1 to 10")


def _require_one_kind(labels: Sequence[Label]) -> None:
    firsts: dict[bool, str] = {}
    for number, label in enumerate(labels):
        firsts.setdefault(isinstance(label.value, bool), label.where or f"label {number}")
    if len(firsts) > 1:
        found = f"both ratings ({firsts[False]}) and passes or failures ({firsts[True]})"
        do = "give labels of one kind; one of the store is taken out with `simeval people feedback --remove ID`"
        raise DefinitionError("labels", found=found, do=do)


def _require_run(label: Label, where: str, run_id: str) -> None:
    if label.run not in ("", run_id):
        found = f"the label is of run {label.run!r}, the result of run {run_id!r}"
        do = "give the result of the run that was labelled, or draw trials of this one with --sample and label them"
        raise DefinitionError(f"{where}, run", found=found, do=do)


def _require_trial(label: Label, where: str, scenarios: Mapping[str, ScenarioDocument]) -> None:
    if label.scenario not in scenarios:
        close = get_close_matches(label.scenario, scenarios, n=1)
        do = f"did you mean {close[0]!r}?" if close else "label trials of this very run"
        raise DefinitionError(where, found=f"no scenario of the run is titled {label.scenario!r}", do=do)
    scenario = scenarios[label.scenario]
    if label.index not in scenario.by_index():
        there = f"its trials are 0 to {scenario.trials - 1}" if scenario.trials else "it has no trials"
        raise DefinitionError(where, found=f"{label.scenario!r} has no trial {label.index}", do=there)


def _expectation(label: Label, where: str, every: Judged, reasoned: Judged) -> tuple[str, str]:
    """Find the expectation a label is about."""
    if label.expectation is None:
        choices = [key for key in reasoned if key[0] == label.scenario]
        if len(choices) == 1:
            return choices[0]
        found = f"{label.scenario!r} has {len(choices)} judged expectations and the label names none"
    else:
        choices = [key for key in every if key[0] == label.scenario]
        if (label.scenario, label.expectation) in choices:
            return label.scenario, label.expectation
        found = f"{label.scenario!r} has no expectation {label.expectation!r} that its trials meet or not"
    raise DefinitionError(where, found=found, do=f"use one of {', '.join(repr(key[1]) for key in choices)}")
