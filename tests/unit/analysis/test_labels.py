"""Label files: what is read, what is refused and where, and the sample that is drawn for people."""

import csv
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.analysis.labels import Label, draw_sample, judged_in, read_labels, transcript_of, write_sample
from simeval.analysis.saved_run import read_suite
from simeval.errors import DefinitionError, StoreError
from simeval.results.document import RunDocument
from tests.support.stored_runs import requirement, run_of, scenario_of

HEAD = "scenario,index,expectation,label,rater\n"


def read(folder: Path, text: str, name: str = "labels.csv") -> list[Label]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_labels(path)


def run(*scenarios: dict[str, Any]) -> RunDocument:
    return read_suite(run_of(*scenarios), "result")


class TestReading:
    def test_a_row_is_a_label_with_its_place(self, tmp_path: Path) -> None:
        (label,) = read(tmp_path, HEAD + "s,7,names it,pass,Ada\n")

        where = f"{tmp_path / 'labels.csv'}, line 2"
        assert label == Label(scenario="s", index=7, value=True, expectation="names it", rater="Ada", where=where)

    @pytest.mark.parametrize(
        ("text", "value"),
        [("pass", True), ("Yes ", True), ("TRUE", True), ("1", True), ("fail", False), ("no", False), ("0", False)],
    )
    def test_words_ones_and_zeros_are_passes_and_failures(self, tmp_path: Path, text: str, value: bool) -> None:
        (label,) = read(tmp_path, f"scenario,index,label\ns,0,{text}\n")

        assert label.value is value

    def test_among_ratings_a_one_is_a_rating(self, tmp_path: Path) -> None:
        labels = read(tmp_path, "scenario,index,label\ns,0,1\ns,1,10\ns,2,7.5\n")

        assert [label.value for label in labels] == [1.0, 10.0, 7.5]
        assert all(isinstance(label.value, float) for label in labels)

    def test_an_empty_label_is_none_and_blank_lines_do_not_count(self, tmp_path: Path) -> None:
        labels = read(tmp_path, "scenario,index,label\n\ns,0,\ns,1, \n\ns,2,pass\n")

        assert [label.index for label in labels] == [2]

    def test_lines_are_counted_through_transcripts_of_several(self, tmp_path: Path) -> None:
        labels = read(
            tmp_path, 'scenario,index,label,transcript\ns,0,pass,"user: a\nassistant: b\nuser: c"\ns,1,fail,x\n'
        )

        assert [label.where.rpartition(" ")[2] for label in labels] == ["2", "5"]

    @pytest.mark.parametrize("separator", [";", "\t"])
    def test_other_separators_of_spreadsheets_are_taken(self, tmp_path: Path, separator: str) -> None:
        (label,) = read(tmp_path, "scenario,index,label\ns,4,pass\n".replace(",", separator))

        assert label.index == 4

    def test_a_byte_order_mark_and_capital_heads_are_taken(self, tmp_path: Path) -> None:
        (label,) = read(tmp_path, "\ufeffScenario,Index,Label\ns,4.0,pass\n")

        assert (label.scenario, label.index) == ("s", 4)

    def test_json_lines_hold_the_same(self, tmp_path: Path) -> None:
        rows = '{"scenario": "s", "index": 1, "label": true}\n\n{"scenario": "s", "index": 2, "label": null}\n'
        ratings = '{"scenario": "s", "index": 1, "label": 7, "rater": "Ada"}'

        assert [(label.index, label.value) for label in read(tmp_path, rows, "labels.jsonl")] == [(1, True)]
        (rating,) = read(tmp_path, ratings, "more.jsonl")
        assert (rating.value, rating.rater) == (7.0, "Ada")

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("scenario,label\ns,pass\n", "line 1: the columns index are missing"),
            ("", "line 1: the columns scenario, index, label are missing"),
            (HEAD + "s,0,,,\n", "no label is filled in"),
            (HEAD + "s,0,,pass,\ns,1,,maybe,\n", "line 3, label: found 'maybe'; write pass or fail"),
            (HEAD + "s,0,,7,\ns,1,,pass,\n", "line 3, label: found 'pass' among ratings"),
            (HEAD + "s,0,,7,\ns,1,,0,\n", "line 3, label: found '0' among ratings"),
            (HEAD + "s,0,,11,\n", "line 2, label: found '11' among ratings"),
            (HEAD + "s,0,,inf,\n", "line 2, label: found 'inf' among ratings"),
            (HEAD + "s,0,,nan,\n", "line 2, label: found 'nan'"),
            (HEAD + "s,first,,pass,\n", "line 2, index: found 'first'"),
            (HEAD + "s,1.5,,pass,\n", "line 2, index: found '1.5'"),
        ],
    )
    def test_what_cannot_be_used_is_refused_with_its_line(self, tmp_path: Path, text: str, said: str) -> None:
        with pytest.raises(DefinitionError) as caught:
            read(tmp_path, text)

        assert said in str(caught.value)

    @pytest.mark.parametrize("line", ["no json", "3", '{"index": 1}'])
    def test_a_line_that_is_no_label_is_refused(self, tmp_path: Path, line: str) -> None:
        with pytest.raises(DefinitionError, match=r"line 1: (found|it is not JSON)"):
            read(tmp_path, line, "labels.jsonl")

    def test_a_file_that_cannot_be_read_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "latin.csv").write_bytes("scenario,index,label\nCafé,1,pass\n".encode("latin-1"))

        with pytest.raises(DefinitionError, match="cannot be read"):
            read_labels(tmp_path / "nothing.csv")
        with pytest.raises(DefinitionError, match="UTF-8"):
            read_labels(tmp_path / "latin.csv")


