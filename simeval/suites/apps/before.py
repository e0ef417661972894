"""Requests before a conversation, such as a login, whose answers give values to later requests.

    before ──► answer ──► take: {token: $.access_token} ──► {token} in later requests      once a trial, or once a run

After a 401 the login steps are made again: the ones that use a secret, or whose answers set cookies. Other values, such
as the id of a session, stay as they are: the conversation goes on.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import anyio

from simeval.core.redaction import is_secret_name, shown
from simeval.core.validation import require, require_one_of
from simeval.suites.apps.http_request import (
    UNAUTHORIZED,
    Encoding,
    Request,
    RequestTemplate,
    Wire,
    hidden_cookies,
    text_of,
)
from simeval.suites.apps.remote_app import AppFailure, Session, of_status, quoted
from simeval.suites.apps.replies import Reply
from simeval.suites.apps.streams import value_of
from simeval.suites.apps.templates import MISSING, found_at, hidden, places_in, steps_of

if TYPE_CHECKING:
    import aiohttp

METHODS = ("POST", "PUT", "PATCH", "GET", "DELETE")
WHOLE = "$"  # the path of a whole answer
ELSEWHERE = ("header:", "cookie:")
MOST_LOGINS = 50  # in a row, where concurrent trials use up each before it has got an answer
FAILED = 400  # the lowest status of a failed request; logins of pages redirect
_OF_LOGINS = re.compile("auth|cookie", re.IGNORECASE)  # headers of logins; others have other names
_RESERVED = ("message", "messages")
_STORED = "before"  # the key in a stored session
MayRenew = Callable[[], bool]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """One request before a conversation.

    `url`, `method`, `request`, `headers` and `encoding` are as an app's, with the places {session} and the ones earlier
    requests take. `take` gives places to later requests: their names, with a path into the answer ($ is all of it),
    header:NAME or cookie:NAME; "session" is the app's name for the conversation. It is sent once `per` trial, or once a
    run, for all trials together. Cookies are kept. Raises DefinitionError for a request that cannot be sent.
    """

    url: str
    method: Literal["POST", "PUT", "PATCH", "GET", "DELETE"] = "POST"
    request: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    encoding: Encoding | None = None
    take: Mapping[str, str] = field(default_factory=dict)
    per: Literal["trial", "run"] = "trial"
    _template: RequestTemplate = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        template = RequestTemplate(
            where="before",
            url=self.url,
            method=self.method,
            request=self.request,
            headers=self.headers,
            encoding=self.encoding,
            methods=METHODS,
        )
        object.__setattr__(self, "_template", template)
        require_one_of(self.per, ("trial", "run"), "before: per")
        for name, path in self.take.items():
            is_name = name.isidentifier() and name not in _RESERVED
            require(is_name, "before: take", found=name, do="give names such as token: letters, digits and _")
            if path != WHOLE and not path.startswith(ELSEWHERE):
                steps_of(path, f"before: take: {name}")
        do = "take it once a trial: all conversations would be one"
        require(self.per == "trial" or "session" not in self.take, "before: take", found="session", do=do)

    @property
    def described(self) -> list[Any]:
        """Its parts, without the values of headers."""
        of_request = [self.url, self.method, self.request, sorted(self.headers), self.encoding]
        return [*of_request, dict(self.take), self.per]

    async def _taken_from(self, answer: aiohttp.ClientResponse) -> Taken:
        """Return the values in an answer. Raises AppFailure if it has failed, or a value is missing."""
        body = await text_of(answer)
        if answer.status >= FAILED:
            said = f"HTTP {answer.status}: {quoted(body) or answer.reason}"
            raise of_status(said, answer.status, answer.headers)
        cookies = {name: morsel.value for name, morsel in answer.cookies.items()}
        value = value_of(body)
        places = {name: _found(path, value, answer.headers, cookies) for name, path in self.take.items()}
        for name, found in places.items():
            if not isinstance(found, (str, int)) or found == "":
                had = f", which has {', '.join(map(str, value))}" if isinstance(value, Mapping) and value else ""
                raise AppFailure(f"there is no text and no number at {self.take[name]} of its answer{had}")
        return Taken({name: str(found) for name, found in places.items()}, cookies)


def _found(path: str, value: Any, headers: Mapping[str, str], cookies: Mapping[str, str]) -> Any:
    kind, _, name = path.partition(":")
    if path.startswith(ELSEWHERE):
        return (headers if kind == "header" else cookies).get(name.strip(), MISSING)
    return value if path == WHOLE else found_at(value, steps_of(path, "before: take"))


class Expired(Exception):
    """A request was refused with 401, and a new login can be made."""


@dataclass(slots=True, eq=False)
class Taken:
    """The values and cookies from one request. It is no JSON, so that no store keeps it.

    `served` counts the requests that were `answered` with it, or are under way.
    """

    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    cookies: Mapping[str, str] = field(default_factory=dict, repr=False)
    served: int = 0
    answered: bool = False


@dataclass(slots=True)
class Preparation:
    """The requests before the conversations of an app; `secrets` are the names of values nobody is to see.

    Those that are made once a run are shared: concurrent trials wait for one of them.
    """

    steps: Sequence[Before]
    wire: Wire
    secrets: Collection[str]
    shared: dict[int, Taken] = field(default_factory=dict)
    locks: defaultdict[int, anyio.Lock] = field(default_factory=lambda: defaultdict(anyio.Lock))
    begun: dict[str, list[Taken | None]] = field(default_factory=dict)  # of first turns without an answer, by session
    fruitless: Counter[int] = field(default_factory=Counter)  # logins in a row that got no answer, by step

    def __reduce__(self) -> tuple[type[Preparation], tuple[Any, ...]]:
        return Preparation, (self.steps, self.wire, self.secrets)  # a copy logs in by itself

    @classmethod
    def of(cls, steps: Sequence[Before], wire: Wire, headers: Mapping[str, str]) -> Preparation:
        """Check requests, each with those before it; `headers` are the app's. Raises DefinitionError."""
        known: list[str] = []
        of_run: list[str] = []
        for step in steps:
            step._template.require_places(of_run if step.per == "run" else ["session", *known])
            known += step.take
            of_run += step.take if step.per == "run" else ()
        sent = [item for each in (headers, *(step.headers for step in steps)) for item in each.items()]
        in_keys = places_in([value for name, value in sent if is_secret_name(name) or _OF_LOGINS.search(name)])
        secrets = {name for name in known if is_secret_name(name) or name in in_keys} - {"session"}
        return cls(steps, wire, secrets)

    @property
    def names(self) -> list[str]:
        """The names of all values."""
        return [name for step in self.steps for name in step.take]

    @property
    def templates(self) -> list[Mapping[str, Any]]:
        """The templates of all of them."""
        return [step._template.parts for step in self.steps]

    async def ready(self, kept: Session) -> tuple[Taken, ...]:
        """Make the requests that are still to be made, and return the values of all. Raises AppFailure."""
        own = kept.kept.get(_STORED) or self.begun.setdefault(kept.given, [None] * len(self.steps))
        found: tuple[Taken, ...] = ()
        for place, known in enumerate(own):
            known = known or self.shared.get(place)
            if known is None and self.steps[place].per == "trial":
                known, found = await self.served(partial(self._asked, place, kept), kept, found)
                self.begun[kept.given][place] = known
            elif known is None:
                async with self.locks[place]:
                    if place not in self.shared:
                        self.shared[place], found = await self.served(partial(self._asked, place, kept), kept, found)
                    known = self.shared[place]
            found = (*found, known)
        return found

    async def served(
        self, ask: Callable[[Sequence[Taken], MayRenew], Awaitable[T]], kept: Session, found: tuple[Taken, ...]
    ) -> tuple[T, tuple[Taken, ...]]:
        """Return an answer, and the values used to ask; if a login has expired, with a new one."""
        for number in itertools.count():
            for each in found:
                each.served += 1
            try:
                answer = await ask(found, partial(self._may_renew, found, number))
            except Expired:
                for each in found:
                    each.served -= 1
                found = await self._renewed(kept, found)
            else:
                for each in found:
                    each.answered = True
                return answer, found
        raise AssertionError

    def _may_renew(self, found: Sequence[Taken], number: int) -> bool:
        """Return whether to log in again: once, and once more where other trials have used up the new login."""
        logins = [(place, each) for place, each in enumerate(found) if self._logs_in(place, each)]
        if number == 0:
            return bool(logins)
        return any(
            self.steps[place].per == "run"
            and self.fruitless[place] < MOST_LOGINS
            and (each.served > 1 or self.shared.get(place) is not each)
            for place, each in logins
        )

    async def _renewed(self, kept: Session, stale: Sequence[Taken]) -> tuple[Taken, ...]:
        """Log in again, and return the values of all steps. Raises AppFailure."""
        found: tuple[Taken, ...] = ()
        for place, old in enumerate(stale):
            found = (*found, await self._anew(place, old, found, kept) if self._logs_in(place, old) else old)
        return found

    def secrets_in(self, found: Sequence[Taken]) -> Mapping[str, str]:
        """Return the values that nobody is to see, with their names."""
        of_cookies = hidden_cookies(cookies_in(found))
        return {**of_cookies, **{value: name for name, value in values_in(found).items() if name in self.secrets}}

    def _logs_in(self, place: int, taken: Taken) -> bool:
        return bool(taken.cookies) or not self.secrets.isdisjoint(self.steps[place].take)  # type: ignore[attr-defined]

    async def _anew(self, place: int, old: Taken, found: Sequence[Taken], kept: Session) -> Taken:
        if self.steps[place].per == "trial":
            new = await self._asked(place, kept, found)
            stays = {name: value for name, value in old.values.items() if name not in self.secrets}
            return Taken({**new.values, **stays}, new.cookies)
        async with self.locks[place]:
            if self.shared.get(place) in (old, None):  # else another trial has logged in again
                self.fruitless[place] = 0 if old.answered else self.fruitless[place] + 1
                self.shared[place] = await self._asked(place, kept, found)
            return self.shared[place]

    async def _asked(
        self, place: int, kept: Session, found: Sequence[Taken], may_renew: MayRenew = lambda: False
    ) -> Taken:
        step = self.steps[place]
        request = step._template.made({"session": kept.given, **values_in(found)})
        try:
            async with self._sent(request, kept, found, step) as answer:
                if answer.status == UNAUTHORIZED and may_renew():
                    raise Expired
                return await step._taken_from(answer)
        except AppFailure as failure:
            said = f"`before:` could not be done: {step.method} {shown(step.url)}: {failure}"
            failure.args = (hidden(said, (), self.secrets_in(found)),)
            failure.outcome = "key" if failure.outcome == "failed" else failure.outcome  # no turn was asked of the app
            raise

    def _sent(self, request: Request, kept: Session, found: Sequence[Taken], step: Before) -> Any:
        cookies = {**kept.cookies, **cookies_in(found)}
        return self.wire.sent(request, replace(kept, cookies=cookies), Reply(), where=step.url)

    def started(self, kept: Session, found: Sequence[Taken]) -> Session:
        """Return a session with these values, for one turn."""
        theirs = kept.theirs or values_in(found).get("session")
        cookies = {**cookies_in(found), **kept.cookies}
        return replace(kept, theirs=theirs, cookies=cookies, kept={_STORED: tuple(found)})

    def ended(self, kept: Session, found: Sequence[Taken]) -> Session:
        """Return a session after a turn, without the values that belong to the run."""
        self.begun.pop(kept.given, None)
        taken = cookies_in(found)
        cookies = {name: value for name, value in kept.cookies.items() if taken.get(name) != value}
        own = [None if step.per == "run" else each for step, each in zip(self.steps, found, strict=True)]
        return replace(kept, cookies=cookies, kept={_STORED: tuple(own)} if any(own) else {})


def taken_in(kept: Session) -> Mapping[str, str]:
    """Return the values for this turn, by their names."""
    return values_in(kept.kept.get(_STORED, ()))


def values_in(found: Sequence[Taken]) -> dict[str, str]:
    """Return the values of several, by their names."""
    return {name: value for each in found for name, value in each.values.items()}


def cookies_in(found: Sequence[Taken]) -> dict[str, str]:
    """Return the cookies of several."""
    return {name: value for each in found for name, value in each.cookies.items()}
