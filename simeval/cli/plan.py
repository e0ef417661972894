"""The work of `simeval plan`: sizes of samples, and what a suite can prove, before any call is paid for."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from simeval.cli.options import overrides, written_flags
from simeval.cli.output import exit_status, show
from simeval.core.logs import configure_logging, log
from simeval.core.settings import POWER, Settings
from simeval.core.terminal import room_of
from simeval.core.validation import require_share
from simeval.errors import DefinitionError
from simeval.suites.planning import SampleSizePlan, SuitePlan, plan, plan_suite, require_rate
from simeval.suites.project import read_project

if TYPE_CHECKING:
    from simeval.suites.files import Suite

NOT_PROVABLE = 1
ONLY_OF_A_BAR = ("bar", "power", "requirements")
ONLY_OF_A_SUITE = ("samples", "early_stopping", "stop", "gate", "from_run", "store")


@exit_status
def show_plan(
    context: click.Context,
    *,
    suite: str | None,
    bar: float | None,
    rate: float | None,
    power: float,
    requirements: int,
    samples: int | None,
    from_run: str | None,
    store: str,
) -> int:
    """Plan a requirement, or forecast a suite, and give the exit status: 1 where something cannot be proven.

    An option that was written and would change nothing is refused.
    """
    configure_logging("WARNING")
    written = written_flags(context)
    if bar is not None:
        require_share(bar, "--bar")
    if rate is not None:
        require_rate(rate, "--rate")
    require_share(power, "--power", such_as=POWER)
    if suite is not None:
        of_a_bar = [each for each in ONLY_OF_A_BAR if each != "power" or from_run is None]
        _refuse(written, of_a_bar, "it does not apply to a suite, which has bars of its own")
        loaded = _loaded(suite, samples)
        settings = loaded.settings.overridden(overrides(context))
        loaded = loaded if from_run is None else planned(loaded, from_run, store, settings, power=power)
        found: SuitePlan | SampleSizePlan = plan_suite(loaded, settings, true_rate=rate)
    elif bar is None and rate is None:
        raise DefinitionError("plan", found="there is nothing to plan", do="give a suite, or --bar and --rate")
    elif bar is None:
        raise DefinitionError("plan", found="--bar is missing", do="give the share to prove, or a suite")
    elif rate is None:
        raise DefinitionError(
            "plan", found="--rate is missing", do="give the share that the app really has, such as 0.97"
        )
    else:
        _refuse(written, ONLY_OF_A_SUITE, "it applies to a suite only")
        given = read_project(Path()).settings.overridden(overrides(context))
        found = plan(
            bar,
            rate,
            significance_level=given.significance_level,
            power=power,
            requirements=requirements,
            joint=given.joint,
            min_trials=given.min_trials,
        )
    show(found.text(room_of(sys.stdout)), None)
    return 0 if found.can_pass else NOT_PROVABLE


def _loaded(suite: str, samples: int | None) -> "Suite":
    """Return a suite, and warn where its app may not hold its conversations."""
    from simeval.cli.entrants import read_suite  # scenarios and apps, which the plan of a bar does without
    from simeval.suites.apps.named import session_warnings
    from simeval.suites.cast import Cast

    loaded, cast = read_suite(suite, Cast(), samples=samples)
    for said in session_warnings([cast.app], max((each.most_turns for each in loaded), default=0)):
        log.warning(said)
    return loaded


def planned(suite: "Suite", run: str, store: str, settings: Settings, *, power: float = POWER) -> "Suite":
    """Return a suite with sizes and designs based on its results in a run. Raises DefinitionError."""
    from simeval.analysis.past_design import planned_from  # reading runs takes its time
    from simeval.cli.compare import load_result

    found = load_result(run, store, f"run {run!r}", of_a_suite=True)
    return replace(suite, scenarios=planned_from(suite, found, settings, power=power))


def _refuse(written: Mapping[str, str], names: Sequence[str], why: str) -> None:
    for name in names:
        if name in written:
            raise DefinitionError(f"plan: {written[name]}", found=why, do="leave it out")
