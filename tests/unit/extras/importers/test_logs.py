"""Logs as files: malformed lines, damaged and oversized files, formats that are told or named, reading anew."""

import gzip
import json
import zipfile
from math import isnan
from pathlib import Path
from typing import Any

import pytest

from simeval.core import row_files
from simeval.core.conversation import Conversation, Message
from simeval.datasets import records as reading
from simeval.datasets.dataset import Example, encode_example
from simeval.errors import DefinitionError
from simeval.extras.importers.formats import inspect_ai as inspect_logs
from simeval.extras.importers.registry import NAMES, import_log, plain_name
from tests.support.samples import imported, messages, said, written

ROW = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}


def row(asked: str, answer: str, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": asked}, {"role": "assistant", "content": answer}], **more}


class TestLines:
    def test_a_line_that_cannot_be_read_is_reported_and_the_rest_is_imported(self, tmp_path: Path) -> None:
        log = imported(tmp_path, row("a", "b"), '{"messages": [', "", {"messages": []}, row("c", "d"))

        assert said(log.dataset) == [[("user", "a"), ("assistant", "b")], [("user", "c"), ("assistant", "d")]]
        assert [problem.place for problem in log.problems] == ["line 2", "line 4"]
        assert "it is not JSON" in log.problems[0].reason
        assert log.problems[1].reason == "there is no message of a user or an assistant in it"

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            ({"messages": [{"role": "narrator", "content": "once"}]}, "the role 'narrator' is none of"),
            ({"messages": [{"content": "who says so?"}]}, "a message has no role"),
            ({"messages": [7]}, "a message is an object, found 7"),
            ({"messages": "hi"}, 'it has neither "messages" nor "request" and "response"'),
            ({"prompt": "hi"}, 'it has neither "messages" nor "request" and "response"'),
            (7, "it has another form than the format's"),
            (None, "it has another form than the format's"),
            ("[" * 100_000, "it is nested too deeply"),
            ('"caf\\ud83"', "it is not JSON"),
        ],
    )
    def test_the_reason_says_what_is_wrong(self, tmp_path: Path, line: Any, reason: str) -> None:
        log = imported(tmp_path, ROW, line)

        (problem,) = log.problems
        assert (problem.place, problem.reason[: len(reason)]) == ("line 2", reason)

    def test_the_first_line_may_be_the_broken_one(self, tmp_path: Path) -> None:
        log = imported(tmp_path, "{oops", ROW)

        assert (log.format, len(log.dataset), log.problems[0].place) == ("openai", 1, "line 1")

    def test_the_first_lines_may_be_of_no_format(self, tmp_path: Path) -> None:
        log = imported(tmp_path, {"exported": "yesterday"}, ROW)

        assert (log.format, len(log.dataset), log.problems[0].place) == ("openai", 1, "line 1")

    def test_bytes_that_are_no_text_are_reported(self, tmp_path: Path) -> None:
        path = tmp_path / "log.jsonl"
        path.write_bytes(json.dumps(ROW).encode() + b'\n{"messages": "\xff"}\n')

        (problem,) = import_log(path).problems

        assert problem.place == "line 2"
        assert "it is not UTF-8" in problem.reason

    def test_a_byte_order_mark_and_windows_line_ends_do_not_matter(self, tmp_path: Path) -> None:
        path = tmp_path / "log.jsonl"
        path.write_bytes(b"\xef\xbb\xbf" + json.dumps(ROW).encode() + b"\r\n" + json.dumps(ROW).encode() + b"\r\n")

        log = import_log(path)

        assert (len(log.dataset), log.problems) == (2, ())

    def test_texts_of_a_megabyte_and_in_any_script_are_kept(self, tmp_path: Path) -> None:
        long = "größe 😀 日本語 " * 70_000

        log = imported(tmp_path, row(long, "نعم"))

        assert len(long.encode()) > 1_000_000
        assert said(log.dataset) == [[("user", long), ("assistant", "نعم")]]

    def test_half_a_character_does_not_stop_the_import(self, tmp_path: Path) -> None:
        log = imported(tmp_path, '{"messages": [{"role": "user", "content": "cut \\ud83d"}]}')

        assert messages(log.dataset)[0].content == "cut \ud83d"

    def test_a_line_that_is_too_long_is_passed_over(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(row_files, "LONGEST_LINE", 200)

        log = imported(tmp_path, ROW, row("x" * 1000, "y"), ROW)

        assert len(log.dataset) == 2
        assert str(log.problems[0]) == "line 2: it is longer than 200 bytes"

    def test_lines_are_told_without_the_ending_of_the_name(self, tmp_path: Path) -> None:
        path = written(tmp_path, row("a", "b"), row("c", "d"), name="export")

        assert len(import_log(path).dataset) == 2

    @pytest.mark.parametrize("indent", [None, 1])
    def test_a_document_may_be_a_list_of_conversations(self, tmp_path: Path, indent: int | None) -> None:
        path = tmp_path / "log.json"
        path.write_text(json.dumps([row("a", "b"), 7, row("c", "d")], indent=indent))

        log = import_log(path)

        assert len(log.dataset) == 2
        assert log.problems[0].place == "record 2"

    def test_a_document_may_be_one_list_of_messages(self, tmp_path: Path) -> None:
        path = tmp_path / "log.json"
        path.write_text(json.dumps(ROW["messages"], indent=1))

        assert said(import_log(path).dataset) == [[("user", "hi"), ("assistant", "hello")]]


class TestFiles:
    @pytest.mark.parametrize("content", ["", "\n\n"])
    def test_an_empty_file_is_refused(self, tmp_path: Path, content: str) -> None:
        path = tmp_path / "log.jsonl"
        path.write_text(content)

        with pytest.raises(DefinitionError, match="the file is empty; name another file"):
            import_log(path)

    def test_an_empty_file_of_a_named_format_is_refused(self, tmp_path: Path) -> None:
        path = written(tmp_path)

        with pytest.raises(DefinitionError, match="nothing could be read as sharegpt \\(there is no record in it\\)"):
            import_log(path, format="sharegpt")

    @pytest.mark.parametrize("format", ["auto", "openai", "inspect", "rasa"])
    def test_a_missing_file_is_refused(self, tmp_path: Path, format: str) -> None:
        with pytest.raises(DefinitionError, match="it cannot be read"):
            import_log(tmp_path / "none.jsonl", format=format)

    def test_a_folder_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(DefinitionError, match="it cannot be read"):
            import_log(tmp_path)

    def test_an_unknown_format_is_refused_with_those_there_are(self, tmp_path: Path) -> None:
        with pytest.raises(DefinitionError) as refused:
            imported(tmp_path, ROW, format="chatgpt")

        assert all(name in str(refused.value) for name in NAMES)

    def test_a_file_of_another_kind_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "notes.txt"
        path.write_text("Dear diary,\n\n1. milk\n")

        with pytest.raises(DefinitionError, match="the format of its first records is not known"):
            import_log(path)

    @pytest.mark.parametrize("format", [name for name in NAMES if name != "promptfoo"])  # any text is a table
    def test_no_format_trips_over_what_is_not_its_own(self, tmp_path: Path, format: str) -> None:
        odd: list[Any] = [
            None,
            7,
            "text",
            [],
            {},
            [[1]],
            {"trace": 1, "observations": 2},
            {"post": 3},
            {"resourceSpans": [4]},
        ]
        odd += [{"conversations": [5]}, {"id": []}, {"samples": 6}, {"request": 1, "response": 2}, {"events": 7}]
        path = written(tmp_path, *map(json.dumps, odd))

        with pytest.raises(DefinitionError, match=f"as {format}"):
            import_log(path, format=format)

    def test_where_nothing_can_be_read_the_first_reasons_are_told(self, tmp_path: Path) -> None:
        with pytest.raises(DefinitionError) as refused:
            imported(tmp_path, *[{"messages": [number]} for number in range(5)], format="openai")

        assert "line 1: a message is an object, found 0" in str(refused.value)
        assert "and 2 more" in str(refused.value)

    def test_a_packed_file_that_breaks_off_gives_what_was_there(self, tmp_path: Path) -> None:
        path = tmp_path / "log.jsonl.gz"
        lines = [json.dumps(row(str(number), "x" * 50)) for number in range(5000)]
        path.write_bytes(gzip.compress("\n".join(lines).encode())[:-400])

        log = import_log(path)

        assert 0 < len(log.dataset) < 5000
        assert log.problems[0].place == f"line {len(log.dataset) + 1}"
        assert "the file is damaged from here on" in log.problems[0].reason

    def test_a_packed_document_that_is_damaged_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "log.json.gz"
        path.write_bytes(gzip.compress(json.dumps([ROW]).encode())[:-20] + b"\0" * 12)

        with pytest.raises(DefinitionError, match="the file is damaged"):
            import_log(path, format="openai")

    def test_a_document_that_is_too_large_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reading, "MOST_BYTES", 1 << 20)
        path = tmp_path / "log.json.gz"
        path.write_bytes(gzip.compress(b"[" + b" " * (4 << 20) + b"]"))

        with pytest.raises(DefinitionError, match="it has more than 1,048,576 bytes"):
            import_log(path, format="openai")

    def test_the_file_is_read_anew_and_has_to_be_what_it_was(self, tmp_path: Path) -> None:
        path = written(tmp_path, row("a", "b"), row("c", "d"))
        dataset = import_log(path).dataset

        before = [list(dataset), list(dataset)]
        written(tmp_path, row("e", "f"))

        assert before[0] == before[1]
        with pytest.raises(DefinitionError, match="it has changed since it was read"):
            list(dataset)

    def test_a_log_that_changes_while_it_is_read_is_refused(self, tmp_path: Path) -> None:
        path = written(tmp_path, row("a", "b"), row("c", "d"))
        examples = iter(import_log(path).dataset)
        next(examples)
        written(tmp_path, row("a", "b"), row("e", "f"), row("g", "h"))

        with pytest.raises(DefinitionError, match="it has changed since it was read"):
            next(examples)

    def test_conversations_of_one_id_are_numbered(self, tmp_path: Path) -> None:
        ids = ["s", "t", "s", "s (2)", "s", None, None]
        log = imported(tmp_path, *({**row("a", str(number)), "id": name} for number, name in enumerate(ids)))

        assert [example.example_id for example in log.dataset] == ["s", "t", "s (2)", "s (2) (2)", "s (3)", "", ""]
        assert [example.example_id for example in log.dataset] == ["s", "t", "s (2)", "s (2) (2)", "s (3)", "", ""]
        assert log.problems == ()

    @pytest.mark.parametrize(
        ("name", "plain"),
        [
            ("log.jsonl", "log"),
            ("log.json.gz", "log"),
            ("v1.2.jsonl", "v1.2"),
            ("a.simeval.jsonl", "a"),
            (".json", ".json"),
        ],
    )
    def test_a_dataset_is_called_as_its_file(self, name: str, plain: str) -> None:
        assert plain_name(Path(name)) == plain


