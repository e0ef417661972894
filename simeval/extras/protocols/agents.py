"""Agents of the SDKs of others as apps. They are known by their class: whoever has one has imported its SDK."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from importlib import import_module
from json import dumps
from typing import Any, ClassVar

from simeval.core.conversation import ChatMessage
from simeval.core.serialization import opened, plain
from simeval.suites.apps.protocol_app import ProtocolApp
from simeval.suites.apps.remote_app import AppFailure, Session, quoted
from simeval.suites.apps.replies import Reply

USER = "simeval"  # the user name, for an agent that asks for one


@dataclass(slots=True)
class Memory:
    """An agent's memory of one conversation, in its SDK's own form; it lasts as long as the conversation."""

    value: Any
    forget: Callable[[], Awaitable[None]] | None = None

    async def close(self) -> None:
        """Let the SDK forget it."""
        if self.forget is not None:
            await self.forget()


@dataclass(frozen=True, slots=True)
class AgentApp(ProtocolApp):
    """An agent that is an app: it remembers a conversation from turn to turn."""

    agent: Any
    sdk: ClassVar[str]
    is_foreign = True

    @property
    def name(self) -> str:
        """The name of the agent and its SDK."""
        return f"{self.sdk}:{getattr(self.agent, 'name', None) or type(self.agent).__name__}"

    @property
    def has_session(self) -> bool:
        """It remembers a conversation by an object of its SDK."""
        return False


@dataclass(frozen=True, slots=True)
class OpenAiAgent(AgentApp):
    """An agent of the OpenAI Agents SDK. A conversation goes on with the agent that it was handed to."""

    sdk = "openai-agents"

    async def _turn(self, messages: Sequence[ChatMessage], kept: Session, reply: Reply) -> Session:
        agent, said = kept.line.value if kept.line else (self.agent, list(messages[:-1]))
        run = import_module("agents").Runner.run
        result = await run(agent, [*said, {"role": "user", "content": messages[-1]["content"]}])
        reply.status = f"{len(result.raw_responses)} calls of its model"
        calls = _Calls(reply)
        for item in result.new_items:
            raw = opened(item.raw_item)
            if item.type == "tool_call_item":
                calls.made(
                    raw.get("call_id") or raw.get("id"), raw.get("name") or raw.get("type"), raw.get("arguments")
                )
            elif item.type == "tool_call_output_item":
                calls.gave(raw.get("call_id"), item.output)
        used = result.context_wrapper.usage
        reply.add_usage(used.input_tokens, used.output_tokens)
        reply.metadata["state"] = {"agent": result.last_agent.name}
        _say(result.final_output, reply)
        return replace(kept, line=Memory((result.last_agent, result.to_input_list())))


@dataclass(frozen=True, slots=True)
class PydanticAgent(AgentApp):
    """An agent of pydantic-ai. An output that is no text is written as JSON."""

    sdk = "pydantic-ai"

    async def _turn(self, messages: Sequence[ChatMessage], kept: Session, reply: Reply) -> Session:
        history = kept.line.value if kept.line else None
        result = await self.agent.run(messages[-1]["content"], message_history=history)
        calls, steps = _Calls(reply), result.new_messages()
        reply.status = f"{sum(step.kind == 'response' for step in steps)} calls of its model"
        for part in (part for step in steps for part in step.parts):
            if part.part_kind in ("tool-call", "builtin-tool-call"):
                calls.made(part.tool_call_id, part.tool_name, part.args)
            elif part.part_kind in ("tool-return", "builtin-tool-return"):
                calls.gave(part.tool_call_id, part.content)
        used = result.usage if hasattr(result.usage, "input_tokens") else result.usage()
        reply.add_usage(used.input_tokens, used.output_tokens)
        _say(result.output, reply)
        return replace(kept, line=Memory(result.all_messages()))


@dataclass(frozen=True, slots=True)
class GraphAgent(AgentApp):
    """A LangGraph graph whose state has `messages`; with a checkpointer a thread is a conversation.

    If it is interrupted it asks the user, and continues with the user's next message.
    """

    sdk = "langgraph"

    async def _turn(self, messages: Sequence[ChatMessage], kept: Session, reply: Reply) -> Session:
        known, is_asked = kept.line.value if kept.line else ({"messages": list(messages[:-1])}, False)
        new = {"role": "user", "content": messages[-1]["content"]}
        if is_asked:
            given = import_module("langgraph.types").Command(resume=new["content"])
        elif kept.line and getattr(self.agent, "checkpointer", None):
            given = {"messages": [new]}
        else:
            given = {**known, "messages": [*known["messages"], new]}
        found = await self.agent.ainvoke(given, {"configurable": {"thread_id": kept.given}})
        if not isinstance(found, Mapping) or not isinstance(found.get("messages"), list):
            raise AppFailure("its graph has no list of messages in its state")
        reply.status = f"{len(found['messages'])} messages in its state"
        _take_messages(found["messages"], reply)
        asked = found.get("__interrupt__") or ()
        reply.texts = [_written(each.value) for each in asked] or reply.texts
        if not reply.texts:
            raise AppFailure("its graph ended without a message for the user")
        state = {key: value for key, value in found.items() if key not in ("messages", "__interrupt__")}
        if state:
            reply.metadata["state"] = plain(opened(state))
        return replace(kept, line=Memory(({**state, "messages": found["messages"]}, bool(asked))))


def _take_messages(messages: Sequence[Any], reply: Reply) -> None:
    """Take in the messages of LangChain's that came after the last of the user's."""
    users = [place for place, message in enumerate(messages) if message.type == "human"]
    calls = _Calls(reply)
    for message in messages[users[-1] + 1 if users else 0 :]:
        if message.type == "tool":
            calls.gave(message.tool_call_id, message.content)
        elif message.type == "ai":
            for call in message.tool_calls:
                calls.made(call["id"], call["name"], call["args"])
            used = message.usage_metadata or {}
            reply.add_usage(used.get("input_tokens"), used.get("output_tokens"))
            reply.texts = [text] if (text := _text_of(message.content)) else reply.texts


def _text_of(content: Any) -> str:
    """Return the text of a message of LangChain's, which may be one of several parts."""
    if isinstance(content, str):
        return content
    return "".join(part if isinstance(part, str) else part.get("text", "") for part in content)


