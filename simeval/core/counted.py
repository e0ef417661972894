"""Numbers with what they count, in words."""


def counted_of(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where that is meant."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
