"""Commands for more than one process: options here, their work in `commands`, imported only when it is needed."""

from typing import Any

import click

from simeval.cli import CONTEXT
from simeval.cli.options import (
    html_option,
    json_option,
    store_option,
)


@click.command(context_settings=CONTEXT)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@store_option("The store of the merged run, and of runs that are not stores themselves.")
@click.option("--allow-missing", is_flag=True, help="Merge although shards are missing; the merged run is no pass.")
@json_option("result")
@click.option("--junit", "junit_path", metavar="PATH", type=click.Path(), help="Write the result as JUnit XML.")
@html_option
def merge(runs: tuple[str, ...], store: str, **options: Any) -> None:
    """Merge the runs of a suite's shards (`simeval run --shard 1/8` to 8/8) into one run.

    Each RUN is a run of the store (its id, or the beginning of it), or a store (a file or a URL) whose last run is
    meant. The merged run is concluded on as if one process had done all of it, and is read like any other. Exit status:
    that of `simeval run`; 2 if the runs do not belong together.
    """
    from simeval.cli.merge import merge_runs

    raise SystemExit(merge_runs(runs, store, **options))


SCALE = (merge,)
