"""What `simeval plan` does: sizes of samples, and what a suite can be expected to prove, before a call is paid for."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from simeval.cli.output import status_of
from simeval.core.logs import configure_logging
from simeval.core.settings import Settings
from simeval.errors import DefinitionError
from simeval.suites.files import load_suite, sized
from simeval.suites.planning import plan, plan_suite

ONLY_OF_A_BAR = ("bar", "power", "requirements")
ONLY_OF_A_SUITE = ("samples", "early_stopping", "stop", "gate")


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

    def show() -> None:
        if suite is not None:
            _refuse(given, ONLY_OF_A_BAR, "it does not apply to a suite, which has bars of its own")
            settings = Settings(
                significance_level=alpha, joint=joint, early_stopping=early_stopping, stop=stop, gate=gate
            )
            found: object = plan_suite(sized(load_suite(suite), samples), settings, true_rate=rate)
        elif bar is None and rate is None:
            raise DefinitionError("plan", found="there is nothing to plan", do="give a suite, or --bar and --rate")
        elif bar is None:
            raise DefinitionError("plan", found="--bar is missing", do="give the share to prove, or a suite")
        elif rate is None:
            raise DefinitionError("plan", found="--rate is missing", do="give the true share it shall be proven at")
        else:
            _refuse(given, ONLY_OF_A_SUITE, "it applies to a suite only")
            found = plan(bar, rate, significance_level=alpha, power=power, requirements=requirements, joint=joint)
        sys.stdout.write(f"{found}\n")

    return status_of(show)


def _refuse(given: Mapping[str, str], names: Sequence[str], why: str) -> None:
    for name in names:
        if name in given:
            raise DefinitionError(f"plan: {given[name]}", found=why, do="leave it out")
