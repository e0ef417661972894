"""What `simeval worker` does: works for runs that others conduct, until it is told to stop."""

from collections.abc import Sequence
from typing import Any

import anyio
import click

from simeval.cli.entrants import handler_of, read_suite
from simeval.cli.options import overrides
from simeval.cli.output import status_of
from simeval.cli.run import show_log
from simeval.cli.signals import ending_on_signals
from simeval.core.app_handler import ExampleHandler
from simeval.engine.engine import Engine
from simeval.suites.cast import ESCALATE, MODELS, Cast
from simeval.suites.files import Suite


def work(
    context: click.Context,
    *,
    suite: str,
    app: str | None,
    judge_model: Sequence[str],
    user_model: str | None,
    samples: int | None,
    only_named: Sequence[str],
    lease: float,
    idle: float | None,
    log_level: str | None,
    log_format: Any,
) -> int:
    """Work for the runs of a suite in its store; give the exit status."""
    show_log(log_level or "info", log_format)

    def serve() -> None:
        loaded, cast = read_suite(suite, Cast(app, judge_model, user_model), only_named, samples)
        settings = loaded.settings.overridden(
            {**overrides(context), "executor": "workers", "shard": None, "resume": None}
        )
        handler = handler_of(cast)
        with cast.placed("app", *MODELS, ESCALATE):
            engine = Engine(list(cast.judge_model) or None, cast.user_model, settings=settings)
            anyio.run(_work, engine, loaded, handler, lease, idle)

    return status_of(serve)


async def _work(engine: Engine, scenarios: Suite, handler: ExampleHandler, lease: float, idle: float | None) -> None:
    with ending_on_signals(engine):
        await engine.work(scenarios, handler, lease_seconds=lease, idle_seconds=idle)
