"""A comparison as a whole: what is proven of it, which gate it meets, how it is printed and given as JSON."""

import json
import re
from typing import Any

import pytest
from wcwidth import width as cells

from simeval import compare
from simeval.analysis.comparison_report import Comparison, comparison_text, encode_comparison
from simeval.core.terminal import Terminal
from tests.support.results import again, experiment, mean, pairs, run, scenario, share

GOOD, SAME, LOST = share([True] * 60), share([True] * 60, label="b"), share([False] * 60, label="b")
COLOUR = re.compile("\x1b\\[[0-9;]*m")
FIVES = [5.0] * 60


def suites(old: list[dict[str, Any]], new: list[dict[str, Any]], **options: Any) -> Comparison:
    """Compare two runs with these expectations; a mean among them is 5 in every trial."""
    return compare(run(scenario(*old, scores=FIVES)), run(scenario(*new, scores=FIVES), run_id="two"), **options)


def test_the_whole_is_not_worse_where_all_that_has_a_margin_is_proven_and_nothing_is_worse() -> None:
    found = suites([GOOD, SAME, mean()], [GOOD, SAME, mean()])

    assert [change.finding for change in found.changes] == ["not worse", "not worse", "unclear"]
    assert (found.finding, found.passed) == ("not worse", True)


def test_one_loss_makes_the_whole_worse() -> None:
    found = suites([GOOD, SAME, mean()], [GOOD, LOST, mean()])

    assert (found.finding, found.passed) == ("worse", False)
    assert found.false_worse_bound == pytest.approx(0.15)


def test_one_share_that_is_not_proven_makes_the_whole_unclear() -> None:
    few = share([True] * 58, label="b")

    assert suites([GOOD, few], [GOOD, few]).finding == "unclear"


def test_a_gain_is_proof_as_well() -> None:
    assert suites([LOST, GOOD], [SAME, GOOD]).finding == "better"
    slower, faster = (experiment({"seconds": [s] * 12}, kind="mean", direction="lower") for s in (5.0, 1.0))
    assert compare(slower, faster).passed


def test_means_that_did_not_change_are_no_proof() -> None:
    found = suites([mean()], [mean()])

    assert (found.finding, found.passed) == ("unclear", False)
    assert "nothing here has a margin: use --gate not_proven_worse" in " ".join(str(found).split())


def test_a_notebook_shows_it_and_a_test_asserts_it() -> None:
    found = suites([SAME], [LOST])

    assert found._repr_html_().startswith("<pre>WORSE")
    with pytest.raises(AssertionError, match="WORSE"):
        found.assert_passed()
    with pytest.raises(TypeError, match=r"use result\.passed"):
        assert found
    suites([GOOD, SAME], [GOOD, SAME]).assert_passed()


@pytest.mark.parametrize("direction", ["none", None])
def test_what_has_no_direction_is_no_proof_and_stands_in_no_way(direction: str | None) -> None:
    described = experiment({"length": [1.0] * 60}, kind="mean", direction=direction)
    with_share = experiment({"right": [1.0] * 60, "length": [1.0] * 60})
    with_share["metrics"][1] |= {"kind": "mean", "direction": direction}

    assert compare(described, again(described)).finding == "unclear"
    assert compare(with_share, again(with_share)).finding == "not worse"


@pytest.mark.parametrize("sort", ["suites", "experiments"])
@pytest.mark.parametrize(
    ("before", "now", "strict", "lenient"),
    [
        ([True] * 60, [True] * 60, True, True),
        ([True] * 58, [True] * 58, False, True),
        ([True] * 60, [False] * 60, False, False),
        ([False] * 60, [True] * 60, True, True),
    ],
)
def test_the_gates_ask_for_proof_or_for_no_proof_of_a_loss(
    sort: str, before: list[bool], now: list[bool], strict: bool, lenient: bool
) -> None:
    runs = (
        [again(run(scenario(share(met)))) for met in (before, now)]
        if sort == "suites"
        else [experiment({"right": met}) for met in (before, now)]
    )

    assert compare(*runs).passed is strict
    assert compare(*runs, gate="not_proven_worse").passed is lenient


