"""The command line: its commands by name; their options are made when one is called."""

import atexit
import gc
import os
import threading
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

import click

from simeval.cli import CONTEXT
from simeval.cli.usage import ALL, THREADS, WRITTEN, Misused, help_all, understood
from simeval.core.faces import load
from simeval.core.garbage import loading
from simeval.core.terminal import make_printable
from simeval.core.version import __version__

GROUPS: Mapping[str, Mapping[str, str]] = {  # the commands by group, each with its line of `simeval --help`
    "begin": {
        "demo": "run a small suite against an embedded app, without a key",
        "init": "write a starter suite, for your app or a new one",
        "try": "hold one conversation of a suite; --probe shows the requests",
        "doctor": "check keys, models, the store, extras and versions",
    },
    "run": {
        "run": "run a suite and conclude: pass, fail or inconclusive",
        "plan": "say how many trials a verdict takes, and what they cost",
        "score": "score recorded conversations, a table or a finished run",
    },
    "look": {
        "show": "show the report of a run, or its conversations",
        "view": "look at all runs in a browser, and label there",
        "runs": "list the runs of a store",
    },
    "compare": {
        "compare": "say whether a run is better or worse than another",
        "select": "find the best of several apps",
    },
    "judge": {
        "people": "label, give feedback, and compare the judge with people",
        "judge-test": "test a judge on near misses and right answers",
        "rubric": "show the rubrics that the judge will use",
    },
    "data": {
        "import": "read logs of conversations into a dataset",
        "datasets": "list the datasets of a store",
        "generate": "propose scenarios from documents and logs",
    },
    "more": {
        "attack": "attack an app with families of known attacks",
        "completion": "print the completion script of a shell",
        "delete": "delete runs of a store",
        "help": "print a page of the documentation, or list the topics",
        "merge": "merge the runs of a suite's shards",
        "mutate": "test whether a suite notices deliberately worse apps",
        "persona": "create, check and calibrate the persona of a brand",
        "prompts": "list or print the prompts that models are sent",
        "schema": "print the JSON schema of suite files",
    },
}
SUMMARIES = {name: line for group in GROUPS.values() for name, line in group.items()}
OLDER = ("agree", "feedback", "label", "probe")  # now in `people` and `try`; still found by these names


OF_EXTRAS = {  # commands of features that attach from outside, a row each
    "agree": "simeval.extras.viewer.command:agree",
    "attack": "simeval.extras.attacks.command:attack",
    "generate": "simeval.extras.proposals.command:generate",
    "import": "simeval.extras.importers.command:import_",
    "judge-test": "simeval.extras.judge_test.command:judge_test",
    "label": "simeval.extras.viewer.command:label",
    "mutate": "simeval.extras.mutate.command:mutate",
    "people": "simeval.extras.viewer.command:people",
    "persona": "simeval.extras.brand.command:persona",
    "view": "simeval.extras.viewer.command:view",
}
COMMANDS_ELSEWHERE = {  # other tools' names of commands, and options, by their names here
    **dict.fromkeys(("eval", "evaluate", "test", "start"), "run"),
    **dict.fromkeys(("ls", "list", "history"), "runs"),
    **dict.fromkeys(("serve", "ui", "dashboard"), "view"),
    **dict.fromkeys(("rm", "remove"), "delete"),
    "chat": "try",
    "check": "doctor",
    "diff": "compare",
    "new": "init",
    "redteam": "attack",
    "report": "show",
    "version": "--version",
}


class Commands(click.Group):
    """Commands whose names and summaries are at hand at once, and whose options take 25 ms to make."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Read the command line and execute it, whatever standard output and error are."""
        make_printable()
        atexit.register(gc.freeze)  # to look for cycles at the end takes a fifth of a command's time
        # Numpy's idle threads would spin for 70 ms of CPU. The app and processes of its own inherit this: threads that
        # wait for work sleep sooner, and no fewer work.
        os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")
        with loading():
            return super().main(*args, **extra)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Read the options of simeval itself. Raises Misused."""
        written = [*args]
        context = understood(partial(super().make_context, info_name, args, parent, **extra), written)
        context.meta.update({WRITTEN: written, THREADS: frozenset(threading.enumerate())})
        return context

    def invoke(self, ctx: click.Context) -> Any:
        """Read the rest of the command line, and execute it. Raises Misused."""
        from simeval.cli.options import option_named

        ctx.token_normalize_func = option_named  # of the commands, which inherit it
        return understood(partial(super().invoke, ctx), ctx.meta[WRITTEN], ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the commands, without older ones."""
        return sorted(SUMMARIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; None if there is none of this name."""
        if cmd_name in OF_EXTRAS:
            return cast("click.Command", load(OF_EXTRAS[cmd_name]))
        from simeval.cli.commands import commands

        return commands.get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is called; fail with the name that may have been meant."""
        if args[0] not in (*SUMMARIES, *OLDER) and not ctx.resilient_parsing:
            from simeval.core.validation import closest

            named, known = args[0], COMMANDS_ELSEWHERE.get(args[0])
            meant = f"did you mean {known!r}?" if known else closest(named, list(SUMMARIES))
            if named.endswith((".yaml", ".yml")):
                meant = f"did you mean `simeval run {named}`?"
            meant = meant or "`simeval --help` lists them."
            raise Misused(f"there is no command {args[0]!r}; {meant}")
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in their groups: one screen of 24 lines and 80 columns, or with --help-all every line."""
        said = (self.help or "").rstrip(".")
        formatter.write(f"Usage: {ctx.command_path} COMMAND ...\n{said}.\n\n")
        for group, lines in GROUPS.items():
            listed = [f"{name:<11}{line}" for name, line in lines.items()]
            if group == "more" and not ctx.meta.get(ALL):
                listed = [" ".join(lines)]
            for place, line in enumerate(listed):
                formatter.write(f"{'' if place else group:<9}{line}\n")
        formatter.write(f"\n{ctx.command_path} COMMAND --help: its options; --help-all, --version\n")


@click.command(context_settings=CONTEXT, cls=Commands)
@click.version_option(__version__)
@help_all
def main() -> None:
    """Simulate users against a conversational AI app, judge it, and conclude."""


if __name__ == "__main__":
    main()
