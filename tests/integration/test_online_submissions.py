"""What may be submitted as a live conversation, and what is told of a mistake."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest

from simeval.core.conversation import Conversation, Message
from simeval.errors import DefinitionError
from simeval.extras.online.evaluator import OnlineEvaluator
from tests.support.live import SAID, Fine, Helpful

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "said",
    [
        Conversation(messages=(Message(role="user", content="hello"), Message(role="assistant", content="fine"))),
        SAID,
        [{"role": "system", "content": "be fine"}, *SAID],
        [
            SAID[0],
            {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
            {"role": "tool", "content": "4"},
            SAID[1],
        ],
        [{"role": "user", "content": [{"type": "text", "text": "hello"}]}, SAID[1]],
    ],
)
async def test_a_conversation_is_read_as_the_app_has_it(said: Any) -> None:
    seen: list[Mapping[str, Any]] = []

    def look(**columns: Any) -> bool:
        seen.append(columns)
        return True

    async with OnlineEvaluator([look]) as evaluator:
        evaluator.submit(said, customer="anna")

    (columns,) = seen
    assert (columns["input"], columns["output"], columns["customer"]) == ("hello", "fine", "anna")
    assert columns["conversation"].messages[-1].content == "fine"


async def test_an_output_may_be_any_value() -> None:
    seen: list[Any] = []

    def look(output: Any, conversation: Conversation) -> bool:
        seen.extend([output, conversation.output, conversation.input])
        return True

    async with OnlineEvaluator([look]) as evaluator:
        evaluator.submit(output={"é": 1})

    assert seen == [{"é": 1}, '{"é": 1}', ""]


async def test_what_the_app_adds_to_its_messages_later_is_not_scored() -> None:
    messages = list(SAID)
    async with OnlineEvaluator([Fine()]) as evaluator:
        evaluator.submit(messages)
        messages.append({"role": "assistant", "content": "later"})

    assert evaluator.estimates()["Fine.fine"].mean == 1


@pytest.mark.parametrize(
    "said", [None, "text", [], {}, [1], [{"content": "x"}], object(), ({"role": "user"} for _ in "ab")]
)
async def test_what_is_no_conversation_is_counted_and_not_raised(said: Any) -> None:
    told: list[object] = []
    async with OnlineEvaluator([Fine()], on_score=lambda *each: told.append(each)) as evaluator:
        evaluator.submit(said, customer="anna")

    last = evaluator.counts["Fine"].last_failure
    assert evaluator.counts["Fine"].failed == 1
    assert last is not None
    assert "give a Conversation" in last.error
    assert told == [("Fine", last, {"customer": "anna"})]


async def test_a_column_that_is_not_submitted_is_told_by_name() -> None:
    def grounded(output: str, context: str) -> bool:
        return output in context

    async with OnlineEvaluator([grounded]) as evaluator:
        evaluator.submit(SAID, customer="anna")

    last = evaluator.counts["grounded"].last_failure
    assert last is not None
    assert (
        "no context with its answer; return AppResponse(text, context=[...]), give a column context, or" in last.error
    )


async def test_each_conversation_has_a_seed_of_its_own() -> None:
    seeds: list[int] = []

    async def keep(seed: int) -> bool:
        seeds.append(seed)
        return True

    for _ in range(2):
        async with OnlineEvaluator([keep], seed=5) as evaluator:
            for _ in range(50):
                evaluator.submit(SAID)

    assert len(set(seeds)) == 50
    assert seeds[:50] == seeds[50:]


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (partial(OnlineEvaluator, []), "give one or more scorers"),
        (partial(OnlineEvaluator, [Fine(), Fine()]), "a name of its own"),
        (
            lambda: OnlineEvaluator([3]),  # type: ignore[list-item]
            "give a Scorer instance or a function",
        ),
        (partial(OnlineEvaluator, [Helpful()]), "give judge_model"),
        (partial(OnlineEvaluator, [Fine()], sampling_rate=1.5), "sampling_rate: found 1.5"),
        (partial(OnlineEvaluator, [Fine()], queue_size=0), "queue_size: found 0"),
        (partial(OnlineEvaluator, [Fine()], workers=0), "workers: found 0"),
        (partial(OnlineEvaluator, [Fine()], window=0), "window: found 0"),
        (partial(OnlineEvaluator, [Fine()], drain_seconds=-1), "drain_seconds: found -1"),
        (partial(OnlineEvaluator, [Fine()], significance_level=0.5), "significance_level: found 0.5"),
        (partial(OnlineEvaluator, [Fine()], watch={"Fine.good": 0.9}), "there are Fine.fine"),
        (partial(OnlineEvaluator, [Fine()], watch={"Other": 0.9}), "there are Fine"),
        (partial(OnlineEvaluator, [Fine()], watch={"Fine.fine": 1.0}), "a bar between 0 and 1"),
        (partial(OnlineEvaluator, [Fine()], bounds={"Fine.fine": (1, 0)}), "the lowest and the highest"),
        (partial(OnlineEvaluator, [Fine()], secret_patterns=["("]), "no regular expression"),
    ],
)
def test_a_mistake_is_told_before_the_app_serves(make: Callable[[], OnlineEvaluator], match: str) -> None:
    with pytest.raises(DefinitionError, match=match):
        make()
