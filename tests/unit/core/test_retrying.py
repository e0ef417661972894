"""Tenacity's objects say whether and when a failed call is made again."""

import gc
import weakref

import pytest
from tenacity.stop import stop_base
from tenacity.wait import wait_base

from simeval.core.setting_field import RetryConfig
from simeval.core.waits import REFUSALS, Attempts, retrying


class Later(Exception):
    def __init__(self, retry_after: float | None = None) -> None:
        super().__init__("later")
        self.retry_after = retry_after


def is_later(error: BaseException) -> bool:
    return isinstance(error, Later)


def attempts(**options: float) -> Attempts:
    return Attempts(retrying(RetryConfig(**options), is_later))  # type: ignore[arg-type]


def test_the_policy_is_made_of_tenacitys_objects_once() -> None:
    policy = retrying(RetryConfig(), is_later)

    assert isinstance(policy.stop, stop_base)
    assert isinstance(policy.wait, wait_base)
    assert retrying(RetryConfig(), is_later) is policy


def test_as_many_attempts_are_made_as_there_may_be() -> None:
    tried = attempts(max_attempts=3)

    waits = [tried.wait_after(Later()) for _ in range(3)]

    assert [wait is None for wait in waits] == [False, False, True]
    assert (tried.made, tried.counted) == (3, 3)


def test_an_error_that_will_not_pass_is_the_last() -> None:
    assert attempts().wait_after(ValueError("no")) is None


@pytest.mark.parametrize("number", range(1, 12))
def test_waits_are_at_random_up_to_a_bound_that_doubles(number: int) -> None:
    tried = attempts(max_attempts=20, backoff_multiplier=0.5, max_backoff_seconds=30)
    tried.attempt_number = number

    seconds = tried.wait_after(Later())

    assert seconds is not None
    assert 0 <= seconds <= min(30, 0.5 * 2 ** (number - 1))


def test_what_is_asked_for_is_the_least_wait() -> None:
    assert attempts(backoff_multiplier=0).wait_after(Later(15)) == 15
    assert attempts(backoff_multiplier=0).wait_after(Later()) == 0


def test_bad_luck_is_no_attempt_and_waits_as_asked_alone() -> None:
    tried = attempts(max_attempts=2, backoff_multiplier=1000, max_backoff_seconds=1000)

    waits = [tried.wait_after(Later(1.5), is_unlucky=True) for _ in range(REFUSALS)]

    assert waits == [1.5] * REFUSALS
    assert tried.counted == 0
    assert tried.wait_after(Later(1.5), is_unlucky=True) is None


def test_an_error_is_not_held_longer_than_it_is_looked_at() -> None:
    tried, error = attempts(), Later()
    seen = weakref.ref(error)
    gc.disable()
    try:
        tried.wait_after(error)
        del error

        assert seen() is None
    finally:
        gc.enable()
