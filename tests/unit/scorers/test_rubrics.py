"""Rubrics: written once, kept, shared."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from simeval.core.settings import RetryConfig
from simeval.core.trial import RubricRecord
from simeval.errors import ModelError
from simeval.models.caller import Caller
from simeval.models.protocol.model import Request
from simeval.models.protocol.prompt_texts import source_of
from simeval.models.protocol.prompts import RubricRequest
from simeval.scorers.llm.judge import RubricBook, rubric_key
from simeval.testing import ScriptedModel
from tests.support.doubles import LEVELS, failure

pytestmark = pytest.mark.anyio

WRITTEN = json.dumps({"levels": LEVELS})
ASKED = RubricRequest(given="a user", when="asks", expected_behavior="it answers")
ONCE = RetryConfig(enabled=False)


async def levels_of(book: RubricBook) -> Mapping[str, str]:
    return (await book.rubric(ASKED)).levels


def files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def write(_request: Request) -> str:
    for _ in range(5):
        await anyio.lowlevel.checkpoint()
    return WRITTEN


async def test_fifty_requests_at_once_make_one_call() -> None:
    model = ScriptedModel(write)
    book = RubricBook(Caller(model, ONCE))
    found: list[Any] = []

    async def ask() -> None:
        found.append(await levels_of(book))

    async with anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(ask)

    assert model.calls == 1
    assert found == [LEVELS] * 50
    assert await levels_of(book) == LEVELS
    assert model.calls == 1


async def test_rubrics_of_different_expectations_are_written_at_once() -> None:
    both = anyio.Event()

    async def act(_request: Request) -> str:
        if model.under_way == 2:
            both.set()
        await both.wait()
        return WRITTEN

    model = ScriptedModel(act)
    book = RubricBook(Caller(model, ONCE))

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for behavior in ("one", "other"):
                tasks.start_soon(book.rubric, RubricRequest(given="g", when="w", expected_behavior=behavior))

    assert (model.calls, model.peak) == (2, 2)


async def test_what_one_book_wrote_on_disk_another_reads(tmp_path: Path) -> None:
    first, second = ScriptedModel([WRITTEN]), ScriptedModel([failure("server")])

    await levels_of(RubricBook(Caller(first, ONCE), tmp_path / "rubrics"))
    found = await levels_of(RubricBook(Caller(second, ONCE), tmp_path / "rubrics"))

    assert found == LEVELS
    assert (first.calls, second.calls) == (1, 0)
    assert [path.suffix for path in files(tmp_path / "rubrics")] == [".json"]


async def test_a_text_beyond_ascii_survives_the_disk(tmp_path: Path) -> None:
    levels = {**LEVELS, "10": "Très bien — 好 \N{PARTY POPPER}\nzwei"}

    await levels_of(RubricBook(Caller(ScriptedModel([json.dumps({"levels": levels})]), ONCE), tmp_path))

    assert await levels_of(RubricBook(Caller(ScriptedModel([""]), ONCE), tmp_path)) == levels


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"null", b'{"levels": {}}', b'{"levels": {"1": "only"}}', b"\x00\x01", b"\xff\xfe\xfa"],
)
async def test_a_damaged_file_is_written_anew(tmp_path: Path, damage: bytes) -> None:
    await levels_of(RubricBook(Caller(ScriptedModel([WRITTEN]), ONCE), tmp_path))
    (path,) = files(tmp_path)
    path.write_bytes(damage)
    model = ScriptedModel([WRITTEN])

    assert await levels_of(RubricBook(Caller(model, ONCE), tmp_path)) == LEVELS

    assert model.calls == 1
    assert json.loads(path.read_bytes())["levels"] == LEVELS


async def test_books_that_share_a_folder_may_write_the_same_rubric_at_once(tmp_path: Path) -> None:
    all_asked = anyio.Event()
    asked = 0

    async def act(_request: Request) -> str:
        nonlocal asked
        asked += 1
        if asked == 20:
            all_asked.set()
        await all_asked.wait()
        return WRITTEN

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            book = RubricBook(Caller(ScriptedModel(act), ONCE), tmp_path)
            tasks.start_soon(book.rubric, ASKED)

    (path,) = files(tmp_path)
    assert json.loads(path.read_bytes())["levels"] == LEVELS


async def test_a_rubric_that_could_not_be_written_is_not_paid_for_again_in_its_run(tmp_path: Path) -> None:
    model = ScriptedModel([failure("content"), WRITTEN])
    book = RubricBook(Caller(model, ONCE), tmp_path)

    for _ in range(3):
        with pytest.raises(ModelError, match="content"):
            await levels_of(book)

    assert model.calls == 1
    assert files(tmp_path) == []
    assert await levels_of(RubricBook(Caller(model, ONCE), tmp_path)) == LEVELS


async def test_a_folder_that_cannot_be_used_costs_no_rubric(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    model = ScriptedModel([WRITTEN])
    book = RubricBook(Caller(model, ONCE), tmp_path / "file" / "rubrics")

    for _ in range(2):
        assert await levels_of(book) == LEVELS

    assert model.calls == 1


async def test_who_waited_for_a_call_that_failed_gets_its_failure() -> None:
    model = ScriptedModel([failure("content"), WRITTEN])
    book = RubricBook(Caller(model, ONCE))
    outcomes: list[str] = []

    async def ask() -> None:
        try:
            await levels_of(book)
            outcomes.append("levels")
        except ModelError:
            outcomes.append("error")

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(ask)

    assert outcomes == ["error"] * 5
    assert model.calls == 1


async def test_a_request_that_is_cancelled_leaves_the_next_free_to_ask() -> None:
    never = anyio.Event()

    async def act(_request: Request) -> str:
        if model.calls == 1:
            await never.wait()
        return WRITTEN

    model = ScriptedModel(act)
    book = RubricBook(Caller(model, ONCE))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(book.rubric, ASKED)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()

    with anyio.fail_after(60):
        assert await levels_of(book) == LEVELS


def test_the_key_depends_on_every_part_and_on_nothing_else() -> None:
    request = RubricRequest(given="g", when="w", expected_behavior="e")
    others = [
        rubric_key("other", request),
        rubric_key("m", RubricRequest(given="x", when="w", expected_behavior="e")),
        rubric_key("m", RubricRequest(given="g", when="x", expected_behavior="e")),
        rubric_key("m", RubricRequest(given="g", when="w", expected_behavior="x")),
        rubric_key("m", RubricRequest(given="w", when="g", expected_behavior="e")),
        rubric_key("m", RubricRequest(given="gw", when="", expected_behavior="e")),
    ]

    key = rubric_key("m", request)

    assert key == rubric_key("m", RubricRequest(given="g", when="w", expected_behavior="e", seed=9))
    assert len({key, *others}) == 1 + len(others)


def test_the_key_depends_on_the_prompts_text() -> None:
    request = RubricRequest(given="g", when="w", expected_behavior="e")
    longer = request.prompt.replaced(f"{source_of('rubric')}\nBe strict.", where="here")
    renewed = replace(request.prompt, version="next")

    keys = {rubric_key("m", replace(request, prompt=prompt)) for prompt in (request.prompt, longer, renewed)}

    assert len(keys) == 3


SAME = {str(level): f"{' ' * (level % 2)}The USER asks: {'what' if level < 3 else level}?" for level in range(1, 11)}


async def test_a_rubric_with_equal_levels_is_asked_for_again() -> None:
    model = ScriptedModel([json.dumps({"levels": SAME}), WRITTEN])

    found = await levels_of(RubricBook(Caller(model, RetryConfig(backoff_multiplier=0))))

    assert found == LEVELS
    assert model.calls == 2


async def test_one_that_is_on_disk_with_equal_levels_is_written_anew(tmp_path: Path) -> None:
    (tmp_path / f"{rubric_key('scripted/model', ASKED)}.json").write_text(json.dumps({"levels": SAME}))
    book = RubricBook(Caller(ScriptedModel([WRITTEN]), ONCE), tmp_path)

    unwritten = await book.unwritten([ASKED])
    before = unwritten()
    found = await levels_of(book)

    assert (before, unwritten()) == (1, 0)
    assert found == LEVELS
    assert json.loads(files(tmp_path)[0].read_bytes())["levels"] == LEVELS


async def test_one_that_the_suite_gives_costs_no_call_and_names_no_model() -> None:
    kept: list[RubricRecord] = []
    model, own = ScriptedModel([WRITTEN]), {"1": "It does not.", "10": "It does."}

    async def keep(record: RubricRecord) -> None:
        kept.append(record)

    found = await RubricBook(Caller(model, ONCE), record=keep).rubric(ASKED, own)

    assert (found.levels, found.model, model.calls) == (own, "", 0)
    assert kept == [found]


async def test_to_look_for_a_rubric_asks_nobody(tmp_path: Path) -> None:
    model = ScriptedModel([WRITTEN])
    book = RubricBook(Caller(model, ONCE), tmp_path)

    before = await book.kept(ASKED)
    await levels_of(book)
    after = await RubricBook(Caller(model, ONCE), tmp_path).kept(ASKED)

    assert before is None
    assert after is not None
    assert (after.levels, after.model) == (LEVELS, "scripted/model")
    assert model.calls == 1


async def test_one_of_an_earlier_prompt_with_the_same_levels_is_not_written_again(tmp_path: Path) -> None:
    model = ScriptedModel([json.dumps({"levels": LEVELS, "near_misses": {"1": "No.", "2": "Never."}})])
    earlier = replace(ASKED, prompt=replace(ASKED.prompt, version="2"))
    (tmp_path / f"{rubric_key('scripted/model', earlier)}.json").write_text(WRITTEN)
    book = RubricBook(Caller(model, ONCE), tmp_path)

    unwritten = await book.unwritten([ASKED])
    found = await book.rubric(ASKED)

    assert (unwritten(), model.calls) == (0, 0)
    assert (found.key, found.levels, found.near_misses) == (rubric_key("scripted/model", ASKED), LEVELS, ())


async def test_near_misses_are_kept_with_the_levels(tmp_path: Path) -> None:
    model = ScriptedModel([json.dumps({"levels": LEVELS, "near_misses": {"1": "No.", "2": "Never."}})])
    written = await RubricBook(Caller(model, ONCE), tmp_path).rubric(ASKED)
    again = await RubricBook(Caller(model, ONCE), tmp_path).rubric(ASKED)

    assert written.near_misses == ("No.", "Never.")
    assert (again, model.calls) == (written, 1)


@pytest.mark.parametrize("near_misses", [None, "No.", {"1": 1}, 7, [["No."]], {}])
async def test_near_misses_that_are_no_texts_spoil_no_rubric(near_misses: Any) -> None:
    model = ScriptedModel([json.dumps({"levels": LEVELS, "near_misses": near_misses})])

    found = await RubricBook(Caller(model, ONCE)).rubric(ASKED)

    assert (found.levels, found.near_misses) == (LEVELS, ())
