"""The work of `simeval runs`: list the chosen runs of a store, with the chosen metrics."""

import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

from simeval.cli.output import exit_status, require_writable, show, write_json
from simeval.core.run_records import SUITE
from simeval.core.serialization import plain
from simeval.core.terminal import GAP, LEFT_OUT, LINE, indent, line_of, printable, render_table, room_of, table_width
from simeval.errors import DefinitionError
from simeval.store.opening import open_database
from simeval.store.run_summaries import RunSummary
from simeval.store.runs import Runs

LEFT_OUT_FIRST = ("seconds", "started (UTC)", "scenarios", "calls", "cost")  # if the terminal is too narrow
TEXTS = ("app", "dataset", "suite", "metadata")  # may be broken into lines there
LEAST, SHORTEST = 16, 8  # cells of such a line, as long as there is something else to leave out, and at all
MOST_RUNS = 20  # that are listed by default
OF_A_RUN = ("app", "status", "outcome", "dataset", "version")  # names in a condition other than the metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedRuns:
    """Which runs are listed, how many of them, and which metrics beside them."""

    limit: int | None
    dataset: str | None
    where: Sequence[str]
    metrics: Sequence[str]
    json_path: str | None


@exit_status
def list_runs(store: str, wanted: WantedRuns) -> None:
    """Print the newest runs of a store; give the exit status."""
    with closing(open_database(store, must_exist=True)) as database:
        conditions = dict(map(_condition, wanted.where))
        require_writable(wanted.json_path, read=(store,))

        def is_wanted(run: RunSummary) -> bool:
            found = {**run.metadata, **{name: getattr(run, name) for name in OF_A_RUN}}
            return (wanted.dataset is None or run.dataset == wanted.dataset) and all(
                str(found.get(name)) == value for name, value in conditions.items()
            )

        several = Runs(database).recent(wanted.limit or MOST_RUNS + 1, is_wanted)
        found = several[: wanted.limit or MOST_RUNS]
        _require_metrics(found, wanted.metrics)
        write_json(wanted.json_path, {"runs": [_encoded(run) for run in found]})
        said = indent(f"these are the newest {len(found)}; --limit shows more", 0, width=line_of(room_of(sys.stdout)))
        more = f"\n\n{said}" if len(several) > len(found) else ""
        shown = _table(found, wanted.metrics) if found else f"no runs in {store}{_asked(wanted)}"
        show(f"{shown}{more}", wanted.json_path)


def _condition(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not (name and sign):
        do = f"write it as KEY=VALUE, with a key of the metadata or one of {', '.join(OF_A_RUN)}"
        raise DefinitionError("--where", found=f"found {text!r}", do=do)
    return name.strip(), value.strip()


def _require_metrics(runs: Sequence[RunSummary], names: Sequence[str]) -> None:
    known = dict.fromkeys(name for run in runs for name in run.metrics)
    for name in names:
        if runs and name not in known:
            do = f"use one of {', '.join(known)}" if known else "choose runs of experiments, such as by --dataset"
            raise DefinitionError("--metric", found=f"none of these runs has {name!r}", do=do)


def _asked(wanted: WantedRuns) -> str:
    said = [f"of the dataset {wanted.dataset!r}"] if wanted.dataset else []
    return f" {' '.join([*said, *(f'with {each}' for each in wanted.where)])}".rstrip()


def _table(runs: Sequence[RunSummary], metrics: Sequence[str]) -> str:
    """Write the runs in the columns there is room for."""
    room = room_of(sys.stdout)
    columns, gone = _with_room(_columns(runs, metrics), room)
    texts = [name for name in TEXTS if name in columns]
    others = table_width({name: cells for name, cells in columns.items() if name not in texts})
    each = LINE if room is None else max(SHORTEST, (room - others) // len(texts) - GAP)
    widths = [each if name in texts else LINE for name in columns]
    table = render_table(list(columns), list(zip(*columns.values(), strict=True)), widths=widths, room=room)
    if not gone:
        return table
    return f"{table}\n\n{indent(LEFT_OUT.format(', '.join(gone)), 0, width=room or LINE)}"


def _with_room(columns: dict[str, list[str]], room: int | None) -> tuple[dict[str, list[str]], list[str]]:
    """Return the columns that a line of so many cells has room for, and the names of the others.

    Where there is no room for the least of them, all are returned: each run is a list of its cells then.
    """
    for gone in range(len(LEFT_OUT_FIRST) + 1):
        names = LEFT_OUT_FIRST[:gone]
        kept = {name: cells for name, cells in columns.items() if name not in names}
        least = LEAST if gone < len(LEFT_OUT_FIRST) else SHORTEST
        narrowest = {name: [cell[:least] for cell in cells] if name in TEXTS else cells for name, cells in kept.items()}
        if room is None or table_width(narrowest) <= room:
            return kept, [*names]
    return columns, []


def _columns(runs: Sequence[RunSummary], metrics: Sequence[str]) -> dict[str, list[str]]:
    """Return the cells of each column; those of experiments only if one is listed."""
    columns = {
        "run": [run.run_id for run in runs],
        "started (UTC)": [f"{run.started:%Y-%m-%d %H:%M:%S}" for run in runs],
        "outcome": [_outcome(run) for run in runs],
        "app": [printable(run.app) for run in runs],
    }
    if any(run.dataset for run in runs):
        columns["dataset"] = [printable(f"{run.dataset}, {run.version[:7]}") if run.dataset else "-" for run in runs]
    if len({_suite(run) for run in runs if not run.dataset}) > 1:
        columns["suite"] = [_suite(run) for run in runs]
    listed = [_listed(run) for run in runs]
    if any(each != "-" for each in listed):
        columns["metadata"] = listed
    return {
        **columns,
        **{name: [_metric(run, name) for run in runs] for name in metrics},
        "scenarios": [str(run.scenarios) for run in runs],
        "trials": [str(run.trials) for run in runs],
        "calls": [str(run.calls) for run in runs],
        "cost": ["-" if run.cost_usd is None else f"${run.cost_usd:.4f}" for run in runs],
        "seconds": [f"{run.seconds:.1f}" for run in runs],
    }


def _outcome(run: RunSummary) -> str:
    said: list[str] = [run.outcome] if run.outcome else []
    if run.baseline_met is False:
        said.append("baseline not met")
    return ", ".join([*said, run.status] if run.status != "finished" or not said else said)


def _suite(run: RunSummary) -> str:
    return "-" if run.dataset else printable(str(run.metadata.get(SUITE, "-")))


def _listed(run: RunSummary) -> str:
    """Return the metadata of a run, in which that of a suite has its name."""
    said = (f"{name}={value}" for name, value in run.metadata.items() if run.dataset or name != SUITE)
    return printable(", ".join(said)) or "-"


def _metric(run: RunSummary, name: str) -> str:
    found = run.metrics.get(name)
    if found is None or found.value is None:
        return "-"
    interval = "" if found.interval is None else " [{:.3g}, {:.3g}]".format(*found.interval)
    return f"{found.value:.3g}{interval}"


def _encoded(run: RunSummary) -> dict[str, Any]:
    metrics = {name: asdict(found) for name, found in run.metrics.items()}
    return dict(plain({**asdict(run), "started": run.started.isoformat(), "metrics": metrics}))
