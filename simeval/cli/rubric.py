"""The work of `simeval rubric`: show the rubric of each expectation of a suite, and have missing ones written."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import anyio
import click

from simeval.cli.entrants import read_suite
from simeval.cli.options import overrides
from simeval.cli.output import exit_status, reader, require_writable, show, write_json
from simeval.core.logs import configure_logging
from simeval.core.terminal import indent, line_of, printable, room_of
from simeval.engine.engine import Engine
from simeval.engine.rubrics import NOT_WRITTEN, ExpectationRubric
from simeval.suites.cast import ESCALATE, Cast


@exit_status
def show_rubrics(
    context: click.Context, *, suite: str, judge_model: str | None, write: bool, json_path: str | None
) -> int:
    """Show the rubrics of a suite, including those to be written, and return the exit status."""
    configure_logging("WARNING")
    given = Cast(judge_model=(judge_model,) if judge_model else ())
    loaded, cast = read_suite(suite, given)
    settings = loaded.settings.overridden({**overrides(context), "escalate": None})  # the first judge writes them
    require_writable(json_path, read=(suite, settings.store))
    with cast.placed("judge_model", ESCALATE):
        engine = Engine(list(cast.judge_model[:1]) or None, settings=settings)
        found = anyio.run(lambda: engine.rubrics(loaded, write=write))
    room = line_of(room_of(reader(json_path)))
    show(
        "\n\n".join(_shown(each, room) for each in found) or "no expectation of this suite is rated by a judge",
        json_path,
    )
    write_json(json_path, {"rubrics": [*map(_encoded, found)]})
    return int(any(each.rubric is None for each in found))


def _shown(each: ExpectationRubric, room: int) -> str:
    fit = partial(indent, width=room)
    behaviour = fit(f"expected: {printable(each.expected_behavior)}", 2)
    head = fit(f"{printable(each.scenario)}: {printable(each.expectation)}", 0)
    if each.rubric is None:
        how = " (--write asks the judge for it)" if each.problem == NOT_WRITTEN else ""
        return "\n".join([head, behaviour, fit(f"no rubric: {printable(each.problem)}{how}", 2)])
    levels = [fit(f"{rating:>2}  {printable(text)}", 4) for rating, text in each.rubric.levels.items()]
    return "\n".join([head, behaviour, fit(f"rubric {each.rubric.shown}:", 2), *levels])


def _encoded(each: ExpectationRubric) -> dict[str, Any]:
    found: Sequence[tuple[str, Any]] = []
    if each.rubric is not None:
        found = [("rubric", {**each.rubric.source, "levels": dict(each.rubric.levels)})]
    return {
        "scenario": each.scenario,
        "expectation": each.expectation,
        "expected_behavior": each.expected_behavior,
        "problem": each.problem,
        **dict(found),
    }
