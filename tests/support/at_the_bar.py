"""An app exactly at its bar, its simulated users, and how often it is passed by runs of which sentence."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from random import Random
from typing import Any

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
from simeval.testing import ScriptedModel, user_reply

BAR, SCENARIOS, TRIALS = 0.8, 60, 20
QUESTION = "Where is the parcel with number F1001?"


@scorer
def is_good(conversation: Conversation) -> bool:
    """Return whether every answer is good."""
    return all(message.content.startswith("good") for message in conversation.responses)


def suite(scenarios: int = SCENARIOS, trials: int = TRIALS, bar: float = BAR) -> list[ScenarioTest]:
    then = Expectation(scorer=is_good, evaluator=ProportionEvaluator(min_proportion=bar), label="good")
    given, when = "A customer", "asks where the parcel with number F1001 is"
    return [
        ScenarioTest(title=f"scenario {n}", given=given, when=when, sample_size=trials, max_turns=2, then=then)
        for n in range(scenarios)
    ]


def user(request: Any) -> Mapping[str, Any]:
    """Ask, and then leave."""
    return user_reply("" if request.history else QUESTION, goes_on=not request.history)


def erring_user(request: Any) -> Mapping[str, Any]:
    """Ask, and after most of the bad answers say nothing: faults that depend on the app."""
    if not request.history:
        return user_reply(QUESTION, goes_on=True)
    is_bad = request.history[-1].content.startswith("bad")
    errs = is_bad and len(request.history) == 2 and Random(request.seed).random() < 0.9
    return user_reply("..." if errs else "", goes_on=errs)


def at_the_bar(seed: int, *, crashes: bool = False) -> Callable[[str], Awaitable[str]]:
    """Return an app that is good exactly as often as the bar asks for; else it is bad, or falls over."""
    draws = Random(seed)

    async def app(message: str) -> str:
        if message == "...":
            return "bad"
        if draws.random() < BAR:
            return "good: your parcel F1001 comes on Friday"
        if crashes:
            raise RuntimeError("the app fell over")
        return "bad: no parcel F1001"

    return app


async def run(app: Any, scenarios: list[ScenarioTest], *, by: Any = user, **options: Any) -> SuiteResult:
    usual: dict[str, Any] = {
        "store": None,
        "rubric_folder": None,
        "display": "none",
        "writing_style_config": WritingStyleConfig(enabled=False),
        "max_user_fault_rate": 1.0,
        "max_error_rate": 1.0,
    }
    engine = Engine("offline/judge", ScriptedModel({"user": by}, name="scripted/user"), **{**usual, **options})
    return await engine.evaluate(scenarios, app)


def wrong(result: Iterable[ScenarioResult]) -> tuple[int, int]:
    """Count the scenarios that were passed, and those of them whose sentence promises 5%."""
    passed = [each for each in result if each.passed]
    return len(passed), sum("at most 5%" in SuiteResult((each,), each.run).guarantee for each in passed)
