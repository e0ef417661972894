"""What went wrong, told so that failures of one cause are one, whatever each says of what was asked."""

import re

# what an app sent, which its failure quotes: it may repeat what it was asked
_SENT = re.compile(r"(?<=HTTP \d{3}): .*|(?<= of its answer) .*|(?<= in its answer) .*|(?<= JSON or text): .*")
# an exception of the app's own code: its kind and the line where it was raised, whatever it says of what was asked
_RAISED = re.compile(r"^(\w+): .*( \([^()]*:\d+ in [^()]*\))$", re.DOTALL)
_LINE = re.compile(r":\d+ in ")  # of a file of the app, where it raised
_TURN = re.compile(r"^the app (?:failed|could not be asked) at turn \d+: ")


def kind_of(error: str) -> str:
    """Return what the errors of one cause share, without the turn, what was asked and what was sent."""
    return _RAISED.sub(r"\1\2", _SENT.sub("", without_turn(error)))


def without_turn(error: str) -> str:
    """Return an error without the turn at which the app failed."""
    return _TURN.sub("", error)


def names_line(error: str) -> bool:
    """Return whether an error names the line of a file where it was raised."""
    return bool(_LINE.search(error))
