"""Messages of all dialects, folded into conversations: texts, parts, tool calls and their results."""

from typing import Any

import pytest

from simeval.core.conversation import Message
from simeval.datasets.conversations import example_of
from simeval.datasets.messages import Turn, moment, turns_of, usage
from simeval.extras.importers.payloads import answered, asked

CALL = {"id": "c1", "name": "weather", "arguments": {"city": "Oslo"}}
ARGUMENTS = '{"city": "Oslo"}'


def fold(*found: Any) -> tuple[Message, ...]:
    talk = example_of([turn for each in found for turn in turns_of(each)]).conversation
    assert talk is not None
    return talk.messages


class TestDialects:
    @pytest.mark.parametrize(
        "message",
        [
            {
                "role": "assistant",
                "tool_calls": [{"id": "c1", "function": {"name": "weather", "arguments": ARGUMENTS}}],
            },
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}}],
            },
            {"role": "assistant", "parts": [{"type": "tool_call", **CALL}]},
            {"role": "model", "parts": [{"function_call": {"id": "c1", "name": "weather", "args": {"city": "Oslo"}}}]},
            {"type": "ai", "content": "", "tool_calls": [{"name": "weather", "args": {"city": "Oslo"}, "id": "c1"}]},
            {"type": "function_call", "id": "fc", "call_id": "c1", "name": "weather", "arguments": ARGUMENTS},
            {
                "role": "assistant",
                "content": [
                    {"type": "tool-call", "toolCallId": "c1", "toolName": "weather", "input": {"city": "Oslo"}}
                ],
            },
            {"role": "assistant", "tool_calls": [{"id": "c1", "function": "weather", "arguments": {"city": "Oslo"}}]},
            {
                "message": {
                    "role": "assistant",
                    "tool_calls": [
                        {"tool_call": {"id": "c1", "function": {"name": "weather", "arguments": ARGUMENTS}}}
                    ],
                }
            },
            {
                "lc": 1,
                "type": "constructor",
                "id": ["langchain", "schema", "messages", "AIMessage"],
                "kwargs": {"content": "", "tool_calls": [{"name": "weather", "args": {"city": "Oslo"}, "id": "c1"}]},
            },
            {
                "type": "ai",
                "data": {"content": "", "tool_calls": [{"name": "weather", "args": {"city": "Oslo"}, "id": "c1"}]},
            },
        ],
    )
    def test_a_call_of_a_tool_is_the_same_in_all(self, message: dict[str, Any]) -> None:
        assert turns_of(message) == [Turn(role="assistant", calls=(CALL,))]

    @pytest.mark.parametrize(
        "message",
        [
            {"role": "tool", "tool_call_id": "c1", "content": "rain"},
            {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "rain"}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "rain"}]},
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "rain"}]},
            {"role": "user", "parts": [{"function_response": {"id": "c1", "response": "rain"}}]},
            {"type": "function_call_output", "call_id": "c1", "output": "rain"},
            {"type": "tool", "tool_call_id": "c1", "content": "rain"},
            {
                "role": "tool",
                "content": [{"type": "tool-result", "toolCallId": "c1", "output": {"type": "text", "value": "rain"}}],
            },
        ],
    )
    def test_a_result_of_a_tool_is_the_same_in_all(self, message: dict[str, Any]) -> None:
        assert turns_of(message) == [Turn(role="tool", results=({"id": "c1", "result": "rain"},))]

    @pytest.mark.parametrize(
        "message",
        [
            {"role": "assistant", "content": "fine"},
            {"role": "assistant", "content": [{"type": "text", "text": "fine"}]},
            {"role": "assistant", "content": [{"type": "output_text", "text": "fine"}]},
            {"role": "assistant", "parts": [{"type": "text", "content": "fine"}]},
            {"role": "model", "parts": [{"text": "fine"}]},
            {"role": "AI", "content": "fine"},
            {"type": "AIMessageChunk", "content": ["fine"]},
            {"from": "gpt", "value": "fine"},
            {"role": "assistant", "content": None, "refusal": "fine"},
            ("ai", "fine"),
        ],
    )
    def test_a_text_is_the_same_in_all(self, message: Any) -> None:
        assert turns_of(message) == [Turn(role="assistant", text="fine")]

    @pytest.mark.parametrize(
        ("part", "word"),
        [
            ({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}, "[image]"),
            ({"type": "input_audio", "input_audio": {}}, "[audio]"),
            ({"type": "input_file", "file_id": "f"}, "[file]"),
            ({"type": "blob", "mime_type": "video/mp4", "content": "AAAA"}, "[video]"),
            ({"inline_data": {"data": "AAAA"}, "mime_type": "image/png"}, "[image]"),
            ({"type": "hologram"}, "[hologram]"),
        ],
    )
    def test_parts_that_are_no_text_are_named(self, part: dict[str, Any], word: str) -> None:
        (turn,) = turns_of({"role": "user", "content": [{"type": "text", "text": "look:"}, part]})

        assert turn.text == f"look:\n{word}"

    def test_reasoning_is_kept_apart_from_the_answer(self) -> None:
        (answer,) = fold(
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "4"}]}
        )

        assert (answer.content, answer.metadata["reasoning"]) == ("4", "hm")

    def test_a_legacy_function_call_is_a_tool_call(self) -> None:
        (answer,) = fold(
            {"role": "assistant", "content": None, "function_call": {"name": "weather", "arguments": ARGUMENTS}},
            {"role": "function", "name": "weather", "content": "rain"},
            {"role": "assistant", "content": "Take a coat."},
        )

        assert answer.tool_calls == ({"name": "weather", "arguments": {"city": "Oslo"}, "result": "rain"},)

    def test_arguments_that_are_not_json_stay_texts(self) -> None:
        (turn,) = turns_of(
            {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{oops"}}]}
        )

        assert turn.calls[0]["arguments"] == "{oops"

    def test_definitions_of_tools_among_the_messages_are_not_said(self) -> None:
        definition = {"type": "function", "function": {"name": "f", "parameters": {}}}

        assert turns_of({"role": "tool", "content": definition}) == []


class TestFolding:
    def test_calls_and_results_belong_to_the_next_text(self) -> None:
        talk = fold(
            {"role": "user", "content": "rain?"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "a", "content": "no"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "b", "function": {"name": "g", "arguments": "1"}}],
            },
            {"role": "tool", "tool_call_id": "b", "content": "yes"},
            {"role": "assistant", "content": "No rain."},
        )

        assert [(each.role, each.content) for each in talk] == [("user", "rain?"), ("assistant", "No rain.")]
        assert talk[1].tool_calls == (
            {"id": "a", "name": "f", "arguments": {}, "result": "no"},
            {"id": "b", "name": "g", "arguments": "1", "result": "yes"},
        )

    def test_a_text_with_calls_keeps_them_and_gets_their_results(self) -> None:
        talk = fold(
            {"role": "assistant", "content": "Let me look.", "tool_calls": [{"id": "a", "function": {"name": "f"}}]},
            {"role": "tool", "tool_call_id": "a", "content": "found"},
            {"role": "assistant", "content": "Here."},
        )

        assert [each.tool_calls for each in talk] == [({"id": "a", "name": "f", "result": "found"},), ()]

    def test_results_that_come_in_another_order_find_their_calls(self) -> None:
        calls = [{"id": name, "function": {"name": "f"}} for name in "ab"]

        (answer,) = fold(
            {"role": "assistant", "tool_calls": calls},
            {"role": "tool", "tool_call_id": "b", "content": "2"},
            {"role": "tool", "tool_call_id": "a", "content": "1"},
        )

        assert [(call["id"], call["result"]) for call in answer.tool_calls] == [("a", "1"), ("b", "2")]

    def test_calls_that_no_text_follows_are_a_message_of_their_own(self) -> None:
        talk = fold(
            {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f"}}]},
            {"role": "user", "content": "hello?"},
        )

        assert [(each.role, each.content, len(each.tool_calls)) for each in talk] == [
            ("assistant", "", 1),
            ("user", "hello?", 0),
        ]

    def test_a_result_without_its_call_is_kept(self) -> None:
        (answer,) = fold({"role": "tool", "tool_call_id": "x", "name": "f", "content": "lost"})

        assert answer.tool_calls == ({"id": "x", "name": "f", "result": "lost"},)

    def test_an_empty_answer_is_an_answer(self) -> None:
        talk = fold({"role": "user", "content": "hi"}, {"role": "assistant", "content": ""})

        assert [(each.role, each.content) for each in talk] == [("user", "hi"), ("assistant", "")]

    def test_answers_that_follow_one_another_stay_apart(self) -> None:
        talk = fold({"role": "assistant", "content": "one"}, {"role": "assistant", "content": "two"})

        assert [each.content for each in talk] == ["one", "two"]

    def test_system_prompts_are_metadata_each_of_them_once(self) -> None:
        turns = [Turn(role="system", text=text) for text in ("Be kind.", "Be brief.", "Be kind.")]

        example = example_of([*turns, Turn(role="user", text="hi")])

        assert example.metadata == {"system": "Be kind.\n\nBe brief."}

    def test_only_a_system_prompt_is_no_conversation(self) -> None:
        with pytest.raises(ValueError, match="there is no message of a user or an assistant"):
            example_of([Turn(role="system", text="Be kind.")])


class TestEnvelopes:
    @pytest.mark.parametrize(
        "request_",
        [
            "rain?",
            {"messages": [{"role": "user", "content": "rain?"}]},
            '{"messages": [{"role": "user", "content": "rain?"}]}',
            {"messages": [[{"type": "human", "content": "rain?"}]]},
            {"contents": [{"role": "user", "parts": [{"text": "rain?"}]}]},
            {"input": [{"role": "user", "content": "rain?"}]},
            {"input": "rain?", "model": "m"},
            {"prompts": ["Human: rain?"]},
            {"args": ["rain?"], "kwargs": {}},
            "user: rain?",
        ],
    )
    def test_a_question_is_found_in_every_request(self, request_: Any) -> None:
        assert asked(request_) == [Turn(role="user", text="rain?")]

    @pytest.mark.parametrize(
        "response",
        [
            "no",
            {"choices": [{"message": {"role": "assistant", "content": "no"}}]},
            {"candidates": [{"content": {"role": "model", "parts": [{"text": "no"}]}}]},
            {"generations": [[{"text": "no", "message": {"type": "ai", "content": "no"}}]]},
            {"generations": [[{"text": "no"}]]},
            {"object": "response", "output": [{"type": "message", "role": "assistant", "content": "no"}]},
            {"output": "no"},
            [{"role": "assistant", "content": "no"}],
            [{"type": "text", "text": "no"}],
        ],
    )
    def test_an_answer_is_found_in_every_response(self, response: Any) -> None:
        assert answered(response) == [Turn(role="assistant", text="no")]

    def test_a_system_prompt_beside_the_messages_comes_first(self) -> None:
        found = asked({"messages": [{"role": "user", "content": "hi"}], "system": "Be kind."})

        assert found == [Turn(role="system", text="Be kind."), Turn(role="user", text="hi")]

    @pytest.mark.parametrize("text", ['{"answer": 4}', '{"role": "engineer"}', "[1, 2]", '{"text": "a"}', "{oops"])
    def test_an_app_that_answers_in_json_is_quoted_as_it_stands(self, text: str) -> None:
        assert answered(text) == [Turn(role="assistant", text=text)]

    @pytest.mark.parametrize("nothing", [None, "", [], {}])
    def test_nothing_is_no_answer(self, nothing: Any) -> None:
        assert answered(nothing) == []


class TestValues:
    @pytest.mark.parametrize(
        "value",
        [
            "2024-03-07T13:45:53Z",
            "2024-03-07T13:45:53",
            "2024-03-07T14:45:53+01:00",
            1709819153,
            1709819153000,
            "1709819153000000000",
        ],
    )
    def test_a_time_is_the_same_in_every_unit(self, value: object) -> None:
        found = moment(value)

        assert found is not None
        assert found.timestamp() == 1709819153

    @pytest.mark.parametrize("value", [None, "", "yesterday", True, -5, 1e300, float("nan"), []])
    def test_what_is_no_time_is_none(self, value: object) -> None:
        assert moment(value) is None

    @pytest.mark.parametrize(
        "counted",
        [
            {"prompt_tokens": 3, "completion_tokens": 4},
            {"input_tokens": 3, "output_tokens": 4.0},
            {"input": 3, "output": 4, "total": 7},
            {"prompt_token_count": 3, "candidates_token_count": 4},
        ],
    )
    def test_tokens_are_counted_under_every_name(self, counted: dict[str, Any]) -> None:
        assert usage(counted) == {"prompt_tokens": 3, "completion_tokens": 4}

    def test_what_is_no_number_of_tokens_is_not_counted(self) -> None:
        assert usage({"prompt_tokens": "many", "completion_tokens": float("nan")}) == {}
