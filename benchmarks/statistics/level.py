"""The error rates that verdicts promise: computed exactly, and measured through the whole engine.

python -m benchmarks.statistics.level [--scenarios 1000] [--skip-engine]

The first table is arithmetic: every sequence of outcomes of a design is accounted for. The second runs apps that
stand exactly at the bar, where a wrong pass is most likely, through the engine: a failed conversation takes four
times as long as a good one, so an engine that concluded on trials in the order they finish would show it.
"""

import argparse
import json
import time
from collections.abc import Sequence
from itertools import product
from random import Random
from typing import Any

import anyio
import numpy as np

from simeval import Engine, Expectation, ProportionEvaluator, ScenarioTest, SuiteResult, WritingStyleConfig, scorer
from simeval.core.terminal import render_table
from simeval.models.protocol.model import Completion, Request
from simeval.models.protocol.prompts import UserTurn
from simeval.stats.binomial import clopper_pearson
from simeval.stats.planning import fixed_test
from simeval.stats.sequential import design

ALPHA = 0.05
BARS = (0.5, 0.75, 0.9, 0.95)
SIZES = (30, 50, 100, 300)
MIN_TRIALS = (1, 10, 25)
CONCURRENCIES = (1, 16, 64)
GOOD_SECONDS, BAD_SECONDS = 0.0005, 0.002


def exact_levels() -> str:
    """Compute level, power and mean size of every design, sequential (verdicts from a trial on) against fixed."""
    rows = []
    for p0 in BARS:
        good = 0.7 if p0 == 0.5 else (p0 + 1) / 2 if p0 < 0.9 else p0 + 0.9 * (1 - p0)
        for n_max, min_trials in product(SIZES, MIN_TRIALS):
            rule = ProportionEvaluator(min_proportion=p0, significance_level=ALPHA, min_trials=min_trials)
            plan, verdict = rule.plan(n_max, stop="fewest"), rule.plan(n_max, stop="verdict")
            fixed = fixed_test(n_max, p0, good, alpha=ALPHA)
            at_bar, at_good = plan.characteristics(p0), plan.characteristics(good)
            rows.append(
                [
                    f"{p0:g}",
                    str(n_max),
                    str(min_trials),
                    plan.stop,
                    f"{plan.type_one:.4f}",
                    f"{at_bar.prob_fail:.4f}",
                    f"{fixed.size:.4f}",
                    f"{good:g}",
                    f"{at_good.prob_pass:.3f}",
                    f"{fixed.power:.3f}",
                    f"{at_good.expected_n:.0f}",
                    f"{at_bar.expected_n:.0f}",
                    f"{verdict.characteristics(good).expected_n:.0f}",
                ]
            )
    headers = (
        "bar",
        "n_max",
        "from",
        "stop",
        "wrong pass",
        "wrong fail",
        "(fixed n)",
        "true rate",
        "power",
        "(fixed n)",
        "mean n",
        "at the bar",
        "stop verdict",
    )
    return render_table(headers, rows, widths=())


class SeedSpeaker:
    """A user that says how good the app shall be and its trial's seed, and leaves."""

    name = "seed/speaker"

    async def complete(self, request: Request) -> Completion:
        given = request.given if isinstance(request, UserTurn) else ""
        return Completion(text=json.dumps({"message": f"{given} {request.seed}", "status": "satisfied"}))

    async def close(self) -> None:
        pass


@scorer
def is_good(output: str) -> bool:
    """Return whether the app did well."""
    return output == "good"


async def app(message: str, state: dict[str, Any]) -> str:
    """Do well with the chance that the message names, at once; else take time."""
    quality, seed = message.split()
    good = Random(seed).random() < float(quality)
    await anyio.sleep(GOOD_SECONDS if good else BAD_SECONDS)
    return "good" if good else "bad"


async def measure(
    qualities: Sequence[float], p0: float, n_max: int, *, concurrency: int, seed: int, min_trials: int
) -> SuiteResult:
    """Run the engine on one scenario for each quality of the app, each with one requirement."""
    then = Expectation(scorer=is_good, evaluator=ProportionEvaluator(min_proportion=p0, significance_level=ALPHA))
    suite = [
        ScenarioTest(title=f"scenario {number}", given=str(quality), when="asks", then=then, sample_size=n_max)
        for number, quality in enumerate(qualities)
    ]
    engine = Engine(
        "offline/judge",
        SeedSpeaker(),
        seed=seed,
        concurrency=concurrency,
        min_trials=min_trials,
        store=None,
        writing_style_config=WritingStyleConfig(enabled=False),
        display="none",
    )
    return await engine.evaluate(suite, app)


