"""Intervals of an experiment's metrics: as wide as bounds allow, and the same wherever a number is shown."""

import pytest

from simeval import Expectation, MeanEvaluator, ProportionEvaluator, scorer
from simeval.errors import DefinitionError
from simeval.results.experiment import encode_experiment
from simeval.results.html.heads import head_of
from simeval.results.reading import read_document
from simeval.scorers import Alignment, Classification, Persona
from tests.support.experiments import double, engine, sums

pytestmark = pytest.mark.anyio

nearly = scorer(lambda n: 1.0 if n else 0.8, name="nearly", bounds=(0, 1))
points = scorer(lambda n: float(n % 7), name="points")
even = scorer(lambda n: n % 3 == 0, name="even")


async def test_a_bounded_score_has_no_impossible_interval() -> None:
    found = (await engine().evaluate(sums(12), double, scorers=[nearly])).metric("nearly").estimate

    assert found.value is not None
    assert found.value == pytest.approx(0.98333, abs=1e-4)
    assert found.interval is not None
    assert found.interval[0] > 0.7
    assert found.value < found.interval[1] <= 1
    assert found.method == "Gaffke, 0 to 1"


async def test_a_number_has_one_interval_wherever_it_is_shown() -> None:
    then = [
        Expectation(scorer="points", evaluator=MeanEvaluator(at_least=2, bounds=(0, 6))),
        Expectation(scorer="even", evaluator=ProportionEvaluator(threshold=1, min_proportion=0.2)),
    ]

    for level in (0.05, 0.01):
        result = await engine(significance_level=level).evaluate(sums(30), double, scorers=[points, even], then=then)
        concluded = [verdict.confidence_interval for verdict in result.verdicts]

        assert [metric.estimate.interval for metric in result.metrics] == concluded
        assert f"{100 - 200 * level:g}% interval" in str(result)


@pytest.mark.parametrize("level", [0.05, 0.01])
async def test_what_a_scorer_says_of_the_whole_has_the_interval_of_the_metric(level: float) -> None:
    spam = Classification(column_map={"reference": "answer"})
    voice = Alignment(persona=Persona(id="a", preferred=["a", "b"]), encoder="hashed", weights={"authenticity": 1})

    def nearly_right(n: int) -> str:
        return str(2 * n) if n % 3 else "a"

    result = await engine(significance_level=level).evaluate(sums(9), nearly_right, scorers=[spam, voice])

    of_the_whole = result.summaries["Alignment"]["alignment"], result.summaries["Classification"]["accuracy"]
    metrics = result.metric("Alignment.alignment").estimate, result.metric("Classification.correct").estimate
    assert [each.interval for each in of_the_whole] == [each.interval for each in metrics]
    assert [each.value for each in of_the_whole] == [each.value for each in metrics] == [0.5 * 3 / 9, 6 / 9]


async def test_bounds_that_are_none_are_refused_before_the_run() -> None:
    with pytest.raises(DefinitionError, match=r"scorer bad: bounds: found \(1, 0\); give the smallest and the largest"):
        scorer(lambda output: 1, name="bad", bounds=(1, 0))


@pytest.mark.parametrize(("alpha", "said"), [(0.05, "90% interval"), (0.01, "98% interval")])
async def test_a_report_says_the_level_of_its_intervals(alpha: float, said: str) -> None:
    result = await engine(significance_level=alpha).evaluate(sums(12), double, scorers=[points])

    assert head_of(result.document()).interval == said
    assert said in str(result)


async def test_intervals_of_an_older_result_have_the_level_of_then() -> None:
    document = encode_experiment(await engine().evaluate(sums(12), double, scorers=[points]), version="1")
    del document["significance_level"]

    assert head_of(read_document(document)).interval == "95% interval"
