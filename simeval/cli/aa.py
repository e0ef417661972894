"""The work of `simeval run --aa` and `compare --aa`: how several runs of one unchanged app differ."""

from collections.abc import Callable, Mapping, Sequence

from simeval.analysis.saved_run import Source
from simeval.analysis.unchanged_runs import TRIALS, encode_unchanged, unchanged, unchanged_text
from simeval.cli.output import reader, show, write_json
from simeval.cli.signals import INTERRUPT, Interrupted
from simeval.core.logs import log
from simeval.core.settings import Settings
from simeval.core.terminal import Color, terminal_of
from simeval.errors import DefinitionError, SimevalError
from simeval.results.suite import SuiteResult
from simeval.suites.scenario import ScenarioTest

SAME, DIFFERENT = 0, 1


def require_alone(others: Mapping[str, object]) -> None:
    """Raise DefinitionError for another option that is about one run."""
    for option in (option for option, value in others.items() if value is not None):
        do = "leave it out; `simeval show RUN` has the reports of each run"
        raise DefinitionError("--aa", found=f"{option} is about one run", do=do)


def run_repeatedly(
    count: int, scenarios: Sequence[ScenarioTest], settings: Settings, run: Callable[[Settings], SuiteResult]
) -> Sequence[SuiteResult]:
    """Run a suite several times with different seeds. Raises SimevalError if one ends early, Interrupted by a signal.

    No run ends before the trials that are compared, as far as its scenarios have as many. Limits hold for each run.
    """
    smallest = min(each.sample_size or settings.sample_size for each in scenarios)
    settings = settings.overridden({"min_trials": max(settings.min_trials, min(TRIALS, smallest))})
    found: list[SuiteResult] = []
    for number in range(count):
        seed = {} if settings.seed is None else {"seed": settings.seed + number}
        result = run(settings.overridden(seed))
        if result.run.stopped:
            before = " ".join(each.run.run_id for each in found)
            how = f"; `simeval compare --aa {before}` compares those before it" if number > 1 else ""
            kind = Interrupted if result.run.stopped.startswith(INTERRUPT) else SimevalError
            raise kind(f"run {number + 1} of {count} ended early: {result.run.stopped}{how}")
        log.info(f"run {number + 1} of {count}, {result.run.run_id}: {result.outcome}")
        found.append(result)
    return found


def show_unchanged(runs: Sequence[Source], *, json_path: str | None, color: Color) -> int:
    """Show how runs of an unchanged app differ; return the exit status: whether that is more than chance."""
    found = unchanged(runs)
    show(unchanged_text(found, terminal_of(reader(json_path), color)), json_path)
    write_json(json_path, encode_unchanged(found))
    return DIFFERENT if found.differ else SAME
