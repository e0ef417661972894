"""The command line: some scenarios of a suite, one conversation of it, and the conversations of a run."""

import shutil
import signal
from pathlib import Path
from typing import Any, cast

import pytest

from simeval.testing import Behaviour, fake_endpoint
from tests.support.command_line import ASKED, PATIENCE_SECONDS, simeval, started

SUITE = """
sample_size: 30
scenarios:
  - title: It says what it does
    tags: [smoke]
    given: A new user
    when: The user asks what the bot can do
    then:
      expected_behavior: Bot tracks orders, starts returns
      evaluator: {type: success_rate, min_proportion: 0.9}
  - title: It sings
    tags: [smoke, music]
    given: A new user
    when: The user asks for a song
    then:
      expected_behavior: Bot sings lalala
      evaluator: {type: success_rate, min_proportion: 0.9}
"""
APP = """
from simeval import AppResponse

async def handle(message, state):
    call = {"name": "find_order", "arguments": {"number": 7}}
    return AppResponse("I track orders and start returns.", tool_calls=[call])
"""
RUN = ("run", "suite.yaml", "--app", "shop:handle", "--seed", "4")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(APP)
    (tmp_path / "suite.yaml").write_text(SUITE)
    return tmp_path


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run in its store, and its result."""
    folder = tmp_path_factory.mktemp("evaluated")
    (folder / "shop.py").write_text(APP)
    (folder / "suite.yaml").write_text(SUITE)
    assert simeval(folder, *RUN, "--json", "out.json").returncode == 1
    return folder


@pytest.fixture
def after_a_run(evaluated: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(evaluated, tmp_path / "evaluated"))


@pytest.mark.parametrize(
    ("names", "count"), [(["smoke"], 2), (["music"], 1), (["it SINGS"], 1), (["sings", "what it does"], 2)]
)
def test_scenarios_are_chosen_by_tag_or_title(folder: Path, names: list[str], count: int) -> None:
    chosen = [part for name in names for part in ("--only", name)]

    done = simeval(folder, *RUN, "--store", "none", *chosen)

    assert f"{count} scenario{'s' * (count > 1)}, up to {30 * count} conversations" in done.stderr


def test_a_name_that_no_scenario_has_is_refused_with_the_nearest(folder: Path) -> None:
    done = simeval(folder, *RUN, "--only", "musik")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("simeval: --only: no scenario has 'musik' as a tag or in its title; did you mean 'music'?\n")


def test_what_did_not_pass_is_run_again_alone(after_a_run: Path) -> None:
    again = simeval(after_a_run, *RUN, "--rerun", "failed")

    assert again.stdout.startswith("FAIL  the scenario fails\n\nFAIL  It sings\n")


def test_a_run_of_one_scenario_leaves_what_did_not_pass_before_to_be_run_again(after_a_run: Path) -> None:
    simeval(after_a_run, *RUN, "--only", "what it does")

    again = simeval(after_a_run, *RUN, "--rerun", "failed")

    assert again.stdout.startswith("FAIL  the scenario fails\n\nFAIL  It sings\n")


def test_nothing_is_run_again_where_there_was_no_run_or_all_passed(folder: Path) -> None:
    none = simeval(folder, *RUN, "--rerun", "failed")
    simeval(folder, *RUN, "--only", "what it does")
    passed = simeval(folder, *RUN, "--rerun", "failed")

    assert (none.returncode, passed.returncode) == (2, 2)
    assert "each of the 1 scenarios that were run passed" not in passed.stderr
    assert "the scenario that was run passed in its last run; 1 more has not been run yet" in passed.stderr


def test_no_more_conversations_are_shown_than_are_asked_for(after_a_run: Path) -> None:
    shown = simeval(after_a_run, "show", "--failed", "--limit", "2").stdout

    assert shown.count(" of It sings\n") == 2


def test_a_file_is_not_shown_which_is_said(after_a_run: Path) -> None:
    refused = simeval(after_a_run, "show", "out.json")

    assert refused.stderr == (
        "simeval: show: out.json is a file; name a run of the store by its id; `simeval compare` and `simeval people "
        "agree` read files.\n"
    )


def test_an_app_that_never_answered_is_to_be_tried(folder: Path) -> None:
    (folder / "mute.py").write_text("def handle(message): raise KeyError('x')\n")

    done = simeval(folder, "run", "suite.yaml", "--app", "mute:handle")

    assert done.stdout.endswith(
        "next:\n  hold one conversation, and see what the app does\n    simeval try suite.yaml --app mute:handle\n"
        "  run it again with the traceback\n    simeval run suite.yaml --app mute:handle --log-level debug\n"
    )
    assert "worst conversation" not in done.stdout


def test_the_conversations_of_a_run_are_read_back_in_full(after_a_run: Path) -> None:
    failed = simeval(after_a_run, "show", "--failed").stdout
    one = simeval(after_a_run, "show", "--trial", "0", "--scenario", "what it does").stdout

    assert failed.startswith("trial 0 of It sings\n")
    assert "It says what it does" not in failed
    assert ".," not in one  # a style is told as a part of a sentence
    assert one.startswith("trial 0 of It says what it does\n  user       ")
    assert "  assistant  I track orders and start returns.\n" in one
    assert '  \u2192 find_order {"number": 7}\n' in one
    assert "\u2713 Bot tracks orders, starts returns, score 10: " in one


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--trial", "99"), "--trial: there is no trial 99; use a number from 0 to "),
        (("--scenario", "It sinks"), "--scenario: no scenario has 'It sinks' in its title; did you mean 'It sings'?"),
    ],
)
def test_a_conversation_that_is_not_there_is_refused(after_a_run: Path, arguments: tuple[str, ...], says: str) -> None:
    done = simeval(after_a_run, "show", *arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"simeval: {says}")


@pytest.mark.parametrize("arguments", [("--trial", "0"), ("--failed",), ("--scenario", "sings")])
def test_a_run_without_conversations_says_so(folder: Path, arguments: tuple[str, ...]) -> None:
    suite = folder / "suite.yaml"
    suite.write_text(suite.read_text().replace("Bot sings lalala", "\u6ce8\u610f"))  # nothing that a judge could fail
    ended = simeval(folder, *RUN, "--only", "music")

    done = simeval(folder, "show", *arguments)

    assert (ended.returncode, done.returncode) == (3, 2)
    assert "it has no conversation" in done.stderr
    assert done.stderr.endswith(" says why.\n")


def test_one_conversation_is_held_aloud_judged_and_not_kept(folder: Path) -> None:
    done = simeval(folder, "try", "suite.yaml", "--app", "shop:handle", "--only", "music")

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("It sings\n  given: A new user\n  when: The user asks for a song\n\n  user       ")
    assert "\u2717 Bot sings lalala, score 1: " in done.stdout
    assert done.stdout.endswith("One conversation shows how it goes, and proves nothing: `simeval run` holds many.\n")
    assert not (folder / ".simeval").exists()


def test_what_is_held_aloud_fits_the_terminal(folder: Path) -> None:
    suite = (folder / "suite.yaml").read_text()
    (folder / "long.yaml").write_text(suite.replace("It sings", f"It sings {'a song that is long ' * 4}"))

    done = simeval(folder, "try", "long.yaml", "--app", "shop:handle", "--only", "music", COLUMNS="40")

    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 40


def test_a_conversation_that_could_not_be_held_ends_with_3(folder: Path) -> None:
    (folder / "down.py").write_text('def handle(message):\n    raise RuntimeError("no")\n')

    done = simeval(folder, "try", "suite.yaml", "--app", "down:handle", "--only", "music")

    assert done.returncode == 3, done.stdout
    assert "RuntimeError: no (down.py:2 in handle)" in " ".join(done.stdout.split())


def test_a_conversation_that_could_not_be_judged_ends_with_3(folder: Path) -> None:
    raises = "@scorer\ndef songs(output: str) -> bool:\n    raise OSError('no notes')\n"
    (folder / "shop.py").write_text(f"{APP}\nfrom simeval import scorer\n\n{raises}")
    judged, sung = SUITE.rsplit("    then:", 1)
    sung = sung.replace("expected_behavior: Bot sings lalala", "scorer: shop:songs").replace(
        "success_rate", "proportion"
    )
    (folder / "suite.yaml").write_text(f"{judged}    then:{sung}")

    done = simeval(folder, "try", "suite.yaml", "--app", "shop:handle", "--only", "music")

    assert done.returncode == 3, done.stderr
    assert "no notes" in done.stdout


def test_where_a_judge_cannot_tell_a_conversation_has_been_judged(folder: Path) -> None:
    with fake_endpoint(Behaviour(score=cast("Any", None))) as endpoint:
        at = ("--model-option", f"api_base={endpoint.base_url}", "--model-option", "api_key=none")
        models = ("--judge-model", "openai-compatible/fake", *at)

        done = simeval(folder, "try", "suite.yaml", "--app", "shop:handle", *models)

    assert done.returncode == 0, done.stderr
    assert "cannot tell from the conversation" in " ".join(done.stdout.split())


def test_one_ctrl_c_ends_a_conversation_at_once(folder: Path) -> None:
    hangs = f'import asyncio, sys\n\nasync def handle(message):\n    print("{ASKED}", file=sys.stderr, flush=True)\n'
    (folder / "hangs.py").write_text(f"{hangs}    await asyncio.Event().wait()\n")
    process = started(folder, "try", "suite.yaml", "--app", "hangs:handle", "--only", "music")

    process.send_signal(signal.SIGINT)
    shown, said = process.communicate(timeout=PATIENCE_SECONDS)

    assert (process.returncode, said) == (130, "simeval: interrupted (SIGINT)\n")
    assert "One conversation shows" not in shown
