"""Apps that a suite describes: a request made of a template, and paths into the answer."""

import json
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Self

from simeval.core.conversation import AppResponse, ChatMessage, content_text
from simeval.core.redaction import (
    MARK,
    SHORTEST,
    logs_in,
    mark_of,
    secret_headers,
    secret_options,
    secrets_in,
    shown,
    shown_name,
)
from simeval.core.validation import require
from simeval.errors import DefinitionError
from simeval.suites.apps.before import ELSEWHERE, Before, MayRenew, Preparation, Taken, taken_in
from simeval.suites.apps.http_request import AddressedApp, require_no_json_text
from simeval.suites.apps.remote_app import Session
from simeval.suites.apps.replies import DOUBTFUL, NO_CALL, Reading, Reply, marks_of, wanted_of
from simeval.suites.apps.templates import (
    PLACES,
    PlacesKept,
    filled,
    places_in,
    require_places,
    require_variables,
    secrets_in_template,
    steps_of,
    written,
)

USUAL_REQUEST = {"message": "{message}", "session": "{session}"}
_USUAL_CALLS = ("tool_calls",)  # the place of tool calls, unless a path gives another
_NO_SESSION = (
    "each turn is a new conversation to your app, unless it keeps its session by a cookie: its request names no "
    "session; put {session} or {messages} into `request:`, or say with `session:` where your app names it"
)
_UNSENT_SESSION = (
    "each turn is a new conversation to your app, unless it keeps its session by a cookie: `session:` says where it "
    "names its session, and nothing sends that back; put {session} into `url:`, `request:` or `headers:`"
)


