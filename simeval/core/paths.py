"""Paths into what scorers return, as directions and bounds are declared by them."""

from collections.abc import Iterable


def nearest_path(declared: Iterable[str], path: str) -> str | None:
    """Return the longest of these paths that is this one or leads to it; "" leads to all. None where none does."""
    return max((key for key in declared if key in ("", path) or path.startswith(f"{key}.")), key=len, default=None)
