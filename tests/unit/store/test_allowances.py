"""Allowances: one row for each model and account, that all workers take from."""

from collections.abc import Iterator

import pytest

from simeval.models.limits.buckets import Bucket
from simeval.store.allowances import AllowanceBook
from simeval.store.database import Database
from tests.support.postgres import PostgresHandle


@pytest.fixture
def books(postgres_server: PostgresHandle) -> Iterator[list[AllowanceBook]]:
    """Two workers' views of one store."""
    where = postgres_server.fresh()
    databases = [Database(where), Database(where)]
    yield [AllowanceBook(each) for each in databases]
    for each in databases:
        each.close()


def test_what_one_worker_takes_the_other_has_not(books: list[AllowanceBook]) -> None:
    one, other = books
    one.announce(["m"], requests_per_minute=1, tokens_per_minute=None)

    first = one.take("m", 5, tokens_each=10, correction=0)
    granted, seconds = other.take("m", 5, tokens_each=10, correction=0) or (-1, -1.0)

    assert first == (1, 0.0)
    assert granted == 0
    assert 50 < seconds <= 60


def test_a_call_that_used_more_tokens_than_it_was_charged_is_made_up_for(books: list[AllowanceBook]) -> None:
    one, other = books
    one.announce(["m"], requests_per_minute=None, tokens_per_minute=600)

    first = one.take("m", 5, tokens_each=10, correction=0)
    granted, seconds = other.take("m", 5, tokens_each=10, correction=90) or (-1, -1.0)

    assert first == (1, 0.0)
    assert granted == 0
    assert 5 < seconds <= 10


def test_where_there_is_no_limit_that_is_said(books: list[AllowanceBook]) -> None:
    one, other = books
    one.announce(["m"], requests_per_minute=1, tokens_per_minute=1)
    other.announce(["m"], requests_per_minute=None, tokens_per_minute=None)

    assert one.take("m", 64, tokens_each=10, correction=0) is None
    assert one.take("another", 64, tokens_each=10, correction=0) is None


def test_a_bucket_fills_up_by_the_second_and_holds_a_seconds_worth() -> None:
    assert Bucket(120, -1.0).after(0.5).level == 0.0
    assert Bucket(120, 0.0).after(60).level == 2.0
    assert Bucket(6, 0.0).after(60).level == 1.0
    assert Bucket(120, 0.0).seconds_until(1.0) == 0.5
    assert Bucket(None, 0.0).after(60) == Bucket(None, 0.0)
