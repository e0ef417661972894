"""The course of a metric over the experiments on one dataset, as a report draws it."""

from collections.abc import Callable, Sequence

from simeval.core.terminal import show_share
from simeval.core.trial import Estimate
from simeval.results.html.charts import Node, Past, trend_chart
from simeval.store.run_summaries import RunSummary

MOST_IN_A_ROW = 20  # runs that are drawn
MEASURED = "measured"  # the outcome of a measure without a requirement


def metric_course(
    runs: Sequence[RunSummary], name: str, address: Callable[[RunSummary], str] = lambda _: ""
) -> tuple[str, Node]:
    """Return the newest figure of a metric in words, and its course over runs, the oldest first, as a picture."""
    return _shown(runs[-1].metrics[name]), trend_chart([_past(run, name, address(run)) for run in runs], None)


def _past(run: RunSummary, name: str, address: str) -> Past | None:
    found = run.metrics.get(name)
    if found is None or found.value is None:
        return None
    said = f"{run.started:%d %B %H:%M}: {_shown(found)}, version {run.version}"
    interval = found.interval or (None, None)
    return Past(outcome=MEASURED, estimate=found.value, interval=interval, said=said, address=address)


def _shown(found: Estimate) -> str:
    low, high = found.interval or (None, None)
    return show_between(found.value, low, high, found.n, is_share=False)


def show_between(value: float | None, low: float | None, high: float | None, n: int, *, is_share: bool) -> str:
    """Say a figure with its interval, if it has one, and how many trials or examples it rests on."""
    ends = [_number(each, is_share=is_share) for each in (low, high)]
    between = f" [{ends[0]} to {ends[1]}]" if (low, high) != (None, None) else ""
    return f"{_number(value, is_share=is_share)}{between}, n = {n}"


def _number(value: float | None, *, is_share: bool) -> str:
    return "–" if value is None else show_share(round(value, 3)) if is_share else f"{value:.3g}"
