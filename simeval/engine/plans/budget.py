"""Budgets: a run's limits on spending, and whether one more trial can be paid for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields

from simeval.core.run_records import Usage, total
from simeval.core.settings import Settings
from simeval.errors import DefinitionError

Admission = str  # "go", "wait" until a trial in flight has ended, or the reason why the run stops
BEFORE_TRIALS = ("rubric", "control", "canary")  # the roles of calls that belong to no trial
MARGIN = 1.25  # times the mean of the trials that have ended: the tokens and the cost that are kept for one to come


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The limits of a run's spending, earlier attempts included; None is no limit.

    Calls that failed and calls that were ended early count.
    """

    max_cost_usd: float | None = None
    max_calls: int | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None

    @classmethod
    def of(cls, settings: Settings) -> "Budget":
        """Return the limits that the settings give."""
        return cls(**{each.name: getattr(settings, each.name) for each in fields(cls)})

    @property
    def is_set(self) -> bool:
        """Whether there is any limit."""
        return self != Budget()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The cost of something: calls, tokens of prompts and replies, US dollars."""

    calls: float = 0
    tokens: float = 0.0
    cost_usd: float = 0.0

    @classmethod
    def of(cls, usage: Usage) -> "Cost":
        """Return the cost of a usage; an unknown cost is none."""
        return cls(
            calls=usage.calls + usage.ended_calls,
            tokens=usage.prompt_tokens + usage.completion_tokens,
            cost_usd=usage.cost_usd or 0.0,
        )

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            calls=self.calls + other.calls, tokens=self.tokens + other.tokens, cost_usd=self.cost_usd + other.cost_usd
        )

    def __mul__(self, times: float) -> "Cost":
        return Cost(calls=times * self.calls, tokens=times * self.tokens, cost_usd=times * self.cost_usd)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Decides whether one more trial can be paid for.

    A trial is admitted while the spending so far, the reserve for the rubrics still to be written and the controls
    still to be shown, and the reserve for each trial in flight and for this one fit into every limit. The reserve of a
    trial is the calls of `trial`, which are as many as any trial of the suite can make: so without retries `max_calls`
    is never exceeded, and less than that is left when the run stops. Its tokens and its cost have no upper bound: the
    reserve is that of `trial` until one has ended, then the mean of those that have (with the usage of those in flight
    by then) and a margin; so only the last few can exceed the limit, by as much as they are dearer than that.

    `canary` is the cost of all canaries, until `is_canary_asked`. `rubric` is the cost of one rubric, `rubrics_left`
    gives how many are still to be written; `control` and `controls_left` are the same for controls. `usage` gives the
    run's usage by role and `seconds` how long it has taken, both with the attempts before this one.
    """

    budget: Budget
    trial: Cost
    rubric: Cost
    rubrics_left: Callable[[], int]
    control: Cost
    controls_left: Callable[[], int]
    usage: Callable[[], Mapping[str, Usage]]
    seconds: Callable[[], float]
    canary: Cost = field(default_factory=Cost)
    is_canary_asked: Callable[[], bool] = lambda: True

    def check(self, unpriced: Sequence[str] = ()) -> None:
        """Raise DefinitionError if the work before trials and one trial cannot be paid for, whatever was spent.

        Also if there is a limit on the cost, and models whose price is unknown.
        """
        if self.budget.max_cost_usd is not None and unpriced:
            raise DefinitionError(
                "max_cost_usd",
                found=f"no price is known for {', '.join(unpriced)}",
                do="use max_calls or max_tokens",
            )
        for limit in self._limits(spent=Cost(), before=self._before_trials(), trial=self.trial):
            if not limit.allows(1):
                raise DefinitionError(limit.name, found=limit.too_little(), do="raise it, or leave it out")

    def admits(self, *, in_flight: int, finished: int) -> Admission:
        """Decide on one more trial, with so many others in progress.

        `finished` are the trials that have ended, each once, those of earlier attempts from the start: their cost is in
        `usage`.
        """
        if not self.budget.is_set:
            return "go"
        most, seconds = self.budget.max_seconds, self.seconds()
        if most is not None and seconds >= most:
            return f"max_seconds of {most:g} is reached ({seconds:.0f} spent)"
        usage = self.usage()
        limits = self._limits(
            spent=Cost.of(total(usage)),
            before=self._before_trials(),
            trial=self._next_trial(usage, finished),
        )
        for limit in limits:
            if not limit.allows(in_flight + 1):
                return "wait" if in_flight else limit.reason()
        return "go"

    def _next_trial(self, usage: Mapping[str, Usage], finished: int) -> Cost:
        """Estimate the cost of one more trial."""
        if not finished:
            return self.trial
        of_trials = Cost.of(total({role: used for role, used in usage.items() if role not in BEFORE_TRIALS}))
        mean = of_trials * (MARGIN / finished)
        return Cost(calls=self.trial.calls, tokens=mean.tokens, cost_usd=mean.cost_usd)

    def _before_trials(self) -> Cost:
        """Return the reserve for everything asked before a scenario's trials begin."""
        canary = Cost() if self.is_canary_asked() else self.canary
        return canary + self.rubric * self.rubrics_left() + self.control * self.controls_left()

    def _limits(self, *, spent: Cost, before: Cost, trial: Cost) -> list["_Limit"]:
        budget, parts = self.budget, (spent, before, trial)
        amounts = (
            ("max_calls", budget.max_calls, [part.calls for part in parts]),
            ("max_tokens", budget.max_tokens, [part.tokens for part in parts]),
            ("max_cost_usd", budget.max_cost_usd, [part.cost_usd for part in parts]),
        )
        kept_for = "rubrics and controls" if self.canary == Cost() else "canaries, rubrics and controls"
        return [_Limit(name, most, kept_for, *each) for name, most, each in amounts if most is not None]


@dataclass(frozen=True, slots=True)
class _Limit:
    """One limit with the spending, the reserve for work before trials, and that for one trial."""

    name: str
    most: float
    kept_for: str  # the work before trials
    spent: float
    before: float
    trial: float

    def allows(self, trials: int) -> bool:
        """Return whether so many trials can be paid for."""
        return self.spent + self.before + trials * self.trial <= self.most

    def reason(self) -> str:
        """Say why there is no further trial."""
        kept = f", {self._show(self.before)} kept for {self.kept_for}" if self.before else ""
        spent = f"{self._show(self.spent)} spent{kept}"
        return f"{self.name} of {self._show(self.most)} is reached ({spent}; the next trial may take {self._trial})"

    def too_little(self) -> str:
        """Describe what it cannot pay for."""
        before = f" after {self.kept_for}, which take {self._show(self.before)}" if self.before else ""
        return f"{self._show(self.most)} cannot pay one trial, which may take {self._trial}{before}"

    @property
    def _trial(self) -> str:
        return self._show(self.trial)

    def _show(self, amount: float) -> str:
        return show_dollars(amount) if self.name == "max_cost_usd" else f"{amount:,.0f}"


def show_dollars(amount: float) -> str:
    """Write an amount of US dollars; small ones with four decimals."""
    return f"${amount:,.2f}" if amount >= 0.1 or amount == 0 else f"${amount:.4f}"
