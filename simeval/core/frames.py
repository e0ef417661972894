"""Whose code a place in a program is: an error names the user's own."""

import os
from functools import lru_cache, partial
from inspect import isasyncgen, isgenerator
from pathlib import Path
from types import CodeType
from typing import Any

OWN, INSTALLED, OURS, STANDARD = range(4)  # whose code a frame runs; the first there is is named
_SIMEVAL = Path(__file__).parents[1]
_LIBRARY = Path(os.__file__).parent


def defined_at(function: object) -> str:
    """Return where a function of the user's own is, as "file, line 3"; empty if unknown.

    For a generator, it is the place of its function.
    """
    found: Any = function.func if isinstance(function, partial) else function
    code: Any
    if isasyncgen(found):
        code = found.ag_code
    elif isgenerator(found):
        code = found.gi_code
    else:
        called = found if hasattr(found, "__code__") else getattr(found, "__func__", type(found).__call__)
        code = getattr(called, "__code__", None)
    if not isinstance(code, CodeType) or rank_of(code.co_filename) != OWN:
        return ""
    return f"{Path(code.co_filename).name}, line {code.co_firstlineno}"


@lru_cache(maxsize=10_000)
def rank_of(file: str) -> int:
    """Return whose code is in a file: the user's own, an installed package's, simeval's, Python's."""
    path = Path(file)
    if path.is_relative_to(_SIMEVAL):
        return OURS
    if {"site-packages", "dist-packages"}.intersection(path.parts):
        return INSTALLED
    return STANDARD if path.is_relative_to(_LIBRARY) or path.name.startswith("<frozen") else OWN