class TestArchives:
    def archive(self, folder: Path, *samples: Any) -> Path:
        path = folder / "log.eval"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("header.json", json.dumps({"eval": {"task": "chat", "model": "m"}}))
            for number, each in enumerate(samples, 1):
                archive.writestr(f"samples/{number}_epoch_1.json", each if isinstance(each, str) else json.dumps(each))
        return path

    def test_a_sample_that_cannot_be_read_is_reported(self, tmp_path: Path) -> None:
        log = import_log(self.archive(tmp_path, {"id": 1, "epoch": 1, **ROW}, "{", {"id": 3, "epoch": 1}))

        assert [example.example_id for example in log.dataset] == ["1_epoch_1"]
        assert [problem.place for problem in log.problems] == ["samples/2_epoch_1.json", "samples/3_epoch_1.json"]

    def test_a_sample_that_would_fill_the_memory_is_refused(self, tmp_path: Path) -> None:
        path = self.archive(tmp_path, {"id": 1, "epoch": 1, **ROW})
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("samples/2_epoch_1.json", "{}")
            archive.infolist()[-1].file_size = 600_000_000  # what a bomb would unpack to

        (problem,) = import_log(path).problems

        assert problem.place == "samples/2_epoch_1.json"
        assert "600,000,000 bytes" in problem.reason

    def test_a_sample_that_lies_about_its_size_is_bounded(self, tmp_path: Path) -> None:
        path = self.archive(tmp_path, {"id": 1, "epoch": 1, **ROW})
        with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("samples/2_epoch_1.json", " " * 50_000_000)
            archive.infolist()[-1].file_size = 10

        (problem,) = import_log(path).problems

        assert "it cannot be unpacked" in problem.reason

    @pytest.mark.parametrize("content", [b"PK\x03\x04 broken", b"PK\x03\x04"])
    def test_a_broken_archive_is_refused(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "log.eval"
        path.write_bytes(content)

        with pytest.raises(DefinitionError, match="it is no zip archive, or a damaged one"):
            import_log(path)

    def test_attachments_are_put_back(self, tmp_path: Path) -> None:
        sample = {
            "id": "a",
            "epoch": 2,
            "messages": [
                {"role": "user", "content": "attachment://0af1"},
                {"role": "assistant", "content": "tc://0af1"},
            ],
            "attachments": {"0af1": "a long text"},
        }

        log = import_log(self.archive(tmp_path, sample))

        assert said(log.dataset) == [[("user", "a long text"), ("assistant", "a long text")]]

    def test_a_log_without_samples_says_so(self, tmp_path: Path) -> None:
        with pytest.raises(DefinitionError, match='it has no "samples"; the log was written without them'):
            imported(tmp_path, {"eval": {}, "status": "success"})

    def test_only_an_archive_is_opened_as_one(self, tmp_path: Path) -> None:
        found = list(inspect_logs.read(written(tmp_path, ROW)))

        assert not any(isinstance(each, Example) for each in found)


class TestOurOwn:
    def test_what_was_exported_is_read_as_it_was(self, tmp_path: Path) -> None:
        spoken = Conversation(
            messages=(
                Message(role="user", content="where is my order?"),
                Message(role="assistant", content="on its way", seconds=1.5, tool_calls=({"name": "track"},)),
            ),
            ended="recorded",
        )
        example = Example(conversation=spoken, metadata={"model": "m"}, example_id="7", split="test", tags=("eu",))

        log = imported(tmp_path, encode_example(example))

        (read,) = log.dataset
        assert log.format == "simeval"
        assert encode_example(read) == encode_example(example)
        assert isnan(messages([read])[0].seconds)

    def test_inputs_are_read_too(self, tmp_path: Path) -> None:
        log = imported(tmp_path, {"inputs": {"input": "2+2"}, "outputs": {"output": "4"}}, {"id": "no inputs"})

        assert (log.dataset.kind, len(log.dataset)) == ("llm", 1)
        assert log.problems[0].reason == "it has neither inputs nor a conversation"


def test_of_a_run_what_the_app_failed_on_is_no_conversation_to_measure(tmp_path: Path) -> None:
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    held = [{"index": index, "turns": said, "writing_style": {}, "ended": "recorded"} for index in range(4)]
    errors = [{"index": 1, "stage": "app", "error": "down"}, {"index": 2, "stage": "scorer", "error": "not this one"}]
    scenario = {"title": "Greets", "errors": errors, "conversations": held}
    experiment = {
        "examples": {"crashed": [0]},
        "answered": [{"example": "a", "repetition": 0, **each} for each in held],
    }
    (tmp_path / "suite.json").write_text(json.dumps({"simeval": "1", "run_id": "one", "scenarios": [scenario]}))
    (tmp_path / "experiment.json").write_text(json.dumps({"simeval": "1", "run_id": "two", **experiment}))

    assert [each.example_id for each in import_log(tmp_path / "suite.json").dataset] == [
        f"Greets {n}" for n in (0, 2, 3)
    ]
    assert len(import_log(tmp_path / "experiment.json").dataset) == 3
