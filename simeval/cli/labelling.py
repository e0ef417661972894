"""The commands by which people look, label and test judges: options here, what they do in modules of their own."""

from pathlib import Path
from typing import Any

import click

from simeval.cli import CONTEXT
from simeval.cli.options import GroupedCommand, color_option, json_option, setting_options, store_option


@click.command(context_settings=CONTEXT)
@click.argument("run", default="last")
@click.option("--label", "label", metavar="NAME", help="The expectation to label.  [default: the only one]")
@click.option(
    "--sample", type=click.IntRange(1), default=60, show_default=True, help="So many trials, drawn at random."
)
@click.option("--stratified", is_flag=True, help="As many that the judge fails as others: where failures are rare.")
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


@click.command(context_settings=CONTEXT)
@click.argument("run", required=False)
@store_option("A SQLite file or a PostgreSQL URL.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="0 is any that is free.")
@click.option("--no-open", "opens", is_flag=True, flag_value=False, default=True, help="Open no browser.")
@click.option("--bundle", type=click.Path(path_type=Path), metavar="DIR", help="Write the pages as files, and end.")
def view(**options: Any) -> None:
    """Look at the runs of a store in a browser, or at RUN (its id, the beginning of it, or last), and label there.

    It answers on this machine alone, and to who has the address it prints. A run that is under way moves. Ctrl-C ends
    it. Exit status: 0, or 2 where there is nothing to show.
    """
    from simeval.cli.view_store import view_store

    raise SystemExit(view_store(**options))


@click.command("judge-test", context_settings=CONTEXT, cls=GroupedCommand)
@click.option("--judge-model", "--judge", required=True, help="LiteLLM name of the judge to be tested.")
@click.option(
    "--allowed",
    type=click.FloatRange(0.15, 0.5),
    default=0.2,
    show_default=True,
    help="The share of a check's cases that the judge may get wrong.",
)
@json_option("result")
@setting_options(
    "canary_folder",
    "prompts",
    "model_options",
    "judge_options",
    "model_concurrency",
    "model_timeout_seconds",
    canary_folder="Folder of kept answers: say whether the model behind the name has changed (24 calls more).",
)
@click.pass_context
def judge_test(context: click.Context, /, **options: Any) -> None:
    """Test a judge on conversations of which it is known what they are worth, in about 310 calls.

    Right and wrong answers, empty words that judges are known to pass, evasions, padding, markdown, orders to the
    judge, other languages, repeats, and the order of two answers. Exit status: 0 every check passed; 1 one did not, or
    the model has changed; 2 the command could not be used; 3 the judge could not be asked.
    """
    from simeval.cli.judge_test import test_judge

    raise SystemExit(test_judge(context, **options))


LOOKING = (label, view, judge_test)
