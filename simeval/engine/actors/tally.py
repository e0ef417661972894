"""The conclusions so far on one scenario, and its status."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import starmap
from math import nan
from typing import Self

from simeval.core.run_records import Preparation
from simeval.core.setting_field import OnAppError
from simeval.core.spill import Mapped, Spilled, SpillFile
from simeval.core.trial import UNNEEDED, Failure, Score, TrialResult, Verdict
from simeval.engine.flow import InOrder, Requirement
from simeval.engine.plans.scenario_plan import ScenarioPlan
from simeval.evaluators.base import Evaluator
from simeval.evaluators.stopping import EXCLUDED, RunningTest, Taken

SELDOM = 20  # of so many trials one more is worth another look at the interval


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
        place, number = max(going, key=lambda each: _strain(self.tests[each[0]][each[1]]))
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


def _strain(test: RunningTest) -> float:
    """Return the share of its tolerance that a test has used."""
    return 0.0 if test.misses is None or test.allowed is None else test.misses / (test.allowed + 1)
