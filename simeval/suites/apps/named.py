"""Resolve an app's name: a function, an agent, a model, an address or a program."""

import importlib
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

from simeval.core.app_handler import APP_FORMS
from simeval.core.capture import OWN, LeftError, guarded_call, place_of, rank_of
from simeval.core.faces import load
from simeval.core.validation import closest, require
from simeval.core.world import NamedWorld
from simeval.errors import DefinitionError
from simeval.suites.apps.asgi import is_asgi, path_of_chat
from simeval.suites.apps.command_app import CommandApp
from simeval.suites.apps.http_request import KEY, KEY_TEMPLATE
from simeval.suites.apps.protocol_app import ProtocolApp

_PROVIDERS = {"claude": "anthropic", "gemini": "gemini", "mistral": "mistral", "deepseek": "deepseek", "grok": "xai"}
_OF_RUNS = frozenset(("Engine", "ScenarioTest"))  # names in a module that has runs, too
_FAMILY = re.compile(r"(gpt|claude|gemini|gemma|mistral|llama|command|deepseek|qwen|grok|phi)", re.IGNORECASE)
_IN_FILE = re.compile(r"(?P<folder>(?:[^:]*/)?)(?P<module>\w+)(?P<suffix>(?:\.py)?):(?P<name>[\w.]+)")
_MODEL = re.compile(r"^(gpt|chatgpt|claude|gemini|mistral|llama|command|deepseek|qwen|grok|o\d)[\w.]*-", re.IGNORECASE)


def import_from(folder: Path) -> None:
    """Let modules of a folder be imported, after all that could be before."""
    found = str(folder.resolve())
    if found not in sys.path:
        sys.path.append(found)


def load_object(reference: str, *, what: str) -> Any:
    """Import `module:object`, also from the current folder, or FOLDER/FILE:OBJECT. Raises DefinitionError."""
    module_name, _, attribute = _with_module(reference).partition(":")
    do = f"name the {what} as MODULE:OBJECT, which lies in the current folder or beside the suite"
    if not all(part.isidentifier() for part in [*module_name.split("."), *attribute.split(".")]):
        raise DefinitionError(f"{what} {reference!r}", found="this is not of the form MODULE:OBJECT", do=do)
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        module: Any = guarded_call(partial(importlib.import_module, module_name), f"importing {module_name}")
    except Exception as raised:  # whatever the module raises while it is imported
        error = raised.__cause__ if isinstance(raised, LeftError) and raised.__cause__ else raised
        place, do = ("", do) if _is_missing(error, module_name) else (_place(error), _way_out(error, module_name))
        found = f"importing it failed ({type(error).__name__}: {error}{place})"
        raise DefinitionError(f"{what} {reference!r}", found=found, do=do) from error
    named = module
    for name in attribute.split("."):
        if not hasattr(named, name):
            found = f"{module_name} has no {attribute!r}"
            if other := _in_its_place(module):
                found, do = f"{found}; this is {other}, which Python finds first", "give your module another name"
            elif meant := closest(name, [each for each in dir(named) if not each.startswith("_")]):
                do = meant
            raise DefinitionError(f"{what} {reference!r}", found=found, do=do)
        named = getattr(named, name)
    return named


def name_there(thing: object, *modules: str) -> str:
    """Return MODULE:NAME of an object that one of these modules, or any of the user's own, has under a name; else "".

    It has one name, whoever imports it; the started program is searched only if the object belongs to it.
    """
    others = sorted(name for name, each in sys.modules.copy().items() if name != "__main__" and _is_own(each))
    for module in dict.fromkeys([*modules, *others]):
        found = vars(sys.modules[module]) if module in sys.modules else {}
        for name, each in list(found.items()):
            if each is thing and not name.startswith("_"):
                return f"{module}:{name}"
    return ""


def _is_own(module: object) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and rank_of(file) == OWN


