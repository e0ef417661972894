"""One progress bar for a whole run, on standard error."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tqdm import tqdm

from simeval.logs import LOGGER


class _Bar(tqdm):  # type: ignore[type-arg]  # generic in its stubs only
    monitor_interval = 0  # no thread of its own: the bar is redrawn as trials are concluded


class Progress:
    """Counts concluded trials; `advance` also takes trials off the total that will not be run."""

    def __init__(self, bar: _Bar) -> None:
        self._bar = bar

    def advance(self, concluded: int, dropped: int) -> None:
        """Move the bar by `concluded` trials and shorten it by `dropped`."""
        if dropped:
            self._bar.total = (self._bar.total or 0) - dropped
        self._bar.update(concluded)


@contextmanager
def progress_bar(total: int, *, show: bool | None) -> Iterator[Progress]:
    """Show a bar of `total` trials; with None, where the log shows INFO and standard error is a terminal."""
    if show is None:
        show = logging.getLogger(LOGGER).isEnabledFor(logging.INFO) and sys.stderr.isatty()
    with _Bar(total=total, unit="trial", disable=not show, file=sys.stderr, dynamic_ncols=True) as bar:
        yield Progress(bar)
