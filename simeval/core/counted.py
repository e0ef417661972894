"""Numbers with their nouns, in words."""


def counted_of(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural if that fits."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
