"""The base of apps that are reached by a protocol, and how a request to one can end.

messages, state ──► request ──► exchange ──► response, state      state: the session, values to send back

    answered   the app answered                                                           data about the app
    failed     the app failed: its users would have met the same                          data about the app
    later      it asked us to come back: 429, 529, 503 with Retry-After                   asked again, slower
    key        it does not let us in: 401, 402, 403, 407, 511, a redirection, a login     the tester's side: missing
    network    no connection was made, so the app was never asked                         asked again if it has answered
                                                                                          before, else missing

An error within a body with status 200, or within a stream, counts as the status it names: {"error": {"code": 429}}. A
body that says of itself that it failed, such as {"success": false}, is a failure.
Everything that talks to an app raises AppFailure with one of the last four. Nothing else decides this.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from errno import ECONNREFUSED, EHOSTUNREACH, ENETUNREACH
from functools import lru_cache
from operator import itemgetter
from socket import gaierror
from typing import Any, Literal
from uuid import uuid4

from simeval.core.conversation import AppResponse
from simeval.core.network import cause_of, new_traceparent
from simeval.core.waits import seconds_of

Outcome = Literal["failed", "later", "key", "network"]

RETRY_AFTER = "Retry-After"
_OF_STATUS: Mapping[int, Outcome] = {
    **dict.fromkeys((401, 402, 403, 407, 511), "key"),  # 511: the network wants a login
    **dict.fromkeys(range(300, 400), "key"),  # a login, or another address: no redirection is followed
    **dict.fromkeys((429, 529), "later"),  # 529: overloaded, as Anthropic and others say it
}
_OF_ERROR: Mapping[str, int] = {  # names of errors as the APIs of OpenAI, Anthropic, Google and AWS write them
    **dict.fromkeys(("authentication_error", "invalid_api_key", "unauthenticated", "unauthorized"), 401),
    **dict.fromkeys(("permission_error", "permission_denied", "access_denied", "forbidden"), 403),
    **dict.fromkeys(("insufficient_quota", "billing_error", "payment_required"), 402),
    **dict.fromkeys(("rate_limit_error", "rate_limit_exceeded", "rate_limited", "too_many_requests"), 429),
    **dict.fromkeys(("resource_exhausted", "throttling_exception", "throttled", "overloaded_error"), 429),
}
_NAMING_STATUS = ("status_code", "statusCode", "http_status", "status", "code", "type", "error", "errorText")
_SUCCESS = frozenset(
    ("success", "succeeded", "successful", "issuccess", "issuccessful", "ok", "isok")
)  # in any spelling
_FAILED = frozenset(("error", "failed", "failure", "iserror", "haserror", "isfailed"))  # and these, if they are true
_STATES = frozenset(("status", "type", "event"))
_FAILED_STATES = frozenset(("error", "exception", "fail", "failed", "failure"))
_STATUSES = frozenset(("status", "statuscode", "httpstatus"))
_ERRORS = frozenset(("error", "errors", "exception", "errorcode", "errormessage", "errormsg", "errortype", "err"))
_NO_ERROR = frozenset(("", "0", "200", "none", "null", "no", "no error", "n/a", "ok", "false", "success"))
_OF_CLOSE_CODE: Mapping[int, Outcome] = {1012: "later", 1013: "later", 4401: "key", 4403: "key", 4429: "later"}
_OF_EXIT_STATUS: Mapping[int, Outcome] = {75: "later", 77: "key"}  # EX_TEMPFAIL and EX_NOPERM of sysexits.h
_UNAVAILABLE, _LEAST_ERROR = 503, 400
_UNREACHED = {ECONNREFUSED, EHOSTUNREACH, ENETUNREACH}
_NEVER_CONNECTED = {"ConnectError", "ConnectTimeout", "ClientConnectorError", "NewConnectionError"}  # of HTTP clients

_WORD_ENDS = re.compile(r"[\s-]+|(?<=[a-z])(?=[A-Z])")

SHOWN = 200  # characters of a quoted text of an app


class AppFailure(Exception):
    """An app did not answer; `outcome` is the reason. `body` is the body of an HTTP response with an error status.

    `retry_after` is the number of seconds the app asked us to wait, if it did.
    """

    def __init__(
        self, said: str, *, outcome: Outcome = "failed", retry_after: float | None = None, body: str = ""
    ) -> None:
        super().__init__(said)
        self.outcome, self.retry_after, self.body = outcome, retry_after, body


def of_status(said: str, status: int, headers: Mapping[str, str] | None = None, *, body: str = "") -> AppFailure:
    """Return the failure for an HTTP status that is no answer; `said` describes it."""
    retry_after = seconds_of((headers or {}).get(RETRY_AFTER))
    outcome = _OF_STATUS.get(status, "failed")
    if status == _UNAVAILABLE and retry_after is not None:
        outcome = "later"
    return AppFailure(said, outcome=outcome, retry_after=retry_after, body=body)


def of_body(said: str, value: Any) -> AppFailure:
    """Return the failure for a body or an event that is no answer, by the status that its error names, if it does."""
    status = named_status(value)
    return AppFailure(said) if status is None else of_status(said, status)


def named_status(value: Any, levels: int = 3) -> int | None:
    """Return the HTTP status that a body names, by its number or by the usual name of an error; None if it does not.

    It is looked for in so many levels of mappings.
    """
    if isinstance(value, str):
        status = int(value) if value.isdecimal() and len(value) == 3 else None
        return _as_status(status, _LEAST_ERROR) or _OF_ERROR.get(_WORD_ENDS.sub("_", value.strip()).lower())
    if isinstance(value, Mapping) and levels:
        named = next(filter(None, (named_status(value.get(name), levels - 1) for name in _NAMING_STATUS)), None)
        said = value.get("message")  # an answer may be there, such as a number: that is no status
        return named or (None if isinstance(said, int) or str(said).isdecimal() else named_status(said, levels - 1))
    return _as_status(value, _LEAST_ERROR)


def sign_of_failure(value: Any) -> tuple[str, bool] | None:
    """Return the field in which a body says that it failed, and whether it plainly does; None if it does not say so.

    An error beside other fields is not plain: it may be about a part of the answer.
    """
    fields = value.items() if isinstance(value, Mapping) else ()
    signs = [(name, sign) for name, each in fields if (sign := _sign_in(_bare(str(name)), each)) is not None]
    return max(signs, key=itemgetter(1), default=None)


@lru_cache(1000)
def _bare(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _sign_in(name: str, found: Any) -> bool | None:
    """Return whether the value under a name plainly is a failure; None if it is none."""
    if isinstance(found, Mapping) and not any(found.values()):  # {"code": 0, "message": ""}
        return None
    said = found.strip().lower() if isinstance(found, str) else found
    if (
        (name in _SUCCESS and said in (False, "false", "0"))
        or (name in _FAILED and said is True)
        or (name in _STATES and isinstance(said, str) and said in _FAILED_STATES)
        or (name in _STATUSES and _as_status(said, _LEAST_ERROR) is not None)
    ):
        return True
    return False if name in _ERRORS and said and str(said) not in _NO_ERROR else None


def of_close_code(said: str, code: int | None) -> AppFailure:
    """Return the failure for a WebSocket that was closed with a code (RFC 6455; 4401, 4403, 4429 by custom)."""
    return AppFailure(said, outcome=_OF_CLOSE_CODE.get(code or 0, "failed"))


def of_exit_status(said: str, status: int) -> AppFailure:
    """Return the failure for a program's exit status (75: later, 77: key)."""
    return AppFailure(said, outcome=_OF_EXIT_STATUS.get(status, "failed"))


