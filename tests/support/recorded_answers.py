"""Answers in the forms of real frameworks, as they come over HTTP: each says "Your order is late."."""

import json
from collections.abc import Mapping
from typing import Any

SSE, LINES, JSON, TEXT = "text/event-stream", "application/x-ndjson", "application/json", "text/plain"
LATE = "Your order is late."
HALVES = ("Your order ", "is late.")
CALL = {"id": "c1", "name": "track", "arguments": {"order": "F1001"}}


def sse(*events: Any) -> str:
    """Return server-sent events: a text, an object, or either with the name of the event before it."""
    written = ""
    for event in events:
        name, value = event if isinstance(event, tuple) else ("", event)
        data = value if isinstance(value, str) else json.dumps(value)
        written += (f"event: {name}\n" if name else "") + f"data: {data}\n\n"
    return written


def lines(*events: Any) -> str:
    """Return lines of JSON."""
    return "".join(f"{json.dumps(event)}\n" for event in events)


def typed(*events: Mapping[str, Any]) -> str:
    """Return server-sent events that have the name of their type."""
    return sse(*((str(event["type"]), event) for event in events))


def openai(delta: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a chunk of OpenAI's Chat Completions."""
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def thread(text: str) -> Mapping[str, Any]:
    """Return a piece of a message of OpenAI's Assistants."""
    return {"index": 0, "type": "text", "text": {"value": text, "annotations": []}}


FIRST, SECOND = HALVES
RECORDED: Mapping[str, tuple[str, str]] = {  # by framework: the content type and the body
    "OpenAI": (
        SSE,
        sse(openai({"role": "assistant", "content": ""}), *(openai({"content": each}) for each in HALVES), "[DONE]"),
    ),
    "OpenAI's Responses": (
        SSE,
        typed(
            {"type": "response.created", "response": {"id": "r", "output": []}},
            {"type": "response.reasoning_summary_text.delta", "delta": "The user asks for an order."},
            *({"type": "response.output_text.delta", "delta": each} for each in HALVES),
            {"type": "response.function_call_arguments.delta", "delta": "{}"},
            {"type": "response.output_text.done", "text": LATE},
        ),
    ),
    "OpenAI's Assistants": (
        SSE,
        sse(
            *(("thread.message.delta", {"delta": {"content": [thread(each)]}}) for each in HALVES),
            ("thread.message.completed", {"role": "assistant", "content": [thread(LATE)]}),
            ("done", "[DONE]"),
        ),
    ),
    "Anthropic": (
        SSE,
        typed(
            {"type": "message_start", "message": {"role": "assistant", "content": []}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}},
            {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
            {"type": "ping"},
            *(
                {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": each}}
                for each in HALVES
            ),
            {"type": "message_stop"},
        ),
    ),
    "Ollama, generate": (LINES, lines(*({"response": each, "done": False} for each in HALVES), {"response": ""})),
    "Ollama, chat": (
        LINES,
        lines(
            *({"message": {"role": "assistant", "content": each}, "done": False} for each in HALVES),
            {"message": {"role": "assistant", "content": ""}, "done": True},
        ),
    ),
    "Bedrock": (
        LINES,
        lines(
            {"messageStart": {"role": "assistant"}},
            *({"contentBlockDelta": {"delta": {"text": each}, "contentBlockIndex": 0}} for each in HALVES),
            {"messageStop": {"stopReason": "end_turn"}},
            {"metadata": {"usage": {"inputTokens": 7}}},
        ),
    ),
    "Gemini": (
        SSE,
        sse(*({"candidates": [{"content": {"parts": [{"text": each}], "role": "model"}}]} for each in HALVES)),
    ),
    "Cohere": (
        SSE,
        sse(
            {"type": "message-start", "delta": {"message": {"role": "assistant", "content": []}}},
            *({"type": "content-delta", "delta": {"message": {"content": {"text": each}}}} for each in HALVES),
            {"type": "message-end"},
        ),
    ),
    "text-generation-inference": (
        SSE,
        sse(
            {"token": {"id": 1, "text": FIRST, "special": False}, "generated_text": None},
            {"token": {"id": 2, "text": SECOND, "special": False}, "generated_text": LATE},
        ),
    ),
    "LangServe": (
        SSE,
        sse(("metadata", {"run_id": "r"}), *(("data", json.dumps(each)) for each in HALVES), ("end", "")),
    ),
    "LangServe of a chat model": (
        SSE,
        sse(*(("data", {"content": each, "type": "AIMessageChunk", "name": None}) for each in HALVES)),
    ),
    "LangChain's events": (
        LINES,
        lines(
            {"event": "on_chain_start", "data": {"input": "Where is F1001?"}},
            *(
                event
                for each in HALVES
                for event in (
                    {"event": "on_chat_model_stream", "data": {"chunk": {"content": each}}},
                    {"event": "on_chain_stream", "data": {"chunk": each}},
                )
            ),
            {"event": "on_tool_end", "data": {"output": "late"}},
        ),
    ),
    "LangGraph": (
        SSE,
        sse(
            ("metadata", {"run_id": "r"}),
            ("messages", [{"content": "F1001: late", "type": "tool"}, {"langgraph_node": "tools"}]),
            *(
                ("messages", [{"content": each, "type": "AIMessageChunk"}, {"langgraph_node": "bot"}])
                for each in HALVES
            ),
        ),
    ),
    "Dify": (
        SSE,
        "event: ping\n\n"
        + sse(
            {"event": "agent_thought", "thought": "I look it up.", "tool": "track"},
            *({"event": "agent_message", "answer": each, "conversation_id": "c"} for each in HALVES),
            {"event": "message_end", "metadata": {"usage": {}}},
        ),
    ),
    "Flowise": (
        SSE,
        sse(
            {"event": "start", "data": ""},
            {"event": "agentReasoning", "data": "I look it up."},
            *({"event": "token", "data": each} for each in HALVES),
            {"event": "sourceDocuments", "data": [{"pageContent": "Orders are late."}]},
            {"event": "end", "data": "[DONE]"},
        ),
    ),
    "the AI SDK 4": (
        TEXT,
        'f:{"messageId":"m"}\ng:"Hm."\n0:"Your order "\n0:"is late."\n'
        'e:{"finishReason":"stop","usage":{"promptTokens":7,"completionTokens":3},"isContinued":false}\n'
        'd:{"finishReason":"stop","usage":{"promptTokens":7,"completionTokens":3}}\n',
    ),
    "the AI SDK 5": (
        SSE,
        sse(
            {"type": "start", "messageId": "m"},
            {"type": "start-step"},
            {"type": "reasoning-start", "id": "r"},
            {"type": "reasoning-delta", "id": "r", "delta": "Hm."},
            {"type": "text-start", "id": "t"},
            *({"type": "text-delta", "id": "t", "delta": each} for each in HALVES),
            {"type": "text-end", "id": "t"},
            {"type": "data-weather", "data": {"city": "Berlin"}},
            {"type": "finish"},
            "[DONE]",
        ),
    ),
    "Google's ADK": (
        SSE,
        sse(
            *({"content": {"parts": [{"text": each}], "role": "model"}, "partial": True} for each in HALVES),
            {"content": {"parts": [{"text": LATE}], "role": "model"}, "author": "bot"},
        ),
    ),
    "Agno": (
        SSE,
        sse(
            {"event": "RunStarted"},
            {"event": "ToolCallStarted", "content": "track(F1001)"},
            *({"event": "RunResponseContent", "content": each} for each in HALVES),
            {"event": "RunCompleted", "content": LATE},
        ),
    ),
    "n8n": (LINES, lines({"type": "begin"}, *({"type": "item", "content": each} for each in HALVES), {"type": "end"})),
    "a JSON sequence": ("application/json-seq", "".join(f"\x1e{json.dumps({'token': each})}\n" for each in HALVES)),
    "tokens by the event's name": (
        SSE,
        sse(("status", {"text": "Searching the knowledge base…"}), *(("token", {"text": each}) for each in HALVES)),
    ),
    "tokens by their type": (
        SSE,
        sse(
            {"type": "status", "text": "Searching the knowledge base…"},
            *({"type": "token", "text": each} for each in HALVES),
            {"type": "done", "text": "Finished in 0.2 s"},
        ),
    ),
    "tokens, and the whole answer last": (LINES, lines(*({"token": each} for each in HALVES), {"answer": LATE})),
    "plain texts": (SSE, sse(*HALVES)),
    "all text so far": (SSE, sse(*({"text": each} for each in ("Your", "Your order", LATE, LATE)))),
    "all text so far, in lists": (
        LINES,
        lines(*([{"content": each, "type": "ai"}] for each in ("Your", *HALVES[:1], LATE))),
    ),
    "events under the name of a text": (TEXT, sse(*({"token": each} for each in HALVES), "[DONE]")),
    "events without empty lines": (SSE, "".join(f"data: {json.dumps({'token': each})}\n" for each in HALVES)),
    "lines under the name of JSON": (JSON, lines(*({"token": each} for each in HALVES))),
    "a byte-order mark": (JSON, "\ufeff" + json.dumps({"reply": LATE})),
    "a byte-order mark before events": (SSE, "\ufeff" + sse(*HALVES)),
    "an answer in parts": (JSON, json.dumps({"content": [{"type": "text", "text": LATE}], "role": "assistant"})),
    "a message of Ollama": (JSON, json.dumps({"message": {"role": "assistant", "content": LATE}, "done": True})),
}
WITH_CALL: Mapping[str, tuple[str, str]] = {  # the same, with CALL
    "OpenAI": (
        SSE,
        sse(
            openai({"content": LATE}),
            openai({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "track", "arguments": ""}}]}),
            openai({"tool_calls": [{"index": 0, "function": {"arguments": '{"order": '}}]}),
            openai({"tool_calls": [{"index": 0, "function": {"arguments": '"F1001"}'}}]}),
        ),
    ),
    "Anthropic, streamed": (
        SSE,
        typed(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": LATE}},
            {
                "type": "content_block_start",
                "index": 1,
                "content_block": {"type": "tool_use", "id": "c1", "name": "track", "input": {}},
            },
            *(
                {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": each}}
                for each in ('{"order": ', '"F1001"}')
            ),
        ),
    ),
    "Anthropic": (
        JSON,
        json.dumps(
            {
                "content": [
                    {"type": "text", "text": LATE},
                    {"type": "tool_use", "id": "c1", "name": "track", "input": {"order": "F1001"}},
                ]
            }
        ),
    ),
    "the AI SDK 4": (
        TEXT,
        '0:"Your order "\n9:{"toolCallId":"c1","toolName":"track","args":{"order":"F1001"}}\n0:"is late."\n',
    ),
    "the AI SDK 5": (
        SSE,
        sse(
            {"type": "tool-input-start", "toolCallId": "c1", "toolName": "track"},
            {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": '{"order"'},
            {"type": "tool-input-available", "toolCallId": "c1", "toolName": "track", "input": {"order": "F1001"}},
            *({"type": "text-delta", "id": "t", "delta": each} for each in HALVES),
        ),
    ),
}
