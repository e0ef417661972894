"""How each row of a table fared, and which slices of it are named."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import pytest

from simeval import ProportionEvaluator
from simeval.core.conversation import Conversation
from simeval.core.trial import UNNEEDED, Failure, Score, Trial, TrialResult
from simeval.results.cases import CaseTable, case_of, table_of

ROWS = [
    {"nights": nights, "breakfast": breakfast, "room": room}
    for nights, breakfast, room in product(range(1, 8), (True, False), ("single", "double", "suite"))
]
RULE = ProportionEvaluator(1, 0.9)
CRASH = Failure(stage="app", error="it broke", cause="app")
LOST = Failure(stage="judge", error="no answer", cause="timeout")


def table(rows: Sequence[Mapping[str, Any]], results: Sequence[Score | Failure], **options: Any) -> CaseTable | None:
    found = [
        case_of(
            TrialResult(
                trial=Trial(0, index, index),
                conversation=Conversation(),
                results=(result,),
                columns={"inputs": rows[index % len(rows)]},
            )
        )
        for index, result in enumerate(results)
    ]
    keys, values = [case and case[0] for case in found], dict(case for case in found if case)
    return table_of(keys, results, [RULE], values=values, **options)


def failing(is_bad: Callable[[Mapping[str, Any]], bool], *, times: int = 1) -> CaseTable:
    found = table(ROWS, [Score(value=float(not is_bad(row))) for row in ROWS] * times)
    assert found is not None
    return found


@pytest.mark.parametrize(("times", "counts"), [(1, "12 of 12 against 0 of 30"), (3, "36 of 36 against 0 of 90")])
def test_the_pair_of_columns_that_fails_is_named_with_its_counts(times: int, counts: str) -> None:
    found = failing(lambda row: row["nights"] >= 4 and row["breakfast"], times=times)

    [named] = found.slices
    assert str(found) == (
        "30 of 42 rows tried were met in every trial; of 113 slices looked at, nights >= 4 with breakfast fails more "
        f"often than the rest ({counts})"
    )
    assert named.p_value < 0.001
    assert named.interval[0] > 0.45


@pytest.mark.parametrize(
    ("is_bad", "words"),
    [
        (lambda row: row["room"] == "suite" and not row["breakfast"], ["room = suite without breakfast"]),
        (lambda row: not row["breakfast"], ["without breakfast"]),
        (lambda row: row["nights"] < 3 and row["room"] == "single", ["nights < 3 and room = single"]),
        (
            lambda row: (row["nights"] >= 5 and row["breakfast"]) or (row["nights"] < 4 and not row["breakfast"]),
            ["nights >= 5 with breakfast", "nights < 4 without breakfast"],
        ),
    ],
)
def test_slices_are_named_in_words_the_worst_first_and_no_row_twice(
    is_bad: Callable[[Mapping[str, Any]], bool], words: list[str]
) -> None:
    assert {each.words for each in failing(is_bad).slices} == {*words}


def test_failures_without_a_reason_in_the_columns_name_nothing() -> None:
    found = failing(
        lambda row: (row["nights"], row["room"], row["breakfast"]) in [(1, "suite", True), (4, "single", False)]
    )

    assert str(found) == (
        "40 of 42 rows tried were met in every trial; of 113 slices looked at, none fails more often than the rest"
    )


def test_rows_that_fail_most_come_first_and_missing_trials_do_not_count() -> None:
    rows = [{"row": name} for name in "abc"]
    good, bad = Score(value=1), Score(value=0)

    found = table(rows, [good, bad, CRASH, good, good, bad, LOST, LOST, UNNEEDED])

    assert found is not None
    assert [(each.values["row"], each.met, each.n) for each in found.rows] == [("c", 0, 2), ("b", 1, 2), ("a", 2, 2)]


def test_failures_of_the_app_may_be_left_out() -> None:
    found = table([{"row": 1}, {"row": 2}], [Score(value=1), CRASH], leaves_out_crashes=True)

    assert found is not None
    assert [each.values for each in found.rows] == [{"row": 1}]


def test_where_every_row_is_met_no_slice_is_looked_at() -> None:
    assert str(failing(lambda _: False)) == "42 of 42 rows tried were met in every trial"


def test_trials_without_a_row_have_no_table() -> None:
    assert table([{}], [Score(value=1)]) is None


def test_texts_that_are_different_in_each_row_make_no_slices() -> None:
    rows = [{"id": f"row {number}", "kind": "ab"[number % 2], "note": None} for number in range(20)]

    found = table(rows, [Score(value=float(number % 2)) for number in range(20)])

    assert found is not None
    assert found.looked_at == 2
    assert [each.words for each in found.slices] == ["kind = a"]
