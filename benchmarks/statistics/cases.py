"""A table of cases: the level of its verdict, and how often a slice of it is named for nothing.

    python -m benchmarks.statistics.cases [--scenarios 400] [--tables 1000]

- Exact: every sequence of outcomes of a design whose trials have the cases in balanced blocks, for cases that succeed
  at different rates with the mean at the bar. The level is at most that of an app with one rate.
- The engine: ten cases whose mean is at the bar, so both a pass and a fail are wrong, with 1 and 32 trials in flight,
  ended at a random moment and resumed once. Failures take eight times as long as successes.
- Slices: tables of 42 rows whose columns have nothing to do with failing, stopped as a verdict stops them and whole;
  and the table of which one pair of columns fails.
"""

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import anyio
import anyio.to_thread
import numpy as np
from numpy.typing import NDArray

from benchmarks.statistics.cuts import at_once
from simeval import Engine, Expectation, ProportionEvaluator, ScenarioResult, ScenarioTest, scorer
from simeval.core.conversation import Conversation
from simeval.core.logs import configure_logging
from simeval.core.trial import Score
from simeval.results.cases import table_of
from simeval.stats.binomial import clopper_pearson
from simeval.stats.optimal import optimal_design
from simeval.stats.sequential import Design
from simeval.suites import Step
from simeval.suites.cases import case_at
from tests.support.fake_clock import FakeClockLoop

LEVEL, SLOWER, PART, SAMPLE = 0.05, 8.0, 10, 60
RATES: Mapping[str, Sequence[float]] = {  # of ten cases, with their mean at the bar
    "8 x 1, 2 x .5": (*[1.0] * 8, 0.5, 0.5),
    "5 x 1, 5 x .8": (*[1.0] * 5, *[0.8] * 5),
    ".5 to 1": tuple(np.linspace(0.5, 1, 10).round(3).tolist()),
    "all alike": (0.9,) * 10,
}
ROWS: Sequence[dict[str, Any]] = [
    {"nights": nights, "breakfast": breakfast, "room": room}
    for nights, breakfast, room in product(range(1, 8), (True, False), ("single", "double", "suite"))
]
RULE = ProportionEvaluator(1, 0.9)


@dataclass(frozen=True, slots=True)
class Walk:
    """The chances of a pass and of a fail, and the average number of trials."""

    passes: float
    trials: float
    fails: float


def walk(plan: Design, kinds: Sequence[tuple[int, float]]) -> Walk:
    """Return what becomes of a design whose trials have cases in blocks: so many cases, each with such a rate.

    Exact: a state is the number of failures, and of the cases of each kind that the block has had.
    """
    counts, rates = [count for count, _ in kinds], [rate for _, rate in kinds]
    whole = tuple(counts)
    states: dict[tuple[int, ...], NDArray[np.float64]] = {(0,) * len(counts): np.eye(1, plan.n_max + 2)[0]}
    ended: dict[tuple[int, int], float] = {}
    for n in range(1, plan.n_max + 1):
        after: dict[tuple[int, ...], NDArray[np.float64]] = {}
        for used, chances in states.items():
            left = sum(counts) - sum(used)
            for kind, rate in enumerate(rates):
                share = (counts[kind] - used[kind]) / left
                if share:
                    now = tuple(each + (place == kind) for place, each in enumerate(used))
                    moved = share * (rate * chances + (1 - rate) * np.concatenate([[0.0], chances[:-1]]))
                    now = (0,) * len(counts) if now == whole else now
                    after[now] = after.get(now, 0.0) + moved
        for failures in range(n + 1):
            if plan.ending(n, failures) is not None:
                ended[n, failures] = sum(float(chances[failures]) for chances in after.values())
                for chances in after.values():
                    chances[failures] = 0.0
        states = after
    passes = sum(chance for place, chance in ended.items() if plan.ending(*place) == "pass")
    fails = sum(chance for place, chance in ended.items() if chance and plan.infer(*place).p_fail <= plan.alpha)
    return Walk(passes, sum(n * chance for (n, _), chance in ended.items()), fails)


@scorer
def is_good(conversation: Conversation) -> bool:
    """Return whether the answer is good."""
    return conversation.output == "good"


async def run(
    rates: Sequence[float], scenarios: int, in_flight: int, store: Path, *, is_cut: bool
) -> list[ScenarioResult]:
    """Run scenarios whose cases succeed at these rates; where `is_cut`, end that at a random moment and resume it."""
    rule = ProportionEvaluator(min_proportion=sum(rates) / len(rates), significance_level=LEVEL)
    suite = [
        ScenarioTest(
            title=f"scenario {number}",
            given="someone",
            when="asks",
            script=[Step(user="{case}")],
            cases=[{"case": case} for case in range(len(rates))],
            then=Expectation(scorer=is_good, evaluator=rule),
            sample_size=SAMPLE,
        )
        for number in range(scenarios)
    ]
    draws = Random(f"{rates} {scenarios} {in_flight} {store.name}")

    async def app(message: str) -> str:
        good = draws.random() < rates[int(message)]
        await anyio.sleep(1.0 if good else SLOWER)
        return "good" if good else "bad"

    for attempt in range(1 + is_cut):
        engine = Engine(
            seed=draws.randrange(2**31) if not attempt else None,
            concurrency=in_flight * scenarios,
            app_concurrency=in_flight * scenarios,
            stop="verdict",
            store=store,
            resume="last" if attempt else None,
            display="none",
        )
        async with anyio.create_task_group() as tasks:
            if is_cut and not attempt:
                tasks.start_soon(_end_after, engine, draws.uniform(0, 60 / in_flight + SLOWER))
            result = await engine.evaluate(suite, app)
            tasks.cancel_scope.cancel()
    return [*result]


