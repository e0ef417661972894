"""How often an app exactly at its bar passes, or fails, a run whose workers are lost again and again.

    python -m benchmarks.statistics.lost_workers [--scenarios 400]

The app, the sample and the clock are those of `benchmarks.statistics.cuts`: failures take eight times as long as
successes, or an eighth of it, so that what is under way when a worker is lost is no fair sample. The run is the real
engine; its workers are stand-ins of four that have ten trials each, and of which one is lost at random moments.

- `missing`: the trials it had under way are missing.
- `again` is what must not be done: they are held again.
"""

import argparse
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import product
from random import Random
from typing import Any, Literal
from unittest.mock import patch

import anyio
import anyio.to_thread

from benchmarks.statistics.cuts import (
    BAR,
    FAILURES,
    GOOD_SECONDS,
    LEVEL,
    PART,
    SAMPLE,
    TESTS,
    at_once,
    is_good,
)
from simeval import Engine, Expectation, ProportionEvaluator, ScenarioResult, ScenarioTest, Settings
from simeval.core.conversation import Conversation, Message
from simeval.core.logs import configure_logging
from simeval.core.trial import Score, TrialResult
from simeval.engine.executors import Assignment, Delivery, TrialLost, Workers
from simeval.engine.run_context import RemoteRun
from simeval.extras.cluster.ray_workers import RayAllowances
from simeval.stats.binomial import clopper_pearson
from tests.support.fake_clock import FakeClockLoop

Way = Literal["missing", "again"]
WORKERS, PLACES = 4, 10
LOSSES = (0, 1, 3, 10)


@dataclass(slots=True)
class _MortalWorker:
    """A worker, and the trials it has under way."""

    scopes: set[anyio.CancelScope] = field(default_factory=set)

    def die(self) -> None:
        for scope in self.scopes:
            scope.cancel()


@dataclass(slots=True)
class MortalWorkers:
    """Workers of which one is lost at `losses` random moments in the time that the longest trials take."""

    way: Way
    losses: int
    slower: float
    draws: Random
    limits: RayAllowances = field(default_factory=RayAllowances)
    _crew: list[_MortalWorker] = field(default_factory=lambda: [_MortalWorker() for _ in range(WORKERS)])

    def check(self, settings: Settings) -> None:
        pass

    @asynccontextmanager
    async def open(self, run: RemoteRun) -> AsyncIterator[Workers]:  # noqa: ARG002
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._strike)
            yield self
            tasks.cancel_scope.cancel()

    async def do(self, assignment: Assignment) -> Delivery:
        while True:
            is_met = self.draws.random() < BAR
            worker = min(self._crew, key=lambda each: len(each.scopes))
            with anyio.CancelScope() as scope:
                worker.scopes.add(scope)
                try:
                    await anyio.sleep(GOOD_SECONDS if is_met else GOOD_SECONDS * self.slower)
                finally:
                    worker.scopes.remove(scope)
            if not scope.cancelled_caught:
                said = Message(role="assistant", content="good" if is_met else "bad")
                found = TrialResult(
                    trial=assignment.trial,
                    conversation=Conversation(messages=(said,)),
                    results=(Score(value=is_met),),
                )
                return Delivery(judgement=found)
            if self.way == "missing":
                raise TrialLost

    async def _strike(self) -> None:
        longest = GOOD_SECONDS * max(self.slower, 1)
        for _ in range(self.losses):
            await anyio.sleep(self.draws.uniform(0, longest))
            self.draws.choice(self._crew).die()


async def run(workers: MortalWorkers, scenarios: int, *, early_stopping: bool) -> Sequence[ScenarioResult]:
    """Run scenarios, one after another, each with all the places there are."""
    rule = ProportionEvaluator(min_proportion=BAR, significance_level=LEVEL)
    results: list[ScenarioResult] = []
    for number in range(scenarios):
        then = Expectation(scorer=is_good, evaluator=rule)
        suite = ScenarioTest(title=f"{number}", given="someone", when="asks", then=then, sample_size=SAMPLE)
        engine = Engine(
            seed=number,
            concurrency=WORKERS * PLACES,
            early_stopping=early_stopping,
            store=None,
            display="none",
        )
        engine._engine_resources = replace(engine._engine_resources, elsewhere=workers)
        results.append(await engine.evaluate(suite, "offline/app"))
    return results


def main() -> None:
    """Print a row for every setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenarios", type=int, default=400, help="for each row")
    parser.add_argument("--ways", nargs="*", default=["again", "missing"])
    parser.add_argument("--losses", nargs="*", type=int, default=LOSSES)
    options = parser.parse_args()
    configure_logging("ERROR")  # its watchdog sees a clock stand still
    print(
        " | ".join(("way", "test", "failures", "losses", "wrong pass [95%]", "wrong fail [95%]", "missing")), flush=True
    )
    for way in options.ways:
        for test, failures, losses in product(TESTS, FAILURES, options.losses):
            workers = MortalWorkers(way, losses, FAILURES[failures], Random(f"{way} {test} {failures} {losses}"))
            with ExitStack() as patches:
                patches.enter_context(patch.object(anyio.to_thread, "run_sync", at_once))
                loop: Mapping[str, Any] = {"loop_factory": FakeClockLoop}
                results = [
                    each
                    for _ in range(-(-options.scenarios // PART))
                    for each in anyio.run(_part, workers, TESTS[test], backend_options=dict(loop))
                ]
            print(" | ".join([way, test, failures, str(losses), *_cells(results)]), flush=True)


async def _part(workers: MortalWorkers, early_stopping: bool) -> Sequence[ScenarioResult]:
    return await run(workers, PART, early_stopping=early_stopping)


def _cells(results: Sequence[ScenarioResult]) -> list[str]:
    count = len(results)
    shares = [
        f"{found / count:.3f} [{low:.3f}, {high:.3f}]"
        for found in (sum(each.passed for each in results), sum(each.outcome == "fail" for each in results))
        for low, high in [clopper_pearson(found, count, 0.025)]
    ]
    lost = sum(failure.is_cut for each in results for _, failure in each.failures)
    return [*shares, f"{lost / count:.1f}"]


if __name__ == "__main__":
    main()