def _in_its_place(module: Any) -> str:
    """Return the file of a module if the current folder has another of its name; else ""."""
    file = getattr(module, "__file__", None)
    own = Path.cwd() / f"{module.__name__}.py"
    is_other = file and own.is_file() and Path(file).resolve() != own.resolve()
    return str(file) if is_other else ""


def _place(error: BaseException) -> str:
    """Return where it was raised, for a sentence; a syntax error names its own place."""
    return "" if isinstance(error, SyntaxError) else place_of(error)


def _is_missing(error: BaseException, module_name: str) -> bool:
    """Return whether the module that was named is not there itself, or a package that it is in."""
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    return missing is not None and f"{module_name}.".startswith(f"{missing}.")


def _way_out(error: BaseException, module_name: str) -> str:
    """Return advice on a module that exists, and fails."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"install {error.name.partition('.')[0]} in simeval's environment, or correct the import"
    return f"correct that line; `python -c 'import {module_name}'` shows all of it"


def app_of(named: object) -> Callable[..., Any] | str:
    """Return the app that a name means; an app or agent is returned as one, and a model is its name.

    Raises DefinitionError.
    """
    if named is None:
        raise DefinitionError(
            "app",
            found="none is named",
            do="name yours with --app MODULE:HANDLER, or as app: in the suite; `simeval demo` shows a run without one",
        )
    if callable(app := as_app(named)):
        return app  # type: ignore[no-any-return]
    require(isinstance(named, str), "app", found=named, do=f"give a function, or {APP_FORMS}")
    assert isinstance(named, str)
    if re.match(r"https?://", named):
        from simeval.suites.apps.http_app import HttpApp

        return HttpApp(url=named)
    if re.match(r"wss?://", named):
        from simeval.suites.apps.socket_app import SocketApp

        return SocketApp(url=named)
    protocol, _, rest = named.partition(":")
    if protocol in _PROTOCOLS:
        return _PROTOCOLS[protocol](rest)
    named = _with_module(named)
    _refuse_look_alikes(named)
    if names_object(named):
        return app_of(load_object(named, what="app"))
    if "/" in named:
        return named
    module, _, handler = named.rpartition(".")
    is_dotted = handler.isidentifier() and re.fullmatch(r"\w+(\.\w+)*", module)
    do = f"did you mean {f'{module}:{handler}'!r}?" if is_dotted else f"use {APP_FORMS}"
    if known := _MODEL.search(named):
        provider = _PROVIDERS.get(known[1].lower(), "openai")
        do = f"name a model with its provider, such as {provider}/{named}"
    raise DefinitionError(f"app {named!r}", found="this is neither a handler nor a model", do=do)


def _with_module(named: str) -> str:
    """Return a handler in a file (FOLDER/FILE:HANDLER) as MODULE:HANDLER, which can be imported then; others as is."""
    found = _IN_FILE.fullmatch(named)
    if found is None or not (found["folder"] or found["suffix"]):
        return named
    file = Path(found["folder"], f"{found['module']}.py")
    beside = next((Path(each) for each in ("", *sys.path) if Path(each, file).is_file()), None)
    if beside is None:
        return named
    within = file.parent.parts
    if all(part.isidentifier() for part in within):
        return ":".join([".".join([*within, found["module"]]), found["name"]])
    import_from(beside / file.parent)
    return f"{found['module']}:{found['name']}"


def as_app(found: Any) -> Any:
    """Return an agent of one of these SDKs, or an ASGI app, as an app, and anything else as it is."""
    bases = () if isinstance(found, type) else type(found).__mro__
    for module, name, kind in _AGENTS:
        if any(each.__name__ == name and f"{each.__module__}.".startswith(f"{module}.") for each in bases):
            return load(f"simeval.extras.protocols.agents:{kind}")(found)
    if not is_asgi(found):
        return found
    from simeval.suites.apps.http_app import HttpApp

    return HttpApp(asgi=found, url=path_of_chat(found))


def secrets_of(app: object, suite: Sequence[object] = ()) -> list[object]:
    """Return the values that nobody is to see: those of an app that is reached by a protocol, and of worlds."""
    own = app.secrets if isinstance(app, ProtocolApp) else ()
    worlds = [getattr(each, "world", None) for each in suite]
    return [*own, *(secret for world in worlds if isinstance(world, NamedWorld) for secret in world.secrets)]


def session_warnings(apps: Sequence[object], turns: int) -> list[str]:
    """Warn of apps that cannot know that the turns of a conversation belong together, if it has several turns."""
    remote = [app for app in apps if isinstance(app, ProtocolApp) and app.session_warning] if turns > 1 else []
    return [f"{each.name}: {each.session_warning}" if len(apps) > 1 else each.session_warning for each in remote]


def name_of(handler: Callable[..., Any]) -> str:
    """Return the name that reports show for a function, or for an app that is reached by a protocol."""
    if isinstance(handler, ProtocolApp):
        return handler.name
    module = str(getattr(handler, "__module__", None) or type(handler).__module__)
    called = getattr(handler, "__qualname__", None)
    owner = getattr(handler, "__self__", None)
    if owner is not None and called and (owned := name_there(owner, module)):
        return f"{owned}.{called.rpartition('.')[2]}"
    is_told = called is not None and "<" not in called
    inner = getattr(handler, "func", handler)  # of a partial
    kept = (
        "" if is_told else name_there(handler, module, type(handler).__module__, str(getattr(inner, "__module__", "")))
    )
    return kept or f"{module}:{called or type(handler).__qualname__}"


def code_of(handler: object) -> str:
    """Return the identity of the user's own module with an app; "" for any other, or if its file cannot be read.

    The started program has none, nor has a module that knows the suite or the engine: it may have the options that
    resume a run, and a higher limit changes no answer.
    """
    inner = handler.func if isinstance(handler, partial) else handler
    name = getattr(inner, "__module__", None)
    module = sys.modules.get(name) if isinstance(name, str) and name != "__main__" else None
    if module is None or not _is_own(module) or not _OF_RUNS.isdisjoint(vars(module)):
        return ""
    try:
        return sha256(Path(str(module.__file__)).read_bytes()).hexdigest()[:12]
    except OSError:
        return ""


def _refuse_look_alikes(named: str) -> None:
    """Raise DefinitionError for a near miss of a name: a file, a module alone, or an address."""
    path, _, handler = named.partition(":")
    if " " in path.strip() and not Path(path).exists() and which(path.split()[0]) is not None:
        raise DefinitionError(f"app {named!r}", found="this is a program", do=f"write cmd:{named}")
    protocol, rest = path, handler
    module = path.removesuffix(".py").removeprefix("./")
    if path.endswith(".py") or (Path(f"{module}.py").is_file() and ("/" in path or not handler)):
        found = "this is a file" if "/" in path or path.endswith(".py") else "this is a module, without its handler"
        name = module.strip("/").replace("/", ".") if re.fullmatch(r"\w+(/\w+)*", module) else "folder.app"
        do = f"name it as a module with its handler, such as {name}:{handler or 'handle'}"
        raise DefinitionError(f"app {named!r}", found=found, do=do)
    if re.match(r"(https?|wss?)//[^/\s]", named):
        do = f"write {named.replace('//', '://', 1)}"
        raise DefinitionError(f"app {named!r}", found="a colon is missing before the slashes", do=do)
    if re.match(r"(https?|wss?):/?[^/\s]", named) and not rest.isidentifier():
        found = f"{'a slash is' if rest.startswith('/') else 'two slashes are'} missing behind the colon"
        do = f"write {re.sub(':/?', '://', named, count=1)}"
        raise DefinitionError(f"app {named!r}", found=found, do=do)
    if "://" in rest and (meant := closest(protocol, list(_PROTOCOLS))):
        raise DefinitionError(f"app {named!r}", found=f"there is no protocol {protocol!r}", do=meant)
    if address := re.fullmatch(r"\w+://(.*)|([\w.-]+:\d+(?:/.*)?)", named):
        do = f"write http://{address[1] or address[2]}, or https://"
        raise DefinitionError(f"app {named!r}", found="this is no address of a known kind", do=do)


def require_model_name(named: str) -> None:
    """Raise DefinitionError for a name that commands and suite files take for an app, and Python for a model's."""
    module, _, name = named.partition(":")
    module, do = module.removesuffix(".py"), ""
    if re.match(r"\w+://", named) or module in _PROTOCOLS:
        do = "give the app itself, such as HttpApp(url='http://...')"
    elif _looks_like_an_object(module, name):
        do = f"give the function itself: from {module} import {name.partition('.')[0]}"
    if do:
        raise DefinitionError(f"app {named!r}", found="in Python a text is the name of a model", do=do)


