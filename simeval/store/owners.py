"""Owners: which process is at a run, and whether it still is."""

import os
import secrets
import socket
from datetime import datetime
from pathlib import Path

SILENT_SECONDS = 60.0  # after which a process on another host is taken for dead


def new_owner() -> str:
    """Name a new sitting of this process: host, process, when that began, and chance."""
    process = os.getpid()
    return f"{socket.gethostname()}:{process}:{_began(process)}:{secrets.token_hex(4)}"


def host_of(owner: str) -> str:
    """Return the host of an owner."""
    return owner.split(":")[0]


def process_of(owner: str) -> int:
    """Return the process of an owner."""
    return int(owner.split(":")[1])


def describe(owner: str) -> str:
    """Say who an owner is."""
    return f"process {process_of(owner)} on {host_of(owner)}" if owner else "nobody"


def is_alive(owner: str, *, pulse: datetime, now: datetime) -> bool:
    """Return whether an owner is still at its run: on this host by its process, on another by its last sign of life."""
    if not owner:
        return False
    host, process, began, _ = owner.split(":")
    if host == socket.gethostname() and os.name == "posix":
        return _began(int(process)) == began
    return (now - pulse).total_seconds() < SILENT_SECONDS


def _began(process: int) -> str | None:
    """Return when a process began; None where it is gone, nothing where the system does not tell.

    A process that is another's successor under its number, as the first one of a container is, began at another
    time.
    """
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        has_proc = Path("/proc/self/stat").exists()
        return None if has_proc or not _exists(process) else ""
    return None if fields[0] == "Z" else fields[19]


def _exists(process: int) -> bool:
    if os.name != "posix":  # elsewhere signal 0 ends the process
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
