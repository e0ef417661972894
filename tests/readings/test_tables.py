"""Tables: which column is put to the app, which holds what is right, and which tables are turns of conversations."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from simeval import AppResponse, dataset_of, import_log, read_dataset, scorer
from simeval.datasets.dataset import Dataset, Example
from simeval.errors import DefinitionError
from simeval.scorers import ExactMatch
from tests.support.command_line import simeval
from tests.support.experiments import engine, values

pytestmark = pytest.mark.anyio

QA = [{"question": f"{n}+{n}?", "__expected": str(2 * n)} for n in range(3)]
THREE = [{"question": "Who?", "answer": "Bob", "expected_answer": "Ann"}]
TURNS = [
    {"session_id": "b", "turn": "1", "role": "user", "text": "Hello"},
    {"session_id": "a", "turn": "10", "role": "assistant", "text": "Until nine."},
    {"session_id": "b", "turn": "2", "role": "assistant", "text": "Hi!"},
    {"session_id": "a", "turn": "9", "role": "user", "text": "How long?"},
    {"session_id": "a", "turn": "2", "role": "assistant", "text": "Yes."},
    {"session_id": "a", "turn": "1", "role": "user", "text": "Open?"},
]
SAID = [
    [("user", "Hello"), ("assistant", "Hi!")],
    [("user", "Open?"), ("assistant", "Yes."), ("user", "How long?"), ("assistant", "Until nine.")],
]


def csv_file(rows: Sequence[Mapping[str, object]], folder: Path) -> Dataset:
    lines: list[list[object]] = [list(rows[0]), *(list(row.values()) for row in rows)]
    path = folder / "qa.csv"
    path.write_text("".join(f"{','.join(map(str, cells))}\n" for cells in lines), encoding="utf-8")
    return read_dataset(path)


def json_lines(rows: Sequence[Mapping[str, object]], folder: Path) -> Dataset:
    path = folder / "qa.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return read_dataset(path)


def json_list(rows: Sequence[Mapping[str, object]], folder: Path) -> Dataset:
    (folder / "qa.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return read_dataset(folder / "qa.json")


def frame(rows: Sequence[Mapping[str, object]], folder: Path) -> Dataset:
    return dataset_of(pytest.importorskip("pandas").DataFrame(rows))


def mappings(rows: Sequence[Mapping[str, object]], folder: Path) -> Dataset:
    return dataset_of(rows)


ROADS = pytest.mark.parametrize("read", [csv_file, json_lines, json_list, frame, mappings])
Read = Callable[[Sequence[Mapping[str, object]], Path], Dataset]


def said(examples: Dataset | Sequence[Example]) -> list[list[tuple[str, str]]]:
    found = [example.conversation for example in examples]
    return [[(each.role, each.content) for each in conversation.messages] for conversation in found if conversation]


@ROADS
async def test_an_app_is_asked_the_question_and_never_shown_what_is_expected(read: Read, tmp_path: Path) -> None:
    heard: list[str] = []

    def app(message: str) -> str:
        heard.append(message)
        return str(2 * int(message[0]))

    result = await engine().experiment(read(QA, tmp_path), app, scorers=[ExactMatch(name="right")])

    assert sorted(heard) == ["0+0?", "1+1?", "2+2?"]
    assert values(result, "right") == [1, 1, 1]


@ROADS
async def test_beside_an_expected_answer_a_column_called_answer_is_neither_input_nor_reference(
    read: Read, tmp_path: Path
) -> None:
    (example,) = read(THREE, tmp_path)

    assert (example.text, example.outputs) == ("Who?", {"expected_answer": "Ann"})
    assert example.columns()["reference"] == "Ann"


@pytest.mark.parametrize(
    "name",
    [
        *("Expected Output", "expected-result", "ground_truth", "Ground Truth", "groundTruth", "Reference", "answer"),
        *("reference_answer", "IDEAL", "target", "label", "labels", "gold", "correct_answer", "__expected1", "golden"),
        *("completion", "Response", "Erwartete Antwort", "respuesta esperada", "réponse"),
    ],
)
def test_a_column_called_as_right_answers_are_is_the_reference_unless_it_is_named(name: str) -> None:
    row = {"question": "Who?", name: "Ann"}

    (example,) = dataset_of([row])
    (named,) = dataset_of([row], inputs=["question", name])

    assert (example.inputs, example.columns()["reference"]) == ({"question": "Who?"}, "Ann")
    assert named.inputs == row


@pytest.mark.parametrize("name", ["response", "actual_output", "prediction", "Model Response"])
def test_an_answer_that_an_app_gave_is_neither_shown_to_an_app_nor_the_reference(name: str) -> None:
    (example,) = dataset_of([{"question": "Who?", name: "Bob", "label": "Ann"}])

    assert (example.inputs, example.outputs) == ({"question": "Who?"}, {"label": "Ann"})


@pytest.mark.parametrize(
    "name", ["response_format", "target_language", "label_set", "answer_in", "expectancy", "idea", "preference"]
)
def test_a_column_that_only_begins_alike_is_an_input(name: str) -> None:
    (example,) = dataset_of([{"question": "Who?", name: "German"}])

    assert list(example.inputs) == ["question", name]


@ROADS
@pytest.mark.parametrize("names", [("question", "context"), ("instruction", "input"), ("input", "Question")])
async def test_of_several_columns_an_app_of_one_text_asks_which_before_it_is_called(
    read: Read, names: tuple[str, str], tmp_path: Path
) -> None:
    def app(message: str) -> str:
        raise AssertionError(message)

    first, second = names
    dataset = read([{first: "Who?", second: "A list.", "ground_truth": "Ann"}], tmp_path)
    with pytest.raises(DefinitionError, match=rf"2 columns may be it: {first}, {second}; name it: --input {first}"):
        await engine().experiment(dataset, app, scorers=[ExactMatch(name="right")])


@pytest.mark.parametrize(
    "row",
    [
        {"question": "Who?", "context": "A list.", "answer": "Ann"},
        {"inputs": {"question": "Who?", "context": "A list."}, "outputs": {"answer": "Ann"}},
        Example(inputs={"question": "Who?", "context": "A list."}, outputs={"answer": "Ann"}),
    ],
)
async def test_the_input_that_is_named_is_asked_and_the_others_are_columns(row: Any) -> None:
    @scorer
    def seen(output: str, context: str, reference: str) -> bool:
        return (output, context, reference) == ("asked Who?", "A list.", "Ann")

    dataset = dataset_of([row], inputs="question")

    result = await engine().experiment(dataset, lambda message: AppResponse(f"asked {message}"), scorers=[seen])

    assert values(result, "seen") == [1]


def test_the_command_line_names_the_columns_and_takes_the_one_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "qa.csv").write_text("question,topic,expected\nWho?,people,WHO?\n", encoding="utf-8")
    (tmp_path / "bot.py").write_text("def app(message):\n    return message.upper()\n", encoding="utf-8")
    scored = ("score", "qa.csv", "--app", "bot:app", "--scorers", "exact_match", "--store", "none", "--json", "-")

    guessed = simeval(tmp_path, *scored)
    named = simeval(tmp_path, *scored, "--input", "question")

    assert guessed.returncode == 2
    assert "question, topic; name it: --input question" in " ".join(guessed.stderr.split())
    assert named.returncode == 0, named.stderr
    assert {each["name"]: each["value"] for each in json.loads(named.stdout)["metrics"]} == {"exact_match": 1.0}


@ROADS
def test_a_table_of_turns_is_its_sessions_in_the_order_of_their_turns(read: Read, tmp_path: Path) -> None:
    dataset = read(TURNS, tmp_path)

    assert dataset.kind == "chat"
    assert dataset.recorded
    assert said(dataset) == SAID


@pytest.mark.parametrize(
    ("session", "role", "text"),
    [
        ("conversation_id", "speaker", "utterance"),
        ("thread_id", "sender", "message"),
        ("Dialogue ID", "Author", "Content"),
        ("chatId", "role", "content"),
        ("ticket_id", "author_type", "body"),
        ("chat", "from", "body"),
    ],
)
def test_turns_have_the_names_that_logs_give_them_in_tables_and_in_json_lines(
    session: str, role: str, text: str, tmp_path: Path
) -> None:
    rows = [
        {session: "7", role: "Customer", text: "Open?", "sent_at": "2026-03-01T09:00:00Z"},
        {session: "7", role: "Agent", text: "Yes.", "sent_at": "2026-03-01T09:00:05Z"},
    ]

    expected = [[("user", "Open?"), ("assistant", "Yes.")]]
    assert said(csv_file(rows[::-1], tmp_path)) == said(json_lines(rows, tmp_path)) == expected
    assert [said(import_log(tmp_path / name).dataset) for name in ("qa.jsonl", "qa.csv")] == [expected] * 2


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"session_id": "1", "thread_id": "2", "role": "user", "text": "x"}, "session_id and thread_id may each be"),
        ({"session_id": "1", "role": "user", "text": "x", "content": "y"}, "text and content may each be the text"),
        ({"role": "user", "text": "x"}, "no column says of which session; add a column session_id"),
        ({"session_id": "1", "role": "narrator", "text": "x"}, "the role 'narrator' is none of user"),
        ({"session_id": "", "role": "user", "text": "x"}, "session_id is empty"),
    ],
)
def test_turns_that_may_be_read_in_two_ways_are_refused(row: Mapping[str, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match=told):
        csv_file([row], tmp_path)


def test_columns_of_turns_that_are_named_as_inputs_are_inputs() -> None:
    (example,) = dataset_of([{"session_id": "1", "role": "user", "text": "Hello"}], inputs="text")

    assert example.inputs == {"text": "Hello"}
