"""Failures, grouped by cause, whatever each quotes of its request."""

import re

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
