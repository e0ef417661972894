"""What error rates are measured of: apps exactly at the bar, in every kind of run that verdicts are promised for."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from random import Random
from typing import Any, ClassVar

import anyio
from scipy.optimize import brentq

from benchmarks.statistics.level import SeedSpeaker
from simeval import (
    Engine,
    Expectation,
    MeanEvaluator,
    ProportionEvaluator,
    QuantileEvaluator,
    ScenarioTest,
    SuccessRateEvaluator,
    SuiteResult,
    WritingStyleConfig,
)
from simeval.evaluators.base import Evaluator
from simeval.models.protocol.model import Request
from simeval.models.protocol.prompts import GradeRequest
from simeval.scorers.base import Scorer
from simeval.testing import ScriptedModel, judge_reply

ALPHA, IN_FLIGHT = 0.05, 16  # of each scenario
GOOD_SECONDS, BAD_SECONDS = 1.0, 8.0
BAR, SIZE = 0.75, 50  # where a cell says nothing else
Outcome = Mapping[str, Any]  # what the app did in a trial; "bad" says that it took long, "crash" that it fell over
Draw = Callable[[Random], Outcome]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One row: what the app does, what is required of it, and how it is run.

    The requirement at `place` is met exactly as often as its bar asks for, so a verdict of either side is wrong; of
    `promises` the rate is at most ALPHA. `at_once` scenarios share a run; with `by_run`, a run with any wrong verdict
    is wrong, and counted as one.
    """

    group: str
    name: str
    then: Sequence[Expectation]
    draw: Draw
    size: int = SIZE
    place: int = 0
    promises: Sequence[str] = ("pass", "fail")
    at_once: int = 20
    by_run: bool = False
    judges: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    async def run(self, scenarios: int, seed: int, in_flight: int = IN_FLIGHT) -> SuiteResult:
        """Run so many scenarios through the engine, with so many trials of each in flight."""
        suite = [
            ScenarioTest(
                title=f"scenario {number}",
                given="someone",
                when="asks",
                then=list(self.then),
                sample_size=self.size,
                max_turns=1,
            )
            for number in range(scenarios)
        ]
        settings: dict[str, Any] = {
            "seed": seed,
            "concurrency": in_flight * scenarios,
            "model_concurrency": in_flight * scenarios,
            "store": None,
            "rubric_folder": None,
            "on_failed_control": "off",
            "max_error_rate": 1.0,
            "writing_style_config": WritingStyleConfig(enabled=False),
            "display": "none",
        }
        judges = [ScriptedModel({"judge": rating_of(name)}, f"judge/{name}") for name in self.judges]
        engine = Engine(judges or "offline/judge", SeedSpeaker(), **{**settings, **self.options})
        return await engine.evaluate(suite, self.app)

    async def app(self, message: str) -> str:
        """Do as the trial's seed says; what is bad takes longer."""
        found = self.draw(Random(message.split()[-1]))
        await anyio.sleep(BAD_SECONDS if found.get("bad") else GOOD_SECONDS)
        if found.get("crash"):
            raise RuntimeError("the app fell over")
        return json.dumps(found)


class Reading(Scorer):
    """Reads what the app says that it did; what says None has no score."""

    quick: ClassVar[bool] = True
    gives_ratings: ClassVar[bool] = False

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key

    @property
    def name(self) -> str:
        return self._key

    def score(self, output: str) -> float:
        """Return what is said under the key."""
        found = json.loads(output)[self._key]
        if found is None:
            raise LookupError("lost")
        return float(found)


def rating_of(judge: str) -> Callable[[Request], Mapping[str, Any]]:
    """Return a judge that rates as the app says that it will."""

    def rate(request: Request) -> Mapping[str, Any]:
        assert isinstance(request, GradeRequest)
        return judge_reply(json.loads(request.conversation[-1].content)[judge], "as it was said")

    return rate


def required(evaluator: Evaluator, key: str = "a") -> Expectation:
    """Return a requirement on what the app says under a key."""
    return Expectation(scorer=Reading(key), evaluator=evaluator, label=key)


def judged() -> Sequence[Expectation]:
    """Return the requirement that judges rate."""
    then = Expectation(expected_behavior="It is good", evaluator=SuccessRateEvaluator(min_proportion=BAR))
    return [then]


def share(bar: float = BAR) -> Evaluator:
    """Return the requirement of a share."""
    return ProportionEvaluator(min_proportion=bar, significance_level=ALPHA)


def at(rate: float) -> Draw:
    """Return an app that is good with this chance."""
    return among({"a": 1.0, "bad": False}, rate, {"a": 0.0, "bad": True})


def among(good: Outcome, rate: float, bad: Outcome) -> Draw:
    """Return an app that does one of two things."""
    return lambda draws: good if draws.random() < rate else bad


def lost(part_of_good: float, part_of_bad: float) -> Draw:
    """Return an app at the bar some of whose trials have no score, by what they were."""

    def draw(draws: Random) -> Outcome:
        is_good = draws.random() < BAR
        is_lost = draws.random() < (part_of_good if is_good else part_of_bad)
        return {"a": None if is_lost else float(is_good), "bad": not is_good}

    return draw


def crashing(crashes: float, good: float) -> Draw:
    """Return an app that falls over, is good, or is bad, by their shares of all trials."""

    def draw(draws: Random) -> Outcome:
        found = draws.random()
        is_good = crashes <= found < crashes + good
        return {"a": float(is_good), "bad": not is_good, "crash": found < crashes}

    return draw


