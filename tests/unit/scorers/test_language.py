"""The language of a text; without py3langid these tests are skipped."""

import pytest

from simeval.errors import DefinitionError
from simeval.scorers.text.readability import Language

pytest.importorskip("py3langid", reason="py3langid is not installed: it is in the extra 'language'")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Where can I see what became of my order?", "en"),
        ("Où puis-je voir ce qu'est devenue ma commande ?", "fr"),
        ("Wo kann ich sehen, was aus meiner Bestellung geworden ist?", "de"),
        (
            "注文がどうなったかどこで見られますか",
            "ja",
        ),
        (
            "Где я могу увидеть мой заказ?",
            "ru",
        ),
    ],
)
def test_the_language_of_a_sentence_is_told(text: str, code: str) -> None:
    found = Language(expected=code).score(text)

    assert (found["matches"], found["language"]) == (True, code)
    assert 0.5 < float(str(found["probability"])) <= 1


def test_without_an_expected_language_it_is_that_of_the_input() -> None:
    question = "Wo kann ich sehen, was aus meiner Bestellung geworden ist?"

    assert Language().score("Das sehen Sie in Ihrem Konto unter Bestellungen.", question)["matches"] is True
    assert Language().score("You can see that in your account.", question)["matches"] is False


def test_only_the_languages_that_come_into_question_are_told() -> None:
    assert Language(expected="de", among=["de", "en"]).score("Das ist schon wieder gut")["language"] == "de"


@pytest.mark.parametrize("text", ["", "ok", "12345 67890 12345", "— !!! …"])
def test_a_text_with_few_letters_has_no_language(text: str) -> None:
    with pytest.raises(ValueError, match="too few to tell its language"):
        Language(expected="en").score(text)


def test_what_is_no_language_is_refused() -> None:
    with pytest.raises(DefinitionError, match="use codes such as en, de, ja"):
        Language(expected="english")
    with pytest.raises(DefinitionError, match="let it hold 'fr', too"):
        Language(expected="fr", among=["de", "en"])
