"""Real log files of every format: how much of each is read, and what of it is kept."""

import gzip
import json
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

import pytest

from simeval.datasets.dataset import Example
from simeval.errors import DefinitionError
from simeval.extras.importers.registry import import_log
from tests.support.samples import SAMPLES, messages, said, sample

# format, examples, messages of users, messages of assistants, tool calls, what could not be read
COUNTS = {
    "botium/samples_extensions_asserterHooks_convos_txt_restaurant.convo.txt": ("botium", 1, 6, 7, 0, 0),
    "botium/samples_extensions_logichooks_convos_echo.convo.txt": ("botium", 1, 2, 2, 0, 0),
    "botium/samples_scripting_convofiles_convos_txt_hello.utterances.txt": ("botium", 3, 0, 0, 0, 0),
    "botium/samples_scripting_convofiles_convos_txt_restaurant.convo.txt": ("botium", 1, 6, 7, 0, 0),
    "csv/promptfoo_customer_support_tests.csv": ("promptfoo", 8, 0, 0, 0, 0),
    "deepeval_traces/langgraph_multi_turn_schema.json": ("deepeval", 1, 3, 3, 3, 0),
    "deepeval_traces/langgraph_multiple_tools_schema.json": ("deepeval", 1, 1, 1, 3, 0),
    "inspect/2025-02-11T15-18-04-05-00_popularity_mj7khqpMM4GBCfVQozKgzB.eval": ("inspect", 10, 10, 10, 0, 0),
    "inspect/2025-05-12T20-28-13-04-00_popularity.json": ("inspect", 3, 3, 3, 0, 0),
    "inspect/log_formats.eval": ("inspect", 1, 1, 1, 0, 0),
    "inspect/log_formats.json": ("inspect", 1, 1, 1, 0, 0),
    "inspect/log_message_deduplication.eval": ("inspect", 1, 1, 6, 5, 0),
    "inspect/log_read_sample.eval": ("inspect", 1, 1, 1, 0, 0),
    "inspect/log_read_sample.json": ("inspect", 1, 1, 1, 0, 0),
    "inspect/log_streaming.eval": ("inspect", 4, 4, 4, 0, 0),
    "inspect/log_tool_call_error.json": ("inspect", 1, 0, 1, 11, 0),
    "inspect/mmlu-summary-choices.eval": ("inspect", 1, 1, 1, 0, 0),
    "langfuse/autogen-2025-06-06.trace.json": ("langfuse", 1, 1, 1, 0, 0),
    "langfuse/claude-agent-2025-12-22.chatml.json": ("chatml", 1, 0, 1, 1, 0),
    "langfuse/claude-agent-2025-12-22.trace.json": ("langfuse", 1, 1, 2, 2, 0),
    "langfuse/crewai-2025-07-11.chatml.json": ("chatml", 1, 1, 0, 0, 0),
    "langfuse/crewai-2025-07-11.trace.json": ("langfuse", 1, 1, 1, 0, 0),
    "langfuse/google-adk-2025-08-28.chatml.json": ("chatml", 1, 2, 2, 1, 0),
    "langfuse/google-adk-2025-08-28.trace.json": ("langfuse", 1, 1, 1, 1, 0),
    "langfuse/koog-2025-08-26.chatml.json": ("chatml", 1, 1, 1, 2, 0),
    "langfuse/koog-2025-08-26.trace.json": ("langfuse", 1, 1, 1, 2, 0),
    "langfuse/langgraph-python-2025-08-22.chatml.json": ("chatml", 1, 2, 1, 1, 0),
    "langfuse/langgraph-python-2025-08-22.trace.json": ("langfuse", 1, 2, 1, 1, 0),
    "langfuse/llamaindex-2025-06-05.trace.json": ("langfuse", 1, 1, 1, 0, 0),
    "langfuse/microsoft-agent-2025-12-17.chatml.json": ("chatml", 1, 1, 1, 1, 0),
    "langfuse/microsoft-agent-2025-12-17.trace.json": ("langfuse", 1, 1, 1, 1, 0),
    "langfuse/openai-agents-2025-09-30.chatml.json": ("chatml", 1, 1, 1, 1, 0),
    "langfuse/openai-agents-2025-09-30.trace.json": ("langfuse", 1, 1, 1, 1, 0),
    "langfuse/openai-assistants-2024-05-29.seed.json": ("langfuse", 1, 1, 2, 0, 0),
    "langfuse/pydantic-ai-tools-2025-12-04.chatml.json": ("chatml", 1, 2, 2, 3, 0),
    "langfuse/pydantic-ai-tools-2025-12-04.trace.json": ("langfuse", 1, 2, 2, 3, 0),
    "langfuse/vercel-aisdk-2025-11-17.chatml.json": ("chatml", 1, 1, 1, 1, 0),
    "langfuse/vercel-aisdk-2025-11-17.trace.json": ("langfuse", 1, 1, 1, 1, 0),
    "langfuse/vertex-ai-2025-08-01.chatml.json": ("chatml", 1, 1, 1, 0, 0),
    "langfuse/vertex-ai-2025-08-01.trace.json": ("langfuse", 1, 1, 1, 0, 0),
    "langsmith/langsmith_py_wrap_openai_reasoning.json": ("langsmith", 1, 1, 1, 0, 0),
    "langsmith/langsmith_py_wrap_openai_stream.json": ("langsmith", 1, 1, 1, 0, 0),
    "langsmith/langsmith_py_wrap_openai_stream_no_usage.json": ("langsmith", 1, 1, 1, 0, 0),
    "openai_chat/api_request_response.jsonl": ("openai", 21, 21, 24, 4, 0),
    "openai_chat/tau_airline_messages.jsonl": ("openai", 12, 94, 88, 69, 0),
    "openai_chat/toy_chat_fine_tuning.jsonl": ("openai", 5, 7, 8, 0, 0),
    "otel/openllmetry_openai_legacy_0.40_otlp.json": ("otel", 7, 11, 12, 2, 0),
    "otel/openllmetry_openai_otlp.json": ("otel", 7, 11, 12, 2, 0),
    "otel/otel_openai_v2_default_otlp.json": ("otel", 5, 5, 5, 4, 1),
    "rasa/financial-demo_test_stories.yml": ("rasa", 48, 124, 124, 193, 0),
    "sharegpt/fastchat_dummy_conversation.json": ("sharegpt", 60, 120, 120, 0, 0),
}
EMPTY = {
    "otel/otel_openai_v2_no_content_otlp.json": "the capture of content was off: there are spans, but no message",
    "rasa/tracker_all_slots.json": "a session that was only begun: nobody said anything",
}
NORMALISED = sorted(name for name in COUNTS if name.endswith(".chatml.json"))
# what the normalisation of the tool that exported a trace lacks, or tells otherwise
NOT_IN_CHATML = {
    "claude-agent-2025-12-22": {
        "What's the weather like in Berlin and New York?": "its request could not be normalised"
    },
    "crewai-2025-07-11": {"I now can give a great answer": "its answer, a text, could not be normalised"},
}


