"""JSON-RPC 2.0, used by A2A and MCP: requests, and their answers."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from simeval.suites.apps.remote_app import AppFailure, quoted
from simeval.suites.apps.streams import value_of

METHOD_NOT_FOUND = -32601


class RpcFailure(AppFailure):
    """An error that was answered instead of a result, with the outcome of the HTTP status that it came with."""

    def __init__(self, error: Mapping[str, Any], of: AppFailure | None = None) -> None:
        self.code, self.data = error.get("code"), error.get("data")
        super().__init__(f"it answers with error {self.code}: {quoted(str(error.get('message', '')))}")
        if of is not None:
            self.outcome, self.retry_after = of.outcome, of.retry_after


def call(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request with an id of its own."""
    return {"jsonrpc": "2.0", "id": uuid4().hex, "method": method, "params": dict(params)}


def result_in(message: Any, called: Mapping[str, Any]) -> Any:
    """Return the result that a message holds for a call; None if it is another message.

    Raises RpcFailure if it holds an error, also one without an id, and AppFailure if it is no JSON-RPC.
    """
    if isinstance(message, str) and not message.strip():
        return None  # an event without data, which only shows that there is a stream
    if not isinstance(message, Mapping) or not {"result", "error", "method"} & {*message}:
        raise AppFailure(f"it answered with no JSON-RPC: {quoted(_text(message))}")
    if "method" in message or message.get("id", called["id"]) not in (called["id"], None):
        return None
    if isinstance(message.get("error"), Mapping):
        raise RpcFailure(message["error"])
    return message.get("result")


@contextmanager
def errors_told() -> Iterator[None]:
    """Raise the error in the body in place of a failure by an HTTP status."""
    try:
        yield
    except AppFailure as failure:
        found = value_of(failure.body)
        error = found.get("error") if isinstance(found, Mapping) else None
        if isinstance(error, Mapping) and "code" in error:
            raise RpcFailure(error, failure) from failure
        raise


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
