"""Measure one answer and compare it with a bar: an assertion for plain tests."""

from functools import partial
from math import inf
from typing import Any

import anyio

from simeval.core.event_loops import require_no_loop
from simeval.core.trial import Score
from simeval.core.validation import is_number, require
from simeval.scorers.base import as_scorer
from simeval.scorers.returned import measured_of, metrics_of, none_there, reason_at, whole


def assert_result(
    scorer: object,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    score: str | None = None,
    **columns: Any,
) -> Any:
    """Measure one answer and return the scorer's result; raise AssertionError with its reason if it is not good.

    The value at the path `score`, by default the scorer's main value, has to be at least or at most a bar. Without a
    bar it has to be a yes or no, and the better of the two. `columns` are the `output` and whatever else the scorer
    names. Raises DefinitionError in an event loop and for results that cannot be measured so, and the scorer's own
    errors.
    """
    require_no_loop("assert_result", do="write `await scorer.measure({...})`, and assert on what it returns")
    asked = as_scorer(scorer, "assert_result: scorer")
    where = f"scorer {asked.name}: assert_result"
    bars = {"at least": at_least, "at most": at_most}
    for word, bar in bars.items():
        require(bar is None or is_number(bar), where, found=f"{word} {bar!r}", do="give a number")
    low, high = (-inf if at_least is None else at_least), (inf if at_most is None else at_most)
    require(low <= high, where, found=f"at least {low:g} and at most {high:g}", do="give bars that a number can meet")
    asked.check([*columns])
    measured = anyio.run(partial(asked.measure, columns))
    whole_score = whole(measured, None, name=asked.name)
    path, found = _value(whole_score, asked.default_score if score is None else score, where)
    if at_least is None and at_most is None:
        require(isinstance(found, bool), where, found=f"the number {found:g}", do="give at_least or at_most")
        good = asked.direction_of(path) != "lower"
        met, said = found is good, "yes" if good else "no"
    else:
        met = low <= found <= high
        said = " and ".join(f"{word} {number:g}" for word, number in bars.items() if number is not None)
    if not met:
        reason = whole_score.reasoning or reason_at(whole_score.details, path)
        raise AssertionError(_told(f"{asked.name}.{path}".rstrip("."), found, said, reason))
    return measured


def _value(score: Score, path: str | None, where: str) -> tuple[str, float | bool]:
    """Return the value to compare with the bar, and its path."""
    numbers = metrics_of(measured_of(score))
    at = path if path is not None else next(iter(numbers)) if len(numbers) == 1 else ""
    if at not in numbers:
        raise none_there(measured_of(score), numbers, path, where, "score")
    return at, numbers[at]


def _told(name: str, found: float | bool, bar: str, reason: str) -> str:
    value = ("yes" if found else "no") if isinstance(found, bool) else f"{found:g}"
    return f"{name} is {value}, required: {bar}" + (f" ({reason})" if reason else "")
