"""Lines of a terminal: each is as full as it can be, whatever stands before the first."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from simeval.core.terminal import Terminal

WORDS = st.lists(st.text("abcdefgh", min_size=1, max_size=9), min_size=1, max_size=40)


@given(WORDS, st.integers(40, 80), st.integers(0, 10), st.integers(0, 10))
def test_lines_fit_and_are_full(words: list[str], columns: int, first: int, rest: int) -> None:
    lines = Terminal(width=columns).wrap(" ".join(words), first="-" * first, rest=" " * rest)

    assert " ".join(lines).replace("-", "").split() == words
    assert all(len(line) <= columns for line in lines)
    followed = [(line, other.split()[0]) for line, other in pairwise(lines)]
    assert all(len(line) + 1 + len(word) > columns for line, word in followed)


def test_the_lines_of_a_text_stay_lines() -> None:
    assert Terminal(width=40).wrap("one\n\ntwo", first="> ", rest="  ") == ["> one", "", "  two"]
