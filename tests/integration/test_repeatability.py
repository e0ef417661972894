"""How far conversations come to the same, where requirements of one scenario end at different trials."""

from typing import Any

import pytest

from simeval import Expectation, ProportionEvaluator, Score
from tests.support.early_stopping import SeededApp, engine, is_good, is_said, scenario

pytestmark = pytest.mark.anyio


async def test_conversations_after_one_requirement_is_settled_do_not_count_as_bad_ones_alone() -> None:
    said = Expectation(scorer=is_said, evaluator=ProportionEvaluator(min_proportion=0.5), label="said")
    good = Expectation(scorer=is_good, evaluator=ProportionEvaluator(min_proportion=0.8), label="good")
    suite = [scenario(said, good, title=title) for title in ("a", "b")]

    result = await engine(stop="verdict").evaluate(suite, SeededApp(0.9))

    settled = [each.verdicts[0].n for each in result]
    assert all(n < each.trials for n, each in zip(settled, result, strict=True))
    both = [
        [found.value for found in each.expectations[1].results[:n] if isinstance(found, Score)]
        for each, n in zip(result, settled, strict=True)
    ]
    found = result.repeatability
    assert found is not None
    assert (found.always, found.sometimes) == (
        sum(min(each) > 0 for each in both),
        sum(min(each) == 0 for each in both),
    )
    assert found.agreement == pytest.approx(sum(map(same, both)) / 2)


@pytest.mark.parametrize(("on_app_error", "always"), [("fail", 0), ("exclude", 2)])
async def test_failures_of_the_app_that_are_left_out_do_not_count(on_app_error: str, always: int) -> None:
    async def breaking(message: str, state: dict[str, Any]) -> str:
        if int(message) % 5 == 0:
            raise ValueError("no")
        return "good"

    made = engine(on_app_error=on_app_error, early_stopping=False, max_error_rate=1.0)
    result = await made.evaluate([scenario(title=title) for title in ("a", "b")], breaking)

    assert result.repeatability is not None
    assert result.repeatability.always == always


async def test_nothing_is_said_of_an_app_that_never_answered() -> None:
    def broken(message: str) -> str:
        raise ValueError("no")

    result = await engine().evaluate([scenario(title=title) for title in ("a", "b")], broken)

    assert result.outcome == "error"
    assert result.repeatability is None


def same(values: list[float]) -> float:
    """Return how many pairs of these are alike."""
    pairs = [(one, other) for place, one in enumerate(values) for other in values[:place]]
    return sum(one == other for one, other in pairs) / len(pairs)
