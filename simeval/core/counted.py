"""Numbers in words: with their nouns, as shares and as p-values."""

from collections.abc import Sequence
from math import floor, log10

MOST_DIGITS = 6  # of a number that would otherwise look like the bar or the level it is compared with


def counted_of(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural if that fits."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def show_p(p: float, *, beside: float | None = None) -> str:
    """Write a p-value with three digits, never as a bare zero; with more if it would look like `beside`."""
    if p < 0.0001:
        return "< 0.0001"
    shown = f"{p:.3f}" if p >= 0.001 else f"{p:.4f}"
    digits = 4
    while beside is not None and float(shown) == beside != p and digits <= MOST_DIGITS:
        shown, digits = f"{p:.{digits}f}", digits + 1
    return shown


def say_p(p: float) -> str:
    """Write a p-value into a sentence."""
    shown = show_p(p)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


def show_number(value: float) -> str:
    """Write a number in six digits, a small one in two and without an exponent."""
    if value == 0 or abs(value) >= 1e-4:
        return f"{value:g}"
    return f"{value:.{1 - floor(log10(abs(value)))}f}".rstrip("0")


def show_share(share: float) -> str:
    """Write a share as a percentage, with a decimal only if it is needed."""
    return f"{100 * share:.4g}%"


def show_shares(shares: Sequence[float]) -> str:
    """Write a share before and after."""
    return " -> ".join(show_share(round(each, 3)) for each in shares)
