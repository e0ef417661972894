"""What an app's name means: a function, a model, an address or a program."""

import os
import re
from collections.abc import Callable
from typing import Any

from simeval.core.validation import require
from simeval.errors import DefinitionError
from simeval.suites.apps.command_app import CommandApp
from simeval.suites.apps.http_app import HttpApp
from simeval.suites.objects import load_object

KEY = "APP_API_KEY"  # sent to apps that speak OpenAI's protocol, where it is set: never a provider's own key
FORMS = "MODULE:HANDLER, https://..., openai:URL#MODEL, cmd:PROGRAM or a model's name"


def app_of(named: object) -> Callable[..., Any] | str:
    """Return the app that a name means, or what is one already; a model is its name. Raises DefinitionError."""
    if named is None:
        raise DefinitionError(
            "app",
            found="none is named",
            do="name yours with --app MODULE:HANDLER, or as app: in the suite; `simeval demo` shows a run without one",
        )
    if callable(named):
        return named
    require(isinstance(named, str), "app", found=named, do=f"give a function, or {FORMS}")
    assert isinstance(named, str)
    if re.match(r"https?://", named):
        return HttpApp(url=named)
    if named.startswith("openai:"):
        return _speaking_openai(named)
    if named.startswith("cmd:"):
        return CommandApp(named.removeprefix("cmd:"))
    if re.search(r"\.py(:|$)", named):
        raise DefinitionError(
            f"app {named!r}", found="this is a file", do="name it as a module, such as folder.app:handle"
        )
    if re.fullmatch(r"[\w.]+:[\w.]+", named):
        handler: Callable[..., Any] = load_object(named, what="app")
        return handler
    if "/" in named:
        return named
    raise DefinitionError(f"app {named!r}", found="this is neither a handler nor a model", do=f"use {FORMS}")


def _speaking_openai(named: str) -> HttpApp:
    """Return an app behind OpenAI's Chat Completions protocol."""
    url, _, model = named.removeprefix("openai:").partition("#")
    do = "write openai:URL#MODEL, such as openai:http://localhost:8000/v1#support"
    require(bool(model) and url.startswith("http"), f"app {named!r}", found="this names no URL or no model", do=do)
    return HttpApp(
        url=f"{url.rstrip('/')}/chat/completions",
        request={"model": model, "messages": "{messages}"},
        headers={"Authorization": f"Bearer ${{{KEY}}}"} if KEY in os.environ else {},
        reply="$.choices[0].message.content",
        tool_calls="$.choices[0].message.tool_calls",
        title=named,
    )
