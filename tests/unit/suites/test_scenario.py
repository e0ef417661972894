"""Scenarios and expectations."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.errors import DefinitionError
from simeval.evaluators.scores import (
    ProportionEvaluator,
    QuantileEvaluator,
    RatingAverageEvaluator,
    SuccessRateEvaluator,
)
from simeval.scorers.base import Scorer, scorer
from simeval.scorers.metrics import response_latency
from simeval.scorers.text.similarity import Bleu, Contains, ExactMatch
from simeval.suites.scenario import Expectation, ScenarioTest, shorten

RULE = SuccessRateEvaluator(min_proportion=0.9)
THEN = Expectation(expected_behavior="It answers.", evaluator=RULE)


def scenario(**changes: Any) -> ScenarioTest:
    given: dict[str, Any] = {"title": "A title", "given": "A user", "when": "They ask", "then": THEN}
    return ScenarioTest(**{**given, **changes})


def test_one_expectation_and_one_evaluator_are_as_good_as_lists_of_one() -> None:
    assert scenario().expectations == scenario(then=[THEN]).expectations == (THEN,)
    assert THEN.evaluators == Expectation(expected_behavior="It answers.", evaluator=[RULE]).evaluators == (RULE,)


def test_several_expectations_with_several_evaluators_keep_their_order() -> None:
    rules = (RULE, RatingAverageEvaluator(min_median_rating=8))
    other = Expectation(scorer=my_scorer, evaluator=list(rules))

    assert scenario(then=(THEN, other)).expectations == (THEN, other)
    assert other.evaluators == rules


def test_the_defaults_leave_the_sample_to_the_engine() -> None:
    test = scenario()

    assert (test.sample_size, test.significance_level, test.max_turns) == (None, None, 10)


@pytest.mark.parametrize("field", ["title", "given", "when"])
@pytest.mark.parametrize("value", ["", "  \n", None, 5])
def test_a_text_that_is_empty_is_named(field: str, value: Any) -> None:
    with pytest.raises(DefinitionError, match=rf"^ScenarioTest.{field}: found .*not empty"):
        scenario(**{field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("then", []),
        ("then", None),
        ("then", "It answers."),
        ("then", [THEN, "It answers."]),
        ("sample_size", 0),
        ("sample_size", 2.5),
        ("sample_size", True),
        ("allowed_user_faults", "repeats_itself"),
        ("allowed_user_faults", ["repeats_himself"]),
        ("allowed_user_faults", [5]),
        ("allowed_user_faults", None),
        ("max_turns", 0),
        ("max_turns", None),
        ("significance_level", 0.0),
        ("significance_level", 0.5),
        ("significance_level", "0.05"),
    ],
)
def test_a_field_that_cannot_be_used_is_named_with_the_scenario(field: str, value: Any) -> None:
    with pytest.raises(DefinitionError) as raised:
        scenario(**{field: value})

    assert raised.value.where == f"ScenarioTest 'A title': {field}"


@pytest.mark.parametrize(
    "arguments",
    [
        {"evaluator": RULE},
        {"evaluator": RULE, "expected_behavior": "x", "scorer": response_latency},
        {"evaluator": RULE, "expected_behavior": " "},
        {"evaluator": RULE, "expected_behavior": 5},
        {"evaluator": [], "expected_behavior": "x"},
        {"evaluator": None, "expected_behavior": "x"},
        {"evaluator": "success_rate", "expected_behavior": "x"},
        {"evaluator": [RULE, 0.9], "expected_behavior": "x"},
        {"evaluator": SuccessRateEvaluator, "expected_behavior": "x"},
    ],
)
def test_an_expectation_that_cannot_be_used_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError, match=r"^Expectation"):
        Expectation(**arguments)


def my_scorer(output: str) -> float:
    return float(len(output))


@pytest.mark.parametrize(
    ("expectation", "title"),
    [
        (THEN, "It answers."),
        (Expectation(expected_behavior="It answers.", label="answers", evaluator=RULE), "answers"),
        (
            Expectation(scorer=response_latency, evaluator=ProportionEvaluator(1.0, 0.9, at_least=False)),
            "response_latency",
        ),
        (
            Expectation(scorer=response_latency, score="p90", evaluator=ProportionEvaluator(1.0, 0.9, at_least=False)),
            "response_latency.p90",
        ),
        (Expectation(scorer=my_scorer, evaluator=RULE), "my_scorer"),
        (
            Expectation(expected_behavior="It  is\nlong " + "word " * 30, evaluator=RULE),
            "It is long" + " word" * 9 + "…",
        ),
    ],
)
def test_an_expectation_has_a_title(expectation: Expectation, title: str) -> None:
    assert expectation.title == title


def test_equal_labels_are_numbered() -> None:
    assert scenario(then=[THEN, THEN, THEN]).labels == ("It answers.", "It answers. (2)", "It answers. (3)")


@given(st.lists(st.sampled_from(["a", "b", "a (2)", "a (3)", "a (2) (2)"]), min_size=1, max_size=6))
def test_labels_are_always_distinct(labels: list[str]) -> None:
    then = [Expectation(expected_behavior=label, evaluator=RULE) for label in labels]

    assert len(set(scenario(then=then).labels)) == len(labels)


def test_two_equal_labels_are_refused() -> None:
    twin = Expectation(expected_behavior="x", label="tone", evaluator=RULE)

    with pytest.raises(DefinitionError, match=r"then: there are two expectations with the label 'tone'; give each"):
        scenario(then=[twin, twin])


@given(st.text(), st.integers(2, 80))
def test_a_shortened_text_fits_and_begins_like_the_text(text: str, length: int) -> None:
    short, flat = shorten(text, length), " ".join(text.split())

    assert len(short) <= length
    assert flat.startswith(short.removesuffix("…")) or short == flat


def test_a_text_is_cut_at_a_word_where_that_is_possible() -> None:
    assert shorten("The quick brown fox jumps", 18) == "The quick brown…"
    assert shorten("x" * 30, 10) == "x" * 9 + "…"
    assert shorten("The quick brown fox", 19) == "The quick brown fox"


def test_a_rubric_belongs_to_an_expected_behavior() -> None:
    with pytest.raises(DefinitionError, match="only a rating of an expected_behavior goes by one"):
        Expectation(scorer=response_latency, evaluator=RULE, rubric=["bad", "good"])


def test_secrets_are_taken_out_of_a_rubric() -> None:
    then = Expectation(expected_behavior="It answers.", evaluator=RULE, rubric=["It says hunter2.", "It does not."])

    found = then.cleaned(lambda text: text.replace("hunter2", "***"))

    assert found.levels == {"1": "It says ***.", "10": "It does not."}


def test_controls_that_are_not_to_be_shown_cannot_be_given() -> None:
    with pytest.raises(DefinitionError, match=r"^Expectation.controls: found \['example'\]; leave out either"):
        Expectation(expected_behavior="It answers.", evaluator=RULE, example="Here you are.", controls=False)


@pytest.mark.parametrize("field", ["example", "counterexample"])
def test_examples_are_for_a_judge(field: str) -> None:
    shown: dict[str, Any] = {field: "Here you are."}

    with pytest.raises(DefinitionError, match=f"^Expectation.{field}: .*it is for the judge"):
        Expectation(scorer=response_latency, evaluator=RULE, **shown)


def test_secrets_are_taken_out_of_examples() -> None:
    talk = [{"role": "user", "content": "The password?"}, {"role": "assistant", "content": "It is hunter2."}]
    then = Expectation(expected_behavior="It answers.", evaluator=RULE, counterexample=talk)

    found = then.cleaned(lambda text: text.replace("hunter2", "***")).shown_controls

    assert found is not None
    assert found.counterexample[1].content == "It is ***."


def test_an_evaluator_that_is_given_by_its_name_is_refused_as_it_was_written() -> None:
    evaluator: Any = "success_rate"

    with pytest.raises(
        DefinitionError, match=r"Expectation.evaluator: found 'success_rate'; give an evaluator, such as"
    ):
        Expectation(expected_behavior="It answers.", evaluator=evaluator)


def test_a_metric_has_only_the_paths_it_gives() -> None:
    with pytest.raises(DefinitionError, match=r"response_latency gives no 'sum'; use one of max, median, mean, p90"):
        Expectation(scorer=response_latency, score="sum", evaluator=QuantileEvaluator(quantile=0.9, at_most=1))


@scorer
def is_polite(output: str) -> bool:
    return True


@pytest.mark.parametrize("measured", [is_polite, Contains(texts=["welcome"]), ExactMatch()])
def test_what_is_yes_or_no_has_no_ratings(measured: Scorer) -> None:
    with pytest.raises(DefinitionError, match="is yes or no; use proportion"):
        Expectation(scorer=measured, evaluator=SuccessRateEvaluator(min_proportion=0.9))


def test_what_is_better_lower_is_not_asked_to_be_high() -> None:
    with pytest.raises(DefinitionError, match=r"better when it is lower.*; give a threshold, and at_least: false"):
        Expectation(scorer=response_latency, evaluator=ProportionEvaluator(min_proportion=0.9))


@scorer
def rated(output: str) -> bool | int:
    return 5


def test_what_may_be_a_number_may_have_ratings() -> None:
    assert Expectation(scorer=rated, evaluator=SuccessRateEvaluator(min_proportion=0.9)).title == "rated"


def odd(output: str) -> Any:
    return 5


odd.__annotations__["return"] = ["no type"]  # which no set can hold


def test_a_share_is_a_metric_and_an_odd_annotation_is_none() -> None:
    with pytest.raises(DefinitionError, match="is a metric; use proportion, quantile or mean"):
        Expectation(scorer=Bleu(), evaluator=SuccessRateEvaluator(min_proportion=0.9))
    assert Expectation(scorer=odd, evaluator=SuccessRateEvaluator(min_proportion=0.9)).title == "odd"
