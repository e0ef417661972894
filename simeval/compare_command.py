"""What `simeval compare` does: reads two results, compares them, writes what it found, gives the exit status."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from simeval.changes import encode_comparison
from simeval.comparing import compare
from simeval.console import require_writable, show, status_of, write_json
from simeval.errors import DefinitionError
from simeval.experiment_comparing import compare_experiments, is_experiment
from simeval.metric_changes import encode_experiment_comparison
from simeval.store.opening import open_database
from simeval.stored import read_json, read_result

PASSED, NOT_PASSED = 0, 1


def compare_runs(**options: Any) -> int:
    """Compare two results and give the exit status; with a `json_path` of "-" standard output holds JSON only."""
    return status_of(partial(_compare, **options))


def _compare(
    *,
    baseline: str,
    candidate: str,
    margin: float,
    alpha: float,
    higher_is_better: Sequence[str],
    lower_is_better: Sequence[str],
    store: str,
    json_path: str | None,
) -> int:
    require_writable(json_path)
    named = {f"baseline {baseline!r}": baseline, f"candidate {candidate!r}": candidate}
    (old_name, old), (new_name, new) = ((where, load_result(name, store, where)) for where, name in named.items())
    if is_experiment(old) != is_experiment(new):
        found = "one is an experiment, the other a run of a suite"
        raise DefinitionError("compare", found=found, do="compare two of a kind")
    if is_experiment(old):
        changes = compare_experiments(
            old,
            new,
            margin=margin,
            alpha=alpha,
            higher_is_better=higher_is_better,
            lower_is_better=lower_is_better,
        )
        show(changes, json_path)
        write_json(json_path, encode_experiment_comparison(changes))
        return PASSED if changes.passed else NOT_PASSED
    if higher_is_better or lower_is_better:
        option = "--higher" if higher_is_better else "--lower"
        raise DefinitionError(option, found="these are runs of suites", do="leave it out: their evaluators say it")
    comparison = compare(read_result(old, old_name), read_result(new, new_name), margin=margin, alpha=alpha)
    show(comparison, json_path)
    write_json(json_path, encode_comparison(comparison))
    return PASSED if comparison.passed else NOT_PASSED


def load_result(name: str, store: str, where: str) -> Any:
    """Give the JSON result that a file holds, or the store has of a run. Raises DefinitionError where there is none."""
    if Path(name).is_file() or Path(name).suffix == ".json":
        return read_json(Path(name), where)
    from simeval.store.runs import Runs

    database = open_database(store, is_there=True)
    try:
        runs = Runs(database)
        return runs.document(runs.find(name))
    finally:
        database.close()
