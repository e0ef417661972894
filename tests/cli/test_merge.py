"""`simeval run --shard` and `simeval merge`, each a process of its own."""

import json
from pathlib import Path

from tests.support.command_line import SUITE, simeval

APP = ("--app", "offline/app")
TWO = SUITE.replace("sample_size: 30", "sample_size: 5").replace("0.9", "0.5")
TWO += TWO.partition("scenarios:\n")[2].replace("The bot says what it does", "Another")


def run_shard(folder: Path, number: int, of: int, store: str) -> int:
    command = [
        "run",
        "suite.yaml",
        "--app",
        "offline/app",
        "--seed",
        "3",
        "--shard",
        f"{number}/{of}",
        "--store",
        store,
    ]
    return simeval(folder, *command).returncode


def test_shards_with_stores_of_their_own_are_merged(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(TWO)
    statuses = [run_shard(tmp_path, number, 2, f"{number}.db") for number in (1, 2)]

    written = ("--json", "all.json", "--junit", "all.xml", "--html", "all.html")
    done = simeval(tmp_path, "merge", "1.db", "2.db", "--store", "all.db", *written)
    shown = simeval(tmp_path, "show", "--store", "all.db")

    assert done.returncode == max(statuses) == 1
    found = json.loads((tmp_path / "all.json").read_text())
    assert [each["title"] for each in found["scenarios"]] == ["The bot says what it does", "Another"]
    assert done.stdout == shown.stdout
    assert (tmp_path / "all.xml").read_text().count("<testsuite ") == 2
    assert found["run_id"] in (tmp_path / "all.html").read_text("utf-8")


def test_shards_in_one_store_are_merged_by_their_ids(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(TWO)
    for number in (1, 2):
        run_shard(tmp_path, number, 2, "runs.db")
    listed = simeval(tmp_path, "runs", "--store", "runs.db").stdout.splitlines()[2:]

    done = simeval(tmp_path, "merge", *(line.split()[0] for line in listed), "--store", "runs.db")

    assert done.returncode == 1
    assert "merged from the runs of 2 shards" in done.stdout


def test_what_does_not_belong_together_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(TWO)
    run_shard(tmp_path, 1, 2, "1.db")

    done = simeval(tmp_path, "merge", "1.db", "--store", "all.db")
    allowed = simeval(tmp_path, "merge", "1.db", "--store", "all.db", "--allow-missing")

    assert done.returncode == 2
    assert done.stderr == (
        "simeval: merge: shard 2/2 is missing; give their runs too, or merge without them (--allow-missing).\n"
    )
    assert allowed.returncode == 3
    assert allowed.stderr == "simeval: shard 2/2 is missing\n"


def test_options_of_ray_are_refused_without_it(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(TWO)

    done = simeval(tmp_path, "run", "suite.yaml", *APP, "--actors", "4")

    assert done.returncode == 2
    assert done.stderr.endswith("simeval: --actors: trials are not run on Ray; add --executor ray.\n")
