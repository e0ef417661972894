"""What `simeval run` does: loads what it is given, runs it, writes the reports, gives the exit status."""

import os
import re
import shlex
import sys
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass
from traceback import format_exc
from typing import Any, NoReturn

import anyio
import click

from simeval.cli.options import overrides
from simeval.cli.output import (
    BAD_INPUT,
    INTERRUPTED,
    NOT_COMPLETED,
    make_printable,
    require_writable,
    say,
    show,
    write_json,
    write_text,
)
from simeval.cli.signals import INTERRUPT, ending_on_signals
from simeval.core.executors import RayExecutor
from simeval.core.logs import configure_logging, log
from simeval.core.settings import DEFAULTS, Settings
from simeval.core.trial import Outcome
from simeval.core.version import __version__
from simeval.engine.engine import DEFAULT_APP, Engine
from simeval.engine.run_context import AppHandler
from simeval.errors import DefinitionError, SimevalError
from simeval.models.registry import redactor_of
from simeval.results.encoding import encode_suite
from simeval.results.junit import junit_xml
from simeval.results.suite import SuiteResult
from simeval.suites.files import Suite, load_suite
from simeval.suites.objects import load_object

STATUS: dict[Outcome, int] = {"pass": 0, "fail": 1, "inconclusive": 1, "error": 3}
THREAD_SECONDS = 0.5  # how long threads may take to end by themselves when the process does


@dataclass(frozen=True, slots=True)
class _Reports:
    """Where the result of a run is written."""

    json_path: str | None
    junit_path: str | None

    def require_writable(self) -> None:
        for path in (self.json_path, self.junit_path):
            require_writable(path)

    def write(self, result: SuiteResult) -> None:
        show(result, self.json_path)
        write_json(self.json_path, encode_suite(result.results, result.run, version=__version__))
        if self.junit_path:
            write_text(self.junit_path, junit_xml(result.results, result.run))


def run_suite(
    context: click.Context,
    *,
    suite: str,
    app: str | None,
    judge_model: Sequence[str],
    user_model: str | None,
    samples: int | None,
    json_path: str | None,
    junit_path: str | None,
    address: str | None,
    actors: int | None,
    log_level: str,
    log_format: Any,
) -> int:
    """Run a suite and give the exit status; everything a person must read goes to standard error or output."""
    make_printable()
    # LiteLLM prepares a call in a thread; an interrupted one is never awaited there, which is nobody's concern.
    warnings.filterwarnings("ignore", message="coroutine '.*' was never awaited", category=RuntimeWarning)
    configure_logging(log_level.upper(), form=log_format)  # type: ignore[arg-type]
    reports, settings = _Reports(json_path, junit_path), DEFAULTS
    clean = _cleaner(settings)
    try:
        settings = DEFAULTS.overridden(overrides(context))
        clean = _cleaner(settings)
        with redirect_stdout(sys.stderr) if json_path == "-" else nullcontext():
            loaded = load_suite(suite).sized(samples)
            handler = app_of(app)
            reports.require_writable()
            settings = loaded.settings.overridden(overrides(context)).overridden(_on_ray(context, address, actors))
            engine = Engine(judge_model or None, user_model, settings=settings)
            result = anyio.run(_evaluate, engine, loaded, handler)
        reports.write(result)
        if result.run.stopped:
            status = INTERRUPTED if result.run.stopped.startswith(INTERRUPT) else NOT_COMPLETED
            return say(clean(result.run.stopped) + _how_to_go_on(settings, result), status)
    except DefinitionError as error:
        return say(clean(str(error)), BAD_INPUT)
    except SimevalError as error:
        if error.partial is None:
            return say(clean(str(error)), NOT_COMPLETED)
        reports.write(error.partial)
        return say(clean(str(error)) + _how_to_go_on(settings, error.partial), NOT_COMPLETED)
    except KeyboardInterrupt:
        return say(f"{INTERRUPT}{_how_to_go_on(settings)}", INTERRUPTED)
    except Exception as error:  # a traceback would end with status 1, which is a verdict
        log.debug("traceback", text=clean(format_exc()))
        problem = clean(f"the run broke ({type(error).__name__}: {error}); --log-level debug shows where")
        return say(problem + _how_to_go_on(settings), NOT_COMPLETED)
    return 0 if result.meets(result.run.gate) else STATUS[result.outcome]


def _on_ray(context: click.Context, address: str | None, actors: int | None) -> Mapping[str, Any]:
    """Return the executor that a cluster's address and a number of actors mean. Raises DefinitionError."""
    given: dict[str, Any] = {
        name: value for name, value in (("address", address), ("actors", actors)) if value is not None
    }
    if given and overrides(context).get("executor") != "ray":
        raise DefinitionError(f"--{next(iter(given))}", found="trials are not run on Ray", do="add --executor ray")
    return {"executor": RayExecutor(**given)} if given else {}


def _cleaner(settings: Settings) -> Callable[[str], str]:
    """Return what takes the secrets of these settings out of texts."""
    return redactor_of(settings).clean


async def _evaluate(engine: Engine, scenarios: Suite, handler: AppHandler) -> SuiteResult:
    with ending_on_signals(engine):
        return await engine.evaluate(scenarios, handler)


def _how_to_go_on(settings: Settings, result: SuiteResult | None = None) -> str:
    """Say how what was finished can be gone on with, where it is kept."""
    store = settings.store
    if store is None or str(store).endswith(".jsonl"):
        return "" if store is None else f"; what was finished is in {store}"
    if result is None:
        return "; `simeval runs` lists what is kept"
    arguments = [argument for argument in sys.argv[1:] if argument != "--accept-changes"]
    for place, argument in enumerate(arguments):
        if argument == "--resume":
            del arguments[place : place + 2]
            break
        if argument.startswith("--resume="):
            del arguments[place]
            break
    command = shlex.join(["simeval", *arguments, "--resume", result.run.run_id])
    how = "to go on with it, raise that limit in" if result.run.stopped.startswith("max_") else "to go on with it"
    return f"\nwhat was finished is kept; {how}:\n  {_cleaner(settings)(command)}"


def leave(status: int) -> NoReturn:
    """End the process, also where an app's function hangs in a thread: the interpreter would wait for that for ever."""
    others = [t for t in threading.enumerate() if not t.daemon and t is not threading.main_thread()]
    for thread in others:
        thread.join(timeout=THREAD_SECONDS / len(others))
    if any(thread.is_alive() for thread in others):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    raise SystemExit(status)


def app_of(named: str | None) -> AppHandler:
    """Return the app that MODULE:HANDLER or a model's name means. Raises DefinitionError."""
    if named is None:
        log.warning(f"no --app was given: the embedded {DEFAULT_APP} is evaluated, not an app of yours")
        return DEFAULT_APP
    if re.search(r"\.py(:|$)", named):
        raise DefinitionError(
            f"app {named!r}", found="this is a file", do="name it as a module, such as folder.app:handle"
        )
    if re.fullmatch(r"[\w.]+:[\w.]+", named):
        handler: AppHandler = load_object(named, what="app")
        return handler
    if "/" in named:
        return named
    raise DefinitionError(
        f"app {named!r}", found="this is neither a handler nor a model", do="use MODULE:HANDLER or a model's name"
    )
