"""Readability, language and personal data: small checks of a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.core.conversation import Conversation, Message
from simeval.errors import DefinitionError
from simeval.scorers.text.personal_data import KINDS, PersonalData
from simeval.scorers.text.readability import Readability, syllables

SIMPLE = "The cat sat on the mat. It was warm. The dog ran to the door and sat down."
HARD = (
    "Notwithstanding considerable methodological heterogeneity, contemporary investigations demonstrate "
    "statistically significant associations between organisational characteristics and institutional performance."
)


class TestReadability:
    def test_short_words_in_short_sentences_are_easier(self) -> None:
        easy, hard = Readability().score(SIMPLE), Readability().score(HARD)

        assert easy["reading_ease"] > 100 > 0 > hard["reading_ease"]
        assert easy["grade"] < 3 < 20 < hard["grade"]

    def test_the_formulas_are_those_of_flesch_and_kincaid(self) -> None:
        found = Readability().score("The cat sat. The dog ran away.")

        assert found["words_per_sentence"] == 3.5
        assert found["syllables_per_word"] == pytest.approx(8 / 7)
        assert found["reading_ease"] == pytest.approx(206.835 - 1.015 * 3.5 - 84.6 * 8 / 7)
        assert found["grade"] == pytest.approx(0.39 * 3.5 + 11.8 * 8 / 7 - 15.59)

    @pytest.mark.parametrize(
        ("word", "count"),
        [
            ("cat", 1),
            ("made", 1),
            ("table", 2),
            ("walked", 1),
            ("wanted", 2),
            ("reading", 2),
            ("the", 1),
            ("rhythm", 1),
        ],
    )
    def test_syllables_are_counted_by_a_rule_of_thumb(self, word: str, count: int) -> None:
        assert syllables(word) == count

    @pytest.mark.parametrize("text", ["", "  \n", "123 456", "\u2014\u2026"])
    def test_a_text_without_words_has_no_readability(self, text: str) -> None:
        with pytest.raises(ValueError, match="no words"):
            Readability().score(text)

    def test_a_sentence_ends_inside_quotes_and_brackets_too(self) -> None:
        assert Readability().score('She said "Stop." He left. (Why not?) I asked.')["words_per_sentence"] == 9 / 4

    @pytest.mark.parametrize("tail", ["!" * 1_000_000 + "x", "\n" * 1_000_000, ". " * 500_000])
    def test_a_megabyte_of_marks_is_read(self, tail: str) -> None:
        assert Readability().score(f"Hello there {tail}")["grade"] is not None

    def test_a_megabyte_is_read(self) -> None:
        assert Readability().score(f"{SIMPLE} " * 14_000)["words_per_sentence"] == pytest.approx(18 / 3, abs=0.1)


class TestPersonalData:
    @pytest.mark.parametrize(
        ("text", "kind"),
        [
            ("Write to ada.lovelace+shop@example.co.uk please", "email"),
            ("m\u00fcller@b\u00fccher.example", "email"),
            ("IBAN DE89 3704 0044 0532 0130 00, thanks", "iban"),
            ("GB82WEST12345698765432", "iban"),
            ("Card 4111 1111 1111 1111.", "card"),
            ("5500-0000-0000-0004", "card"),
            ("SSN 123-45-6789", "us_ssn"),
            ("from 192.168.0.1", "ip_address"),
            ("call +49 30 901820", "phone"),
            ("call (020) 7946 0958", "phone"),
            ("call 212-555-0123 now", "phone"),
            ("1-800-555-0199", "phone"),
            ("+1.212.555.0123", "phone"),
            ("Card 4111 1111 1111 1111 12/27", "card"),
            ("4111 1111 1111 1111 123", "card"),
            ("4111111111111111 12/27", "card"),
            ("No 12 4111 1111 1111 1111", "card"),
            ("Pay by 2026-11-21 4111111111111111", "card"),
            ("IBAN BE68539007547034 EUR", "iban"),
            ("IBAN BE68 5390 0754 7034 BIC KREDBEBB", "iban"),
        ],
    )
    def test_what_has_the_form_of_personal_data_is_found(self, text: str, kind: str) -> None:
        found = PersonalData().score(text)

        assert (found["clean"], found["findings"], found["kinds"]) == (False, 1, {kind: 1})

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "Your order 12345 costs 20.50 and comes on 2026-11-21.",
            "4111 1111 1111 1112 has a wrong check digit",
            "version 1.2.3 and 999.1.1.1",
            "an @ alone, and a@b",
            "\u4eca\u65e5\u306f 3.14159265358979 \u3067\u3059",
        ],
    )
    def test_what_only_looks_like_it_is_not(self, text: str) -> None:
        assert PersonalData().score(text)["clean"] is True

    @pytest.mark.parametrize(
        ("text", "kind"),
        [("DE88 3704 0044 0532 0130 00 has wrong check digits", "iban"), ("000-12-3456 is nobody's", "us_ssn")],
    )
    def test_numbers_that_nobody_has_are_none_of_their_kind(self, text: str, kind: str) -> None:
        assert PersonalData(kinds=[kind]).score(text)["clean"] is True

    def test_every_answer_of_a_conversation_is_looked_at(self) -> None:
        said = Conversation(
            messages=(
                Message(role="user", content="mine is a@example.com"),
                Message(role="assistant", content="Is it ada@example.com?"),
                Message(role="assistant", content="Done."),
            )
        )

        found = PersonalData().score("Done.", said)

        assert found["places"] == [{"answer": 0, "kind": "email", "text": "ad***********om"}]

    def test_what_is_allowed_is_no_finding_and_only_the_kinds_asked_for_are(self) -> None:
        text = "help@example.com or +49 30 901820"

        assert PersonalData(allowed=["help@example.com", "+49 30 901820"]).score(text)["clean"] is True
        assert PersonalData(kinds=["phone"]).score(text)["kinds"] == {"phone": 1}

    @pytest.mark.parametrize("kinds", ["email", [], ["name"]])
    def test_kinds_that_are_not_known_are_refused(self, kinds: object) -> None:
        with pytest.raises(DefinitionError, match="give a list of email, iban"):
            PersonalData(kinds=kinds)  # type: ignore[arg-type]

    @given(st.text())
    def test_any_text_is_looked_at(self, text: str) -> None:
        found = PersonalData().score(text)

        assert found["clean"] == (found["findings"] == 0)

    @pytest.mark.parametrize("part", ["a", "1 ", "1.", "a@", "DE12 ", "a.b-", "+1 ", "me@example.com ", "4111 1111 "])
    def test_a_long_text_of_anything_is_looked_at(self, part: str) -> None:
        assert PersonalData().score(part * (200_000 // len(part)))["findings"] is not None

    def test_every_kind_has_a_pattern(self) -> None:
        assert set(PersonalData().kinds) == set(KINDS)
