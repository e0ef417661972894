"""Owners: which process is at a run, and whether it still is."""

import os
import secrets
import socket
from datetime import datetime

SILENT_SECONDS = 60.0  # after which a process on another host is taken for dead


def new_owner() -> str:
    """Name a new attempt of this process: host, process, when that began, and chance."""
    process = os.getpid()
    return f"{socket.gethostname()}:{process}:{_began(process)}:{secrets.token_hex(4)}"


def host_of(owner: str) -> str:
    """Return the host of an owner."""
    return owner.split(":")[0]


def process_of(owner: str) -> int:
    """Return the process of an owner."""
    return int(owner.split(":")[1])


def describe(owner: str) -> str:
    """Describe an owner."""
    return f"process {process_of(owner)} on {host_of(owner)}" if owner else "nobody"


def is_alive(owner: str, *, heartbeat: datetime, now: datetime) -> bool:
    """Return whether an owner is still at its run: on this host by its process, on another by its last sign of life.

    So is one on this host if the system did not report when it began.
    """
    if not owner:
        return False
    host, process, began, _ = owner.split(":")
    if host == socket.gethostname() and began:
        return _began(int(process)) == began
    return (now - heartbeat).total_seconds() < SILENT_SECONDS


def _began(process: int) -> str:
    """Return when a process began, in hundredths of a second; empty if it is gone or the system does not report it.

    A process that is another's successor under its number, as the first one of a container is, began at another time.
    """
    import psutil  # 30 ms, and only runs need it

    try:
        found = psutil.Process(process)
        began = found.create_time()
        if psutil.LINUX:  # counts from the start of the system there: psutil adds the clock's time of that
            began -= psutil.boot_time()
        return "" if found.status() == psutil.STATUS_ZOMBIE else f"{began * 100:.0f}"
    except psutil.Error:
        return ""
