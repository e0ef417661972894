"""What a run may spend, and when it stops."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.core.run_records import Usage
from simeval.core.settings import Settings
from simeval.engine.plans.cost_forecast import Cost, Spending, show_dollars
from simeval.errors import DefinitionError

TRIAL = Cost(calls=11, tokens=1_000, cost_usd=0.05)
RUBRIC = Cost(calls=1, tokens=500, cost_usd=0.01)
CONTROL = Cost(calls=1, tokens=300, cost_usd=0.01)
MOST_STEPS = 100_000


def spending(
    budget: Settings,
    usage: Mapping[str, Usage] | None = None,
    *,
    trial: Cost = TRIAL,
    rubrics_left: Callable[[], int] = lambda: 0,
    controls_left: Callable[[], int] = lambda: 0,
    seconds: float = 0.0,
) -> Spending:
    return Spending(
        budget=budget,
        trial=trial,
        rubric=RUBRIC,
        rubrics_left=rubrics_left,
        control=CONTROL,
        controls_left=controls_left,
        usage=lambda: usage or {},
        seconds=lambda: seconds,
    )


@dataclass(slots=True)
class Run:
    """A run as the dealer sees it: trials in flight make their calls in any order, each up to what it takes."""

    budget: Settings
    bound: Cost
    draw: Callable[[], Cost]
    random: Random
    concurrency: int
    work: int
    rubrics: int = 0
    finished: int = 0
    reason: str = ""
    used: dict[str, Usage] = field(default_factory=lambda: {"user": Usage(cost_usd=0.0)})

    def play(self) -> None:
        asked = Spending(
            budget=self.budget,
            trial=self.bound,
            rubric=RUBRIC,
            rubrics_left=lambda: self.rubrics,
            control=Cost(),
            controls_left=lambda: 0,
            usage=lambda: self.used,
            seconds=lambda: 0.0,
        )
        flying: list[list[Cost]] = []
        for _ in range(MOST_STEPS):
            answer = "wait"
            if self.work and len(flying) < self.concurrency:
                answer = asked.admits(in_flight=len(flying), finished=self.finished)
            if answer == "go":
                self.work -= 1
                flying.append(self._calls())
            elif answer != "wait":
                self.reason = answer
                return
            elif flying:
                self._go_on(flying)
            else:
                return
            if self.rubrics and self.random.random() < 0.2:
                self.rubrics -= 1
                self.used["rubric"] = self.used.get("rubric", Usage()) + Usage(calls=1, prompt_tokens=500)
        raise AssertionError("the run does not end")

    def _calls(self) -> list[Cost]:
        trial = self.draw()
        return [trial * (1 / trial.calls)] * int(trial.calls)

    def _go_on(self, flying: list[list[Cost]]) -> None:
        trial = self.random.choice(flying)
        call = trial.pop()
        self.used["user"] += Usage(calls=1, prompt_tokens=round(call.tokens), cost_usd=call.cost_usd)
        if not trial:
            flying.remove(trial)
            self.finished += 1


@given(
    limit=st.integers(60, 2_000),
    bound=st.integers(1, 40),
    concurrency=st.integers(1, 50),
    rubrics=st.integers(0, 20),
    seed=st.integers(0, 10**6),
)
def test_a_run_without_retries_never_exceeds_its_calls_and_leaves_less_than_one_trial_of_them(
    limit: int, bound: int, concurrency: int, rubrics: int, seed: int
) -> None:
    random = Random(seed)
    run = Run(
        Settings(max_calls=limit),
        Cost(calls=bound),
        lambda: Cost(calls=random.randint(1, bound)),
        random,
        concurrency,
        work=10**6,
        rubrics=rubrics,
    )

    run.play()

    used = sum(usage.calls for usage in run.used.values()) + run.rubrics
    assert limit - bound < used <= limit
    assert run.reason.startswith("max_calls of ")


@given(st.integers(1, 50), st.integers(0, 300), st.integers(0, 10**6))
def test_a_run_that_fits_is_never_stopped(concurrency: int, work: int, seed: int) -> None:
    random = Random(seed)
    draw = lambda: Cost(calls=random.randint(1, 11), tokens=random.uniform(0, 2_000))  # noqa: E731
    budget = Settings(max_calls=11 * work + 11, max_tokens=10_000 * (work + 1), max_seconds=1.0)
    run = Run(budget, TRIAL, draw, random, concurrency, work)

    run.play()

    assert (run.finished, run.reason) == (work, "")


@given(st.integers(1, 50), st.floats(0.2, 5.0), st.integers(0, 10**6))
def test_the_cost_exceeds_its_limit_by_little_and_leaves_little_whatever_was_forecast(
    concurrency: int, forecast_is_off_by: float, seed: int
) -> None:
    random = Random(seed)
    draw = lambda: Cost(calls=random.randint(2, 11), cost_usd=random.uniform(0.5, 1.5))  # noqa: E731
    bound = Cost(calls=11, cost_usd=forecast_is_off_by)
    run = Run(Settings(max_cost_usd=300.0), bound, draw, random, concurrency, work=10**6)

    run.play()

    spent = run.used["user"].cost_usd or 0.0
    assert 300 - 2 < spent < 300 + 2


def test_the_reason_says_what_is_spent_and_what_the_next_trial_may_take() -> None:
    used = {"user": Usage(calls=90), "judge": Usage(calls=3, ended_calls=3)}

    answer = spending(Settings(max_calls=100), used).admits(in_flight=0, finished=9)

    assert answer == "max_calls of 100 is reached (96 spent; the next trial may take 11)"


@pytest.mark.parametrize(
    ("budget", "used", "said"),
    [
        (
            Settings(max_tokens=10_000),
            Usage(prompt_tokens=8_000, completion_tokens=1_000),
            "max_tokens of 10,000 is reached (9,000 spent; the next trial may take 1,125)",
        ),
        (
            Settings(max_cost_usd=1.0),
            Usage(cost_usd=0.96),
            "max_cost_usd of $1.00 is reached ($0.96 spent; the next trial may take $0.12)",
        ),
    ],
)
def test_tokens_and_cost_of_the_next_trial_are_the_mean_so_far_and_a_quarter(
    budget: Settings, used: Usage, said: str
) -> None:
    assert spending(budget, {"user": used}).admits(in_flight=0, finished=10) == said


def test_before_a_trial_has_ended_it_is_the_forecast_that_counts() -> None:
    asked = spending(Settings(max_tokens=10_000))

    answers = [asked.admits(in_flight=in_flight, finished=0) for in_flight in range(11)]

    assert answers == ["go"] * 10 + ["wait"]


def test_what_rubrics_took_is_not_in_the_mean_of_trials() -> None:
    used = {"rubric": Usage(prompt_tokens=8_000), "user": Usage(prompt_tokens=1_000)}

    assert spending(Settings(max_tokens=10_000), used).admits(in_flight=0, finished=10) == "go"


def test_calls_are_kept_for_rubrics_that_are_still_to_be_written() -> None:
    left = [15]
    asked = spending(Settings(max_calls=25), rubrics_left=lambda: left[0])

    before = asked.admits(in_flight=0, finished=0)
    left[0] = 14
    after = asked.admits(in_flight=0, finished=0)

    assert (
        before == "max_calls of 25 is reached (0 spent, 15 kept for rubrics and controls; the next trial may take 11)"
    )
    assert after == "go"


def test_calls_are_kept_for_controls_that_are_still_to_be_shown() -> None:
    left = [3]
    asked = spending(Settings(max_calls=14), rubrics_left=lambda: 1, controls_left=lambda: left[0])

    before = asked.admits(in_flight=0, finished=0)
    left[0] = 2

    assert before == "max_calls of 14 is reached (0 spent, 4 kept for rubrics and controls; the next trial may take 11)"
    assert asked.admits(in_flight=0, finished=0) == "go"


def test_no_trial_waits_for_time_that_is_over() -> None:
    answer = spending(Settings(max_seconds=60), seconds=60.4).admits(in_flight=3, finished=2)

    assert answer == "max_seconds of 60 is reached (60 spent)"


def test_no_budget_admits_everything() -> None:
    used = {"user": Usage(calls=10**9, cost_usd=1e9)}

    assert spending(Settings(), used, seconds=1e9).admits(in_flight=50, finished=1) == "go"


@pytest.mark.parametrize(
    ("budget", "rubrics", "said"),
    [
        (Settings(max_calls=10), 0, "max_calls: 10 cannot pay one trial, which may take 11; "),
        (Settings(max_calls=12), 2, "max_calls: 12 cannot pay one trial, which may take 11 after rubrics and controls"),
        (Settings(max_tokens=999), 0, "max_tokens: 999 cannot pay one trial, which may take 1,000; "),
        (Settings(max_cost_usd=0.04), 0, r"max_cost_usd: \$0.0400 cannot pay one trial, which may take \$0.0500; "),
    ],
)
def test_a_budget_that_cannot_pay_one_trial_is_refused_before_any_call(
    budget: Settings, rubrics: int, said: str
) -> None:
    with pytest.raises(DefinitionError, match=said):
        spending(budget, rubrics_left=lambda: rubrics).check()


def test_a_budget_that_is_spent_already_is_not_refused_because_nothing_may_be_left_to_pay() -> None:
    asked = spending(Settings(max_calls=13), {"user": Usage(calls=13)}, rubrics_left=lambda: 2)

    asked.check()

    assert asked.admits(in_flight=0, finished=1) != "go"


def test_a_limit_on_the_cost_is_refused_where_a_price_is_not_known() -> None:
    with pytest.raises(DefinitionError, match="max_cost_usd: no price is known for a/b, c/d; use max_calls or"):
        spending(Settings(max_cost_usd=100.0)).check(["a/b", "c/d"])

    spending(Settings(max_calls=100)).check(["a/b", "c/d"])


def test_a_budget_is_set_where_it_has_any_limit() -> None:
    assert not Settings().has_budget
    limited = [Settings(max_calls=1), Settings(max_tokens=1), Settings(max_cost_usd=1), Settings(max_seconds=1)]
    assert all(each.has_budget for each in limited)


@pytest.mark.parametrize(
    ("amount", "shown"), [(0, "$0.00"), (0.00421, "$0.0042"), (0.41, "$0.41"), (4.1, "$4.10"), (1234.5, "$1,234.50")]
)
def test_dollars(amount: float, shown: str) -> None:
    assert show_dollars(amount) == shown
