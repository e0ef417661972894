"""Failures, grouped by cause, whatever each quotes of its request, and kinds of misses in words."""

import re
from collections.abc import Sequence

from simeval.results.document import FailureKind

MOST_TOLD = 5  # kinds of misses with a line of their own

# an app's response, quoted in its failure: it may repeat the request
_SENT = re.compile(r"(?<=HTTP \d{3}): .*|(?<= of its answer) .*|(?<= in its answer) .*|(?<= JSON or text): .*")
# an exception of the app's own code: its kind and the line that raised it, without its message
_RAISED = re.compile(r"^(\w+): .*( \([^()]*:\d+ in [^()]*\))$", re.DOTALL)
_LINE = re.compile(r":\d+ in ")  # of a file of the app that raised it
_TURN = re.compile(r"^the app (?:failed|could not be asked) at turn \d+: ")


def kind_of(error: str) -> str:
    """Return the common text of errors of one cause, without the turn, the request and the response."""
    return _RAISED.sub(r"\1\2", _SENT.sub("", without_turn(error)))


def without_turn(error: str) -> str:
    """Return an error without its turn."""
    return _TURN.sub("", error)


def names_line(error: str) -> bool:
    """Return whether an error names the line of a file that raised it."""
    return bool(_LINE.search(error))


def told_kinds(kinds: Sequence[FailureKind]) -> list[str]:
    """Return the number of misses and of their kinds, then a line for each; [] for fewer than two kinds."""
    if len(kinds) < 2:
        return []
    lines = [f"{len(each.trials)} ({each.range}): {each.name}" for each in kinds[:MOST_TOLD]]
    left = kinds[MOST_TOLD:]
    more = [f"{sum(len(each.trials) for each in left)} of {len(left)} more kinds"] if left else []
    return [
        f"{kinds[0].misses} misses of {len(kinds)} kinds (with their shares of all misses, 95% intervals):",
        *lines,
        *more,
    ]
