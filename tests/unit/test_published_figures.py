"""Figures of pages that say their counts: each interval is what the counts, or the n, give."""

import re
from math import atanh, sqrt, tanh
from pathlib import Path

import pytest

from simeval.stats.binomial import clopper_pearson

GUIDES = Path(__file__).resolve().parents[2] / "docs/guides"
SHARES = re.findall(
    r"(\.\d+) \[(\.\d+), (\.\d+)\]\s+\((\d+) of (\d+)", (GUIDES / "alignment.md").read_text(encoding="utf-8")
)
CORRELATIONS = re.findall(
    r"^\| [^|]+ \| (\d+) \| (\.\d+) \[(\.\d+), (\.\d+)\]", (GUIDES / "sentiment.md").read_text(encoding="utf-8"), re.M
)


@pytest.mark.parametrize("figure", SHARES)
def test_a_share_has_the_exact_interval_of_its_counts(figure: tuple[str, ...]) -> None:
    share, low, high, count, n = map(float, figure)

    assert share == pytest.approx(count / n, abs=0.005)
    assert (low, high) == pytest.approx(clopper_pearson(int(count), int(n), 0.025), abs=0.0051)


@pytest.mark.parametrize("figure", CORRELATIONS)
def test_a_correlation_has_fishers_interval_of_its_n(figure: tuple[str, ...]) -> None:
    n, r, low, high = map(float, figure)
    half = 1.96 / sqrt(n - 3)

    assert (low, high) == pytest.approx((tanh(atanh(r) - half), tanh(atanh(r) + half)), abs=0.011)


def test_what_was_kept_back_is_among_them() -> None:
    assert {share for share, *_ in SHARES} == {".39", ".25"}
    assert ("992", ".675", ".64", ".71") in CORRELATIONS
