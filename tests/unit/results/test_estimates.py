"""Estimates over the examples of a dataset, whose repetitions belong together."""

from math import nan

import pytest

from simeval.results.estimates import estimate_repeated


def test_pass_hat_k_counts_examples_of_which_all_repetitions_are_good() -> None:
    found = estimate_repeated([1, 1, 1, 0, 0, 0, 1, 1], repetitions=2)

    assert found["pass^2"].value == pytest.approx(2 / 4)
    assert found["pass@2"].value == pytest.approx(3 / 4)
    assert found["pass^2"].n == 4


def test_an_example_that_lacks_a_repetition_is_left_out() -> None:
    found = estimate_repeated([1, 1, nan, 1], repetitions=2)

    assert (found["pass^2"].value, found["pass^2"].n) == (1.0, 1)


def test_without_repetitions_there_is_nothing_to_say() -> None:
    assert estimate_repeated([1, 0, 1], repetitions=1) == {}


def test_without_a_whole_example_there_is_nothing_to_say() -> None:
    assert estimate_repeated([1, nan], repetitions=2) == {}