async def measured_levels(scenarios: int, p0: float, n_max: int, min_trials: int) -> str:
    """Measure how often an app exactly at the bar passes, and fails."""
    rows = []
    for concurrency in CONCURRENCIES:
        result = await measure(
            [p0] * scenarios, p0, n_max, concurrency=concurrency, seed=concurrency, min_trials=min_trials
        )
        passes, fails = (sum(each.outcome == outcome for each in result) for outcome in ("pass", "fail"))
        trials = sum(each.trials for each in result)
        extras = sum(len(each.extras) for each in result)
        rows.append(
            [
                str(concurrency),
                *(
                    f"{count / scenarios:.4f} [{low:.4f}, {high:.4f}]"
                    for count in (passes, fails)
                    for low, high in [clopper_pearson(count, scenarios, 0.025)]
                ),
                f"{trials / scenarios:.1f}",
                f"{extras / trials:.1%}",
            ]
        )
    rule = ProportionEvaluator(min_proportion=p0, significance_level=ALPHA, min_trials=min_trials)
    exact = rule.plan(n_max, stop="fewest").characteristics(p0)
    rows.append(["exact", f"{exact.prob_pass:.4f}", f"{exact.prob_fail:.4f}", f"{exact.expected_n:.1f}", ""])
    headers = ("in flight", "wrong pass [95%]", "wrong fail [95%]", "mean n", "ended early")
    return render_table(headers, rows, widths=())


async def suite_cost(concurrency: int, min_trials: int) -> str:
    """Count the conversations of a suite of 20: 16 apps at 99%, 4 at 80%, a bar of 90%, at most 100 trials each."""
    qualities = [0.8] * 4 + [0.99] * 16
    results = await measure(qualities, 0.9, 100, concurrency=concurrency, seed=5, min_trials=min_trials)
    counted, extras = sum(each.trials for each in results), sum(len(each.extras) for each in results)
    bad, good = (sum(each.passed for each in part) for part in (results[:4], results[4:]))
    return (
        f"{counted} of 2,000 conversations ({counted / 2_000:.0%}), {extras} more ended early "
        f"({extras / counted:.1%}); {good} of 16 good apps passed, {bad} of 4 bad ones"
    )


def conclusion_speed() -> str:
    """Time 1,000 conclusions on 10,000 values each, and the largest design."""
    values = np.random.default_rng(0).random((1_000, 10_000))
    evaluator = ProportionEvaluator(0.1, min_proportion=0.89)
    evaluator.evaluate(values[0])
    clock, cpu = time.perf_counter(), time.process_time()
    for row in values:
        evaluator.evaluate(row)
    took, used = time.perf_counter() - clock, time.process_time() - cpu
    design.cache_clear()
    clock = time.perf_counter()
    plan = design(0.9, 1_000, alpha=ALPHA)
    made = time.perf_counter() - clock
    plan.infer(*plan.ending_of(good=True))
    inferred = time.perf_counter() - clock - made
    return (
        f"1,000 verdicts on 10,000 values each: {1e3 * took:.0f} ms (CPU {1e3 * used:.0f} ms); "
        f"a design of 1,000 trials: {1e3 * made:.0f} ms, its first inference {1e3 * inferred:.0f} ms"
    )


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--scenarios", type=int, default=1_000)
    parser.add_argument("--skip-engine", action="store_true")
    options = parser.parse_args()
    print(exact_levels())
    print(f"\n{conclusion_speed()}")
    if not options.skip_engine:
        for p0, n_max, min_trials in ((0.9, 50, 1), (0.9, 50, 10), (0.75, 50, 10), (0.75, 50, 25)):
            found = anyio.run(measured_levels, options.scenarios, p0, n_max, min_trials)
            cell = f"bar of {p0:g}, n_max {n_max}, verdicts from trial {min_trials} on"
            print(f"\n{options.scenarios} apps exactly at the {cell}, through the engine:\n{found}")
        for min_trials in MIN_TRIALS:
            said = anyio.run(suite_cost, 20, min_trials)
            print(f"\na suite of 20 at 20 in flight, verdicts from trial {min_trials} on: {said}")


if __name__ == "__main__":
    main()
