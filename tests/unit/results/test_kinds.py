"""Kinds of misses: by their evidence, by the words of reasons, and in reports."""

from collections.abc import Sequence

import pytest

from simeval.core.trial import UNNEEDED, Failure, Rating, Score
from simeval.evaluators.scores import SuccessRateEvaluator
from simeval.results.document import FailureKind, told_kinds
from simeval.results.kinds import kinds_among
from simeval.results.reading import read_document
from simeval.results.suite import SuiteResult, encode_suite, with_shares
from simeval.stats.binomial import clopper_pearson
from tests.support.records import RUN, result

RULE = (SuccessRateEvaluator(min_proportion=0.9),)
PRICES = (
    "The bot states a total of 270 although three nights cost 330.",
    "The quoted price of 250 is incorrect; it should be 300.",
    "The assistant gave the wrong total price (410 instead of 460).",
    "The assistant quotes a wrong total: 180 instead of 200 for two nights.",
    "The total price given, 520, does not match the correct price of 560.",
)
CANCELLATION = (
    "The bot never mentions the cancellation policy.",
    "No information on the cancellation policy was given to the user.",
    "The assistant did not explain that the cancellation is free until 6 pm.",
)
TONE = ("The reply is rude and dismisses the customer.", "The assistant answered in a rude tone and did not help.")


def missed(*reasons: str) -> list[Score]:
    return [Score(value=1, reasoning=each) for each in reasons]


def trials_of(kinds: Sequence[FailureKind]) -> list[tuple[int, ...]]:
    return [kind.trials for kind in kinds]


def test_free_reasons_are_grouped_by_their_words_and_named_by_a_typical_one() -> None:
    kinds = kinds_among(missed(*PRICES, *CANCELLATION, *TONE), RULE)

    assert trials_of(kinds) == [(0, 1, 2, 3, 4), (5, 6, 7), (8, 9)]
    assert "total price" in kinds[0].said
    assert "cancellation policy" in kinds[1].said


def test_a_kind_has_the_exact_interval_of_its_share_of_all_misses() -> None:
    [first, *_] = kinds_among([Score(value=10), *missed(*PRICES, *CANCELLATION)], RULE)

    assert (first.misses, first.trials) == (8, (1, 2, 3, 4, 5))
    assert first.interval == clopper_pearson(5, 8, 0.025)


def test_rules_of_nearly_the_same_words_are_kinds_of_their_own() -> None:
    broken = ["refund was not called", "refund was called, and verify not before it"]

    kinds = kinds_among(missed(*broken * 3, "calls of refund: 2, more than 1", "calls of refund: 5, more than 1"), RULE)

    assert trials_of(kinds) == [(0, 2, 4), (1, 3, 5), (6, 7)]


@pytest.mark.parametrize(
    ("details", "other", "said"),
    [
        (
            {"breach": [{"kind": "secret", "answer": 2}]},
            {"breach": [{"kind": "tool", "answer": 1}]},
            "a secret is told",
        ),
        (
            {"rulings": [{"criterion": "It is polite", "ruling": "not_met"}]},
            {"rulings": [{"criterion": "It is short", "ruling": "not_met"}]},
            "not met: It is polite",
        ),
        ({"state": {"orders.1.status": "'open'"}}, {"state": {"orders.1.total": "7"}}, "the same words"),
    ],
    ids=["breach", "criteria", "state"],
)
def test_evidence_that_a_scorer_names_makes_the_kind(details: object, other: object, said: str) -> None:
    results = [Score(value=0, reasoning="the same words", details=each) for each in (details, other, details)]  # type: ignore[arg-type]

    kinds = kinds_among(results, RULE)

    assert trials_of(kinds) == [(0, 2), (1,)]
    assert kinds[0].said == said


