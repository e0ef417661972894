"""Licences of judges: how well a judge rated near misses and right answers, before it judges.

judge-test  ──▶ JudgeLicence ──▶ the store, under a key of judge, form of reply, prompt and options
the run     ◀── the licence under its own key; another model, prompt or option has another key, so none
            ──▶ the near misses that it showed, and the day on which canaries noticed another model
every report ◀─ one line
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Literal

ALPHA = 0.01  # the chance that a model which is the same is called changed
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
    """The test of a judge: when, with which result; `form` is how it judged, `key` the setting it is valid for.

    `in_runs` are the near misses of runs since then; `seen` is whether it was right about each, by the control's key.
    `changed` is the day on which canaries noticed another model behind its name.
    """

    key: str
    judge: str
    form: str
    tested: datetime
    near_misses: Stream
    right_answers: Stream
    calls: int
    tokens: int
    in_runs: Stream | None = None
    seen: Mapping[str, bool] = field(default_factory=dict)
    changed: str = ""

    @property
    def is_licensed(self) -> bool:
        """Whether it is proven to find more than three in four of both kinds, and nothing since speaks against it."""
        is_proven = self.near_misses.passed and self.right_answers.passed
        return is_proven and not self.changed and (self.in_runs is None or self.in_runs.passed)

    def __str__(self) -> str:
        found = f"near misses {self.near_misses}, right answers {self.right_answers}"
        found += f", near misses of runs since {self.in_runs}" if self.in_runs else ""
        found += (
            f"; on {self.changed} another model answered by this name: remove its kept canary answers and test it again"
            if self.changed
            else ""
        )
        word = "licensed" if self.is_licensed else "NOT LICENSED"
        return f"judge {self.judge} ({self.form}): {word}, tested {self.tested:%Y-%m-%d}: {found}"

    def encoded(self) -> dict[str, Any]:
        """Return it in the form JSON has."""
        return {**asdict(self), "tested": self.tested.isoformat(), "licensed": self.is_licensed}

    @classmethod
    def of(cls, encoded: Mapping[str, Any]) -> "JudgeLicence":
        """Return the licence that was encoded so."""
        found: dict[str, Any] = {name: encoded[name] for name in ("key", "judge", "form", "calls", "tokens")}
        found |= {
            name: Stream(**encoded[name]) for name in ("near_misses", "right_answers", "in_runs") if encoded.get(name)
        }
        found |= {name: encoded[name] for name in ("seen", "changed") if name in encoded}
        return cls(**found, tested=datetime.fromisoformat(encoded["tested"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryFinding:
    """Whether a judge answers as before; `p_value` is None without earlier answers.

    `problem` is why it could not be asked: then nothing is stored, and nothing is known.
    """

    judge: str
    kept: str = ""
    problem: str = ""
    p_value: float | None = None
    mean_then: float | None = None
    mean_now: float | None = None

    @property
    def has_changed(self) -> bool:
        """Whether it is proven that another model answers by the name."""
        return self.p_value is not None and self.p_value <= ALPHA

    def __str__(self) -> str:
        if self.problem:
            return f"canary of {self.judge}: it could not be asked ({self.problem}); nothing is kept or compared"
        if self.p_value is None:
            return f"canary of {self.judge}: its answers are kept from now on"
        means = f"mean rating {self.mean_then:.1f} then, {self.mean_now:.1f} now; p = {self.p_value:.2g}"
        if self.has_changed:
            return (
                f"canary of {self.judge}: THE MODEL BEHIND THIS NAME HAS CHANGED since {self.kept} ({means}): do not "
                "compare with runs from before; remove the kept file to begin anew"
            )
        return f"canary of {self.judge}: it answers as on {self.kept} ({means})"
