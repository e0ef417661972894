"""The apps under test and suites that come with the project do what their files say of them."""

import gzip
import importlib.util
import json
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from scenarios import alice, support_bot, tau
from simeval import AppResponse, Engine, SuiteResult
from simeval.suites.files import load_file

ROOT = Path(__file__).resolve().parents[2]
TAU_TASKS = ROOT / "tests" / "data" / "public" / "tau_tasks.jsonl.gz"
TASK = {
    "id": "shop-1",
    "given": "Your name is Ana.",
    "when": "You want to cancel an order.",
    "instruction": "Your name is Ana. You want to cancel an order.",
    "expected_actions": [{"name": "cancel_pending_order", "kwargs": {"order_id": "#W1", "reason": "no longer needed"}}],
    "expected_outputs": ["54.04"],
}
needs_aiml = pytest.mark.skipif(
    importlib.util.find_spec("aiml") is None, reason="python-aiml is not installed, so A.L.I.C.E. cannot be tried"
)


async def talk(*messages: str) -> list[str]:
    state: dict[str, object] = {}
    answers = []
    for message in messages:
        response = await support_bot.handle(message, state)
        answers.append(response.response)
        state = response.state
    return answers


async def run(name: str, app: object, seed: int) -> SuiteResult:
    assert callable(app)
    return await Engine(seed=seed, display="none", store=None).evaluate(load_file(ROOT / "scenarios" / name), app)


def outcomes(result: SuiteResult) -> dict[str, str]:
    return {expectation.label: expectation.outcome for each in result for expectation in each.expectations}


def write_tasks(path: Path, *lines: str) -> Path:
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    return path


def convert(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(tau.main, arguments)
    return result.exit_code, result.output


# The support bot


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("Where is order f1001?", "shipped"),
        ("When will F1003 be delivered?", "18 June"),
        ("What about order F9999?", "cannot find F9999"),
        ("Where is my parcel?", "Which order"),
        ("What is the material of the fleece?", "merino wool"),
        ("What is the price of a hammock?", "Which product"),
        ("How long do I have to send it back?", "30 days"),
        ("I want a refund for F1001.", "once it is delivered"),
        ("What can you do?", "track orders"),
        ("Good day.", "welcome to Fernhill"),
        ("Are you a robot?", "I am a bot"),
        ("Okay, thank you. Bye.", "Enjoy the hills"),
        ("What is the weather like?", "cannot help with that"),
    ],
)
async def test_the_bot_answers(message: str, words: str) -> None:
    [answer] = await talk(message)

    assert words in answer


@pytest.mark.anyio
async def test_the_bot_remembers_the_order_number() -> None:
    answers = await talk("Where is order F1003?", "And when will it be delivered?")

    assert answers[1] == "Delivery of F1003 is expected on Wednesday, 18 June."


@pytest.mark.anyio
async def test_a_return_without_a_number_is_started_once_the_number_is_given() -> None:
    answers = await talk("I want to return something.", "F1002", "They are too small.")

    assert "Which order" in answers[0]
    assert "started the return of F1002" in answers[1]
    assert "noted the reason" in answers[2]


@pytest.mark.anyio
async def test_the_bot_hands_over_after_a_yes() -> None:
    answers = await talk("I want to speak to a person.", "Yes, please.")

    assert "connecting you" in answers[1]


@pytest.mark.anyio
async def test_a_question_in_place_of_a_yes_is_answered() -> None:
    answers = await talk("I want to speak to a person.", "Where is order F1001?")

    assert "shipped" in answers[1]


@pytest.mark.anyio
async def test_the_bot_leaves_the_state_it_was_given_alone() -> None:
    state: dict[str, object] = {}

    response = await support_bot.handle("Where is order F1001?", state)

    assert state == {}
    assert response.state == {"order": "F1001"}


@pytest.mark.anyio
async def test_known_defect_a_return_starts_without_confirmation() -> None:
    [answer] = await talk("I want to return F1002.")

    assert "I have started the return" in answer


@pytest.mark.anyio
async def test_known_defect_informal_phrasing_is_not_recognised() -> None:
    [answer] = await talk("Where is my stuff?")

    assert "cannot help with that" in answer


@pytest.mark.anyio
async def test_known_defect_any_no_declines_a_hand_over() -> None:
    answers = await talk("I want to speak to a person.", "Yes, connect me. I have no time for this.")

    assert "I will stay with you" in answers[1]


@pytest.mark.anyio
@pytest.mark.parametrize("seed", [0, 7, 424242])
async def test_the_support_suite_shows_every_outcome_at_any_seed(seed: int) -> None:
    result = await run("support.yaml", support_bot.handle, seed)

    assert {each.outcome for each in result} == {"pass", "fail", "inconclusive"}
    assert outcomes(result)["asks for confirmation"] == "fail"
    assert outcomes(result)["asks for the number"] == "fail"
    assert outcomes(result)["price and material"] == "inconclusive"


# tau-bench


def test_a_task_becomes_a_scenario_that_loads(tmp_path: Path) -> None:
    tasks, out = write_tasks(tmp_path / "tasks.jsonl.gz", json.dumps(TASK), ""), tmp_path / "suite.yaml"

    code, output = convert(str(tasks), str(out), "--samples", "12", "--max-turns", "5")

    assert (code, output) == (0, f"1 scenarios written to {out}\n")
    [scenario] = load_file(out)
    assert (scenario.title, scenario.given, scenario.when) == (TASK["id"], TASK["given"], TASK["when"])
    assert (scenario.sample_size, scenario.max_turns) == (12, 5)
    assert scenario.expectations[0].expected_behavior == (
        "The agent cancels order #W1 (no longer needed); the agent tells the user: 54.04."
    )


