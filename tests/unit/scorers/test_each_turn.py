"""Each turn: a scorer of one answer on every answer of a conversation, each with its own columns."""

from math import inf
from typing import Any

import pytest

from simeval import Conversation, Message, Scorer, scorer
from simeval.errors import DefinitionError
from simeval.scorers import Contains, EachTurn, Faithfulness
from simeval.scorers.base import conversation_columns

pytestmark = pytest.mark.anyio


def said(role: Any, content: str, **metadata: Any) -> Message:
    return Message(role=role, content=content, metadata=metadata)


TALK = Conversation(
    messages=(
        said("user", "Hi"),
        said("assistant", "Hello"),
        said("user", "Open?"),
        said("assistant", "From 9", context=["Open from 9"], source={"page": 3}),
        said("user", "Where?"),
        said("assistant", "In Delft", context=["In Leiden"], source={"page": 4}),
    )
)


@scorer(direction="higher", bounds=(0, 1))
def grounded(output: str, input: str, context: list[str]) -> dict[str, object]:
    return {
        "share": float(any(output in text for text in context)) if input != "Open?" else 0.5,
        "long": len(output) > 6,
    }


async def test_every_answer_is_measured_with_the_message_and_the_context_of_its_own() -> None:
    found = await EachTurn(grounded).measure({"conversation": TALK})

    assert [each.get("measured") for each in found["each"]] == [
        None,
        {"share": 0.5, "long": False},
        {"share": 0.0, "long": True},
    ]
    assert "the app gave no context with its answer" in found["each"][0]["not_measured"]
    assert (found["share.min"], found["share.mean"], found["share.max"]) == (0.0, 0.25, 0.5)
    assert (found["long.mean"], found["turns"], found["not_measured"]) == (0.5, 2, 1)
    assert found["reason"] == "turn 0: not measured; turn 1: share 0.5, long 0; turn 2: share 0, long 1"


async def test_where_no_turn_can_be_measured_that_is_the_failure() -> None:
    silent = Conversation(messages=TALK.messages[:2])

    with pytest.raises(DefinitionError, match=r"no context with its answer; return AppResponse\(text, context="):
        await EachTurn(grounded).measure({"conversation": silent})
    with pytest.raises(ValueError, match="the app has said nothing"):
        await EachTurn(grounded).measure({"conversation": Conversation()})


async def test_another_error_in_one_turn_fails_the_whole() -> None:
    @scorer
    def breaks(output: str) -> bool:
        return bool(1 / (output != "From 9"))

    with pytest.raises(ZeroDivisionError):
        await EachTurn(breaks).measure({"conversation": TALK})


def test_the_worst_turn_is_concluded_on_and_directions_and_bounds_are_the_scorers() -> None:
    class Slips(Scorer):
        direction = "lower"
        default_score = "count"
        paths = ("count",)

        def score(self, output: str) -> dict[str, int]:
            return {"count": output.count("!")}

    assert (EachTurn(Slips()).default_score, EachTurn(Slips()).direction_of("count.max")) == ("count.max", "lower")
    faithful = EachTurn(Faithfulness())
    assert (faithful.name, faithful.default_score) == ("Faithfulness by turn", "faithfulness.min")
    assert faithful.paths == ("faithfulness.min", "faithfulness.mean", "faithfulness.max")
    assert (faithful.bounds_of("faithfulness.mean"), faithful.bounds_of("turns")) == ((0, 1), (0, inf))
    assert (faithful.direction_of("faithfulness.mean"), faithful.direction_of("turns")) == ("higher", "none")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("context", ["In Leiden"]),
        ("response.content", "In Delft"),
        ("response.metadata.source.page", 4),
        ("responses.metadata.source.page", [3, 4]),
        ("responses.context", [["Open from 9"], ["In Leiden"]]),
    ],
)
async def test_a_path_leads_into_the_last_answer_or_every_one(path: str, value: object) -> None:
    taken = scorer(lambda part: part == value, name="taken", column_map={"part": path})

    taken.check()

    assert await taken.measure(conversation_columns(TALK)) is True


def test_a_path_to_what_no_answer_has_is_refused_before_the_run() -> None:
    lost = scorer(lambda part: True, name="lost", column_map={"part": "response.metdata.source"})

    with pytest.raises(DefinitionError, match="an answer has content, context, tool_calls, metadata, seconds"):
        lost.check()


async def test_a_path_that_leads_nowhere_is_a_failure_that_says_what_there_is() -> None:
    lost = scorer(lambda part: True, name="lost", column_map={"part": "response.metadata.source.title"})

    with pytest.raises(DefinitionError, match=r"nothing at \['response.metadata.source.title'\]; .*'page': 4"):
        await lost.measure(conversation_columns(TALK))


async def test_what_gives_a_score_without_a_path_is_concluded_on_by_default() -> None:
    asked = EachTurn(Contains(texts=["from", "in"], at_least=1, ignore_case=True))
    found = await asked.measure({"conversation": TALK})

    assert (found["min"], found["max"], asked.default_score) == (0, 1, "min")
