"""Commands for more than one process: options here, what they do in `commands`, imported only when it is needed."""

from typing import Any

import click

from simeval.cli import CONTEXT
from simeval.cli.options import (
    GroupedCommand,
    html_option,
    json_option,
    log_options,
    only_option,
    setting_options,
    store_option,
    suite_options,
)


@click.command(context_settings=CONTEXT, cls=GroupedCommand)
@suite_options
@only_option("As the run has it: only the scenarios with this tag, or with this text in their titles.")
@click.option(
    "--lease",
    type=click.FloatRange(0.5),
    default=30.0,
    show_default=True,
    help="Seconds without a sign of life after which this worker's trials are lost.",
)
@click.option("--idle", type=click.FloatRange(0), help="End after this many seconds without a trial.  [default: never]")
@log_options
@setting_options()
@click.pass_context
def worker(context: click.Context, /, **options: Any) -> None:
    """Run trials for the runs of SUITE that others have started (`simeval run SUITE --executor workers`).

    It takes them from the store they share, a PostgreSQL server. Start it with the command of the run, `worker` in
    place of `run`, on as many machines as you like; keys are read from its own environment. Ctrl-C finishes what is
    under way. Exit status: 0, 2 where the command, suite or app could not be used, 3 where the store was lost.
    """
    from simeval.cli.run import leave
    from simeval.cli.worker import work

    leave(work(context, **options))


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
    meant. The merged run is concluded on as if one process had done all of it, and is read like any other. Exit
    status: that of `simeval run`; 2 where the runs do not belong together.
    """
    from simeval.cli.merge import merge_runs

    raise SystemExit(merge_runs(runs, store, **options))


SCALE = (worker, merge)
