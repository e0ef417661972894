"""What `simeval run --against` does before the run: reads the run, and holds the suite against it."""

from dataclasses import replace

from simeval.analysis.held_against import against
from simeval.analysis.saved_run import read_suite
from simeval.cli.compare import load_result
from simeval.core.settings import Settings
from simeval.core.validation import require_share
from simeval.errors import DefinitionError
from simeval.suites.files import Suite


def held_against(name: str, suite: Suite, settings: Settings, margin: float) -> tuple[Suite, Settings]:
    """Return a suite whose requirements are those of a comparison with a run, and the settings with that run's seed.

    Raises DefinitionError where nothing can be held against it, or another seed is given.
    """
    require_share(margin, "--margin")
    where = f"--against {name!r}"
    run = read_suite(load_result(name, str(settings.store), where), where)
    if settings.seed not in (None, run.seed):
        do = "leave --seed out: trials are pairs by their seeds"
        raise DefinitionError(where, found=f"its seed is {run.seed}, not {settings.seed}", do=do)
    held = replace(suite, scenarios=against(suite, run, margin=margin))
    return held, settings if settings.resume else settings.overridden({"seed": run.seed})