def test_a_loss_proven_smaller_than_the_margin_passes_of_suites_and_of_experiments() -> None:
    before, now = pairs(280, 0, 6)

    suite = compare(run(scenario(share(before))), run(scenario(share(now)), run_id="two"))
    dataset = compare(experiment({"right": before}), experiment({"right": now}))

    assert [found.changes[0].reason for found in (suite, dataset)] == ["within_margin"] * 2
    assert suite.passed is dataset.passed is True
    assert suite.changes[0].p_worse == dataset.changes[0].p_worse
    assert suite.changes[0].p_not_worse == dataset.changes[0].p_not_worse


def test_the_chance_of_a_false_pass_is_bounded_by_the_gate_that_asks_for_proof() -> None:
    assert suites([GOOD], [GOOD], alpha=0.1).false_pass_bound == 0.1
    assert suites([GOOD], [GOOD], gate="not_proven_worse").false_pass_bound is None


def test_it_says_what_is_found_then_shows_the_table_and_the_reasons() -> None:
    before, now = pairs(35, 3, 9, 3)

    lines = str(compare(run(scenario(share(before))), run(scenario(share(now)), run_id="two"))).splitlines()

    assert lines[0] == "UNCLEAR  the requirement is unclear"
    assert lines[1].startswith("gate not_worse: not met (it requires that ")
    assert lines[4].split() == [*("requirement", "finding", "before", "now", "change", "interval", "pairs", "p")]
    assert lines[6:8] == ["A scenario", lines[7]]
    assert "UNCLEAR  44 of 50  38 of 50  -12 pts" in lines[7]
    assert "    worse: trials 38, 39, 40, 41, 42, 43, 44, 45, 1 more" in lines
    assert "    better: trials 35, 36, 37" in lines
    assert "found worse with probability at most 5%" in " ".join(" ".join(lines).split())
    assert lines[-1].startswith("baseline run one")


def test_experiments_have_one_table_of_metrics() -> None:
    old, new = experiment({"right": [1] * 12, "fast": [0.5] * 12}), experiment({"right": [0] * 12, "fast": [1] * 12})

    text = str(compare(old, new))

    assert text.startswith("WORSE  1 of 2 metrics is worse, 1 is better; on 12 examples of both")
    assert "\nmetric  finding  before" in text
    assert "fast    BETTER   50%" in text


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_terminal_whatever_a_label_is_written_in(width: int) -> None:
    old, new = ([share([met] * 60, label=label) for label in ("helps", "请求确认订单号码 🔥")] for met in (True, False))
    found = suites(old, new)

    plain = comparison_text(found, Terminal(width=width))
    coloured = comparison_text(found, Terminal(width=width, colour=True))

    assert max(map(cells, plain.splitlines())) <= width
    assert COLOUR.sub("", coloured) == plain != coloured


def test_the_json_form_has_the_same_keys_for_suites_and_experiments() -> None:
    suite = encode_comparison(suites([GOOD, mean()], [GOOD, mean()]))
    dataset = encode_comparison(compare(experiment({"right": [1]}), experiment({"right": [1]})))

    assert (suite["kind"], dataset["kind"]) == ("suites", "experiments")
    assert list(suite) == list(dataset)
    assert list(suite["changes"][0]) == list(dataset["changes"][0])
    assert list(suite["baseline"]) == list(dataset["baseline"])


def test_the_json_form_holds_every_requirement() -> None:
    old = run(scenario(share([True] * 60), mean(), scores=FIVES))

    found = json.loads(json.dumps(encode_comparison(compare(old, again(old))), allow_nan=False))

    assert (found["finding"], found["gate"], found["passed"], found["paired"]) == ("not worse", "not_worse", True, True)
    assert [row["finding"] for row in found["changes"]] == ["not worse", "unclear"]
    assert found["changes"][0]["baseline"] == {"size": 60, "missing": 0, "n": 60, "value": 1.0, "met": 60}
    assert (found["baseline"]["run_id"], found["baseline"]["seed"], found["baseline"]["only_here"]) == ("one", 7, [])


def test_the_json_form_tells_the_examples_that_changed() -> None:
    found = encode_comparison(compare(experiment({"right": [1] * 9}), experiment({"right": [0] * 8 + [1]})))

    assert found["passed"] is False
    assert found["changes"][0]["regressed"][0] == {"key": "k0", "index": 0, "before": 1.0, "now": 0.0}
