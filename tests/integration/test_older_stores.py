"""A store that an older version wrote is shown, resumed and compared by this one."""

import importlib.util
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from simeval import Engine, dataset_of
from simeval.errors import DefinitionError
from simeval.store.database import Database
from simeval.store.feedback import FeedbackBook
from simeval.store.runs import past_outcomes
from simeval.testing import ScriptedModel, judge_reply, user_reply
from tests.support.command_line import simeval

pytestmark = pytest.mark.anyio
STORES = Path(__file__).parents[1] / "data" / "stores"
KILLED, FINISHED, STOPPED = "20261122-035728-657e64", "20261122-035729-e5be20", "20261122-035729-9ef90b"
GOOD, WORSE, UNFINISHED = "20261122-035729-1cf4a1", "20261122-035730-45304b", "20261122-035730-f0d360"


@pytest.fixture(scope="module")
def version_3() -> ModuleType:
    """Return the module the store was written by, under the name it had then: the name of an app holds it."""
    spec = importlib.util.spec_from_file_location("version_3", STORES / "version_3.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return Path(shutil.copy(STORES / "version_3.db", tmp_path / "runs.db"))


def engine(store: Path, run: str, **options: Any) -> Engine:
    """Return an engine that resumes a run by what it was: faults of simulated users were not looked for."""
    then: dict[str, Any] = {"on_user_fault": "count", **options}
    return Engine(store=store, resume=run, display="none", early_stopping=False, **then)


async def test_a_suite_is_not_resumed_by_other_rules_for_simulated_users(store: Path, version_3: ModuleType) -> None:
    with pytest.raises(DefinitionError, match=r"on_user_fault was 'count' and is 'missing' \(--on-user-fault\); give"):
        await engine(store, STOPPED, on_user_fault="missing").evaluate(version_3.suite(), version_3.app)


async def test_a_suite_of_another_version_of_the_prompts_is_refused_unless_that_is_accepted(
    store: Path, version_3: ModuleType
) -> None:
    model = ScriptedModel({"user": [user_reply("What can you do?")], "judge": [judge_reply(8)]})
    options: dict[str, Any] = {"on_failed_control": "off", "rubric_folder": None}

    with pytest.raises(DefinitionError, match=r"prompts: user was '2' and is '\d+'"):
        await Engine(model, store=store, resume=STOPPED, on_user_fault="count", **options).evaluate(
            version_3.suite(), version_3.app
        )
    taken = await Engine(
        model, store=store, resume=STOPPED, on_user_fault="count", accept_changes=True, **options
    ).evaluate(version_3.suite(), version_3.app)

    assert "taken over from run" in " ".join(taken.run.notes)


@pytest.mark.parametrize(("run", "said"), [(STOPPED, "13 conversations"), (FINISHED, "nothing was left to do")])
async def test_a_suite_is_resumed(store: Path, version_3: ModuleType, run: str, said: str) -> None:
    result = await engine(store, run).evaluate(version_3.suite(), version_3.app)

    assert result.run.run_id == run
    assert said in " ".join(result.run.notes)
    assert [len(each.conversations) for each in result] == [12, 12]
    assert result.passed


async def test_of_a_run_that_was_killed_the_first_unfinished_trial_is_missing_and_later_ones_are_dealt_anew(
    store: Path, version_3: ModuleType
) -> None:
    result = await engine(store, KILLED).evaluate(version_3.suite(), version_3.app)

    notes = " ".join(result.run.notes)
    assert "21 conversations" in notes
    assert "2 later trials that had finished were set aside" in notes
    assert [len(each.failures) for each in result] == [1, 0]
    assert [len(each.conversations) for each in result] == [12, 12]


async def test_an_experiment_is_resumed(store: Path, version_3: ModuleType) -> None:
    dataset = dataset_of(version_3.ROWS, name="capitals", outputs=["capital"])

    result = await engine(store, UNFINISHED).evaluate(dataset, version_3.capital, **version_3.experiment())

    assert result.run.run_id == UNFINISHED
    assert "8 conversations" in " ".join(result.run.notes)
    assert result.metric("ExactMatch").estimate.value == pytest.approx(0.8)


@pytest.mark.parametrize("run", [KILLED, FINISHED, STOPPED, GOOD, WORSE, UNFINISHED])
def test_a_run_is_shown(store: Path, run: str) -> None:
    done = simeval(store.parent, "show", run, "--store", str(store))

    assert done.returncode == 0, done.stderr
    assert run in done.stdout


def test_experiments_are_compared(store: Path) -> None:
    done = simeval(store.parent, "compare", GOOD, WORSE, "--store", str(store))

    assert done.returncode in (0, 1), done.stderr
    assert "ExactMatch" in done.stdout


def test_suites_are_compared(store: Path) -> None:
    done = simeval(store.parent, "compare", FINISHED, STOPPED, "--store", str(store))

    assert done.returncode in (0, 1), done.stderr
    assert "The bot is short" in done.stdout


async def test_feedback_of_an_older_store_stays_and_labels_come_beside_it(store: Path) -> None:
    with closing(sqlite3.connect(store)) as older, older:
        older.execute(
            "INSERT INTO feedback (feedback_id, run_id, trial, scenario, key, score, comment, source, created) "
            "VALUES ('old', ?, 0, 0, 'helpful', 1.0, '', 'ann', '2025-01-02T12:00:00+00:00')",
            (FINISHED,),
        )
    with closing(Database(store)) as database:
        book = FeedbackBook(database)
        [old] = book.of_run(FINISHED)
        book.add(replace(old, feedback_id="new", labeller="person", inclusion=0.5))
        found = book.of_run(FINISHED)

    assert (old.labeller, old.inclusion, old.score) == ("", None, 1.0)
    assert [(each.feedback_id, each.labeller, each.inclusion) for each in found] == [
        ("new", "person", 0.5),
        ("old", "", None),
    ]


def test_the_outcome_of_an_older_experiment_is_one_line(store: Path) -> None:
    shown = simeval(store.parent, "show", GOOD, "--store", store.name, "--quiet")

    assert shown.returncode == 0, shown.stderr
    assert len(shown.stdout.splitlines()) == 1
    assert "dataset" in shown.stdout


def test_runs_that_did_not_keep_which_trials_met_a_requirement_are_not_compared(store: Path) -> None:
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("UPDATE scenarios SET result = replace(result, '\"chart\":', '\"unknown\":')")
        connection.commit()

    compared = simeval(store.parent, "compare", STOPPED, FINISHED, "--store", store.name)
    written = simeval(store.parent, "show", FINISHED, "--store", store.name, "--json", "-")

    assert compared.returncode == 2
    assert "chart is missing" in " ".join(compared.stderr.split())
    assert '"chart"' not in written.stdout


def test_the_past_of_scenarios_leaves_out_a_run_of_which_too_little_was_kept(store: Path) -> None:
    with closing(sqlite3.connect(store)) as connection:
        command = "UPDATE scenarios SET result = replace(result, '\"sample_size\":', '\"unknown\":') WHERE run_id = ?"
        connection.execute(command, (STOPPED,))
        connection.commit()
    database = Database(str(store))

    past = [set(each) for each in past_outcomes(database) if each]
    database.close()

    assert past == [{"The bot says what it does", "The bot is short"}]


@pytest.mark.parametrize("command", [("compare", STOPPED, FINISHED), ("people", "label", STOPPED)])
def test_a_run_of_which_too_little_was_kept_is_refused_with_a_sentence(store: Path, command: tuple[str, ...]) -> None:
    with closing(sqlite3.connect(store)) as connection:
        change = "UPDATE scenarios SET result = replace(result, '\"sample_size\":', '\"unknown\":') WHERE run_id = ?"
        connection.execute(change, (STOPPED,))
        connection.commit()

    refused = simeval(store.parent, *command, "--store", store.name)

    assert refused.returncode == 2
    told = " ".join(refused.stderr.split())
    assert "this version cannot read its result" in told or "there is nobody to ask" in told
