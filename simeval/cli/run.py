"""The work of `simeval run`: load the suite and app, run it, write the reports, return the exit status."""

import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir, nullcontext, redirect_stdout
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from simeval.cli.entrants import SuiteMaker, handler_of, read_suite
from simeval.cli.loop import run_to_end
from simeval.cli.next_steps import how_to_go_on, is_kept, next_steps
from simeval.cli.options import OVERRIDES, overrides
from simeval.cli.output import (
    BAD_INPUT,
    INTERRUPTED,
    NOT_COMPLETED,
    STATUS,
    each_tried,
    reader,
    require_apart,
    require_writable,
    say,
    show,
    show_log,
    write_json,
    write_markdown,
    write_text,
)
from simeval.cli.signals import INTERRUPT, Interrupted, ending_on_signals, status_of_end
from simeval.cli.usage import THREADS
from simeval.core.app_handler import ExampleHandler
from simeval.core.faces import load
from simeval.core.logs import log
from simeval.core.redaction import traceback_of
from simeval.core.setting_field import RayExecutor
from simeval.core.settings import DEFAULTS, MARGIN, Settings
from simeval.core.terminal import Color, one_line, terminal_of
from simeval.core.version import __version__
from simeval.engine.engine import Engine
from simeval.errors import DefinitionError, RunStopped, SimevalError
from simeval.models.registry import redactor_of
from simeval.results.markdown import run_markdown
from simeval.results.screen.report import run_text, told_of
from simeval.results.suite import SuiteResult, encode_suite
from simeval.suites.apps.named import secrets_of
from simeval.suites.cast import ESCALATE, MODELS, Cast
from simeval.suites.files import Line, Suite

if TYPE_CHECKING:
    from simeval.cli.baseline import Baseline

NOT_MET = 1
THREAD_SECONDS = 0.5  # how long threads may take to end by themselves when the process does


@dataclass(frozen=True, slots=True)
class _Reports:
    """Where the result of a run is written, and how much of it people read; `told` holds the lines printed before."""

    json_path: str | None
    junit_path: str | None
    html_path: str | None
    markdown_path: str | None
    color: Color
    verbose: bool
    quiet: bool
    told: Sequence[str]
    sarif_path: str | None = None
    lines: Mapping[str, Line] = field(default_factory=dict)
    baseline: "Baseline | None" = None

    def require_writable(self, read: Sequence[object]) -> None:
        paths = (self.json_path, self.junit_path, self.html_path, self.markdown_path, self.sarif_path)
        require_apart(dict(zip(("--json", "--junit", "--html", "--markdown", "--sarif"), paths, strict=True)))
        for path in paths:
            require_writable(path, read=read)
        if self.sarif_path and not self.lines:
            found = "found no attack that stands in a file"
            raise DefinitionError("--sarif", found=found, do="run a suite file that has one (attack:)")

    def write(self, result: SuiteResult, settings: Settings) -> tuple[SuiteResult, Sequence[str]]:
        """Write all reports; return the result with its comparison with the baseline, and the head of the report.

        The store has the comparison then, too.
        """
        result, changes = self.baseline.held_against(result) if self.baseline else (result, ())
        if self.baseline and is_kept(settings):
            self.baseline.keep(result, str(settings.store))
        page, terminal = result.document("worst"), terminal_of(reader(self.json_path), self.color)
        show(run_text(page, terminal, detailed=self.verbose, brief=self.quiet, told=self.told), self.json_path)
        for line in (
            [] if self.quiet else next_steps(page, settings, terminal, _cleaner(settings), is_mute=_is_mute(result))
        ):
            show(line, self.json_path)
        each_tried(
            lambda: write_json(self.json_path, encode_suite(result.results, result.run, version=__version__)),
            lambda: self._write_junit(result),
            lambda: self._write_html(result),
            lambda: self._write_sarif(result),
            lambda: write_markdown(self.markdown_path, lambda: run_markdown(page, more=changes)),
        )
        return result, told_of(page)

    def _write_junit(self, result: SuiteResult) -> None:
        if self.junit_path:
            from simeval.results.junit import junit_xml

            write_text(self.junit_path, junit_xml(result.results, result.run))

    def _write_html(self, result: SuiteResult) -> None:
        if self.html_path:
            result.to_html(self.html_path)

    def _write_sarif(self, result: SuiteResult) -> None:
        if self.sarif_path:
            sarif = load("simeval.extras.attacks.sarif:sarif")  # most runs hold no attack
            write_json(self.sarif_path, sarif(result.document(), self.lines))


