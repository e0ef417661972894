"""The command `simeval mutate` with its options; its work is imported only when it is needed."""

import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from simeval.cli import CONTEXT
from simeval.cli.options import (
    GroupedCommand,
    app_option,
    json_option,
    judge_option,
    log_options,
    only_option,
    overrides,
    setting_options,
    user_option,
)

if TYPE_CHECKING:
    from simeval.core.app_handler import ExampleHandler
    from simeval.engine.engine import Engine
    from simeval.extras.mutate.report import MutationReport
    from simeval.suites.files import Suite

MISSED = 1


@click.command(context_settings=CONTEXT, cls=GroupedCommand)
@click.argument("suite", type=click.Path())
@app_option
@click.option("--mutants", metavar="NAMES", help="Standard ones, separated by commas.  [default: all twelve]")
@click.option(
    "--mutant", "own", multiple=True, metavar="MODULE:NAME", help="A function of an answer that returns a worse one."
)
@click.option(
    "--samples",
    type=click.IntRange(1),
    help="Conversations of each scenario with each mutant.  [default: two more than prove it]",
)
@click.option("--system-prompt", metavar="FILE", type=click.File(), help="The text that the mutant leaks.")
@click.option(
    "--mutate-by-model", "models", is_flag=True, help="Let --user-model change facts, numbers and policies, not rules."
)
@judge_option
@user_option
@only_option("Use only the scenarios with this tag, or with this text in their titles; give several to use more.")
@json_option("report")
@log_options
@setting_options()
@click.pass_context
def mutate(context: click.Context, /, **options: Any) -> None:
    """Test SUITE itself, with deliberately worse apps that it should notice.

    Each mutant is the suite's app with one thing wrong: drops-fact, changes-number, answers-earlier, forgets-first,
    says-done, refuses, leaks-instructions, delays, repeats, switches-language, ends-early, flips-policy. It is asked
    with the seeds of the unchanged app, until a requirement fails more often, or to the end. Nothing is kept in the
    store.

    Exit status: 0 every mutant that alters anything is noticed; 1 not so; 2 the command, suite or app could not be
    used; 3 the run could not be completed; 130 it was interrupted.
    """
    from simeval.cli.output import exit_status
    from simeval.cli.run import leave

    leave(exit_status(_mutate)(context, **options))


def _mutate(
    context: click.Context,
    *,
    suite: str,
    app: str | None,
    mutants: str | None,
    own: Sequence[str],
    samples: int | None,
    system_prompt: Any,
    models: bool,
    judge_model: Sequence[str],
    user_model: str | None,
    only_named: Sequence[str],
    json_path: str | None,
    log_level: str | None,
    log_format: Any,
) -> int:
    from simeval.cli.entrants import handler_of, read_suite
    from simeval.cli.loop import run_to_end
    from simeval.cli.output import NOT_COMPLETED, require_writable, show, show_log, write_json
    from simeval.cli.signals import status_of_end
    from simeval.engine.engine import Engine
    from simeval.suites.cast import ESCALATE, MODELS, Cast

    show_log(log_level or "info", log_format)
    with redirect_stdout(sys.stderr) if json_path == "-" else nullcontext():
        loaded, cast = read_suite(suite, Cast(app, judge_model, user_model), only_named)
        handler = handler_of(cast)
        settings = loaded.settings.overridden(overrides(context))
        require_writable(json_path, read=(suite,))
        names = [each.strip() for each in (mutants or "").split(",") if each.strip()]
        prompt = system_prompt.read() if system_prompt else ""
        with cast.placed("app", *MODELS, ESCALATE):
            engine = Engine(list(cast.judge_model) or None, cast.user_model, settings=settings)
            wanted = {"mutants": _wanted(names, own), "samples": samples, "system_prompt": prompt, "models": models}
            found = run_to_end(partial(_found, engine, loaded, handler, **wanted))
    show(str(found), json_path)
    write_json(json_path, found.encoded())
    if stopped := found.run.run.stopped:
        return status_of_end(stopped)
    return NOT_COMPLETED if found.problem else 0 if found.passed else MISSED


def _wanted(names: Sequence[str], own: Sequence[str]) -> Sequence[Any]:
    """Return the names that are given; own mutants are beside the standard ones, unless these are chosen."""
    from simeval.extras.mutate.mutants import STANDARD

    return [*(names or (STANDARD if own else ())), *own]


async def _found(engine: "Engine", suite: "Suite", handler: "ExampleHandler", **wanted: Any) -> "MutationReport":
    from simeval.cli.signals import ending_on_signals
    from simeval.extras.mutate.mutating import mutate as tested

    with ending_on_signals(engine):
        return await tested(suite, handler, engine=engine, **wanted)
