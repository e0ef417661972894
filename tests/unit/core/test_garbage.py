"""The collector of cycles looks seldom while runs are under way, and as before afterwards."""

import gc
from collections.abc import Iterator

import pytest

from simeval.core.garbage import LOADING, THRESHOLDS, collected_seldom, loading


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)  # Python's own, which a command of an earlier test may have raised
    gc.unfreeze()  # the tests themselves
    yield
    gc.freeze()
    gc.set_threshold(*before)


def test_thresholds_are_raised_until_the_last_of_several_runs_has_ended() -> None:
    before = gc.get_threshold()

    with collected_seldom():
        with collected_seldom():
            pass
        within = gc.get_threshold()

    assert within == THRESHOLDS != before
    assert gc.get_threshold() == before


@pytest.mark.parametrize("own", [(900_000, 30, 70), (50_000, 1_000, 1_000), (0, 10, 10)])
def test_higher_thresholds_of_the_users_stay(own: tuple[int, int, int]) -> None:
    gc.set_threshold(*own)

    with collected_seldom():
        within = gc.get_threshold()

    assert within == own


def test_a_process_that_ends_keeps_them() -> None:
    with pytest.raises(SystemExit), collected_seldom():
        raise SystemExit(0)

    assert gc.get_threshold() == THRESHOLDS


def test_a_run_that_breaks_leaves_them_as_before() -> None:
    before = gc.get_threshold()

    with pytest.raises(RuntimeError), collected_seldom():
        raise RuntimeError

    assert gc.get_threshold() == before


def test_a_command_has_higher_thresholds_than_the_run_in_it() -> None:
    before = gc.get_threshold()

    with loading():
        command = gc.get_threshold()
        with collected_seldom():
            run, left_out = gc.get_threshold(), gc.get_freeze_count()

    assert (command, run) == (LOADING, THRESHOLDS)
    assert left_out > 10_000  # the modules
    assert gc.get_threshold() == before
