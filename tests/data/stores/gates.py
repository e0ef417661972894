"""What the store `gates.db` holds: a suite stopped early, and one cut off, by the version that wrote it.

That version ended a scenario without a pass only where no pass could be reached any more, or a fail was proven. It was
written by running this file with simeval at commit 0426d02:

    python gates.py gates.db

`strict.db` was written at commit aa44afa, whose designs kept more power where a run ends because a pass is unlikely: a
run of an app without a miss, cut off after 12 trials.

    python gates.py strict.db good
"""

import sys
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from simeval import Engine, Expectation, ProportionEvaluator, ScenarioTest, scorer

TITLE = "The bot says yes"
MISSES = (2, 5, 8)  # calls of the app that are answered with no


@scorer
def is_yes(output: str) -> bool:
    return output == "yes"


def suite() -> list[ScenarioTest]:
    then = Expectation(scorer=is_yes, evaluator=ProportionEvaluator(min_proportion=0.9), label="yes")
    return [ScenarioTest(title=TITLE, given="A user", when="The user asks", then=then, sample_size=100)]


class App:
    """Says yes, but for some calls, and lets the engine start no more trials at one."""

    def __init__(self, misses: tuple[int, ...], *, last: int = 0, engine: Engine | None = None) -> None:
        self.misses, self.last, self.engine, self.calls = misses, last, engine, 0

    async def __call__(self, message: str, state: dict[str, Any]) -> str:
        if state.setdefault("turns", 0):
            return str(state["said"])
        state["turns"], number = 1, self.calls
        self.calls += 1
        if self.engine is not None and self.calls == self.last:
            self.engine.stop("the test asked to")
        state["said"] = "no" if number in self.misses else "yes"
        return str(state["said"])


async def write(store: Path, *, misses: tuple[int, ...] = MISSES) -> None:
    if misses:
        await Engine(seed=7, store=store, display="none", concurrency=1).evaluate(suite(), App(misses))
    engine = Engine(seed=7, store=store, display="none", concurrency=1)
    await engine.evaluate(suite(), App(misses, last=12, engine=engine))


if __name__ == "__main__":
    sys.modules["gates"] = sys.modules["__main__"]
    App.__module__ = is_yes.function.__module__ = "gates"
    anyio.run(partial(write, misses=() if "good" in sys.argv else MISSES), Path(sys.argv[1]))
