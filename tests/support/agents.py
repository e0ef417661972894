"""Agents of other people's SDKs, with fake models of their own: each calls `menu` once a turn, and counts the turns."""

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4


def menu(day: str) -> str:
    """Say what there is to eat."""
    return f"soup, {day}"


def answer(users: list[str]) -> str:
    """Return what an agent says that remembers all that the user said."""
    return f"{len(users)}: {users[-1]}"


def openai_agent() -> Any:
    """An agent of the OpenAI Agents SDK, on its interface of models."""
    from agents import Agent, Model, ModelResponse, Usage, function_tool, set_tracing_disabled
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    set_tracing_disabled(True)

    class Counting(Model):
        async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
            output: list[Any]
            if input[-1].get("type") == "function_call_output":
                said = answer([each["content"] for each in input if each.get("role") == "user"])
                text = ResponseOutputText(text=said, type="output_text", annotations=[])
                output = [
                    ResponseOutputMessage(
                        id=uuid4().hex, role="assistant", status="completed", type="message", content=[text]
                    )
                ]
            else:
                arguments = json.dumps({"day": "today"})
                output = [
                    ResponseFunctionToolCall(
                        call_id=uuid4().hex, name="menu", arguments=arguments, type="function_call"
                    )
                ]
            used = Usage(requests=1, input_tokens=5, output_tokens=2, total_tokens=7)
            return ModelResponse(output=output, usage=used, response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    return Agent(name="Support", model=Counting(), tools=[function_tool(menu)])


def pydantic_agent() -> Any:
    """An agent of pydantic-ai, on its FunctionModel."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    def counting(messages: Any, _: Any) -> ModelResponse:
        parts = [part for message in messages for part in message.parts]
        if parts[-1].part_kind == "tool-return":
            users = [part.content for part in parts if part.part_kind == "user-prompt"]
            return ModelResponse(parts=[TextPart(answer(users))])
        return ModelResponse(parts=[ToolCallPart("menu", {"day": "today"})])

    return Agent(FunctionModel(counting), name="Support", tools=[menu])


def _graph(checkpointer: Any) -> Any:
    from langchain_core.language_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langgraph.graph import MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode

    class State(MessagesState):
        orders: int

    def talk(state: Any) -> dict[str, Any]:
        last = state["messages"][-1]
        used = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
        call = {"name": "menu", "args": {"day": "today"}, "id": uuid4().hex}
        if last.type == "tool":
            users = [each.content for each in state["messages"] if each.type == "human"]
            said = AIMessage(answer(users), usage_metadata=used)
        else:
            said = AIMessage("", tool_calls=[call], usage_metadata=used)
        model = GenericFakeChatModel(messages=iter([said]))
        return {"messages": [model.invoke(state["messages"])], "orders": state.get("orders", 0) + 1}

    built = StateGraph(State)
    built.add_node("talk", talk)
    built.add_node("tools", ToolNode([menu]))
    built.set_entry_point("talk")
    built.add_conditional_edges("talk", lambda state: "tools" if state["messages"][-1].tool_calls else "__end__")
    built.add_edge("tools", "talk")
    return built.compile(checkpointer=checkpointer, name="Support")


def graph() -> Any:
    """A LangGraph graph without memory, on LangChain's fake chat model."""
    return _graph(None)


def graph_with_memory() -> Any:
    """The same with a checkpointer."""
    from langgraph.checkpoint.memory import InMemorySaver

    return _graph(InMemorySaver())


def asking_graph() -> Any:
    """A LangGraph graph that asks the user before it answers."""
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import MessagesState, StateGraph
    from langgraph.types import interrupt

    def ask(state: Any) -> dict[str, Any]:
        return {"messages": [("ai", f"You said {interrupt('Which order?')}")]}

    built = StateGraph(MessagesState)
    built.add_node("ask", ask)
    built.set_entry_point("ask")
    return built.compile(checkpointer=InMemorySaver())


def adk_agent() -> Any:
    """An agent of Google's ADK, on its interface of models."""
    from google.adk.agents import LlmAgent
    from google.adk.models.base_llm import BaseLlm
    from google.adk.models.llm_response import LlmResponse
    from google.genai import types

    class Counting(BaseLlm):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            parts = [(content.role, part) for content in llm_request.contents for part in content.parts]
            if parts[-1][1].function_response:
                users = [part.text for role, part in parts if role == "user" and part.text]
                part = types.Part(text=answer(users))
            else:
                part = types.Part(function_call=types.FunctionCall(name="menu", args={"day": "today"}))
            used = types.GenerateContentResponseUsageMetadata(prompt_token_count=5, candidates_token_count=2)
            yield LlmResponse(content=types.Content(role="model", parts=[part]), usage_metadata=used)

    def count(callback_context: Any) -> None:
        callback_context.state["orders"] = callback_context.state.get("orders", 0) + 1

    return LlmAgent(name="Support", model=Counting(model="counting"), tools=[menu], before_agent_callback=count)


def adk_runner() -> Any:
    """The runner of an agent of Google's ADK."""
    from google.adk.runners import InMemoryRunner

    return InMemoryRunner(agent=adk_agent(), app_name="shop")


AGENTS: dict[str, tuple[Callable[[], Any], str, Any]] = {  # with its name in reports, and its state after two turns
    "OpenAI Agents SDK": (openai_agent, "openai-agents:Support", {"agent": "Support"}),
    "pydantic-ai": (pydantic_agent, "pydantic-ai:Support", None),
    "LangGraph": (graph, "langgraph:Support", {"orders": 4}),
    "LangGraph with memory": (graph_with_memory, "langgraph:Support", {"orders": 4}),
    "ADK": (adk_agent, "adk:Support", {"orders": 2}),
    "ADK runner": (adk_runner, "adk:shop", {"orders": 2}),
}
