"""Runs of one unchanged app: how often they are red, how often that was to be expected, and whether the rates vary."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simeval.analysis.saved_run import Key, RequirementOutcomes, Source, read_suite, require_different, requirements_of
from simeval.core.setting_field import Gate
from simeval.core.settings import DEFAULTS
from simeval.core.terminal import PLAIN, Terminal, counted_of, show_p, show_share
from simeval.core.trial import Chart
from simeval.core.validation import require
from simeval.errors import DefinitionError
from simeval.stats.binomial import clopper_pearson
from simeval.stats.run_to_run import chances_of_ends, differ_p_value

TRIALS = 20  # of each scenario in each run, that are compared: no run may stop before
LEVEL = 0.05
DRAWS = 400
_SEED = 20261127
_NOT_PASSED = ("fail", "inconclusive", "error")

Outcomes = dict[Key, RequirementOutcomes]
Foretold = tuple[float, tuple[float, float]]  # a share, and its interval


@dataclass(frozen=True, slots=True, kw_only=True)
class UnchangedRuns:
    """Three answers of several runs of one unchanged app.

    `red` of the runs did not meet their gate, which `counted` bounds exactly. `foretold` is the share that their
    designs foretell at the rates of all runs together, with an approximate interval; None if no requirement is a share,
    and without those `left_out`. `p_value` is that of "the rates are the same in all runs", from the first trials of
    each scenario, whose numbers are `trials`.
    """

    runs: Sequence[str]
    outcomes: Sequence[str]
    red: int
    counted: tuple[float, float]
    foretold: Foretold | None
    left_out: int
    p_value: float
    trials: Sequence[int]

    @property
    def differ(self) -> bool:
        """Whether the runs differ by more than chance makes them."""
        return self.p_value <= LEVEL

    def __str__(self) -> str:
        return unchanged_text(self)


def unchanged(runs: Sequence[Source]) -> UnchangedRuns:
    """Say how runs of one suite against an unchanged app differ.

    Scenarios in quarantine do not count. Raises DefinitionError for fewer than two runs, and for different suites.
    """
    require(len(runs) > 1, "unchanged", found=counted_of(len(runs), "run"), do="give two or more, of one suite")
    read = [read_suite(each, f"run {place}") for place, each in enumerate(runs, 1)]
    require_different(read, "unchanged")
    found = [requirements_of(each) for each in read]
    for run, each in zip(read, found, strict=True):
        if each.keys() != found[0].keys():
            problem = f"it has other requirements than run {read[0].run_id}"
            raise DefinitionError(f"run {run.run_id}", found=problem, do="give runs of one suite, as it is")
    titles = [scenario.title for scenario in read[0].scenarios if scenario.decides]
    keys = {title: [key for key in found[0] if key[0] == title] for title in titles}
    columns = [_misses(found, of_scenario) for of_scenario in keys.values()]
    red = sum(not each.gate_met for each in read)
    foretold, left_out = _foretold(read[0].gate, found, [key for each in keys.values() for key in each])
    return UnchangedRuns(
        runs=[each.run_id for each in read],
        outcomes=[each.outcome for each in read],
        red=red,
        counted=clopper_pearson(red, len(read), LEVEL / 2),
        foretold=foretold,
        left_out=left_out,
        p_value=differ_p_value(np.concatenate(columns, axis=1), seed=_SEED) if columns else 1.0,
        trials=[each.shape[1] for each in columns],
    )


def _misses(found: Sequence[Outcomes], keys: Sequence[Key]) -> NDArray[np.int64]:
    """Return how many requirements each of a scenario's first trials missed, with a row for each run."""
    shares = [key for key in keys if found[0][key].met is not None]
    ends = [_earliest_end(chart) for key in shares if (chart := found[0][key].chart) is not None]
    of_means = [DEFAULTS.min_trials] if len(shares) < len(keys) else []
    there = [len(each[key].met or ()) for each in found for key in shares]
    first = min([TRIALS, *ends, *of_means, *there]) if shares else 0
    table = [[sum((each[key].met or {}).get(at) is False for key in shares) for at in range(first)] for each in found]
    return np.array(table, dtype=np.int64).reshape(len(found), first)


