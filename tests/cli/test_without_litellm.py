"""Where LiteLLM is not installed, as in the environment of `make demo`: what works, and what is said of the rest."""

import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path

import anyio.to_thread
import pytest

from tests.support.chat_server import chat_server, said

ROOT = Path(__file__).resolve().parents[2]
WITHOUT = """
import sys
from importlib.machinery import PathFinder


class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] == "litellm" else PathFinder.find_spec(name, path, target)


sys.meta_path[sys.meta_path.index(PathFinder)] = Without
from simeval.cli.main import main

main()
"""
SUITE = """
scenarios:
  - title: The bot says what it does
    given: A new user
    when: The user asks what the bot can do
    sample_size: 1
    then:
      expected_behavior: The bot lists what it does
      evaluator: {type: success_rate, min_proportion: 0.5}
"""


def simeval_without(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", WITHOUT, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_a_provider_that_needs_it_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(SUITE)

    done = simeval_without(
        tmp_path, "run", "suite.yaml", "--app", "offline/app", "--judge-model", "anthropic/claude-haiku-4-5"
    )

    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "simeval: model 'anthropic/claude-haiku-4-5': LiteLLM, which asks models of most providers, is not installed; "
        "install it (pip install 'litellm<1.98'), or name another model, such as openai/gpt-5-nano or offline/judge."
    )


def test_an_embedded_model_that_is_misspelt_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(SUITE)

    done = simeval_without(tmp_path, "run", "suite.yaml", "--app", "offline/app", "--judge-model", "oflline/judge")

    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "simeval: model 'oflline/judge': LiteLLM, which asks models of most providers, is not installed; "
        "did you mean 'offline/judge'? Install it (pip install 'litellm<1.98'), or name another model, such as "
        "openai/gpt-5-nano or offline/judge."
    )


def test_the_version_it_names_is_the_one_that_simeval_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert [each for each in project["dependencies"] if each.startswith("litellm") and "<1.98" in each]


@pytest.mark.anyio
async def test_models_that_speak_openais_protocol_need_it_not(tmp_path: Path) -> None:
    async with chat_server(lambda _body: said("hello")) as server:
        at = ("--model-option", f"api_base={server.base_url}", "--model-option", "api_key=none")
        ask = partial(simeval_without, tmp_path, "doctor", "--judge-model", "openai/gpt-5-nano", *at, "--call")
        done = await anyio.to_thread.run_sync(ask)

    assert done.stderr == ""
    told = " ".join(done.stdout.split())
    assert "✓ judge openai/gpt-5-nano: it answered 'hello' in " in told
    assert server.bodies
