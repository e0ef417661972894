"""Measures of a classifier against their definitions, and their bootstrap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.stats.classification import NONE, bootstrap_intervals, count_answers, measures

N_CLASSES = 3
ANSWERS = st.lists(
    st.tuples(st.integers(0, N_CLASSES - 1), st.integers(NONE, N_CLASSES - 1), st.integers(0, 5)),
    min_size=1,
    max_size=40,
)


def by_definition(answers: list[tuple[int, int, int]], place: int) -> dict[str, float]:
    hits = sum(actual == predicted == place for actual, predicted, _ in answers)
    right = sum(actual == place for actual, _, _ in answers)
    said = sum(predicted == place for _, predicted, _ in answers)
    nothing = float("nan")
    return {
        "precision": hits / said if said else nothing,
        "recall": hits / right if right else nothing,
        "f1": 2 * hits / (right + said) if right + said else nothing,
        "support": right,
    }


@given(ANSWERS)
def test_measures_are_as_defined_and_0_of_0_is_none_of_them(answers: list[tuple[int, int, int]]) -> None:
    actual, predicted, examples = zip(*answers, strict=True)

    found = measures(count_answers(actual, predicted, examples, n_classes=N_CLASSES))

    rows = [by_definition(answers, place) for place in range(N_CLASSES)]
    seen = [row for row in rows if row["support"]]
    for name in ("precision", "recall", "f1"):
        assert found[name] == pytest.approx([row[name] for row in rows], nan_ok=True)
        assert float(found[f"macro.{name}"]) == pytest.approx(sum(row[name] for row in rows) / 3, nan_ok=True)
        weighted = sum(row[name] * row["support"] for row in seen) / len(answers)
        assert float(found[f"weighted.{name}"]) == pytest.approx(weighted, nan_ok=True)
    hits = sum(actual == predicted for actual, predicted, _ in answers)
    assert float(found["micro.recall"]) == pytest.approx(hits / len(answers))


def test_answers_of_one_example_are_drawn_together() -> None:
    alone = count_answers([0, 1] * 100, [0, 0] * 100, range(200), n_classes=2)
    together = count_answers([0, 1] * 100, [0, 0] * 100, [each // 20 for each in range(200)], n_classes=2)

    independent = bootstrap_intervals(alone, ["micro.recall"], alpha=0.025)["micro.recall"][0]
    clustered = bootstrap_intervals(together, ["micro.recall"], alpha=0.025)["micro.recall"][0]

    assert independent.low < 0.45 < 0.55 < independent.high
    assert clustered.low == clustered.high == 0.5


def test_the_draws_are_those_of_resampled_examples() -> None:
    random = np.random.default_rng(5)
    actual = random.integers(0, N_CLASSES, 120)
    predicted = np.where(random.random(120) < 0.7, actual, random.integers(NONE, N_CLASSES, 120))

    answers = count_answers(actual.tolist(), predicted.tolist(), range(120), n_classes=N_CLASSES)
    found = bootstrap_intervals(answers, ["macro.f1"], alpha=0.025, n_draws=4000)["macro.f1"][0]

    drawn = []
    for _ in range(2000):
        chosen = random.integers(120, size=120)
        again = count_answers(actual[chosen].tolist(), predicted[chosen].tolist(), range(120), n_classes=N_CLASSES)
        drawn.append(float(measures(again)["macro.f1"]))
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.015)


def test_the_same_seed_gives_the_same_intervals() -> None:
    answers = count_answers([0, 0, 1, 1, 1], [0, 1, 1, 1, NONE], range(5), n_classes=2)

    first, again = (bootstrap_intervals(answers, ["f1"], alpha=0.025, seed=4) for _ in range(2))

    assert first == again != bootstrap_intervals(answers, ["f1"], alpha=0.025, seed=5)


def test_draws_without_a_class_are_counted_and_left_out() -> None:
    answers = count_answers([0] * 9 + [1], [0] * 8 + [1, 1], range(10), n_classes=2)

    of_common, of_rare = bootstrap_intervals(answers, ["recall"], alpha=0.025, n_draws=1000)["recall"]

    assert of_common.n_undefined == 0
    assert of_rare.n_undefined / 1000 == pytest.approx(0.9**10, abs=0.06)
    assert (of_rare.low, of_rare.high) == (1.0, 1.0)


def test_nothing_cannot_be_resampled() -> None:
    with pytest.raises(ValueError, match="There are no answers to draw from"):
        bootstrap_intervals(count_answers([], [], [], n_classes=2), ["f1"], alpha=0.025)