def _is_mute(result: SuiteResult) -> bool:
    """Return whether the app failed at the first turn of every conversation."""
    if result.outcome != "error" or not any(scenario.judgements for scenario in result):
        return False
    return all(
        not each.conversation.responses and each.failure is not None and each.failure.stage == "app"
        for scenario in result
        for each in scenario.judgements
    )


def run_suite(
    context: click.Context,
    *,
    suite: str | SuiteMaker,
    app: str | None,
    judge_model: Sequence[str],
    user_model: str | None,
    samples: int | None,
    json_path: str | None,
    junit_path: str | None,
    html_path: str | None,
    markdown_path: str | None,
    sarif_path: str | None,
    only_named: Sequence[str] = (),
    rerun: str | None = None,
    plan_from: str | None = None,
    baseline: str | None = None,
    against: str | None = None,
    margin: float | None = None,
    aa: int | None = None,
    address: str | None = None,
    actors: int | None = None,
    log_level: str | None,
    log_format: Any,
    quiet: bool,
    verbose: bool,
    color: Color,
) -> int:
    """Run a suite and give the exit status; everything a person must read goes to standard error or output."""
    is_silent = quiet or context.meta.get(OVERRIDES, {}).get("display") == "none"
    told = show_log(log_level or ("error" if is_silent else "info"), log_format, detailed=verbose)
    reports = _Reports(json_path, junit_path, html_path, markdown_path, color, verbose, quiet, told, sarif_path)
    settings = DEFAULTS
    clean = _cleaner(settings)
    try:
        settings = DEFAULTS.overridden(overrides(context))
        _require_alone(aa, reports, baseline, against, settings)
        clean = _cleaner(settings)
        with redirect_stdout(sys.stderr) if json_path == "-" else nullcontext():
            loaded, cast = read_suite(suite, Cast(app, judge_model, user_model), only_named, samples)
            handler = handler_of(cast)
            clean = _cleaner(settings, secrets_of(handler, loaded.scenarios))
            reports = replace(reports, lines=loaded.lines)
            settings = loaded.settings.overridden(overrides(context)).overridden(_on_ray(context, address, actors))
            files = (suite if isinstance(suite, str) else None, baseline, against, plan_from, settings.store)
            reports.require_writable(read=files)
            loaded = _chosen(loaded, settings, rerun=rerun, plan_from=plan_from, samples=samples)
            if against is not None:
                loaded, settings = _against(against, loaded, settings, margin, baseline)
            held_against = _baseline(baseline, margin, settings) if against is None else None
            if held_against is not None:
                settings = held_against.settled(settings)
                held_against.check(loaded, settings)
                reports = replace(reports, baseline=held_against)
            results = _results(aa, loaded, settings, partial(_run, cast, loaded, handler))
        if aa is not None:
            return int(load("simeval.cli.aa:show_unchanged")(results, json_path=json_path, color=color))
        result, head = reports.write(results[0], settings)
        if result.run.stopped:
            said = clean(_ended(result.run.stopped, head)) + how_to_go_on(settings, clean, result.run)
            return say(said, status_of_end(result.run.stopped))
    except DefinitionError as error:
        return say(clean(str(error)), BAD_INPUT)
    except SimevalError as error:
        if error.partial is None:
            return say(clean(str(error)), INTERRUPTED if isinstance(error, Interrupted) else NOT_COMPLETED)
        _, head = reports.write(error.partial, settings)
        why = _ended(str(error), head) if isinstance(error, RunStopped) else str(error)  # a full disk, too
        return say(clean(why) + how_to_go_on(settings, clean, error.partial.run), NOT_COMPLETED)
    except KeyboardInterrupt:
        return say(f"{INTERRUPT}{how_to_go_on(settings, clean)}", INTERRUPTED)
    except Exception as error:  # a traceback would end with status 1, which is a verdict
        log.debug("traceback", text=clean(traceback_of(error)))
        problem = clean(f"the run broke ({type(error).__name__}: {error}); --log-level debug shows where")
        return say(problem + how_to_go_on(settings, clean), NOT_COMPLETED)
    return 0 if result.meets(result.run.gate) else max(STATUS[result.outcome], NOT_MET)


def _require_alone(
    aa: int | None, reports: _Reports, baseline: str | None, against: str | None, settings: Settings
) -> None:
    """Raise DefinitionError for an option that is about one run, beside --aa."""
    if aa is not None:
        files = {"--junit": reports.junit_path, "--html": reports.html_path, "--sarif": reports.sarif_path}
        runs = {"--baseline": baseline, "--against": against, "--resume": settings.resume}
        load("simeval.cli.aa:require_alone")({**files, "--markdown": reports.markdown_path, **runs})


