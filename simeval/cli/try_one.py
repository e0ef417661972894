"""The work of `simeval try`: one conversation, shown as it is held, and judged aloud."""

import sys
from collections.abc import Sequence
from typing import Any

import anyio
import click

from simeval.cli.entrants import handler_of, read_suite
from simeval.cli.options import overrides
from simeval.cli.output import INTERRUPTED, NOT_COMPLETED, exit_status, say, show
from simeval.cli.signals import INTERRUPT, ending_on_signals
from simeval.core.app_handler import ExampleHandler
from simeval.core.conversation import Message, message_lines
from simeval.core.logs import configure_logging
from simeval.core.terminal import Color, Terminal, one_line, terminal_of
from simeval.core.trial import CANNOT_TELL, OF_THE_APP
from simeval.engine.engine import Engine
from simeval.results.screen.report import judged_lines
from simeval.results.suite import SuiteResult
from simeval.suites.apps.named import session_warnings
from simeval.suites.cast import ESCALATE, MODELS, Cast
from simeval.suites.scenario import ScenarioTest

PLAIN_RUN: dict[str, Any] = {
    "early_stopping": False,
    "store": None,
    "display": "none",
    "resume": None,
    "cache": False,
    "on_failed_control": "off",
    "executor": "local",
    "shard": None,
}


@exit_status
def try_suite(
    context: click.Context,
    *,
    suite: str,
    app: str | None,
    judge_model: Sequence[str],
    user_model: str | None,
    only_named: Sequence[str],
    color: Color,
) -> int:
    """Hold one conversation of the first scenario that is named, and judge it; give the exit status."""
    configure_logging("ERROR")
    loaded, cast = read_suite(suite, Cast(app, judge_model, user_model), only_named, 1)
    [scenario, *_] = loaded
    if scenario.rows:
        scenario = scenario.of_case(scenario.rows[0])
    settings = loaded.settings.overridden({**overrides(context), **PLAIN_RUN})
    handler = handler_of(cast)
    for said in session_warnings([handler], scenario.most_turns):
        click.echo(f"warning: {said}", err=True)
    with cast.placed("app", *MODELS, ESCALATE):
        engine = Engine(list(cast.judge_model) or None, cast.user_model, settings=settings)
        result = anyio.run(_talk, engine, scenario, handler, terminal_of(sys.stdout, color))
    if result.run.stopped.startswith(INTERRUPT):
        return say(result.run.stopped, INTERRUPTED)
    return 0 if _is_judged(result) else NOT_COMPLETED


async def _talk(engine: Engine, scenario: ScenarioTest, handler: ExampleHandler, terminal: Terminal) -> SuiteResult:
    def say(message: Message) -> None:
        _write([*head, *message_lines(message, terminal, "  ")], terminal)
        head.clear()

    situation = f"given: {one_line(scenario.given)}\nwhen: {one_line(scenario.when)}"
    title = [terminal.paint(line, "bold") for line in terminal.wrap(one_line(scenario.title))]
    head = [*title, *terminal.wrap(situation, first="  "), ""]
    engine.listen(say)
    with ending_on_signals(engine, at_once=True):
        result = await engine.evaluate([scenario], handler)
    if not result.run.stopped.startswith(INTERRUPT):
        _write([*head, "", *_judgement(result, terminal)], terminal)
    return result


def _is_judged(result: SuiteResult) -> bool:
    """Return whether there is a conversation, and its result is the app's doing: no model or scorer failed."""
    return any(
        bool(each.conversation.responses)
        and all(failure.stage in OF_THE_APP or failure.cause == CANNOT_TELL for failure in each.failures)
        for scenario in result
        for each in scenario.judgements
    )


def _judgement(result: SuiteResult, terminal: Terminal) -> list[str]:
    [scenario] = result.document().scenarios
    lines = [line for trial in scenario.judgements for line in judged_lines(scenario, trial, terminal)]
    said = "One conversation shows how it goes, and proves nothing: `simeval run` holds many."
    return [*lines, "", *terminal.wrap(said)]


def _write(lines: Sequence[str], terminal: Terminal) -> None:
    show(terminal.finished(lines), None)
