"""Experiments and their sums as recorded from W&B Weave 0.54.0 and langsmith 0.14.17."""

from collections.abc import Mapping
from math import nan
from typing import Any

import pytest

from simeval import Engine, Scorer, scorer
from simeval.datasets.dataset import Dataset, Example, check_dataset
from simeval.results.estimates import estimate_mean
from simeval.results.experiment import ExperimentResult
from tests.support.golden_cases import chosen, ids

pytestmark = pytest.mark.anyio

SUMS = ids("weave", 82, 83, 84)
EXPERIMENTS = ids("weave", 85, 86, 88)
COVERED = {"weave": SUMS | EXPERIMENTS, "langsmith": ids("langsmith", 52)}

WRONG = {
    "weave-082": "NaN is no value: it is missing from the mean, and counted as that",
    "weave-084": "the variance of a sample divides by n - 1; with n an interval is too narrow",
    "weave-086": "a scorer that raises costs its own score and no other",
    "weave-088": "two scorers of one class have names of their own",
    "langsmith-052": "a failed run has no output: it was not answered, and no scorer measures it",
}


def dataset(rows: list[dict[str, Any]]) -> Dataset:
    examples = [Example(inputs={"q": row["q"]}, outputs={"expected": row["expected"]}) for row in rows]
    return check_dataset(lambda: examples, name="golden")


@scorer
def match(output: str, expected: str) -> bool:
    return output == expected


def upper(q: str) -> str:
    if q == "boom":
        raise ValueError("x")
    return q.upper()


async def evaluated(rows: list[dict[str, Any]], *scorers: object) -> ExperimentResult:
    return await Engine(store=None, seed=1, display="none").evaluate(dataset(rows), upper, scorers=scorers)


@pytest.mark.parametrize("case", chosen("weave", ids("weave", 82)))
def test_a_mean_leaves_out_what_is_no_number(case: Any) -> None:
    values = [nan if row["s"] == "NaN" else row["s"] for row in case["inputs"]["rows"]]

    found = estimate_mean(values)

    assert (found.value, found.n) == (1.0, 1)
    assert case["expected"]["s"]["mean"] == "NaN"
    assert case["id"] in WRONG


@pytest.mark.parametrize("case", chosen("weave", ids("weave", 83, 84)))
def test_an_interval_rests_on_the_variance_of_a_sample(case: Any) -> None:
    found = estimate_mean(case["inputs"]["data"], alpha=0.025)

    assert found.interval is not None
    standard_error = (found.interval[1] - found.interval[0]) / 2 / 2.7764451051977987  # t of 4 degrees at 97.5%
    if case["id"] in WRONG:
        assert 5 * standard_error**2 == pytest.approx(case["expected"] * 5 / 4)
    else:
        assert standard_error == pytest.approx(case["expected"])


@pytest.mark.parametrize("case", chosen("weave", ids("weave", 85)))
async def test_an_app_that_raises_has_not_answered_rightly(case: Any) -> None:
    result = await evaluated(case["inputs"]["rows"], match)

    expected = case["expected"]["s1"]["match"]
    assert result.metric("match").estimate.value == pytest.approx(expected["true_fraction"])
    assert sum(value == 1 for value in result.values["match"]) == expected["true_count"]


@pytest.mark.parametrize("case", chosen("weave", ids("weave", 86)))
async def test_a_scorer_that_raises_costs_no_other_its_score(case: Any) -> None:
    @scorer
    def bad(output: str) -> Mapping[str, float]:
        if output == "A":
            raise RuntimeError("bad")
        return {"v": 1.0}

    result = await evaluated(case["inputs"]["rows"], bad, match)

    assert result.metric("bad.v").estimate.value == case["expected"]["bad"]["v"]["mean"]
    assert result.metric("match").estimate.value == 0.5 != case["expected"]["s1"]["match"]["true_fraction"]
    assert case["id"] in WRONG


@pytest.mark.parametrize("case", chosen("weave", ids("weave", 88)))
async def test_no_scorer_overwrites_another(case: Any) -> None:
    class Thr(Scorer):
        def __init__(self, least: int) -> None:
            self.least = least

        def score(self, output: str) -> Mapping[str, bool]:
            return {"ok": len(output) > self.least}

    rows = [{"q": output.lower(), "expected": ""} for output in case["inputs"]["outputs"]]
    result = await evaluated(rows, Thr(0), Thr(5))

    shares = [result.metric(name).estimate.value for name in ("Thr.ok", "Thr (2).ok")]
    assert shares == [1.0, case["expected"]["Thr"]["ok"]["true_fraction"]]
    assert case["id"] in WRONG


@pytest.mark.parametrize("case", chosen("langsmith", ids("langsmith", 52)))
async def test_an_app_that_raises_is_scored_by_nobody(case: Any) -> None:
    rows = [{"q": inputs["q"], "expected": outputs["a"]} for inputs, outputs in case["inputs"]["rows"]]

    result = await evaluated(rows, match, scorer(lambda output: {"k1": 1, "k2": "cat"}, name="k"))

    accuracy = [row[2][0][1] for row in case["expected"]["rows"]]
    assert [None if value != value else bool(value) for value in result.values["match"]] == accuracy
    assert result.metric("k.k1").estimate.n == 2
    assert result.metric("k.k1").crashed == 1
    assert case["expected"]["rows"][2][2][1][1] == 1  # langsmith scores the failed run
    assert dict(case["expected"]["summary"])["answered"] == 1.0
    assert case["id"] in WRONG
