"""The command `simeval judge-test` with its options."""

from typing import Any

import click

from simeval.cli import CONTEXT
from simeval.cli.options import GroupedCommand, json_option, judge_option, setting_options


@click.command("judge-test", context_settings=CONTEXT, cls=GroupedCommand)
@click.argument("suite", type=click.Path(), required=False)
@judge_option
@click.option(
    "--form",
    type=click.Choice(["rating", "criteria"]),
    help="How it judges.  [default: as the suite's expectations, else rating]",
)
@click.option("--weaknesses", is_flag=True, help="Ask some 300 calls instead: nine checks, one for each weakness.")
@click.option(
    "--allowed",
    type=click.FloatRange(0.15, 0.5),
    default=0.2,
    show_default=True,
    help="With --weaknesses, the share of a check's cases that the judge may get wrong.",
)
@json_option("result")
@setting_options(
    "store",
    "judge_reply",
    "judge_repeats",
    "criteria_calls",
    "escalate",
    "judge_context_tokens",
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
    """Test a judge on near misses and right answers, asked as a run of SUITE asks it, with 6 to 84 calls.

    The result is kept in the store as the judge's licence. Every report of a run names it whose judge, prompt, options
    and form of reply are the same, and `run --require-judge-test` refuses without it. Exit status: 0 it is licensed (or
    every check passed); 1 it is not, or the model has changed; 2 the command could not be used; 3 the judge could not
    be asked.
    """
    from simeval.extras.judge_test.tester import Asked, test_judge

    chosen = {name: options[name] for name in Asked.__dataclass_fields__}
    raise SystemExit(test_judge(context, Asked(**chosen)))
