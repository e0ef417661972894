"""What a screen shows of a run: made of its records, or read from its machine-readable result."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import ge, gt, le, lt
from typing import Any, Literal

from simeval.core.conversation import Conversation
from simeval.core.quarantine import Quarantine
from simeval.core.setting_choices import Gate
from simeval.core.trial import Outcome, Verdict
from simeval.core.usage import Usage
from simeval.evaluators.base import Bar, Evaluator, ShareEvaluator
from simeval.results.claims import Claims
from simeval.results.fidelity import Fidelity
from simeval.results.gates import BaselineGate
from simeval.results.outcomes import shown_outcome
from simeval.results.repeatability import Repeatability
from simeval.results.users import UserConduct


@dataclass(frozen=True, slots=True)
class ShownCut:
    """Where a score begins to speak for a requirement."""

    sign: Literal[">=", "<=", ">", "<"]
    score: float

    def holds(self, score: float) -> bool:
        """Return whether a score is on the good side."""
        return _SIGNS[self.sign](score, self.score)


@dataclass(frozen=True, slots=True)
class ShownMisses:
    """Which scores do not speak for a requirement, if that is no matter of one cut."""

    scores: frozenset[float]

    def holds(self, score: float) -> bool:
        """Return whether a score is none of them."""
        return score not in self.scores


def standard_of(verdict: Mapping[str, Any]) -> ShownCut | ShownMisses | None:
    """Return which scores speak for a requirement, by its verdict in a document; None if all do, or nobody knows."""
    if cut := verdict.get("cut"):
        return ShownCut(**cut)
    return ShownMisses(frozenset(missed)) if (missed := verdict.get("missed")) else None


_SIGNS: Mapping[str, Callable[[float, float], bool]] = {">=": ge, "<=": le, ">": gt, "<": lt}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownVerdict:
    """One requirement.

    `said` is what was observed and what is required, in a sentence, `range` where the true value lies, in words;
    `least` is the smallest number of trials that can prove it, where they did not, `met` the share of conversations
    that met it, and the share that must, where it is about one.
    """

    outcome: Outcome
    said: str
    range: str
    evaluator: str
    reason: str
    why: str
    n: int
    significance_level: float
    method: str = ""
    estimate: float | None = None
    confidence_interval: tuple[float | None, float | None] | None = None
    p_value: float | None = None
    p_value_fail: float | None = None
    bar: Bar | None = None
    cut: ShownCut | None = None
    missed: frozenset[float] = frozenset()
    least: int = 0
    met: tuple[float, float] | None = None
    against: str | None = None
    shares: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownExpectation:
    """One expectation.

    `described` is what else is known of it, `distrusted` names judges that failed its controls, `worst` is the trial
    that speaks most against it.
    """

    label: str
    outcome: Outcome
    verdicts: Sequence[ShownVerdict]
    warnings: Sequence[str] = ()
    distrusted: Sequence[str] = ()
    described: Sequence[str] = ()
    worst: int | None = None

    def is_met_by(self, score: float) -> bool:
        """Return whether a conversation with this score speaks for all that is required."""
        return all(
            verdict.cut.holds(score) if verdict.cut else score not in verdict.missed for verdict in self.verdicts
        )


@dataclass(frozen=True, slots=True)
class ShownScore:
    """What a conversation was given, and why; `answer` is the number of the app's that shows it, where one does."""

    score: float | None
    reasoning: str = ""
    answer: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTrial:
    """A conversation, with its scores by the labels of their expectations, and what went wrong in it."""

    index: int
    conversation: Conversation
    scores: Mapping[str, ShownScore] = field(default_factory=dict)
    failures: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFailure:
    """What went wrong in a trial."""

    index: int
    stage: str
    error: str

    def __str__(self) -> str:
        return self.error if self.stage == "app" else f"{self.stage}: {self.error}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownScenario:
    """One scenario, with the conversations that can be shown."""

    title: str
    outcome: Outcome
    sample_size: int
    trials: int
    expectations: Sequence[ShownExpectation]
    users: UserConduct
    claims: Claims = field(default_factory=Claims)
    errors: Sequence[ShownFailure] = ()
    conversations: Mapping[int, ShownTrial] = field(default_factory=dict)
    quarantine: Quarantine | None = None
    decides: bool = True

    @property
    def shown_outcome(self) -> str:
        """Its outcome, or "undecided"."""
        return shown_outcome(self.outcome, (verdict.reason for each in self.expectations for verdict in each.verdicts))

    @property
    def quarantine_told(self) -> str:
        """What its quarantine means, in a sentence; empty where it has none."""
        if self.quarantine is None:
            return ""
        return self.quarantine.told(self.title, self.outcome, holds=not self.decides)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A run of a suite. `roles` says who played what, such as "judge openai/gpt-5-nano"."""

    run_id: str
    outcome: Outcome
    seed: int
    roles: Sequence[str]
    gate_met: bool
    gate: Gate
    stopped: str
    seconds: float
    usage: Mapping[str, Usage]
    guarantee: str
    repeatability: Repeatability | None = None
    scenarios: Sequence[ShownScenario]
    notes: Sequence[str] = ()
    baseline: BaselineGate | None = None
    fidelity: Fidelity | None = None

    @property
    def verdicts(self) -> list[ShownVerdict]:
        """All verdicts, in order."""
        return [verdict for each in self.scenarios for one in each.expectations for verdict in one.verdicts]


def shown_verdict(
    label: str,
    evaluator: Evaluator,
    verdict: Verdict,
    scores: Iterable[float],
    *,
    missed: frozenset[float] = frozenset(),
) -> ShownVerdict:
    """Return what is shown of a verdict on what `label` names, which has these scores.

    `missed` are those that do not meet it, if that is no matter of one cut.
    """
    interval = None if verdict.outcome == "error" else verdict.confidence_interval
    return ShownVerdict(
        outcome=verdict.outcome,
        said=evaluator.tell(evaluator.named(label, scores), verdict) + _besides(verdict),
        range="" if interval is None else " to ".join(map(evaluator.show, interval)),
        evaluator=verdict.evaluator,
        reason=verdict.reason,
        why=verdict.why,
        n=verdict.n,
        significance_level=verdict.significance_level,
        method=verdict.method,
        estimate=verdict.estimate,
        confidence_interval=interval,
        p_value=verdict.p_value,
        p_value_fail=verdict.p_value_fail,
        bar=evaluator.bar_on_scale,
        cut=ShownCut(*evaluator.cut) if evaluator.cut else None,
        missed=missed,
        least=evaluator.minimum_trials() if verdict.outcome == "inconclusive" else 0,
        met=_met(evaluator.rule, verdict),
        against=verdict.against,
        shares=verdict.shares,
    )


def _met(rule: Evaluator, verdict: Verdict) -> tuple[float, float] | None:
    known = [each for each in (verdict.chart.met if verdict.chart else ()) if each is not None]
    return (sum(known) / len(known), rule.required_share) if known and isinstance(rule, ShareEvaluator) else None


def _besides(verdict: Verdict) -> str:
    """Say how many conversations are not among those that were measured."""
    counts = ((verdict.missing, "missing"), (verdict.left_out, "left out, because the app failed"))
    more = "more " if verdict.estimate is not None and verdict.outcome != "error" else ""
    return "".join(f"; {count} {more}{'is' if count == 1 else 'are'} {what}" for count, what in counts if count)


def roles_of(app: str, played: Mapping[str, str], repeats: int = 1) -> tuple[str, ...]:
    """Say who `played` what, beside the app."""
    times = {"judge": f" ({repeats} ratings each)"} if repeats > 1 else {}
    return f"app {app}", *(f"{role} {name}{times.get(role, '')}" for role, name in played.items())
