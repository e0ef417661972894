"""Which conversations of a report speak most against what is required, and for which reason."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from simeval.core.trial import CANNOT_TELL, NOTHING_SAID, UNNEEDED, Failure, Score, Trial, TrialResult
from simeval.evaluators.scores import SuccessRateEvaluator
from simeval.results.document import ExpectationDocument, Requirement, ScoreCut
from simeval.results.html.trials import Required, in_short, required_of, worst_first
from simeval.results.kinds import kinds_among

HIGH = Required("helps", [Requirement(evaluator="high", cut=ScoreCut(">=", 6))])
LOW = Required("is brief", [Requirement(evaluator="low", cut=ScoreCut("<=", 3))])
CRASH = Failure(stage="app", error="refused", cause="app")
LOST = Failure(stage="judge", error="no answer", cause="server")


def tried(*results: Sequence[Score | Failure]) -> list[TrialResult]:
    return [
        TrialResult(trial=Trial(0, n, 0), conversation=NOTHING_SAID, results=(*each,)) for n, each in enumerate(results)
    ]


def given(value: float) -> Score:
    return Score(value=value)


def test_the_worst_of_each_requirement_come_in_turn_and_what_is_met_comes_last() -> None:
    outlines = tried([given(9), given(1)], [given(2), given(9)], [given(1), given(1)], [given(9), given(4)])

    assert worst_first(outlines, [HIGH, LOW]) == [2, 1, 3, 0]


def test_a_crash_of_the_app_is_worse_than_a_bad_score_and_a_missing_one_is_better() -> None:
    assert worst_first(tried([given(1)], [LOST], [CRASH], [UNNEEDED], [given(9)]), [HIGH]) == [2, 0, 1, 3, 4]


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (given(9), ""),
        (given(1), "Not met: helps"),
        (CRASH, "The app failed: refused"),
        (LOST, "The judge could not rate it: no answer"),
        (UNNEEDED, ""),
        (Failure(stage="judge", error="no sign of it", cause=CANNOT_TELL), "The judge could not tell"),
    ],
)
def test_a_reason_is_that_of_what_speaks_against_the_app(result: Score | Failure, reason: str) -> None:
    assert in_short(tried([result]), [HIGH])["alike"][0]["reason"] == reason


def test_failures_of_one_kind_are_one_group_whatever_numbers_their_texts_have() -> None:
    texts = ["the app failed at turn 1: OSError: disk 3 is full", "the app failed at turn 2: OSError: disk 8 is full"]
    crashes = [Failure(stage="app", error=f"{text} (bot.py:5 in app)", cause="app") for text in texts]
    rule = (SuccessRateEvaluator(min_proportion=0.9),)
    required = [replace(HIGH, kinds={at: kind for kind in kinds_among(crashes, rule) for at in kind.trials})]

    found = in_short(tried(*([each] for each in crashes)), required)

    assert [each["groups"] for each in found["alike"]] == [
        ("The app failed: OSError: disk 3 is full (bot.py:5 in app)",)
    ]
    assert [place for _, place in found["trials"]] == [0, 0]


def test_a_number_of_an_experiment_of_which_nothing_is_required_speaks_against_nothing() -> None:
    expectations = [ExpectationDocument(label="helps", verdicts=HIGH.requirements)]
    required = required_of(["length", "helps"], expectations)

    assert [each.state(given(1)) for each in required] == ["measured", "missed"]
