"""`simeval import` as a user meets it: what is written, what is said of it, and what is refused."""

import json
from pathlib import Path

import anyio
import pytest

from simeval import Engine
from simeval.datasets.files import read_dataset
from simeval.extras.importers.import_logs import import_logs
from simeval.extras.importers.registry import import_log
from simeval.suites import load_suite
from tests.support.command_line import simeval
from tests.support.samples import said, written

CALL = {"id": "1", "function": {"name": "f", "arguments": "{}"}}
PAIR = {
    "request": {"messages": [{"role": "user", "content": "größe?"}]},
    "response": {
        "id": "r1",
        "model": "m",
        "choices": [{"message": {"role": "assistant", "content": "M", "tool_calls": [CALL]}}],
        "usage": {"prompt_tokens": 1200, "completion_tokens": 3},
    },
}
SCENARIO = """\
scenarios:
  - title: Parcel
    given: A customer
    when: They ask where their parcel is.
    then: {expected_behavior: It says where the parcel is, evaluator: {type: success_rate, min_proportion: 0.1}}
"""
TABLE = {"inputs": {"question": "2+2"}}


def test_a_log_becomes_a_dataset_beside_it(tmp_path: Path) -> None:
    path = written(tmp_path, PAIR, "{", PAIR)

    done = simeval(tmp_path, "import", path.name)

    assert done.returncode == 0
    assert done.stderr == "simeval: log.jsonl, line 2: " + done.stderr.partition("line 2: ")[2]
    rows = dict(
        line.split(maxsplit=1) for line in done.stdout.splitlines() if not line.startswith(("tool", "not", "wri"))
    )
    assert rows["conversations"] == "2"
    assert rows["messages"] == "2 of users, 2 of assistants"
    assert rows["models"] == "m (2)"
    assert rows["tokens"] == "2,400 prompt, 6 completion"
    log = import_log(tmp_path / "log.simeval.jsonl")
    assert (log.format, log.dataset.version) == ("simeval", import_log(path).dataset.version)
    assert said(log.dataset)[0] == [("user", "größe?"), ("assistant", "M")]


def test_several_logs_become_one_dataset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = written(tmp_path, PAIR, name="one.jsonl")
    two = written(tmp_path, {"conversations": [{"from": "human", "value": "hi"}]}, name="two.jsonl")

    status = import_logs(files=[one, two], format="auto", out=tmp_path / "all.jsonl", name="both")

    shown = capsys.readouterr().out
    assert status == 0
    assert "openai, sharegpt" in shown
    assert "both, kind chat" in shown
    assert len(import_log(tmp_path / "all.jsonl").dataset) == 2


def test_logs_that_count_their_conversations_alike_become_one_dataset(tmp_path: Path) -> None:
    logs = [
        written(tmp_path, {"id": "1", "conversations": [{"from": "human", "value": name}]}, name=f"{name}.jsonl")
        for name in ("one", "two")
    ]

    status = import_logs(files=logs, format="auto", out=tmp_path / "all.jsonl", name="both")

    assert status == 0
    assert [example.example_id for example in read_dataset(tmp_path / "all.jsonl")] == ["1", "1 (2)"]


def test_an_imported_dataset_that_is_kept_can_have_feedback(tmp_path: Path) -> None:
    log = written(tmp_path, {**TABLE, "id": "q-1"}, name="sums.jsonl")
    given = ("feedback", "--store", "s.db", "--dataset", "sums", "--example", "q-1", "--key", "right", "--score", "1")

    simeval(tmp_path, "import", log.name, "--store", "other.db", "--name", "others")
    (tmp_path / "other.db").rename(tmp_path / "s.db")
    before = simeval(tmp_path, *given)
    imported = simeval(tmp_path, "import", log.name, "--store", "s.db")
    after = simeval(tmp_path, *given)

    assert before.returncode == 2
    assert "there is no dataset 'sums' in the store" in before.stderr
    assert "simeval import --store" in before.stderr
    assert imported.returncode == 0
    assert imported.stdout.splitlines()[-1] == "kept in        s.db"
    assert after.returncode == 0, after.stderr


