"""How often an app exactly at its bar passes, or fails, a run that is cut off and resumed, again and again.

    python -m benchmarks.statistics.cuts [--scenarios 400]

Every scenario's app succeeds in exactly as many trials as its bar asks for, by chance alone and not by the trial's
seed, so both a pass and a fail are wrong. What fails takes eight times as long as what succeeds, or an eighth of it; 40
trials of a scenario are in flight. The run is ended at once at a random moment, and resumed from its store, so many
times. It is the real engine with an SQLite store, on a clock that jumps to whatever comes next.

- `missing`: the app shows nothing of what it remembers, so the first trial that was under way is missing, and those
  dealt after it are dealt anew.
- `continued`: conversations of three turns with an app that is given the history, and a user who takes a second for a
  message: those that waited for the user go on where they were.
- `again` is what must not be done, and what was done before: those that were under way are run again.
"""

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, Literal
from unittest.mock import patch

import anyio
import anyio.lowlevel
import anyio.to_thread

from simeval import (
    Engine,
    Expectation,
    ProportionEvaluator,
    ScenarioResult,
    ScenarioTest,
    SuiteResult,
    WritingStyleConfig,
    scorer,
)
from simeval.core.conversation import Conversation
from simeval.core.logs import configure_logging
from simeval.engine.plans import resume as resuming
from simeval.engine.plans.resume import RestoredTrials
from simeval.models.protocol.model import Completion, Request
from simeval.models.protocol.prompts import UserTurn
from simeval.stats.binomial import clopper_pearson
from tests.support.fake_clock import FakeClockLoop

Way = Literal["missing", "continued", "again"]

BAR, SAMPLE, IN_FLIGHT, LEVEL = 0.75, 50, 40, 0.05
GOOD_SECONDS, SLOWER = 1.0, 8.0
TURNS, USER_SECONDS = 3, 1.0  # where conversations are continued
CUTS = (0, 1, 3, 10)
TESTS, FAILURES = {"sequential": True, "fixed": False}, {"slower": SLOWER, "faster": 1 / SLOWER}
PART = 10  # scenarios of one run, which share the moments of its cuts


async def at_once(function: Callable[..., Any], *arguments: Any, **_: Any) -> Any:
    """Do the work of a thread where the loop is, so that its time stands still meanwhile."""
    await anyio.lowlevel.checkpoint()
    return function(*arguments)


@dataclass(slots=True)
class Speaker:
    """A user who takes `seconds` for each of `turns` messages."""

    turns: int
    seconds: float
    name: str = "a/speaker"

    async def complete(self, request: Request) -> Completion:
        assert isinstance(request, UserTurn)
        await anyio.sleep(self.seconds)
        goes_on = len(request.history) < 2 * (self.turns - 1)
        return Completion(text=json.dumps({"message": "and now?", "status": "open" if goes_on else "satisfied"}))

    async def close(self) -> None:
        pass


@scorer
def is_good(conversation: Conversation) -> bool:
    """Return whether every answer is good."""
    return all(message.content == "good" for message in conversation.responses)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is measured: the way, how often runs are cut, and how much longer a failure takes than a success."""

    way: Way
    cuts: int
    slower: float = SLOWER
    early_stopping: bool = True
    seed: int = 0

    @property
    def turns(self) -> int:
        """The turns of a conversation."""
        return TURNS if self.way == "continued" else 1

    def app(self, draws: Random) -> Any:
        """Return an app that meets its user with the chance that the bar asks for."""
        chance = BAR ** (1 / self.turns)

        async def answer() -> str:
            good = draws.random() < chance
            await anyio.sleep(GOOD_SECONDS if good else GOOD_SECONDS * self.slower)
            return "good" if good else "bad"

        async def by_message(message: str) -> str:
            return await answer()

        async def by_history(messages: Any) -> str:
            return await answer()

        return by_history if self.way == "continued" else by_message


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What came of the scenarios of a setting."""

    scenarios: int
    passes: int
    fails: int
    missing: int
    continued: int


