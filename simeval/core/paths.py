"""Paths into the results of scorers, used to declare directions and bounds."""

from collections.abc import Iterable


def nearest_path(declared: Iterable[str], path: str) -> str | None:
    """Return the longest of these paths that is this one or leads to it; "" leads to all. None if none does."""
    return max((key for key in declared if key in ("", path) or path.startswith(f"{key}.")), key=len, default=None)
