"""The work of `simeval demo`: run the starter suite against an embedded app, so that a run can be seen without one."""

import sys
from typing import Any

import anyio

from simeval.cli.output import exit_status, show
from simeval.cli.starter_apps import SUITE
from simeval.core.logs import configure_logging
from simeval.core.terminal import Color, terminal_of
from simeval.engine.engine import DEFAULT_APP, Engine
from simeval.results.screen.report import run_text
from simeval.results.suite import SuiteResult
from simeval.suites.files import load_file

NEXT = "`simeval init` writes this suite and an app of yours to start from; then"
COMMAND = "simeval run suite.yaml --app app:handle"


@exit_status
def show_demo(*, quiet: bool, verbose: bool, color: Color) -> None:
    """Run the starter suite against the embedded app, whatever it comes to; give the exit status."""
    level: Any = "ERROR" if quiet else "INFO"
    told = configure_logging(level, detailed=verbose)
    suite = load_file(SUITE)
    engine = Engine(settings=suite.settings, seed=7, store=None)
    result: SuiteResult = anyio.run(engine.evaluate, suite, DEFAULT_APP)
    page, terminal = result.document("worst"), terminal_of(sys.stdout, color)
    show(run_text(page, terminal, detailed=verbose, brief=quiet, told=told), None)
    if not quiet:
        lines = ["", "next:", *terminal.wrap(NEXT, first="  "), f"    {terminal.paint(COMMAND, 'cyan')}"]
        show("\n".join(lines), None)
