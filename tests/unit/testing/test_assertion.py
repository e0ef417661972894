"""One answer held against a bar in a plain test."""

from typing import Any

import pytest

from simeval.errors import DefinitionError
from simeval.extras.local.classifiers.sentiment import SentimentMatch, SentimentScorer
from simeval.scorers.base import scorer
from simeval.scorers.text.formats import ValidJSON
from simeval.scorers.text.similarity import ExactMatch, RegexMatch, RougeL
from simeval.testing import assert_result
from tests.support.classifiers import Written, leaning


def test_a_good_answer_gives_what_was_measured() -> None:
    assert assert_result(ExactMatch(), output="a", reference="a") is True
    assert assert_result(RougeL(), output="a b", reference="a b", at_least=0.3)["recall"] == 1.0
    assert assert_result(lambda output: len(output), output="abc", at_most=3) == 3


def test_a_check_of_sentiment_is_a_yes_or_no() -> None:
    by = SentimentScorer(Written({"fine": leaning(0.62), "bad": leaning(-0.9)}))
    check = SentimentMatch(by=by, expected=0.65, uncertainty=0.05)

    assert assert_result(check, output="fine")["sentiment_result"] == "pass"
    with pytest.raises(AssertionError, match=r"SentimentMatch\.passed is no, required: yes"):
        assert_result(check, output="bad")


def test_what_fails_says_by_how_much_and_why() -> None:
    with pytest.raises(AssertionError, match=r"RougeL\.f1 is 0, required: at least 0\.3"):
        assert_result(RougeL(), output="a", reference="b", at_least=0.3)
    with pytest.raises(AssertionError, match=r"ValidJSON\.valid is no, required: yes \(Expecting property name"):
        assert_result(ValidJSON(), output="{")


def test_another_value_is_named_by_its_path() -> None:
    with pytest.raises(AssertionError, match=r"RougeL\.recall is 0\.5"):
        assert_result(RougeL(), output="a", reference="a b", score="recall", at_least=0.6, at_most=1)


def test_a_yes_is_not_good_where_lower_is_better() -> None:
    assert assert_result(RegexMatch("sorry", direction="lower"), output="fine") is False
    with pytest.raises(AssertionError, match="is yes, required: no"):
        assert_result(RegexMatch("sorry", direction="lower"), output="sorry")


def test_a_number_needs_a_bar_and_a_path_has_to_lead_to_one() -> None:
    with pytest.raises(DefinitionError, match="give at_least or at_most"):
        assert_result(RougeL(), output="a", reference="a")
    with pytest.raises(DefinitionError, match="'recall'\\); set score to one of them"):
        assert_result(RougeL(), output="a", reference="a", score="nothing", at_least=0.1)


@pytest.mark.parametrize(
    "bars", [{"at_least": "3"}, {"at_least": float("nan")}, {"at_most": True}, {"at_least": 5, "at_most": 2}]
)
def test_a_bar_that_no_number_can_meet_is_refused_before_anything_is_measured(bars: dict[str, Any]) -> None:
    measured: list[str] = []

    with pytest.raises(DefinitionError, match="assert_result"):
        assert_result(lambda output: measured.append(output), output="abc", **bars)
    assert not measured


def test_what_cannot_be_measured_is_no_failed_assertion() -> None:
    with pytest.raises(DefinitionError, match="reference"):
        assert_result(ExactMatch(), output="a")


@pytest.mark.anyio
async def test_in_an_event_loop_it_says_what_to_write() -> None:
    with pytest.raises(DefinitionError, match=r"await scorer\.measure"):
        assert_result(scorer(lambda output: True), output="a")
