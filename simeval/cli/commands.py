"""The commands with their options; their work is in modules that are imported only when needed."""

from pathlib import Path
from typing import Any

import click

from simeval.cli import CONTEXT
from simeval.cli.first_steps import FIRST_STEPS
from simeval.cli.options import (
    GroupedCommand,
    SettingsCommand,
    baseline_options,
    color_option,
    entrant_options,
    html_option,
    json_option,
    level_option,
    log_options,
    markdown_option,
    markdown_options,
    only_option,
    quiet_option,
    sarif_option,
    screen_options,
    setting_options,
    store_option,
    suite_options,
)
from simeval.core.settings import MARGIN, POWER


@click.group
def commands() -> None:
    """Hold the commands; simeval.cli.main offers them."""


@commands.command(context_settings=CONTEXT, cls=GroupedCommand)
@suite_options
@only_option(
    "Run only the scenarios with this tag, or with this text in their titles; give several to run more. "
    "case:COLUMN=VALUE runs only such cases."
)
@click.option(
    "--rerun",
    type=click.Choice(["failed"]),
    is_flag=False,
    flag_value="failed",
    help="Run only the scenarios that did not pass when each was last run.",
)
@click.option(
    "--plan-from",
    metavar="RUN",
    help="Choose sample sizes and designs by the results of this run, which prove nothing here.",
)
@click.option(
    "--aa",
    type=click.IntRange(2),
    is_flag=False,
    flag_value="10",
    metavar="[RUNS]",
    help="Run the suite so often (10 times without a number) against the unchanged app: how often is it red, and do "
    "the runs differ by more than chance?",
)
@json_option("result")
@click.option("--junit", "junit_path", metavar="PATH", type=click.Path(), help="Write the result as JUnit XML.")
@html_option
@sarif_option
@baseline_options
@click.option("--address", help="With --executor ray: its cluster.  [default: RAY_ADDRESS, or one started here]")
@click.option("--actors", type=click.IntRange(1), help="With --executor ray: how many actors.  [default: 4]")
@log_options
@screen_options
@setting_options()
@click.pass_context
def run(context: click.Context, /, **options: Any) -> None:
    """Run a suite: a YAML file, a folder of them, or MODULE:OBJECT.

    Options given here override the suite's settings, which override the defaults.

    Exit status: 0 every verdict passed (with --gate not_fail: none is a fail), with --baseline also proven no worse; 1
    not so; 2 the command, suite or app could not be used; 3 the run could not be completed (a model that cannot be
    used, a budget that is spent, too many errors); 130 it was interrupted. Finished trials are in the store, and
    --resume continues the run. Of several runs (--aa) 0 means that they differ no more than chance makes them.
    """
    from simeval.cli.run import leave, run_suite

    leave(run_suite(context, **options))


@commands.command(context_settings=CONTEXT, cls=SettingsCommand)
@click.argument("suite", type=click.Path(), required=False)
@click.option("--bar", type=float, help="The share of trials to prove, such as 0.9; 0.5 for a median.")
@click.option("--rate", type=float, help="The true share to plan for.  [default with a suite: half-way to 1]")
@click.option("--power", type=float, default=POWER, show_default=True, help="The wanted chance of a pass.")
@click.option("--requirements", type=click.IntRange(1), default=1, show_default=True, help="How many have to pass.")
@click.option("--samples", type=click.IntRange(1), help="Trials for each scenario, whatever the suite says.")
@click.option("--from", "from_run", metavar="RUN", help="Choose sample sizes and designs by the results of this run.")
@store_option("The store of RUN, unless it is a file.")
@setting_options("significance_level", "joint", "early_stopping", "min_trials", "stop", "gate")
@click.pass_context
def plan(context: click.Context, /, **options: Any) -> None:
    """Plan sample sizes before paying for a call.

    With --bar and --rate: how many trials a requirement takes. With SUITE: the acceptance of each requirement, and how
    it would fare if the app were as good as --rate. With --from: the same, with as many trials as it takes, with the
    chance --power, if each requirement is met as often as in RUN.

    Exit status: 0 it can be proven; 1 no sample proves it (the rate is not above the bar, or too close to it), or a
    requirement of SUITE cannot pass with its trials; 2 the command or the suite could not be used.
    """
    from simeval.cli.plan import show_plan

    raise SystemExit(show_plan(context, **options))


@commands.command(context_settings=CONTEXT, cls=GroupedCommand)
@click.argument("suite", type=click.Path())
@click.option("--judge-model", help="LiteLLM name of the judge.  [default: offline/judge]")
@click.option("--write", is_flag=True, help="Ask the judge for the rubrics that are not there, and keep them.")
@json_option("rubrics")
@setting_options("model_concurrency", "model_timeout_seconds", "model_options", "secret_patterns")
@click.pass_context
def rubric(context: click.Context, /, **options: Any) -> None:
    """Show the rubric of each expectation of SUITE, which the judge will use.

    Each is given by the suite (rubric:), was written by the judge before and is kept, or is not there yet. Exit status:
    0 every rubric is there; 1 not so; 2 the command or the suite could not be used; 3 the judge could not be asked.
    """
    from simeval.cli.rubric import show_rubrics

    raise SystemExit(show_rubrics(context, **options))


