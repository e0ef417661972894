"""How fast a model is asked: against endpoints that take 50 calls a second, in a time that is only counted."""

from collections.abc import Callable
from itertools import pairwise
from math import inf
from random import Random

import pytest

from simeval.models.limits.traffic import FIRST_AT_ONCE, LATE_SECONDS, Budget, Ticket, Traffic
from tests.support.servers import Bucket, Busy, Drive, EachForItself, FixedWindows, Server, SlidingLog, Slots

RATE, SECONDS, MOST = 50, 60, 100
RETRY_AFTER = 60.0  # more than calls that are tried one by one wait by themselves
SERVERS: dict[str, Callable[[], Server]] = {
    "token bucket": lambda: Bucket(RATE, RATE),
    "fixed windows": lambda: FixedWindows(RATE),
    "windows begun before": lambda: FixedWindows(RATE, offset=0.5),
    "sliding log": lambda: SlidingLog(RATE),
}


def traffic(most: int = MOST) -> Traffic:
    return Traffic(most)


def start(one: Traffic, times: int, now: float = 0.0) -> list[Ticket]:
    tickets = []
    for _ in range(times):
        assert one.wait(now) == 0
        tickets.append(one.start(now))
    return tickets


def answer_rounds(
    one: Traffic, rounds: int, *, seconds: float = 1.0, since: float = 0.0, asked: list[int] | None = None
) -> float:
    """Start as many calls as may be for so many rounds; note how many in `asked`."""
    now = since
    for _ in range(rounds):
        tickets = []
        while one.wait(now) == 0:
            tickets.append(one.start(now))
        if asked is not None:
            asked.append(len(tickets))
        now += seconds
        for ticket in tickets:
            one.end(ticket, now, "answered")
    return now


@pytest.mark.parametrize("retry_after", [None, 0.05, 1.0])
@pytest.mark.parametrize("latency", [0.02, 0.1])
@pytest.mark.parametrize("server", SERVERS)
def test_a_limited_endpoint_is_used_to_80_percent_and_refuses_less_than_8(
    server: str, latency: float, retry_after: float | None
) -> None:
    outcomes = Drive(traffic(), latency, SECONDS + latency, retry_after).against(SERVERS[server]())

    assert outcomes.taken() >= 0.8 * RATE * SECONDS
    assert outcomes.refused_share < 0.08


@pytest.mark.parametrize("retry_after", [None, 0.05, 1.0])
@pytest.mark.parametrize("server", SERVERS)
def test_one_that_answers_after_a_second_loses_little_more_at_the_start(server: str, retry_after: float | None) -> None:
    outcomes = Drive(traffic(), 1.0, SECONDS + 1, retry_after).against(SERVERS[server]())

    assert outcomes.taken() >= 0.8 * RATE * SECONDS
    assert outcomes.refused_share < 0.06


@pytest.mark.parametrize(("latency", "refused"), [(0.02, 0.03), (0.1, 0.03), (1.0, 0.04)])
def test_capacity_that_doubles_is_found(latency: float, refused: float) -> None:
    server = Bucket(RATE, RATE)

    def double() -> None:
        server.rate = server.burst = 2 * RATE

    outcomes = Drive(traffic(300), latency, 120, changes=[(30, double)]).against(server)

    assert outcomes.taken(110, 120) >= 0.9 * 2 * RATE * 10
    assert outcomes.refused_share < refused


@pytest.mark.parametrize("latency", [0.02, 0.1, 1.0])
def test_capacity_that_halves_is_kept_to(latency: float) -> None:
    server = Bucket(RATE, RATE)

    def halve() -> None:
        server.rate = server.burst = RATE / 2

    outcomes = Drive(traffic(), latency, 120, changes=[(30, halve)]).against(server)

    assert outcomes.taken(40, 120) >= 0.9 * RATE / 2 * 80
    assert sum(outcomes.refused[40:]) < 0.03 * outcomes.taken(40)


@pytest.mark.parametrize("latency", [0.1, 1.0])
def test_a_limit_of_calls_at_once_is_found_too(latency: float) -> None:
    outcomes = Drive(traffic(), latency, 300).against(Slots(10))

    assert outcomes.taken(200, 300) >= 0.9 * 10 / latency * 100
    assert sum(outcomes.refused[60:]) < 0.03 * outcomes.taken(60)


@pytest.mark.parametrize("retry_after", [None, 1.0, 20.0])
def test_500_a_minute_are_used_after_a_burst_that_took_a_minutes_worth(retry_after: float | None) -> None:
    outcomes = Drive(traffic(), 0.1, 600, retry_after).against(Bucket(500 / 60, 500))

    assert outcomes.taken() >= 0.95 * 5500
    assert sum(outcomes.refused[240:]) < 0.03 * outcomes.taken(240)
    assert outcomes.refused_share < 0.1


@pytest.mark.parametrize("seed", range(1, 2))
@pytest.mark.parametrize("retry_after", [None, 1.0])
@pytest.mark.parametrize(
    ("share", "latency"), [(0.01, 0.2), (0.01, 1.0), (0.05, 0.02), (0.05, 0.2), (0.1, 1.0), (0.2, 3.0)]
)
def test_refusals_that_come_at_any_pace_cost_little_more_than_their_own_wait(
    share: float, latency: float, retry_after: float | None, seed: int
) -> None:
    taken = [
        Drive(one, latency, 60, retry_after, callers=50, random=Random(seed)).against(Busy(share, Random(seed))).taken()
        for one in (traffic(50), EachForItself(50))
    ]

    assert taken[0] >= 0.75 * taken[1]


