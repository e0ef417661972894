"""The work of `simeval select`: find the best of several apps, show the remaining ones, return the exit status."""

import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from typing import Any

import click

from simeval.cli.entrants import read_suite
from simeval.cli.loop import run_to_end
from simeval.cli.options import overrides
from simeval.cli.output import NOT_COMPLETED, exit_status, require_writable, show, show_log, write_json
from simeval.cli.signals import ending_on_signals, status_of_end
from simeval.core.app_handler import ExampleHandler
from simeval.core.validation import require
from simeval.engine.engine import Engine
from simeval.results.selection import Selection
from simeval.suites.apps.named import app_of
from simeval.suites.cast import ESCALATE, MODELS, Cast
from simeval.suites.files import Suite

FOUND, CANNOT_TELL = 0, 1


@exit_status
def select_app(
    context: click.Context,
    *,
    suite: str,
    apps: Sequence[str],
    judge_model: Sequence[str],
    user_model: str | None,
    samples: int | None,
    only_named: Sequence[str],
    json_path: str | None,
    log_level: str | None,
    log_format: Any,
) -> int:
    """Find the best of several apps; give the exit status."""
    show_log(log_level or "info", log_format)
    with redirect_stdout(sys.stderr) if json_path == "-" else nullcontext():
        loaded, cast = read_suite(suite, Cast(None, judge_model, user_model), only_named, samples)
        require(len(apps) > 1, "select: --app", found=", ".join(apps), do="give --app twice or more, once for each app")
        handlers = [app_of(each) for each in apps]
        settings = loaded.settings.overridden(overrides(context))
        require_writable(json_path, read=(suite, settings.store))
        with cast.placed(*MODELS, ESCALATE):
            engine = Engine(list(cast.judge_model) or None, cast.user_model, settings=settings)
            found = run_to_end(_found, engine, loaded, handlers)
    show(str(found), json_path)
    write_json(json_path, found.encoded())
    if stopped := found.run.run.stopped:
        return status_of_end(stopped)
    return NOT_COMPLETED if found.unmeasured else FOUND if found.best else CANNOT_TELL


async def _found(engine: Engine, suite: Suite, handlers: Sequence[ExampleHandler]) -> Selection:
    with ending_on_signals(engine):
        return await engine.select(suite, handlers)
