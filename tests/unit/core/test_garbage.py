"""The collector of cycles looks seldom while runs are under way, and as before afterwards."""

import gc
from collections.abc import Iterator

import pytest

from simeval.core.garbage import THRESHOLDS, collected_seldom


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_thresholds_are_raised_until_the_last_of_several_runs_has_ended() -> None:
    before = gc.get_threshold()

    with collected_seldom():
        with collected_seldom():
            pass
        within = gc.get_threshold()

    assert within == tuple(map(max, before, THRESHOLDS)) != before
    assert gc.get_threshold() == before


def test_higher_thresholds_of_the_users_stay() -> None:
    gc.set_threshold(90_000, 30, 70)

    with collected_seldom():
        within = gc.get_threshold()

    assert within == (90_000, 30, 70)
