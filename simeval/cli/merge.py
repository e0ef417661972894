"""The work of `simeval merge`: make one run of the runs of a suite's shards."""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from simeval.analysis.merging import merge
from simeval.cli.output import (
    NOT_COMPLETED,
    STATUS,
    exit_status,
    require_apart,
    require_writable,
    say,
    show,
    write_json,
    write_text,
)
from simeval.core.version import __version__
from simeval.results.junit import junit_xml
from simeval.results.suite import encode_suite
from simeval.store.database import Database
from simeval.store.opening import open_database
from simeval.store.runs import LAST, Runs


@exit_status
def merge_runs(
    runs: Sequence[str],
    store: str,
    *,
    allow_missing: bool,
    json_path: str | None,
    junit_path: str | None,
    html_path: str | None,
) -> int:
    """Merge the runs of shards, each in the store or the last of a store of its own; give the exit status."""
    require_apart({"--json": json_path, "--junit": junit_path, "--html": html_path})
    for path in (json_path, junit_path, html_path):
        require_writable(path, read=(store, *runs))
    with ExitStack() as open_stores:
        into = open_stores.enter_context(closing(open_database(store)))
        sources = [_found(each, into, open_stores) for each in runs]
        suite = merge(sources, into, allow_missing=allow_missing)
    show(suite, json_path)
    write_json(json_path, encode_suite(suite.results, suite.run, version=__version__))
    if junit_path:
        write_text(junit_path, junit_xml(suite.results, suite.run))
    if html_path:
        suite.to_html(html_path)
    if suite.run.stopped:
        return say(suite.run.stopped, NOT_COMPLETED)
    return 0 if suite.meets(suite.run.gate) else STATUS[suite.outcome]


def _found(named: str, into: Database, open_stores: ExitStack) -> tuple[Database, str]:
    """Return the store and the id of a run: the last run of a file or a URL, or a run of the store that is written."""
    if "://" in named or Path(named).is_file():
        database = open_stores.enter_context(closing(open_database(named, must_exist=True)))
        return database, Runs(database).find(LAST)
    return into, Runs(into).find(named)
