"""What `simeval judge-test` does: tests a judge, shows the result, gives the exit status."""

from functools import partial
from pathlib import Path

import anyio
import click

from simeval.cli.options import overrides
from simeval.cli.output import require_writable, show, status_of, write_json
from simeval.core.logs import configure_logging
from simeval.engine.judge_test.battery import judge_test
from simeval.suites.project import read_project


def test_judge(context: click.Context, *, judge_model: str, allowed: float, json_path: str | None) -> int:
    """Test a judge, and give the exit status."""
    configure_logging("WARNING")

    def tested() -> int:
        require_writable(json_path)
        settings = read_project(Path()).settings.overridden(overrides(context))
        folder = settings.canary_folder
        asked = partial(
            judge_test, judge_model, settings, allowed=allowed, canary=None if folder is None else Path(folder)
        )
        result = anyio.run(asked)
        show(result, json_path)
        write_json(json_path, result.encoded())
        return int(not result.passed)

    return status_of(tested)
