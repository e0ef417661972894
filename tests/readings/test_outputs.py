"""Where results are written: no output in the place of another, and no promise that is not kept."""

import runpy
import subprocess
import sys
from errno import EMFILE
from os import strerror
from pathlib import Path

import pytest

from simeval.cli.output import each_tried, require_apart, write_text
from simeval.core.drafts import whole
from simeval.errors import DefinitionError, StoreError
from simeval.store.opening import open_database
from simeval.store.runs import Runs, has_ended, is_of_a_suite
from tests.support.command_line import simeval

APP = """
import asyncio
import os

first = []

async def slow_at_last(message, session_id):
    if session_id not in first:
        if len(first) == 14:
            await asyncio.sleep(3600)
        first.append(session_id)
    return "I track orders."

def good(message):
    return "I track orders."

def half(message):
    return "I track orders \\udc00"

def commands(message):
    return "No.\\n::error file=x::hello\\n##[error]boo\\n" + "x" * 70 + " ::add-mask::o, std::vector"

def leaves(message):
    os.chdir("/")
    return "I track orders."

def deletes(message):
    for name in ("runs.db", "runs.db-wal", "runs.db-shm"):
        if os.path.exists(name):
            os.remove(name)
    return "I track orders."
"""
SUITE = """
sample_size: {size}
scenarios:
  - title: {title}
    given: A new user
    when: The user asks what the bot can do
    then:
      scorer: {{type: contains, texts: [orders]}}
      evaluator: {{type: proportion, min_proportion: {bar}}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    write_suite(tmp_path)
    return tmp_path


def write_suite(folder: Path, *, size: int = 8, title: str = "Orders", bar: float = 0.5) -> None:
    (folder / "suite.yaml").write_text(SUITE.format(size=size, title=title, bar=bar), encoding="utf-8")


@pytest.mark.parametrize("paths", [("same.out", "same.out"), ("same.out", "./same.out"), ("-", "-")])
def test_two_outputs_in_one_file_are_refused_and_both_are_named(paths: tuple[str, str]) -> None:
    with pytest.raises(DefinitionError, match=r"--junit: .* is where --json is written"):
        require_apart(dict(zip(("--json", "--junit"), paths, strict=True)))

    require_apart({"--json": "a.json", "--junit": "b.xml", "--html": None})


def test_a_store_of_json_lines_is_written_only_and_commands_that_read_say_so(folder: Path) -> None:
    with pytest.raises(DefinitionError, match=r"'runs.jsonl' is written only .*name a database with --store"):
        open_database("runs.jsonl")
    (folder / "runs.jsonl").touch()
    done = simeval(folder, "runs", "--store", "runs.jsonl")

    assert done.returncode == 2
    assert "is written only" in done.stderr


def _fail_half_way(path: Path) -> None:
    with whole(path) as file:
        file.write("half of")
        raise OSError("the disk is full")


def test_a_report_is_put_in_place_whole_or_the_one_before_stays(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text("before", encoding="utf-8")

    with pytest.raises(OSError, match="full"):
        _fail_half_way(tmp_path / "report.json")

    assert (tmp_path / "report.json").read_text(encoding="utf-8") == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["report.json"]


def test_an_app_that_leaves_the_folder_ends_no_run_and_reports_are_where_they_were_named(folder: Path) -> None:
    done = simeval(folder, "run", "suite.yaml", "--app", "app:leaves", "--store=runs.db", "--json=out.json")

    assert done.returncode == 0, done.stderr
    assert (folder / "out.json").is_file()
    assert (folder / "runs.db").is_file()


def test_of_a_store_that_was_deleted_nothing_is_said_to_be_kept(folder: Path) -> None:
    done = simeval(folder, "run", "suite.yaml", "--app", "app:deletes", "--store=runs.db")

    assert done.returncode == 3
    assert "nothing is kept: there is no runs.db any more" in done.stderr
    assert "what was finished is kept" not in done.stderr


def test_a_store_for_which_no_file_can_be_opened_says_so_and_names_the_store(tmp_path: Path) -> None:
    program = (
        "import resource, simeval.store.opening as opening, simeval.store.backends.sqlite, simeval.store.runs\n"
        "from contextlib import suppress\n"
        "opening.open_database('first.db').close()\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n"
        "kept = []\n"
        "with suppress(OSError):\n"
        "    while True: kept.append(open('first.db'))\n"
        "opening.open_database('first.db')"
    )

    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)

    assert "first.db cannot be opened (unable to open database file: Too many open files)" in done.stderr


def test_a_journal_that_can_open_no_more_files_names_the_file_and_the_way_out() -> None:
    error = StoreError("runs.db", problem=str(OSError(EMFILE, strerror(EMFILE), "runs.db-wal")))

    assert "[Errno 24] Too many open files: 'runs.db-wal'" in str(error)
    assert "raise the limit (ulimit -n)" in str(error)


def test_half_a_surrogate_pair_in_an_answer_and_a_title_is_written_everywhere(folder: Path) -> None:
    write_suite(folder, title='"Orders \\\\ud83d"')
    reports = [f"--{each}={each}.out" for each in ("json", "junit", "html", "markdown")]

    done = simeval(folder, "run", "suite.yaml", "--app", "app:half", *reports)
    shown = [simeval(folder, *each) for each in (["show", "last"], ["runs"], ["view", "--bundle", "site"])]

    assert done.returncode == 0, done.stderr
    assert all((folder / f"{each}.out").stat().st_size for each in ("json", "junit", "html", "markdown"))
    assert [each.returncode for each in shown] == [0, 0, 0], [each.stderr for each in shown]


def test_taking_over_a_run_that_had_finished_invents_no_cut(folder: Path) -> None:
    write_suite(folder, size=30)
    options = ["run", "suite.yaml", "--app", "app:slow_at_last", "--seed=3"]
    first = simeval(folder, *options)
    write_suite(folder, size=30, bar=0.55)

    taken = simeval(folder, *options, "--resume=last", "--accept-changes")

    assert first.returncode == 0, first.stderr
    assert taken.returncode == 0, taken.stderr
    assert "cut off" not in taken.stdout + taken.stderr
    assert "missing" not in taken.stdout


def test_last_is_the_last_run_that_fits_the_command(folder: Path) -> None:
    simeval(folder, "run", "suite.yaml", "--app", "app:good", "--store=runs.db")
    simeval(folder, "score", "last", "--store=runs.db", "--scorers=valid_json")
    database = open_database(folder / "runs.db")
    try:
        runs = Runs(database)
        all_runs = runs.recent()
        assert len(all_runs) == 2
        suites = [each.run_id for each in all_runs if is_of_a_suite(each)]

        assert runs.find("last") == all_runs[0].run_id
        assert runs.find("last", is_of_a_suite) == suites[0]
        assert runs.find("last", has_ended) == next(each.run_id for each in all_runs if has_ended(each))
    finally:
        database.close()


def test_conversations_of_the_last_run_are_those_of_a_suite_though_answers_were_scored_since(folder: Path) -> None:
    simeval(folder, "run", "suite.yaml", "--app", "app:good", "--store=runs.db")
    simeval(folder, "score", "last", "--store=runs.db", "--scorers=valid_json")

    shown = simeval(folder, "show", "last", "--trial=0", "--store=runs.db")

    assert shown.returncode == 0
    assert "trial 0 of Orders" in shown.stdout


def test_each_output_is_tried_though_another_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="nowhere"):
        each_tried(
            lambda: write_text(str(tmp_path / "nowhere" / "a.json"), "{}"),
            lambda: write_text(str(tmp_path / "b.xml"), "<a/>"),
        )

    assert (tmp_path / "b.xml").read_text(encoding="utf-8") == "<a/>\n"


def test_what_an_app_says_begins_no_line_with_a_command_to_github(folder: Path) -> None:
    done = simeval(folder, "run", "suite.yaml", "--app", "app:commands", "--verbose", "--log-level=debug")
    shown = simeval(folder, "show", "last", "--trial=0")

    lines = [line.strip() for line in (done.stdout + done.stderr + shown.stdout).splitlines()]
    assert ": :error file=x::hello" in lines
    assert not [line for line in lines if line.startswith("::") or "##[" in line]
    assert "std::vector" in shown.stdout


def test_what_an_app_says_in_the_action_is_no_command_to_github(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = runpy.run_path(str(Path(__file__).parents[2] / "action" / "run.py"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SIMEVAL_SUITE", "none.yaml")
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))

    program["main"]()

    lines = capfd.readouterr().out.split("\n")
    token = lines[0].removeprefix("::stop-commands::")
    assert len(token) == 32
    assert lines[-2] == f"::{token}::"
