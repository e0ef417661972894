"""What the commands do: load what they are given, run it, write the reports, give the exit status."""

import json
import os
import re
import sys
import threading
import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path
from traceback import format_exc
from typing import Any, NoReturn

import anyio

from simeval.encode import encode_suite
from simeval.engine import DEFAULT_APP, AppHandler, Engine
from simeval.errors import DefinitionError, SimevalError, StoreError
from simeval.logs import configure_logging, log
from simeval.outcome import Outcome
from simeval.planning import plan, plan_suite
from simeval.report.junit import junit_xml
from simeval.results import SuiteResult
from simeval.scenario import ScenarioTest
from simeval.settings import Settings
from simeval.suites import load_object, load_suite
from simeval.version import __version__

STATUS: dict[Outcome, int] = {"pass": 0, "fail": 1, "inconclusive": 1, "error": 3}
HOW_TO_AGREE = "give RESULT LABELS, or RESULT --sample N --out LABELS"
SAMPLED = """{rows} rows for {drawn} of the {trials} trials, drawn at random, are in {out}.
Fill in the column label, from the top and without skipping any that are hard: pass or fail, or a rating from 1 to 10.
"""
ONLY_OF_A_BAR = ("bar", "power", "requirements")
ONLY_OF_A_SUITE = ("samples", "early_stopping", "stop", "gate")
BAD_INPUT, NOT_COMPLETED, INTERRUPTED = 2, 3, 130
THREAD_SECONDS = 0.5  # how long threads may take to end by themselves when the process does


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
    for stream in (sys.stdout, sys.stderr):  # what an app says may not be printable here
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # LiteLLM prepares a call in a thread; an interrupted one is never awaited there, which is nobody's concern.
    warnings.filterwarnings("ignore", message="coroutine '.*' was never awaited", category=RuntimeWarning)
    configure_logging(log_level.upper(), form=log_format)  # type: ignore[arg-type]
    try:
        with redirect_stdout(sys.stderr) if json_path == "-" else nullcontext():
            result = _run(suite, app, samples, model_options, (json_path, junit_path), options)
        _report(result, json_path, junit_path)
    except DefinitionError as error:
        return _say(error, BAD_INPUT)
    except SimevalError as error:
        return _say(error, NOT_COMPLETED)
    except KeyboardInterrupt:
        kept = f"; what was finished is in {options['store']}" if options.get("store") else ""
        return _say(f"interrupted{kept}", INTERRUPTED)
    except Exception as error:  # a traceback would end with status 1, which is a verdict
        log.debug("traceback", text=format_exc())
        return _say(f"the run broke ({type(error).__name__}: {error}); --log-level debug shows where", NOT_COMPLETED)
    return 0 if result.meets(result.run.gate) else STATUS[result.outcome]


def _run(
    suite: str,
    app: str | None,
    samples: int | None,
    model_options: Sequence[str],
    reports: Sequence[str | None],
    options: dict[str, Any],
) -> SuiteResult:
    """Load everything, refuse what cannot be used, and evaluate."""
    scenarios = _sized(load_suite(suite), samples)
    handler = _app(app)
    for path in reports:
        _require_writable(path)
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
        model_options=dict(_option(text) for text in model_options),
        store=options["store"],
    )
    return anyio.run(engine.evaluate, scenarios, handler)


def agree(
    *,
    result: Path,
    labels: Path | None,
    sample: int | None,
    out: Path | None,
    seed: int | None,
    alpha: float,
    json_path: str | None,
) -> int:
    """Hold a run's judge against people's labels, or draw trials for them to label; give the exit status."""
    from simeval.judging import agreement, load_run
    from simeval.labels import draw_sample, write_sample
    from simeval.trust import encode_agreement

    try:
        if labels is not None and sample is None and out is None:
            _require_writable(json_path)
            report = agreement(result, labels, alpha=alpha)
            (sys.stderr if json_path == "-" else sys.stdout).write(f"{report}\n")
            _write_json(json_path, encode_agreement(report))
        elif labels is None and sample is not None and out is not None:
            run = load_run(result)
            rows, trials = draw_sample(run, sample, seed=run.seed if seed is None else seed)
            write_sample(rows, out)
            sys.stdout.write(SAMPLED.format(rows=len(rows), out=out, drawn=min(sample, trials), trials=trials))
        else:
            raise DefinitionError("agree", found="neither or both ways to use it", do=HOW_TO_AGREE)
    except DefinitionError as error:
        return _say(error, BAD_INPUT)
    except StoreError as error:
        return _say(error, NOT_COMPLETED)
    return 0