def test_the_suite_names_its_source_and_licence(tmp_path: Path) -> None:
    tasks, out = write_tasks(tmp_path / "tasks.jsonl.gz", json.dumps(TASK)), tmp_path / "suite.yaml"

    convert(str(tasks), str(out))

    assert out.read_text(encoding="utf-8").startswith(tau.HEAD)


def test_an_empty_given_or_when_falls_back_on_the_instruction() -> None:
    scenario = tau.scenario_of(tau.Task.model_validate(TASK | {"given": " ", "when": ""}))

    assert scenario["given"] == scenario["when"] == TASK["instruction"]


@pytest.mark.parametrize(
    ("actions", "outputs", "sentence"),
    [
        ([], [], "The agent explains that the request cannot be carried out."),
        ([], ["4", "blue"], "The agent tells the user: 4, blue."),
        (
            [
                {
                    "name": "exchange_delivered_order_items",
                    "kwargs": {"order_id": "#W2", "item_ids": ["1", "2"], "new_item_ids": ["3", "4"]},
                }
            ],
            [],
            "The agent exchanges items 1 and 2 of order #W2 for items 3 and 4.",
        ),
        (
            [{"name": "get_user_details", "kwargs": {"user_id": "ana_1"}}] * 2,
            [],
            "The agent looks up the customer ana_1.",
        ),
        (
            [{"name": "open_door", "kwargs": {"door_id": "7"}}],
            [],
            "The agent carries out open door with door id 7.",
        ),
        ([{"name": "get_user_details", "kwargs": {}}], [], "The agent carries out get user details."),
    ],
)
def test_expected_actions_are_said_in_plain_words(actions: list[object], outputs: list[str], sentence: str) -> None:
    task = tau.Task.model_validate(TASK | {"expected_actions": actions, "expected_outputs": outputs})

    assert tau.expected_behavior(task) == sentence


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{not json", "Invalid JSON"),
        ('{"given": "x"}', "field id: Field required"),
        ('{"id": "x"}', "field instruction"),
    ],
)
def test_a_bad_line_is_named_by_its_number(tmp_path: Path, line: str, problem: str) -> None:
    tasks = write_tasks(tmp_path / "tasks.jsonl.gz", json.dumps(TASK), line)

    code, output = convert(str(tasks), str(tmp_path / "suite.yaml"))

    assert code == 1
    assert "line 2: this is not a task" in output
    assert problem in output


def test_a_file_that_is_not_compressed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text("{}", encoding="utf-8")

    code, output = convert(str(tmp_path / "tasks.jsonl"), str(tmp_path / "suite.yaml"))

    assert code == 1
    assert "cannot be read as compressed text" in output


def test_a_file_without_tasks_is_refused(tmp_path: Path) -> None:
    code, output = convert(str(write_tasks(tmp_path / "tasks.jsonl.gz", "")), str(tmp_path / "suite.yaml"))

    assert code == 1
    assert "holds no task" in output


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    code, output = convert(str(tmp_path / "none.gz"), str(tmp_path / "suite.yaml"))

    assert code == 2
    assert "does not exist" in output


def test_all_of_tau_bench_becomes_a_suite(tmp_path: Path) -> None:
    out = tmp_path / "suite.yaml"

    code, _ = convert(str(TAU_TASKS), str(out))

    assert code == 0
    suite = yaml.safe_load(out.read_text(encoding="utf-8"))
    titles = [scenario["title"] for scenario in suite["scenarios"]]
    assert len(titles) == len(set(titles)) == 685
    assert not any("carries out" in scenario["then"]["expected_behavior"] for scenario in suite["scenarios"])


# A.L.I.C.E.


@needs_aiml
@pytest.mark.anyio
async def test_alice_keeps_conversations_apart() -> None:
    first = await alice.handle("My name is Tom.", {})
    second = await alice.handle("My name is Ana.", {})
    again = await alice.handle("Hello.", first.state)

    assert first.state["session"] != second.state["session"]
    assert again.state == first.state
    kernel = alice._kernel()
    assert kernel.getPredicate("name", first.state["session"]) == "Tom"
    assert kernel.getPredicate("name", second.state["session"]) == "Ana"


@needs_aiml
@pytest.mark.anyio
async def test_known_defect_alice_does_not_recall_a_name() -> None:
    told: AppResponse = await alice.handle("My name is Tom.", {})

    asked = await alice.handle("What is my name?", told.state)

    assert "I don't know" in asked.response


@needs_aiml
@pytest.mark.anyio
async def test_the_alice_suite_shows_passes_and_a_fail() -> None:
    result = await run("alice.yaml", alice.handle, 7)

    assert outcomes(result)["recalls the name"] == "fail"
    assert [each.outcome for each in result].count("pass") >= 3


@pytest.mark.anyio
async def test_without_python_aiml_alice_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiml", None)
    alice._kernel.cache_clear()

    with pytest.raises(ImportError, match="pip install python-aiml"):
        await alice.handle("Hello.", {})
