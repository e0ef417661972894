"""The command by which people label: options here, what it does in `label_trials`."""

from typing import Any

import click

from simeval.cli import CONTEXT
from simeval.cli.options import color_option, store_option


@click.command(context_settings=CONTEXT)
@click.argument("run", default="last")
@click.option("--label", "label", metavar="NAME", help="The expectation to label.  [default: the only one]")
@click.option(
    "--sample", type=click.IntRange(1), default=60, show_default=True, help="So many trials, drawn at random."
)
@click.option("--by", metavar="WHO", help="Who labels.  [default: the user of this machine]")
@click.option("--overlap", type=click.IntRange(1), help="Labels that a trial gets at most.  [default: everybody's]")
@click.option("--ratings", is_flag=True, help="Give ratings from 1 to 10, not yes or no.")
@click.option("--seed", type=int, help="Fixes which trials are drawn.  [default: the run's]")
@store_option("A SQLite file or a PostgreSQL URL.")
@color_option
def label(store: str, **options: Any) -> None:
    """Label trials of a RUN (its id, the beginning of it, or last) by keys, without seeing what the judge said.

    Each label is kept at once; the same command goes on where it was left. When all are labelled, it says how far the
    judge agrees with people, and where it does not. Exit status: 0, or 2 where nothing can be labelled.
    """
    from simeval.cli.label_trials import Asked, label_run

    raise SystemExit(label_run(store, Asked(**options)))
