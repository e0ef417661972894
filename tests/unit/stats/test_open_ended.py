"""The sequential test without a largest n."""

import numpy as np
import pytest

from simeval.stats.evalues import mixture
from simeval.stats.open_ended import minimum_n, open_design


@pytest.mark.parametrize("p0", [0.5, 0.9])
def test_boundaries_are_where_the_e_value_reaches_the_inverse_of_the_level(p0: float) -> None:
    plan = open_design(p0, 120, alpha=0.05)

    for n in range(1, 121):
        proven = [f for f in range(n + 1) if mixture(n - f, f, p0) >= np.log(20)]
        below = [f for f in range(n + 1) if mixture(f, n - f, 1 - p0) >= np.log(20)]
        assert plan.pass_at[n] == max(proven, default=-1)
        assert (plan.fail_at[n] if plan.fail_at[n] <= n else None) == min(below, default=None)


@pytest.mark.parametrize(("p0", "alpha"), [(0.02, 0.05), (0.5, 0.05), (0.9, 0.05), (0.9, 0.01), (0.97, 0.05)])
def test_the_boundary_begins_at_the_smallest_number_that_can_pass(p0: float, alpha: float) -> None:
    n = minimum_n(p0, alpha)

    pass_at = open_design(p0, n, alpha=alpha).pass_at
    assert pass_at[n] == 0
    assert set(pass_at[:n]) == {-1}


def test_the_boundary_does_not_depend_on_how_far_it_is_tabulated() -> None:
    short, long = open_design(0.9, 60, alpha=0.05), open_design(0.9, 200, alpha=0.05)

    assert short.pass_at.tolist() == long.pass_at[:61].tolist()


@pytest.mark.parametrize(("n", "failures"), [(45, 0), (60, 1), (30, 12), (20, 1)])
def test_p_values_and_interval_agree_with_the_boundaries(n: int, failures: int) -> None:
    plan = open_design(0.9, 100, alpha=0.05, stop="verdict")

    found = plan.infer(n, failures)

    assert (found.p_pass <= 0.05) == (failures <= plan.pass_at[n])
    assert (found.interval[0] >= 0.9) == (failures <= plan.pass_at[n])
    assert (found.p_fail <= 0.05) == (failures >= plan.fail_at[n])
    assert (found.interval[1] <= 0.9) == (failures >= plan.fail_at[n])


def test_an_app_at_the_bar_rarely_passes_however_long_it_runs() -> None:
    random = np.random.default_rng(3)
    plan = open_design(0.8, 400, alpha=0.05, stop="verdict")
    failures = np.cumsum(random.random((2_000, 400)) >= 0.8, axis=1)

    crossed = (failures <= plan.pass_at[1:]).any(axis=1).mean()

    assert crossed <= 0.05


def test_arguments_that_make_no_design_are_refused() -> None:
    with pytest.raises(ValueError, match="use shares"):
        open_design(1.0, 30, alpha=0.05)