def examples_of(name: str) -> list[Example]:
    return list(import_log(sample(name)).dataset)


def only(name: str) -> Example:
    (example,) = examples_of(name)
    return example


def damaged(found: Any, share: float, random: Random) -> Any:
    """Put something odd in place of a share of the values, at every level."""
    if random.random() < share:
        return random.choice([None, 7, -1.5, "x", [], {}, [[]], [1], {"a": 1}, True, "{", "[{}]", 10**400])
    if isinstance(found, dict):
        return {key: damaged(value, share, random) for key, value in found.items()}
    return [damaged(value, share, random) for value in found] if isinstance(found, list) else found


def test_the_files_that_are_counted_are_all_there_are() -> None:
    found = {path.relative_to(SAMPLES).as_posix() for path in SAMPLES.rglob("*") if path.is_file()}

    assert found - {"README.md"} == COUNTS.keys() | EMPTY.keys()


@pytest.mark.parametrize("name", COUNTS)
def test_a_file_is_recognised_and_all_of_it_is_read(name: str) -> None:
    log = import_log(sample(name))

    read = messages(log.dataset)
    roles = Counter(message.role for message in read)
    calls = sum(len(message.tool_calls) for message in read)
    found = (log.format, len(log.dataset), roles["user"], roles["assistant"], calls, len(log.problems))
    assert found == COUNTS[name]


@pytest.mark.parametrize("name", EMPTY)
def test_a_file_without_anything_said_is_refused_with_the_reason(name: str) -> None:
    path = sample(name)

    with pytest.raises(DefinitionError) as refused:
        import_log(path)

    reason = "without its messages" if "otel" in name else "there is no message"
    assert reason in str(refused.value)
    assert str(path) in str(refused.value)


