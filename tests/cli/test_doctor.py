"""`simeval doctor`: what is there for a run, and what is not."""

import re
from pathlib import Path

import anyio.to_thread
import pytest

from tests.support.chat_server import chat_server, said
from tests.support.command_line import simeval

NO_KEYS = {"OPENAI_API_KEY": "", "COLUMNS": "1000"}
MARGIN = re.compile(r"\n {14}")  # before the further lines of what is said of one thing
GPT = ("--judge-model", "openai/gpt-5-nano")


def test_without_a_key_a_first_look_is_in_order_and_nothing_is_left_behind(tmp_path: Path) -> None:
    done = simeval(tmp_path, "doctor", **NO_KEYS)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-3:] == [
        "✓ judge       offline/judge: an embedded heuristic, which needs no key and no network",
        "",
        "everything that was checked is fine",
    ]
    assert not list(tmp_path.iterdir())


def test_it_says_that_no_model_of_toxicity_and_bias_comes_with_simeval(tmp_path: Path) -> None:
    told = MARGIN.sub(" ", simeval(tmp_path, "doctor", **NO_KEYS).stdout)

    assert "toxicity and bias: none comes with simeval, their models are downloaded" in told


def test_what_is_missing_is_told_together_and_ends_with_1(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    done = simeval(tmp_path, "doctor", *GPT, "--user-model", "offline/usr", "--store", "file/runs.db", **NO_KEYS)

    wrong = [line for line in MARGIN.sub(" ", done.stdout).splitlines() if line.startswith("✗")]
    assert done.returncode == 1
    assert wrong == [
        "✗ store       file/runs.db cannot be made (Not a directory); name another with --store, or none",
        "✗ judge       model 'openai/gpt-5-nano': its key is missing: OPENAI_API_KEY is not set; set it (export "
        "OPENAI_API_KEY=...), or for a first look use offline/judge, offline/user or offline/app.",
        "✗ user        model 'offline/usr': there is no embedded model of this name; did you mean 'offline/user'?",
    ]
    assert done.stdout.endswith("\nto fix: store, judge, user\n")


def test_a_project_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.simeval]\nsed = 5\n")

    done = simeval(tmp_path, "doctor", **NO_KEYS)

    assert done.returncode == 1
    assert (
        "✗ project     pyproject.toml, line 2, field tool.simeval.sed: there is no field 'sed'; did you mean 'seed'?"
        in done.stdout
    )


def test_the_models_of_the_project_are_looked_at(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.simeval]\njudge_model = "openai/gpt-5-nano"\nstore = "file.jsonl"\n'
    )

    done = simeval(tmp_path, "doctor", OPENAI_API_KEY="sk-never-shown-anywhere", COLUMNS="1000")

    assert (
        "✓ judge       openai/gpt-5-nano: what it needs is there, as far as can be seen; --call asks it something"
        in done.stdout
    )
    assert "✓ store       file.jsonl: it is not there yet, and can be made" in done.stdout
    assert "OPENAI_API_KEY" in done.stdout
    assert "sk-never" not in done.stdout + done.stderr


@pytest.mark.anyio
async def test_a_model_is_asked_once_with_call_and_never_without(tmp_path: Path) -> None:
    def doctor(*arguments: str) -> str:
        return simeval(tmp_path, "doctor", *GPT, *arguments, OPENAI_API_KEY="k" * 20, COLUMNS="1000").stdout

    async with chat_server(lambda _: said("hello")) as server:
        at = ("--model-option", f"api_base={server.base_url}")
        silent = await anyio.to_thread.run_sync(doctor, *at)
        asked_before = len(server.bodies)
        called = await anyio.to_thread.run_sync(doctor, *at, "--call")

    assert (asked_before, len(server.bodies)) == (0, 1)
    assert "what it needs is there" in silent
    assert "✓ judge       openai/gpt-5-nano: it answered 'hello' in " in called


@pytest.mark.anyio
async def test_a_model_that_refuses_the_key_is_wrong(tmp_path: Path) -> None:
    def doctor(url: str) -> str:
        at = ("--model-option", f"api_base={url}")
        return simeval(tmp_path, "doctor", *GPT, *at, "--call", OPENAI_API_KEY="k" * 20, COLUMNS="1000").stdout

    async with chat_server(lambda _: (401, {"error": {"message": "no such key"}})) as server:
        told = await anyio.to_thread.run_sync(doctor, server.base_url)

    assert "✗ judge       openai/gpt-5-nano cannot be used (authentication): HTTP 401: no such key" in told
    assert told.endswith("\nto fix: judge\n")