def voted(chances: Mapping[str, float]) -> Draw:
    """Return an app that judges rate 10 with these chances, each by itself, else 1."""

    def draw(draws: Random) -> Outcome:
        votes = {judge: 10.0 if draws.random() < chance else 1.0 for judge, chance in chances.items()}
        return {**votes, "bad": sum(votes.values()) / len(votes) < 6}

    return draw


def handed_on(draws: Random) -> Outcome:
    """Return what two judges rate of which the first hands on what it rates 5: good in half, and in 5/8 of 2/5."""
    found = draws.random()
    first = 10.0 if found < 0.5 else 5.0 if found < 0.9 else 1.0
    second = 10.0 if draws.random() < 0.625 else 1.0
    return {"first": first, "second": second, "bad": (second if first == 5.0 else first) < 6}


def with_others(**rates: float) -> Draw:
    """Return an app that is at the bar in `a`, and meets others with these chances."""

    def draw(draws: Random) -> Outcome:
        is_good = draws.random() < BAR
        others = {name: float(draws.random() < rate) for name, rate in rates.items()}
        return {"a": float(is_good), "bad": not is_good, **others}

    return draw


FOR_TWO_OF_THREE = float(brentq(lambda p: 3 * p**2 - 2 * p**3 - BAR, 0.0, 1.0))
PANEL = dict.fromkeys(("one", "two", "three"), FOR_TWO_OF_THREE)
MEDIAN = QuantileEvaluator(at_least=8.0, significance_level=ALPHA)
NINETIETH = QuantileEvaluator(quantile=0.9, at_most=2.0, significance_level=ALPHA)
AT_MOST = ProportionEvaluator(max_proportion=0.1, significance_level=ALPHA)
MEAN = MeanEvaluator(at_least=0.8, significance_level=ALPHA)
TIED = among({"a": 8.0, "bad": False}, 0.5, {"a": 6.0, "bad": True})
SLOW_ANSWERS = among({"a": 2.0, "bad": False}, 0.9, {"a": 7.0, "bad": True})
RARELY_BAD = among({"a": 0.0, "bad": False}, 0.9, {"a": 1.0, "bad": True})
SKEWED = among({"a": 0.95, "bad": False}, 0.8, {"a": 0.2, "bad": True})
FIXED, ANYTIME = {"early_stopping": False}, {"early_stopping": "anytime"}
EXCLUDED = {"on_app_error": "exclude"}
BUDGET = {"max_calls": 450}  # of 20 scenarios with about 27 calls each
WITHOUT_END = share(0.5)  # which an app that is always good settles at once

CELLS = [
    *(
        Cell(group="bars", name=f"{bar:g}, {size} trials", then=[required(share(bar))], draw=at(bar), size=size)
        for bar, size in product((0.6, 0.75, 0.9, 0.97), (20, 40, 80, 160))
    ),
    Cell(
        group="requirements",
        name="two, the other settled early by a pass",
        then=[required(share()), required(WITHOUT_END, "b")],
        draw=with_others(b=1.0),
    ),
    Cell(
        group="requirements",
        name="two, the other settled early by a fail",
        then=[required(share()), required(share(), "b")],
        draw=with_others(b=0.3),
    ),
    Cell(
        group="requirements",
        name="three, of one more at the bar and one settled early",
        then=[required(share()), required(WITHOUT_END, "b"), required(share(), "c")],
        draw=with_others(b=1.0, c=BAR),
    ),
    Cell(group="tied scores", name="median at least 8", then=[required(MEDIAN)], draw=TIED),
    Cell(group="tied scores", name="90th percentile at most 2", then=[required(NINETIETH)], draw=SLOW_ANSWERS),
    Cell(group="at most", name="at most 10% bad", then=[required(AT_MOST)], draw=RARELY_BAD),
    Cell(group="means", name="betting", then=[required(MEAN)], draw=at(0.8)),
    Cell(group="means", name="betting, skewed", then=[required(MEAN)], draw=SKEWED),
    Cell(group="means", name="fixed sample", then=[required(MEAN)], draw=at(0.8), options=FIXED),
    Cell(group="means", name="fixed sample, skewed", then=[required(MEAN)], draw=SKEWED, options=FIXED),
    Cell(group="anytime", name="0.75", then=[required(share())], draw=at(BAR), options=ANYTIME),
    Cell(group="fixed sample", name="0.75", then=[required(share())], draw=at(BAR), options=FIXED),
    Cell(group="missing", name="half of the bad trials", then=[required(share())], draw=lost(0.0, 0.5)),
    Cell(group="missing", name="a fifth of the good trials", then=[required(share())], draw=lost(0.2, 0.0)),
    Cell(group="crashes", name="as misses, 10%", then=[required(share())], draw=crashing(0.1, BAR)),
    Cell(
        group="crashes",
        name="excluded, 10%; good in 75% of the others",
        then=[required(share())],
        draw=crashing(0.1, 0.9 * BAR),
        options=EXCLUDED,
    ),
    Cell(
        group="crashes",
        name="excluded, 10%; good in 75% of all",
        then=[required(share())],
        draw=crashing(0.1, BAR),
        promises=(),
        options=EXCLUDED,
    ),
    Cell(group="judges", name="a panel of three", then=judged(), draw=voted(PANEL), judges=tuple(PANEL)),
    Cell(
        group="judges",
        name="a first judge that escalates, audited",
        then=judged(),
        draw=handed_on,
        judges=("first", "second"),
        options={"escalate": "rating 4..8", "escalation_audit": 0.2},
    ),
    Cell(
        group="joint",
        name="any of five",
        then=[required(share())],
        draw=at(BAR),
        promises=("pass",),
        at_once=5,
        by_run=True,
        options={"joint": True},
    ),
    Cell(group="budget", name="ends the run", then=[required(share())], draw=at(BAR), options=BUDGET),
]
