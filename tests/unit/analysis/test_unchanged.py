"""Several runs of one unchanged app: counted, foretold, and whether they differ by more than chance."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from simeval import Engine, Expectation, ProportionEvaluator, ScenarioTest, scorer
from simeval.analysis.unchanged_runs import UnchangedRuns, encode_unchanged, unchanged, unchanged_text
from simeval.cli.aa import require_alone, run_repeatedly
from simeval.cli.signals import Interrupted
from simeval.core.settings import DEFAULTS, Settings
from simeval.errors import DefinitionError, SimevalError
from simeval.results.suite import SuiteResult
from simeval.stats.binomial import clopper_pearson
from tests.support.results import mean, run, scenario, share

_NUMBERS = count(1)


def of(*missed: Sequence[int], size: int = 30, gate: str = "pass", met: bool = True, **chart: Any) -> dict[str, Any]:
    """Return a run whose scenarios missed these trials."""
    told = []
    for place, misses in enumerate(missed):
        expectation = share([trial not in misses for trial in range(size)])
        expectation["verdicts"][0]["chart"] |= {"pass_at": [[size, 0]], **chart}
        told.append(scenario(expectation, title=f"number {place}", sample_size=size))
    outcome = "pass" if met else "inconclusive"
    return run(*told, run_id=f"run-{next(_NUMBERS)}", gate=gate, gate_met=met, outcome=outcome)


def test_runs_that_did_not_meet_their_gate_are_counted_with_an_exact_interval() -> None:
    found = unchanged([of([]), of([3], met=False), of([]), of([])])

    assert (found.red, found.counted) == (1, clopper_pearson(1, 4, 0.025))
    assert found.outcomes == ["pass", "inconclusive", "pass", "pass"]


def test_the_share_that_is_foretold_is_that_of_the_design_at_the_rates_of_all_runs() -> None:
    runs = [of([3], met=False), *(of([]) for _ in range(9))]

    found = unchanged(runs)

    assert found.foretold is not None
    share_red, (low, high) = found.foretold
    assert low < 1 - (299 / 300) ** 30 < share_red < high  # the rate that was seen, and by how much it may be less


def test_a_gate_that_only_a_proven_fail_misses_is_foretold_by_fails() -> None:
    runs = [of([], gate="not_fail", fail_at=[[30, 30]]) for _ in range(3)]

    found = unchanged(runs)

    assert found.foretold is not None
    assert found.foretold[0] < 1e-6


def test_a_bad_day_is_more_than_chance() -> None:
    bad = of(range(0, 20, 2), range(1, 20, 2), met=False)

    found = unchanged([bad, *(of([], []) for _ in range(9))])

    assert found.differ
    assert found.trials == [20, 20]
    assert "yes, runs differ by more than chance" in str(found)


def test_of_runs_without_trials_to_compare_no_difference_is_not_claimed_to_be_absent() -> None:
    found = unchanged([run(scenario(mean()), run_id=f"run-{each}") for each in "ab"])

    assert not any(found.trials)
    assert "beyond chance  not known: no requirement on a share has a trial in each run" in str(found)


def test_runs_are_compared_in_trials_that_none_of_them_could_have_left_out() -> None:
    chart: dict[str, Any] = {"stop": "gate", "pass_at": [[15, 0], [30, 1]], "end_at": [[12, 3]]}

    found = unchanged([of([], **chart), of([2, 5, 7], **chart)])

    assert found.trials == [12]


def test_a_requirement_on_a_mean_is_named_as_left_out() -> None:
    def rated() -> dict[str, Any]:
        return run(scenario(share([True] * 30), mean()), run_id=f"run-{next(_NUMBERS)}", gate_met=True)

    found = unchanged([rated(), rated()])

    assert found.left_out == 1
    assert "without 1 requirement on no share" in str(found)


def test_the_answers_are_three_lines_and_json() -> None:
    found = UnchangedRuns(
        runs=["a", "b"],
        outcomes=["fail", "pass"],
        red=1,
        counted=(0.0126, 0.987),
        foretold=(0.1, (0.05, 0.2)),
        left_out=0,
        p_value=0.4,
        trials=[20],
    )

    assert unchanged_text(found).splitlines()[0] == "A/A: 2 runs of an unchanged app"
    assert "1 of 2 runs did not meet their gate (1 fail); exactly, with 95% confidence, 1.3% to 98.7%" in " ".join(
        str(found).split()
    )
    assert "p 0.4" in str(found)
    assert encode_unchanged(found)["counted"] == {"red": 1, "interval": [0.0126, 0.987]}


def test_one_run_and_runs_of_other_suites_are_refused() -> None:
    with pytest.raises(DefinitionError, match="unchanged: found '1 run'; give two or more"):
        unchanged([of([])])
    with pytest.raises(DefinitionError, match="it has other requirements than run"):
        unchanged([of([]), of([], [])])


@scorer
def words(output: str) -> bool:
    return bool(output.split())


SUITE = [
    ScenarioTest(
        title="It answers",
        given="A user",
        when="They ask",
        sample_size=25,
        max_turns=1,
        then=Expectation(scorer=words, evaluator=ProportionEvaluator(min_proportion=0.5)),
    )
]


def test_a_suite_is_run_with_other_seeds_and_not_ended_before_the_trials_that_are_compared() -> None:
    def held(settings: Settings) -> SuiteResult:
        return Engine(settings=settings).evaluate_sync(SUITE, lambda message: "yes")

    settings = DEFAULTS.overridden({"seed": 5, "store": None, "display": "none"})
    results = run_repeatedly(3, SUITE, settings, held)

    found = unchanged(results)
    assert [each.run.seed for each in results] == [5, 6, 7]
    assert [each[0].trials for each in results] == [20] * 3
    assert (found.red, found.differ, found.trials) == (0, False, [20])


def test_a_run_that_ends_early_ends_the_others_and_says_how_to_compare_those_before() -> None:
    limits = iter([None, None, 1e-9])

    def held(settings: Settings) -> SuiteResult:
        limited = settings.overridden({"max_seconds": limit} if (limit := next(limits)) else {})
        return Engine(settings=limited).evaluate_sync(SUITE, lambda message: "yes")

    settings = DEFAULTS.overridden({"store": None, "display": "none"})
    with pytest.raises(SimevalError, match=r"run 3 of 4 ended early: .*`simeval compare --aa \S+ \S+` compares"):
        run_repeatedly(4, SUITE, settings, held)


def test_a_run_that_a_signal_ends_is_told_apart() -> None:
    def held(settings: Settings) -> SuiteResult:
        result = Engine(settings=settings).evaluate_sync(SUITE, lambda message: "yes")
        return SuiteResult(tuple(result), replace(result.run, stopped="interrupted (SIGTERM)"))

    with pytest.raises(Interrupted, match="run 1 of 2 ended early: interrupted"):
        run_repeatedly(2, SUITE, DEFAULTS.overridden({"store": None, "display": "none"}), held)


def test_an_option_about_one_run_is_refused_beside_it() -> None:
    with pytest.raises(DefinitionError, match="--aa: --junit is about one run; leave it out"):
        require_alone({"--html": None, "--junit": "a.xml"})
