"""What OpenAI's chat protocol writes on the wire, as far as simeval uses it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from simeval.errors import ModelErrorKind
from simeval.models.protocol.replies import Reply

UNAUTHORIZED = 401  # no call with this key can succeed
_CONTENT_CODES = frozenset({"context_length_exceeded", "content_filter", "content_policy_violation"})
_KINDS: Mapping[int, ModelErrorKind] = {
    401: "authentication",
    403: "authentication",
    404: "unknown_model",
    408: "timeout",
    409: "server",
    425: "server",
    429: "rate_limit",
}


def response_format(reply: type[Reply], *, schema: bool) -> dict[str, Any]:
    """Ask for a JSON object: of the reply's schema where the model takes one, of any shape otherwise."""
    if not schema:
        return {"type": "json_object"}
    described = {"name": reply.__name__, "schema": reply.json_schema, "strict": True}
    return {"type": "json_schema", "json_schema": described}


def seconds_of(retry_after: str | None) -> float | None:
    """Read a Retry-After header, seconds or an HTTP date; None where there is none that can be read."""
    if retry_after is None:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(retry_after) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def kind_of(status: int, code: str = "") -> ModelErrorKind:
    """Say what kind of failure an HTTP status is, other than 200, with the error's code where there is one."""
    if code in _CONTENT_CODES:
        return "content"
    return _KINDS.get(status, "server" if status >= 500 else "bad_request")
