"""Estimates over the examples of a dataset, whose repetitions belong together."""

from math import inf, nan

import pytest

from simeval import MeanEvaluator
from simeval.results.estimates import estimate_mean, estimate_repeated, estimate_share


def test_pass_hat_k_counts_examples_of_which_all_repetitions_are_good() -> None:
    found = estimate_repeated([1, 1, 1, 0, 0, 0, 1, 1], repetitions=2)

    assert found["pass^2"].value == pytest.approx(2 / 4)
    assert found["pass@2"].value == pytest.approx(3 / 4)
    assert found["pass^2"].n == 4


def test_pass_hat_k_is_a_share_of_examples_with_the_exact_interval_of_one() -> None:
    found = estimate_repeated([1, 1, 1] * 39 + [1, 0, 0], repetitions=3)

    assert found["pass^3"] == estimate_share([1] * 39 + [0])
    assert found["pass@3"] == estimate_share([1] * 40)


def test_an_example_that_lacks_a_repetition_is_left_out() -> None:
    found = estimate_repeated([1, 1, nan, 1], repetitions=2)

    assert (found["pass^2"].value, found["pass^2"].n) == (1.0, 1)


def test_without_repetitions_there_is_nothing_to_say() -> None:
    assert estimate_repeated([1, 0, 1], repetitions=1) == {}


def test_without_a_whole_example_there_is_nothing_to_say() -> None:
    assert estimate_repeated([1, nan], repetitions=2) == {}


@pytest.mark.parametrize("values", [[0.0, 1.0], [0.9, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [0.5], [0.97, 1.0, 0.93, 0.98]])
@pytest.mark.parametrize("bounds", [None, (0.0, 1.0)])
def test_the_interval_of_scores_from_0_to_1_stays_within_and_holds_their_mean(
    values: list[float], bounds: tuple[float, float] | None
) -> None:
    found = estimate_mean(values, bounds=bounds)

    assert found.value is not None
    assert found.interval is not None
    assert 0 <= found.interval[0] <= found.value <= found.interval[1] <= 1


def test_a_bounded_mean_has_the_interval_of_a_verdict_on_it() -> None:
    values = [0.2, 0.9, 1.0, 0.4, 0.8, 0.7]

    verdict = MeanEvaluator(at_least=0.5, bounds=(0.0, 1.0), early_stopping=False).evaluate(values)

    assert estimate_mean(values, bounds=(0.0, 1.0)).interval == verdict.confidence_interval
    assert estimate_mean([1, 0, 1, 1], bounds=(0, 1)).interval == pytest.approx(estimate_share([1, 0, 1, 1]).interval)


def test_student_stops_at_the_bound_there_is_and_says_that_few_examples_are_few() -> None:
    few, many = estimate_mean([0.1, 4.0], bounds=(0.0, inf)), estimate_mean([0.5, 4.0] * 20, bounds=(0.0, inf))

    assert few.interval is not None
    assert few.interval[0] == 0
    assert few.method == "Student's t, rough: few examples (under 30)"
    assert many.method == "Student's t"


def test_values_that_are_outside_of_their_bounds_have_none() -> None:
    found = estimate_mean([0.5, 3.0, 2.0], bounds=(0.0, 1.0))

    assert found.method.startswith("Student's t")


def test_repetitions_count_as_one_value_of_their_example() -> None:
    found = estimate_mean([0.0, 1.0, 1.0, 1.0], repetitions=2, bounds=(0.0, 1.0))

    assert found.interval == estimate_mean([0.5, 1.0], bounds=(0.0, 1.0)).interval
    assert found.method == "Gaffke, 0 to 1, by example"
