"""The work of `simeval show`, `delete` and `datasets`: read the store, and clear it of runs."""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simeval.cli.output import exit_status, require_apart, require_writable, show, write_json, write_text
from simeval.core.markdown import LONGEST_REPORT, fenced
from simeval.core.terminal import Color, printable, render_table, room_of, terminal_of
from simeval.core.trial import Kept
from simeval.core.validation import nearest
from simeval.errors import DefinitionError
from simeval.results.document import Document, ExperimentDocument, RunDocument
from simeval.results.encoding import encode_document
from simeval.results.screen.experiment import experiment_text
from simeval.results.screen.report import chosen, conversations_text, run_text
from simeval.store.feedback import FeedbackBook
from simeval.store.opening import open_database
from simeval.store.run_summaries import RunSummary
from simeval.store.runs import Runs, has_ended, is_of_a_suite

if TYPE_CHECKING:
    from simeval.store.datasets import DatasetSummary

DATASET_HEADERS = ("dataset", "version", "kind", "examples", "tags", "saved (UTC)")
PROGRESS = ("scenario", "trials at most", "conversations", "judged")
MOST_ROWS = 20  # that are shown by default


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The part of a run to show: its report or the named ones of its conversations."""

    trial: int | None
    failed: bool
    scenario: str | None
    limit: int | None
    quiet: bool
    verbose: bool
    color: Color

    @property
    def is_of_conversations(self) -> bool:
        return self.trial is not None or self.failed or self.scenario is not None


@dataclass(frozen=True, slots=True)
class Written:
    """Where a run's report is written, besides the screen; `baseline` is the run that Markdown shows the changes to."""

    json_path: str | None
    html_path: str | None
    markdown_path: str | None
    baseline: str | None


@exit_status
def show_run(store: str, run: str, written: Written, wanted: Wanted, rows: Mapping[str, Any]) -> None:
    """Print a run's report, rows or conversations of it, or how far it has come; give the exit status."""
    json_path = written.json_path
    with closing(open_database(store, must_exist=True)) as database:
        runs = Runs(database)
        of_rows = any(rows.values())
        fits = has_ended if of_rows else is_of_a_suite if wanted.is_of_conversations else None
        run_id = _found(runs, run, fits)
        if wanted.limit is not None and not (of_rows or wanted.is_of_conversations):
            do = "add --failed, --scenario, --trial or --rows, or leave it out"
            raise DefinitionError("--limit", found="the report is shown, which has all scenarios", do=do)
        if of_rows:
            from simeval.cli.rows import WantedRows, show_rows

            found = {name: value for name, value in rows.items() if name != "rows"}
            show_rows(database, run_id, WantedRows(**found, limit=wanted.limit or MOST_ROWS))
            return
        require_apart({"--json": json_path, "--html": written.html_path, "--markdown": written.markdown_path})
        for path in (json_path, written.html_path, written.markdown_path):
            require_writable(path, read=(store, written.baseline))
        if json_path is not None:
            write_json(json_path, encode_document(runs.document(run_id)))
        if written.html_path is not None:
            from simeval.results.html.page import write_report
            from simeval.store.reports import StoredSource

            write_report(written.html_path, StoredSource(database, run_id))
        if written.markdown_path is not None:
            write_text(written.markdown_path, _markdown(runs, run_id, store, written.baseline))
        if json_path != "-":
            show(
                _conversations(runs, run_id, wanted) if wanted.is_of_conversations else _report(runs, run_id, wanted),
                None,
            )
            count = FeedbackBook(database).count(run_id)
            if count:
                show(f"\nfeedback: {count} (see simeval people feedback {run_id})", None)


def _found(runs: Runs, run: str, fits: Callable[[RunSummary], bool] | None) -> str:
    """Return the id of a run. Raises DefinitionError if there is none."""
    try:
        return runs.find(run, fits)
    except DefinitionError:
        if not Path(run).is_file():
            raise
        do = "name a run of the store by its id; `simeval compare` and `simeval people agree` read files"
        raise DefinitionError("show", found=f"{run} is a file", do=do) from None


@exit_status
def delete_runs(store: str, names: Sequence[str], *, confirmed: bool) -> None:
    """Delete runs with all that belongs to them; give the exit status."""
    with closing(open_database(store, must_exist=True)) as database:
        runs = Runs(database)
        found = list(dict.fromkeys(runs.find(name) for name in names))  # all of them, before the first is gone
        if not confirmed and not sys.stdin.isatty():
            raise DefinitionError(
                "delete", found="standard input is not a terminal, so it cannot ask", do="confirm it with --yes"
            )
        if not confirmed and not _agrees(f"delete {', '.join(found)} from {store}, for good?"):
            show("nothing was deleted", None)
            return
        for run_id in found:
            runs.delete(run_id)
            show(f"deleted {run_id}", None)


