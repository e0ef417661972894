"""Feedback: a person's or a program's opinion of a stored trial, or of an example of a dataset."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from hashlib import sha256
from itertools import zip_longest
from math import isfinite
from pathlib import Path
from typing import Any, Literal, get_args
from uuid import uuid4

from simeval.core.row_files import JSON_LINES, csv_rows, json_objects, unquoted_cell
from simeval.core.validation import WORDS, is_number, require, require_one_of
from simeval.errors import DefinitionError

Labeller = Literal["", "person", "model", "program"]  # who gave a label; other feedback has none
PERSON: Labeller = "person"  # the labeller whose labels count as people's

MOST = 4  # of one expectation: each makes every prompt of its judge longer by a conversation
NEEDED = ("expected_behavior", "label", "transcript")
PASSING = 6.0  # the lowest rating that is a pass
HASH_DIGITS = 16


def _now() -> datetime:
    return datetime.now(UTC)


def _new_id() -> str:
    return uuid4().hex


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """A score, a comment or both, under a key, from a source.

    A label of the labelling queue names the kind of `labeller` who gave it; only those by a person count as people's.
    Its `inclusion` is the probability that its trial was drawn, its score None if it was skipped.

    It is of a trial, by `run_id`, `trial` and `scenario` (the title, optional if the run has only one), or of an
    example, by the name of its `dataset` and the `example`'s key. Raises DefinitionError.
    """

    key: str
    score: float | bool | None = None
    comment: str = ""
    source: str = ""
    run_id: str = ""
    scenario: str = ""
    trial: int | None = None
    dataset: str = ""
    example: str = ""
    labeller: Labeller = ""
    inclusion: float | None = None
    created: datetime = field(default_factory=_now)
    feedback_id: str = field(default_factory=_new_id)

    def __post_init__(self) -> None:
        for name in ("key", "comment", "source", "run_id", "scenario", "dataset", "example", "feedback_id"):
            value = getattr(self, name)
            require(isinstance(value, str), f"feedback {name}", found=value, do="give a text")
        require(bool(self.key), "feedback key", found=self.key, do="name what is said of it, such as helpful")
        usable = bool(self.feedback_id) and self.feedback_id.isprintable()
        require(usable, "feedback_id", found=self.feedback_id, do="give a text that can be printed, or leave it out")
        require(_is_score(self.score), "feedback score", found=self.score, do="give a number, true or false, or none")
        if self.score is None and not self.comment:
            raise DefinitionError(
                "feedback", found="it has neither a score nor a comment", do="give one of them, or both"
            )
        require_one_of(self.labeller, get_args(Labeller), "feedback labeller")
        drawn = self.inclusion is None or (is_number(self.inclusion) and 0 < self.inclusion <= 1)
        require(drawn, "feedback inclusion", found=self.inclusion, do="give a probability above 0, up to 1")
        aware = isinstance(self.created, datetime) and self.created.tzinfo is not None
        require(aware, "feedback created", found=self.created, do="give a time with its zone")
        self._require_place()

    def _require_place(self) -> None:
        of_trial = bool(self.run_id) or self.trial is not None or bool(self.scenario)
        of_example = bool(self.dataset) or bool(self.example)
        if of_trial == of_example:
            found = "both a trial and an example" if of_trial else "neither a trial nor an example"
            do = "give run_id and trial, or dataset and example"
            raise DefinitionError("feedback", found=found, do=do)
        if of_example:
            require(bool(self.dataset), "feedback dataset", found=self.dataset, do="name the dataset of the example")
            require(bool(self.example), "feedback example", found=self.example, do="give the example's key")
            return
        is_index = isinstance(self.trial, int) and not isinstance(self.trial, bool) and self.trial >= 0
        require(bool(self.run_id), "feedback run_id", found=self.run_id, do="name the run of the trial")
        require(is_index, "feedback trial", found=self.trial, do="give the trial's number, from 0")


NAMES = tuple(each.name for each in fields(Feedback))


def encode_feedback(feedback: Feedback) -> dict[str, Any]:
    """Return feedback for export, one JSON object a line, without empty fields."""
    values = {name: getattr(feedback, name) for name in NAMES}
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in values.items()
        if value is not None and value != ""
    }


def decode_feedback(found: Mapping[str, Any]) -> Feedback:
    """Return the feedback that a line of an export, or of people's own, holds. Raises DefinitionError."""
    strange = [name for name in found if name not in NAMES]
    if strange:
        raise DefinitionError("feedback", found=f"found {', '.join(strange)}", do=f"name only {', '.join(NAMES)}")
    given = {name: value for name, value in found.items() if value is not None}
    if "key" not in given:
        raise DefinitionError("feedback key", found="it is missing", do="name what is said of it, such as helpful")
    return Feedback(**{**given, **({"created": _time(given["created"])} if "created" in given else {})})


def _time(value: object) -> datetime:
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError as error:
        do = "give a time as in 2026-01-31T12:00:00+00:00"
        raise DefinitionError("feedback created", found=f"found {value!r}", do=do) from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _is_score(value: object) -> bool:
    try:
        return value is None or (isinstance(value, (bool, int, float)) and isfinite(value))
    except OverflowError:  # an integer that no float can be
        return False


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
