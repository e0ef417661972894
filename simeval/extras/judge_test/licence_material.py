"""The material of a judge's licence: right answers, and near misses made from the expectation.

All of it was written for this, in each of `LANGUAGES`; with any change raise `material.VERSION`. Each situation gives
two right answers, one plain and one in courtesy, and two near misses by one rule.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from simeval.core import seeds
from simeval.core.near_misses import framed, near_misses
from simeval.extras.judge_test.material import SITUATIONS

LANGUAGES = ("en", "de", "es")
_PATH = Path(__file__).with_suffix(".jsonl")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LicenceCase:
    """An answer in a situation, and whether it is right."""

    given: str
    question: str
    expected: str
    answer: str
    is_right: bool

    @property
    def when(self) -> str:
        """Return the user's goal."""
        return f"They ask: {self.question}"


@lru_cache(maxsize=len(LANGUAGES))
def _cases(language: str) -> Sequence[LicenceCase]:
    rows = [row for row in map(json.loads, _PATH.read_text("utf-8").splitlines()) if row["language"] == language]
    told = [(each.given, each.talk.question, each.expected, each.talk.good) for each in SITUATIONS if language == "en"]
    told += [(row["given"], row["question"], row["expected"], row["answer"]) for row in rows]
    return [
        LicenceCase(given=given, question=question, expected=expected, answer=answer, is_right=is_right)
        for given, question, expected, good in told
        for is_right, answer in (
            *((True, answer) for answer in (good, framed(good, language))),
            *((False, each.answer) for each in near_misses((expected,))),
        )
    ]


def licence_cases(seed: int, *, right: bool, language: str = "en") -> Sequence[LicenceCase]:
    """Return the right answers, or the near misses, in a language, in an order by the seed."""
    found = [each for each in _cases(language) if each.is_right == right]
    seeds.generator(seed, "licence", int(right)).shuffle(found)
    return found
