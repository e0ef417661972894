"""The types of what a user hands over as the app, so that a wrong handler is found by mypy and pyright."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

from simeval.core.conversation import AppResponse

Answer = AppResponse | str | tuple[str, Any]  # of the last the second is the state
Streamed = AsyncIterator[str | AppResponse] | Iterator[str | AppResponse]
Answers = Answer | Awaitable[Answer] | Streamed

AppHandler = (
    Callable[[str], Answers]
    | Callable[[str, Any], Answers]
    | Callable[[list[Any]], Answers]
    | Callable[[list[Any], Any], Answers]
    | str
)
"""A function of (message, state) or (messages, state), of which the state may be left out; or a model's name."""

ExampleHandler = Callable[..., Any] | str
"""The same, or a function of an example's inputs by their names, which returns a text or any value JSON has."""
