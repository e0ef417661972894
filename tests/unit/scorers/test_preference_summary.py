"""What is concluded from the preferences of a whole dataset."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pytest

from simeval.core.trial import Estimate, Failure, Scored
from simeval.scorers.llm.preference import Preference
from simeval.stats.preference import preferences

pytestmark = pytest.mark.anyio

LOST = Failure(stage="app", error="the app failed", cause="app")
UNKNOWN = Failure(stage="scorer", error="no reply", cause="malformed")


def always_first(_input: str, _first: str, _second: str) -> Literal["first"]:
    return "first"


def measured(preferred: str, other: str | None = None) -> dict[str, Any]:
    """Return what `score` returns where the output was shown first, and then where it was shown second."""
    other = other or preferred
    scores = {"output": 1.0, "baseline": 0.0, "tie": 0.5}
    same = preferred == other
    return {
        "preference": scores[preferred] if same else 0.5,
        "consistent": same,
        "first_order": preferred,
        "second_order": other,
    }


def all_of(found: Sequence[Mapping[str, Any] | Failure | Sequence[Mapping[str, Any] | Failure]]) -> list[Scored]:
    """Return what a scorer of a whole dataset sees, from what was measured on each example, once or repeatedly."""
    return [
        Scored(example=example, columns={}, failure=each)
        if isinstance(each, Failure)
        else Scored(example=example, columns={}, measured=each)
        for example, repeated in enumerate(found)
        for each in (repeated if isinstance(repeated, list) else [repeated])
    ]


def concluded(*found: Any) -> Mapping[str, Estimate]:
    return Preference().summarize(all_of(found))


async def test_a_function_that_goes_by_the_place_makes_ties_only() -> None:
    scorer = Preference(prefer=always_first)

    found = [await scorer.score(f"new {n}", f"old {n}", seed=n) for n in range(12)]
    summary = scorer.summarize(all_of(found))

    assert {each["preference"] for each in found} == {0.5}
    assert {(each["first_order"], each["second_order"]) for each in found} == {("output", "baseline")}
    assert (summary["tied"].value, summary["consistent"].value, summary["win_rate"].value) == (1, 0, 0.5)
    assert (summary["prefers_first"].value, summary["prefers_first"].n) == (1, 24)
    assert summary["p_output_better"].value == summary["p_baseline_better"].value == 1


def test_a_win_rate_has_the_interval_of_both_orders_judged_consistently() -> None:
    versions = ["output"] * 14 + ["tie"] * 4 + ["baseline"] * 2
    letters = {"output": "B", "baseline": "A", "tie": "tie"}

    found = concluded(*map(measured, versions))
    expected = preferences([(letters[each], letters[each]) for each in versions], alpha=0.05)

    assert (found["win_rate"].value, found["win_rate"].n) == (expected.win_rate, 20)
    assert found["win_rate"].interval == pytest.approx((expected.low, expected.high))
    assert (found["won"].value, found["tied"].value, found["lost"].value) == (0.7, 0.2, 0.1)
    assert found["p_output_better"].value == pytest.approx(expected.p_b_better)
    assert found["p_baseline_better"].value == pytest.approx(expected.p_a_better)
    assert (found["p_output_better"].n, found["consistent"].value) == (16, 1)


def test_answers_that_contradict_count_as_ties_and_as_position_bias() -> None:
    found = concluded(
        measured("output", "baseline"), measured("output", "baseline"), measured("output"), measured("output", "tie")
    )

    assert (found["win_rate"].value, found["tied"].value) == (0.625, 0.75)
    assert (found["consistent"].value, found["consistent"].n) == (0.25, 4)
    assert (found["prefers_first"].value, found["prefers_first"].n) == (6 / 7, 7)


def test_repetitions_are_one_example() -> None:
    repeated = concluded(*[[measured("output")] * 5 for _ in range(6)])
    once = concluded(*[measured("output") for _ in range(6)])

    for name in ("win_rate", "won", "p_output_better", "p_baseline_better"):
        assert repeated[name] == once[name]
    assert repeated["prefers_first"].n == 5 * once["prefers_first"].n


def test_an_example_is_won_by_the_mean_of_its_repetitions() -> None:
    found = concluded(
        [measured("output"), measured("output"), measured("baseline")], [measured("output"), measured("baseline")]
    )

    assert found["win_rate"].value == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert (found["won"].value, found["tied"].value, found["p_output_better"].n) == (0.5, 0.5, 1)


def test_an_app_that_failed_has_lost_the_example() -> None:
    found = concluded(LOST, LOST, measured("output"), measured("output"))

    assert (found["win_rate"].value, found["lost"].value, found["win_rate"].n) == (0.5, 0.5, 4)
    assert found["consistent"].n == 2


def test_what_is_missing_counts_against_both_conclusions() -> None:
    known = [measured("output")] * 10

    found, complete = concluded(*known, *[UNKNOWN] * 3), concluded(*known)
    as_losses, as_wins = concluded(*known, *[LOST] * 3), concluded(*known, *[measured("output")] * 3)

    assert (found["win_rate"].value, found["win_rate"].n) == (1, 10)
    assert "3 missing" in found["win_rate"].method
    assert found["win_rate"].interval is not None
    assert as_losses["win_rate"].interval is not None
    assert found["win_rate"].interval[0] == as_losses["win_rate"].interval[0]
    assert found["win_rate"].interval[1] == 1
    assert found["p_output_better"] == as_losses["p_output_better"] != complete["p_output_better"]
    assert found["p_baseline_better"] == as_wins["p_baseline_better"]


@pytest.mark.parametrize("scored", [[], all_of([UNKNOWN, UNKNOWN])])
def test_without_scores_there_is_no_win_rate(scored: list[Scored]) -> None:
    found = Preference().summarize(scored)

    assert (found["win_rate"].value, found["win_rate"].n, found["win_rate"].interval) == (None, 0, None)
    assert (found["prefers_first"].value, found["consistent"].value) == (None, None)
