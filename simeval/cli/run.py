"""What `simeval run` does: loads what it is given, runs it, writes the reports, gives the exit status."""

import json
import os
import re
import shlex
import sys
import threading
import warnings
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from traceback import format_exc
from typing import Any, NoReturn

import anyio

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
from simeval.core.logs import configure_logging, log
from simeval.core.redaction import Redactor, secret_options
from simeval.core.trial import Outcome
from simeval.core.version import __version__
from simeval.engine.engine import DEFAULT_APP, Engine
from simeval.engine.run_context import AppHandler
from simeval.errors import DefinitionError, SimevalError
from simeval.results.encoding import encode_suite
from simeval.results.junit import junit_xml
from simeval.results.suite import SuiteResult
from simeval.suites.files import load_object, load_suite, sized
from simeval.suites.scenario import ScenarioTest

STATUS: dict[Outcome, int] = {"pass": 0, "fail": 1, "inconclusive": 1, "error": 3}
THREAD_SECONDS = 0.5  # how long threads may take to end by themselves when the process does
NO_STORE = "none"


def run_suite(
    *,
    suite: str,
    app: str | None,
    samples: int | None,
    model_options: Sequence[str],
    json_path: str | None,
    junit_path: str | None,
    log_level: str,
    log_format: Any,
    **options: Any,
) -> int:
    """Run a suite and give the exit status; everything a person must read goes to standard error or output."""
    make_printable()
    # LiteLLM prepares a call in a thread; an interrupted one is never awaited there, which is nobody's concern.
    warnings.filterwarnings("ignore", message="coroutine '.*' was never awaited", category=RuntimeWarning)
    configure_logging(log_level.upper(), form=log_format)  # type: ignore[arg-type]
    clean = Redactor.of((), patterns=()).clean
    reports = (json_path, junit_path)
    try:
        options["model_options"] = dict(_option(text) for text in model_options)
        clean = Redactor.of(secret_options(options["model_options"]), patterns=options["secret_patterns"]).clean
        with redirect_stdout(sys.stderr) if json_path == "-" else nullcontext():
            result = _run(suite, app, samples, reports, options)
        _report(result, reports)
        if result.run.stopped:
            status = INTERRUPTED if result.run.stopped.startswith(INTERRUPT) else NOT_COMPLETED
            return say(clean(result.run.stopped) + _how_to_go_on(options, result), status)
    except DefinitionError as error:
        return say(clean(str(error)), BAD_INPUT)
    except SimevalError as error:
        if error.partial is None:
            return say(clean(str(error)), NOT_COMPLETED)
        _report(error.partial, reports)
        return say(clean(str(error)) + _how_to_go_on(options, error.partial), NOT_COMPLETED)
    except KeyboardInterrupt:
        return say(f"{INTERRUPT}{_how_to_go_on(options)}", INTERRUPTED)
    except Exception as error:  # a traceback would end with status 1, which is a verdict
        log.debug("traceback", text=clean(format_exc()))
        problem = clean(f"the run broke ({type(error).__name__}: {error}); --log-level debug shows where")
        return say(problem + _how_to_go_on(options), NOT_COMPLETED)
    return 0 if result.meets(result.run.gate) else STATUS[result.outcome]


def _run(
    suite: str, app: str | None, samples: int | None, reports: Sequence[str | None], options: dict[str, Any]
) -> SuiteResult:
    """Load everything, refuse what cannot be used, and evaluate."""
    scenarios = sized(load_suite(suite), samples)
    handler = app_of(app)
    for path in reports:
        require_writable(path)
    engine = Engine(
        options["judge_model"] or None,
        options["user_model"],
        judge_repeats=options["judge_repeats"],
        seed=options["seed"],
        concurrency=options["concurrency"],
        model_concurrency=options["model_concurrency"],
        app_concurrency=options["app_concurrency"],
        model_timeout_seconds=options["model_timeout"],
        app_timeout_seconds=options["app_timeout"],
        on_app_error=options["on_app_error"],
        max_error_rate=options["max_error_rate"],
        early_stopping=options["early_stopping"],
        gate=options["gate"],
        stop=options["stop"],
        joint=options["joint"],
        model_options=options["model_options"],
        store=None if options["store"] == NO_STORE else options["store"],
        resume=options["resume"],
        accept_changes=options["accept_changes"],
        cache=options["cache"],
        max_cost_usd=options["max_cost_usd"],
        max_calls=options["max_calls"],
        max_tokens=options["max_tokens"],
        max_seconds=options["max_seconds"],
        requests_per_minute=options["requests_per_minute"],
        tokens_per_minute=options["tokens_per_minute"],
        outage_seconds=options["outage"],
        secret_patterns=options["secret_patterns"],
    )
    return anyio.run(_evaluate, engine, scenarios, handler)


async def _evaluate(engine: Engine, scenarios: list[ScenarioTest], handler: AppHandler) -> SuiteResult:
    with ending_on_signals(engine):
        return await engine.evaluate(scenarios, handler)


def _how_to_go_on(options: dict[str, Any], result: SuiteResult | None = None) -> str:
    """Say how what was finished can be gone on with, where it is kept."""
    store = str(options["store"])
    if store == NO_STORE or store.endswith(".jsonl"):
        return "" if store == NO_STORE else f"; what was finished is in {store}"
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
    secrets = secret_options(options.get("model_options", {}))
    clean = Redactor.of(secrets, patterns=options["secret_patterns"]).clean
    how = "to go on with it, raise that limit in" if result.run.stopped.startswith("max_") else "to go on with it"
    return f"\nwhat was finished is kept; {how}:\n  {clean(command)}"


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


def _report(result: SuiteResult, reports: Sequence[str | None]) -> None:
    json_path, junit_path = reports
    show(result, json_path)
    write_json(json_path, encode_suite(result.results, result.run, version=__version__))
    if junit_path:
        write_text(junit_path, junit_xml(result.results, result.run))


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


def _option(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE; a value that is JSON (a number, true, an object) is taken as such."""
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise DefinitionError("--model-option", found=f"found {text!r}", do="write NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
