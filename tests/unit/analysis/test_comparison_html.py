"""The report of a comparison: its head in words, and the pairs that changed with both conversations."""

import json
import re
import zlib
from base64 import b64decode
from pathlib import Path
from typing import Any

from simeval import compare
from tests.support.results import experiment
from tests.support.stored_runs import requirement, run_of, scenario_of


def report_of(before: dict[str, Any], now: dict[str, Any], folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the head of the report of a comparison, and its first block."""
    compare(before, now).to_html(folder / "report.html", before, now)
    page = (folder / "report.html").read_text("utf-8")
    found = dict(re.findall(r'<script type="text/plain" id="([\w-]+)">([^<]*)</script>', page))
    head, block = (json.loads(zlib.decompress(b64decode(found[name]))) for name in ("head", "block-0"))
    return head["report"], block


def suite(*met: bool) -> dict[str, Any]:
    expectation = requirement("helps", list(met))
    scenario = {**scenario_of("A", expectation), "outcome": "pass"}
    for each in scenario["expectations"]:
        each["outcome"] = "pass"
    return run_of(scenario)


def test_pairs_that_got_worse_come_first_with_both_conversations(tmp_path: Path) -> None:
    before, now = suite(True, True, False), suite(True, False, True)

    head, block = report_of(before, {**now, "run_id": "run-2"}, tmp_path)

    assert [(each["index"], each["reason"]) for each in block["trials"]] == [
        (1, "Got worse: helps"),
        (2, "Got better: helps"),
    ]
    assert [each["pair"]["scores"]["helps"]["score"] for each in block["trials"]] == [9, 2]
    assert [head["changes"][0]["worse"], head["changes"][0]["better"]] == [[1], [2]]


def test_the_head_says_what_is_proven_of_the_whole(tmp_path: Path) -> None:
    head, _ = report_of(suite(*[True] * 80), {**suite(*[True] * 80), "run_id": "run-2"}, tmp_path)

    assert (head["kind"], head["outcome"]) == ("comparison", "not worse")
    assert head["headline"] == "The new version is proven not to be worse"
    assert head["meaning"][0] == "Of 1 requirement 1 is proven not worse."


def test_a_version_that_is_better_has_a_report_that_says_so(tmp_path: Path) -> None:
    head, _ = report_of(suite(*[False] * 80), {**suite(*[True] * 80), "run_id": "run-2"}, tmp_path)

    assert (head["outcome"], head["headline"]) == ("better", "The new version is proven better")


def test_a_metric_that_fell_has_a_picture_and_says_so(tmp_path: Path) -> None:
    fields: dict[str, Any] = {"answers": 40, "outcome": None, "expectations": []}
    before, now = (experiment({"right": [value] * 40}, **fields) for value in (1, 0))
    for each in (before, now):
        each["dataset"]["size"] = 40

    head, block = report_of(before, {**now, "run_id": "s"}, tmp_path)

    assert [(each["name"], each["finding"]) for each in head["changes"]] == [("right", "worse")]
    assert head["changes"][0]["picture"][0] == "svg"
    assert block["trials"] == []  # the results hold no conversations
