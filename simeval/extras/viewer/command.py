"""The commands by which people look at runs, label trials, and compare a judge with their labels."""

from pathlib import Path
from typing import Any

import click

from simeval.cli import CONTEXT
from simeval.cli.commands import feedback
from simeval.cli.options import color_option, json_option, level_option, store_option


@click.command(context_settings=CONTEXT, short_help="Label trials of a run by single keys.")
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
@click.option("--plan", is_flag=True, help="Only say how many labels a requirement with `standard: people` takes.")
@store_option("A SQLite file or a PostgreSQL URL.")
@color_option
def label(store: str, plan: bool, **options: Any) -> None:
    """Label trials of RUN (its id, the beginning of it, or last) by single keys, without seeing the judge's rating.

    Each label is kept at once; the same command continues where you stopped. When all are labelled, it shows how far
    the judge agrees with people, and its disagreements. Where the standard of a requirement is people, its own trials
    are dealt, and it concludes. Exit status: 0, or 2 if nothing can be labelled.
    """
    from simeval.extras.viewer.label_trials import Asked, label_run, show_plan

    raise SystemExit(show_plan(store, options["run"]) if plan else label_run(store, Asked(**options)))


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

    It serves this machine only, and only with the address that it prints. A run under way is updated live. Ctrl-C ends
    it. Exit status: 0, or 2 if there is nothing to show.
    """
    from simeval.extras.viewer.view_store import view_store

    raise SystemExit(view_store(**options))


@click.command(context_settings=CONTEXT, short_help="Compare the judge of a run with labels.")
@click.argument("result", type=click.Path())
@click.argument("labels", type=click.Path(path_type=Path), required=False)
@click.option("--sample", type=click.IntRange(1), help="Draw this many trials at random for people to label.")
@click.option("--out", type=click.Path(path_type=Path), help="Where --sample writes the file to fill in (CSV).")
@click.option("--seed", type=int, help="Fixes which trials --sample draws.  [default: the run's]")
@level_option("Error on each side of the intervals.")
@click.option("--feedback", metavar="KEY[=EXPECTATION]", help="Instead of labels: what people said under KEY.")
@store_option("The store of runs and labels that are not files.")
@json_option("report")
def agree(**options: Any) -> None:
    """Compare the judge of a run (RESULT, a file from --json or a run of the store) with people's LABELS.

    Without LABELS it takes those that people gave with `simeval people label`; labels of models are never among them.

    LABELS is CSV, or one JSON object a line, with scenario, index and label (pass or fail, or a rating from 1 to 10),
    and expectation and rater if there are several. The labelled trials must be a random subset of the run's: `simeval
    agree RESULT --sample 60 --out LABELS` draws one. It shows how good the judge is. It gives a pass or fail only to
    requirements with `standard: people`. Exit status: 0, 1 if one of these is not a pass, or 2 for input that could not
    be used.
    """
    from simeval.extras.viewer.agree import agree as hold_against_labels

    raise SystemExit(hold_against_labels(**options))


@click.group(context_settings=CONTEXT)
def people() -> None:
    """Label trials, give feedback on them, and compare a judge with people."""


for _command in (label, agree, feedback):
    people.add_command(_command)
