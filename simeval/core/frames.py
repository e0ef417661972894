"""Whose code a place in a program is: the user's own is what an error is told by."""

import os
from pathlib import Path

OWN, INSTALLED, OURS, STANDARD = range(4)  # whose code a frame runs; the first there is is named
_SIMEVAL = Path(__file__).parents[1]
_LIBRARY = Path(os.__file__).parent


def rank_of(file: str) -> int:
    """Return whose code is in a file: the user's own, an installed package's, simeval's, Python's."""
    path = Path(file)
    if path.is_relative_to(_SIMEVAL):
        return OURS
    if {"site-packages", "dist-packages"}.intersection(path.parts):
        return INSTALLED
    return STANDARD if path.is_relative_to(_LIBRARY) or path.name.startswith("<frozen") else OWN