def _earliest_end(chart: Chart) -> int:
    """Return the trials before which no run of a test ends: more would be chosen by their outcomes."""
    if chart.stop == "never":
        return chart.n_max
    points = [n for each in (chart.pass_at, chart.fail_at, chart.end_at) for n, _ in each]
    out_of_reach = [] if chart.end_at else [max((misses for _, misses in chart.pass_at), default=0) + 1]
    return min([chart.n_max, *points, *out_of_reach])


def _foretold(gate: Gate, found: Sequence[Outcomes], keys: Sequence[Key]) -> tuple[Foretold | None, int]:
    """Return the share of runs that do not meet their gate by chance, and the number of requirements left out."""
    random, green = np.random.default_rng(_SEED), []
    for key in keys:
        chart = found[0][key].chart
        known = [met for run in found for met in (run[key].met or {}).values() if met is not None]
        if chart is not None and known:
            rates = random.beta(sum(known) + 0.5, len(known) - sum(known) + 0.5, DRAWS)
            points = {"pass_at": chart.pass_at, "fail_at": chart.fail_at, "end_at": chart.end_at}
            passed, failed = chances_of_ends(rates, chart.n_max, **points)
            green.append(passed if gate == "pass" else 1 - failed)
    if not green:
        return None, len(keys)
    red = 1 - prod(green[1:], start=green[0])
    low, high = np.quantile(red, (0.05, 0.95)).tolist()
    return (float(red.mean()), (low, high)), len(keys) - len(green)


def unchanged_text(found: UnchangedRuns, terminal: Terminal = PLAIN) -> str:
    """Write the three answers for a terminal."""
    kinds = Counter(found.outcomes)
    split = ", ".join(f"{kinds[each]} {each}" for each in _NOT_PASSED if kinds[each])
    low, high = (show_share(round(each, 3)) for each in found.counted)
    counted = f"{found.red} of {len(found.runs)} runs did not meet their gate{f' ({split})' if split else ''}"
    lines = {"counted": f"{counted}; exactly, with 95% confidence, {low} to {high} of such runs"}
    if found.foretold is not None:
        share, (least, most) = found.foretold
        without = f"; without {counted_of(found.left_out, 'requirement')} on no share" if found.left_out else ""
        lines["foretold"] = (
            f"by chance alone {share:.0%} would not, at the rates of all runs together; approximately {least:.0%} to "
            f"{most:.0%}{without}"
        )
    rests = f"p {show_p(found.p_value)}, first {max(found.trials, default=0)} trials of a scenario"
    lines["beyond chance"] = f"no, runs differ no more than chance makes them ({rests})"
    if found.differ:
        lines["beyond chance"] = (
            f"yes, runs differ by more than chance ({rests}): the counted interval holds over days, the share that was "
            "foretold does not"
        )
    elif not any(found.trials):
        lines["beyond chance"] = "not known: no requirement on a share has a trial in each run"
    head = f"A/A: {counted_of(len(found.runs), 'run')} of an unchanged app"
    said = [line for name, text in lines.items() for line in terminal.wrap(text, first=f"  {name:<15}", rest=" " * 17)]
    return terminal.finished([head, *said])


def encode_unchanged(found: UnchangedRuns) -> dict[str, Any]:
    """Return the three answers as JSON has them."""
    foretold = found.foretold and {
        "share": found.foretold[0],
        "interval": list(found.foretold[1]),
        "left_out": found.left_out,
    }
    return {
        "runs": list(found.runs),
        "outcomes": list(found.outcomes),
        "counted": {"red": found.red, "interval": list(found.counted)},
        "foretold": foretold,
        "differ": {"found": found.differ, "p_value": found.p_value, "trials": list(found.trials)},
    }
