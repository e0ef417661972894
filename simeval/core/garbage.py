"""Python's collector of cycles, while a command or a run is in progress.

A run holds very many objects at once and makes few cycles. At Python's own thresholds the collector visited all of them
again and again: 10% of the CPU with 130 trials in flight, 25% with 5,000, and then it held up the event loop for two
seconds at a time, and with it the app whose latency is measured. Of a command that imports much it took 12%. Modules
and their classes are some 400,000 objects, and none of them is garbage.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

THRESHOLDS = (200_000, 5, 50)  # objects, then collections of the younger ones
LOADING = (1_000_000, 5, 50)  # while a command loads its modules; a run has the others

_lock = Lock()
_runs = 0
_before = THRESHOLDS
_is_loading = _are_modules_left_out = False


@contextmanager
def collected_seldom() -> Iterator[None]:
    """Raise the collector's thresholds until the last block is left; higher ones stay.

    If the process ends, they stay: it would begin to collect, with all that it is about to free.
    """
    global _runs, _before, _are_modules_left_out
    with _lock:
        if not _runs:
            _before = gc.get_threshold()
            if _is_loading and not _are_modules_left_out:
                gc.freeze()  # once: cycles that are garbage by then are kept for ever
                _are_modules_left_out = True
            is_used = _before[0] > 0  # its user may do without
            if _is_loading or (is_used and _before[0] * _before[1] < THRESHOLDS[0] * THRESHOLDS[1]):
                gc.set_threshold(*THRESHOLDS)
        _runs += 1
    is_ending = False
    try:
        yield
    except SystemExit:
        is_ending = True
        raise
    finally:
        with _lock:
            _runs -= 1
            if not _runs and not is_ending:
                gc.set_threshold(*_before)


@contextmanager
def loading() -> Iterator[None]:
    """Raise the thresholds further while a command is executed; higher ones stay, and 0.

    If the process ends with it, those of a run stay, as after one.
    """
    global _is_loading
    before = gc.get_threshold()
    _is_loading = 0 < before[0] < LOADING[0]
    if _is_loading:
        gc.set_threshold(*LOADING)
    after = before
    try:
        yield
    except SystemExit:
        after = THRESHOLDS if _is_loading else before
        raise
    finally:
        _is_loading = False
        gc.set_threshold(*after)
