"""Texts against references and patterns, with what real answers hold."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.errors import DefinitionError
from simeval.scorers.base import ColumnScorer
from simeval.scorers.text.similarity import Contains, ExactMatch, LevenshteinSimilarity, RegexMatch, RougeL, TokenF1

COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"
AGAINST_REFERENCE: list[Any] = [ExactMatch(), Contains(), LevenshteinSimilarity(), TokenF1(), RougeL()]


@pytest.mark.parametrize(
    ("output", "reference", "equal"),
    [
        ("Paris", "Paris", True),
        ("Paris", "paris", False),
        ("Paris ", "Paris", False),
        ("", "", True),
        ("", "x", False),
        (None, "", True),
        (None, "x", False),
        (COMPOSED, DECOMPOSED, True),
        ("42", 42, True),
        ("true", True, True),
        (1, 1.0, True),
        (1, True, False),
        ([1, 2], [2, 1], False),
        ({"a": 1, "b": [2.0]}, {"b": [2], "a": 1.0}, True),
        ({"a": 1}, [1], False),
        ('{"a": 1}', {"a": 1}, True),
    ],
)
def test_an_output_matches_exactly_where_text_or_json_value_is_the_same(
    output: object, reference: object, equal: bool
) -> None:
    assert ExactMatch().score(output, reference) is equal


def test_case_and_space_are_ignored_where_that_is_wanted() -> None:
    assert ExactMatch(ignore_case=True).score("STRASSE", "straße")
    assert ExactMatch(ignore_space=True).score(" to\n be\u00a0", "to be")
    assert not ExactMatch(ignore_space=True).score("tobe", "to be")
    assert Contains(ignore_case=True, ignore_space=True).score("Your REFUND\nis on  its way", "refund is")


@pytest.mark.parametrize("scorer", AGAINST_REFERENCE)
def test_no_reference_is_an_error_and_no_score(scorer: Any) -> None:
    with pytest.raises(DefinitionError, match=rf"scorer {scorer.name}: no reference; give the example one"):
        scorer.score("some answer", None)


@pytest.mark.parametrize("scorer", AGAINST_REFERENCE)
def test_a_missing_column_is_an_error_that_lists_the_columns(scorer: ColumnScorer) -> None:
    with pytest.raises(DefinitionError, match=r"no column for \['reference'\]; the columns are output, answer"):
        scorer.arguments({"output": "x", "answer": "y"})


@pytest.mark.parametrize("scorer_type", [ExactMatch, Contains, LevenshteinSimilarity, TokenF1, RougeL])
def test_a_column_map_names_the_reference_and_wins_over_a_column_of_that_name(scorer_type: type[Any]) -> None:
    scorer = scorer_type(column_map={"reference": "answer"})

    assert scorer.arguments({"output": "x", "answer": "right", "reference": "wrong"})["reference"] == "right"


@pytest.mark.parametrize("scorer", AGAINST_REFERENCE)
def test_a_megabyte_that_says_nothing_of_the_reference_is_scored(scorer: Any) -> None:
    output = "日本語 naïve text. " * 70_000

    found = scorer.score(output, "something else entirely")

    assert (found if isinstance(found, bool) else found[scorer.default_score]) < 0.01


def test_an_empty_reference_is_contained_in_everything_and_so_an_error() -> None:
    with pytest.raises(DefinitionError, match="scorer Contains: an empty reference; give a text that an output may"):
        Contains().score("anything", "")


@pytest.mark.parametrize(
    ("output", "at_least", "contains", "missing"),
    [
        ("Your refund comes with a return label.", None, True, []),
        ("Your REFUND comes.", None, False, ["return label"]),
        ("Your refund comes.", 1, True, ["return label"]),
        ("Nothing.", 1, False, ["refund", "return label"]),
        (None, None, False, ["refund", "return label"]),
    ],
)
def test_texts_of_its_own_are_contained_all_or_at_least_so_many(
    output: object, at_least: int | None, contains: bool, missing: list[str]
) -> None:
    scorer = Contains(texts=["refund", "return label"], at_least=at_least, ignore_case=True)

    found = scorer.score(output)

    assert (found.value, found.details) == (contains, {"missing": missing})
    assert found.reasoning == ("" if contains else f"the output lacks {', '.join(map(repr, missing))}")
    scorer.check(["output"])


def test_without_texts_of_its_own_a_reference_is_required() -> None:
    with pytest.raises(DefinitionError, match="found no texts; say what to look for"):
        Contains().check(["output"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"texts": "refund"}, "texts: found 'refund'; give a list of one or more texts"),
        ({"texts": []}, "texts: found []; give a list"),
        ({"texts": [" "], "ignore_space": True}, "texts: found [' ']; give a list"),
        ({"texts": ["a", 5]}, "texts: found ['a', 5]; give a list"),
        ({"texts": ["a"], "at_least": 0}, "at_least: found 0; use a whole number of 1 or more"),
        ({"texts": ["a"], "at_least": 2}, "at_least: found 2; use at most the 1 that are given"),
        ({"at_least": 1}, "at_least: found 1; say how many of the texts, and give them"),
    ],
)
def test_texts_that_cannot_be_looked_for_are_refused(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        Contains(**arguments)

    assert f"scorer Contains: {says}" in str(raised.value)


@pytest.mark.parametrize(
    ("output", "found", "full"),
    [
        ("Order 12345 is on its way", True, False),
        ("12345", True, True),
        ("١٢٣٤٥", True, True),
        ("none", False, False),
        ("", False, False),
        (None, False, False),
        ({"order": 12345}, True, False),
    ],
)
def test_a_pattern_is_found_or_matches_the_whole_output(output: object, found: bool, full: bool) -> None:
    assert RegexMatch(r"\d{5}").score(output) is found
    assert RegexMatch(r"\d{5}", full=True).score(output) is full


def test_what_is_no_pattern_is_refused_when_the_scorer_is_made() -> None:
    with pytest.raises(DefinitionError, match=r"RegexMatch.pattern: found '\(' \(missing \)"):
        RegexMatch("(")
    with pytest.raises(DefinitionError, match=r"RegexMatch.pattern: found 3"):
        RegexMatch(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("output", "reference", "distance", "similarity"),
    [
        ("kitten", "sitting", 3, 1 - 3 / 7),
        ("", "", 0, 1.0),
        ("", "abc", 3, 0.0),
        (COMPOSED, DECOMPOSED, 0, 1.0),
        ("👍", "👎", 1, 0.0),
        ({"a": 1}, {"a": 2}, 1, 0.875),
    ],
)
def test_similarity_is_one_minus_the_distance_over_the_longer_length(
    output: object, reference: object, distance: int, similarity: float
) -> None:
    found = LevenshteinSimilarity().score(output, reference)

    assert found == {"similarity": pytest.approx(similarity), "distance": distance}


@pytest.mark.parametrize(
    ("output", "reference", "f1", "precision", "recall"),
    [
        ("The cat sat.", "a cat sat", 1.0, 1.0, 1.0),
        ("cat cat cat", "cat", 0.5, 1 / 3, 1.0),
        ("Don't!", "dont", 1.0, 1.0, 1.0),
        ("", "", 1.0, 1.0, 1.0),
        ("the", "", 1.0, 1.0, 1.0),
        ("hello", "", 0.0, 0.0, 0.0),
        (None, "hello", 0.0, 0.0, 0.0),
        ("„Größe“: हिन्दी", "größe हिन्दी", 1.0, 1.0, 1.0),
    ],
)
def test_token_f1_is_of_words_without_case_punctuation_and_articles(
    output: object, reference: object, f1: float, precision: float, recall: float
) -> None:
    found = TokenF1().score(output, reference)

    assert found == pytest.approx({"f1": f1, "precision": precision, "recall": recall})


@pytest.mark.parametrize(
    ("output", "reference", "f1", "precision", "recall"),
    [
        ("police kill the gunman", "police killed the gunman", 0.75, 0.75, 0.75),
        ("the gunman kill police", "police killed the gunman", 0.5, 0.5, 0.5),
        ("well-known", "well known", 1.0, 1.0, 1.0),
        ("", "", 1.0, 1.0, 1.0),
        ("", "word", 0.0, 0.0, 0.0),
    ],
)
def test_rouge_l_is_of_words_in_order(
    output: object, reference: object, f1: float, precision: float, recall: float
) -> None:
    found = RougeL().score(output, reference)

    assert found == pytest.approx({"f1": f1, "precision": precision, "recall": recall})


@given(st.text(max_size=40), st.text(max_size=40))
def test_every_likeness_lies_between_0_and_1_and_is_1_of_a_text_and_itself(output: str, reference: str) -> None:
    for scorer in (LevenshteinSimilarity(), TokenF1(), RougeL()):
        assert 0 <= scorer.score(output, reference)[scorer.default_score] <= 1
        assert scorer.score(output, output)[scorer.default_score] == 1
    assert ExactMatch().score(output, output)
