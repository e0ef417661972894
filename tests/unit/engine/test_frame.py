"""Frames of the live screen: what they say, and that none is wider or longer than the screen."""

import pytest
from wcwidth import width as cells

from simeval.core.run_records import Usage
from simeval.core.terminal import Terminal
from simeval.core.trial import Outcome
from simeval.core.waits import Wait
from simeval.engine.display import View, frame
from simeval.engine.flow import Requirement, Standing

MODEL = "openai/gpt-5-nano"
HOSTILE = [
    "机器人在开始退货之前会先请顾客确认订单号码是否正确" * 3,
    "\x1b[2J\x1b]0;pwn\x07" * 9,
    "يطلب " * 40,
    "👩‍👩‍👧" * 50,
]
SIZES = [(80, 24), (120, 40), (40, 10), (10, 3), (1, 1), (300, 100)]


def scenario(title: str = "Bot explains", *, needed: int = 86, outcome: Outcome | None = None) -> Standing:
    found = Requirement(
        bar="≥ 90%",
        found="95.2% [83.8%, 99.4%]",
        outcome=outcome,
        misses=None if outcome else 2,
        allowed=None if outcome else 5,
    )
    return Standing(
        title=title,
        trials=42 if needed else 0,
        needed=needed,
        sample_size=100,
        is_closed=outcome is not None,
        requirement=lambda: found,
    )


def view(*standings: Standing, waits: tuple[Wait, ...] = (), messages: tuple[str, ...] = ()) -> View:
    return View(
        heading="simeval  run 1  app shop:handle",
        standings=standings,
        waits=waits,
        now=100.0,
        seconds=61.0,
        seconds_left=240.0,
        in_flight=12,
        most_calls=50,
        usage=Usage(calls=1_234, prompt_tokens=400_000, completion_tokens=12_345, cost_usd=0.12),
        concluded=86,
        total=940,
        messages=messages,
    )


def test_a_scenario_is_a_line_with_what_it_can_need_its_misses_its_interval_and_its_bar() -> None:
    lines = frame(view(scenario()), Terminal(width=80), 24)

    assert " ".join(lines[2].split()) == "→ Bot explains ━━━····· 42/86 2 of ≤5 95.2% [83.8%, 99.4%] ≥ 90%"


@pytest.mark.parametrize("width", [40, 50, 60])
def test_where_the_columns_do_not_fit_the_title_has_their_room(width: int) -> None:
    _, head, line, *_ = frame(view(scenario("Bot takes a bicycle back")), Terminal(width=width), 24)

    assert line.split() == ["→", "Bot", "takes", "a", "bicycle", "back", "42/86"]
    assert "misses" not in head


@pytest.mark.parametrize(
    ("outcome", "said"),
    [("pass", "✓ PASS"), ("fail", "✗ FAIL"), ("inconclusive", "? INCONCLUSIVE"), ("error", "! ERROR")],
)
def test_a_scenario_that_has_ended_shows_its_verdict(outcome: Outcome, said: str) -> None:
    line = frame(view(scenario(outcome=outcome)), Terminal(width=80), 24)[2]

    sign, word = said.split()
    assert line.startswith(sign)
    assert f"{word} at 42" in line


def test_the_foot_says_what_is_under_way_spent_and_left() -> None:
    lines = frame(view(scenario()), Terminal(width=80), 24)

    assert lines[-3:] == [
        "86 of ≤ 940 trials, 12 under way, 61 s, at most 4 min to go",
        "1,234 calls, $0.12, 412 k tokens",
        "no answer is waited for",
    ]


def test_the_foot_names_what_each_model_and_the_oldest_call_wait_for() -> None:
    waits = (
        Wait("the app", "turn 2", "answer", 59.0),
        Wait(MODEL, "judge", "answer", 98.0),
        Wait(MODEL, "judge", "line", 99.0),
        Wait(MODEL, "user", "refused", 99.0, until=104.0),
        Wait(MODEL, "user", "refused", 99.0, until=112.0),
        Wait(MODEL, "user", "retry", 99.0, until=101.0),
    )

    lines = frame(view(scenario(), waits=waits), Terminal(width=120), 24)

    assert lines[-2:] == [
        f"{MODEL}: 1 of 50 calls under way; 1 in line; 2 refused (429), go on in 4 to 12 s; 1 failed, goes on in 1 s",
        "oldest call: the app, turn 2, no answer for 41 s",
    ]


def test_of_more_scenarios_than_lines_those_under_way_stay_and_the_rest_is_counted() -> None:
    ended = [scenario(f"ended {n}", outcome="pass") for n in range(20)]
    going = [scenario(f"going {n}") for n in range(9)]
    coming = [scenario(f"coming {n}", needed=0) for n in range(20)]

    lines = frame(view(*ended, *going, *coming), Terminal(width=80), 24)

    shown = [line.split()[1] for line in lines if "going" in line or "ended " in line or "coming" in line]
    assert len(lines) == 24
    assert shown.count("going") == 9
    assert "  … 32 more: 12 ended, 20 not begun" in lines


@pytest.mark.parametrize(("columns", "rows"), SIZES)
@pytest.mark.parametrize("scenarios", [0, 1, 300])
def test_no_frame_is_wider_or_longer_than_the_screen(columns: int, rows: int, scenarios: int) -> None:
    standings = [scenario(f"{HOSTILE[n % 4]} {n}", needed=[0, 86, 100_000][n % 3]) for n in range(scenarios)]
    waits = tuple(Wait(f"{MODEL}-{n}-{'x' * 80}", "judge", "answer", 1.0) for n in range(9))

    lines = frame(view(*standings, waits=waits, messages=tuple(HOSTILE)), Terminal(width=columns, colour=True), rows)

    assert len(lines) <= rows
    assert all(cells(line) <= columns for line in lines)
    assert not any(control in line.replace("\x1b[", "") for line in lines for control in "\x1b\x07\n\r")


def test_messages_give_way_before_scenarios_do() -> None:
    lines = frame(view(scenario(), messages=("one", "two", "three", "four")), Terminal(width=80), 9)

    assert any("Bot explains" in line for line in lines)
    assert "four" not in lines
