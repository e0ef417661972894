"""`simeval score` as a user meets it: a log, scorers by name, bars, exit statuses."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.command_line import SHOP, SUITE, simeval

SCORER = """
from simeval import scorer
from simeval.scorers import Preference


@scorer
def thanks(output):
    return "thank" in output.lower()


def again(message):
    return '{"answer": "thank you"}'


def more(input, first, second):
    if len(first) == len(second):
        return "tie"
    return "first" if len(first) > len(second) else "second"


longer = Preference(name="longer", prefer=more)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a log of twenty conversations, in fifteen of which the last answer is JSON."""
    answers = ['{"answer": "ok"}'] * 15 + ["not JSON \u2713"] * 5
    rows = [
        {"messages": [{"role": "user", "content": f"question {n}"}, {"role": "assistant", "content": answer}]}
        for n, answer in enumerate(answers)
    ]
    lines = [*map(json.dumps, rows[:3]), "{broken", *map(json.dumps, rows[3:])]
    (tmp_path / "chat.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "mine.py").write_text(SCORER)
    (tmp_path / "answers.csv").write_text("question,said,ideal\n1+1?,2,2\n2+2?,5,4\n", encoding="utf-8")
    return tmp_path


def test_a_log_is_measured_and_kept_and_what_could_not_be_read_is_said(folder: Path) -> None:
    done = simeval(
        folder, "score", "chat.jsonl", "--scorers", "valid_json,turn_count,mine:thanks", "--json", "out.json"
    )
    stored = simeval(folder, "show", "last")
    found = json.loads((folder / "out.json").read_text(encoding="utf-8"))

    assert done.returncode == 0, done.stderr
    assert "line 4" in done.stderr
    assert {metric["name"]: metric["value"] for metric in found["metrics"]} == {
        "valid_json.valid": 0.75,
        "turn_count": 1.0,
        "thanks": 0.0,
    }
    assert "valid_json.valid" in stored.stdout


@pytest.mark.parametrize(
    ("bar", "status"), [("valid_json.valid=0.5", 0), ("valid_json=0.5", 0), ("valid_json.valid=0.95", 1)]
)
def test_a_bar_decides_the_exit_status(folder: Path, bar: str, status: int) -> None:
    done = simeval(folder, "score", "chat.jsonl", "--scorers", "valid_json", "--share", bar, "--store", "none")

    assert done.returncode == status, done.stderr


def test_the_log_is_not_written_over(folder: Path) -> None:
    before = (folder / "chat.jsonl").read_text(encoding="utf-8")

    done = simeval(folder, "score", "chat.jsonl", "--scorers", "valid_json", "--json", "chat.jsonl")

    assert (done.returncode, "this file is read by the same command" in done.stderr) == (2, True)
    assert (folder / "chat.jsonl").read_text(encoding="utf-8") == before


def test_a_median_is_concluded_on(folder: Path) -> None:
    arguments = ("--scorers", "total_response_length", "--median", "total_response_length=5", "--store", "none")

    assert simeval(folder, "score", "chat.jsonl", *arguments).returncode == 0


def test_a_new_version_answers_instead_of_what_was_recorded(folder: Path) -> None:
    arguments = ("--scorers", "valid_json,mine:thanks", "--app", "mine:again", "--store", "none", "--json", "-")
    done = simeval(folder, "score", "chat.jsonl", *arguments)

    found = {metric["name"]: metric["value"] for metric in json.loads(done.stdout)["metrics"]}
    assert found == {"valid_json.valid": 1.0, "thanks": 1.0}


def test_a_table_says_which_column_was_recorded_and_which_is_the_reference(folder: Path) -> None:
    arguments = (
        "--scorers",
        "exact_match",
        "--recorded",
        "said",
        "--output",
        "ideal",
        "--store",
        "none",
        "--json",
        "-",
    )
    done = simeval(folder, "score", "answers.csv", *arguments)

    assert json.loads(done.stdout)["metrics"][0]["value"] == 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("chat.jsonl", "--scorers", "wit"), "`simeval help scorers` lists them"),
        (("chat.jsonl", "--scorers", " , "), "name one or more"),
        (("chat.jsonl", "--scorers", "authenticity"), "no persona; give it with --persona"),
        (("chat.jsonl", "--scorers", "valid_json", "--share", "valid_json"), "write METRIC=NUMBER"),
        (("chat.jsonl", "--scorers", "valid_json", "--share", "wit=0.5"), "begin with a scorer's name: valid_json"),
        (("chat.jsonl", "--scorers", "exact_match"), "the columns are"),
        (("nothing.jsonl", "--scorers", "valid_json"), "nothing.jsonl"),
        (("answers.csv", "--scorers", "valid_json"), "there is no app"),
        (
            ("answers.csv", "--recorded=said", "--output=ideal", "--scorers=exact_match", "--share=exact_match.f1=0.5"),
            "simeval: --share: exact_match gives yes or no, and no 'f1'; leave it out.",
        ),
        (("chat.jsonl", "--scorers", "valid_json", "--app", "mine:nobody"), "nobody"),
    ],
)
def test_what_cannot_be_used_is_said_and_ends_with_2(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    done = simeval(folder, "score", *arguments, "--store", "none")

    assert done.returncode == 2
    assert message in done.stderr


def test_suites_name_the_same_scorers(folder: Path) -> None:
    (folder / "suite.yaml").write_text(
        "scenarios:\n"
        "  - title: JSON\n"
        "    given: A user\n"
        "    when: The user asks\n"
        "    sample_size: 40\n"
        "    max_turns: 1\n"
        "    then:\n"
        "      scorer: valid_json\n"
        "      evaluator: {type: proportion, threshold: 1, min_proportion: 0.9}\n"
    )

    done = simeval(folder, "run", "suite.yaml", "--app", "mine:again", "--store", "none")

    assert done.returncode == 0, done.stdout + done.stderr


def test_a_score_that_measured_nothing_says_why_and_is_no_success(folder: Path) -> None:
    (folder / "broken.py").write_text(
        "from simeval import scorer\n\n@scorer\ndef odd(output):\n    raise ValueError('no')\n"
    )

    command = ("score", "chat.jsonl", "--scorers", "broken:odd", "--store", "none")
    done, quiet = simeval(folder, *command), simeval(folder, *command, "-q")

    assert done.returncode == quiet.returncode == 3
    assert "20 x scorer: odd: ValueError: no (broken.py:5 in odd)" in done.stdout
    assert done.stderr.splitlines()[-1] == "simeval: nothing was measured"
    assert quiet.stderr.splitlines()[-1].startswith("simeval: nothing was measured; most often (20 x): scorer: ")


def test_categories_alone_are_something_that_was_measured(folder: Path) -> None:
    (folder / "words.py").write_text("from simeval import scorer\n\n@scorer\ndef tone(output):\n    return 'warm'\n")

    done = simeval(folder, "score", "chat.jsonl", "--scorers", "words:tone", "--store", "none")

    assert done.returncode == 0, done.stderr
    assert "tone         warm  100%" in done.stdout
    assert "nothing was measured" not in done.stderr


class TestRuns:
    def test_a_finished_run_is_measured_anew_without_its_app(self, folder: Path) -> None:
        first = simeval(folder, "score", "chat.jsonl", "--scorers", "turn_count")
        again = simeval(folder, "score", "last", "--scorers", "valid_json", "--json", "again.json")

        assert (first.returncode, again.returncode) == (0, 0)
        result = json.loads((folder / "again.json").read_text("utf-8"))
        assert result["examples"]["values"]["valid_json.valid"] == [1] * 15 + [0] * 5
        assert result["dataset"]["name"].startswith("run ")

    def test_examples_of_equal_inputs_are_measured_anew(self, folder: Path) -> None:
        asked = {"messages": [{"role": "user", "content": "When?"}, {"role": "assistant", "content": "{}"}]}
        (folder / "twice.jsonl").write_text(f"{json.dumps(asked)}\n" * 2)
        simeval(folder, "score", "twice.jsonl", "--scorers", "turn_count")

        again = simeval(folder, "score", "last", "--scorers", "valid_json", "--json", "-")

        assert json.loads(again.stdout)["examples"]["values"]["valid_json.valid"] == [1, 1]

    def test_a_run_that_is_not_there_is_told(self, folder: Path) -> None:
        simeval(folder, "score", "chat.jsonl", "--scorers", "turn_count")

        found = simeval(folder, "score", "nothing", "--scorers", "turn_count")

        assert (found.returncode, "there is no run 'nothing'" in found.stderr) == (2, True)

    def test_without_a_store_there_is_no_run_to_measure(self, folder: Path) -> None:
        found = simeval(folder, "score", "last", "--scorers", "turn_count", "--store", "none")

        assert found.returncode == 2
        assert found.stderr.startswith("simeval: 'last': there is neither such a file nor a store; ")


class TestAgainst:
    def test_a_new_version_is_preferred_to_what_was_recorded_by_example(self, folder: Path) -> None:
        arguments = ("--against", "chat.jsonl", "--app", "mine:again", "--scorers", "mine:longer", "--seed", "1")
        done = simeval(folder, "score", "chat.jsonl", *arguments, "--store", "none", "--json", "out.json")

        found = json.loads((folder / "out.json").read_text("utf-8"))["summaries"]["longer"]
        assert done.returncode == 0, done.stderr
        assert {name: found[name]["value"] for name in ("won", "lost", "prefers_first")} == {
            "won": 1.0,
            "lost": 0.0,
            "prefers_first": 0.5,
        }
        assert found["p_output_better"]["value"] == pytest.approx(0.5**20)

    def test_what_json_wrote_of_a_run_is_measured_anew(self, folder: Path) -> None:
        (folder / "suite.yaml").write_text(SUITE)
        (folder / "shop.py").write_text(SHOP)
        simeval(folder, "run", "suite.yaml", "--app", "shop:good", "--seed", "1", "--json", "suite.json")
        simeval(folder, "score", "chat.jsonl", "--scorers", "turn_count", "--json", "numbers.json")
        simeval(folder, "show", "last", "--json", "experiment.json")
        held = json.loads((folder / "suite.json").read_text("utf-8"))["scenarios"][0]["conversations"]
        sizes = {"suite.json": len(held), "experiment.json": 20}

        for file, size in sizes.items():
            simeval(folder, "score", file, "--scorers", "mine:thanks", "--store", "none", "--json", "out.json")
            assert json.loads((folder / "out.json").read_text("utf-8"))["metrics"][0]["n"] == size
        without = simeval(folder, "score", "numbers.json", "--scorers", "mine:thanks")
        assert (without.returncode, "a run without its conversations" in without.stderr) == (2, True)

    def test_two_runs_are_held_against_each_other(self, folder: Path) -> None:
        simeval(folder, "score", "chat.jsonl", "--scorers", "turn_count", "--json", "old.json")
        simeval(folder, "score", "chat.jsonl", "--scorers", "turn_count", "--app", "mine:again")
        old = json.loads((folder / "old.json").read_text("utf-8"))["run_id"]

        done = simeval(folder, "score", "last", "--against", old, "--scorers", "mine:longer", "--json", "out.json")

        assert done.returncode == 0, done.stderr
        assert json.loads((folder / "out.json").read_text("utf-8"))["summaries"]["longer"]["won"]["value"] == 1.0

    def test_runs_of_suites_with_other_seeds_are_no_pairs(self, folder: Path) -> None:
        (folder / "suite.yaml").write_text(SUITE)
        (folder / "shop.py").write_text(SHOP)
        runs = [
            simeval(folder, "run", "suite.yaml", "--app", "shop:good", "--seed", seed, "--json", f"{seed}.json")
            for seed in ("1", "2")
        ]
        first = json.loads((folder / "1.json").read_text("utf-8"))["run_id"]

        done = simeval(folder, "score", "last", "--against", first, "--scorers", "mine:longer")

        assert [each.returncode for each in runs] == [0, 0]
        assert (done.returncode, "the seeds 1 and 2" in done.stderr) == (2, True)

    def test_what_is_held_against_itself_is_refused(self, folder: Path) -> None:
        arguments = ("--against", "chat.jsonl", "--scorers", "mine:longer", "--store", "none")

        assert "both are one" in simeval(folder, "score", "chat.jsonl", *arguments).stderr


def test_quietly_it_says_how_it_went_in_a_line_and_what_could_not_be_read(folder: Path) -> None:
    done = simeval(folder, "score", "chat.jsonl", "--scorers", "valid_json", "--share", "valid_json.valid=0.9", "-q")

    assert done.returncode == 1, done.stderr
    assert done.stdout == "FAIL  the requirement fails: dataset chat, 20 examples\n"
    assert [line for line in done.stderr.splitlines() if "line 4" not in line] == []


def test_what_is_concluded_fits_the_terminal_and_warns_once(folder: Path) -> None:
    bar = ("--scorers", "valid_json", "--share", "valid_json.valid=0.95", "--store", "none")
    done = simeval(folder, "score", "chat.jsonl", *bar, COLUMNS="60")
    said = " ".join((done.stdout + done.stderr).split())

    assert max(map(len, done.stdout.splitlines())) <= 60
    assert said.count("cannot be proven on 20 examples") == 1


def test_a_kept_experiment_is_shown_as_it_was_printed_and_fits_another_terminal(folder: Path) -> None:
    bar = ("--scorers", "valid_json", "--share", "valid_json.valid=0.95")
    done = simeval(folder, "score", "chat.jsonl", *bar, COLUMNS="120")
    shown, narrow = (simeval(folder, "show", "last", COLUMNS=columns).stdout for columns in ("120", "60"))

    noted = [line for line in shown.split("\n\n") if not line.startswith("note: ")]  # which a run warns of
    assert "\n\n".join(noted) == done.stdout
    assert "worst conversation (trial 15), score 0: Expecting value: line 1 column 1 (char 0)" in shown
    assert max(map(len, narrow.splitlines())) <= 60
    assert sorted(narrow.split()) != sorted(shown.split())  # the table became a list
    assert {"not", "JSON", "Clopper-Pearson"} <= set(narrow.split())


def test_an_experiment_of_an_earlier_version_is_shown_as_it_was_kept(folder: Path) -> None:
    bar = ("--scorers", "valid_json", "--share", "valid_json.valid=0.95")
    done = simeval(folder, "score", "chat.jsonl", *bar, COLUMNS="100")
    with closing(sqlite3.connect(folder / ".simeval" / "simeval.db")) as database:
        database.execute("UPDATE runs SET result = json_remove(result, '$.expectations[0].verdicts[0].required')")
        database.commit()

    shown = simeval(folder, "show", "last", COLUMNS="60").stdout
    assert "\n\n".join(each for each in shown.split("\n\n") if not each.startswith("note: ")) == done.stdout


def test_an_app_that_never_answered_is_an_error_that_says_so(folder: Path) -> None:
    (folder / "dead.py").write_text("def handle(message):\n    raise RuntimeError('no database')\n")
    bar = ("--scorers", "valid_json", "--share", "valid_json.valid=0.9", "--store", "none")
    done = simeval(folder, "score", "chat.jsonl", "--app", "dead:handle", *bar)

    assert done.returncode == 3
    assert "ERROR" in done.stdout
    assert "your app never answered in 20 examples: RuntimeError: no database (dead.py:2 in handle)" in " ".join(
        done.stdout.split()
    )
    assert "nothing was measured" not in done.stderr


def test_plain_rows_are_asked_anew_and_a_table_can_be_imported(folder: Path) -> None:
    (folder / "rows.jsonl").write_text('{"question": "1+1?", "answer": "2"}\n')
    (folder / "sums.py").write_text("def handle(question):\n    return '2'\n")
    options = ("--scorers", "valid_json", "--app", "sums:handle", "--store", "none")

    asked = simeval(folder, "score", "rows.jsonl", *options)
    imported = simeval(folder, "import", "answers.csv", "--out", "kept.jsonl")
    rows = [json.loads(line) for line in (folder / "kept.jsonl").read_text().splitlines()]

    assert asked.returncode == imported.returncode == 0, asked.stderr + imported.stderr
    assert "valid_json.valid" in asked.stdout
    assert [row["inputs"]["question"] for row in rows] == ["1+1?", "2+2?"]


@pytest.mark.parametrize(("answer", "status"), [("I track orders and start returns.", 0), ("No idea.", 1)])
def test_what_a_judge_rated_is_measured(folder: Path, answer: str, status: int) -> None:
    rows = [{"input": "What can you do?", "output": answer}] * 40
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "then.yaml").write_text(f"then:\n{SUITE.partition('then:')[2]}")

    done = simeval(folder, "score", "rows.jsonl", "--then", "then.yaml", "--recorded", "output")

    assert (done.returncode, done.stderr) == (status, "")


def test_an_app_that_failed_on_everything_is_what_is_told(folder: Path) -> None:
    (folder / "down.py").write_text("def handle(message):\n    raise KeyError('x')\n")

    options = ("--input", "question", "--scorers", "turn_count", "--store", "none")
    done = simeval(folder, "score", "answers.csv", "--app", "down:handle", *options)

    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == "simeval: your app never answered in 2 examples"
    assert "KeyError: 'x' (down.py:2 in handle)" in " ".join(done.stdout.split())


def test_markdown_of_what_was_scored_ends_its_last_line(folder: Path) -> None:
    simeval(folder, "score", "chat.jsonl", "--scorers", "valid_json")

    simeval(folder, "show", "last", "--markdown", "shown.md")

    assert (folder / "shown.md").read_text().endswith("```\n")
