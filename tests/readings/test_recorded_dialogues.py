"""Recorded dialogues that are put to an app anew: what was answered then is the reference of each turn."""

import json
from pathlib import Path
from typing import Any

import pytest

from simeval import AppResponse, Expectation, ProportionEvaluator, import_log, scorer
from simeval.datasets.dataset import Dataset
from simeval.extras.importers.registry import import_log as read_log
from simeval.results.experiment import ExperimentResult
from simeval.scorers import ExactMatch, ToolCallMatch
from tests.support.command_line import simeval
from tests.support.experiments import engine, logged, values

pytestmark = pytest.mark.anyio

BOTIUM = "delivery\n\n#me\nHello\n\n#bot\nHi!\n\n#bot\nHow can I help?\n\n#me\nWhen does it come?\n\n#bot\nOn Friday.\n"
RASA = """
stories:
- story: delivery
  steps:
  - user: Hello
  - bot: |-
      Hi!
  - bot: How can I help?
  - user: When does it come?
  - action: action_look_up
  - bot: On Friday.
"""
DEEPEVAL = {
    "uuid": "t",
    "llmSpans": [],
    "toolSpans": [],
    "input": {"messages": []},
    "output": {
        "messages": [
            {"type": "human", "content": "Hello"},
            {"type": "ai", "content": "Hi!\nHow can I help?"},
            {"type": "human", "content": "When does it come?"},
            {"type": "ai", "content": "", "tool_calls": [{"id": "1", "name": "look_up", "args": {}}]},
            {"type": "ai", "content": "On Friday."},
        ]
    },
}
CHAT = {
    "messages": [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi!\nHow can I help?"},
        {"role": "user", "content": "When does it come?"},
        {"role": "assistant", "content": "On Friday."},
    ]
}
FILES = {
    "delivery.convo.txt": BOTIUM,
    "stories.yml": RASA,
    "trace.json": json.dumps(DEEPEVAL),
    "chat.jsonl": json.dumps(CHAT),
    "turns.jsonl": "\n".join(
        json.dumps({"session_id": "1", "role": each["role"], "text": each["content"]}) for each in CHAT["messages"]
    ),
}


def bot(day: str) -> Any:
    def app(message: str) -> AppResponse:
        if message == "Hello":
            return AppResponse("Hi!\nHow can I help?")
        return AppResponse(f"On {day}.", tool_calls=[{"name": "look_up", "arguments": {}}])

    return app


async def replayed(dataset: Dataset, app: Any, *scorers: object, **options: Any) -> ExperimentResult:
    return await engine().experiment(dataset, app, scorers=list(scorers), **options)


@pytest.mark.parametrize("name", list(FILES))
@pytest.mark.parametrize(("day", "worst", "mean"), [("Friday", 1, 1), ("Monday", 0, 0.5)])
async def test_each_turn_is_measured_by_what_was_answered_to_it(
    name: str, day: str, worst: float, mean: float, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(FILES[name], encoding="utf-8")

    result = await replayed(import_log(tmp_path / name).dataset, bot(day), ExactMatch(name="same"))

    assert values(result, "same.min") == [worst]
    assert values(result, "same.mean") == [mean]
    assert values(result, "same.turns") == [2]


async def test_what_is_concluded_on_is_the_worst_turn() -> None:
    dataset = logged(*[["Hello", "Hi!\nHow can I help?", "When?", "On Friday."]] * 30)
    then = Expectation(scorer=ExactMatch(), evaluator=ProportionEvaluator(threshold=1, min_proportion=0.8))

    good, bad = [await replayed(dataset, bot(day), then=then) for day in ("Friday", "Monday")]

    assert (good.outcome, bad.outcome) == ("pass", "fail")


async def test_a_function_sees_the_reference_and_the_calls_of_its_turn(tmp_path: Path) -> None:
    seen: list[tuple[str, str, list[str]]] = []

    @scorer
    def noted(output: str, reference: str, reference_tool_calls: list[Any]) -> bool:
        seen.append((output, reference, [each["name"] for each in reference_tool_calls]))
        return True

    (tmp_path / "trace.json").write_text(FILES["trace.json"])
    await replayed(read_log(tmp_path / "trace.json").dataset, bot("Monday"), noted)

    assert sorted(seen) == [
        ("Hi!\nHow can I help?", "Hi!\nHow can I help?", []),
        ("On Monday.", "On Friday.", ["look_up"]),
    ]


async def test_the_tools_of_each_turn_are_matched_with_those_that_were_called_in_it(tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_text(FILES["trace.json"])
    dataset = read_log(tmp_path / "trace.json").dataset

    same = await replayed(dataset, bot("Monday"), ToolCallMatch(name="tools"))
    none = await replayed(dataset, lambda message: "On Friday.", ToolCallMatch(name="tools"))

    assert values(same, "tools.match.min") == [1]
    assert (values(none, "tools.match.min"), values(none, "tools.match.mean")) == ([0], [0.5])


async def test_a_turn_that_nobody_answered_is_not_measured() -> None:
    result = await replayed(logged(["Hello", "Hi!\nHow can I help?", "When?"]), bot("Monday"), ExactMatch(name="same"))

    assert values(result, "same.min") == [1]
    assert values(result, "same.not_measured") == [1]


async def test_a_reference_that_the_log_names_itself_is_the_one_that_counts(tmp_path: Path) -> None:
    (tmp_path / "chat.jsonl").write_text(json.dumps({**CHAT, "reference": "On Monday."}))

    result = await replayed(read_log(tmp_path / "chat.jsonl").dataset, bot("Monday"), ExactMatch(name="same"))

    assert values(result, "same") == [1]


def test_the_command_line_measures_a_replayed_script(tmp_path: Path) -> None:
    (tmp_path / "delivery.convo.txt").write_text(BOTIUM, encoding="utf-8")
    code = "def app(message):\n    return 'On Monday.' if 'When' in message else 'Hi!\\nHow can I help?'\n"
    (tmp_path / "bot.py").write_text(code, encoding="utf-8")
    options = ("--app", "bot:app", "--scorers", "exact_match", "--store", "none", "--json", "-")

    done = simeval(tmp_path, "score", "delivery.convo.txt", *options)

    assert done.returncode == 0, done.stderr
    found = {each["name"]: each["value"] for each in json.loads(done.stdout)["metrics"]}
    assert (found["exact_match.min"], found["exact_match.mean"]) == (0, 0.5)
