"""Numbers that are guessed, as a person reads them."""


def about(number: float) -> str:
    """Write a number with two digits that count."""
    return f"{float(f'{number:.2g}'):,.0f}"


def short(number: float) -> str:
    """Write a large number in thousands or millions."""
    for size, letter in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{float(f'{number / size:.3g}'):g}{letter}"
    return f"{number:.0f}"
