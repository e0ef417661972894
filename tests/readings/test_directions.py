"""A bar lies on the side on which its metric is better, and never on the other."""

from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simeval import (
    Engine,
    Expectation,
    MeanEvaluator,
    ProportionEvaluator,
    QuantileEvaluator,
    ScenarioTest,
    scorer,
)
from simeval.cli.score import _expectation, _median, _share
from simeval.errors import DefinitionError
from simeval.evaluators import PassHatKEvaluator
from simeval.results.document import Requirement
from simeval.scorers import (
    EachTurn,
    LevenshteinSimilarity,
    Readability,
    response_latency,
    time_to_first_token,
    turns_within,
)
from simeval.suites import Step, load_suite
from tests.support.experiments import engine

pytestmark = pytest.mark.anyio

SUITE = """
scenarios:
- title: Quick
  given: A customer.
  when: You ask for a price.
  sample_size: 12
  then:
    scorer: response_latency
    evaluator: {{type: proportion, {evaluator}}}
"""


def suite_of(tmp_path: Path, evaluator: str) -> Any:
    path = tmp_path / "suite.yaml"
    path.write_text(SUITE.format(evaluator=evaluator), encoding="utf-8")
    return load_suite(str(path))


@pytest.mark.parametrize("threshold", [2, 1, 0.5])
async def test_a_latency_is_asked_to_be_at_most_the_threshold(tmp_path: Path, threshold: float) -> None:
    [quick] = suite_of(tmp_path, f"threshold: {threshold}, min_proportion: 0.7")

    result = await engine().evaluate(quick, lambda message: "20 euros.")

    assert result.outcome == "pass"
    assert result.expectations[0].verdicts[0].evaluator == f"score ≤ {threshold:g} in at least 70% of conversations"


def test_the_side_follows_the_direction_for_shares_that_are_to_be_small_too() -> None:
    slow = ProportionEvaluator(threshold=2, max_proportion=0.1)
    poor = ProportionEvaluator(threshold=0.5, max_proportion=0.1)

    [latency] = Expectation(scorer=response_latency, evaluator=slow).evaluators
    [similarity] = Expectation(scorer=LevenshteinSimilarity(), evaluator=poor).evaluators

    assert latency.describe() == "score ≥ 2 in at most 10% of conversations"
    assert similarity.describe() == "score ≤ 0.5 in at most 10% of conversations"
    assert (latency.meets(1.0), similarity.meets(0.9)) == (True, True)


def test_what_has_no_direction_counts_from_the_threshold_up() -> None:
    [words] = Expectation(scorer=lambda output: len(output.split()), evaluator=ProportionEvaluator(20, 0.9)).evaluators

    assert words.describe() == "score ≥ 20 in at least 90% of conversations"


@pytest.mark.parametrize("evaluator", ["threshold: 800, min_proportion: 0.9", "max_proportion: 0.1"])
@pytest.mark.parametrize("metric", ["response_length", "turn_count", "total_response_length"])
def test_a_metric_that_is_good_low_or_high_asks_for_the_side(tmp_path: Path, metric: str, evaluator: str) -> None:
    path = tmp_path / "suite.yaml"
    text = SUITE.format(evaluator=evaluator).replace("response_latency", metric)
    path.write_text(text, encoding="utf-8")

    with pytest.raises(DefinitionError, match=rf"suite\.yaml, line .*a low or a high {metric} .* or at_least: true"):
        load_suite(str(path))

    path.write_text(text.replace("proportion,", "proportion, at_least: false,"), encoding="utf-8")
    assert load_suite(str(path))


@scorer(direction={"slips": "lower", "hits": "higher"})
def counted(output: str) -> dict[str, int]:
    return {"slips": 0, "hits": 1}


@pytest.mark.parametrize(("number", "sign"), [("slips", "≤"), ("hits", "≥")])
def test_a_direction_of_ones_own_counts_by_the_path_of_the_number(number: str, sign: str) -> None:
    [made] = Expectation(scorer=counted, score=number, evaluator=ProportionEvaluator(3, 0.9)).evaluators

    assert made.describe() == f"score {sign} 3 in at least 90% of conversations"


AGAINST = [
    (response_latency, None, ProportionEvaluator(2, 0.9, at_least=True), "leave at_least out"),
    (response_latency, None, ProportionEvaluator(2, max_proportion=0.1, at_least=False), "leave at_least out"),
    (LevenshteinSimilarity(), None, ProportionEvaluator(0.5, 0.9, at_least=False), "leave at_least out"),
    (response_latency, None, QuantileEvaluator(at_least=2), "use at_most"),
    (response_latency, None, MeanEvaluator(at_least=2, bounds=(0, 60)), "use at_most"),
    (Readability(), None, QuantileEvaluator(at_most=60), "use at_least"),
    (EachTurn(LevenshteinSimilarity()), "similarity.min", QuantileEvaluator(at_most=0.5), "use at_least"),
    (response_latency, None, PassHatKEvaluator(3, 0.9, threshold=2), "use proportion"),
]


@pytest.mark.parametrize(("measured", "path", "evaluator", "do"), AGAINST)
def test_the_wrong_side_is_refused_and_the_right_one_named(measured: Any, path: Any, evaluator: Any, do: str) -> None:
    with pytest.raises(DefinitionError, match=f"is better when it is (lower|higher), and this asks for .*; .*{do}"):
        Expectation(scorer=measured, score=path, evaluator=evaluator)