@pytest.mark.parametrize("latency", [0.05, 0.5])
def test_an_endpoint_of_few_calls_a_second_refuses_few_of_them(latency: float) -> None:
    outcomes = Drive(traffic(50), latency, 600, 1.0, callers=100, random=Random(1)).against(Bucket(5, 5))

    assert outcomes.taken() >= 0.9 * 5 * 600
    assert outcomes.refused_share < 0.035


@pytest.mark.parametrize("latency", [0.02, 0.2])
@pytest.mark.parametrize("server", [lambda: Bucket(RATE, RATE / 10), *SERVERS.values()])
def test_a_limited_endpoint_is_used_as_well_with_a_retry_after_as_without(
    server: Callable[[], Server], latency: float
) -> None:
    outcomes = Drive(traffic(50), latency, 60, 1.0, callers=100, random=Random(1)).against(server())

    assert outcomes.taken() >= 0.7 * RATE * SECONDS
    assert outcomes.refused_share < 0.1


def test_an_endpoint_without_a_limit_is_used_in_full_after_two_rounds() -> None:
    one = traffic(50)

    at_once: list[int] = []
    for number in range(4):
        answer_rounds(one, 1, since=float(number), asked=at_once)

    assert at_once == [FIRST_AT_ONCE, 2 * FIRST_AT_ONCE, 50, 50]
    assert one.pace.rate == inf


def test_calls_started_before_a_cut_do_not_cut_again() -> None:
    one = traffic()
    now = answer_rounds(one, 2)
    tickets = start(one, 20, now)

    cuts = [one.end(ticket, now + 1, "timed_out") for ticket in tickets]

    assert cuts.count(True) == 1


@pytest.mark.parametrize("outcome", ["failed", "abandoned"])
def test_server_errors_and_lost_connections_cut_nothing(outcome: str) -> None:
    one = traffic()
    now = answer_rounds(one, 2)

    cuts = [one.end(ticket, now + 1, outcome) for ticket in start(one, 20, now)]  # type: ignore[arg-type]

    assert not any(cuts)
    assert (one.pace.rate, one.in_flight) == (inf, 0)


def test_a_retry_after_holds_back_no_other_call_while_most_are_answered() -> None:
    one = traffic()
    refused, *others = start(one, 10)
    for ticket in others:
        one.end(ticket, 1.0, "answered")

    one.end(refused, 1.0, "refused", retry_after=5.0)

    assert one.wait(1.0) == 0


def refuse_singly(one: Traffic, times: int, now: float) -> float:
    """Refuse every call until single ones are tried, and so many of these."""
    for ticket in start(one, FIRST_AT_ONCE, now):
        one.end(ticket, now, "refused", retry_after=RETRY_AFTER)
    for _ in range(times):
        now += one.wait(now) + 1e-9
        (ticket,) = start(one, 1, now)
        one.end(ticket, now, "refused", retry_after=RETRY_AFTER)
    return now


def test_after_a_cut_single_calls_are_tried_after_ever_longer_waits() -> None:
    waits: list[float] = []

    for times in range(1, 5):
        one = traffic()
        now = refuse_singly(one, times, 1.0)
        waits.append(one.wait(now))

    assert [later / earlier for earlier, later in pairwise(waits)] == pytest.approx([2.0] * 3)


def test_after_a_retry_after_no_call_starts_before_its_time_where_all_are_refused() -> None:
    one = traffic()

    now = refuse_singly(one, 5, 1.0)

    assert one.wait(now) == pytest.approx(RETRY_AFTER)


def test_refusals_that_go_on_at_a_lower_pace_lift_it() -> None:
    one = traffic(50)

    outcomes = Drive(one, 0.1, 60, callers=50, random=Random(1)).against(Busy(0.2, Random(1)))

    assert one.pace.rate == inf
    assert outcomes.taken(30, 60) >= 0.75 * 50 / 0.1 * 30


def test_while_all_calls_are_refused_single_ones_are_tried_ever_more_seldom() -> None:
    server = Bucket(RATE, RATE)

    def close() -> None:
        server.rate = server.burst = 0.0

    outcomes = Drive(traffic(), 0.05, 120, changes=[(10, close)]).against(server)

    assert sum(outcomes.refused[11:30]) < 20
    assert 0 < sum(outcomes.refused[60:120]) < 5


def test_requests_a_minute_are_spread_evenly() -> None:
    one = Traffic(MOST, Budget(60 / 60))
    starts, now = [], 0.0

    for _ in range(5):
        now += one.wait(now)
        starts.append(now)
        one.end(one.start(now), now + 0.1, "answered")

    assert starts == pytest.approx([0, 1, 2, 3, 4])


def test_requests_that_were_not_made_are_not_made_up_for() -> None:
    budget = Budget(100.0)
    budget.wait(0.0)

    budget.wait(100.0)

    assert budget.level == pytest.approx(100.0 * LATE_SECONDS)


def test_tokens_a_minute_are_kept_to_whatever_a_call_uses() -> None:
    one, now, used = Traffic(MOST, tokens=Budget(6000 / 60, saved=1.0)), 0.0, 0

    while now < 300:
        ticket = one.start(now)
        now += 0.1
        one.end(ticket, now, "answered", tokens=900)
        used += 900
        now += one.wait(now)

    assert used == pytest.approx(100 * 300, rel=0.05)


def test_a_call_that_was_not_answered_gives_its_tokens_back() -> None:
    one = Traffic(MOST, tokens=Budget(100.0, saved=1.0))

    waits = []
    for number in range(5):
        one.end(one.start(float(number)), float(number), "failed")
        waits.append(one.wait(float(number)))

    assert waits == [0.0] * 5
