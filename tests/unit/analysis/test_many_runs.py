"""Several runs against one baseline: one table, and one correction over all of their tests."""

from typing import Any

import pytest

from simeval.analysis.comparison import compare
from simeval.analysis.many_runs import ManyRuns, compare_many, encode_many, many_text
from simeval.core.terminal import Terminal
from simeval.errors import DefinitionError
from simeval.stats.multiple import holm
from tests.support.results import run, scenario, share


def of(*misses: int, size: int = 100, app: str = "app") -> dict[str, Any]:
    """Return a run whose requirements were missed so often; the first trials are those that miss."""
    told = [
        scenario(share([trial >= n for trial in range(size)]), title=f"number {place}")
        for place, n in enumerate(misses)
    ]
    return run(*told, run_id=f"{app} {misses}", app=app)


BASELINE = of(0, 0)
WORSE, SLIGHTLY, SAME = of(20, 0, app="bad"), of(6, 0, app="doubtful"), of(0, 0, app="same")


def test_p_values_are_corrected_over_all_runs_and_requirements() -> None:
    alone = [compare(BASELINE, each) for each in (WORSE, SLIGHTLY, SAME)]

    many = ManyRuns.of(alone)

    raw = [change.p_worse for each in alone for change in each.changes]
    found = [change.p_worse for each in many.comparisons for change in each.changes]
    assert found == holm([p for p in raw if p is not None])


def test_what_the_correction_does_not_leave_is_unclear_and_says_so() -> None:
    alone = [compare(BASELINE, each) for each in (WORSE, SLIGHTLY, SAME)]

    many = ManyRuns.of(alone)

    assert [each.changes[0].finding for each in alone] == ["worse", "worse", "not worse"]
    assert [each.changes[0].finding for each in many.comparisons] == ["worse", "unclear", "not worse"]
    assert many.comparisons[1].changes[0].explanation.endswith("unclear, where Holm's correction counts all runs")
    assert not many.passed


def test_runs_are_compared_as_two_are_and_corrected_over_all() -> None:
    many = compare_many(BASELINE, [WORSE, SLIGHTLY, SAME], margin=0.1)

    assert many == ManyRuns.of([compare(BASELINE, each, margin=0.1) for each in (WORSE, SLIGHTLY, SAME)])
    assert [each.changes[0].finding for each in many.comparisons] == ["worse", "unclear", "not worse"]


@pytest.mark.parametrize(
    ("candidates", "said"),
    [
        ([], "compare_many: found '0 candidates'; give two or more"),
        ([SAME], "found '1 candidates'"),
        ([SAME, WORSE, SAME], "two are run same"),
        ([WORSE, BASELINE], "a run is not better or worse than itself"),
    ],
)
def test_runs_that_are_no_several_are_refused(candidates: Any, said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        compare_many(BASELINE, candidates)


def test_all_candidates_must_meet_the_gate() -> None:
    assert ManyRuns.of([compare(BASELINE, of(0, 0, app=name)) for name in ("one", "two")]).passed


def test_one_comparison_alone_with_one_test_stays_as_it_is() -> None:
    alone = compare(of(0), of(20, app="bad"))

    assert ManyRuns.of([alone]).comparisons == (alone,)


def test_runs_of_one_app_are_told_apart_by_their_ids() -> None:
    many = ManyRuns.of([compare(BASELINE, each) for each in (of(0, 0, app="same"), of(20, 0, app="same"), WORSE)])

    told = many_text(many, Terminal(width=200))

    assert "same (same (0, 0)): " in told
    assert "same (same (20, 0)): " in told
    assert "bad: " in told


@pytest.mark.parametrize("width", [60, 80, 140])
def test_the_table_has_a_column_for_each_run_and_the_worst_first(width: int) -> None:
    many = ManyRuns.of([compare(BASELINE, each) for each in (WORSE, of(0, 7, app="other"))])

    text = many_text(many, Terminal(width=width))

    assert max(map(len, text.splitlines())) <= width
    assert text.splitlines()[0].startswith("WORSE  bad: 1 of 2 requirements is worse")
    assert text.index("number 0") < text.index("number 1", text.index("number 0"))
    assert "80 of 100 WORSE" in text
    assert "Holm's correction holds over all 4 tests" in " ".join(text.split())


def test_as_json_it_says_what_was_corrected() -> None:
    document = encode_many(ManyRuns.of([compare(BASELINE, each) for each in (WORSE, SAME)]))

    assert (document["passed"], document["correction"], len(document["comparisons"])) == (False, "holm", 2)
