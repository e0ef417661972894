"""Planning: how many trials a requirement needs, and what a suite can prove, before any call is paid for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, log10, prod
from typing import TYPE_CHECKING

from simeval.core.settings import DEFAULTS, POWER, Settings
from simeval.core.terminal import Terminal, counted_of, render_table, show_share
from simeval.core.validation import of_percent, require, require_level, require_share, require_size, require_whole
from simeval.evaluators.base import Evaluator, ShareEvaluator
from simeval.evaluators.stopping import say_design
from simeval.stats import binomial, planning
from simeval.stats.multiple import joint_level
from simeval.stats.optimal import OptimalDesign
from simeval.stats.sequential import Design, design

if TYPE_CHECKING:
    from simeval.suites.scenario import ScenarioTest

CHEAP_SIZES = 5
MORE_IN_TURN = 1.1  # trials of a sequential sample for each of a fixed one with the same chance of a pass
UP = (0, 0.5, 0.8, 0.95)  # of the way from the bar to 1: rates whose trials are shown
MARGIN, ROOM_FOR_NAMES = 23, 64  # cells before the text of a plan, and of a line that has them
HEADERS = ("scenario", "requirement", "trials", "passes with", "chance of a pass", "average trials")


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSizePlan:
    """The trials needed to prove a share of good trials.

    `level` and `needed_power` are those of each of the `requirements`; `minimum` is the fewest trials that can prove
    `bar` at all; `fixed` the sizes of a sample without early stopping, `design` the sequential design that takes the
    fewest trials on average; both are None if the true rate is not above the bar, or so little that it takes more than
    10,000 trials.
    """

    bar: float
    true_rate: float
    significance_level: float
    power: float
    requirements: int
    joint: bool
    level: float
    needed_power: float
    minimum: int
    fixed: planning.FixedSample | None
    design: Design | None

    @property
    def can_pass(self) -> bool:
        """Whether there is a sample that proves it."""
        return self.design is not None and self.fixed is not None

    def __str__(self) -> str:
        return self.text()

    def text(self, room: int | None = None) -> str:
        """Write the plan, in lines of any length or of so much `room`."""
        many = f" each ({show_share(self.power)} for all {self.requirements})" if self.requirements > 1 else ""
        level = f"{self.level:.3g}" + (f" ({self.significance_level:g} for the list)" if self.joint else "")
        head = (
            f"to prove a rate of at least {show_share(self.bar)} at level {level}, where the true rate is "
            f"{show_share(self.true_rate)},\nwith a chance of {show_share(round(self.needed_power, 4))}{many}:"
        )
        if self.design is None or self.fixed is None:
            why = "no sample is enough: the true rate must lie above the bar"
            if self.true_rate > self.bar:
                why = f"more than {planning.LARGEST_N:,} trials would be needed: too close to the bar"
            return f"{head}\n  {why}"
        first, safe = self.fixed.first, self.fixed.safe
        good, at_bar = self.design.characteristics(self.true_rate), self.design.characteristics(self.bar)
        cheap = planning.cheap_sizes(self.bar, alpha=self.level, count=CHEAP_SIZES)
        lines = {
            "with early stopping": f"sample_size {self.design.n_max}; on average {good.expected_n:.0f} trials, and "
            f"{at_bar.expected_n:.0f} for an app exactly at the bar",
            "": say_design(self.design).replace("; ", "\n"),
            "trials by true rate": _said_by_rate(self.design),
            "a proven fail": _said_of_fails(self.design),
            "without": f"sample_size {first}" + (f" (from {safe} on, every size is enough)" if safe > first else ""),
            "the least that can": f"{self.minimum} trials, all of them good",
            "cheap fixed sizes": ", ".join(f"{n} with {'no miss' if k == 0 else f'≤ {k}'}" for n, k in cheap),
        }
        if room is None:
            margin = f"\n{'':{MARGIN}}"
            return "\n".join(
                [head, *(f"{f'  {name}':<{MARGIN}}{text}".replace("\n", margin) for name, text in lines.items())]
            )
        terminal = Terminal(width=room)
        wrapped = terminal.wrap(head.replace("\n", " "))
        for name, text in lines.items():
            if room >= ROOM_FOR_NAMES:
                wrapped += terminal.wrap(text, first=f"{f'  {name}':<{MARGIN}}", rest=" " * MARGIN)
            else:
                wrapped += [*terminal.wrap(name, first="  ")] * bool(name) + terminal.wrap(text, first="    ")
        return "\n".join(wrapped)


def _said_by_rate(made: Design) -> str:
    """Say how many trials apps of several rates take, and how near that is to the least that is possible."""
    rates = sorted({max(made.p0 - below, 0.01) for below in (0.15, 0.05)} | {made.p0 + up * (1 - made.p0) for up in UP})
    said = [f"{made.characteristics(rate).expected_n:.0f} at {show_share(round(rate, 3))}" for rate in rates]
    if not isinstance(made, OptimalDesign):
        return ", ".join(said)
    return f"{', '.join(said)}; {show_share(round(made.over_least, 3))} over the least possible"


def _said_of_fails(made: Design) -> str:
    """Describe the cost of proving a fail, and not only refusing a pass, for an app well below the bar."""
    rate = max(made.p0 - 0.15, 0.01)
    proving = design(made.p0, made.n_max, alpha=made.alpha, stop="verdict", min_trials=made.min_trials)
    refused, proven = made.characteristics(rate), proving.characteristics(rate)
    return (
        f"at {show_share(round(rate, 3))}: in {proven.prob_fail:.0%} of runs with --stop verdict, after "
        f"{proven.expected_n:.0f} trials on average; in {refused.prob_fail:.0%} without, after {refused.expected_n:.0f}"
    )


def plan(
    bar: float,
    true_rate: float,
    *,
    significance_level: float = DEFAULTS.significance_level,
    power: float = POWER,
    requirements: int = 1,
    joint: bool = False,
    min_trials: int = DEFAULTS.min_trials,
) -> SampleSizePlan:
    """Plan the sample size of a requirement on a share of trials.

    `bar` is the share to prove (for "at most" requirements 1 minus it, for a median 0.5), `true_rate` the share at
    which it shall be proven with the chance `power`. With several `requirements` that is the chance that all pass, if
    they are independent; with `joint`, the level too is that of all their passes together. Nothing ends a sequential
    sample before `min_trials`. Raises DefinitionError for arguments that cannot be used.
    """
    require_share(bar, "plan: bar")
    require_share(power, "plan: power", such_as=0.8)
    require_rate(true_rate, "plan: true_rate")
    require_level(significance_level, "plan: significance_level")
    require_whole(requirements, "plan: requirements")
    require_size(min_trials, "plan: min_trials")
    level = joint_level(significance_level, requirements) if joint else significance_level
    needed = planning.suite_power(power, requirements)
    return SampleSizePlan(
        bar=bar,
        true_rate=true_rate,
        significance_level=significance_level,
        power=power,
        requirements=requirements,
        joint=joint,
        level=level,
        needed_power=needed,
        minimum=binomial.minimum_n(bar, level),
        fixed=planning.fixed_sample(bar, true_rate, alpha=level, power=needed),
        design=planning.optimal_sample(bar, true_rate, alpha=level, power=needed, min_trials=min_trials),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RequirementForecast:
    """The forecast of one requirement of a suite: None if only a simulation could compute it (means).

    `minimum_trials` is the smallest sample that can pass at all; `bar` and `level` are those of the test.
    """

    scenario: str
    requirement: str
    sample_size: int
    acceptance: str
    true_rate: float | None
    prob_pass: float | None
    expected_trials: float | None
    minimum_trials: int
    bar: float | None = None
    level: float = DEFAULTS.significance_level

    @property
    def can_pass(self) -> bool:
        """Whether the sample is large enough for a pass."""
        return self.minimum_trials <= self.sample_size


@dataclass(frozen=True, slots=True)
class SuitePlan:
    """The forecast of a suite, requirement by requirement, if the app is as good as given."""

    forecasts: tuple[RequirementForecast, ...]

    @property
    def can_pass(self) -> bool:
        """Whether every requirement has trials enough for a pass."""
        return all(each.can_pass for each in self.forecasts)

    @property
    def prob_pass(self) -> float | None:
        """The chance that every requirement passes, if they are independent; None if one is unknown."""
        chance = 1.0
        for forecast in self.forecasts:
            if forecast.prob_pass is None:
                return None
            chance *= forecast.prob_pass
        return chance

    @property
    def expected_trials(self) -> float | None:
        """The trials all scenarios take on average, each as many as its longest requirement; None if unknown."""
        longest: dict[str, float] = {}
        for each in self.forecasts:
            if each.expected_trials is None:
                return None
            longest[each.scenario] = max(each.expected_trials, longest.get(each.scenario, 0.0))
        return sum(longest.values())

    def sufficient_size(self) -> int | None:
        """Return a sample size with which all requirements pass with POWER, as far as their chances are known.

        None if they do with their own sizes, if no chance is known, or if no size is enough.
        """
        known = [each for each in self.forecasts if each.bar is not None and each.true_rate is not None]
        if prod(each.prob_pass or 0.0 for each in known) >= POWER:
            return None
        alone = planning.suite_power(POWER, len(known))
        sizes = [_sufficient(each.bar or 0.0, each.true_rate or 0.0, each.level, alone) for each in known]
        return max((size for size in sizes if size), default=None) if all(sizes) else None

    def advice(self, cost: Callable[[int], str] = lambda _: "") -> str:
        """Name the sample size with which the suite would pass, its trials and their cost; "" if there is none."""
        size = self.sufficient_size()
        if size is None:
            return ""
        trials = sum({each.scenario: max(size, each.sample_size) for each in self.forecasts}.values())
        return f"to pass with {show_chance(POWER)}: sample_size: {size} (up to {trials:,} conversations{cost(trials)})"

    def __str__(self) -> str:
        return self.text()

    def text(self, room: int | None = None) -> str:
        """Write the forecasts as a table, or as a list where lines have less `room`."""
        rows = []
        last = None
        for each in self.forecasts:
            rate = "" if each.true_rate is None else f" if {show_share(round(each.true_rate, 4))} are met"
            rows.append(
                [
                    "" if each.scenario == last else each.scenario,
                    each.requirement,
                    str(each.sample_size),
                    each.acceptance or ("-" if each.can_pass else f"nothing; {each.minimum_trials} are needed"),
                    "-" if each.prob_pass is None else f"{show_chance(each.prob_pass)}{rate}",
                    "-" if each.expected_trials is None else f"{each.expected_trials:.0f}",
                ]
            )
            last = each.scenario
        table = render_table(HEADERS, rows, widths=(28, 34, 6, 34), room=room)
        together = ""
        if self.prob_pass is not None:
            together = f"; all pass with a chance of {show_chance(self.prob_pass)}, if requirements are independent"
        most = {each.scenario: each.sample_size for each in self.forecasts}
        count = counted_of(len(most), "scenario")
        expected = "-" if self.expected_trials is None else f"{self.expected_trials:.0f}"
        said = f"{count}, at most {sum(most.values())} trials (expected: {expected}){together}"
        lines = [said, *filter(None, [self.advice()])]
        return "\n".join([table, "", *(lines if room is None else Terminal(width=room).wrap("\n".join(lines)))])


def plan_suite(scenarios: "Sequence[ScenarioTest]", settings: Settings, *, true_rate: float | None = None) -> SuitePlan:
    """Forecast a suite: what each requirement accepts, and how it fares at `true_rate`.

    Without a rate, each is forecast at its own expected one, or half-way between its bar and 100%.
    """
    from simeval.suites.scenario import count_requirements

    if true_rate is not None:
        require_rate(true_rate, "plan: true_rate")
    requirements = count_requirements(scenarios) if settings.joint else 1
    found = []
    for scenario in scenarios:
        size = scenario.sample_size or settings.sample_size
        level = scenario.significance_level or settings.significance_level
        for label, expectation in zip(scenario.labels, scenario.expectations, strict=True):
            for evaluator in expectation.evaluators:
                used = evaluator.with_defaults(
                    significance_level=level,
                    early_stopping=settings.early_stopping,
                    min_trials=settings.min_trials,
                    requirements=requirements,
                )
                test = used.running_test(size, stop=settings.stop_mode)
                rule = used.rule
                forecast: tuple[float | None, ...] = (None, None, None)
                is_of_people = used.standard == "people"
                if is_of_people:
                    forecast = (None, None, float(size))
                elif isinstance(rule, ShareEvaluator):
                    rate = true_rate or rule.expected_rate or (1 + rule.required_share) / 2
                    forecast = (rate, *_forecast(rule, size, rate, settings))
                found.append(
                    RequirementForecast(
                        scenario=scenario.title,
                        requirement=f"{label}: {used.describe()}",
                        sample_size=size,
                        acceptance=f"what {used.labels_wanted} labels of people prove"
                        if is_of_people
                        else test.acceptance().removeprefix("passes with "),
                        true_rate=forecast[0],
                        prob_pass=forecast[1],
                        expected_trials=forecast[2],
                        minimum_trials=used.minimum_trials(),
                        bar=rule.required_share if isinstance(rule, ShareEvaluator) else None,
                        level=rule.alpha if isinstance(rule, ShareEvaluator) else level,
                    )
                )
    return SuitePlan(tuple(found))


def require_rate(true_rate: float, where: str) -> None:
    """Raise DefinitionError for a share that no app can have."""
    do = f"use a share above 0, up to 1, such as {of_percent(true_rate) or 0.97:g}"
    require(0 < true_rate <= 1, where, found=true_rate, do=do)


def _forecast(rule: ShareEvaluator, size: int, rate: float, settings: Settings) -> tuple[float, float]:
    if rule.early_stopping is False:
        return float(binomial.power(size, rule.required_share, rate, alpha=rule.alpha)), float(size)
    found = rule.plan(size, stop=settings.stop_mode).characteristics(rate)
    return found.prob_pass, found.expected_n


def sufficient_for(evaluator: Evaluator) -> int | None:
    """Return a sample size with which a good app passes a requirement with POWER; None if it is unknown."""
    rule = evaluator.rule
    if not isinstance(rule, ShareEvaluator):
        return None
    rate = rule.expected_rate or (1 + rule.required_share) / 2
    return _sufficient(rule.required_share, rate, evaluator.alpha, POWER)


def _sufficient(bar: float, rate: float, level: float, power: float) -> int | None:
    """Return a sample size, of two digits that count, with which a requirement passes with this chance."""
    fixed = planning.fixed_sample(bar, rate, alpha=level, power=power)
    if fixed is None:
        return None
    size = MORE_IN_TURN * fixed.safe
    step: int = 10 ** max(0, int(log10(size)) - 1)
    return ceil(size / step) * step


def show_chance(chance: float) -> str:
    """Write a chance as a percentage; an uncertain one is never 0% or 100%."""
    shown = f"{chance:.0%}"
    return shown if chance in (0, 1) else {"0%": "under 1%", "100%": "over 99%"}.get(shown, shown)
