"""Servers of the protocols' own Python packages; each says how many turns a conversation has had, and calls a tool."""

import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio

CALL = {"name": "menu", "arguments": {"day": "today"}}


def mcp_server() -> Any:
    """The server of the package `mcp`; the session is an argument."""
    from mcp.server.mcpserver import MCPServer

    server, turns = MCPServer("shop"), Counter[str]()

    @server.tool()
    def ask(question: str, session_id: str) -> dict[str, Any]:
        """Answer a question."""
        turns[session_id] += 1
        return {"reply": f"{turns[session_id]}: {question}", "tool_calls": [CALL]}

    @server.tool()
    def fail(question: str) -> str:
        """Fail."""
        raise RuntimeError("the database is away")

    return server


def mcp_application(_: Callable[[], str]) -> Any:
    return mcp_server().streamable_http_app()


def a2a_application(url: Callable[[], str], *, version: str = "1.0", streams: bool = True) -> Any:
    """The server of the package `a2a-sdk`; each task is done, but the first of a context wants more."""
    from a2a.helpers import new_data_part, new_task_from_user_message, new_text_message, new_text_part
    from a2a.server.agent_execution import AgentExecutor
    from a2a.server.request_handlers import DefaultRequestHandler
    from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
    from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
    from a2a.types import AgentCapabilities, AgentCard, AgentInterface
    from starlette.applications import Starlette

    turns = Counter[str]()

    class Counting(AgentExecutor):
        async def execute(self, context: Any, event_queue: Any) -> None:
            task = context.current_task or new_task_from_user_message(context.message)
            if context.current_task is None:
                await event_queue.enqueue_event(task)
            turns[task.context_id] += 1
            said = f"{turns[task.context_id]}: {context.get_user_input()}"
            updater = TaskUpdater(event_queue, task.id, task.context_id)
            if "fail" in said:
                await updater.failed(new_text_message("the database is away"))
            elif turns[task.context_id] == 1:
                await updater.requires_input(new_text_message(said))
            else:
                call = new_data_part(CALL)
                call.metadata.update({"adk_type": "function_call"})
                await updater.add_artifact([call, new_text_part(said)])
                await updater.complete()

        async def cancel(self, context: Any, event_queue: Any) -> None:
            raise NotImplementedError

    interface = AgentInterface(url=f"{url()}/", protocol_binding="JSONRPC", protocol_version=version)
    card = AgentCard(
        name="shop",
        description="A shop",
        version="1",
        supported_interfaces=[interface],
        capabilities=AgentCapabilities(streaming=streams),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
    )
    handler = DefaultRequestHandler(agent_executor=Counting(), task_store=InMemoryTaskStore(), agent_card=card)
    routes = create_jsonrpc_routes(handler, "/", enable_v0_3_compat=version != "1.0")
    return Starlette(routes=[*create_agent_card_routes(card), *routes])


def agui_application(_: Callable[[], str]) -> Any:
    """An agent of pydantic-ai behind AG-UI."""
    from pydantic_ai import Agent
    from pydantic_ai.models.function import DeltaToolCall, FunctionModel
    from pydantic_ai.ui.ag_ui import AGUIAdapter
    from starlette.applications import Starlette
    from starlette.routing import Route

    from tests.support.agents import answer, menu

    async def counting(messages: Any, _: Any) -> AsyncIterator[Any]:
        parts = [part for message in messages for part in message.parts]
        users = [part.content for part in parts if part.part_kind == "user-prompt"]
        if "fail" in users[-1]:
            raise RuntimeError("the database is away")
        if parts[-1].part_kind == "tool-return":
            yield answer(users)[:2]
            yield answer(users)[2:]
        else:
            yield {0: DeltaToolCall("menu", '{"day": "today"}', tool_call_id="c1")}

    agent = Agent(FunctionModel(stream_function=counting), tools=[menu])

    async def run(request: Any) -> Any:
        return await AGUIAdapter.dispatch_request(request, agent=agent)

    return Starlette(routes=[Route("/", run, methods=["POST"])])


@asynccontextmanager
async def served(application: Callable[[Callable[[], str]], Any]) -> AsyncIterator[str]:
    """Serve an application, which is made when its address is known, and give that."""
    import socket

    import uvicorn

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        server = uvicorn.Server(uvicorn.Config(application(lambda: url), log_level="critical", ws="none"))
        started = anyio.Event()

        async with anyio.create_task_group() as tasks:
            startup = server.startup

            async def announced(sockets: Any = None) -> None:
                await startup(sockets)
                started.set()

            server.startup = announced
            tasks.start_soon(server.serve, [listening])
            await started.wait()
            yield url
            server.should_exit = True


if __name__ == "__main__":
    sys.exit(mcp_server().run())
