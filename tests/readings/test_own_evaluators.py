"""An evaluator of one's own is shown by the methods that decide."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from simeval import Expectation, MeanEvaluator, ProportionEvaluator, QuantileEvaluator, ScenarioTest, scorer
from simeval.core.trial import Score
from simeval.errors import DefinitionError
from simeval.evaluators import Evaluator
from simeval.results.html.charts import histogram
from simeval.results.html.trials import required_of
from simeval.results.reading import read_document
from simeval.results.screen.report import chosen, has_failed
from simeval.results.suite import encode_suite
from tests.support.experiments import engine

pytestmark = pytest.mark.anyio


@dataclass(frozen=True)
class Between(ProportionEvaluator):
    """Requires scores within limits."""

    low: float = 1.0
    high: float = 2.0

    def check(self) -> None:
        super().check()
        if self.low > self.high:
            raise DefinitionError("Between", found="low above high", do="exchange them")

    def meets(self, value: Any) -> Any:
        return (value >= self.low) & (value <= self.high)

    def describe(self) -> str:
        return f"score from {self.low:g} to {self.high:g} {self.share_in_words()}"


class Lengths:
    """An app whose answers have these lengths, one after the other."""

    def __init__(self, *lengths: int) -> None:
        self.lengths = [*lengths]

    async def __call__(self, message: str) -> str:
        return "x" * self.lengths.pop(0)


@scorer(direction="higher")
def length(output: str) -> int:
    return len(output)


def told(*lengths: int, evaluator: ProportionEvaluator | None = None) -> Any:
    scenario = ScenarioTest(
        title="Brief",
        given="A customer.",
        when="You ask.",
        sample_size=len(lengths),
        max_turns=1,
        then=Expectation(scorer=length, evaluator=evaluator or Between(min_proportion=0.7)),
    )
    return engine(early_stopping=False, concurrency=1).evaluate(scenario, Lengths(*lengths))


async def test_what_is_above_the_limits_misses_and_the_report_says_the_limits() -> None:
    result = await told(*[5] * 12)

    assert result.outcome == "fail"
    report = str(result)
    assert "length (score from 1 to 2 in at least 70% of conversations) in 0 of 12 conversations" in report
    assert "≥ 1" not in report


async def test_what_is_within_the_limits_passes() -> None:
    result = await told(*[1, 2] * 10)

    assert result.outcome == "pass"
    assert "in 20 of 20 conversations" in str(result)


async def test_the_conversations_that_miss_it_are_the_ones_that_are_shown_as_such() -> None:
    result = await told(*[1] * 9, 5, 5, 1)

    shown = result.document()
    assert shown.expectations[0].worst in (9, 10)
    assert [index for index, trial in shown.by_index().items() if has_failed(shown, trial)] == [9, 10]


async def test_a_stored_result_and_its_chart_tell_the_conversations_that_miss_it_too() -> None:
    result = await told(*[1] * 9, 5, 5, 1)

    page: Any = read_document(json.loads(json.dumps(encode_suite([result], result.run, version="1"))))
    [expectation] = page.scenarios[0].expectations
    [required] = required_of(["length"], [expectation])
    assert [trial.trial.index for _, trial in chosen(page, trial=None, failed=True, title=None)] == [9, 10]
    assert [required.state(Score(value=value)) for value in (1, 5)] == ["met", "missed"]
    chart = str(histogram(expectation.scores, expectation.verdicts[0].is_met_by, label="length"))
    assert chart.count("'class': 'missed'") == 1


@pytest.mark.parametrize("kind", [ProportionEvaluator, QuantileEvaluator, MeanEvaluator])
def test_one_that_decides_otherwise_says_so_itself(kind: type[Evaluator]) -> None:
    class Silent(kind):  # type: ignore[misc,valid-type]
        def meets(self, value: Any) -> Any:
            return value != 3

    options: dict[str, Any] = {"min_proportion": 0.9} if kind is ProportionEvaluator else {"at_least": 0.5}
    with pytest.raises(DefinitionError, match=r"a meets\(\) of its own, and no describe\(\); define describe\(\)"):
        Silent(**options)


def test_six_methods_make_an_evaluator() -> None:
    assert len(Evaluator.__abstractmethods__) <= 6