@commands.command(context_settings=CONTEXT)
@click.argument("baseline", type=click.Path())
@click.argument("candidates", type=click.Path(), nargs=-1, required=True, metavar="CANDIDATE...")
@store_option("The store of runs that are not files.")
@click.option("--margin", type=float, default=MARGIN, show_default=True, help="The loss of a share that is tolerated.")
@level_option("Chance of a wrong finding.")
@click.option(
    "--gate",
    type=click.Choice(["not_worse", "not_proven_worse"]),
    default="not_worse",
    show_default=True,
    help="What status 0 means: CANDIDATE is proven not worse (or better), or is not proven worse.",
)
@click.option(
    "--higher", "higher_is_better", multiple=True, metavar="METRIC", help="For experiments: more of it is better."
)
@click.option(
    "--lower", "lower_is_better", multiple=True, metavar="METRIC", help="For experiments: less of it is better."
)
@click.option("--aa", is_flag=True, help="All runs are of one unchanged app: do they differ by more than chance?")
@json_option("comparison")
@html_option
@markdown_option
@color_option
def compare(**options: Any) -> None:
    """Say whether CANDIDATE is better or worse than BASELINE, or proven not to be worse.

    This is for runs that have ended. `simeval run SUITE --against RUN|APP` takes trials until it is proven, `simeval
    run SUITE --baseline RUN` keeps the bars of the suite too, and `simeval select` finds the best of several apps.

    Several candidates are shown in one table, with one error rate for all of it. Each is a run of the store (its id,
    the beginning of it, or last) or a file that `--json` wrote. Runs of suites with the same seed are compared trial by
    trial, experiments example by example, metric by metric. Exit status: 0 the gate is met (not_worse: every share is
    proven better, or not worse by more than the margin, and nothing is proven worse; not_proven_worse: nothing is
    proven worse); 1 it is not; 2 the command or a file could not be used.
    """
    from simeval.cli.compare import compare_runs

    raise SystemExit(compare_runs(**options))


@commands.command(context_settings=CONTEXT, cls=GroupedCommand)
@entrant_options
@only_option("Use only the scenarios with this tag, or with this text in their titles; give several to use more.")
@json_option("selection")
@log_options
@setting_options()
@click.pass_context
def select(context: click.Context, /, **options: Any) -> None:
    """Find out which of several apps meets the requirements of SUITE most often.

    All are asked with the same seeds, in rounds; an app that is proven not to be the best is dropped. Exit status: 0
    one is left; 1 no one of the rest is proven best; 2 the command, suite or an app could not be used; 3 the run could
    not be completed; 130 it was interrupted. Finished trials are in the store, and --resume continues the run.
    """
    from simeval.cli.run import leave
    from simeval.cli.select import select_app

    leave(select_app(context, **options))


@commands.command(context_settings=CONTEXT, cls=GroupedCommand)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--scorers", default="", metavar="NAMES", help="Names, separated by commas, or MODULE:OBJECT.")
@click.option("--then", type=click.Path(path_type=Path), metavar="YAML", help="What is expected, as a scenario's then.")
@click.option("--format", default="auto", show_default=True, help="What the file is, as `simeval help logs` lists.")
@click.option("--recorded", metavar="COLUMN", help="For a table: the column with the recorded answers.")
@click.option("--input", "inputs", multiple=True, metavar="COLUMN", help="For a table: the column to put to the app.")
@click.option("--output", "outputs", multiple=True, metavar="COLUMN", help="For a table: a column with a reference.")
@click.option("--app", help="Ask this app (MODULE:HANDLER, or a model) again, in place of the recorded answers.")
@click.option("--against", metavar="RUN", help="Another run, log or table: which answer is better? (scorer preference)")
@click.option("--feedback", multiple=True, metavar="KEY", help="For a run: what people said under KEY, as a metric.")
@click.option(
    "--persona", metavar="YAML", type=click.Path(), help="The brand's persona, for authenticity, safety and alignment."
)
@click.option(
    "--traits", metavar="JSON", type=click.Path(), help="The traits model that `simeval persona calibrate` wrote."
)
@click.option("--encoder", metavar="NAME", help="What embeds texts: hashed, minilm, a hub name or a folder.")
@click.option("--sentiment-model", metavar="NAME", help="embedded, lexicon, a hub name or a folder.")
@click.option("--judge-model", help="LiteLLM name of the model that grades.  [default: offline/judge]")
@click.option(
    "--share", "shares", multiple=True, metavar="METRIC=SHARE", help="Require that it is true in at least this share."
)
@click.option("--median", "medians", multiple=True, metavar="METRIC=VALUE", help="Require at least this median.")
@json_option("result")
@html_option
@quiet_option
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"], case_sensitive=False),
    help="debug shows every prompt, reply and judge's reasoning.  [default: warning]",
)
@setting_options(
    "seed",
    "concurrency",
    "store",
    seed="Fixes what is drawn.",
    concurrency="Conversations in flight.",
    store="Where the run is kept, or none.",
)
@click.pass_context
def score(context: click.Context, /, **options: Any) -> None:
    """Score the recorded conversations of FILE: any log that `simeval import` reads, a table, or a run.

    A run of the store (its id, the beginning of it, or last) is measured again without asking the app. With --feedback
    KEY, only the answers that people scored under KEY are measured, and KEY is one more metric.

    METRIC is a scorer's name, with the path of one of its numbers if it gives several: valid_json.valid. Exit status: 0
    every --share, --median and --then is proven (or none was given); 1 not so; 2 the command or a file could not be
    used; 3 the run could not be completed; 130 it was interrupted.
    """
    from simeval.cli.run import leave
    from simeval.cli.score import score_file

    leave(score_file(context, **options))


