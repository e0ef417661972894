"""The statistician: takes judgements in the order dealt and concludes on each scenario."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from itertools import starmap
from math import nan
from typing import Self, TypeGuard

from anyio.streams.memory import MemoryObjectReceiveStream

from simeval.core.judging import near_misses_said, untested_notes
from simeval.core.logs import log
from simeval.core.run_records import Prepared
from simeval.core.setting_field import OnAppError
from simeval.core.settings import Settings
from simeval.core.spill import Mapped, Spilled, SpillFile
from simeval.core.terminal import counted_of
from simeval.core.trial import UNNEEDED, Failure, Preparation, Score, TrialResult, Verdict
from simeval.engine.actors.app_line import AppLine, EmptyAnswers, Silence, Unanswered
from simeval.engine.flow import Demand, InOrder, Requirement, Standing, StopSignal
from simeval.engine.plans.resume import RestoredTrials, lost_pairs, pairs_of
from simeval.engine.plans.scenario_plan import Measure, ScenarioPlan
from simeval.evaluators.base import Evaluator
from simeval.evaluators.stopping import EXCLUDED, EarlyOutcomes, RunningTest, Taken, TrialsNeeded
from simeval.results.suite import ExpectationResult, RunRecord, ScenarioResult, SuiteResult, with_fidelity, with_shares
from simeval.results.text import combine, meets_gate

SELDOM = 20  # of so many trials one more is worth another look at the interval
MOST_IN_MEMORY = 10_000  # trials whose conversations are kept there
ROUNDING = 1e-9  # a rate times a size may come out a little under the whole number that is meant


@dataclass(slots=True)
class Tally:
    """The conclusions so far on one scenario.

    `failed` counts each expectation's lost trials, `faulty` those lost by its simulated users' faults. `tests` holds
    one for each evaluator of each expectation; `prepared` is its preparation. `extras` are judgements that came after
    the end. `recalled` counts the first trials with complete results: they cost nothing.
    """

    plan: ScenarioPlan
    tests: tuple[tuple[RunningTest, ...], ...]
    failed: list[int]
    faulty: list[int]
    recalled: int = 0
    prepared: dict[int, Preparation] = field(default_factory=dict)
    order: InOrder[TrialResult] = field(default_factory=InOrder)
    judgements: list[TrialResult] | Spilled = field(default_factory=list)
    extras: list[TrialResult] = field(default_factory=list)
    ended_by: Requirement | None = None  # if it has ended, and was looked at since
    undecided_because: str = ""  # why it needs no more trials, though it is not settled
    _shown: dict[tuple[int, int], tuple[int, str]] = field(default_factory=dict)  # after how many trials of a test

    @classmethod
    def of(
        cls,
        plan: ScenarioPlan,
        tests: tuple[tuple[RunningTest, ...], ...],
        *,
        recalled: int,
        spill: SpillFile | None = None,
    ) -> Self:
        """Return the tally of a scenario without any conclusions; `spill` is where its judgements go."""
        places = len(plan.measures)
        judgements: list[TrialResult] | Spilled = [] if spill is None else Spilled(spill)
        return cls(plan, tests, [0] * places, [0] * places, recalled, judgements=judgements)

    @property
    def counted(self) -> Sequence[TrialResult]:
        """The judgements that the verdicts rest on, as a result keeps them."""
        return tuple(self.judgements) if isinstance(self.judgements, list) else self.judgements

    def results(self, position: int) -> Sequence[Score | Failure]:
        """Return the result of each trial of an expectation; one that its verdicts do not rest on is not needed."""
        taken = max(test.index for test in self.tests[position])
        refusal = self.refusal(position)

        def result_of(index: int, judgement: TrialResult) -> Score | Failure:
            result = judgement.results[position]
            return result if index < taken or (refusal and isinstance(result, Score)) else UNNEEDED

        if isinstance(self.judgements, Spilled):
            return Mapped(self.judgements, result_of)
        return tuple(starmap(result_of, enumerate(self.judgements)))

    def is_settled(self, position: int) -> bool:
        """Return whether all verdicts of an expectation are settled, or it cannot be judged."""
        return self.refusal(position) is not None or all(test.settled for test in self.tests[position])

    def refusal(self, position: int) -> Failure | None:
        """Return why an expectation cannot be judged; None if it can be."""
        prepared = self.prepared.get(position)
        return prepared.failure if prepared else None

    def decides(self, day: date) -> bool:
        """Return whether its outcome counts for the whole run, which began on this day."""
        held = self.plan.scenario.quarantine
        return held is None or not held.holds(day)

    @property
    def is_refused(self) -> bool:
        """Whether any expectation cannot be judged."""
        return any(map(self.refusal, self.prepared))

    def stopped_by(self) -> list[tuple[str, str]]:
        """Say which requirement ended the scenario before others had their verdicts, if one did: at length, and not."""
        refused = [measure.label for place, measure in enumerate(self.plan.measures) if self.refusal(place)]
        found = [(label, label, "cannot be judged") for label in refused]
        for measure, tests in zip(self.plan.measures, self.tests, strict=True):
            names = [f"{measure.label}: {test.name}" for test in tests if test.settled and not test.passes]
            found += [(measure.label if len(tests) == 1 else name, name, "did not pass") for name in names]
        return [
            (
                f"they ended because {name!r} {why} (--stop verdict goes on)",
                f"not concluded: the scenario ended because {label!r} {why} (--stop verdict goes on)",
            )
            for label, name, why in found[:1]
        ]

    @property
    def unsettled(self) -> list[tuple[int, RunningTest]]:
        """The tests that go on, each with the position of its expectation."""
        pairs = [(position, test) for position, tests in enumerate(self.tests) for test in tests]
        return [(position, test) for position, test in pairs if not test.settled and not self.refusal(position)]

    def requirement(self) -> Requirement | None:
        """Return the requirement that goes on and has the most misses for those it bears."""
        going = [(place, number) for place, tests in enumerate(self.tests) for number in range(len(tests))]
        going = [(p, n) for p, n in going if not self.tests[p][n].settled and not self.refusal(p)]
        if not going:
            return None
        place, number = max(going, key=lambda each: self.tests[each[0]][each[1]].strain)
        test, found, bar = (
            self.tests[place][number],
            self._found(place, number),
            self._evaluator(place, number).show_bar(),
        )
        return Requirement(bar=bar, found=found, misses=test.misses, allowed=test.allowed)

    def _evaluator(self, place: int, number: int) -> Evaluator:
        return self.plan.measures[place].evaluators[number]

    def _found(self, place: int, number: int) -> str:
        """Describe the observed value; not after each trial of many, for some intervals take 20 ms."""
        test, evaluator = self.tests[place][number], self._evaluator(place, number)
        n, said = self._shown.get((place, number), (0, ""))
        if test.index >= n + max(1, n // SELDOM):
            said = show_found(evaluator, test.so_far(evaluator.evaluate)) if test.taken else ""
            self._shown[place, number] = test.index, said
        return said


def outcome_of(result: Score | Failure, on_app_error: OnAppError) -> Taken:
    """Return an evaluator's input for a result."""
    if isinstance(result, Score):
        return result.value
    if result.is_miss(leaves_out_crashes=on_app_error == "exclude"):
        return None
    return EXCLUDED if result.is_of_app else nan


