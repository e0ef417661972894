"""A fake endpoint: what it says to whom, and how it runs and ends."""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from simeval.testing import Behaviour, FakeEndpoint, fake_endpoint

ROOT = Path(__file__).resolve().parents[3]


def asked(base_url: str, system: str) -> str:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": "Hello"}]
    body = json.dumps({"model": "any", "messages": messages}).encode()
    request = urllib.request.Request(f"{base_url}/chat/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as response:
        return str(json.load(response)["choices"][0]["message"]["content"])


def test_it_answers_as_the_app_whoever_it_does_not_know(llm: FakeEndpoint) -> None:
    assert asked(llm.base_url, "You are a bot.") == "I answer questions, book meetings and translate texts."
    assert llm.stats.by_role == {"app": 1}


def test_it_learns_the_prompts_of_other_programs() -> None:
    with fake_endpoint(Behaviour(score=4, prompts={"Rate this": "judge"})) as endpoint:
        reply: Any = json.loads(asked(endpoint.base_url, "Rate this answer."))

    assert reply["score"] == 4
    assert endpoint.stats.by_role == {"judge": 1}


def test_its_behaviour_may_change_while_it_runs() -> None:
    with fake_endpoint() as endpoint:
        before: Any = json.loads(asked(endpoint.base_url, "You judge how"))
        endpoint.behaviour.score = 2
        after: Any = json.loads(asked(endpoint.base_url, "You judge how"))

    assert (before["score"], after["score"]) == (8, 2)


def test_it_is_gone_when_the_block_is_left() -> None:
    with fake_endpoint() as endpoint:
        pass

    with pytest.raises(OSError, match="refused"):
        asked(endpoint.base_url, "You are a bot.")


def test_as_a_program_it_prints_where_it_is_and_ends_with_its_input() -> None:
    command = [sys.executable, "-m", "simeval.testing", "--score", "3", "--prompt", "Rate this", "judge"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}

    with subprocess.Popen(command, cwd=ROOT, **pipes) as process:  # type: ignore[call-overload]
        reply: Any = json.loads(asked(process.stdout.readline().strip(), "Rate this."))
        process.stdin.close()

        assert process.wait(timeout=10) == 0
    assert reply["score"] == 3


def test_the_stand_ins_need_no_test_framework() -> None:
    code = (
        "import sys, simeval.testing as testing\n"
        "[getattr(testing, name) for name in testing.__all__]\n"
        "assert not {'pytest', 'hypothesis', '_pytest'} & set(sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