@commands.command(context_settings=CONTEXT)
@store_option("A SQLite file or a PostgreSQL URL.")
@click.option("--limit", type=click.IntRange(1), help="How many of the newest.  [default: 20]")
@click.option("--dataset", metavar="NAME", help="Only experiments on this dataset.")
@click.option("--where", metavar="KEY=VALUE", multiple=True, help="Only runs with this metadata, app or outcome.")
@click.option(
    "--metric", "metrics", metavar="METRIC", multiple=True, help="Show the value and the interval of this metric."
)
@json_option("runs")
def runs(store: str, **wanted: Any) -> None:
    """List the runs of a store, the newest first."""
    from simeval.cli.runs import WantedRuns, list_runs

    raise SystemExit(list_runs(store, WantedRuns(**wanted)))


@commands.command(context_settings=CONTEXT)
@click.argument("run", default="last")
@store_option("A SQLite file or a PostgreSQL URL.")
@json_option("result")
@html_option
@markdown_options
@click.option("--trial", type=click.IntRange(0), help="Show the conversations with this number, from 0.")
@click.option("--failed", is_flag=True, help="Show the conversations that speak against the app.")
@click.option("--scenario", metavar="TITLE", help="Show the conversations of the scenarios with this in their titles.")
@click.option("--rows", is_flag=True, help="Show single answers with everything that was measured of each.")
@click.option("--where", metavar="CONDITION", multiple=True, help="Only rows that meet it: METRIC<0.5, METRIC=no.")
@click.option("--worst", metavar="METRIC", help="The rows that are worst by this metric, first.")
@click.option("--limit", type=click.IntRange(1), help="How many rows or conversations.  [default: 20 rows]")
@click.option("--out", metavar="PATH", type=click.Path(), help="Write all those rows to a file, .csv or .jsonl.")
@screen_options
def show(
    run: str,
    store: str,
    json_path: str | None,
    html_path: str | None,
    markdown_path: str | None,
    baseline: str | None,
    **wanted: Any,
) -> None:
    """Show the report of RUN (its id, the beginning of it, or last), or how far it has come.

    With --trial, --failed or --scenario: the conversations in full, with tool calls, scores, reasons and times. With
    --rows: inputs, answer, reference, scores and reasons, one answer after the other.
    """
    from simeval.cli.store import Wanted, Written, show_run

    written = Written(json_path, html_path, markdown_path, baseline)
    rows = {name: wanted.pop(name) for name in ("rows", "where", "worst", "out")}
    raise SystemExit(show_run(store, run, written, Wanted(**wanted), rows))


@commands.command(context_settings=CONTEXT)
@store_option("A SQLite file or a PostgreSQL URL.")
def datasets(store: str) -> None:
    """List the datasets of a store, with their versions and tags."""
    from simeval.cli.store import list_datasets

    raise SystemExit(list_datasets(store))


@commands.command(context_settings=CONTEXT)
@click.argument("runs", nargs=-1, required=True)
@store_option("A SQLite file or a PostgreSQL URL.")
@click.option("--yes", "confirmed", is_flag=True, help="Do not ask.")
def delete(runs: tuple[str, ...], store: str, confirmed: bool) -> None:
    """Delete RUNS and everything that belongs to them."""
    from simeval.cli.store import delete_runs

    raise SystemExit(delete_runs(store, runs, confirmed=confirmed))


@commands.command(context_settings=CONTEXT, short_help="Add, list, export, import or remove feedback.")
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
    """Add feedback on a trial of RUN (its id, the beginning of it, or last), or list earlier feedback.

    With --key, and --score or --comment or both, feedback is added; without, the feedback on RUN is listed. Imported
    lines without a run belong to RUN.
    """
    from simeval.cli.feedback import FeedbackOptions
    from simeval.cli.feedback import feedback as give_feedback

    raise SystemExit(give_feedback(store, FeedbackOptions(**options)))


@commands.command(context_settings=CONTEXT)
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


for _command in FIRST_STEPS:
    commands.add_command(_command)
