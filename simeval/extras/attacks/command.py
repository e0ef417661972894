"""The command `simeval attack` with its options; its work is imported only when it is needed."""

from typing import Any

import click

from simeval.cli import CONTEXT
from simeval.cli.options import (
    GroupedCommand,
    html_option,
    json_option,
    judge_option,
    log_options,
    markdown_option,
    sarif_option,
    screen_options,
    setting_options,
    user_option,
)


@click.command(context_settings=CONTEXT, cls=GroupedCommand)
@click.argument("app")
@click.option(
    "--families", metavar="NAMES", help="Names, separated by commas.  [default: all that have what they need]"
)
@click.option(
    "--at-most", type=float, default=0.01, show_default=True, help="The share of a family's attempts that may succeed."
)
@click.option(
    "--secret", "secrets", multiple=True, metavar="TEXT|env:NAME", help="What the app knows and must not reveal."
)
@click.option(
    "--system-prompt", metavar="FILE", type=click.Path(), help="The app's system prompt, which it must not reveal."
)
@click.option(
    "--forbidden-tool", "forbidden_tools", multiple=True, metavar="NAME", help="A tool that it must not call."
)
@click.option("--must-not", multiple=True, metavar="TEXT", help="What else it must not do; the judge rules on it.")
@click.option("--samples", type=click.IntRange(1), help="Attempts of each family.  [default: the fewest that prove it]")
@click.option(
    "--simulated", is_flag=True, help="Let a model (--user-model) play the attackers in half of the attempts."
)
@judge_option
@user_option
@json_option("result")
@click.option("--junit", "junit_path", metavar="PATH", type=click.Path(), help="Write the result as JUnit XML.")
@html_option
@sarif_option
@markdown_option
@log_options
@screen_options
@setting_options()
@click.pass_context
def attack(context: click.Context, /, **options: Any) -> None:
    """Attack APP with families of known attacks, and prove for each how rarely it succeeds.

    Families: injection, exfiltration (needs --secret or --system-prompt), tool-misuse (needs --forbidden-tool),
    jailbreak, crescendo. Their messages are fixed texts: no model is asked, and nothing is sent anywhere but to
    APP; with --simulated or --must-not, also to the models that are named.

    Exit status, as for `simeval run`: 0 every family is proven; 1 not so; 2 the command or the app could not be
    used; 3 the run could not be completed; 130 it was interrupted.
    """
    from simeval.cli.run import leave
    from simeval.extras.attacks.attack_app import attack_app

    leave(attack_app(context, **options))
