"""What an experiment is about: functions of columns, handlers, models, and what was recorded."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from simeval import (
    AppResponse,
    Conversation,
    scorer,
)
from simeval.datasets.dataset import Example, check_dataset
from simeval.errors import DefinitionError
from tests.support.experiments import as_known, engine, length, logged, sums, values

pytestmark = pytest.mark.anyio


class TestTargets:
    async def test_a_function_of_columns_answers_every_example_and_values_stand_in_the_datasets_order(self) -> None:
        async def late_first(n: int) -> str:
            await anyio.sleep(0.05 if n % 2 == 0 else 0)
            return str(n)

        result = await engine().evaluate(sums(20), late_first, scorers=[scorer(lambda output: int(output), name="n")])

        assert values(result, "n") == list(range(20))
        assert result.answers == 20

    async def test_a_plain_function_runs_in_a_thread_and_may_take_all_inputs_and_the_seed(self) -> None:
        seen: list[tuple[Mapping[str, Any], int]] = []

        def answer(inputs: Mapping[str, Any], seed: int) -> str:
            seen.append((inputs, seed))
            return "x"

        await engine().evaluate(sums(3), answer, scorers=[length])

        assert sorted(inputs["n"] for inputs, _ in seen) == [0, 1, 2]
        assert len({seed for _, seed in seen}) == 3

    async def test_an_app_is_never_shown_the_reference(self) -> None:
        seen: list[set[str]] = []

        def anything(**columns: Any) -> str:
            seen.append({*columns, *columns["inputs"]})
            return "x"

        await engine().evaluate(sums(2), anything, scorers=[length])

        assert seen == [{"inputs", "seed", "question", "n"}] * 2
        with pytest.raises(DefinitionError, match="inputs of the dataset by their names"):
            await engine().evaluate(sums(2), lambda answer: answer, scorers=[length])

    async def test_an_answer_may_be_any_json_and_a_scorer_takes_a_part_of_it(self) -> None:
        def rag(question: str) -> dict[str, Any]:
            return {"answer": question.upper(), "context": ["a", "b"]}

        @scorer(column_map={"text": "output.answer", "documents": "output.context"})
        def counted(text: str, documents: list[str], output: object) -> dict[str, object]:
            return {"upper": text.isupper(), "documents": len(documents), "whole": isinstance(output, dict)}

        result = await engine().evaluate(sums(2), rag, scorers=[counted])

        assert values(result, "counted.documents") == [2, 2]
        assert values(result, "counted.whole") == [1, 1]

    async def test_an_answer_of_nothing_is_a_failure_of_the_app(self) -> None:
        result = await engine().evaluate(sums(2), lambda n: None, scorers=[length])

        assert [(metric.name, metric.estimate.n, metric.crashed) for metric in result.metrics] == [("length", 0, 2)]
        assert [text for text in result.failures if "returned None;" in text]

    async def test_an_app_handler_is_given_the_text_of_an_example(self) -> None:
        examples = [Example(inputs={"input": "hi"}, outputs={"output": "HI"})]
        dataset = check_dataset(lambda: examples, name="echo")

        async def shout(message: str, state: dict[str, Any]) -> AppResponse:
            return AppResponse(message.upper(), state)

        result = await engine().evaluate(dataset, shout, scorers=[as_known])

        assert dataset.kind == "llm"
        assert values(result, "as_known") == [1]

    async def test_a_handler_of_messages_gets_the_history_of_a_chat_with_its_system_prompt(self) -> None:
        chat = [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": "1"},
            {"role": "user", "content": "two"},
        ]
        examples = [Example(inputs={"input": chat}, outputs={"output": [{"role": "assistant", "content": "2"}]})]
        heard: list[Any] = []

        async def bot(messages: list[Any], state: Any) -> str:
            heard.extend(messages)
            return "2"

        result = await engine().evaluate(
            check_dataset(lambda: examples, name="chat"),
            bot,
            scorers=[as_known],
        )

        assert heard == chat
        assert values(result, "as_known") == [1]

    async def test_a_new_version_answers_the_users_side_of_logged_conversations(self) -> None:
        dataset = logged(["one", "old 1", "two", "old 2"], ["three", "old 3"])

        async def bot(message: str, state: dict[str, int]) -> tuple[str, dict[str, int]]:
            return f"new {message} {len(state)}", {**state, message: 1}

        @scorer
        def said(conversation: Conversation) -> dict[str, object]:
            return {"turns": len(conversation.messages), "text": " / ".join(m.content for m in conversation.messages)}

        result = await engine(store=None).evaluate(dataset, bot, scorers=[said])

        assert values(result, "said.turns") == [4, 2]

    async def test_a_model_is_a_target_by_its_name(self) -> None:
        result = await engine().evaluate(logged(["hello", "x"]), "offline/app", scorers=[length])

        assert result.run.app == "offline/app"
        assert values(result, "length")[0] > 0
        assert "app offline/app" in result.run.notes[0]

    async def test_a_function_of_something_else_is_refused_with_the_columns_there_are(self) -> None:
        with pytest.raises(DefinitionError, match=r"inputs of the dataset by their names.*question, n"):
            await engine().evaluate(sums(2), lambda colour: "x", scorers=[length])

    async def test_what_was_recorded_is_measured_as_it_is(self) -> None:
        result = await engine().evaluate(logged(["hi", "hello there"], ["hm", "oh"]), scorers=[length])

        assert values(result, "length") == [11, 2]
        assert result.run.app == "what was recorded"

    async def test_without_an_app_every_example_must_hold_what_was_recorded(self) -> None:
        with pytest.raises(DefinitionError, match="hold no recorded conversation; give the app"):
            await engine().evaluate(sums(2), scorers=[length])