def show_plan(
    *,
    given: Mapping[str, str],
    suite: str | None,
    bar: float | None,
    rate: float | None,
    power: float,
    alpha: float,
    requirements: int,
    samples: int | None,
    joint: bool,
    early_stopping: bool,
    stop: Any,
    gate: Any,
) -> int:
    """Plan a requirement, or forecast a suite, and give the exit status.

    `given` holds the options that were written, by their names here; one that would change nothing is refused.
    """
    configure_logging("WARNING")
    try:
        if suite is not None:
            _refuse(given, ONLY_OF_A_BAR, "it does not apply to a suite, which has bars of its own")
            settings = Settings(
                significance_level=alpha, joint=joint, early_stopping=early_stopping, stop=stop, gate=gate
            )
            found: object = plan_suite(_sized(load_suite(suite), samples), settings, true_rate=rate)
        elif bar is None and rate is None:
            raise DefinitionError("plan", found="there is nothing to plan", do="give a suite, or --bar and --rate")
        elif bar is None:
            raise DefinitionError("plan", found="--bar is missing", do="give the share to prove, or a suite")
        elif rate is None:
            raise DefinitionError("plan", found="--rate is missing", do="give the true share it shall be proven at")
        else:
            _refuse(given, ONLY_OF_A_SUITE, "it applies to a suite only")
            found = plan(bar, rate, significance_level=alpha, power=power, requirements=requirements, joint=joint)
    except DefinitionError as error:
        return _say(error, BAD_INPUT)
    sys.stdout.write(f"{found}\n")
    return 0


def _refuse(given: Mapping[str, str], names: Sequence[str], why: str) -> None:
    for name in names:
        if name in given:
            raise DefinitionError(f"plan: {given[name]}", found=why, do="leave it out")


def leave(status: int) -> NoReturn:
    """End the process, also where an app's function hangs in a thread that the interpreter would wait for."""
    others = [t for t in threading.enumerate() if not t.daemon and t is not threading.main_thread()]
    for thread in others:
        thread.join(timeout=THREAD_SECONDS / len(others))
    if any(thread.is_alive() for thread in others):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    raise SystemExit(status)


def _report(result: SuiteResult, json_path: str | None, junit_path: str | None) -> None:
    (sys.stderr if json_path == "-" else sys.stdout).write(f"{result}\n")
    found = encode_suite(result.results, result.run, version=__version__)
    _write_json(json_path, found)
    if junit_path:
        _write(junit_path, junit_xml(result.results, result.run))


def _write_json(path: str | None, found: Mapping[str, Any]) -> None:
    if path == "-":
        sys.stdout.write(f"{json.dumps(found, indent=1)}\n")  # plain ASCII: whoever reads may use any encoding
    elif path:
        _write(path, f"{json.dumps(found, ensure_ascii=False, indent=1)}\n")


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise StoreError(path, problem=str(error.strerror)) from error


def _say(problem: object, status: int) -> int:
    sys.stderr.write(f"simeval: {problem}\n")
    return status


def _sized(scenarios: list[ScenarioTest], samples: int | None) -> list[ScenarioTest]:
    return scenarios if samples is None else [replace(each, sample_size=samples) for each in scenarios]


def _app(named: str | None) -> AppHandler:
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


def _require_writable(path: str | None) -> None:
    """Raise before the run where its report could not be written after it."""
    if path is None or path == "-":
        return
    target = Path(path)
    is_new = not target.exists()
    try:
        target.open("ab").close()
        if is_new:
            target.unlink()
    except OSError as error:
        raise DefinitionError(
            f"report {path!r}", found=f"it cannot be written ({error.strerror})", do="name a file that can be"
        ) from error
