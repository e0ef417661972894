"""The work of `simeval run --against`: read the baseline run, or find the app, and compare the suite with it."""

import re
from dataclasses import replace
from pathlib import Path

from simeval.analysis.held_against import against
from simeval.analysis.saved_run import read_suite
from simeval.cli.compare import load_result
from simeval.core.app_handler import APP_FORMS
from simeval.core.settings import Settings
from simeval.core.validation import require_share
from simeval.errors import DefinitionError
from simeval.suites.apps.named import app_of
from simeval.suites.files import Suite

RUN_ID = re.compile(r"\d{1,8}(-\d{0,6}(-[0-9a-f]{0,6})?)?")  # or how one begins


def held_against(name: str, suite: Suite, settings: Settings, margin: float) -> tuple[Suite, Settings]:
    """Return a suite whose requirements are those of a comparison with a run, and the settings with that run's seed.

    `name` may also be that of an app, which is asked beside the other one. Raises DefinitionError if nothing can be
    compared with it, or another seed than that of a run is given.
    """
    require_share(margin, "--margin", such_as=0.05)
    where = f"--against {name!r}"
    if _names_app(name, where):
        return replace(suite, scenarios=against(suite, app_of(name), margin=margin)), settings
    run = read_suite(load_result(name, str(settings.store), where, of_a_suite=True), where)
    if settings.seed not in (None, run.seed):
        do = "leave --seed out: trials are pairs by their seeds"
        raise DefinitionError(where, found=f"its seed is {run.seed}, not {settings.seed}", do=do)
    held = replace(suite, scenarios=against(suite, run, margin=margin))
    return held, settings if settings.resume else settings.overridden({"seed": run.seed})


def _names_app(name: str, where: str) -> bool:
    """Return whether an app is meant, and not a run. Raises DefinitionError if that is unclear."""
    is_app = bool(re.match(r"[\w.-]+:", name)) or ("/" in name and not name.endswith(".json"))
    is_run = Path(name).is_file() or name == "last" or bool(RUN_ID.fullmatch(name)) or name.endswith(".json")
    if is_app and Path(name).is_file():
        do = f"rename the file, or give {APP_FORMS}"
        raise DefinitionError(where, found="it is a file, and may be the name of an app", do=do)
    if not (is_app or is_run):
        do = f"give what `--json` wrote, the id of a run of the store, or an app: {APP_FORMS}"
        raise DefinitionError(where, found="it is no run and no app", do=do)
    return is_app