def _on_ray(context: click.Context, address: str | None, actors: int | None) -> Mapping[str, Any]:
    """Return the executor that a cluster's address and a number of actors mean. Raises DefinitionError."""
    given: dict[str, Any] = {
        name: value for name, value in (("address", address), ("actors", actors)) if value is not None
    }
    if given and overrides(context).get("executor") != "ray":
        raise DefinitionError(f"--{next(iter(given))}", found="trials are not run on Ray", do="add --executor ray")
    return {"executor": RayExecutor(**given)} if given else {}


def _baseline(name: str | None, margin: float | None, settings: Settings) -> "Baseline | None":
    """Return the baseline to compare the run with, as it is before this one. Raises DefinitionError."""
    if name is None:
        if margin is not None:
            raise DefinitionError(
                "--margin", found="there is no baseline", do="add --baseline or --against, or leave it out"
            )
        return None
    from simeval.cli.baseline import Baseline  # comparing takes its time

    return Baseline.named(name, str(settings.store), MARGIN if margin is None else margin)


def _against(
    name: str, suite: Suite, settings: Settings, margin: float | None, baseline: str | None
) -> tuple[Suite, Settings]:
    """Return a suite for a comparison with a run, with that run's seed. Raises DefinitionError."""
    if baseline is not None:
        do = "give one of them: --against takes the place of the bars, --baseline stands beside them"
        raise DefinitionError("--against", found="there is a --baseline, too", do=do)
    from simeval.cli.against import held_against  # comparing takes its time

    return held_against(name, suite, settings, MARGIN if margin is None else margin)


def _chosen(
    suite: Suite, settings: Settings, *, rerun: str | None, plan_from: str | None, samples: int | None
) -> Suite:
    """Return the suite as an earlier run makes it: the scenarios to run, and their sizes. Raises DefinitionError."""
    suite = _not_passed(suite, settings) if rerun else suite
    return _planned(suite, plan_from, samples, settings) if plan_from else suite


def _not_passed(suite: Suite, settings: Settings) -> Suite:
    from simeval.cli.rerun import not_passed  # the database takes its time

    return not_passed(suite, settings)


def _planned(suite: Suite, run: str, samples: int | None, settings: Settings) -> Suite:
    """Return a suite with sizes and designs based on its results in a run. Raises DefinitionError."""
    from simeval.cli.plan import planned  # the database takes its time

    if samples is not None:
        raise DefinitionError("--plan-from", found="--samples says the sizes already", do="leave one of them out")
    if run == "last" and settings.resume is not None:
        do = "name the run that it was planned from (`simeval runs` lists them)"
        raise DefinitionError("--plan-from", found="the last run is now the one that goes on", do=do)
    return planned(suite, run, str(settings.store), settings)


def _cleaner(settings: Settings, secrets: Sequence[object] = ()) -> Callable[[str], str]:
    """Return a function that takes the secrets of these settings, and those of an app, out of texts."""
    redactor = redactor_of(settings)
    redactor.learn(secrets)
    return redactor.clean


def _results(
    aa: int | None, suite: Suite, settings: Settings, run: Callable[[Settings], SuiteResult]
) -> Sequence[SuiteResult]:
    """Return the result of the run, or of so many against the unchanged app."""
    if aa is None:
        return [run(settings)]
    repeated: Sequence[SuiteResult] = load("simeval.cli.aa:run_repeatedly")(aa, suite.scenarios, settings, run)
    return repeated


def _run(cast: Cast, scenarios: Suite, handler: ExampleHandler, settings: Settings) -> SuiteResult:
    async def evaluate(engine: Engine) -> SuiteResult:
        with ending_on_signals(engine):
            return await engine.evaluate(scenarios, handler)

    with cast.placed("app", *MODELS, ESCALATE):
        engine = Engine(list(cast.judge_model) or None, cast.user_model, settings=settings)
        with chdir(Path.cwd()):  # an app may leave the folder that paths of reports start from
            return run_to_end(evaluate, engine)


def _ended(why: str, told: Sequence[str]) -> str:
    """Return why a run ended early, if the head of its report has not mentioned that."""
    return "the run ended early" if one_line(why) in " ".join(told) else why


def leave(status: int) -> NoReturn:
    """End the process, also where an app's function hangs in a thread: the interpreter would wait for that for ever."""
    before = click.get_current_context().meta[THREADS]  # of a program that calls the command in its own process
    others = [thread for thread in threading.enumerate() if not thread.daemon and thread not in before]
    for thread in others:
        thread.join(timeout=THREAD_SECONDS / len(others))
    if any(thread.is_alive() for thread in others):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    raise SystemExit(status)
