"""The pictures of a report: where they draw what."""

from dataclasses import replace
from math import inf
from typing import Any

import pytest

from simeval.core.setting_field import StopAt
from simeval.core.trial import Bar, Chart, Verdict
from simeval.evaluators.scores import SuccessRateEvaluator
from simeval.results.document import ScoreCut
from simeval.results.html.charts import Node, as_svg, histogram, interval_chart, region_chart, region_key
from simeval.results.html.sentences import way

PASSES, PROVEN, UNLIKELY = "passes here", "proven below the bar", "a pass has become unlikely: the run ends"
BAR = Bar(value=0.9, low=0, high=1, is_lower_bound=True)


def parts(node: Node, kind: str) -> list[dict[str, Any]]:
    """Return the attributes of the parts of a picture with this class."""
    found = [node[1]] if node[1].get("class", "").split(" ")[0] == kind else []
    return found + [each for child in node[2:] if isinstance(child, list) for each in parts(child, kind)]


def verdict_of(*ratings: float, n_max: int = 100, stop: StopAt | None = None) -> Verdict:
    evaluator = SuccessRateEvaluator(min_proportion=0.9)
    used = evaluator.with_defaults(significance_level=0.05, early_stopping=True, min_trials=1)
    test = used.running_test(n_max, stop=stop)
    for rating in ratings:
        test.take(rating)
    return test.verdict()


def chart_of(verdict: Verdict) -> Chart:
    assert verdict.chart is not None
    return verdict.chart


def test_an_interval_ends_before_the_bar_that_it_does_not_reach() -> None:
    picture = interval_chart(BAR, (0.2, 0.8), 0.5, outcome="fail", label="it fails")
    [bar], [reach] = parts(picture, "bar"), parts(picture, "range")

    assert reach["x"] + reach["width"] < bar["x1"]


def test_an_interval_without_an_end_is_drawn_to_the_end_of_the_scale() -> None:
    picture = interval_chart(BAR, (-inf, inf), None, outcome="inconclusive", label="open")
    [scale], [reach] = parts(picture, "scale"), parts(picture, "range")

    assert (reach["x"], reach["x"] + reach["width"]) == (scale["x1"], scale["x2"])


def test_each_conversation_is_a_dot_that_names_it() -> None:
    chart = replace(chart_of(verdict_of(9, 2, float("nan"), 9)), excluded=(1,))
    dots = parts(region_chart(chart, label="its way"), "dot")

    assert [(dot["class"], dot["data-trial"]) for dot in dots] == [
        ("dot met", 0),
        ("dot missed", 2),
        ("dot missing", 3),
        ("dot met", 4),
    ]


def test_the_way_to_a_pass_ends_in_the_area_where_it_passes() -> None:
    picture = region_chart(chart_of(verdict_of(*[9] * 60)), label="passed")
    [area], dots = parts(picture, "passing"), parts(picture, "dot")
    corners = [tuple(map(float, each.split(","))) for each in area["points"].split()]

    assert min(x for x, _ in corners) == dots[-1]["cx"]
    assert min(y for _, y in corners) <= dots[-1]["cy"] <= max(y for _, y in corners)


def test_the_sentence_beside_a_way_says_how_it_ended() -> None:
    assert way(chart_of(passed := verdict_of(*[9] * 100)), passed).startswith("Passed: 0 misses in ")
    assert way(chart_of(failed := verdict_of(*[1] * 100)), failed).startswith("Failed: ")
    assert way(chart_of(small := verdict_of(*[9] * 10, n_max=10)), small).endswith("cannot be proven at all.")


def test_a_score_that_speaks_for_the_requirement_has_another_colour() -> None:
    picture = histogram([2, 2, 9], ScoreCut(">=", 6).holds, label="scores")

    assert [bar["height"] > 0 for bar in parts(picture, "missed")] == [True]
    assert sum(bar["height"] > 0 for bar in parts(picture, "met")) == 1


def test_what_is_written_into_a_picture_is_text() -> None:
    assert as_svg(["text", {"title": '"<'}, "</svg><script>"]) == (
        '<text title="&quot;&lt;">&lt;/svg&gt;&lt;script&gt;</text>'
    )


def test_a_run_that_ends_because_a_pass_is_unlikely_ends_in_the_area_for_it_and_says_why() -> None:
    verdict = verdict_of(*[9] * 12, 2, 2, 2, stop="unlikely")
    picture = region_chart(chart_of(verdict), label="its way")
    [area], dots = parts(picture, "nopass"), parts(picture, "dot")
    corners = [tuple(map(float, each.split(","))) for each in area["points"].split()]

    assert verdict.reason == "pass_unlikely"
    assert min(x for x, _ in corners) <= dots[-1]["cx"] <= max(x for x, _ in corners)
    assert dots[-1]["cy"] <= max(y for _, y in corners)
    said = "Stopped: 3 misses in 15 conversations. A pass had become too unlikely (0.91%), so the run stopped."
    assert way(chart_of(verdict), verdict) == said


def test_a_chart_of_an_older_result_has_no_such_area() -> None:
    chart = chart_of(verdict_of(9, 2, 9, 2, 9, 2, stop="unlikely"))

    [area] = parts(region_chart(replace(chart, end_at=()), label="its way"), "nopass")

    assert "points" not in area


@pytest.mark.parametrize(
    ("stop", "ratings", "n_max", "meanings"),
    [
        ("unlikely", [9] * 12 + [2] * 3, 100, [PASSES, UNLIKELY, PROVEN]),
        ("gate", [2] * 6, 100, [PASSES, "no pass possible any more", PROVEN]),
        ("verdict", [9] * 5, 20, ["no pass possible any more", PROVEN]),  # 20 are too few for a pass
    ],
)
def test_the_legend_names_the_areas_that_are_drawn(
    stop: StopAt, ratings: list[float], n_max: int, meanings: list[str]
) -> None:
    chart = chart_of(verdict_of(*ratings, n_max=n_max, stop=stop))

    key = region_key(chart, region_chart(chart, label="its way"))

    assert [meaning for _, meaning in key] == meanings