def test_the_users_of_a_log_become_a_mix_that_a_run_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = ["where is it"] * 30 + ["Dear Sir, I am lost."] * 20
    log = written(tmp_path, *[{"messages": [{"role": "user", "content": text}]} for text in said])

    statuses = [import_logs(files=[log], format="auto", out=None, name=None, fit_users=True) for _ in range(2)]
    users = (tmp_path / "log.users.yaml").read_text(encoding="utf-8")
    (tmp_path / "suite.yaml").write_text(f"{users}sample_size: 30\n{SCENARIO}", encoding="utf-8")
    suite = load_suite(str(tmp_path / "suite.yaml"))
    found = anyio.run(Engine(seed=7, store=None, display="none").evaluate, suite, lambda message: "It is in Leeds.")

    shown = capsys.readouterr()
    assert statuses == [0, 2]
    assert "users          60% (45% to 74%) neutral\n               40% (26% to 55%) very formal\n" in shown.out
    assert "fitted to      50 conversations" in shown.out
    assert "log.users.yaml: this file is there already" in shown.err
    styles = {(talk.writing_style or {})["typing"] for talk in found[0].conversations}
    assert styles == {"Small letters, no full stops.", "With capitals and full stops, as in print."}


def test_users_without_a_word_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    log = written(tmp_path, {"messages": [{"role": "user", "content": "..."}]})

    status = import_logs(files=[log], format="auto", out=None, name=None, fit_users=True)

    assert status == 2
    assert [path.name for path in tmp_path.iterdir()] == ["log.jsonl"]


def test_a_store_that_cannot_be_used_is_told_before_anything_is_written(tmp_path: Path) -> None:
    done = simeval(tmp_path, "import", written(tmp_path, PAIR).name, "--store", "nothing://here")

    assert done.returncode == 2
    assert [path.name for path in tmp_path.iterdir()] == ["log.jsonl"]


def test_the_first_problems_are_shown_and_the_others_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, PAIR, *["{"] * 25)

    status = import_logs(files=[path], format="auto", out=None, name=None)

    shown = capsys.readouterr()
    assert status == 0
    assert shown.err.count("it is not JSON") == 20
    assert "and 5 more that could not be read" in shown.err
    assert "not read       25" in shown.out


def test_the_name_is_also_that_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = import_logs(files=[written(tmp_path, TABLE)], format="simeval", out=None, name="sums")

    assert status == 0
    assert "sums, kind kv" in capsys.readouterr().out
    assert json.loads((tmp_path / "sums.simeval.jsonl").read_text(encoding="utf-8")) == TABLE


@pytest.mark.parametrize(
    ("files", "out", "name", "problem"),
    [
        (["none.jsonl"], None, None, "it cannot be read"),
        (["log.jsonl"], "log.jsonl", None, "it is a file that is read"),
        (["log.jsonl"], "link.jsonl", None, "it is a file that is read"),
        (["log.jsonl"], "log.json", None, "a dataset is JSON lines"),
        (["log.jsonl"], "nowhere/log.jsonl", None, "it cannot be written"),
        (["log.jsonl", "table.jsonl"], None, None, "several files make one dataset"),
        (["log.jsonl", "table.jsonl"], "all.jsonl", None, "kind chat"),
        (["log.jsonl"], None, "../x", "is no name of a file"),
        (["empty.jsonl"], None, None, "the file is empty; name another file"),
    ],
)
def test_bad_input_has_a_status_and_leaves_every_file_as_it_was(
    tmp_path: Path,
    files: list[str],
    out: str | None,
    name: str | None,
    problem: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    written(tmp_path, PAIR)
    written(tmp_path, TABLE, name="table.jsonl")
    written(tmp_path, name="empty.jsonl")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "log.jsonl")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    status = import_logs(
        files=[tmp_path / each for each in files], format="auto", out=tmp_path / out if out else None, name=name
    )

    assert status == 2
    assert problem in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_an_unknown_format_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = import_logs(files=[written(tmp_path, PAIR)], format="whatsapp", out=None, name=None)

    assert status == 2
    assert "use auto or one of simeval, inspect, otel" in capsys.readouterr().err