def show_found(evaluator: Evaluator, verdict: Verdict) -> str:
    """Write an estimate with its interval."""
    if verdict.estimate is None or verdict.confidence_interval is None:
        return ""
    low, high = map(evaluator.show, verdict.confidence_interval)
    return f"{evaluator.show(verdict.estimate)} [{low}, {high}]"


def in_error(
    verdict: Verdict, lost: Sequence[Failure], trials: int, settings: Settings, *, limit: str = "max_error_rate"
) -> Verdict:
    """Turn a verdict into an error: more trials than the setting `limit` allows have no score to conclude on."""
    commonest, times = Counter(f"{failure.stage}: {failure.error}" for failure in lost).most_common(1)[0]
    explanation = (
        f"{len(lost)} of {trials} trials have no score, more than the {getattr(settings, limit):.0%} that "
        f"{limit} allows, so nothing is concluded; most often ({times} x): {commonest}"
    )
    of_app = sum(failure.stage == "app" for failure in lost)  # which count once, as missing
    verdict = replace(verdict, left_out=max(0, verdict.left_out - of_app))
    return without_conclusion(verdict, explanation, n=trials, missing=len(lost))


def refused(verdict: Verdict, failure: Failure, trials: int) -> Verdict:
    """Turn a verdict into an error: the expectation cannot be judged, so none of the `trials` is concluded on."""
    there_are = "the one trial there is" if trials == 1 else f"the {trials} trials there are"
    so = f"so nothing is concluded on {there_are}" if trials else "so no trial was paid for"
    return without_conclusion(verdict, f"{failure.stage}: {failure.error}; {so}", n=0, missing=0)


