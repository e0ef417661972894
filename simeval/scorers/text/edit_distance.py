"""How far two texts, or two lists of words, are apart: edit distance and longest common subsequence, by rapidfuzz.

rapidfuzz is imported at first use: most scorers of this package need none of it.
"""

from collections.abc import Sequence

MOST_CELLS = 2_500_000_000  # 50,000 by 50,000 characters: some 0.2 s


def edit_distance(first: Sequence[str], second: Sequence[str]) -> int:
    """Return Levenshtein's distance: the fewest insertions, deletions and replacements that make one the other.

    Raises ValueError if the table would have more than MOST_CELLS cells, after equal ends are taken off.
    """
    from rapidfuzz.distance import Levenshtein

    _check_size(first, second)
    return Levenshtein.distance(first, second)


def common_length(first: Sequence[str], second: Sequence[str]) -> int:
    """Return how many elements the longest common subsequence has. Raises ValueError as `edit_distance` does."""
    from rapidfuzz.distance import LCSseq

    _check_size(first, second)
    return LCSseq.similarity(first, second)


def _check_size(first: Sequence[str], second: Sequence[str]) -> None:
    from rapidfuzz.distance import Postfix, Prefix

    if len(first) * len(second) <= MOST_CELLS:
        return
    equal = Prefix.similarity(first, second) + Postfix.similarity(first, second)
    short, long = sorted((max(0, len(first) - equal), max(0, len(second) - equal)))
    if short * long > MOST_CELLS:
        raise ValueError(f"Sequences of {short:,} and {long:,} elements are too long to be compared.")