@dataclass(frozen=True, slots=True)
class AdkAgent(AgentApp):
    """An agent of Google's ADK, or its runner; a session is a conversation."""

    sdk = "adk"

    @property
    def name(self) -> str:
        """The name of the agent and its SDK."""
        return f"{self.sdk}:{getattr(self.agent, 'name', None) or self.agent.app_name}"

    async def _turn(self, messages: Sequence[ChatMessage], kept: Session, reply: Reply) -> Session:
        memory = kept.line or await self._begun(kept)
        runner, types = memory.value, import_module("google.genai.types")
        said = types.Content(role="user", parts=[types.Part(text=messages[-1]["content"])])
        calls, texts = _Calls(reply), []
        try:
            async with aclosing(runner.run_async(user_id=USER, session_id=kept.given, new_message=said)) as events:
                async for event in events:
                    texts += _taken(event, calls)
            named = {"app_name": runner.app_name, "user_id": USER, "session_id": kept.given}
            session = await runner.session_service.get_session(**named)
        except BaseException:  # also when cancelled: nobody else knows of the session yet
            await self.leave({"line": memory})
            raise
        reply.status = f"{len(texts)} messages for the user"
        if not texts:
            raise AppFailure("its run ended without a text for the user")
        reply.add("\n".join(texts))
        if session is not None and session.state:
            reply.metadata["state"] = plain(opened(dict(session.state)))
        return replace(kept, line=memory)

    async def _begun(self, kept: Session) -> Memory:
        """Begin a session, with the runner or, for an agent, with one that keeps sessions in memory."""
        runners = import_module("google.adk.runners")
        runner = self.agent if isinstance(self.agent, runners.Runner) else runners.InMemoryRunner(agent=self.agent)
        named = {"app_name": runner.app_name, "user_id": USER, "session_id": kept.given}
        await runner.session_service.create_session(**named)

        async def forget() -> None:
            await runner.session_service.delete_session(**named)

        return Memory(runner, forget)


def _taken(event: Any, calls: "_Calls") -> list[str]:
    """Process an event of ADK's, and return its text for the user. Raises AppFailure if it is an error."""
    if event.error_code:
        raise AppFailure(f"it says that it failed: {event.error_code}: {quoted(event.error_message or '')}")
    if event.partial:
        return []
    for call in event.get_function_calls():
        calls.made(call.id, call.name, call.args)
    for gave in event.get_function_responses():
        calls.gave(gave.id, gave.response)
    if (used := event.usage_metadata) is not None:
        calls.reply.add_usage(used.prompt_token_count, used.candidates_token_count)
    parts = (event.content.parts or []) if event.content and event.is_final_response() else []
    return ["".join(said)] if (said := [part.text for part in parts if part.text and not part.thought]) else []


@dataclass(slots=True)
class _Calls:
    """The tool calls of one turn, in a reply; a tool's result is added to its call."""

    reply: Reply

    def made(self, id: Any, name: Any, arguments: Any) -> None:
        """Take in a call."""
        self.reply.tool_calls.append({"id": id, "name": name, "arguments": plain(opened(arguments))})

    def gave(self, id: Any, result: Any) -> None:
        """Add the result of a call."""
        made: Iterable[Any] = (call for call in self.reply.tool_calls if call["id"] == id)
        for call in made:
            call["result"] = plain(opened(result))


def _say(output: Any, reply: Reply) -> None:
    """Add the output of a run. Raises AppFailure if it is empty."""
    if output is None or output == "":
        raise AppFailure("its run ended without an output")
    reply.add(_written(output))


def _written(output: Any) -> str:
    return output if isinstance(output, str) else dumps(plain(opened(output)), ensure_ascii=False)
