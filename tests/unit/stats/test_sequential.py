"""The exact sequential test of a rate: its boundaries, its error rates, and what is known after stopping."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simeval.evaluators.scores import ProportionEvaluator
from simeval.stats.sequential import Design, StopRule, design
from tests.support.golden import cases_of

DESIGNS = [
    (p0, n, stop)
    for p0 in (0.5, 0.75, 0.9, 0.95)
    for n in (30, 50, 100)
    for stop in ("gate", "verdict")
    if stop == "verdict" or p0**n <= 0.05  # a gate that cannot be passed is none
]


def of(inputs: dict[str, Any]) -> Design:
    stop: StopRule = inputs.get("stop", "gate")
    return design(inputs["p0"], inputs["n_max"], alpha=inputs.get("alpha", 0.05), rho=inputs.get("rho", 2), stop=stop)


def all_endings(plan: Design) -> list[tuple[int, int]]:
    """Walk through every state a run can come to, and give those in which it ends."""
    running, found = {0}, []
    for n in range(1, plan.n_max + 1):
        states = {f + more for f in running for more in (0, 1)}
        found += [(n, f) for f in states if plan.ending(n, f)]
        running = {f for f in states if plan.ending(n, f) is None}
    return found


@pytest.mark.parametrize("case", cases_of("sequential_pass_boundary"))
def test_the_boundary_equals_the_reference(case: dict[str, Any]) -> None:
    plan, expected = of(case["inputs"]), case["expected"]

    assert [list(point) for point in plan.pass_points] == expected["pass_points"]
    assert plan.type_one == pytest.approx(expected["type1"], abs=case["tolerance"])


@pytest.mark.parametrize("case", cases_of("sequential_operating_characteristics"))
def test_operating_characteristics_equal_the_reference(case: dict[str, Any]) -> None:
    found, expected = of(case["inputs"]).characteristics(case["inputs"]["p"]), case["expected"]

    assert found.prob_pass == pytest.approx(expected["prob_pass"], abs=case["tolerance"])
    assert found.expected_n == pytest.approx(expected["expected_n"], abs=case["tolerance"])


@pytest.mark.parametrize("case", cases_of("sequential_stop_points"))
def test_stop_points_equal_the_reference(case: dict[str, Any]) -> None:
    assert sorted(map(list, of(case["inputs"]).stop_points())) == sorted(case["expected"]["stop_points"])


@pytest.mark.parametrize("case", cases_of("sequential_inference"))
def test_inference_equals_the_reference(case: dict[str, Any]) -> None:
    given, expected, tolerance = case["inputs"], case["expected"], case["tolerance"]

    found = of(given).infer(given["n_stop"], given["failures"])

    assert found.p_pass == pytest.approx(expected["p_pass"], abs=tolerance)
    assert found.p_fail == pytest.approx(expected["p_fail"], abs=tolerance)
    assert found.interval == pytest.approx(tuple(expected["ci90"]), abs=tolerance)


@pytest.mark.parametrize("case", cases_of("sequential_inference_consistency"))
def test_what_spending_left_over_is_no_pass(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]

    found = of(given).infer(given["n_stop"], given["failures"])

    assert found.p_pass > expected["p_pass_must_exceed"]
    assert found.interval[0] <= expected["ci_lower_at_most"]
    assert found.p_fail == pytest.approx(expected["p_fail"], abs=case["tolerance"])
    assert found.interval[1] == pytest.approx(expected["ci_upper"], abs=case["tolerance"])


@pytest.mark.parametrize("case", cases_of("lookahead_launch_limit"))
def test_no_trial_is_launched_that_no_pass_can_need(case: dict[str, Any]) -> None:
    plan = of(case["inputs"])

    assert [plan.launch_limit(n, f) for n, f in case["inputs"]["states"]] == case["expected"]["launch_up_to"]


@pytest.mark.parametrize("case", cases_of("sequential_run"))
def test_an_evaluators_course_stops_where_the_reference_does(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]
    test = ProportionEvaluator(min_proportion=given["p0"], min_trials=1).running_test(
        given["n_max"], stop=given["stop"]
    )

    for outcome in given["outcomes"]:
        test.take(float(outcome))

    verdict = test.verdict()
    assert (verdict.outcome.upper(), verdict.n) == (expected["verdict"], expected["n_stop"])
    assert verdict.chart
    assert verdict.chart.met.count(False) == expected["failures"]


def test_the_design_of_a_hundred_trials_at_ninety_per_cent() -> None:
    assert design(0.9, 100, alpha=0.05).pass_points == [(45, 0), (60, 1), (74, 2), (86, 3), (97, 4)]


@pytest.mark.parametrize("stop", ["gate", "verdict"])
def test_operating_characteristics_are_those_of_all_sequences(stop: StopRule) -> None:
    plan, rate, n_max = design(0.6, 12, alpha=0.1, stop=stop), 0.8, 12
    passed, trials = 0.0, 0.0

    for outcomes in product((True, False), repeat=n_max):
        chance = float(np.prod([rate if good else 1 - rate for good in outcomes]))
        failures = 0
        for n, good in enumerate(outcomes, start=1):
            failures += not good
            ending = plan.ending(n, failures)
            if ending:
                passed += chance * (ending == "pass")
                trials += chance * n
                break

    assert plan.characteristics(rate).prob_pass == pytest.approx(passed)
    assert plan.characteristics(rate).expected_n == pytest.approx(trials)


@pytest.mark.parametrize(("p0", "n_max", "stop"), DESIGNS)
def test_neither_error_rate_is_above_the_level_at_any_rate(p0: float, n_max: int, stop: StopRule) -> None:
    plan = design(p0, n_max, alpha=0.05, stop=stop)
    rates = np.unique([*np.linspace(0.01, 0.999, 50), p0])
    found = [(rate, plan.characteristics(rate)) for rate in rates]

    assert max(each.prob_pass for rate, each in found if rate <= p0) <= 0.05 + 1e-12
    assert max(each.prob_fail for rate, each in found if rate >= p0) <= 0.05 + 1e-12


@pytest.mark.parametrize(("p0", "n_max", "stop"), DESIGNS)
def test_interval_p_values_and_verdict_agree_at_every_ending(p0: float, n_max: int, stop: StopRule) -> None:
    plan = design(p0, n_max, alpha=0.05, stop=stop)
    for n, failures in all_endings(plan):
        found = plan.infer(n, failures)
        passed = plan.ending(n, failures) == "pass"
        assert (found.p_pass <= 0.05) == passed
        assert (found.interval[0] >= p0 - 1e-12) == passed
        assert (found.interval[1] <= p0 + 1e-9) == (found.p_fail <= 0.05 + 1e-12)
        assert found.interval[0] <= found.interval[1]


@pytest.mark.parametrize(("p0", "n_max", "stop"), [(0.9, 50, "gate"), (0.75, 30, "verdict"), (0.5, 30, "gate")])
def test_each_side_of_the_interval_covers_at_every_rate(p0: float, n_max: int, stop: StopRule) -> None:
    plan = design(p0, n_max, alpha=0.05, stop=stop)
    intervals = {end: plan.infer(*end).interval for end in all_endings(plan)}
    ends = plan.ends

    for rate in np.linspace(0.05, 0.99, 48):
        chances = dict(zip(zip(ends.n.tolist(), ends.failures.tolist(), strict=True), ends.chances(rate), strict=True))
        assert sum(chances[end] for end, (low, _) in intervals.items() if low > rate) <= 0.05 + 1e-9
        assert sum(chances[end] for end, (_, high) in intervals.items() if high < rate) <= 0.05 + 1e-9
        assert sum(chances.values()) == pytest.approx(1)


@settings(max_examples=40)
@given(
    st.floats(0.05, 0.98),
    st.integers(1, 80),
    st.floats(0.005, 0.2),
    st.floats(0.5, 3),
    st.sampled_from(["gate", "verdict"]),
)
def test_every_design_keeps_its_level(p0: float, n_max: int, alpha: float, rho: float, stop: StopRule) -> None:
    plan = design(p0, n_max, alpha=alpha, rho=rho, stop=stop)

    assert plan.type_one <= alpha * (1 + 1e-9)
    assert plan.characteristics(p0).prob_pass <= plan.type_one + 1e-12
    assert plan.characteristics(p0).prob_fail <= alpha * (1 + 1e-9)
    assert [f for _, f in plan.pass_points] == sorted(f for _, f in plan.pass_points)


@settings(max_examples=40)
@given(st.sampled_from(DESIGNS), st.floats(0.02, 0.95))
def test_the_chance_of_a_pass_rises_with_the_rate(plan: tuple[float, int, StopRule], rate: float) -> None:
    p0, n_max, stop = plan
    found = design(p0, n_max, alpha=0.05, stop=stop)

    assert found.characteristics(rate).prob_pass <= found.characteristics(rate + 0.02).prob_pass + 1e-12


def test_a_design_that_cannot_pass_says_so() -> None:
    assert not design(0.9, 28, alpha=0.05).can_pass
    assert design(0.9, 29, alpha=0.05).can_pass


def test_inference_on_a_state_in_which_no_run_ends_is_refused() -> None:
    with pytest.raises(ValueError, match="no run of this design ends with 0 failures in 5 trials"):
        design(0.9, 100, alpha=0.05).infer(5, 0)


def test_an_inference_is_made_once() -> None:
    plan = design(0.9, 100, alpha=0.05)

    assert plan.infer(45, 0) is plan.infer(45, 0)
    assert plan.infer(45, 0) != plan.infer(60, 1)


@pytest.mark.parametrize("arguments", [(0.0, 30, 0.05), (1.0, 30, 0.05), (0.9, 0, 0.05), (0.9, 30, 0.0)])
def test_arguments_that_make_no_design_are_refused(arguments: tuple[float, int, float]) -> None:
    p0, n_max, alpha = arguments

    with pytest.raises(ValueError, match="use shares"):
        design(p0, n_max, alpha=alpha)
