"""Run simeval as the action's inputs say, and tell GitHub the outcome; the exit status is that of `simeval run`."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex

REPORTS = Path("simeval-reports")
FORMS = {"--json": "report.json", "--junit": "report.xml", "--html": "report.html", "--markdown": "report.md"}


def command_of(environment: Mapping[str, str]) -> list[str]:
    """Return the command line that the inputs mean."""
    given = {f"--{name}": environment.get(f"SIMEVAL_{name.upper()}", "") for name in ("app", "baseline", "margin")}
    more = [line.strip() for line in environment.get("SIMEVAL_ARGUMENTS", "").splitlines() if line.strip()]
    reports = [part for option, name in FORMS.items() for part in (option, str(REPORTS / name))]
    options = [part for option, value in given.items() if value for part in (option, value)]
    return [sys.executable, "-m", "simeval", "run", environment["SIMEVAL_SUITE"], *options, *more, *reports]


def outputs() -> dict[str, str]:
    """Return what later steps are told, as far as there are reports."""
    result = REPORTS / FORMS["--json"]
    if not result.is_file():
        return {}
    found = json.loads(result.read_text(encoding="utf-8"))
    return {
        "outcome": str(found["outcome"]),
        "run-id": str(found["run_id"]),
        "report": str(REPORTS / FORMS["--html"]),
    }


def main() -> int:
    """Run, write the outputs of this step, and return the exit status."""
    REPORTS.mkdir(exist_ok=True)
    token = token_hex(16)  # until it is written again, nothing that an app said is a command to GitHub
    print(f"::stop-commands::{token}", flush=True)  # noqa: T201
    try:
        status = subprocess.run(command_of(os.environ), check=False).returncode  # noqa: S603  (inputs are the job's)
    finally:
        print(f"\n::{token}::", flush=True)  # noqa: T201
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as file:
        file.writelines(f"{name}={value}\n" for name, value in outputs().items())
    return status


if __name__ == "__main__":
    raise SystemExit(main())
