"""Results for tests of reports: of many conversations, with failures of every kind, and with hostile words."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle
from typing import Any, get_args

from simeval.core.conversation import USER_FAULTS, Conversation, Message
from simeval.core.trial import CANNOT_TELL, USER_FAULT, Failure, Score, Stage, Trial, TrialResult
from simeval.evaluators.scores import SuccessRateEvaluator
from simeval.results.suite import ExpectationResult, ScenarioResult, SuiteResult
from simeval.results.text import combine
from tests.support.records import NOON, RUN, conversation

HOSTILE = (
    "</script><img src=x onerror=\"document.title='owned'\"></template></noscript>"
    "<script>document.title='owned'</script>"
)
LABEL = "it works"


def scenario(
    title: str,
    place: int,
    tried: Sequence[tuple[Conversation, Score | Failure]],
    *,
    n_max: int = 100,
    bar: float = 0.9,
    early: bool = True,
) -> ScenarioResult:
    """Return the result of a scenario whose trials came to this; `early`, only until its verdict was settled."""
    evaluator = SuccessRateEvaluator(min_proportion=bar)
    test = evaluator.with_defaults(significance_level=0.05, early_stopping=early, min_trials=1).running_test(n_max)
    judgements: list[TrialResult] = []
    for index, (talk, result) in enumerate(tried):
        if test.settled:
            break
        failed = result if isinstance(result, Failure) else None
        is_app = failed is not None and failed.stage == "app"
        test.take(result.value if isinstance(result, Score) else None if is_app else float("nan"))
        judgements.append(TrialResult(trial=Trial(place, index, 10**18 + index), conversation=talk, results=(result,)))
    verdict = test.verdict()
    expectation = ExpectationResult(
        label=LABEL,
        evaluators=(evaluator,),
        verdicts=(verdict,),
        results=tuple(each.results[0] for each in judgements),
        expected_behavior="The app answers",
    )
    return ScenarioResult(
        title=title,
        outcome=combine([expectation.outcome]),
        expectations=(expectation,),
        judgements=tuple(judgements),
        run=RUN,
        sample_size=n_max,
        given="A user",
        when="The user asks",
    )


def score(value: float, reasoning: str = "") -> Score:
    return Score(value=value, reasoning=reasoning or f"rated {value:g}")


def failing() -> SuiteResult:
    """Return a run in which everything went wrong that can."""
    faulty = replace(conversation("hi", "hello").messages[0], metadata={USER_FAULTS: {"repeats_itself": "hi"}})
    kinds: list[tuple[Conversation, Score | Failure]] = [
        (conversation(f"question of {stage}"), Failure(stage=stage, error=f"{stage} broke", cause="Broken"))
        for stage in get_args(Stage)
    ]
    kinds.append((conversation("who?", "me"), Failure(stage="judge", error="cannot be told", cause=CANNOT_TELL)))
    kinds.append((Conversation(messages=(faulty,)), Failure(stage="simulator", error="a fault", cause=USER_FAULT)))
    tried = [
        *kinds,
        *[(conversation("hi", "no"), score(2, "it says no"))] * 3,
        *[(conversation("hi", "yes"), score(9))] * 60,
    ]
    crashed = [(conversation("hi"), Failure(stage="app", error="ConnectionError: refused", cause="app"))] * 30
    good = [(conversation("hi", f"answer {index}"), score(9)) for index in range(100)]
    results = (
        scenario("Everything fails", 0, tried, bar=0.5, early=False),
        scenario("The app crashes", 1, crashed),
        scenario("All is well", 2, good),
    )
    return SuiteResult(results, RUN)


def hostile() -> SuiteResult:
    """Return a run in which every text is one that would break a careless page."""
    call = {"name": HOSTILE, "arguments": {HOSTILE: HOSTILE}, "result": HOSTILE}
    said = Message(role="assistant", content=HOSTILE, started=NOON, seconds=0.5, tool_calls=(call,))
    talk = Conversation(messages=(conversation(HOSTILE).messages[0], said), writing_style={HOSTILE: HOSTILE})
    results = scenario(HOSTILE, 0, [(talk, score(2, HOSTILE)), (talk, score(9, HOSTILE))] * 20)
    expectation = replace(results.expectations[0], label=HOSTILE, expected_behavior=HOSTILE)
    return SuiteResult((replace(results, expectations=(expectation,), given=HOSTILE),), replace(RUN, app=HOSTILE))


def many(titles: Sequence[str], talks: Sequence[tuple[Conversation, bool]], trials: int) -> SuiteResult:
    """Return a run of many scenarios: conversations in turn, each met or not."""
    endless = cycle(talks)
    results = []
    for place, title in enumerate(titles):
        held = [next(endless) for _ in range(trials)]
        tried = [(talk, score(9 if is_met else 3)) for talk, is_met in held]
        results.append(scenario(title, place, tried, n_max=trials, bar=0.7, early=False))
    return SuiteResult(tuple(results), replace(RUN, scenarios=()))


def tau_talk(row: dict[str, Any]) -> tuple[Conversation, bool]:
    """Return a conversation of tau-bench, and whether it reached its goal."""
    turns = [each for each in row["turns"] if each["role"] in ("user", "assistant")]
    messages = tuple(
        Message(role=each["role"], content=each["content"] or "", started=NOON, seconds=1.5, tool_calls=_calls(each))
        for each in turns
    )
    return Conversation(messages=messages, ended="goal_satisfied"), row["reward"] > 0


def _calls(turn: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    return tuple(turn.get("tool_calls") or ())
