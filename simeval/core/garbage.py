"""Python's collector of cycles, while a command or a run is in progress.

A run holds very many objects at once and makes few cycles. At Python's own thresholds the collector visited all of them
again and again: 10% of the CPU with 130 trials in flight, 25% with 5,000, and then it held up the event loop for two
seconds at a time, and with it the app whose latency is measured. Of a command that imports much it took 12%.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

THRESHOLDS = (50_000, 20, 50)  # objects, then collections of the younger ones

_lock = Lock()
_runs = 0
_before = THRESHOLDS


@contextmanager
def collected_seldom() -> Iterator[None]:
    """Raise the collector's thresholds until the last block is left; higher ones stay."""
    global _runs, _before
    with _lock:
        if not _runs:
            _before = gc.get_threshold()
            if _before[0]:  # 0: its user does without
                gc.set_threshold(*map(max, _before, THRESHOLDS))
        _runs += 1
    try:
        yield
    finally:
        with _lock:
            _runs -= 1
            if not _runs:
                gc.set_threshold(*_before)
