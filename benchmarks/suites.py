"""The suite that several benchmarks run: users who ask what an app can do."""

from benchmarks.speed.engine import TURNS
from simeval import Expectation, ScenarioTest, SuccessRateEvaluator


def asking_what_it_can(scenarios: int, trials: int, *, bar: float = 0.9) -> list[ScenarioTest]:
    """Return so many scenarios of so many trials, of which a share of `bar` must meet what is expected."""
    then = Expectation(
        expected_behavior="The app lists its functions", evaluator=SuccessRateEvaluator(min_proportion=bar)
    )
    return [
        ScenarioTest(
            title=f"scenario {number}",
            given=f"A new user, number {number}",
            when="The user asks what the app can do",
            sample_size=trials,
            max_turns=TURNS,
            then=then,
        )
        for number in range(scenarios)
    ]