@exit_status
def list_datasets(store: str) -> None:
    """Print the versions of the datasets of a store; give the exit status."""
    from simeval.store.datasets import Datasets

    with closing(open_database(store, must_exist=True)) as database:
        found = [_dataset_row(each) for each in Datasets(database).list()]
        show(
            render_table(DATASET_HEADERS, found, widths=(60,), room=room_of(sys.stdout))
            if found
            else f"no datasets in {store}",
            None,
        )


def _conversations(runs: Runs, run_id: str, wanted: Wanted) -> str:
    """Return the conversations of a run that were asked for. Raises DefinitionError if there are none."""
    page = _page(runs, run_id, "every")
    if not isinstance(page, RunDocument):
        what = "it is an experiment or a `simeval score`, which has no scenarios, or an older version kept it"
        raise DefinitionError(f"run {run_id}", found=what, do="name a suite's run, or show its answers with --rows")
    titles = [scenario.title for scenario in page.scenarios]
    if wanted.scenario is not None and not any(wanted.scenario.casefold() in title.casefold() for title in titles):
        raise DefinitionError(
            "--scenario", found=f"no scenario has {wanted.scenario!r} in its title", do=nearest(wanted.scenario, titles)
        )
    if not chosen(page, trial=None, failed=False, title=wanted.scenario):
        what = "it has no conversation" + (" of these scenarios" if wanted.scenario else "")
        raise DefinitionError(f"run {run_id}", found=what, do=f"`simeval show {run_id}` says why")
    if not chosen(page, trial=wanted.trial, failed=False, title=wanted.scenario):
        last = max(each.trial.index for _, each in chosen(page, trial=None, failed=False, title=wanted.scenario))
        raise DefinitionError("--trial", found=f"there is no trial {wanted.trial}", do=f"use a number from 0 to {last}")
    found = chosen(page, trial=wanted.trial, failed=wanted.failed, title=wanted.scenario)
    if not found:
        return "no conversation speaks against the app" + (" in these scenarios" if wanted.scenario else "")
    text = conversations_text(found[: wanted.limit], terminal_of(sys.stdout, wanted.color))
    more = len(found) - (wanted.limit or len(found))
    return f"{text}\n\n{more} more (--limit {wanted.limit})" if more > 0 else text


def _markdown(runs: Runs, run_id: str, store: str, baseline: str | None) -> str:
    """Return the report of a run as Markdown, with the changes to a baseline if one is named."""
    from simeval.cli.compare import changes_since, load_baseline  # comparing takes its time
    from simeval.results.markdown import run_markdown

    page = _page(runs, run_id, "every" if baseline else "worst")
    if not isinstance(page, RunDocument):
        return fenced(runs.report(run_id), LONGEST_REPORT)
    more = changes_since(load_baseline(baseline, store), page) if baseline else ()
    return run_markdown(page, more=more)


def _page(runs: Runs, run_id: str, kept: Kept, *, brief: bool = False) -> Document | None:
    """Return the document of a run for a screen; None if an older version kept too little.

    The outcome of an experiment, which is all that a `brief` screen shows, was always kept.
    """
    from simeval.store.documents import UnreadableResult  # most commands never need it

    try:
        page = runs.document(run_id, kept)
    except UnreadableResult:
        return None
    return page if page.has_words or (brief and isinstance(page, ExperimentDocument)) else None


def _report(runs: Runs, run_id: str, wanted: Wanted) -> str:
    """Return the screen after a run or, if it has not ended, its progress."""
    terminal = terminal_of(sys.stdout, wanted.color)
    try:
        page = _page(runs, run_id, "worst", brief=wanted.quiet)
        if page is None:
            return runs.report(run_id)
        if isinstance(page, ExperimentDocument):
            room = room_of(sys.stdout)
            return experiment_text(page, terminal, room=room, detailed=wanted.verbose, brief=wanted.quiet)
        return run_text(page, terminal, detailed=wanted.verbose, brief=wanted.quiet)
    except DefinitionError as error:
        rows = [
            [each.title, str(each.sample_size), str(each.finished), str(each.judged)]
            for each in runs.progress_of(run_id)
        ]
        return f"{render_table(PROGRESS, rows, widths=(40,))}\n\n{error}"


def _dataset_row(found: "DatasetSummary") -> list[str]:
    tags = printable(", ".join(found.tags))
    return [printable(found.name), found.version, found.kind, str(found.size), tags, f"{found.saved:%Y-%m-%d %H:%M:%S}"]


def _agrees(question: str) -> bool:
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
