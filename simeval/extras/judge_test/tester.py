"""The work of `simeval judge-test`: test a judge, store and show the result, return the exit status."""

from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import click

from simeval.cli.entrants import read_suite
from simeval.cli.options import overrides
from simeval.cli.output import exit_status, require_writable, show, write_json
from simeval.core.licences import JudgeForm, JudgeLicence, Stream
from simeval.core.logs import configure_logging
from simeval.core.settings import Settings
from simeval.engine.engine import Engine
from simeval.errors import DefinitionError
from simeval.extras.judge_test.battery import judge_test
from simeval.extras.judge_test.licences import Form
from simeval.suites.cast import ESCALATE, Cast
from simeval.suites.project import read_project


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The request of the command besides the settings."""

    suite: str | None
    judge_model: tuple[str, ...]
    form: JudgeForm | None
    weaknesses: bool
    allowed: float
    json_path: str | None


@exit_status
def test_judge(context: click.Context, asked: Asked) -> int:
    """Test a judge, and give the exit status."""
    configure_logging("WARNING")
    require_writable(asked.json_path)
    settings, cast, forms = _as_a_run(context, asked)
    if not cast.judge_model:
        raise DefinitionError("judge-test", found="no judge is named", do="name one with --judge-model")
    return _weaknesses(cast, settings, asked) if asked.weaknesses else _licence(cast, settings, forms, asked)


def _as_a_run(context: click.Context, asked: Asked) -> tuple[Settings, Cast, list[Form]]:
    """Return settings, judges and forms as a run of the suite has them; without a suite, those of the project."""
    given = Cast(judge_model=asked.judge_model)
    if asked.suite is None:
        project = read_project(Path())
        return project.settings.overridden(overrides(context)), given.over(project.cast), [Form(asked.form or "rating")]
    loaded, cast = read_suite(asked.suite, given)
    expected = [each for scenario in loaded for each in scenario.expectations]
    forms = [Form.of(each.judged, criteria=each.criteria is not None) for each in expected if each.judged is not None]
    named = [each._replace(reply=asked.form or each.reply) for each in forms or [Form()]]
    return loaded.settings.overridden(overrides(context)), cast, [*dict.fromkeys(named)]


def _licence(cast: Cast, settings: Settings, forms: list[Form], asked: Asked) -> int:
    with cast.placed("judge_model", ESCALATE):
        engine = Engine([*cast.judge_model], settings=replace(settings, resume=None))
        canaries = anyio.run(engine.ask_canaries)
        found = [anyio.run(partial(engine.test_judge, each.reply, language=each.language)) for each in forms]
    show("\n\n".join([*map(_shown, found), *map(str, canaries)]), asked.json_path)
    write_json(asked.json_path, {"licences": [each.encoded() for each in found], "canaries": [*map(_plain, canaries)]})
    return int(not all(each.is_licensed for each in found) or any(each.has_changed for each in canaries))


def _weaknesses(cast: Cast, settings: Settings, asked: Asked) -> int:
    [judge, *others] = cast.judge_model
    if others:
        raise DefinitionError("judge-test", found=f"{len(cast.judge_model)} judges", do="--weaknesses takes one")
    canaries = anyio.run(Engine(judge, settings=replace(settings, resume=None)).ask_canaries)
    result = anyio.run(partial(judge_test, judge, settings, allowed=asked.allowed))
    show("\n\n".join(map(str, [result, *canaries])), asked.json_path)
    [canary] = map(asdict, canaries) if canaries else [None]
    write_json(asked.json_path, {**result.encoded(), "canary": canary})
    return int(not result.passed or any(each.has_changed for each in canaries))


def _shown(licence: JudgeLicence) -> str:
    word = "LICENSED" if licence.is_licensed else "NOT LICENSED"
    return "\n".join(
        [
            f"{word}: judge {licence.judge} ({licence.form}), {licence.calls} calls, {licence.tokens:,} tokens",
            _row("near misses that it fails", licence.near_misses),
            _row("right answers that it passes", licence.right_answers),
        ]
    )


def _row(what: str, found: Stream) -> str:
    how = "more than 75%, proven" if found.passed else "not proven to be more than 75%"
    return f"  {what:<30}{found}  {how}"


def _plain(finding: Any) -> dict[str, Any]:
    return {"judge": finding.judge, "changed": finding.has_changed, "found": str(finding)}
