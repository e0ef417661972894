"""The work of `simeval people label`: show trials one after another, without the judge's scores, and read keys."""

import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from shutil import get_terminal_size

from simeval.analysis.agreement_report import disagreements, show_disagreements
from simeval.analysis.judge_agreement import agreement, people_labels
from simeval.analysis.label_queue import (
    LabelItem,
    LabelQueue,
    label_items,
    require_yes_or_no,
    until_look,
    user_of_machine,
)
from simeval.analysis.labels import labels_of, skipped_in
from simeval.analysis.people_standard import label_plan
from simeval.analysis.saved_run import read_suite
from simeval.cli.options import level_of_project
from simeval.cli.output import exit_status, show
from simeval.core.conversation import transcript_lines
from simeval.core.terminal import Color, Terminal, one_line, printed, terminal_of
from simeval.errors import DefinitionError
from simeval.extras.viewer.keyboard import Keyboard, keyboard
from simeval.store.feedback import FeedbackBook
from simeval.store.opening import open_database
from simeval.store.runs import Runs, is_of_a_suite

ENTER, LEAVE, CLEAR = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l", "\x1b[2J\x1b[H"
UP, DOWN, ENTERED = ("\x1b[A", "k"), ("\x1b[B", "j", " ", "\r", "\n"), ("\r", "\n")
RATINGS = {**{str(rating): float(rating) for rating in range(1, 10)}, "0": 10.0}
VERDICTS = {"y": True, "n": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The request: the run to label, how many trials of it, by whom and how."""

    run: str
    label: str | None
    sample: int
    stratified: bool
    by: str | None
    overlap: int | None
    ratings: bool
    seed: int | None
    color: Color


@exit_status
def label_run(store: str, asked: Asked) -> None:
    """Have a person label trials of a run; give the exit status."""
    with closing(open_database(store, must_exist=True)) as database:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            do = "run it in a terminal, or write a file with `simeval people agree RESULT --sample N --out FILE`"
            raise DefinitionError("label", found="there is nobody to ask", do=do)
        _label(Runs(database), FeedbackBook(database), asked)


@exit_status
def show_plan(store: str, run: str) -> None:
    """Print how many labels the requirements of a run take whose standard is people; give the exit status."""
    with closing(open_database(store, must_exist=True)) as database:
        runs = Runs(database)
        run_id = runs.find(run, is_of_a_suite)
        document, said = read_suite(runs.document(run_id), "run"), FeedbackBook(database).of_run(run_id)
        show(label_plan(document, people_labels(document, labels_of(said), skipped_in(said))), None)


def _label(runs: Runs, book: FeedbackBook, asked: Asked) -> None:
    require_yes_or_no(ratings=asked.ratings, stratified=asked.stratified)
    run_id = runs.find(asked.run, is_of_a_suite)
    run = read_suite(runs.document(run_id), "run")
    items = label_items(
        run,
        runs.rubrics(run_id),
        label=asked.label,
        size=asked.sample,
        stratified=asked.stratified,
        seed=asked.seed,
    )

    def queue_now() -> LabelQueue:
        said = book.of_run(run_id)
        wanted = until_look(items, run, people_labels(run, labels_of(said), skipped_in(said)))
        return LabelQueue(wanted, book, rater=asked.by or user_of_machine(), given=said, overlap=asked.overlap)

    queue = queue_now()
    with keyboard() as keys:
        while queue.current is not None:
            terminal = terminal_of(sys.stdout, asked.color)
            _Dialogue(queue, terminal, RATINGS if asked.ratings else VERDICTS).hold(keys)
            if queue.current is not None:
                break
            queue = queue_now()
    if queue.current is not None:
        show(f"{_counted(queue)}; the same command goes on", None)
        return
    said = book.of_run(run_id)
    labels = labels_of(said, queue.expectation)
    show(f"{_counted(queue)}\n", None)
    if queue.skipped:
        note = "this holds for trials that can be labelled: skipped ones are not among them"
        show("\n".join([*printed().wrap(note), ""]), None)
    if labels:
        show(agreement(run, labels, alpha=level_of_project(), skipped=skipped_in(said)), None)
        show(f"\n{show_disagreements(disagreements(run, labels))}", None)


def _counted(queue: LabelQueue) -> str:
    return f"{queue.labelled} labelled, {queue.skipped} skipped, {queue.left} to go"


class _Dialogue:
    """Shows the current trial and follows the keys, until all are labelled or the person leaves."""

    def __init__(self, queue: LabelQueue, terminal: Terminal, values: dict[str, bool] | dict[str, float]) -> None:
        self._queue, self._terminal, self._values = queue, terminal, values
        self._top = 0
        self._said = ""

    def hold(self, keys: Keyboard) -> None:
        """Go on until all trials are labelled, or until `q` or Ctrl-C."""
        sys.stdout.write(ENTER)
        try:
            while (item := self._queue.current) is not None:
                self._paint(item, self._keys())
                if not self._take(keys.key(), keys):
                    return
        except (KeyboardInterrupt, EOFError):
            return
        finally:
            sys.stdout.write(LEAVE)
            sys.stdout.flush()

    def _take(self, key: str, keys: Keyboard) -> bool:
        """Do the action of a key; return whether to go on."""
        self._said = ""
        if key in self._values:
            self._label(self._values[key])
        elif key == "s":
            self._skip(keys)
        elif key == "u":
            self._said = "taken back" if self._queue.undo() else "there is nothing to take back"
            self._top = 0
        elif key in UP or key in DOWN:
            self._top = max(0, self._top + (-1 if key in UP else 1) * self._page() // 2)
        elif key != "q":
            self._said = f"{one_line(key)} is none of the keys below"
        return key != "q"

    def _label(self, value: bool | float) -> None:
        self._queue.label(value)
        self._top = 0

    def _skip(self, keys: Keyboard) -> None:
        """Ask why, and pass the trial over; without a reason it stays."""
        item, reason, key = self._queue.current, "", ""
        while item is not None and key not in ENTERED:
            self._paint(item, f"skip, because (Enter; empty goes back): {one_line(reason)}")
            key = keys.key()
            reason = reason[:-1] if key in ("\x7f", "\b") else reason + (key if key.isprintable() else "")
        if reason.strip():
            self._queue.skip(reason)
            self._top = 0

    def _keys(self) -> str:
        given = "1 to 9, 0 for ten: rating" if self._values is RATINGS else "y: it does   n: it does not"
        return f"{given}   u: undo   s: skip   arrows: scroll   q: leave"

    def _page(self) -> int:
        return max(1, get_terminal_size().lines - 6)

    def _paint(self, item: LabelItem, last: str) -> None:
        size = get_terminal_size()
        terminal = Terminal(width=size.columns, colour=self._terminal.colour, draws=self._terminal.draws)
        body = _body(item, terminal)
        self._top = max(0, min(self._top, len(body) - self._page()))
        shown = body[self._top : self._top + self._page()]
        more = len(body) - self._top - len(shown)
        lines = [
            *terminal.wrap(f"{_counted(self._queue)}   {one_line(item.scenario)}")[:1],
            terminal.paint("does the app do this?", "bold"),
            *shown,
            *[""] * (self._page() - len(shown)),
            terminal.paint(f"… {more} more lines below" if more > 0 else "", "dim"),
            *terminal.wrap(self._said)[:1],
            *terminal.wrap(last)[-2:],
        ]
        sys.stdout.write(CLEAR + terminal.finished(lines).replace("\n", "\r\n"))
        sys.stdout.flush()


def _body(item: LabelItem, terminal: Terminal) -> Sequence[str]:
    """Return the expectation, the conversation, and the rubric as a guideline."""
    lines = terminal.wrap(one_line(item.expected_behavior), first="  ")
    for word, said in (("given", item.given), ("when", item.when)):
        lines += [terminal.paint(line, "dim") for line in terminal.wrap(one_line(said), first=f"  {word}: ")] * bool(
            said
        )
    lines += ["", *transcript_lines(item.conversation, terminal, margin="  ")]
    if item.conversation.ended == "app_error":
        lines.append("  (here the app failed)")
    if item.guideline:
        lines += ["", *terminal.wrap("guideline, from 1 (worst) to 10; from 6 on it does:", first="  ")]
        lines += [
            line
            for rating, text in item.guideline.items()
            for line in terminal.wrap(one_line(text), first=f"  {rating:>4}  ")
        ]
    return lines
