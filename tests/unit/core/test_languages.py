"""In which language a message is, as far as it can be told."""

import pytest

from simeval.core.languages import ANY, language_of, named_languages


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I want to send back the boots that I bought from you", "en"),
        ("Ich möchte die Schuhe zurückgeben, die ich bei Ihnen gekauft habe", "de"),
        ("Je voudrais savoir où est ma commande, et pourquoi elle n'est pas là", "fr"),
        ("Quiero saber por qué no ha llegado mi pedido todavía", "es"),
        ("Vorrei sapere perché il mio ordine non è ancora arrivato", "it"),
        ("Где мой заказ?", "Cyrillic"),
        ("我的订单在哪里？", "Chinese or Japanese"),
        ("注文はどこですか", "Japanese"),
    ],
)
def test_a_language_is_told_by_its_commonest_words_or_its_script(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    "text", ["", "ok", "No, danke", "I do really enjoy", "a.com/de/la/el 12", "Zürich Malmö Łódź", "😀😀😀"]
)
def test_what_is_short_or_only_names_has_no_language(text: str) -> None:
    assert language_of(text) == ""


def test_languages_are_known_by_their_names() -> None:
    assert named_languages("She speaks Spanish and a little German") == {"es", "de"}
    assert ANY in named_languages("Translate this for me")
    assert named_languages("A customer of a shop") == frozenset()


@pytest.mark.parametrize(
    "text", ["Toppen, ha en fin dag!", "ai que alívio, obrigada mesmo", "A ile to kosztuje, takie przepisanie?"]
)
def test_two_common_words_are_no_proof_of_a_language(text: str) -> None:
    assert language_of(text, least=3) == ""


def test_a_german_question_with_english_looking_words_is_not_english() -> None:
    assert language_of("Guten Tag, was läuft denn am Sonntag für Kinder?") == "de"