async def run(setting: Setting, scenarios: int, store: Path) -> tuple[SuiteResult, int]:
    """Run a suite, end it at random moments and resume it; return the results and the conversations continued."""
    rule = ProportionEvaluator(min_proportion=BAR, significance_level=LEVEL)
    suite = [
        ScenarioTest(
            title=f"scenario {number}",
            given="someone",
            when="asks",
            then=Expectation(scorer=is_good, evaluator=rule),
            sample_size=SAMPLE,
            max_turns=setting.turns,
        )
        for number in range(scenarios)
    ]
    draws, continued = Random(f"{setting} {scenarios} {store.name}"), list[int]()
    app, longest = setting.app(draws), GOOD_SECONDS * setting.turns * max(setting.slower, 1)
    for attempt in range(setting.cuts + 1):
        engine = Engine(
            "offline/judge",
            Speaker(setting.turns, USER_SECONDS if setting.turns > 1 else 0.0),
            seed=setting.seed,
            concurrency=IN_FLIGHT * scenarios,
            model_concurrency=IN_FLIGHT * scenarios,
            early_stopping=setting.early_stopping,
            writing_style_config=WritingStyleConfig(enabled=False),
            store=store,
            resume="last" if attempt else None,
            display="none",
        )
        async with anyio.create_task_group() as tasks:
            if attempt < setting.cuts:
                tasks.start_soon(_end_after, engine, draws.uniform(0, longest))
            with counting(continued):
                result = await engine.evaluate(suite, app)
            tasks.cancel_scope.cancel()
        if not result.run.stopped:
            break
    return result, sum(continued)


async def _end_after(engine: Engine, seconds: float) -> None:
    await anyio.sleep(seconds)
    engine.end("cut off")


@contextmanager
def counting(continued: list[int]) -> Iterator[None]:
    """Count the conversations that a resumed run goes on with."""
    original = resuming._cut

    def cut(known: RestoredTrials) -> RestoredTrials:
        found = original(known)
        continued.append(len(found.begun))
        return found

    with patch.object(resuming, "_cut", cut):
        yield


def again(known: RestoredTrials) -> RestoredTrials:
    """Take trials that were under way for such as were never begun."""
    return replace(known, begun={})


def measure(setting: Setting, scenarios: int) -> Found:
    """Measure a setting on so many scenarios, a part of them at a time."""
    results: list[ScenarioResult] = []
    continued = 0
    configure_logging("ERROR")  # its watchdog sees a clock stand still
    with tempfile.TemporaryDirectory() as folder, ExitStack() as patches:
        patches.enter_context(patch.object(anyio.to_thread, "run_sync", at_once))
        if setting.way == "again":
            patches.enter_context(patch.object(resuming, "_cut", again))
        for part in range(-(-scenarios // PART)):
            size = min(PART, scenarios - part * PART)
            store = Path(folder) / f"{part}.db"
            options: Mapping[str, Any] = {"loop_factory": FakeClockLoop}
            found, more = anyio.run(run, setting, size, store, backend_options=dict(options))
            results += found
            continued += more
    cut = [failure for each in results for _, failure in each.failures if failure.is_cut]
    return Found(
        scenarios=len(results),
        passes=sum(each.passed for each in results),
        fails=sum(each.outcome == "fail" for each in results),
        missing=len(cut),
        continued=continued,
    )


def main() -> None:
    """Print a row for every setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenarios", type=int, default=400, help="for each row")
    parser.add_argument("--ways", nargs="*", default=["again", "missing", "continued"])
    parser.add_argument("--cuts", nargs="*", type=int, default=CUTS)
    parser.add_argument("--tests", nargs="*", default=list(TESTS))
    parser.add_argument("--failures", nargs="*", default=list(FAILURES))
    options = parser.parse_args()
    headers = ("way", "test", "failures", "cuts", "wrong pass [95%]", "wrong fail [95%]", "missing", "continued")
    print(" | ".join(headers), flush=True)
    for way in options.ways:
        for test, failures, cuts in product(options.tests, options.failures, options.cuts):
            setting = Setting(way=way, cuts=cuts, slower=FAILURES[failures], early_stopping=TESTS[test])
            print(" | ".join(cells(setting, measure(setting, options.scenarios))), flush=True)


def cells(setting: Setting, found: Found) -> list[str]:
    """Return the cells of a row."""
    shares = [
        f"{count / found.scenarios:.3f} [{low:.3f}, {high:.3f}]"
        for count in (found.passes, found.fails)
        for low, high in [clopper_pearson(count, found.scenarios, 0.025)]
    ]
    return [
        setting.way,
        "sequential" if setting.early_stopping else "fixed",
        "slower" if setting.slower > 1 else "faster",
        str(setting.cuts),
        *shares,
        f"{found.missing / found.scenarios:.1f}",
        f"{found.continued / found.scenarios:.1f}",
    ]


if __name__ == "__main__":
    main()