async def _end_after(engine: Engine, seconds: float) -> None:
    await anyio.sleep(seconds)
    engine.end("cut off")


def measure(rates: Sequence[float], scenarios: int, in_flight: int, *, is_cut: bool) -> list[ScenarioResult]:
    """Return the results of so many scenarios, a part of them at a time, on a clock that jumps."""
    configure_logging("ERROR")
    results: list[ScenarioResult] = []
    with tempfile.TemporaryDirectory() as folder, patch.object(anyio.to_thread, "run_sync", at_once):
        for part in range(-(-scenarios // PART)):
            size = min(PART, scenarios - part * PART)

            async def work(number: int = part, size: int = size) -> list[ScenarioResult]:
                return await run(rates, size, in_flight, Path(folder) / f"{number}.db", is_cut=is_cut)

            options: Mapping[str, Any] = {"loop_factory": FakeClockLoop}
            results += anyio.run(work, backend_options=dict(options))
    return results


def named_for_nothing(seed: int, *, is_stopped: bool) -> bool:
    """Return whether a slice is named of a table whose columns have nothing to do with failing.

    A few rows fail always, the others seldom; the trials are ended as a verdict at a bar of 90% ends them.
    """
    draws = Random(seed)
    rates = [1.0 if draws.random() < 0.15 else draws.betavariate(1, 20) for _ in ROWS]
    return bool(_named(rates, draws, is_stopped=is_stopped))


def finds_the_pair(seed: int, *, is_stopped: bool) -> bool:
    """Return whether the pair of columns that fails in 90% of trials is named, where all else fails in 5%."""
    rates = [0.9 if row["nights"] >= 4 and row["breakfast"] else 0.05 for row in ROWS]
    return "nights >= 4 with breakfast" in _named(rates, Random(seed), is_stopped=is_stopped)


def _named(rates: Sequence[float], draws: Random, *, is_stopped: bool) -> list[str]:
    plan, seed = RULE.plan(126, stop="verdict"), draws.randrange(2**31)
    places: list[int] = []
    results: list[Score] = []
    failures = 0
    for index in range(plan.n_max):
        place = case_at(ROWS, index, seed=seed)
        failed = draws.random() < rates[place]
        failures += failed
        places.append(place)
        results.append(Score(value=float(not failed)))
        if is_stopped and plan.ending(index + 1, failures) is not None:
            break
    table = table_of(places, results, [RULE], values=dict(enumerate(ROWS)))
    return [each.words for each in table.slices] if table else []


def shown(count: int, n: int) -> str:
    """Return a share with its 95% interval."""
    low, high = clopper_pearson(count, n, 0.025)
    return f"{count / n:.3f} [{low:.3f}, {high:.3f}]"


def main() -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenarios", type=int, default=400, help="of the engine, for each row")
    parser.add_argument("--tables", type=int, default=1000, help="of slices, for each row")
    options = parser.parse_args()
    plan = optimal_design(0.9, 100, alpha=LEVEL)
    print("cases, exact, bar 90% | pass | fail | trials")
    for name, kinds in (
        ("all alike", [(10, 0.9)]),
        ("5 x 1, 5 x .8", [(5, 1.0), (5, 0.8)]),
        ("8 x 1, 2 x .5", [(8, 1.0), (2, 0.5)]),
        ("90 x 1, 10 x 0", [(90, 1.0), (10, 0.0)]),
    ):
        found = walk(plan, kinds)
        print(f"{name} | {found.passes:.6f} | {found.fails:.6f} | {found.trials:.2f}", flush=True)
    print("\ncases, through the engine | in flight | resumed | wrong pass [95%] | wrong fail [95%]")
    for (name, rates), in_flight, is_cut in product(RATES.items(), (1, 32), (False, True)):
        results = measure(rates, options.scenarios, in_flight, is_cut=is_cut)
        passes, fails = (sum(each.outcome == outcome for each in results) for outcome in ("pass", "fail"))
        cells = [name, str(in_flight), "once" if is_cut else "no", *(shown(n, len(results)) for n in (passes, fails))]
        print(" | ".join(cells), flush=True)
    print("\nslices | trials | named [95%]")
    for name, counted in (("for nothing", named_for_nothing), ("the pair that fails", finds_the_pair)):
        for is_stopped in (True, False):
            found_in = sum(counted(seed, is_stopped=is_stopped) for seed in range(options.tables))
            trials = "until the verdict" if is_stopped else "126"
            print(f"{name} | {trials} | {shown(found_in, options.tables)}", flush=True)


if __name__ == "__main__":
    main()
