"""Two versions answer the same example, and one is preferred: in both orders, or not at all."""

import threading
from typing import Any, Literal

import anyio
import pytest

from simeval.core.conversation import AppResponse
from simeval.errors import DefinitionError
from simeval.models.caller import Caller
from simeval.scorers.llm.preference import Preference
from tests.support.records import conversation

pytestmark = pytest.mark.anyio

Place = Literal["first", "second", "tie"]


def longer(_input: str, first: str, second: str) -> Place:
    return "tie" if len(first) == len(second) else "first" if len(first) > len(second) else "second"


@pytest.mark.parametrize(
    ("output", "baseline", "preference", "version"),
    [("longer", "short", 1.0, "output"), ("short", "longer", 0.0, "baseline"), ("equal", "alike", 0.5, "tie")],
)
async def test_a_function_that_goes_by_the_answers_prefers_one(
    output: str, baseline: str, preference: float, version: str
) -> None:
    found = await Preference(prefer=longer).score(output, baseline, "hi", seed=1)

    assert found["preference"] == preference
    assert (found["first_order"], found["second_order"], found["consistent"]) == (version, version, True)


async def test_a_tie_in_one_order_alone_is_a_tie() -> None:
    def proud(_input: str, first: str, _second: str) -> Place:
        return "first" if first == "new" else "tie"

    found = await Preference(prefer=proud).score("new", "old")

    assert (found["preference"], found["consistent"]) == (0.5, False)
    assert (found["first_order"], found["second_order"]) == ("output", "tie")


async def test_an_async_function_prefers_too_and_sees_values_as_they_are() -> None:
    seen: list[tuple[Any, ...]] = []

    async def prefer(*given: Any) -> Place:
        seen.append(given)
        await anyio.lowlevel.checkpoint()
        return "tie"

    await Preference(prefer=prefer).score({"answer": 1}, ["two"], [{"role": "user", "content": "hi"}])

    question, one, other = [{"role": "user", "content": "hi"}], {"answer": 1}, ["two"]
    assert sorted(seen, key=str) == sorted([(question, one, other), (question, other, one)], key=str)


async def test_a_baseline_of_messages_is_held_against_the_whole_conversation() -> None:
    seen: list[str] = []

    def prefer(_input: str, first: str, second: str) -> Place:
        seen.extend([first, second])
        return "tie"

    said = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "old"}]
    await Preference(prefer=prefer).score("new", said, "hi", conversation=conversation("hi", "new"))

    assert set(seen) == {"user: hi\n\nassistant: new", "user: hi\n\nassistant: old"}


async def test_which_order_is_asked_first_depends_on_the_seed_alone() -> None:
    firsts: list[str] = []

    def prefer(_input: str, first: str, _second: str) -> Place:
        firsts.append(first)
        return "tie"

    for _ in range(2):
        for seed in range(40):
            await Preference(prefer=prefer).score("new", "old", seed=seed)

    asked_first = firsts[0::2]
    assert asked_first[:40] == asked_first[40:]
    assert 10 < asked_first[:40].count("new") < 30
    assert all({*pair} == {"new", "old"} for pair in zip(firsts[0::2], firsts[1::2], strict=True))


@pytest.mark.parametrize("answer", ["First", "output", "", None, 1, True, ["first"]])
async def test_a_function_that_answers_something_else_is_told_what_to_answer(answer: Any) -> None:
    with pytest.raises(DefinitionError, match="return 'first', 'second' or 'tie'"):
        await Preference(prefer=lambda *_: answer).score("new", "old")


async def test_a_function_that_takes_too_long_is_not_waited_for() -> None:
    never = threading.Event()

    def think(*_given: Any) -> Place:
        never.wait(10)
        return "tie"

    try:
        with pytest.raises(TimeoutError, match=r"no answer of think within 0\.05 seconds"):
            await Preference(prefer=think, function_timeout_seconds=0.05).score("new", "old")
    finally:
        never.set()


async def test_a_column_holds_the_baseline_under_its_own_name_or_another() -> None:
    columns = {"output": "new answer", "input": "hi", "seed": 3}

    named = await Preference(prefer=longer).measure({**columns, "baseline": "old"})
    mapped = await Preference(prefer=longer, column_map={"baseline": "v1"}).measure({**columns, "v1": "old"})

    assert named["preference"] == mapped["preference"] == 1


def with_state(message: str, state: dict[str, Any]) -> AppResponse:
    return AppResponse(f"old {message} {state}")


async def as_pair(message: str, state: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return f"old {message} {state}", state


def as_text(message: str) -> str:
    return f"old {message} {{}}"


async def as_value(message: str) -> dict[str, str]:
    return {"answer": message}


@pytest.mark.parametrize(
    ("baseline", "answer"),
    [(with_state, "old hi {}"), (as_pair, "old hi {}"), (as_text, "old hi {}"), (as_value, {"answer": "hi"})],
)
async def test_another_version_of_the_app_may_answer_for_itself(baseline: Any, answer: Any) -> None:
    seen: list[Any] = []

    def prefer(_input: str, first: Any, second: Any) -> Place:
        seen.extend([first, second])
        return "tie"

    scorer = Preference(prefer=prefer, baseline=baseline)
    scorer.check(["output", "input", "seed"])
    await scorer.measure({"output": "new", "input": "hi", "seed": 1})

    assert seen.count(answer) == seen.count("new") == 2


async def test_the_baseline_is_asked_once_for_both_orders() -> None:
    asked: list[str] = []

    def baseline(message: str) -> str:
        asked.append(message)
        return "old"

    await Preference(prefer=longer, baseline=baseline).score("new", input="hi")

    assert asked == ["hi"]


async def test_a_baseline_that_raises_is_an_error_and_no_win() -> None:
    def broken(_message: str) -> str:
        raise KeyError("database")

    with pytest.raises(KeyError, match="database"):
        await Preference(prefer=longer, baseline=broken).score("new", input="hi")


@pytest.mark.parametrize("given", [{"baseline": None}, {}])
async def test_without_a_baseline_nothing_is_preferred(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="there is no baseline"):
        await Preference(prefer=longer).score("new", input="hi", **given)


async def test_an_empty_answer_is_an_answer() -> None:
    assert (await Preference(prefer=longer).score("", "old"))["preference"] == 0
    assert (await Preference(prefer=longer).score("new", ""))["preference"] == 1


def test_a_dataset_without_a_baseline_is_refused_before_any_call() -> None:
    with pytest.raises(DefinitionError, match=r"no baseline.*column 'baseline'.*output, input, question"):
        Preference(prefer=longer).check(["output", "input", "question"])


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"prefer": "longer"}, "prefer: found 'longer'"),
        ({"baseline": "old answer"}, "baseline: found 'old answer'"),
        ({"function_timeout_seconds": 0}, "function_timeout_seconds: found 0"),
        ({"user_prompt": "Which is better?"}, "user_prompt"),
    ],
)
def test_what_cannot_be_used_is_refused(options: dict[str, Any], match: str) -> None:
    with pytest.raises(DefinitionError, match=match):
        Preference(**options)


async def test_a_function_is_no_model_and_takes_no_calls() -> None:
    def callers(named: object) -> Caller:
        raise AssertionError(named)

    scorer = Preference(prefer=longer)

    assert (scorer.calls, scorer.bind(callers)) == (0, scorer)
