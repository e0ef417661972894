"""The commands by which people look, label, give feedback and test judges; what they do is in modules of their own."""

from pathlib import Path
from typing import Any

import click

from simeval.cli import CONTEXT
from simeval.cli.options import color_option, store_option


@click.command(context_settings=CONTEXT)
@click.argument("run", default="last")
@click.option("--label", "label", metavar="NAME", help="The expectation to label.  [default: the only one]")
@click.option(
    "--sample", type=click.IntRange(1), default=60, show_default=True, help="How many trials, drawn at random."
)
@click.option(
    "--stratified", is_flag=True, help="Draw as many trials that the judge fails as others, where failures are rare."
)
@click.option("--by", metavar="WHO", help="Who labels.  [default: the user of this machine]")
@click.option("--overlap", type=click.IntRange(1), help="The most labels that a trial gets.  [default: everybody's]")
@click.option("--ratings", is_flag=True, help="Give ratings from 1 to 10, not yes or no.")
@click.option("--seed", type=int, help="Fixes which trials are drawn.  [default: the run's]")
@store_option("A SQLite file or a PostgreSQL URL.")
@color_option
def label(store: str, **options: Any) -> None:
    """Label trials of RUN (its id, the beginning of it, or last) by single keys, without seeing what the judge said.

    Each label is kept at once; the same command continues where you stopped. When all are labelled, it says how far the
    judge agrees with people, and where it does not. Exit status: 0, or 2 where nothing can be labelled.
    """
    from simeval.cli.label_trials import Asked, label_run

    raise SystemExit(label_run(store, Asked(**options)))


@click.command(context_settings=CONTEXT)
@click.argument("run", required=False)
@store_option("A SQLite file or a PostgreSQL URL.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="The port; 0 picks a free one."
)
@click.option("--no-open", "opens", is_flag=True, flag_value=False, default=True, help="Open no browser.")
@click.option("--bundle", type=click.Path(path_type=Path), metavar="DIR", help="Write the pages as files, and exit.")
def view(**options: Any) -> None:
    """Look at the runs of a store, or at RUN (its id, the beginning of it, or last), in a browser, and label there.

    It serves this machine only, and only who has the address that it prints. A run under way is updated live. Ctrl-C
    ends it. Exit status: 0, or 2 where there is nothing to show.
    """
    from simeval.cli.view_store import view_store

    raise SystemExit(view_store(**options))


@click.command(context_settings=CONTEXT)
@click.argument("run", required=False)
@click.option("--trial", type=click.IntRange(0), help="The number of the trial, from 0.")
@click.option("--scenario", metavar="TITLE", help="Its scenario, or a part of the title, where the run has several.")
@click.option("--dataset", metavar="NAME", help="For an example of this dataset of the store, not for a trial.")
@click.option("--example", metavar="KEY", help="The key of the example.")
@click.option("--key", help="What the feedback is about, such as helpful.")
@click.option("--score", help="A number, true or false.")
@click.option("--comment", metavar="TEXT")
@click.option("--source", metavar="WHO", help="Who gives the feedback.")
@click.option(
    "--labeller",
    type=click.Choice(["person", "model", "program"]),
    help="What kind of source it is; only people count.",
)
@click.option(
    "--export", "export_path", metavar="PATH", type=click.Path(), help="Write feedback as JSON lines: all, or RUN's."
)
@click.option(
    "--import",
    "import_path",
    metavar="PATH",
    type=click.Path(),
    help="Read feedback from JSON lines; no line is kept twice.",
)
@click.option("--remove", metavar="ID", help="Remove one feedback.")
@store_option("A SQLite file or a PostgreSQL URL.")
def feedback(store: str, **options: Any) -> None:
    """Say what you think of a trial of RUN (its id, the beginning of it, or last), or list what was said.

    With --key, and --score or --comment or both, feedback is added; without, the feedback on RUN is listed. Imported
    lines without a run belong to RUN.
    """
    from simeval.cli.feedback import FeedbackOptions
    from simeval.cli.feedback import feedback as give_feedback

    raise SystemExit(give_feedback(store, FeedbackOptions(**options)))


LOOKING = (label, view, feedback)
