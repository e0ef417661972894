"""What `simeval compare` does: reads two results, compares them, writes what it found, gives the exit status."""

from functools import partial
from pathlib import Path
from typing import Any

from simeval.analysis.comparison import compare
from simeval.analysis.comparison_html import write_comparison
from simeval.analysis.comparison_report import comparison_text, encode_comparison
from simeval.analysis.saved_run import read_json, read_result
from simeval.cli.output import Color, reader, require_writable, show, status_of, terminal_of, write_json
from simeval.errors import DefinitionError
from simeval.store.opening import open_database

PASSED, NOT_PASSED = 0, 1


def compare_runs(**options: Any) -> int:
    """Compare two results and return the exit status; with a `json_path` of "-" standard output holds JSON only."""
    return status_of(partial(_compare, **options))


def _compare(
    *,
    baseline: str,
    candidate: str,
    store: str,
    json_path: str | None,
    html_path: str | None,
    color: Color,
    **options: Any,
) -> int:
    for path in (json_path, html_path):
        require_writable(path)
    named = {f"baseline {baseline!r}": baseline, f"candidate {candidate!r}": candidate}
    found = {where: load_result(name, store, where) for where, name in named.items()}
    old, new = (read_result(document, where) for where, document in found.items())
    if old.run_id == new.run_id:
        do = "give two runs: a run is not better or worse than itself"
        raise DefinitionError("compare", found=f"both are run {old.run_id}", do=do)
    comparison = compare(old, new, **options)
    show(comparison_text(comparison, terminal_of(reader(json_path), color)), json_path)
    write_json(json_path, encode_comparison(comparison))
    if html_path is not None:
        write_comparison(html_path, comparison, *found.values())
    return PASSED if comparison.passed else NOT_PASSED


def load_result(name: str, store: str, where: str) -> Any:
    """Return the JSON result that a file holds, or the store of a run. Raises DefinitionError where there is none."""
    if Path(name).is_file() or Path(name).suffix == ".json":
        return read_json(Path(name), where)
    from simeval.store.runs import Runs

    database = open_database(store, must_exist=True)
    try:
        runs = Runs(database)
        return runs.document(runs.find(name))
    finally:
        database.close()
