"""The collector of cycles looks seldom while runs are under way, and as before afterwards."""

import gc
from collections.abc import Iterator

import pytest

from simeval.core import garbage
from simeval.core.garbage import LOADING, THRESHOLDS, collected_seldom, loading


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)  # Python's own, which a command of an earlier test may have raised
    gc.unfreeze()  # the tests themselves
    monkeypatch.setattr(garbage, "_are_modules_left_out", False)
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


def test_modules_are_left_out_once_and_later_garbage_is_not() -> None:
    with loading():
        with collected_seldom():
            first = gc.get_freeze_count()
        made = [[number] for number in range(1_000)]
        with collected_seldom():
            second = gc.get_freeze_count()

    assert second <= first
    del made


@pytest.mark.parametrize("own", [(0, 10, 10), (5_000_000, 10, 10)])
def test_a_command_leaves_higher_thresholds_and_none(own: tuple[int, int, int]) -> None:
    gc.set_threshold(*own)

    with loading():
        within = gc.get_threshold()

    assert within == own == gc.get_threshold()


def test_after_a_command_that_ends_a_run_of_the_same_process_is_like_any_other() -> None:
    with pytest.raises(SystemExit), loading():
        raise SystemExit(0)
    after = gc.get_threshold()

    with collected_seldom():
        left_out = gc.get_freeze_count()

    assert after == THRESHOLDS
    assert left_out == 0
