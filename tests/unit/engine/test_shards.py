"""Shards: every scenario goes to one of them, the loads are even, and limits add up to what was given."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.core.setting_field import Shard
from simeval.core.settings import Settings
from simeval.engine.plans.resume import SHARED, dealt_out, shared_out
from simeval.errors import DefinitionError

WEIGHTS = st.lists(st.floats(0.1, 1e6), min_size=1, max_size=40)


@given(WEIGHTS, st.integers(1, 10))
def test_every_scenario_goes_to_one_shard(weights: list[float], shards: int) -> None:
    places = dealt_out(weights, shards)

    assert sorted(place for each in places for place in each) == list(range(len(weights)))
    assert all(each == sorted(each) for each in places)
    assert len(weights) < shards or all(places)


@given(WEIGHTS, st.integers(1, 10))
def test_no_shard_has_more_than_the_even_share_and_one_scenario(weights: list[float], shards: int) -> None:
    loads = [sum(weights[place] for place in each) for each in dealt_out(weights, shards)]

    assert max(loads) <= (sum(weights) / shards + max(weights)) * (1 + 1e-9)


def test_the_dearest_goes_first_onto_the_lightest() -> None:
    assert dealt_out([1, 5, 3, 3], 2) == [[0, 1], [2, 3]]


@given(st.integers(0, 10_000), st.integers(1, 50))
def test_the_parts_of_a_whole_add_up_to_it(whole: int, of: int) -> None:
    parts = [Shard(number, of).part_of(whole) for number in range(1, of + 1)]

    assert sum(parts) == whole
    assert max(parts) - min(parts) <= 1


@pytest.mark.parametrize("text", ["", "3", "0/8", "9/8", "3/0", "a/b", "-1/2", "3/8 ", 3])
def test_what_is_no_shard_is_refused(text: object) -> None:
    with pytest.raises(DefinitionError, match="write NUMBER/OF, from 1/OF to OF/OF, such as 3/8"):
        Shard.read(text)


def test_limits_are_shared_out() -> None:
    whole = {"max_cost_usd": 5, "max_calls": 100, "max_tokens": 1_000, "requests_per_minute": 60}
    parts = [shared_out(Settings(shard=f"{number}/8", **whole)) for number in range(1, 9)]  # type: ignore[arg-type]

    for name, most in whole.items():
        assert name in SHARED
        assert sum(getattr(each, name) for each in parts) == pytest.approx(most)
    assert all(each.tokens_per_minute is None for each in parts)


def test_a_limit_that_is_too_small_to_be_shared_is_refused() -> None:
    with pytest.raises(DefinitionError, match="max_calls: 3 cannot be shared out among 8 shards; raise it"):
        [shared_out(Settings(shard=f"{number}/8", max_calls=3)) for number in range(1, 9)]