def is_unmeasured(results: Iterable[Score | Failure | None]) -> bool:
    """Return whether none of these trials has a score."""
    return not any(isinstance(result, Score) for result in results)


def unmeasured(verdict: Verdict, unusable: str) -> Verdict:
    """Turn a verdict into an error: `unusable`, a model that cannot be used, ended the run before any score."""
    verdict = replace(verdict, estimate=None)
    return without_conclusion(verdict, f"nothing was measured: {unusable}", n=0, missing=verdict.missing)


def undecided(verdict: Verdict, why: str) -> Verdict:
    """Return a verdict that is no pass, of a scenario that was ended for this reason before it was settled."""
    verdict = replace(verdict, explanation=f"{verdict.explanation}; {why}")
    if not verdict.inconclusive:
        return verdict
    return replace(verdict, reason="suite_settled", why=f"{'not concluded' if verdict.n else 'not run'}: {why}")


def without_conclusion(verdict: Verdict, explanation: str, *, n: int, missing: int) -> Verdict:
    """Turn a verdict into an error, with why nothing is concluded."""
    return replace(
        verdict,
        outcome="error",
        p_value=None,
        p_value_fail=None,
        n=n,
        missing=missing,
        reason="errors",
        explanation=explanation,
        why=explanation,
    )


class Statistician:
    """Concludes on scenarios.

    A scenario begins when it is prepared, and ends when all its verdicts are settled. At a gate of passes it also ends
    when one is settled that is no pass, or one of its expectations cannot be judged, unless a test of a fixed sample
    goes on; and anywhere, when so many of its trials are lost that each of its expectations can only be an "error". No
    more of its trials are started than its verdicts can need, and those under way that come after the end are ended and
    not concluded on. A run that is stopped leaves scenarios without their verdicts; those are inconclusive, with the
    reason. With `fail_fast` all others end with the first scenario that keeps the suite from its gate; each is
    concluded on by its own trials alone, so no error rate changes. If the app never answered, nothing is concluded, and
    every outcome is "error". The `known` results of each scenario's first trials are shown even if it cannot be judged
    any more. `begun` is the day of the run: scenarios may be in quarantine then.
    """

    def __init__(
        self,
        plans: Sequence[ScenarioPlan],
        settings: Settings,
        *,
        demand: Demand,
        stop: StopSignal,
        on_trial: Callable[[int, int], None],
        known: RestoredTrials,
        begun: date,
        beside: Sequence[Unanswered] = (),
        silence: Silence | None = None,
        line: AppLine | None = None,
    ) -> None:
        self._line = line
        self._settings, self._demand, self._stop, self._on_trial = settings, demand, stop, on_trial
        self._unanswered, self._beside, self._begun = Unanswered(silence=silence), beside, begun
        self._empty, self._unusable = EmptyAnswers(), ""
        self._told = set[str]()
        paired = pairs_of(plans, known)
        self._lost_pairs = lost_pairs(plans, paired)
        spill = SpillFile() if sum(plan.sample_size for plan in plans) > MOST_IN_MEMORY else None
        self._tallies = [
            Tally.of(plan, plan.tests(settings.stop_mode), recalled=known.first_whole(plan), spill=spill)
            for plan in paired
        ]

    async def conclude(self, *, inbox: MemoryObjectReceiveStream[TrialResult | Prepared]) -> None:
        """Say which trials are needed of each scenario that is ready, and take every judgement."""
        async with inbox:
            async for found in inbox:
                if isinstance(found, Prepared):
                    self._prepare(self._tallies[found.scenario], found)
                    continue
                self._demand.slots.give_back()
                tally = self._tallies[found.trial.scenario]
                if self._is_closed(tally):
                    tally.extras.append(found)
                    continue
                self._take(tally, found)
                self._grant(tally)

    def _prepare(self, tally: Tally, found: Prepared) -> None:
        """Process a preparation; need trials of a scenario that is ready, and none of one that has ended by that."""
        tally.prepared |= found.found
        refused = [place for place in found.found if tally.refusal(place)]
        for place in refused:
            self._demand.settle(tally.plan.position, place)
            failure = tally.refusal(place)
            why = failure.error if failure else ""
            if why not in self._told:  # a judge that cannot be asked refuses every scenario for one reason
                log.warning(f"{tally.plan.title}: {tally.plan.measures[place].label}: {why}")
            self._told.add(why)
        if self._is_closed(tally):
            return
        if tally.is_refused and self._needs_no_more(tally):
            self._end_without_new(tally)
        elif found.is_ready and not tally.undecided_because:
            self._demand.grant(tally.plan.position, self._trials_needed(tally).trials)

    def _end_without_new(self, tally: Tally) -> None:
        """Pay for no trial; the known ones come, and end the scenario."""
        if tally.recalled:
            self._demand.grant(tally.plan.position, tally.recalled)
        else:
            self._on_trial(0, tally.plan.sample_size)
            self._close(tally)

    @property
    def is_done(self) -> bool:
        """Whether every scenario has ended by its verdicts."""
        return self._demand.is_over

    def result(self, run: RunRecord, *, unusable: str = "") -> SuiteResult:
        """Return the result of every scenario, in the suite's order.

        `unusable` names the model that ended the run because it cannot be used.
        """
        self._unusable = unusable
        prepared = [
            (tally.plan.measures[place].label, each)
            for tally in self._tallies
            for place, each in sorted(tally.prepared.items())
        ]
        notes = (
            *run.notes,
            *untested_notes(label for label, each in prepared if each.lacks_near_miss),
            *near_misses_said([control for _, each in prepared for control in each.controls]),
            *self._lost_pairs,
            *filter(None, [self._empty.said, self._line.said if self._line else ""]),
        )
        run = replace(run, notes=notes)
        return with_fidelity(SuiteResult(tuple(self._result(tally, run) for tally in self._tallies), run))

    def standings(self, run: RunRecord) -> list[Standing]:  # noqa: ARG002
        """Return the status of each scenario, in the suite's order."""
        return [
            Standing(
                title=tally.plan.title,
                trials=len(tally.judgements),
                needed=self._demand.limit(tally.plan.position),
                sample_size=tally.plan.sample_size,
                is_closed=self._is_closed(tally),
                requirement=partial(self._deciding, tally) if self._is_closed(tally) else tally.requirement,
            )
            for tally in self._tallies
        ]

    def _deciding(self, tally: Tally) -> Requirement:
        """Return the requirement that a scenario which has ended owes its outcome to."""
        if tally.ended_by is not None:
            return tally.ended_by
        found = self._found(tally)
        outcome = combine([verdict.outcome for _, verdict in found])
        evaluator, verdict = next(each for each in found if each[1].outcome == outcome)
        tally.ended_by = Requirement(bar=evaluator.show_bar(), found=show_found(evaluator, verdict), outcome=outcome)
        return tally.ended_by

    def _found(self, tally: Tally) -> list[tuple[Evaluator, Verdict]]:
        """Return each evaluator of a scenario that has ended, with its verdict."""
        return [
            (evaluator, verdict)
            for position, measure in enumerate(tally.plan.measures)
            for evaluator, verdict in zip(
                measure.evaluators, self._verdicts(tally, position, tally.results(position)), strict=True
            )
        ]

    def _is_closed(self, tally: Tally) -> bool:
        return self._demand.is_closed(tally.plan.position)

    def _grant(self, tally: Tally) -> None:
        """Grant as many trials as the verdicts can need by present knowledge.

        Those beyond a sure end are ended, unless trials may be left out: one more is needed then for each that is.
        """
        if self._is_closed(tally) or self._stop.reason or tally.undecided_because or self._needs_no_more(tally):
            return
        needed = self._trials_needed(tally)
        is_sure = needed.ends and self._settings.on_app_error != "exclude"
        change = self._demand.end_beyond if is_sure else self._demand.grant
        change(tally.plan.position, needed.trials)

    def _trials_needed(self, tally: Tally) -> TrialsNeeded:
        """Return how many trials can be needed, and whether early outcomes already force an end there."""
        going = tally.unsettled
        all_needed = [test.trials_needed(self._known(tally, position)) for position, test in going]
        ends = [trials_needed.trials for trials_needed in all_needed if trials_needed.ends]
        if ends and self._ends_with_one_of([test for _, test in going]):
            return TrialsNeeded(min(ends), ends=True)
        return TrialsNeeded(
            max(trials_needed.trials for trials_needed in all_needed), ends=len(ends) == len(all_needed)
        )

    def _known(self, tally: Tally, position: int) -> EarlyOutcomes:
        """Return the early outcomes of one expectation."""
        return {index: self._outcome(early.results[position]) for index, early in tally.order.waiting.items()}

    def _take(self, tally: Tally, judgement: TrialResult) -> None:
        for released in tally.order.push(judgement.trial.index, judgement):
            if self._is_closed(tally):
                tally.extras.append(released)
                continue
            tally.judgements.append(released)
            self._unanswered.take(released, is_recalled=len(tally.judgements) <= tally.recalled)
            self._empty.take(released)
            self._tell_tests(tally, released)
            ended = self._has_ended(tally)
            unspent = tally.plan.sample_size - len(tally.judgements)
            self._on_trial(1, unspent if ended else 0)
            if ended:
                self._close(tally)
        if self._is_closed(tally):
            tally.extras += tally.order.waiting.values()
        if self._unanswered.is_given_up:
            self._end_all(self._unanswered.said)

    def _tell_tests(self, tally: Tally, judgement: TrialResult) -> None:
        """Let the tests of a scenario take the results of one trial, in the order dealt."""
        for position, result in enumerate(judgement.results):
            if tally.refusal(position):
                continue
            if not tally.is_settled(position):
                tally.failed[position] += self._is_lost(result)
                tally.faulty[position] += is_of_user(result)
            for test in tally.tests[position]:
                test.take(self._outcome(result))
            if tally.is_settled(position):
                self._demand.settle(tally.plan.position, position)

    def _close(self, tally: Tally) -> None:
        """Need no more trials of a scenario; if it decides the suite and that is enough, of no other either."""
        self._demand.close(tally.plan.position, len(tally.judgements))
        if self._settings.fail_fast and tally.decides(self._begun):
            outcome = combine([verdict.outcome for _, verdict in self._found(tally)])
            if not meets_gate(outcome, self._settings.gate):
                self._end_all(f"the run ended because {tally.plan.title!r} did not pass (fail-fast)")

    def _end_all(self, why: str) -> None:
        """Pay for no more trials of any scenario; the known ones come first, and may yet settle theirs."""
        for tally in (each for each in self._tallies if not (self._is_closed(each) or each.undecided_because)):
            if len(tally.judgements) < tally.recalled:
                tally.undecided_because = why
                self._demand.grant(tally.plan.position, tally.recalled)
                self._demand.end_beyond(tally.plan.position, tally.recalled)
            else:
                self._end_early(tally, why)

    def _end_early(self, tally: Tally, why: str) -> None:
        """Pay for no more trials of a scenario, which has not ended."""
        tally.undecided_because = why
        tally.extras += tally.order.waiting.values()
        self._on_trial(0, tally.plan.sample_size - len(tally.judgements))
        self._demand.close(tally.plan.position, len(tally.judgements))

    def _has_ended(self, tally: Tally) -> bool:
        is_recalling = len(tally.judgements) < tally.recalled
        if tally.undecided_because and not is_recalling:
            return True
        return not (tally.is_refused and is_recalling) and self._needs_no_more(tally)

    def _needs_no_more(self, tally: Tally) -> bool:
        """Return whether no trial that would be paid for is needed."""
        going = tally.unsettled
        if all(self._has_too_many_lost(tally, position) for position, _ in going):
            return True
        not_passed = tally.is_refused or any(
            test.settled and not test.passes for tests in tally.tests for test in tests
        )
        return not_passed and self._ends_with_one_of([test for _, test in going])

    def _ends_with_one_of(self, going: Sequence[RunningTest]) -> bool:
        """Return whether a scenario ends when one of its tests does without a pass, although these go on."""
        return self._settings.stop_mode != "verdict" and not any(test.needs_full_sample for test in going)

    def _outcome(self, result: Score | Failure) -> Taken:
        return outcome_of(result, self._settings.on_app_error)

    def _is_lost(self, result: Score | Failure) -> bool:
        if not isinstance(result, Failure):
            return False
        if result.is_cut or result.is_user_fault or result.is_no_reply:
            return False  # it counts against both sides, and is no evidence about models and scorers
        return not result.is_miss(leaves_out_crashes=self._settings.on_app_error == "exclude")

    def _has_too_many_lost(self, tally: Tally, position: int) -> bool:
        size = tally.plan.sample_size
        return (
            tally.failed[position] > self._settings.max_error_rate * size + ROUNDING
            or tally.faulty[position] > self._settings.max_user_fault_rate * size + ROUNDING
        )

    def _result(self, tally: Tally, run: RunRecord) -> ScenarioResult:
        expectations = tuple(
            self._expectation(tally, position, measure, run) for position, measure in enumerate(tally.plan.measures)
        )
        result = ScenarioResult(
            title=tally.plan.scenario.title,
            outcome=combine([expectation.outcome for expectation in expectations]),
            expectations=expectations,
            judgements=tally.counted,
            run=run,
            sample_size=tally.plan.sample_size,
            given=tally.plan.scenario.given,
            when=tally.plan.scenario.when,
            quarantine=tally.plan.scenario.quarantine,
            extras=tuple(sorted(self._extras(tally), key=lambda judgement: judgement.trial.index)),
        )
        return with_shares(result)

    def _extras(self, tally: Tally) -> list[TrialResult]:
        early = [] if self._is_closed(tally) else tally.order.waiting.values()
        return [*tally.extras, *early]

    def _expectation(self, tally: Tally, position: int, measure: Measure, run: RunRecord) -> ExpectationResult:
        results = tally.results(position)
        return ExpectationResult(
            label=measure.label,
            evaluators=measure.evaluators,
            verdicts=tuple(self._verdicts(tally, position, results, run.stopped)),
            results=results,
            expected_behavior=measure.expected_behavior,
            prepared=tally.prepared.get(position),
            signs=self._signs(tally, position, results, run),
        )

    def _verdicts(
        self, tally: Tally, position: int, results: Sequence[Score | Failure], stopped: str = ""
    ) -> list[Verdict]:
        """Return the verdicts of an expectation; `stopped` is why the run has ended before, if it did."""
        refusal, trials = tally.refusal(position), len(results) + len(self._extras(tally))
        return [
            refused(test.verdict(), refusal, trials) if refusal else self._verdict(test, tally, results, stopped)
            for test in tally.tests[position]
        ]

    def _signs(
        self, tally: Tally, position: int, results: Sequence[Score | Failure], run: RunRecord
    ) -> tuple[str, ...]:
        """Return signs in the ratings of an expectation against its judges."""
        signs = tally.plan.signs(position)
        if signs is None:
            return ()
        for judgement, result in zip(tally.judgements, results, strict=True):
            if isinstance(result, Score):
                signs.take(result, judgement.conversation)
        prepared = tally.prepared.get(position)
        return signs.warnings(run.judge_model, prepared.controls if prepared else ())

    def _verdict(self, test: RunningTest, tally: Tally, results: Sequence[Score | Failure], stopped: str) -> Verdict:
        """Conclude; too many lost trials make an error, unless the rest proves a side against the worst case."""
        verdict = test.verdict()
        if unanswered := next(filter(None, (each.said for each in (self._unanswered, *self._beside))), ""):
            unknown = replace(verdict, estimate=None)
            return without_conclusion(unknown, unanswered, n=verdict.n, missing=verdict.missing)
        if self._unusable and verdict.inconclusive and is_unmeasured(results):
            return unmeasured(verdict, self._unusable)
        is_cut = bool(tally.undecided_because) and not test.settled
        proven = not verdict.inconclusive and not test.excluded  # worst cases are proven for missing trials only
        trials = tally.plan.sample_size if proven or is_cut else test.index
        if error := self._error(verdict, results[: test.index], trials):
            return error
        if verdict.passed:
            return verdict
        if is_cut:
            return undecided(verdict, tally.undecided_because)
        return self._explained(verdict, test, tally, stopped)

    def _error(self, verdict: Verdict, results: Sequence[Score | Failure], trials: int) -> Verdict | None:
        """Return an error where more of the results are lost than so many trials may lose; else None."""
        lost = [result for result in results if isinstance(result, Failure) and self._is_lost(result)]
        if len(lost) > self._settings.max_error_rate * trials + ROUNDING:
            return in_error(verdict, lost, len(results), self._settings)
        faulty = [result for result in results if is_of_user(result)]
        if len(faulty) > self._settings.max_user_fault_rate * trials + ROUNDING:
            return in_error(verdict, faulty, len(results), self._settings, limit="max_user_fault_rate")
        return None

    def _explained(self, verdict: Verdict, test: RunningTest, tally: Tally, stopped: str) -> Verdict:
        """Return a verdict that is no pass, with the left-out trials, and the reason its trials ended before it."""
        notes = [verdict.explanation]
        if test.excluded:
            notes.append(f"left out: {counted_of(len(test.excluded), 'trial')}, because the app failed there")
        if stopped and not test.settled and not self._is_closed(tally):
            notes.append(f"the run stopped: {stopped}")
            if verdict.inconclusive:
                verdict = replace(verdict, reason="run_stopped", why="not concluded: the run stopped first")
        elif verdict.reason == "scenario_settled":
            for at_length, why in tally.stopped_by():
                notes.append(at_length)
                verdict = replace(verdict, why=why)
        return replace(verdict, explanation="; ".join(notes))


def is_of_user(result: Score | Failure) -> TypeGuard[Failure]:
    """Return whether a trial is missing because its simulated user did not do its part."""
    return isinstance(result, Failure) and result.is_user_fault