@dataclass(slots=True)
class Heard:
    """Counts the answers of an app while it is open, and those that may be none."""

    answers: int = 0
    doubtful: int = 0
    doubt: str = ""  # about the first of those
    no_calls: str = ""  # words on a value that is no tool call, though it is where calls are
    has_calls: bool = False  # something is where calls are
    calls_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedApp(AddressedApp):
    """An app at a URL, with the request to send and the place of the answer."""

    url: str
    request: Any = field(default_factory=lambda: dict(USUAL_REQUEST))
    headers: Mapping[str, str] = field(default_factory=dict)
    reply: str | None = None
    tool_calls: str | None = None
    context: str | None = None
    session: str | None = None
    where: Mapping[str, Any] | None = None
    fail_if: Mapping[str, Any] | str | None = None
    title: str | None = None
    before: Sequence[Before] | Before = ()
    _read: Reading = field(init=False, repr=False, compare=False)
    _preparation: Preparation = field(init=False, repr=False, compare=False)
    _places: Collection[str] = field(init=False, repr=False, compare=False)
    _heard: Heard = field(default_factory=Heard, init=False, repr=False, compare=False)

    @property
    def name(self) -> str:
        """Return its title, or its address with a mark that distinguishes other parts of the description."""
        usual = type(self)(url=f"{self.url.partition(':')[0]}://app")
        if self.title or self._described == usual._described:
            return shown_name(self._named)
        if (masked := shown(self.url)) != self.url:
            return f"{masked} ({mark_of(json.dumps([self.url, *self._described]))})"
        return f"{self.url} ({sha256(json.dumps(self._described).encode()).hexdigest()[:MARK]})"

    @property
    def secrets(self) -> list[object]:
        """The values that nobody is to see: of its address, of its headers, and those of the environment."""
        sent_headers = self._sent_headers(PlacesKept())  # values that a conversation puts there are not secrets
        steps = (self.before,) if isinstance(self.before, Before) else tuple(self.before)
        all_headers = [sent_headers, *(filled(step.headers, PlacesKept()) for step in steps)]
        headers = [each for some in all_headers for each in secret_headers(some) if len(str(each)) >= SHORTEST]
        sent = secret_options({"": [self.request, *(step.request for step in steps)]})
        sent = [each for each in sent if not places_in(each)]
        sent += [secret for step in steps for secret in secrets_in(step.url)]
        taken = secrets_in_template([self._templates, self._preparation.templates])
        return [*secrets_in(self.url), *secrets_in(self._named), *headers, *sent, *taken]

    @property
    def _named(self) -> str:
        return self.title or self.url

    @property
    def takes_parts(self) -> bool:
        """Whether it is given all parts of a message, such as images: where its request has the whole conversation."""
        return "messages" in places_in(self.request)

    @property
    def _described(self) -> list[Any]:
        described = [self.request, sorted(self.headers), self.reply, self.tool_calls, self.context, self.session]
        return [*described, *self._described_later]

    @property
    def _described_later(self) -> list[Any]:
        """Parts added by newer versions: without them an app keeps the name it had before."""
        where = [{"where": dict(self.where)}] if self.where else []
        failing = [{"fail_if": self.fail_if}] if self.fail_if else []
        return [*where, *failing, *(each.described for each in self._preparation.steps)]

    @property
    def doubts(self) -> Sequence[str]:
        """Words on answers that may be failures, and on tool calls that are not where they should be."""
        heard, found = self._heard, [self._heard.no_calls] if self._heard.no_calls else []
        if heard.doubt:
            found.append(f"{heard.doubtful} of {heard.answers} answers may be failures: {heard.doubt}")
        if self.tool_calls and heard.answers and not heard.has_calls:
            found.append(
                f"no tool call was seen: `tool_calls: {self.tool_calls}` is in none of {heard.answers} answers"
                f"{heard.calls_at}"
            )
        return found

    async def _answered(self, messages: Sequence[ChatMessage], state: Mapping[str, Any], reply: Reply) -> AppResponse:
        response = await super(DescribedApp, self)._answered(messages, state, reply)
        if self.tool_calls and not reply.has_calls:
            reply.notes[NO_CALL] = f"nothing is at {self.tool_calls} of this answer{reply.calls_at}"
        heard, notes = self._heard, self._notes(reply)
        heard.answers += 1
        heard.has_calls = heard.has_calls or reply.has_calls
        heard.calls_at = heard.calls_at or reply.calls_at
        heard.no_calls = heard.no_calls or (notes.get(NO_CALL, "") if reply.has_calls else "")
        if doubt := notes.get(DOUBTFUL):
            heard.doubtful += 1
            heard.doubt = heard.doubt or doubt
        return response

    @property
    def _reading(self) -> Reading:
        return self._read

    @property
    def _templates(self) -> list[Any]:
        return [self.url, self.request, self.headers, *self._preparation.templates]

    @property
    def _names_session(self) -> bool:
        """Whether the app names the conversation, and not we."""
        return bool(self.session) or "session" in self._preparation.names

    @property
    def has_session(self) -> bool:
        """Whether we name the conversation, or the app does."""
        return self._names_session or "session" in self._places

    @property
    def session_warning(self) -> str:
        """Warn if turns are not one conversation to the app, as far as can be known; empty if they are."""
        if not {"session", "messages"}.isdisjoint(self._places) or (self.session or "").startswith("cookie:"):
            return ""
        of_trial = {name for step in self._preparation.steps if step.per == "trial" for name in step.take}
        open_headers = {name: value for name, value in self.headers.items() if name.lower() != "authorization"}
        if of_trial & places_in([self.url, self.request, open_headers]):
            return ""
        return _UNSENT_SESSION if self._names_session else _NO_SESSION

    def session_advice(self, path: str) -> str:
        """Return advice if the session's name, at a path of the answer, is new at every turn."""
        if self.session:
            return ", though the one before was sent back: check under which name your app takes it"
        return f'; write `session: {path}` and `request: {{..., {path.rpartition(".")[2]}: "{{session}}"}}`'

    def _check(self, template: Any) -> None:
        """Parse the paths. Raises DefinitionError, also if a template has no place for the user's message."""
        steps = (self.before,) if isinstance(self.before, Before) else tuple(self.before)
        object.__setattr__(self, "_preparation", Preparation.of(steps, self._wire, self.headers))
        object.__setattr__(self, "_places", places_in([self.url, self.request, self.headers]))
        for url, headers in ((self.url, self.headers), *((step.url, step.headers) for step in steps)):
            if logs_in(url) and any(name.lower() == "authorization" for name in headers):
                found = "found a user in the address, and the header Authorization: they are sent as one"
                raise DefinitionError("app: headers", found=found, do="leave one of them out")
        known = (*PLACES, *(name for name in self._preparation.names if name not in PLACES))
        for name in ("url", "request", "headers"):
            require_places(getattr(self, name), f"app: {name}", known, any_case=name != "request")
        require_no_json_text(self.request, "app: request")
        do = "put {message}, or {messages} for the whole conversation, where it wants what the user says"
        require(bool(places_in(template) & {"message", "messages"}), "app: request", found=self.request, do=do)
        by_path = self.session if self.session and not self.session.startswith(ELSEWHERE) else None
        paths = {
            "reply": self.reply,
            "tool_calls": self.tool_calls,
            "context": self.context,
            "session": by_path,
        }
        read_at = {name: tuple(steps_of(path, f"app: {name}")) if path else () for name, path in paths.items()}
        calls = read_at.pop("tool_calls")
        where = wanted_of(self.where, "app: where") if self.where is not None else ()
        failing = marks_of(self.fail_if, "app: fail_if") if self.fail_if is not None else ()
        usual = calls or _USUAL_CALLS
        read = Reading(tool_calls=usual, all_calls=bool(calls), where=where, failing=failing, **read_at)
        object.__setattr__(self, "_read", read)

    def check(self) -> None:
        """Raise DefinitionError for an environment variable that is not set."""
        for name in ("url", "request", "headers"):
            require_variables(getattr(self, name), f"app.{name}")
        require_variables(self._preparation.templates, "app.before")

    async def __aenter__(self) -> Self:
        """Keep connections open, until as many have left as entered. Raises DefinitionError for a variable not set."""
        self.check()
        if not self._wire.users:
            object.__setattr__(self, "_heard", Heard())  # of this run alone
        await self._wire.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._wire.__aexit__()
        if not self._wire.users:
            self._preparation.shared.clear()  # the run is over

    async def leave(self, state: Mapping[str, Any]) -> None:
        """Close the line of the conversation of this state, if it has one."""
        self._preparation.begun.pop(Session.of(state).given, None)
        await super(DescribedApp, self).leave(state)

    async def _turn(self, messages: Sequence[ChatMessage], kept: Session, reply: Reply) -> Session:
        """Make the requests due before, and ask; if a login has expired, log in and ask again."""
        before = self._preparation
        if not before.steps:
            return await self._asked(messages, kept, reply)

        async def ask(taken: Sequence[Taken], may_renew: MayRenew) -> Session:
            reply.hides = {**reply.hides, **before.secrets_in(taken)}
            return await self._asked(messages, before.started(kept, taken), reply, may_renew)

        done, taken = await before.served(ask, kept, await before.ready(kept))
        return before.ended(done, taken)

    @abstractmethod
    async def _asked(
        self, messages: Sequence[ChatMessage], kept: Session, reply: Reply, may_renew: MayRenew = lambda: False
    ) -> Session:
        """Ask once, for `_turn`. Raises Expired for a 401 if a login can be repeated."""

    def _session_of(self, kept: Session) -> str | None:
        if self._names_session:
            return kept.theirs
        return kept.given if self.has_session else None

    def _values(self, messages: Sequence[ChatMessage], kept: Session) -> Mapping[str, Any]:
        """Return the values for the places of the templates."""
        return {
            **taken_in(kept),
            "message": content_text(messages[-1]["content"]),
            "messages": list(messages),
            "session": kept.theirs if self._names_session else kept.given,
        }

    def _content(self, values: Mapping[str, Any]) -> Any:
        return filled(self.request, values)

    def _sent_headers(self, values: Mapping[str, Any]) -> dict[str, str]:
        return {name: written(value, values) for name, value in self.headers.items()}