@pytest.mark.parametrize("name", [name for name in COUNTS if not name.endswith(".eval")])
def test_a_file_that_is_packed_reads_the_same(name: str, tmp_path: Path) -> None:
    path = sample(name)
    packed = tmp_path / f"{path.name}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))

    assert import_log(packed).dataset.version == import_log(path).dataset.version


@pytest.mark.parametrize("name", [name for name in COUNTS if name.endswith(".json")])
def test_whatever_is_wrong_in_a_document_is_reported_and_nothing_breaks(name: str, tmp_path: Path) -> None:
    document = json.loads(sample(name).read_text(encoding="utf-8"))
    random = Random(name)
    path = tmp_path / "log.json"

    for share in (0.003, 0.01, 0.03) * 3:
        path.write_text(json.dumps([damaged(document, share, random)]), encoding="utf-8")
        with suppress(DefinitionError):
            log = import_log(path, format=COUNTS[name][0])
            assert len(list(log.dataset)) == len(log.dataset) > 0


class TestChat:
    def test_nothing_that_was_said_is_lost_and_every_tool_call_has_its_result(self) -> None:
        path = sample("openai_chat/tau_airline_messages.jsonl")
        lines = path.read_text(encoding="utf-8").splitlines()
        raw = [message for line in lines for message in json.loads(line)["messages"]]

        read = messages(import_log(path).dataset)

        for role in ("user", "assistant"):
            wanted = [each["content"] for each in raw if each["role"] == role and each["content"]]
            assert [message.content for message in read if message.role == role and message.content] == wanted
        calls = [call for message in read for call in message.tool_calls]
        wanted_calls = [call for each in raw for call in each.get("tool_calls") or []]
        results = [each["content"] for each in raw if each["role"] == "tool"]
        assert [call["name"] for call in calls] == [call["function"]["name"] for call in wanted_calls]
        assert [call["arguments"] for call in calls] == [json.loads(c["function"]["arguments"]) for c in wanted_calls]
        assert [call["result"] for call in calls] == results

    def test_the_system_prompt_and_the_metadata_of_a_line_are_columns(self) -> None:
        dataset = import_log(sample("openai_chat/tau_airline_messages.jsonl")).dataset

        example = next(iter(dataset))

        assert dataset.columns == ("task_id", "reward", "system")
        assert example.metadata["task_id"] == "2"
        assert str(example.metadata["system"]).startswith("# Airline Agent Policy")

    def test_a_response_gives_model_usage_and_time(self) -> None:
        first = examples_of("openai_chat/api_request_response.jsonl")[0]

        (_, answer) = messages([first])
        assert first.example_id == "chatcmpl-908MD9ivBBLb6EaIjlqwFokntayQK"
        assert answer.started == datetime(2024, 3, 7, 13, 45, 53, tzinfo=UTC)
        assert answer.metadata == {
            "model": "gpt-3.5-turbo-0125",
            "prompt_tokens": 15,
            "completion_tokens": 19,
            "finish_reason": "stop",
        }

    def test_a_streamed_response_is_put_together(self) -> None:
        streamed = examples_of("openai_chat/api_request_response.jsonl")[17]

        (_, answer) = messages([streamed])
        assert streamed.example_id == "chatcmpl-7UR4UcvmeD79Xva3UxkKkL2es6b5W"
        assert answer.content.startswith("In the observability department, Prometheus, Grafana, Jaeger, and Loki")
        assert (answer.metadata["prompt_tokens"], answer.metadata["completion_tokens"]) == (10, 50)

    def test_texts_that_are_not_ascii_stay_as_they_are(self) -> None:
        dataset = import_log(sample("openai_chat/api_request_response.jsonl")).dataset

        assert ("assistant", "나는 바다를 좋아해요.") in said(dataset)[12]


