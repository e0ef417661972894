"""Worlds as suite files name them; and one that only observes: probes of an app seen from outside."""

import inspect
import os
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Self

import anyio

from simeval.core.capture import Caught, capture
from simeval.core.redaction import clean_values, secret_headers, secret_options, secrets_in
from simeval.core.validation import require
from simeval.core.world import OF_THE_TRIAL, NamedWorld, Unmeasured
from simeval.errors import DefinitionError, WorldError
from simeval.suites.apps.before import METHODS
from simeval.suites.apps.command_app import require_program, said_by
from simeval.suites.apps.http_request import RequestTemplate, Wire, values_of
from simeval.suites.apps.named import load_object
from simeval.suites.apps.protocol_app import ProtocolApp
from simeval.suites.apps.remote_app import AppFailure, Session, quoted
from simeval.suites.apps.replies import Reply
from simeval.suites.apps.streams import value_of
from simeval.suites.apps.templates import (
    PlacesKept,
    hidden,
    places_in,
    require_places,
    require_variables,
    secrets_in_template,
    written,
)

PROBE_SECONDS = 30.0
_DO = "give each probe {url: ...}, perhaps with method, request, headers and encoding, or {command: ...}"
_URL_FIELDS = {"url", "method", "request", "headers", "encoding"}
NO_SESSION = "the app has not named its session"


class Probes:
    """A world of the outside: its state is the results of requests and commands at the end of a conversation, by name.

    A probe is {url, headers, method, request, encoding}, asked by GET (with a `request` by POST), or {command}, a
    program and its arguments. A JSON result is that value, any other its text. {session}, {seed} and {trial} are the
    trial's, ${NAME} is an environment variable. A probe that fails asserts nothing. `before` are one or more requests
    or commands that are made before the conversation; if one fails, the world cannot be opened.
    """

    def __init__(
        self,
        *,
        before: Mapping[str, Any] | Sequence[Mapping[str, Any]] = (),
        seed: int = 0,
        trial: int = 0,
        session: str | None = None,
        **probes: Mapping[str, Any],
    ) -> None:
        require(bool(probes), "world: probes", found="no probe", do=_DO)
        steps = [before] if isinstance(before, Mapping) else list(before)
        self._before = [_Probe("world: before", each, "POST") for each in steps]
        self._probes = {name: _Probe(f"world: probes: {name}", each, "GET") for name, each in probes.items()}
        self._wire, self._values = Wire(), {"seed": seed, "trial": trial, "session": session}

    async def __aenter__(self) -> Self:
        for step in self._before:
            found = await step.given(self._wire, self._values)
            if isinstance(found, Unmeasured):
                raise WorldError(f"could not be opened: `before:` could not be done: {found.reason}")
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def state(self, session: str | None = None) -> Mapping[str, Any]:
        """Return the result of each probe; Unmeasured if it fails."""
        values = {**self._values, "session": session or self._values["session"]}
        return {name: await probe.given(self._wire, values) for name, probe in self._probes.items()}

    @staticmethod
    def secrets_among(arguments: Mapping[str, Any]) -> Sequence[object]:
        """Return the values in the arguments of probes that nobody is to see."""
        listed = [step if isinstance(step, list) else [step] for step in arguments.values()]
        steps = [each for some in listed for each in some if isinstance(each, Mapping)]
        return [secret for step in steps for secret in _secrets_of_probe(step)]