def _looks_like_an_object(module: str, name: str) -> bool:
    """Return whether MODULE:NAME are Python names, and the module exists or has no word like a model's."""
    if not re.fullmatch(r"\w+(\.\w+)*", module) or not name.partition(".")[0].isidentifier():
        return False
    if _is_module(module):
        return True
    return not _FAMILY.match(module) and (module.isidentifier() and not any(map(str.isdigit, f"{module}{name}")))


def _is_module(name: str) -> bool:
    """Return whether there is a module of this name, or a package that it would be in; nothing is imported."""
    top = name.partition(".")[0]
    return Path(f"{name.replace('.', '/')}.py").is_file() or top in sys.modules or find_spec(top) is not None


def names_object(named: str) -> bool:
    """Return whether a name has the form MODULE:OBJECT, and is no protocol with an address."""
    return bool(re.fullmatch(r"[\w.]+:[\w.]+", named)) and named.partition(":")[0] not in _PROTOCOLS


def _speaking_completions(rest: str) -> Callable[..., Any]:
    """Return an app behind OpenAI's Chat Completions protocol."""
    from simeval.suites.apps.http_app import HttpApp

    url, _, model = rest.partition("#")
    do = "write openai:URL#MODEL, such as openai:http://localhost:8000/v1#support"
    is_named = bool(model) and url.startswith("http")
    if not is_named:
        raise DefinitionError(f"app {f'openai:{rest}'!r}", found="this names no URL or no model", do=do)
    base, sign, query = url.partition("?")
    return HttpApp(
        url=f"{base.rstrip('/')}/chat/completions{sign}{query}",
        request={"model": model, "messages": "{messages}"},
        headers={"Authorization": f"Bearer {KEY_TEMPLATE}"} if KEY in os.environ else {},
        reply="$.choices[0].message.content",
        tool_calls="$.choices[0].message.tool_calls",
        title=f"openai:{rest}",
    )


def _elsewhere(place: str, rest: str) -> Callable[..., Any]:
    """Make an app of a feature that attaches from outside; it is imported when it is named."""
    app: Callable[..., Any] = load(f"simeval.extras.protocols.{place}")(rest)
    return app


# A new one is a class and a row here.
_PROTOCOLS: Mapping[str, Callable[[str], Callable[..., Any]]] = {
    "openai": _speaking_completions,
    "openai-responses": partial(_elsewhere, "responses_app:at"),
    "a2a": partial(_elsewhere, "a2a_app:A2aApp"),
    "agui": partial(_elsewhere, "agui_app:AguiApp"),
    "mcp": partial(_elsewhere, "mcp_app:tool_at"),
    "cmd": CommandApp,
}
_AGENTS = (  # the module of an SDK, the class of its agents, and what makes an app of one
    ("agents.agent", "Agent", "OpenAiAgent"),
    ("pydantic_ai.agent", "AbstractAgent", "PydanticAgent"),
    ("langgraph.pregel", "PregelProtocol", "GraphAgent"),
    ("google.adk.agents", "BaseAgent", "AdkAgent"),
    ("google.adk.runners", "Runner", "AdkAgent"),
)