class TestInspect:
    def test_epochs_are_examples_with_their_scores_target_and_model(self) -> None:
        examples = examples_of("inspect/log_streaming.eval")

        assert [each.example_id for each in examples] == ["1_epoch_1", "1_epoch_2", "2_epoch_1", "2_epoch_2"]
        assert [each.metadata["scores"][0]["value"] for each in examples] == ["I", "C", "C", "C"]
        assert examples[0].columns()["reference"] == " Yes"
        assert messages(examples)[1].metadata["model"] == "Meta-Llama-3-405B-Instruct"

    def test_the_archive_and_the_document_of_a_log_say_the_same(self) -> None:
        archived = import_log(sample("inspect/log_formats.eval")).dataset
        document = import_log(sample("inspect/log_formats.json")).dataset

        assert said(archived) == said(document)

    def test_samples_are_in_the_order_of_their_numbers(self) -> None:
        name = "inspect/2025-02-11T15-18-04-05-00_popularity_mj7khqpMM4GBCfVQozKgzB.eval"

        assert [each.example_id for each in examples_of(name)] == [f"{number}_epoch_1" for number in range(1, 11)]

    def test_a_models_time_is_the_messages(self) -> None:
        answer = messages(examples_of("inspect/mmlu-summary-choices.eval"))[1]

        assert answer.seconds == pytest.approx(1.443187)
        assert answer.started == datetime(2025, 12, 19, 12, 37, 50, 900239, tzinfo=UTC)
        assert answer.metadata["prompt_tokens"] == 153

    def test_errors_of_tools_are_kept_with_their_calls(self) -> None:
        (answer,) = messages(examples_of("inspect/log_tool_call_error.json"))

        kinds = [call["error"]["type"] for call in answer.tool_calls]
        assert kinds[:4] == ["parsing", "timeout", "parsing", "unicode_decode"]
        assert answer.content == ""


class TestTraces:
    @pytest.mark.parametrize("name", NORMALISED)
    def test_what_is_said_is_what_the_exporting_tool_says(self, name: str) -> None:
        normal = json.loads(sample(name).read_text(encoding="utf-8"))
        sides = [each.get(side, {}) for each in normal.values() for side in ("input", "output")]
        told = list(chain.from_iterable(side["data"] for side in sides if side.get("success")))
        texts = {(_role(each), _text(each.get("content"))) for each in told}

        read = messages(examples_of(name.replace(".chatml.", ".trace.")))

        lacking = {each.content for each in read if each.content and (each.role, each.content) not in texts}
        stem = Path(name).name.removesuffix(".chatml.json")
        reasons = NOT_IN_CHATML.get(stem, {})
        assert len(lacking) == len(reasons)
        assert all(any(text.startswith(start) for start in reasons) for text in lacking)

    def test_wrappers_are_not_counted_and_tools_that_ran_complete_the_calls(self) -> None:
        example = only("langfuse/vercel-aisdk-2025-11-17.trace.json")

        asked, answer = messages([example])
        assert asked.content == "What is the weather like today in San Francisco?"
        assert answer.tool_calls == (
            {
                "id": "call_DgKARp7a7IhJPDczfifMp6Ra",
                "name": "getWeather",
                "arguments": {"location": "San Francisco"},
                "result": {"location": "San Francisco", "temperature": 64},
            },
        )
        assert answer.metadata["prompt_tokens"] == 62  # of the inner call; the wrapper says 14

    def test_an_agents_conversation_is_kept_and_its_critic_is_counted(self) -> None:
        example = only("langfuse/pydantic-ai-tools-2025-12-04.trace.json")

        assert example.metadata["other_calls"] == 1
        assert str(example.metadata["system"]).startswith("You are a creative joke writer.")
        assert messages([example])[-1].content == "Why do programmers hate nature?  \nIt has too many bugs!"
        assert [call["name"] for call in messages([example])[1].tool_calls] == [
            "get_pun_suggestion",
            "get_dad_joke_suggestion",
            "get_one_liner_suggestion",
        ]

    def test_calls_whose_requests_were_not_recorded_continue_the_one_before(self) -> None:
        example = only("langfuse/claude-agent-2025-12-22.trace.json")

        *_, answer = messages([example])
        assert [call["result"] for call in answer.tool_calls] == [
            "Weather in Berlin: Cloudy, 59°F",
            "Weather in New York: Sunny, 75°F",
        ]
        assert answer.metadata["model_calls"] == 3
        assert str(example.metadata["system"]).startswith("You are a friendly travel assistant")

    def test_the_answers_time_is_that_of_all_its_calls(self) -> None:
        answer = messages([only("langfuse/microsoft-agent-2025-12-17.trace.json")])[-1]

        assert answer.started == datetime(2025, 12, 17, 9, 37, 37, 260000, tzinfo=UTC)
        assert answer.seconds == pytest.approx(4.36)
        assert answer.metadata["prompt_tokens"] == 77 + 216

    def test_scores_users_and_tags_of_a_trace_are_metadata(self) -> None:
        scored = only("langfuse/google-adk-2025-08-28.trace.json")
        tagged = only("langfuse/llamaindex-2025-06-05.trace.json")

        assert [score["name"] for score in scored.metadata["scores"]] == ["toxicity", "hallucination"]
        assert (scored.example_id, scored.metadata["user"]) == ("demo-session", "demo-user")
        assert tagged.metadata["tags"] == ["llama-index", "rag"]

    def test_a_batch_of_runs_gives_time_model_and_usage(self) -> None:
        answer = messages([only("langsmith/langsmith_py_wrap_openai_reasoning.json")])[-1]

        assert answer.seconds == pytest.approx(15.138093)
        assert answer.metadata == {"model": "o1-mini-2024-09-12", "prompt_tokens": 43, "completion_tokens": 2497}

    def test_both_dialects_of_spans_say_the_same(self) -> None:
        new = import_log(sample("otel/openllmetry_openai_otlp.json")).dataset
        old = import_log(sample("otel/openllmetry_openai_legacy_0.40_otlp.json")).dataset

        assert said(new) == said(old)

    def test_messages_in_log_records_belong_to_their_spans(self) -> None:
        talked = examples_of("otel/otel_openai_v2_default_otlp.json")[1]

        asked, answer = messages([talked])
        assert talked.metadata["system"] == "You're a helpful assistant."
        assert asked.content == "What's the weather in Seattle and San Francisco today?"
        assert [call["result"] for call in answer.tool_calls] == ["50 degrees and raining", "70 degrees and sunny"]
        assert answer.metadata["completion_tokens"] == 51 + 25

    def test_a_call_that_failed_is_reported_with_its_error(self) -> None:
        (problem,) = import_log(sample("otel/otel_openai_v2_default_otlp.json")).problems

        assert "span c01d25b037afafdc" in problem.place
        assert "NotFoundError" in problem.reason

    def test_a_threads_history_is_one_conversation(self) -> None:
        example = only("deepeval_traces/langgraph_multi_turn_schema.json")

        assert example.example_id == "test-shopping-001"
        assert example.asked == (
            "Add 3 apples to my cart",
            "Use view_cart to show what I have",
            "Apply coupon SAVE10",
        )
        assert messages([example])[-1].tool_calls[0]["result"] == "10% discount applied"


