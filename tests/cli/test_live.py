"""The live screen in a terminal: its frames at moments that the app holds still, and what it leaves behind."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from simeval.engine.display import ENTER, LEAVE
from tests.support.command_line import SUITE, simeval
from tests.support.terminals import TerminalSession, in_terminal

ALL = 10_000  # turns: more than any run here has
APP = """
import os

gate = os.open("gate", os.O_RDWR)

def held(message, state):
    if os.read(gate, 1) == b"!":
        print("the app says \\x1b[2J\\x1b[5;5H\\x1b]0;pwned\\x07 hello")
    return "I track orders and start returns."

async def good(message, state):
    return "I track orders and start returns."
"""


@dataclass(frozen=True, slots=True)
class Gate:
    """Holds every turn of the app until it lets it through; a turn marked "!" also prints."""

    descriptor: int

    def let(self, turns: int, mark: bytes = b".") -> None:
        os.write(self.descriptor, mark * turns)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    second = SUITE.split("scenarios:\n")[1].replace("what it does", "what it does again")
    (tmp_path / "suite.yaml").write_text(SUITE + second)
    (tmp_path / "many.yaml").write_text(
        SUITE.split("scenarios:\n")[0]
        + "scenarios:\n"
        + "".join(SUITE.split("scenarios:\n")[1].replace("what it does", f"thing {n}") for n in range(40))
    )
    (tmp_path / "shop.py").write_text(APP)
    return tmp_path


@pytest.fixture
def gate(folder: Path) -> Iterator[Gate]:
    os.mkfifo(folder / "gate")
    descriptor = os.open(folder / "gate", os.O_RDWR)
    yield Gate(descriptor)
    os.close(descriptor)


def run(suite: str = "suite.yaml", *options: str) -> list[str]:
    return ["run", suite, "--app", "shop:held", "--store", "none", "--seed", "1", "--concurrency", "4", *options]


def rows_of(session: TerminalSession) -> list[str]:
    return [line for line in session.lines if line[:1] in set("→✓✗?!")]


@pytest.mark.parametrize(("rows", "columns", "bar"), [(24, 80, 8), (40, 120, 16)])
def test_a_run_is_a_screen_of_scenarios_that_leaves_nothing_behind(
    folder: Path, gate: Gate, rows: int, columns: int, bar: int
) -> None:
    with in_terminal(folder, *run(), rows=rows, columns=columns) as session:
        session.until("oldest call: the app, turn 1, no answer for")
        held = rows_of(session)
        gate.let(12)
        session.until(lambda: any(re.search(r" [1-9]\d*/30 ", line) for line in rows_of(session)))
        going = rows_of(session)
        gate.let(ALL)
        status = session.ended()

    row = re.compile(rf"→ The bot says what it.* ·{{{bar}}} 0/30 +0 of ≤0 +≥ 90%")
    assert [bool(row.fullmatch(line)) for line in held] == [True, True]
    assert any(re.search(r"━* *[1-9]\d*/30 +0 of ≤0 +100% \[[\d.]+%, 100%\] +≥ 90%", line) for line in going)
    assert status == 0
    assert session.raw.count(ENTER.encode()) == session.raw.count(LEAVE.encode()) == 1
    assert b"both scenarios pass" in session.raw.split(LEAVE.encode())[1]
    assert not session.screen.cursor.hidden


def test_four_are_under_way_and_the_foot_counts_them(folder: Path, gate: Gate) -> None:
    with in_terminal(folder, *run()) as session:
        session.until("oldest call: the app")
        foot = session.lines[-24:]
        gate.let(ALL)
        session.ended()

    assert any(line.startswith("0 of ≤ 60 trials, 4 under way, ") for line in foot)


def test_a_terminal_that_is_resized_is_painted_anew_in_its_new_size(folder: Path, gate: Gate) -> None:
    with in_terminal(folder, *run(), rows=24, columns=80) as session:
        session.until("oldest call: the app")
        session.resize(40, 120)
        session.until("·" * 16)
        wide = rows_of(session)
        session.resize(12, 50)
        session.until(lambda: "·" * 16 not in session.text and "oldest call" in session.text)
        small = session.lines
        gate.let(ALL)
        status = session.ended()

    assert len(wide) == 2
    assert len(small) == 12
    assert sum(line.startswith("→") for line in small) == 2
    assert status == 0


def test_of_more_scenarios_than_lines_the_rest_is_counted(folder: Path, gate: Gate) -> None:
    with in_terminal(folder, *run("many.yaml"), rows=24, columns=80) as session:
        session.until("oldest call: the app")
        lines = session.lines
        gate.let(ALL)
        session.ended()

    assert any(line.strip().startswith("… 23 more: ") for line in lines)
    assert len(rows_of(session)) <= 24


def test_what_an_app_prints_spoils_no_frame_and_is_printed_in_the_end(folder: Path, gate: Gate) -> None:
    with in_terminal(folder, *run()) as session:
        session.until("oldest call: the app")
        gate.let(1, b"!")
        session.until("the app says \ufffd[2J\ufffd[5;5H\ufffd]0;pwned\ufffd hello")
        lines = session.lines
        gate.let(ALL)
        session.ended()

    before, after = session.raw.split(LEAVE.encode())
    assert lines[0].startswith("simeval run")
    assert len([line for line in lines if line.startswith("→")]) == 2
    assert b"\x1b]0;pwned" not in before
    assert after.count(b"the app says \x1b[2J") == 1


def test_ctrl_c_is_answered_on_the_screen_and_leaves_the_terminal_as_it_was(folder: Path, gate: Gate) -> None:
    with in_terminal(folder, *run()) as session:
        session.until("oldest call: the app")
        session.type("\x03")
        session.until("interrupted (SIGINT): no more trials are started")
        lines = session.lines
        gate.let(ALL)
        status = session.ended()

    assert any(line.startswith("→") for line in lines)
    assert status == 130
    assert session.raw.index(LEAVE.encode()) < session.raw.rindex(b"interrupted")
    assert not session.screen.cursor.hidden


def test_the_third_ctrl_c_leaves_the_terminal_as_it_was_too(folder: Path, gate: Gate) -> None:
    with in_terminal(folder, *run()) as session:
        session.until("oldest call: the app")
        session.type("\x03")
        session.until("no more trials are started")
        session.type("\x03\x03")
        status = session.ended()

    assert status == 130
    assert session.raw.count(LEAVE.encode()) == 1
    assert not session.screen.cursor.hidden


def test_none_writes_nothing_to_standard_error(folder: Path, gate: Gate) -> None:
    gate.let(ALL)

    done = simeval(folder, *run("suite.yaml", "--display", "none"))

    assert done.returncode == 0
    assert done.stderr == ""


def test_plain_has_no_screen_of_its_own(folder: Path, gate: Gate) -> None:
    gate.let(ALL)

    with in_terminal(folder, *run("suite.yaml", "--display", "plain")) as session:
        status = session.ended()

    assert status == 0
    assert ENTER.encode() not in session.raw
