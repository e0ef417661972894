"""What `simeval runs`, `show`, `delete` and `datasets` do: look into the store, and clear it of runs."""

import sys
from collections.abc import Callable, Sequence
from functools import partial

from simeval.cli.output import require_writable, show, status_of, write_json
from simeval.core.tables import printable, render_table
from simeval.errors import DefinitionError
from simeval.store.database import Database
from simeval.store.datasets import Datasets, DatasetSummary
from simeval.store.feedback import FeedbackBook
from simeval.store.opening import open_database
from simeval.store.runs import Runs, RunSummary

HEADERS = ("run", "started (UTC)", "status", "outcome", "app", "scenarios", "trials", "calls", "cost", "seconds")
DATASET_HEADERS = ("dataset", "version", "kind", "examples", "tags", "saved (UTC)")
PROGRESS = ("scenario", "trials at most", "conversations", "judged")


def list_runs(store: str, limit: int) -> int:
    """Print the newest runs of a store; give the exit status."""

    def work(database: Database) -> None:
        runs = Runs(database)
        found = [_row(run) for run in runs.recent(limit)]
        show(render_table(HEADERS, found, widths=()) if found else f"no runs in {store}", None)

    return status_of(partial(_with, store, work))


def show_run(store: str, run: str, json_path: str | None) -> int:
    """Print a run's report, or how far it has come; give the exit status."""

    def work(database: Database) -> None:
        runs = Runs(database)
        run_id = runs.find(run)
        require_writable(json_path)
        if json_path is not None:
            write_json(json_path, runs.document(run_id))
        if json_path != "-":
            show(_report(runs, run_id), None)
            count = FeedbackBook(database).count(run_id)
            if count:
                show(f"\nfeedback: {count} (see simeval feedback {run_id})", None)

    return status_of(partial(_with, store, work))


def delete_runs(store: str, names: Sequence[str], *, confirmed: bool) -> int:
    """Delete runs with all that belongs to them; give the exit status."""

    def work(database: Database) -> None:
        runs = Runs(database)
        found = list(dict.fromkeys(runs.find(name) for name in names))  # all of them, before the first is gone
        if not confirmed and not sys.stdin.isatty():
            raise DefinitionError("delete", found="there is nobody to ask", do="confirm it with --yes")
        if not confirmed and not _agrees(f"delete {', '.join(found)} from {store}, for good?"):
            show("nothing was deleted", None)
            return
        for run_id in found:
            runs.delete(run_id)
            show(f"deleted {run_id}", None)

    return status_of(partial(_with, store, work))


def list_datasets(store: str) -> int:
    """Print the versions of the datasets of a store; give the exit status."""

    def work(database: Database) -> None:
        found = [_dataset_row(each) for each in Datasets(database).list()]
        show(render_table(DATASET_HEADERS, found, widths=(60,)) if found else f"no datasets in {store}", None)

    return status_of(partial(_with, store, work))


def _with(store: str, work: Callable[[Database], None]) -> None:
    """Do something with a store that is there."""
    database = open_database(store, must_exist=True)
    try:
        work(database)
    finally:
        database.close()


def _report(runs: Runs, run_id: str) -> str:
    """Return what was printed at the end of a run or, where it has not ended, how far it has come."""
    try:
        return runs.report(run_id)
    except DefinitionError as error:
        rows = [
            [each.title, str(each.sample_size), str(each.finished), str(each.judged)]
            for each in runs.progress_of(run_id)
        ]
        return f"{render_table(PROGRESS, rows, widths=(40,))}\n\n{error}"


def _row(run: RunSummary) -> list[str]:
    return [
        run.run_id,
        f"{run.started:%Y-%m-%d %H:%M:%S}",
        run.status,
        run.outcome or "-",
        run.app,
        str(run.scenarios),
        str(run.trials),
        str(run.calls),
        "-" if run.cost_usd is None else f"${run.cost_usd:.4f}",
        f"{run.seconds:.1f}",
    ]


def _dataset_row(found: DatasetSummary) -> list[str]:
    tags = printable(", ".join(found.tags))
    return [printable(found.name), found.version, found.kind, str(found.size), tags, f"{found.saved:%Y-%m-%d %H:%M:%S}"]


def _agrees(question: str) -> bool:
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