class _Probe:
    """One request or command, with places for the trial's own values."""

    def __init__(self, where: str, found: Any, method: str) -> None:
        fits = isinstance(found, Mapping) and (set(found) == {"command"} or {"url"} <= set(found) <= _URL_FIELDS)
        require(fits, where, found=found, do=_DO)
        self.found, self.places = found, places_in(list(found.values()))
        self._request: RequestTemplate | None = None
        if "url" in found:
            method = "POST" if found.get("request") is not None else method
            self._request = RequestTemplate(where=where, methods=METHODS, **{"method": method, **found})
            self._request.require_places(OF_THE_TRIAL)
        else:
            require_program(found["command"], "a command")
            require_places(found["command"], f"{where}: command", OF_THE_TRIAL, variables=False)
        require_variables(list(found.values()), where)

    async def given(self, wire: Wire, values: Mapping[str, Any]) -> Any:
        """Return its result; Unmeasured if it fails."""
        if "session" in self.places and not values["session"]:
            return Unmeasured(NO_SESSION)
        asked = self._answer if self._request else self._output
        with anyio.move_on_after(PROBE_SECONDS):
            found = await capture(partial(asked, wire, values))
            clean = partial(hidden, template=list(self.found.values()))
            return Unmeasured(clean(str(found.error))) if isinstance(found, Caught) else clean_values(found, clean)
        return Unmeasured(f"no answer within {PROBE_SECONDS:g} seconds")

    async def _answer(self, wire: Wire, values: Mapping[str, Any]) -> Any:
        assert self._request is not None
        reply = Reply()
        async with wire.sent(self._request.made(values), Session(), reply, where=self._request.url) as answer:
            return [value async for value in values_of(answer, reply)][-1]

    async def _output(self, _: Wire, values: Mapping[str, Any]) -> Any:
        parts = [written(each, values) for each in shlex.split(self.found["command"])]
        status, said, complaint = await said_by(parts, env=os.environ)
        if status:
            raise AppFailure(f"exit status {status}: {quoted(complaint or said) or 'it wrote nothing'}")
        return value_of(said)


def require_session(world: object, app: object, where: str) -> None:
    """Raise DefinitionError where probes need a session, and the app has none, or none yet."""
    if not isinstance(world, NamedWorld) or world.kind is not Probes or "session" not in places_in(world.arguments):
        return
    if not isinstance(app, ProtocolApp) or not app.has_session:
        do = "put {session} into the app's `request:`, or say with `session:` where it names the conversation"
        raise DefinitionError(where, found="its probes have {session}, and the app has no session", do=do)
    if "session" in places_in(world.arguments.get("before")) and app.session_of({}) is None:
        found = "`before:` has {session}, and the app names its session later"
        raise DefinitionError(
            where, found=found, do="put {session} into the app's `request:`, or use {trial} or {seed}"
        )


def _secrets_of_probe(probe: Mapping[str, Any]) -> list[object]:
    headers = {name: written(value, PlacesKept()) for name, value in probe.get("headers", {}).items()}
    named = [probe["url"]] if "url" in probe else [f"cmd:{probe['command']}"]
    found = [secret for each in named for secret in secrets_in(each)]
    sent = secret_options({"": [probe.get("request")]})
    return [*found, *secret_headers(headers), *sent, *secrets_in_template(list(probe.values()))]


def read_world(found: object) -> Any:
    """Return the world of MODULE:CLASS, or of a mapping with that as its type, and its arguments; or of probes.

    Raises DefinitionError for anything else, and for arguments that the class does not take.
    """
    if isinstance(found, NamedWorld):
        return found
    given = {"type": found} if isinstance(found, str) else found
    if not isinstance(given, Mapping) or not isinstance(given.get("type"), str):
        do = "name a class as MODULE:CLASS, or give {type: MODULE:CLASS, ...}"
        raise DefinitionError("world", found=f"found {found!r:.80}", do=do)
    arguments = {name: each for name, each in given.items() if name != "type"}
    name = given["type"].strip()
    kind = Probes if name == "probes" else load_object(name, what="world")
    require(callable(kind), "world", found=kind, do="name a class, or a function that makes a world")
    is_context = not isinstance(kind, type) or hasattr(kind, "__aenter__")
    require(is_context, "world", found=name, do="let it be an async context manager: give it __aenter__ and __aexit__")
    takes = inspect.signature(kind)
    refused = OF_THE_TRIAL if kind is Probes else ("seed",)
    do = "give the probe another name" if kind is Probes else "leave it out: each trial gives its own"
    for taken in (each for each in refused if each in arguments):
        require(False, f"world: {taken}", found=arguments[taken], do=do)
    own = {each: 0 for each in OF_THE_TRIAL if each in takes.parameters and each not in arguments}
    try:
        takes.bind(**arguments, **own)
    except TypeError as error:
        raise DefinitionError("world", found=f"{name}: {error}", do="correct its arguments") from error
    if kind is Probes:
        Probes(**arguments)  # its mistakes are reported now
    return NamedWorld(name, kind, arguments)
