"""A language that the detector is not certain of is not measured, and no failure of the app."""

import pytest

from simeval import Expectation, ProportionEvaluator, ScenarioTest
from simeval.errors import DefinitionError
from simeval.scorers import Language
from tests.support.experiments import engine

pytestmark = pytest.mark.anyio

UNCERTAIN = ["Да, конечно, сейчас.", "Ваш заказ уже в пути.", "Оплата картой возможна", "Привет! Чем помочь?"]


@pytest.mark.parametrize("text", UNCERTAIN)
def test_a_sentence_that_may_be_in_several_languages_has_no_score(text: str) -> None:
    with pytest.raises(ValueError, match=r"the language of the output is not certain \(\w\w, 0\.[0-4]\d\)"):
        Language(expected="ru").score(text)


def test_a_question_whose_language_is_not_certain_is_nothing_to_compare_with() -> None:
    with pytest.raises(ValueError, match="the language of the input is not certain"):
        Language().score("We are open on Saturday from nine to five.", UNCERTAIN[0])


@pytest.mark.parametrize(
    ("options", "text"), [({"among": ("ru", "en")}, UNCERTAIN[0]), ({"min_certainty": 0.3}, "Заказ отменён.")]
)
def test_naming_the_languages_or_a_lower_certainty_measures_it(options: dict[str, object], text: str) -> None:
    assert Language(expected="ru", **options).score(text)["matches"]  # type: ignore[arg-type]


@pytest.mark.parametrize(("text", "matches"), [("Мы открыты с девяти.", True), ("We open at nine on Saturday.", False)])
def test_a_certain_one_is_measured_either_way(text: str, matches: bool) -> None:
    assert Language(expected="ru").score(text)["matches"] is matches


@pytest.mark.parametrize("certainty", [-0.1, 1.0, "0.5", True])
def test_a_certainty_is_a_probability(certainty: object) -> None:
    with pytest.raises(DefinitionError, match="min_certainty"):
        Language(expected="ru", min_certainty=certainty)  # type: ignore[arg-type]


async def test_an_app_that_answers_so_does_not_fail() -> None:
    scenario = ScenarioTest(
        title="Russian",
        given="A customer.",
        when="You ask where your order is.",
        sample_size=12,
        then=Expectation(scorer=Language(expected="ru"), evaluator=ProportionEvaluator(min_proportion=0.9)),
    )

    result = await engine().evaluate(scenario, lambda message: "Ваш заказ уже в пути.")

    assert result.outcome != "fail"
    assert result.expectations[0].scores == ()
