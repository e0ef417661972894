"""The model calls of a conversation, made again from the store: the prompts that a server received."""

import json
import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from simeval.engine.engine import Engine
from simeval.extras.viewer.run_page import RunPages
from simeval.models.protocol.prompt_texts import source_of
from simeval.store.opening import open_database
from simeval.store.runs import Runs
from simeval.suites.files import load_suite
from simeval.testing import judge_reply, user_reply
from tests.support.chat_server import Body, chat_server, refused, said

pytestmark = pytest.mark.anyio
STORES = Path(__file__).parents[3] / "data" / "stores"

SUITE = """
scenarios:
  - title: Late parcel
    given: "A customer whose order 81-442 is {days} days late"
    when: They ask where it is
    facts: "The order left on {today}"
    cases: [{days: 3}, {days: 9}]
    users: {mix: [{name: hurried, persona: You are in a hurry., share: 1}]}
    then:
      - {expected_behavior: "It says {days} days are too long", evaluator: {type: success_rate, min_proportion: 0.5}}
      - {criteria: [It is polite, It names the order], evaluator: {type: success_rate, min_proportion: 0.5}}
"""
RULINGS = {"rulings": {n: {"reasoning": "so", "quote": "Order 81-442", "ruling": "met"} for n in "12"}}


def answer(body: Body) -> tuple[int, Body]:
    """Play the user, the judge and the rubric's writer by how the prompt begins."""
    if "messages" not in body:
        return refused("no such page", status=404)
    system, prompt = (str(body["messages"][place]["content"]) for place in (0, -1))
    if system.startswith("You are a person"):
        stays = "Where is it?" in str(body["messages"])
        reply: Mapping[str, Any] = {"status": "satisfied", "message": ""} if stays else user_reply("Where is it?")
    elif system.startswith("You write rubrics"):
        reply = {"levels": {str(level): f"Level {level} on {{days}} days" for level in range(1, 11)}, "near_misses": []}
    else:
        reply = RULINGS if "<criteria>" in prompt else judge_reply(8)
    return said(json.dumps(reply))


async def calls(folder: Path, **settings: Any) -> tuple[list[Body], list[dict[str, Any]], list[str]]:
    """Run the suite; return the bodies that the server received, and the calls of both trials, made again."""
    (folder / "suite.yaml").write_text(SUITE)
    fixed: dict[str, Any] = {"seed": 1, "sample_size": 2, "date": "2026-11-26", "on_failed_control": "off"}
    async with chat_server(answer) as server:
        fixed["model_options"] = {"api_base": server.base_url}
        model, store = "openai-compatible/m", folder / "runs.db"
        engine = Engine(model, model, store=store, rubric_folder=None, display="none", **fixed, **settings)
        suite = load_suite(str(folder / "suite.yaml"))
        result = await engine.evaluate(suite, lambda message, state: "Order 81-442 is on its way.")
    database = open_database(str(store), must_exist=True)
    found = [RunPages(database, finds=True).calls(result.run.run_id, 0, index) for index in range(2)]
    database.close()
    made, unknown = ([each for one in found for each in one[name]] for name in ("calls", "unknown"))
    return server.bodies, made, unknown


async def test_a_prompt_made_again_is_the_one_that_the_server_received(tmp_path: Path) -> None:
    bodies, found, unknown = await calls(tmp_path)

    asked = [each["messages"] for each in bodies if "messages" in each]
    received = [each for each in asked if not each[0]["content"].startswith("You write")]
    assert unknown == []
    assert len(received) == 8  # two trials: two turns of the user, two expectations
    assert sorted(map(json.dumps, (each["prompt"] for each in found))) == sorted(map(json.dumps, received))
    assert [(each.get("place"), each.get("label")) for each in found[:4]] == [
        (0, None),
        (2, None),
        (None, "It says {days} days are too long"),
        (None, "It is polite; It names the order"),
    ]
    assert found[1]["reply"] == "(left without a word)"
    assert found[2]["reply"].startswith("8: ")
    assert all(each["tokens"][0] > 50 for each in found)


async def test_a_call_whose_prompt_was_replaced_is_not_made_again(tmp_path: Path) -> None:
    own = source_of("judge").replace("# system\n", "# system\n\nYou judge how it went.")

    _, found, unknown = await calls(tmp_path, prompts={"judge": own})

    assert {each.get("label") for each in found} == {None}
    assert unknown == ["The prompt 'judge' was of another version, or your own: its text is not stored."] * 2


def test_a_run_of_an_older_version_has_a_page_without_its_calls(tmp_path: Path) -> None:
    store = shutil.copy(STORES / "version_3.db", tmp_path / "runs.db")
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("""UPDATE runs SET definition = replace(definition, '"user": "offline/', '"user": "m/')""")
    with closing(open_database(str(store), must_exist=True)) as database:
        pages = RunPages(database, finds=True)
        found = [pages.calls(run.run_id, 0, 0) for run in Runs(database).recent()]

    reason = "The prompt 'user' was of another version, or your own: its text is not stored."
    assert [each["calls"] for each in found] == [[]] * len(found)
    assert [reason] in [each["unknown"] for each in found]
