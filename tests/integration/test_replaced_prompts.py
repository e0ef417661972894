"""A prompt of the user's is what models read, and its answers are never mixed with those to another."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from simeval import Engine, Expectation, ScenarioTest, SuccessRateEvaluator, SuiteResult
from simeval.errors import DefinitionError
from simeval.models.protocol.prompt_texts import source_of
from simeval.suites import load_suite
from simeval.testing import ScriptedModel, judge_reply, user_reply

pytestmark = pytest.mark.anyio
SUITE = [
    ScenarioTest(
        title="Hours",
        given="A customer",
        when="They ask when the shop opens",
        then=Expectation(expected_behavior="It says nine", evaluator=SuccessRateEvaluator(min_proportion=0.5)),
        sample_size=6,
    )
]
STRICT = {
    name: source_of(name).replace("# system\n", f"# system\n\nThe {name}'s own words.") for name in ("user", "judge")
}
YAML = """
settings: {prompts: {user: prompts/mine.md}}
scenarios:
  - title: Hours
    given: A customer
    when: They ask when the shop opens
    then: {expected_behavior: It says nine, evaluator: {type: success_rate, min_proportion: 0.5}}
"""


def model() -> ScriptedModel:
    return ScriptedModel({"user": [user_reply("When do you open?")], "judge": [judge_reply(8)]})


async def run(store: Path, used: ScriptedModel, **options: Any) -> SuiteResult:
    fixed: dict[str, Any] = {"seed": 1, "display": "none", "early_stopping": False, "store": store}
    engine = Engine(used, settings=None, **{**fixed, "rubric_folder": store.parent / "rubrics", **options})
    return await engine.evaluate(SUITE, lambda message, state: "At nine.")


def read_by(used: ScriptedModel, role: str) -> set[str]:
    return {str(each.messages()[0]["content"]) for each in used.requests if each.role == role}


async def test_models_read_it_and_the_report_names_it(tmp_path: Path) -> None:
    used = model()

    result = await run(tmp_path / "runs.db", used, prompts=STRICT)

    for role in STRICT:
        assert all(text.startswith(f"The {role}'s own words.") for text in read_by(used, role))
    assert not any("own words" in text for text in read_by(used, "rubric"))
    assert any(note.startswith("prompts in place of simeval's: judge (") for note in result.run.notes)


async def test_a_suite_names_its_file_from_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "mine.md").write_text(STRICT["user"], encoding="utf-8")
    (tmp_path / "suite.yaml").write_text(YAML, encoding="utf-8")
    loaded, used = load_suite(str(tmp_path / "suite.yaml")), model()

    await Engine(used, settings=loaded.settings, store=None, rubric_folder=None, display="none").evaluate(
        loaded, lambda message, state: "At nine."
    )

    assert all("own words" in text for text in read_by(used, "user"))


async def test_a_run_is_not_resumed_by_another_prompt_unless_that_is_accepted(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    await run(store, model())

    with pytest.raises(DefinitionError, match=r"prompts: judge was '\d+' and is '[0-9a-f]{12}'"):
        await run(store, model(), resume="last", prompts={"judge": STRICT["judge"]})
    taken = await run(store, model(), resume="last", prompts={"judge": STRICT["judge"]}, accept_changes=True)

    assert any("taken over from run" in note and "judge was" in note for note in taken.run.notes)


async def test_a_run_of_an_older_version_of_the_prompts_is_not_resumed(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    await run(store, model())
    with closing(sqlite3.connect(store)) as database, database:  # as it was while one version was that of all
        database.execute("UPDATE runs SET definition = json_set(definition, '$.prompts', '1')")

    with pytest.raises(DefinitionError, match=r"prompts: user was '1' and is "):
        await run(store, model(), resume="last")


async def test_cached_replies_to_one_prompt_do_not_answer_another(tmp_path: Path) -> None:
    first, second, third = model(), model(), model()

    await run(tmp_path / "runs.db", first, cache=True)
    await run(tmp_path / "runs.db", second, cache=True)
    await run(tmp_path / "runs.db", third, cache=True, prompts={"judge": STRICT["judge"]})

    assert second.calls == 0
    assert {each.role for each in third.requests} == {"control", "judge"}


async def test_a_prompt_of_no_role_is_refused_before_any_call() -> None:
    with pytest.raises(DefinitionError, match="there is no prompt 'jugde'; did you mean 'judge'"):
        Engine(model(), prompts={"jugde": STRICT["judge"]})
