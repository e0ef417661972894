"""Conversations that people labelled, as examples for a judge: a few for each expectation, from a file of labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path

from simeval.core.row_files import JSON_LINES, csv_rows, json_objects, unquoted_cell
from simeval.core.validation import WORDS
from simeval.errors import DefinitionError

MOST = 4  # of one expectation: each makes every prompt of its judge longer by a conversation
NEEDED = ("expected_behavior", "label", "transcript")
PASSING = 6.0  # the lowest rating that is a pass
HASH_DIGITS = 16


@dataclass(frozen=True, slots=True)
class LabelledExample:
    """A conversation, as a file of labels has it, and whether people pass it."""

    transcript: str
    passes: bool

    @property
    def key(self) -> str:
        """Identifies its conversation."""
        return transcript_key(self.transcript)


def transcript_key(transcript: str) -> str:
    """Return a key that identifies the conversation of a file of labels."""
    return sha256(" ".join(transcript.split()).encode()).hexdigest()[:HASH_DIGITS]


def read_examples(path: Path) -> Mapping[str, Sequence[LabelledExample]]:
    """Return the examples of a file that `simeval people agree --sample` wrote and people filled in, by expectation.

    Of each expectation at most four, passes and failures by turns, the first of the file first. Rows without a label
    are none. Raises DefinitionError.
    """
    found: dict[str, dict[bool, list[LabelledExample]]] = {}
    where, do = f"judge_examples {str(path)!r}", "give a file that `simeval people agree --sample` wrote, filled in"
    for row in _rows(path, where, do):
        if missing := [name for name in NEEDED if name not in row]:
            raise DefinitionError(where, found=f"there is no column {missing[0]}", do=do)
        if row["label"]:
            passes = _passes(row["label"], where)
            sides = found.setdefault(expectation_key(row["expected_behavior"]), {True: [], False: []})
            sides[passes].append(LabelledExample(row["transcript"], passes))
    if not found:
        raise DefinitionError(where, found="no label is filled in", do=do)
    return {expected: _few(sides) for expected, sides in found.items()}


def expectation_key(expected: str) -> str:
    """Return an expectation without differences in spaces."""
    return " ".join(expected.split())


def _few(sides: Mapping[bool, Sequence[LabelledExample]]) -> Sequence[LabelledExample]:
    by_turns = [each for pair in zip_longest(sides[True], sides[False]) for each in pair if each is not None]
    return tuple(by_turns[:MOST])


def _rows(path: Path, where: str, do: str) -> list[dict[str, str]]:
    try:
        if path.suffix.lower() in JSON_LINES:
            objects = [row for _, row in json_objects(path, do=do)]
            return [{name: "" if value is None else str(value) for name, value in row.items()} for row in objects]
        read = (cells for _, cells in csv_rows(path, strict=False) if any(cells))
        rows = [[unquoted_cell(cell.strip()) for cell in cells] for cells in read]
        return [dict(zip(rows[0], cells, strict=False)) for cells in rows[1:]]
    except (OSError, ValueError) as error:
        if isinstance(error, DefinitionError):
            raise
        raise DefinitionError(where, found=f"it cannot be read ({error})", do=do) from error


def _passes(label: str, where: str) -> bool:
    word = label.strip().lower()
    if word in WORDS or word in ("0", "1"):
        return WORDS.get(word, word == "1")
    try:
        return float(word) >= PASSING
    except ValueError as error:
        do = "write pass or fail, or a rating from 1 to 10"
        raise DefinitionError(where, found=f"found the label {label!r}", do=do) from error