def test_failures_of_the_app_are_a_kind_by_their_cause_with_the_turns_they_came_at() -> None:
    lost = [
        Failure(stage="app", error=f"the app failed at turn {turn}: KeyError: {turn} (bot.py:9 in handle)", cause="")
        for turn in (2, 4, 2)
    ]

    [kind] = kinds_among(lost, RULE)

    assert kind.turns == (2, 4)
    assert kind.name == "KeyError: 2 (bot.py:9 in handle), first at turns 2 to 4"


def test_failures_that_are_no_evidence_are_no_misses() -> None:
    judge = Failure(stage="judge", error="the judge did not answer", cause="")
    crash = Failure(stage="app", error="the app failed at turn 1: HTTP 500", cause="")

    assert kinds_among([judge, UNNEEDED, crash], RULE, leaves_out_crashes=True) == ()
    assert trials_of(kinds_among([judge, UNNEEDED, crash], RULE)) == [(2,)]


def test_the_lowest_of_several_ratings_gives_the_reason() -> None:
    ratings = (
        Rating(judge="a", repeat=0, score=7, reasoning="It is nearly right."),
        Rating(judge="b", repeat=0, score=2, reasoning="The price is wrong."),
    )

    [kind] = kinds_among([Score(value=4.5, reasoning="the mean of 7, 2", ratings=ratings)], RULE)

    assert kind.said == "The price is wrong."


def test_hundreds_of_different_reasons_are_grouped_too() -> None:
    reasons = [f"The {word * (n % 97 + 1)} {topic} is off" for n, (word, topic) in enumerate([("ab", "price")] * 200)]

    kinds = kinds_among(missed(*reasons, *CANCELLATION), RULE)

    assert sum(len(kind.trials) for kind in kinds) == 203
    assert trials_of(kinds)[-1] == (200, 201, 202)


def test_kinds_are_told_with_their_counts_and_the_rest_together() -> None:
    rules = [f"rule {'abcdefg'[number]} is broken" for number in range(7) for _ in range(9 - number)]

    head, first, *others, rest = told_kinds(kinds_among(missed(*rules), RULE))

    assert head == "42 misses of 7 kinds (with their shares of all misses, 95% intervals):"
    assert first.startswith("9 (10% to 37%): rule a is broken")
    assert len(others) == 4
    assert rest == "7 of 2 more kinds"


def test_a_result_that_is_read_back_has_the_same_kinds() -> None:
    found = with_shares(result(("it works", RULE, missed(*PRICES, *CANCELLATION))))

    document = read_document(encode_suite([found], RUN, version="1"))

    assert list(document.scenarios[0].expectations[0].kinds) == list(found.expectations[0].kinds)
    assert len(found.expectations[0].kinds) == 2


@pytest.mark.parametrize(("good", "is_shown"), [(2, True), (200, False)])
def test_screen_and_markdown_show_kinds_where_a_requirement_is_not_proven(good: int, *, is_shown: bool) -> None:
    scores = [*missed(*PRICES, *CANCELLATION), *[Score(value=10)] * good]
    found = SuiteResult((with_shares(result(("it works", RULE, scores))),), RUN)

    assert ("8 misses of 2 kinds" in found.text()) is is_shown
    assert ("**Kinds of misses**" in found.to_markdown()) is is_shown


def test_a_blank_reason_is_none() -> None:
    [kind] = kinds_among(missed("", "  ", "\n"), RULE)

    assert (kind.said, kind.trials) == ("no reason is given", (0, 1, 2))


@pytest.mark.parametrize(
    "details",
    [
        {"breach": ["address"]},
        {"breach": "address"},
        {"breach": [{}]},
        {"breach": {"kind": "leak"}},
        {"rulings": ["no"]},
    ],
)
def test_details_of_ones_own_scorer_need_not_have_the_form_of_ours(details: dict[str, object]) -> None:
    scores = [Score(value=0, reasoning="an address is given", details=details)] * 2

    [kind] = kinds_among(scores, RULE)

    assert (kind.said, kind.trials, kind.turns) == ("an address is given", (0, 1), None)
