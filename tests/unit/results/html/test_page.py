"""The page of a report: one file, small, closed, and what is in it."""

import json
import re
import zlib
from base64 import b64decode
from dataclasses import replace
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from simeval.errors import StoreError
from simeval.results.html.blocks import LEAST_KEPT, packed, scenario_blocks
from simeval.results.html.source import DocumentSource
from simeval.results.suite import SuiteResult
from tests.support.records import RUN, rated
from tests.support.reported import HOSTILE, hostile

ASSETS = files("simeval.results.html").joinpath("assets")
NAMESPACE = "http://www.w3.org/2000/svg"  # a name, which nothing is loaded from
MOST_BYTES = 80_000


def page_of(result: SuiteResult, folder: Path) -> str:
    result.to_html(folder / "report.html")
    return (folder / "report.html").read_text("utf-8")


def unpacked(text: str) -> Any:
    return json.loads(zlib.decompress(b64decode(text)))


def block_of(page: str, name: str) -> Any:
    found = re.search(rf'<script type="text/plain" id="{name}">([^<]*)</script>', page)
    assert found is not None
    return unpacked(found[1])


def test_vendored_files_are_those_that_were_published() -> None:
    listed = re.findall(
        r"^\| (\S+\.js) \|.* (\w{64}) \|$", ASSETS.joinpath("VENDORED.md").read_text("utf-8"), re.MULTILINE
    )

    assert {name: sha256(ASSETS.joinpath(name).read_bytes()).hexdigest() for name, _ in listed} == dict(listed)
    assert [name for name, _ in listed] == ["preact-htm.js"]


def test_a_page_without_data_is_small_and_names_no_address(tmp_path: Path) -> None:
    page = page_of(SuiteResult((), RUN), tmp_path)

    assert len(page.encode()) < MOST_BYTES
    assert "://" not in page.replace(NAMESPACE, "")
    assert not re.search(r"<(?:link|img|iframe|object)\b|\bsrc=|\burl\(|@import", page)


def test_a_page_lets_only_its_own_scripts_and_style_run(tmp_path: Path) -> None:
    page = page_of(SuiteResult((rated(9, 9),), RUN), tmp_path)

    [policy] = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)

    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy


def test_the_data_stand_last_and_are_those_of_the_result(tmp_path: Path) -> None:
    page = page_of(SuiteResult((rated(9, 2, 9),), RUN), tmp_path)

    head, block = block_of(page, "head"), block_of(page, "block-0")

    assert page.index("<script>") < page.index('id="block-0"') < page.index('id="head"')
    assert [trial["index"] for trial in block["trials"]] == [1, 0, 2]
    assert block["trials"][0]["scores"]["it works"]["score"] == 2
    assert head["kept"] == [3]


def test_no_text_of_an_app_leaves_its_place(tmp_path: Path) -> None:
    page = page_of(hostile(), tmp_path)

    assert HOSTILE not in page
    assert page.count("<script") == page.count("</script>") == 5
    assert page.count("</noscript>") == 1


def test_half_characters_and_numbers_that_are_none_are_kept_out_of_the_way() -> None:
    assert unpacked(packed({"text": "\ud800", "number": float("nan"), "inner": [float("inf")]})) == {
        "text": "\ud800",
        "number": None,
        "inner": [None],
    }


def test_of_many_conversations_the_worst_are_kept_while_there_is_room() -> None:
    result = SuiteResult((rated(*[9] * 50, *[1, 2] * 5, *[9] * 50),), RUN)

    [block] = scenario_blocks(DocumentSource(result.document(), {}), most_bytes=1)
    [whole] = scenario_blocks(DocumentSource(result.document(), {}))

    assert block.kept == LEAST_KEPT
    assert [trial["scores"]["it works"]["score"] for trial in unpacked(block.text)["trials"]] == [1, 1, 1]
    assert whole.kept == 110


def test_what_passing_scenarios_leave_is_for_the_others() -> None:
    passing, failing = rated(*[9] * 40), rated(*[1] * 40)
    result = SuiteResult((replace(failing, title="bad"), replace(passing, title="good")), RUN)

    blocks = list(scenario_blocks(DocumentSource(result.document(), {})))

    assert [block.scenario for block in blocks] == [1, 0]


def test_a_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no/where"):
        SuiteResult((rated(9),), RUN).to_html(tmp_path / "no/where")