class TestSampling:
    def test_trials_are_drawn_at_random_each_once(self) -> None:
        stored = run(scenario_of("s", requirement("names it", [True] * 40)))

        rows, trials = draw_sample(stored, 10, seed=1)

        indices = [int(row[1]) for row in rows]
        assert trials == 40
        assert len(set(indices)) == 10
        assert indices != sorted(indices)
        assert draw_sample(stored, 10, seed=1)[0] == rows
        assert draw_sample(stored, 10, seed=2)[0] != rows

    def test_each_trial_is_as_likely_as_another(self) -> None:
        stored = run(scenario_of("s", requirement("names it", [True] * 8)))

        counts = Counter(row[1] for seed in range(800) for row in draw_sample(stored, 2, seed=seed)[0])

        assert all(140 < count < 260 for count in counts.values())
        assert len(counts) == 8

    def test_rows_show_what_was_said_and_no_judgement(self) -> None:
        stored = run(scenario_of("s", requirement("names it", [False])))

        (row,), _ = draw_sample(stored, 5, seed=1)

        assert row == ["s", "0", "names it", "", "", "user: question 0\nassistant: answer 0", "run-1"]

    def test_a_crash_of_the_app_is_drawn_and_shown(self) -> None:
        stored = run(scenario_of("s", requirement("names it", [True, False], scores=[9.0, None])))

        rows, _ = draw_sample(stored, 5, seed=1)

        assert sorted(row[5].splitlines()[-1] for row in rows) == ["(here the app failed)", "assistant: answer 0"]

    def test_trials_without_an_outcome_are_not_drawn(self) -> None:
        stored = run(scenario_of("s", requirement("names it", [True, None, True], excluded=[0])))

        rows, trials = draw_sample(stored, 9, seed=1)

        assert trials == 2
        assert sorted(row[1] for row in rows) == ["1", "3"]

    def test_a_trial_has_a_row_for_each_judged_expectation_and_none_for_a_metric(self) -> None:
        stored = run(
            scenario_of(
                "s", requirement("a", [True] * 4), requirement("b", [True] * 4), requirement("c", [True] * 4, reason="")
            )
        )

        rows, trials = draw_sample(stored, 2, seed=1)

        assert trials == 4
        assert [row[2] for row in rows] == ["a", "b", "a", "b"]

    def test_without_any_reasoning_all_expectations_are_taken(self) -> None:
        stored = run(scenario_of("s", requirement("c", [True] * 4, reason="")))

        assert list(judged_in(stored)) == [("s", "c")]

    def test_scenarios_share_the_sample(self) -> None:
        stored = run(*(scenario_of(title, requirement("a", [True] * 30)) for title in "xyz"))

        rows, trials = draw_sample(stored, 30, seed=1)

        assert trials == 90
        assert len(rows) == 30
        assert {row[0] for row in rows} == set("xyz")

    def test_a_run_without_judged_trials_is_refused(self) -> None:
        with pytest.raises(DefinitionError, match="no judged trial"):
            draw_sample(run(scenario_of("s", requirement("a", [None] * 3))), 2, seed=1)

    def test_labels_are_never_overwritten(self, tmp_path: Path) -> None:
        path = tmp_path / "labels.csv"
        path.write_text("precious")

        with pytest.raises(DefinitionError, match="there already"):
            write_sample([], path)

        assert path.read_text() == "precious"

    def test_a_place_that_cannot_be_written_is_said(self, tmp_path: Path) -> None:
        with pytest.raises(StoreError, match="could not be written"):
            write_sample([], tmp_path / "no" / "labels.csv")


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=20), min_size=1, max_size=4
    )
)
def test_what_is_written_is_read_back(texts: list[str]) -> None:
    rows = [
        ["a title", str(index), "names it", "it names it", "pass", f"user: {text}", "run-1"]
        for index, text in enumerate(texts)
    ]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "labels.csv"
        write_sample(rows, path)
        labels = read_labels(path)
        with path.open(newline="", encoding="utf-8") as file:
            written = list(csv.reader(file))[1:]

    assert written == rows
    assert [(label.index, label.value, label.expectation, label.run) for label in labels] == [
        (index, True, "names it", "run-1") for index in range(len(texts))
    ]


def test_a_transcript_has_the_tool_calls_and_can_be_had_as_older_versions_wrote_it() -> None:
    turns = [
        {"role": "user", "content": "cancel it"},
        {"role": "assistant", "content": "Done.", "tool_calls": [{"name": "cancel", "arguments": {"id": 7}}]},
    ]
    held = {"index": 0, "scores": {}, "turns": turns}
    scenario = {"title": "s", "sample_size": 1, "trials": 1, "expectations": [], "conversations": [held]}
    [trial] = run(scenario).scenarios[0].judgements

    assert transcript_of(trial) == 'user: cancel it\nassistant: Done.\n→ cancel {"id": 7}'
    assert transcript_of(trial, with_tools=False) == "user: cancel it\nassistant: Done."
