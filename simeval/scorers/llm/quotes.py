"""Quotes: whether the words that a judge quotes occur in the conversation."""

import re
import unicodedata
from collections.abc import Iterable
from html import unescape

FEWEST = 4  # characters of a quote, unless it is the whole text: shorter ones occur anywhere
_GAPS = re.compile(r"\[?(?:\.{3,}|…)\]?")
_MARKS = re.compile(r"[\"'`´‘’‚‛“”„‟«»‹›「」『』*_]")
_SPACES = re.compile(r"\s+")


def stands_in(quote: str, texts: Iterable[str]) -> bool:
    """Return whether a quote occurs in one of these texts.

    Spaces, quotation marks, marks of emphasis, case and entities make no difference; an ellipsis matches any words.
    """
    pieces = [piece for piece in map(_flat, _GAPS.split(quote)) if piece]
    return bool(pieces) and any(_all_in(pieces, _flat(text)) for text in texts)


def _all_in(pieces: list[str], text: str) -> bool:
    if sum(map(len, pieces)) < FEWEST and pieces != [text]:
        return False
    place = 0
    for piece in pieces:
        place = text.find(piece, place) + len(piece)
        if place < len(piece):
            return False
    return True


def _flat(text: str) -> str:
    plain = unicodedata.normalize("NFKC", unescape(text)).casefold()
    return _SPACES.sub(" ", _MARKS.sub("", plain)).strip().strip(".")
