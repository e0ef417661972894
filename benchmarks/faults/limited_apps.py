"""Apps with a limit against the same app without: the verdicts of runs at several concurrencies and seeds.

    python -m benchmarks.faults.limited_apps [--seeds 3]

One app is asked at a URL: without a limit, five requests a second, eight at once, or with a token that is good for ten
requests. It is good in all or in 60% of the conversations, by what the user says, so that a conversation has one result
in whichever order it is held. The bar is 90% of 40. Each verdict that is not the one without a limit is marked, and the
exit status is 1.
"""

import argparse
import asyncio
import sys
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import product
from time import monotonic
from typing import Any
from zlib import crc32

import anyio
from aiohttp import web

from simeval import Engine, Expectation, ProportionEvaluator, ScenarioResult, ScenarioTest, WritingStyleConfig
from simeval.suites import Before, HttpApp
from simeval.testing import ScriptedModel, user_reply
from tests.support.at_the_bar import is_good
from tests.support.serving import serving

CONCURRENCIES, SHARES = (1, 10, 100), (1.0, 0.6)
A_SECOND, AT_ONCE, USES, SECONDS = 5, 8, 10, 0.02


@dataclass(slots=True)
class Limited:
    """An app with a limit, or none."""

    limit: str
    share: float
    accepted: deque[float] = field(default_factory=deque)
    in_flight: int = 0
    refused: int = 0
    uses: dict[str, int] = field(default_factory=dict)

    async def login(self, _: web.Request) -> web.Response:
        token = f"token-{len(self.uses)}"
        self.uses[token] = 0
        return web.json_response({"token": token})

    async def chat(self, request: web.Request) -> web.Response:
        body = await request.json()
        status = self._status(request.headers.get("Authorization", ""))
        if status != 200:
            self.refused += 1
            return web.json_response({"error": "no"}, status=status)
        self.in_flight += 1
        await asyncio.sleep(SECONDS)
        self.in_flight -= 1
        first = body["messages"][0]["content"]
        is_bad = crc32(first.encode()) % 1000 >= self.share * 1000
        return web.json_response({"reply": "bad: it is lost" if is_bad else "good: it comes on Friday"})

    def _status(self, token: str) -> int:
        now = monotonic()
        while self.accepted and now - self.accepted[0] >= 1:
            self.accepted.popleft()
        if self.limit == "eight at once":
            return 429 if self.in_flight >= AT_ONCE else 200
        if self.limit == "five a second" and len(self.accepted) >= A_SECOND:
            return 429
        if self.limit == "a token that expires":
            self.uses[token] = self.uses.get(token, USES) + 1
            return 401 if self.uses[token] > USES else 200
        self.accepted.append(now)
        return 200


@asynccontextmanager
async def served(known: Limited) -> AsyncIterator[HttpApp]:
    application = web.Application()
    application.router.add_post("/chat", known.chat)
    application.router.add_post("/login", known.login)
    async with serving(application) as url:
        login: dict[str, Any] = {}
        if known.limit == "a token that expires":
            before = Before(url=f"{url}/login", take={"token": "$.token"}, per="run")
            login = {"headers": {"Authorization": "{token}"}, "before": [before]}
        yield HttpApp(url=f"{url}/chat", request={"messages": "{messages}"}, **login)


async def verdict(limit: str, share: float, concurrency: int, seed: int) -> tuple[str, int]:
    """Return the outcome, its successes, and how many requests were refused."""

    def ask(request: Any) -> Mapping[str, Any]:
        return user_reply("" if request.history else f"Where is parcel F{request.seed}?", goes_on=not request.history)

    user = ScriptedModel({"user": ask}, name="scripted/user")
    then = Expectation(scorer=is_good, evaluator=ProportionEvaluator(min_proportion=0.9), label="good")
    scenario = ScenarioTest(
        title="parcel", given="A customer", when="asks where a parcel is", sample_size=40, max_turns=2, then=then
    )
    engine = Engine(
        "offline/judge",
        user,
        store=None,
        rubric_folder=None,
        display="none",
        writing_style_config=WritingStyleConfig(enabled=False),
        max_user_fault_rate=1.0,
        early_stopping=False,
        concurrency=concurrency,
        seed=seed,
    )
    known = Limited(limit, share)
    async with served(known) as app:
        result = await engine.evaluate(scenario, app)
    return said(result), known.refused


def said(result: ScenarioResult) -> str:
    [verdict] = result.verdicts
    return f"{result.outcome}, {verdict.estimate:.1%} of {verdict.n}, {verdict.missing} missing"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    seeds: Iterable[int] = range(1, parser.parse_args().seeds + 1)
    is_wrong = False
    for share, seed in product(SHARES, seeds):
        expected, _ = anyio.run(verdict, "none", share, 10, seed)
        print(f"good in {share:.0%}, seed {seed}: {expected} without a limit", flush=True)
        for limit, concurrency in product(("five a second", "eight at once", "a token that expires"), CONCURRENCIES):
            found, refused = anyio.run(verdict, limit, share, concurrency, seed)
            is_wrong |= found != expected
            mark = "" if found == expected else "   DIFFERS"
            print(f"  {limit:<22} {concurrency:>4} at once: {found}, {refused} refused{mark}", flush=True)
    sys.exit(is_wrong)


if __name__ == "__main__":
    main()
