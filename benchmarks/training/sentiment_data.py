"""The rated sentences that the sentiment model is trained and measured on, and which of them are held out."""

import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

SETS = {
    "tweets": "tweets",
    "amazonReviewSnippets": "products",
    "movieReviewSnippets": "films",
    "nytEditorialSnippets": "news",
}
BY_DOCUMENT = ("products", "news")  # their sentences come from documents: "set:document_sentence"
FOLDS = 5
HELD_OUT, VALIDATION = 0, 1  # the folds that are the test, and what choices are made on


@dataclass(frozen=True, slots=True)
class Rated:
    """A text with the mean of its raters, from -4 to 4, and the share of them in each class, lowest first.

    `group` is what is kept on one side of a split: the document, or the text itself, its case and signs aside.
    """

    id: str
    domain: str
    group: str
    text: str
    mean: float
    shares: tuple[float, ...] = ()

    @property
    def fold(self) -> int:
        """Its fold, from its group alone: the same on every machine."""
        return int(sha256(self.group.encode()).hexdigest()[:8], 16) % FOLDS


def read(path: Path) -> list[Rated]:
    """Read public_vader_sentiment.jsonl.gz."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [rated_of(json.loads(line)) for line in lines]


def rated_of(row: dict[str, object]) -> Rated:
    """Read one row of that file."""
    domain, name = SETS[str(row["set"])], str(row["id"])
    text = str(row["text"])
    plain = "".join(sign for sign in text.lower() if sign.isalnum())
    group = name.rsplit("_", 1)[0] if domain in BY_DOCUMENT else plain or name
    ratings = row.get("ratings") or ()
    assert isinstance(ratings, Sequence)
    return Rated(name, domain, group, text, float(str(row["mean"])), _shares(ratings))


def apart(rated: Iterable[Rated], *folds: int) -> tuple[list[Rated], list[Rated]]:
    """Return those outside `folds`, and those inside."""
    whole = list(rated)
    return [each for each in whole if each.fold not in folds], [each for each in whole if each.fold in folds]


def class_of(mean: float) -> int:
    """Return the class of a mean rating from 0, very negative, to 4: cut at -2, -0.5, 0.5 and 2."""
    return sum(mean > cut for cut in (-2, -0.5)) + sum(mean >= cut for cut in (0.5, 2))


def _shares(ratings: Sequence[float]) -> tuple[float, ...]:
    """Return the share of raters in -4 and -3, -2 and -1, 0, 1 and 2, 3 and 4; empty where there are no raters."""
    classes = [sum(rating > cut for cut in (-2.5, -0.5, 0.5, 2.5)) for rating in ratings]
    return tuple(classes.count(number) / len(classes) for number in range(5)) if classes else ()
