"""BLEU, GLEU, METEOR and ROUGE-n, with what other programs and the papers say of the same texts."""

import json
import subprocess
import sys
from math import log

import pytest

from simeval.errors import DefinitionError
from simeval.scorers.text.similarity import Bleu, Gleu, Meteor, NgramScorer, RougeN

NLTKS = [Bleu(), Gleu(), Meteor()]
REFERENCE, OUTPUT = "Marie Curie was birthed in Warsaw.", "Marie Curie was born in Warsaw."


def test_bleu_is_the_geometric_mean_of_the_shares_of_ngrams() -> None:
    # 6 of 7, 4 of 6, 2 of 5 and none of 4 n-grams are shared; for none, method 4 has ln(length) / (2 x 5)
    shares = 6 / 7 * 4 / 6 * 2 / 5 * (log(7) / 10) / 4

    assert Bleu().score(OUTPUT, REFERENCE) == pytest.approx(shares**0.25)


def test_gleu_is_the_lesser_of_precision_and_recall_over_all_ngrams() -> None:
    # n-grams of 1 to 4: 22 on each side, of which 12 are shared
    assert Gleu().score(OUTPUT, REFERENCE) == pytest.approx(12 / 22)


def test_meteor_matches_words_and_stems_and_pays_for_their_order() -> None:
    # 6 of 7 tokens in 2 chunks: F = 6/7, less half of (2/6)^3 of it
    assert Meteor().score(OUTPUT, REFERENCE) == pytest.approx(6 / 7 * (1 - 0.5 * (2 / 6) ** 3))
    assert Meteor().score("the cats sat", "the cat sat") > 0.9  # by its stem
    assert Meteor().score("sat cat the", "the cat sat") < Meteor().score("the cat sat", "the cat sat")


@pytest.mark.parametrize(
    ("n", "expected"),  # rouge_score 0.1.2: RougeScorer(["rouge1", "rouge2"]).score(reference, output)
    [(1, {"f1": 0.6, "precision": 0.75, "recall": 0.5}), (2, {"f1": 0.25, "precision": 1 / 3, "recall": 0.2})],
)
def test_rouge_n_is_what_google_s_package_says(n: int, expected: dict[str, float]) -> None:
    assert RougeN(n=n).score("the the the cat", "the cat sat on the mat") == pytest.approx(expected)


@pytest.mark.parametrize("scorer", NLTKS)
def test_the_same_text_is_nearest_and_one_with_nothing_in_common_farthest(scorer: NgramScorer) -> None:
    assert scorer.score(REFERENCE, REFERENCE) > 0.99
    assert scorer.score("Nothing alike", REFERENCE) == scorer.score("", REFERENCE) == 0


@pytest.mark.parametrize("scorer", NLTKS)
def test_of_several_references_the_nearest_counts(scorer: NgramScorer) -> None:
    assert scorer.score(OUTPUT, ["Quite another text.", REFERENCE]) >= scorer.score(OUTPUT, REFERENCE)


@pytest.mark.parametrize("scorer", NLTKS)
def test_nothing_is_measured_against_a_reference_without_a_word(scorer: NgramScorer) -> None:
    with pytest.raises(ValueError, match="no word"):
        scorer.score(OUTPUT, "")
    with pytest.raises(DefinitionError, match="no reference"):
        scorer.score(OUTPUT, None)


def test_a_rouge_of_no_words_is_refused() -> None:
    with pytest.raises(DefinitionError, match="n"):
        RougeN(n=0)


def test_nltk_is_not_loaded_before_a_text_is_measured() -> None:
    code = (
        "import json, sys; from simeval.scorers import Bleu; made = Bleu(); before = 'nltk' in sys.modules;"
        "made.score('a b', 'a b'); print(json.dumps([before, 'nltk' in sys.modules]))"
    )

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert json.loads(said.stdout) == [False, True]