def test_the_wrong_side_is_refused_in_a_file_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match=r"suite\.yaml, line 9.*asks for 2 or more; leave at_least out"):
        suite_of(tmp_path, "threshold: 2, min_proportion: 0.9, at_least: true")


LATE = [
    (response_latency, ProportionEvaluator(90, 0.9)),
    (response_latency, ProportionEvaluator(90, max_proportion=0.1)),
    (time_to_first_token, QuantileEvaluator(at_most=60)),
    (response_latency, MeanEvaluator(at_most=70, bounds=(0, 100))),
    (turns_within(response_latency, 60), ProportionEvaluator(0.5, 0.9)),
]


@pytest.mark.parametrize(("measured", "evaluator"), LATE)
async def test_a_bar_that_no_answer_in_time_can_miss_is_refused(measured: Any, evaluator: Any) -> None:
    late = ScenarioTest(
        title="Late",
        given="A customer.",
        when="You ask.",
        sample_size=20,
        then=Expectation(scorer=measured, evaluator=evaluator),
    )

    with pytest.raises(DefinitionError, match=r"within the app's time-out of 60 seconds meets it .*--app-timeout"):
        await Engine(store=None, app_timeout_seconds=60).evaluate(late, lambda message: "20 euros.")


def test_a_median_on_the_command_line_is_at_most_the_bar_where_lower_is_better() -> None:
    quick = _expectation("response_latency=2", [response_latency], _median, "--median")
    like = _expectation("LevenshteinSimilarity=0.5", [LevenshteinSimilarity()], _median, "--median")

    assert quick.evaluators[0].describe() == "median at most 2"
    assert like.evaluators[0].describe() == "median at least 0.5"
    with pytest.raises(DefinitionError, match="lower"):
        _expectation("LevenshteinSimilarity.distance=0.9", [LevenshteinSimilarity()], _share, "--share")


@scorer
def _slips(output: str) -> int:
    return output.count("!")


@pytest.mark.parametrize(
    "evaluator",
    [
        ProportionEvaluator(threshold=0, at_least=False, min_proportion=0.8),
        ProportionEvaluator(threshold=1, max_proportion=0.1),
        QuantileEvaluator(0.9, at_most=0),
        MeanEvaluator(at_most=1, bounds=(0, 3)),
    ],
)
async def test_a_bar_from_above_takes_the_turn_with_the_most(evaluator: Any) -> None:
    for measured in (EachTurn(_slips), EachTurn(_slips, direction="lower")):
        then = Expectation(scorer=measured, evaluator=evaluator)
        script = [Step(user="a"), Step(user="b")]
        test = ScenarioTest(title="t", given="g", when="w", script=script, sample_size=40, then=then)

        result = await engine().evaluate(test, lambda message: "!!!" if message == "a" else "Yes.")

        assert (result.outcome, result.expectations[0].scores[0]) == ("fail", 3)


def test_turns_that_one_bar_asks_to_be_low_and_another_high_are_refused() -> None:
    bars = [QuantileEvaluator(at_least=2), QuantileEvaluator(at_most=5)]

    with pytest.raises(DefinitionError, match="score: max and score: min"):
        Expectation(scorer=EachTurn(_slips), evaluator=bars)


def test_a_direction_of_each_turn_itself_says_which_turn_is_the_worst() -> None:
    assert EachTurn(_slips, direction="lower").default_score == "max"
    assert EachTurn(_slips).default_score == "min"


@pytest.mark.parametrize("score", [float(np.float32(0.9)), 0.3 + 0.3 + 0.3, np.float32(0.9), 0.9 - 1e-7])
@pytest.mark.parametrize("evaluator", [ProportionEvaluator(0.9, 0.8), QuantileEvaluator(at_least=0.9)])
def test_a_score_that_is_shown_as_the_bar_is_at_the_bar(score: float, evaluator: Any) -> None:
    bar = Requirement.of("x", evaluator, evaluator.evaluate([score] * 30), [score])

    assert (bar.outcome, bar.is_met_by(float(score))) == ("pass", True)


@pytest.mark.parametrize("score", [0.9 - 1e-6, 0.8999, 0.0])
def test_a_score_that_is_shown_below_the_bar_misses_it(score: float) -> None:
    assert not ProportionEvaluator(0.9, 0.8).meets(score)
    assert ProportionEvaluator(0.9, max_proportion=0.2).meets(score)
    assert not QuantileEvaluator(at_least=0.9).meets(score)


@pytest.mark.parametrize(
    ("score", "evaluator"),
    [
        (inf, ProportionEvaluator(0.8, 0.9)),
        (-inf, ProportionEvaluator(0.8, 0.9, at_least=False)),
        (-inf, ProportionEvaluator(0.8, max_proportion=0.1)),
        (inf, QuantileEvaluator(at_least=3)),
    ],
)
async def test_a_score_without_an_end_proves_nothing_good(score: float, evaluator: Any) -> None:
    then = Expectation(scorer=scorer(lambda output: score if output else 0, name="endless"), evaluator=evaluator)

    result = await engine().evaluate(
        ScenarioTest(title="t", given="g", when="w", script=[Step(user="a")], then=then), lambda message: "Yes."
    )

    assert result.outcome == "error"
    assert "cannot take" in str(result)