class TestScripts:
    def test_instructions_of_a_script_are_not_said(self) -> None:
        example = only("botium/samples_extensions_asserterHooks_convos_txt_restaurant.convo.txt")

        answer = messages([example])[7]
        assert answer.content == "Super! I've found $count locations for you. Which one would you like to drive to?"
        assert answer.metadata["instructions"] == ["DUMMY $count | arg2", "JSON_PATH $.entities[*].entity | cuisine"]
        assert example.metadata["name"] == "restaurant"

    def test_utterances_are_inputs(self) -> None:
        dataset = import_log(sample("botium/samples_scripting_convofiles_convos_txt_hello.utterances.txt")).dataset

        assert dataset.kind == "llm"
        assert [example.text for example in dataset] == ["hi", "hello", "nice day"]

    def test_entities_of_a_story_are_words_and_intents_alone_are_written_as_such(self) -> None:
        examples = examples_of("rasa/financial-demo_test_stories.yml")

        asked = [text for example in examples for text in example.asked]
        assert "What's my emblem card balance" in asked
        assert "/deny" in asked
        assert not any("](" in text or "]{" in text for text in asked)

    def test_the_columns_of_a_table_are_inputs_and_the_tools_own_are_metadata(self) -> None:
        dataset = import_log(sample("csv/promptfoo_customer_support_tests.csv")).dataset

        fourth = list(dataset)[3]
        assert dataset.kind == "kv"
        assert list(fourth.inputs) == ["language", "context", "customer_message", "reply"]
        assert fourth.inputs["customer_message"] == "Cual es el precio de mi tarifa despues del primer año?"
        assert fourth.metadata["severity"] == "medium"
        assert fourth.metadata["threshold"] == "0"


def _role(message: dict[str, Any]) -> str:
    return "assistant" if message.get("role") == "model" else str(message.get("role"))


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(each["text"] for each in content if each.get("type") == "text")
    return str(content)
