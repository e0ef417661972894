"""The rated sentences: which are held out, and what stands beside them for a model to read."""

import pytest

from benchmarks.models.sentiment import macro_f1
from benchmarks.training.sentiment_data import HELD_OUT, Rated, apart, class_of, rated_of
from simeval.extras.local.vader import features_of, valences_of, windows_of
from tests.support.golden import rows_of


def rated(name: str, domain: str, text: str) -> Rated:
    return rated_of({"id": name, "set": domain, "text": text, "mean": 1.0, "ratings": [-4, -3, 0, 2]})


def test_sentences_of_one_document_and_copies_of_a_text_are_held_out_together() -> None:
    news = [rated(f"nytEditorialSnippets:7_{number}", "nytEditorialSnippets", f"text {number}") for number in range(5)]
    tweets = [rated("tweets:1", "tweets", "Good morning!"), rated("tweets:2", "tweets", "good MORNING")]

    assert len({each.fold for each in news}) == 1
    assert len({each.fold for each in tweets}) == 1


def test_about_a_fifth_is_held_out_and_no_group_stands_on_both_sides() -> None:
    training, held_out = apart(map(rated_of, rows_of("public_vader_sentiment")), HELD_OUT)

    assert len(held_out) / (len(training) + len(held_out)) == pytest.approx(0.2, abs=0.02)
    assert not {each.group for each in training} & {each.group for each in held_out}


def test_the_share_of_the_raters_in_each_class_is_the_target() -> None:
    assert rated("tweets:1", "tweets", "x").shares == (0.5, 0.0, 0.25, 0.25, 0.0)
    assert rated_of({"id": "tweets:1", "set": "tweets", "text": "x", "mean": 1.0}).shares == ()


def test_the_class_of_a_mean_is_the_same_on_both_sides_of_nothing() -> None:
    means = [-4, -2, -1.9, -0.5, -0.4, 0, 0.4, 0.5, 1.9, 2, 4]

    assert [class_of(mean) for mean in means] == [0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 4]
    assert [class_of(-mean) for mean in means] == [4 - class_of(mean) for mean in means]


def test_macro_f1_is_the_mean_over_the_classes_there_are() -> None:
    # of class 0 one of two is found, class 1 is said three times and right once, class 2 is never said
    assert macro_f1([0, 1, 1, 1], [0, 0, 1, 2]) == pytest.approx((2 / 3 + 1 / 2 + 0) / 3)


def test_a_long_text_is_cut_into_windows_of_whole_words() -> None:
    text = " ".join(map(str, range(250)))

    assert [len(window.split()) for window in windows_of(text)] == [100, 100, 50]
    assert " ".join(windows_of(text)) == text
    assert windows_of(" as  it\nstands ") == [" as  it\nstands "]


def test_valences_stand_where_the_words_and_signs_do() -> None:
    pytest.importorskip("vaderSentiment", reason="the extra 'sentiment' is not installed")
    text = 'So "GREAT!" a day :('

    found = [(text[start:end], valence) for start, end, valence in valences_of(text)]

    assert found == [('"GREAT!"', 3.1), (":(", -1.9)]


@pytest.mark.parametrize("text", ["", "!!!", "good " * 5000, "\u0000\ud7ff", "AAA bbb"])
def test_features_are_of_modest_size_for_any_text(text: str) -> None:
    pytest.importorskip("vaderSentiment", reason="the extra 'sentiment' is not installed")

    found = features_of(text)

    assert len(found) == len(features_of("good"))
    assert all(-4 <= each <= 4 for each in found)
