"""The first page of the viewer: the runs of a store by suite or dataset; the course of each requirement and metric."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simeval.core.run_records import SUITE
from simeval.core.serialization import Json
from simeval.core.terminal import counted_of
from simeval.results.html.charts import Past, trend_chart
from simeval.results.screen.report import WORST_FIRST
from simeval.store.database import Database
from simeval.store.overview import Overview, PastVerdict, RequirementKey
from simeval.store.reports import MEASURED, MOST_IN_A_ROW, metric_course, show_between
from simeval.store.run_summaries import RunSummary
from simeval.store.runs import Runs

MOST_RUNS = 100  # of a store that are listed
MOST_ROWS = 40  # requirements of a suite that have a row, the worst of its newest run first
SHARE = (0, 1)


@dataclass(slots=True)
class _Group:
    """Runs of one suite or dataset, the newest first: those that share a scenario with one of them."""

    titles: set[str]
    names: Sequence[str]  # of the newest run's scenarios
    runs: list[RunSummary]


class Listing:
    """Reads the data of the first page."""

    def __init__(self, database: Database, name: str) -> None:
        self._runs, self._overview, self._name = Runs(database), Overview(database), name

    def data(self) -> Json:
        """Return the data of the page: a suite or dataset after the other, that with the newest run first."""
        groups = self.groups()
        return {
            "store": self._name,
            "suites": [self._suite(each) for each in groups],
            "going": any(run.status == "running" for each in groups for run in each.runs),
            "most": MOST_RUNS,
        }

    def groups(self) -> Sequence[_Group]:
        """Return the newest runs by suite or dataset."""
        runs = self._runs.recent(MOST_RUNS)
        titles = self._overview.titles([run.run_id for run in runs])
        groups: list[_Group] = []
        for run in runs:
            names = titles.get(run.run_id, [])
            group = next((each for each in groups if each.titles.intersection(names)), None)
            if group is None:
                group = _Group(set(), names, [])
                groups.append(group)
            group.titles.update(names)
            group.runs.append(run)
        return groups

    def _suite(self, group: _Group) -> Json:
        newest = group.runs[0]
        rows, all_rows = self._rows([each for each in group.runs if each.outcome][:MOST_IN_A_ROW][::-1])
        metrics = [*_metric_rows([each for each in group.runs if each.metrics][:MOST_IN_A_ROW][::-1])]
        shown = [*rows, *metrics[: MOST_ROWS - len(rows)]]
        return {
            "name": f"dataset {newest.dataset}" if newest.dataset else _named(group),
            "size": "" if newest.dataset else counted_of(newest.scenarios, "scenario"),
            "is_of_examples": bool(newest.dataset),
            "runs": [_run(each) for each in group.runs],
            "rows": shown,
            "left_out": all_rows + len(metrics) - len(shown),
        }

    def _rows(self, runs: Sequence[RunSummary]) -> tuple[Sequence[Json], int]:
        """Return the course of each requirement over runs, the oldest first; and how many requirements there are."""
        if not runs:
            return [], 0
        last = runs[-1].run_id
        now = sorted(self._overview.verdicts([last]), key=_badness)
        shown, by_run = now[:MOST_ROWS], dict[RequirementKey, dict[str, PastVerdict]]()
        titles = list(dict.fromkeys(each.key[0] for each in shown))
        for each in self._overview.verdicts([run.run_id for run in runs], titles):
            by_run.setdefault(each.key, {})[each.run_id] = each
        bars = self._overview.bars(last, titles)
        return [_row(each.key, runs, by_run[each.key], bars.get(each.key)) for each in shown], len(now)


def _named(group: _Group) -> str:
    """Return the newest title of a suite; runs of scenarios without one, as in Python, are named by the first."""
    if title := next((each.metadata[SUITE] for each in group.runs if SUITE in each.metadata), ""):
        return str(title)
    first, size = group.names[0] if group.names else "a suite without scenarios", group.runs[0].scenarios
    return first if size < 2 else f"{first}, and {size - 1} more"


def _badness(verdict: PastVerdict) -> int:
    return next(place for place, outcome in enumerate((*WORST_FIRST, verdict.outcome)) if outcome == verdict.outcome)


def _row(
    key: RequirementKey, runs: Sequence[RunSummary], verdicts: Mapping[str, PastVerdict], bar: Json | None
) -> Json:
    points = [_past(run, verdicts[run.run_id], bar) if run.run_id in verdicts else None for run in runs]
    latest = verdicts[runs[-1].run_id]
    return {
        "scenario": key[0],
        "label": key[1],
        "evaluator": key[2],
        "outcome": latest.outcome,
        "said": _estimate(latest, bar),
        "picture": trend_chart(points, bar),
    }


def _metric_rows(runs: Sequence[RunSummary]) -> Iterator[Json]:
    """Return the course of each metric of the newest run over experiments on a dataset, the oldest first."""
    for name in runs[-1].metrics if runs else ():
        said, picture = metric_course(runs, name, lambda run: f"run/{run.run_id}/")
        row = {"label": name, "evaluator": "metric", "outcome": MEASURED, "said": said, "picture": picture}
        yield {"scenario": "", **row}


def _past(run: RunSummary, verdict: PastVerdict, bar: Json | None) -> Past:
    return Past(
        outcome=verdict.outcome,
        estimate=verdict.estimate,
        interval=(verdict.low, verdict.high),
        said=f"{run.started:%d %B %H:%M}: {verdict.outcome}, {_estimate(verdict, bar)}",
        address=f"run/{run.run_id}/",
    )


def _estimate(verdict: PastVerdict, bar: Json | None) -> str:
    if verdict.outcome == "error" or verdict.estimate is None:
        return f"not measured, n = {verdict.n}"
    is_share = bar is not None and (bar["low"], bar["high"]) == SHARE
    return show_between(verdict.estimate, verdict.low, verdict.high, verdict.n, is_share=is_share)


def _run(run: RunSummary) -> dict[str, Any]:
    named = "" if run.dataset else SUITE  # the metadata of an experiment are its user's own
    return {
        "run_id": run.run_id,
        "started": f"{run.started:%Y-%m-%d %H:%M}",
        "status": run.status,
        "outcome": run.outcome or "",
        "baseline_met": run.baseline_met,
        "app": run.app,
        "trials": run.trials,
        "calls": run.calls,
        "cost": "" if run.cost_usd is None else f"${run.cost_usd:.4f}",
        "seconds": run.seconds,
        "metadata": {name: str(value) for name, value in run.metadata.items() if name != named},
    }
