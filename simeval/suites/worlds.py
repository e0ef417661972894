"""Worlds as suite files name them; and one that only looks: probes of an app nobody sees into."""

import inspect
import os
import shlex
from collections.abc import Mapping
from functools import partial
from typing import Any, Self

import anyio

from simeval.core.capture import Caught, capture
from simeval.core.redaction import clean_values
from simeval.core.validation import require
from simeval.core.world import NamedWorld, Unmeasured
from simeval.errors import DefinitionError
from simeval.suites.apps.addressed_app import require_address
from simeval.suites.apps.command_app import require_program
from simeval.suites.apps.http_wire import Request, Wire, values_of
from simeval.suites.apps.outcomes import AppFailure
from simeval.suites.apps.remote_app import Session, quoted
from simeval.suites.apps.replies import Reply
from simeval.suites.apps.streams import value_of
from simeval.suites.apps.templates import hidden, require_variables, written
from simeval.suites.objects import load_object

PROBE_SECONDS = 30.0
_DO = "give each probe {url: ...}, perhaps with headers, or {command: ...}"
_FIELDS = ({"url"}, {"url", "headers"}, {"command"})


class Probes:
    """A world of the outside: its state is what requests and commands give when a conversation is over, by their names.

    A probe is {url, headers}, which is asked by GET, or {command}, a program and its arguments. What gives JSON is that
    value, any other answer its text. ${NAME} stands for an environment variable. A probe that fails asserts nothing.
    """

    def __init__(self, **probes: Mapping[str, Any]) -> None:
        require(bool(probes), "world: probes", found="no probe", do=_DO)
        for name, probe in probes.items():
            where = f"world: probes: {name}"
            require(isinstance(probe, Mapping) and set(probe) in _FIELDS, where, found=probe, do=_DO)
            if "url" in probe:
                require_address(probe["url"], "one that begins with http:// or https://")
            else:
                require_program(probe["command"], "a command")
            require_variables(list(probe.values()), where)
        self._probes, self._wire = probes, Wire()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def state(self) -> Mapping[str, Any]:
        """Return what each probe gives; Unmeasured where it fails."""
        return {name: await self._probed(probe) for name, probe in self._probes.items()}

    async def _probed(self, probe: Mapping[str, Any]) -> Any:
        asked = self._answer if "url" in probe else _output
        with anyio.move_on_after(PROBE_SECONDS):
            found, clean = await capture(partial(asked, probe)), partial(hidden, template=list(probe.values()))
            return Unmeasured(clean(str(found.error))) if isinstance(found, Caught) else clean_values(found, clean)
        return Unmeasured(f"no answer within {PROBE_SECONDS:g} seconds")

    async def _answer(self, probe: Mapping[str, Any]) -> Any:
        headers = {name: written(value, {}) for name, value in probe.get("headers", {}).items()}
        request, reply = Request(url=written(probe["url"], {}), method="GET", headers=headers), Reply()
        async with self._wire.sent(request, Session(), reply, where=probe["url"]) as answer:
            return [value async for value in values_of(answer, reply)][-1]


async def _output(probe: Mapping[str, Any]) -> Any:
    parts = [written(each, {}) for each in shlex.split(probe["command"])]
    done = await anyio.run_process(parts, check=False, env=os.environ)
    said, complaint = (out.decode("utf-8", "replace").strip() for out in (done.stdout, done.stderr))
    if done.returncode:
        raise AppFailure(f"exit status {done.returncode}: {quoted(complaint or said) or 'it wrote nothing'}")
    return value_of(said)


def read_world(found: object) -> Any:
    """Return the world of MODULE:CLASS, or of a mapping with that as its type, and its arguments; or of probes.

    Raises DefinitionError for what is neither, and for arguments that the class does not take.
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
    do = "leave it out: each trial gives its own"
    require("seed" not in arguments, "world: seed", found=arguments.get("seed"), do=do)
    try:
        takes.bind(**arguments, **({"seed": 0} if "seed" in takes.parameters else {}))
    except TypeError as error:
        raise DefinitionError("world", found=f"{name}: {error}", do="correct its arguments") from error
    if kind is Probes:
        Probes(**arguments)  # its mistakes are told now
    return NamedWorld(name, kind, arguments)
