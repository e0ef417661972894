"""The types of objects a user passes as the app, so that mypy and pyright find a wrong handler; its names."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Concatenate, Protocol

from simeval.core.conversation import AppResponse

Answer = AppResponse | str | tuple[str, Any]  # of the last the second is the state
Streamed = AsyncIterator[str | AppResponse] | Iterator[str | AppResponse]
Answers = Answer | Awaitable[Answer] | Streamed


class _RunnableAgent(Protocol):
    """An agent of pydantic-ai."""

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run it."""


class _InvokedGraph(Protocol):
    """A LangGraph graph."""

    def ainvoke(self, *args: Any, **kwargs: Any) -> Any:
        """Run it."""


class _StreamedAgent(Protocol):
    """An agent of Google's ADK, or its runner."""

    def run_async(self, *args: Any, **kwargs: Any) -> Any:
        """Run it."""


class _HandedAgent(Protocol):
    """An agent of the OpenAI Agents SDK."""

    @property
    def handoffs(self) -> Any:
        """The agents it hands over to."""


class _AsgiApp(Protocol):
    """An ASGI app, such as one of FastAPI."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""


AgentObject = _RunnableAgent | _InvokedGraph | _StreamedAgent | _HandedAgent


AppHandler = (
    Callable[Concatenate[str, ...], Answers]
    | Callable[Concatenate[list[Any], ...], Answers]
    | type[Any]
    | AgentObject
    | _AsgiApp
    | str
)
"""A function of (message, state) or (messages, state), with the state optional; an agent; an ASGI app; a model's name.

Further parameters are filled by their names, such as `session_id`, `history` or `tools`. Of a class each conversation
gets an object of its own.
"""

ExampleHandler = Callable[..., Any] | str
"""A function as before, or one of an example's inputs by their names, which returns a text or any value JSON has."""

ExampleApp = ExampleHandler | AgentObject
"""An app for the examples of a dataset."""

APP_FORMS = (
    "MODULE:HANDLER, MODULE:AGENT, an http or ws URL, openai:URL#MODEL, openai-responses:URL#MODEL, a2a:URL, agui:URL, "
    "mcp:URL#TOOL, mcp:PROGRAM#TOOL, cmd:PROGRAM or a model's name"
)