def unreached(where: str, error: Exception) -> AppFailure:
    """Return the failure for an address that could not be connected to."""
    return AppFailure(f"{where} cannot be reached ({cause_of(error)})", outcome="network")


def of_exception(error: BaseException, said: str) -> AppFailure:
    """Return the failure for an exception that an app's own code raised; `said` describes it.

    The exception or its cause may carry an HTTP status, as those of httpx, requests, aiohttp, urllib, openai, anthropic
    and botocore do, or mean that no connection was made.
    """
    for each in _causes(error):
        if isinstance(each, AppFailure):
            return AppFailure(said, outcome=each.outcome, retry_after=each.retry_after)
        if (status := _status_of(each)) is not None:
            return of_status(said, status, _headers_of(each))
        if _is_unreached(each):
            return AppFailure(said, outcome="network")
    return AppFailure(said)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and its causes.

    The context counts if a library hides the system's error, or raises one of its own that is one, as requests does.
    """
    seen: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in seen:
        seen.append(following)
        yield following
        is_of_system = isinstance(following, OSError) or isinstance(following.__context__, OSError)
        following = following.__cause__ or (following.__context__ if is_of_system else None)


def _status_of(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    if isinstance(response, Mapping):  # botocore's
        found = response.get("ResponseMetadata") or {}
        return _as_status(found.get("HTTPStatusCode") if isinstance(found, Mapping) else None)
    named = (getattr(each, name, None) for each in (error, response) for name in ("status_code", "status", "code"))
    return next(filter(None, map(_as_status, named)), None)


def _as_status(value: Any, least: int = 300) -> int | None:
    return int(value) if isinstance(value, int) and least <= value < 600 else None


def _headers_of(error: BaseException) -> Mapping[str, str]:
    found = getattr(error, "headers", None) or getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        return {str(name).title(): str(value) for name, value in found.items()}
    except AttributeError:
        return {}


def _is_unreached(error: BaseException) -> bool:
    is_named = not _NEVER_CONNECTED.isdisjoint(each.__name__ for each in type(error).__mro__)
    is_refused = isinstance(error, OSError) and (error.errno in _UNREACHED or isinstance(error, gaierror))
    return is_named or is_refused


@dataclass(frozen=True, slots=True)
class TimedResponse(AppResponse):
    """An answer whose seconds are known better than by the time of its whole exchange."""

    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request to an app and the response: as it came, and as it was understood.

    One of `response` and `failure` is None. `notes` describe how it was read, if that is of interest. `sent` gives the
    parts of the last request by their names, without secrets from the environment or a login.
    """

    status: str
    body: str
    response: AppResponse | None = None
    failure: AppFailure | None = None
    notes: Mapping[str, str] = field(default_factory=dict)
    sent: Callable[[], Mapping[str, str]] = field(default=dict, repr=False)

    def answer(self) -> AppResponse:
        """Return the response. Raises AppFailure if there is no answer."""
        if self.response is None:
            raise self.failure or AppFailure("no answer")
        return self.response


@dataclass(frozen=True, slots=True)
class Session:
    """The state of a conversation from turn to turn, in the form JSON has but for `line`.

    `given` is an id of ours, `theirs` the app's own name of the conversation, if it has one; `kept` is data the
    protocol needs back at the next turn. A `line` that is open for it cannot be stored: such a conversation cannot
    continue after an interrupted run.
    """

    given: str = field(default_factory=lambda: uuid4().hex)
    theirs: str | None = None
    cookies: Mapping[str, str] = field(default_factory=dict)
    kept: Mapping[str, Any] = field(default_factory=dict)
    line: Any = None

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> "Session":
        """Return the session in a state, or a new one."""
        return cls(**state["session"], line=state.get("line")) if "session" in state else cls()

    def state(self) -> dict[str, Any]:
        """Return the state that holds it."""
        names = {"given": self.given, "theirs": self.theirs, "cookies": dict(self.cookies), "kept": dict(self.kept)}
        return {"session": names} if self.line is None else {"session": names, "line": self.line}

    def new_traceparent(self) -> str:
        """Return the trace of a new request of this conversation: all of them are one trace."""
        return new_traceparent(self.given)


def quoted(text: str) -> str:
    """Return the beginning of an app's text, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else f"{line[:SHOWN]}…"
