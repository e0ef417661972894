"""Licences: what a judge was found to be worth, of near misses and right answers, before it judges.

judge-test  ──▶ JudgeLicence ──▶ the store, under a key of judge, form of reply, prompt and options
the run     ◀── the licence under its own key; another model, prompt or option has another key, so none
every report ◀─ one line
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

JudgeForm = Literal["rating", "criteria"]  # how an expectation is judged: by its behaviour, or by criteria


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """How often a judge was right about answers of one kind, with the 90% interval, and whether that suffices."""

    right: int
    n: int
    passed: bool
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.right} of {self.n} [{self.low:.0%}, {self.high:.0%}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeLicence:
    """What a judge was tested on, when, and with which result; `form` says how it judged, `key` what it holds for."""

    key: str
    judge: str
    form: str
    tested: datetime
    near_misses: Stream
    right_answers: Stream
    calls: int
    tokens: int

    @property
    def is_licensed(self) -> bool:
        """Whether it is proven to find more than three in four of both kinds."""
        return self.near_misses.passed and self.right_answers.passed

    def __str__(self) -> str:
        found = f"near misses {self.near_misses}, right answers {self.right_answers}"
        word = "licensed" if self.is_licensed else "NOT LICENSED"
        return f"judge {self.judge} ({self.form}): {word}, tested {self.tested:%Y-%m-%d}: {found}"

    def encoded(self) -> dict[str, Any]:
        """Return it in the form JSON has."""
        return {**asdict(self), "tested": self.tested.isoformat(), "licensed": self.is_licensed}

    @classmethod
    def of(cls, encoded: Mapping[str, Any]) -> "JudgeLicence":
        """Return the licence that was encoded so."""
        found: dict[str, Any] = {name: encoded[name] for name in ("key", "judge", "form", "calls", "tokens")}
        found |= {name: Stream(**encoded[name]) for name in ("near_misses", "right_answers")}
        return cls(**found, tested=datetime.fromisoformat(encoded["tested"]))
