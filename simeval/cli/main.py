"""The command line: its commands by name; their options are made when one is called."""

import threading
from functools import partial
from typing import Any, cast

import click

from simeval.cli import CONTEXT
from simeval.cli.usage import THREADS, WRITTEN, Misused, understood
from simeval.core.faces import load
from simeval.core.terminal import make_printable
from simeval.core.version import __version__

SUMMARIES = {  # the first sentence of each command's help; a test compares them
    "agree": "Compare the judge of a run (RESULT, a file from --json or a run of the store) with people's LABELS.",
    "attack": "Attack APP with families of known attacks, and prove for each how rarely it succeeds.",
    "compare": "Say whether CANDIDATE is better or worse than BASELINE, or proven not to be worse.",
    "completion": "Print the script that lets a shell complete commands and options, for its start-up file.",
    "datasets": "List the datasets of a store, with their versions and tags.",
    "delete": "Delete RUNS and everything that belongs to them.",
    "demo": "Run a small suite against an embedded app: no app of yours, no key and no network are needed.",
    "doctor": "Check whether everything a run needs is there: keys, models, the store, extras, versions.",
    "feedback": "Add feedback on a trial of RUN (its id, the beginning of it, or last), or list earlier feedback.",
    "generate": (
        "Propose scenarios from SOURCES, for a person to edit: documents, datasets, logs, or folders of them."
    ),
    "import": "Read logs of conversations (FILE...) and write them as one dataset, one JSON object per line.",
    "init": "Write a commented starter suite into FOLDER, for your app or with an app handler to start from.",
    "judge-test": "Test a judge on near misses and right answers, asked as a run of SUITE asks it, with 6 to 84 calls.",
    "label": (
        "Label trials of RUN (its id, the beginning of it, or last) by single keys, without seeing the judge's rating."
    ),
    "merge": "Merge the runs of a suite's shards (`simeval run --shard 1/8` to 8/8) into one run.",
    "persona": "Create, check and calibrate the persona of a brand.",
    "plan": "Plan sample sizes before paying for a call.",
    "probe": "Hold two short conversations with APP at once, and show how it is set up and read.",
    "prompts": "List the prompts that models are sent, or print the one called NAME, ready to save and edit.",
    "rubric": "Show the rubric of each expectation of SUITE, which the judge will use.",
    "run": "Run a suite: a YAML file, a folder of them, or MODULE:OBJECT.",
    "runs": "List the runs of a store, the newest first.",
    "schema": "Print the JSON schema of suite files, with which editors complete and check them.",
    "score": ("Score the recorded conversations of FILE: any log that `simeval import` reads, a table, or a run."),
    "select": "Find out which of several apps meets the requirements of SUITE most often.",
    "show": "Show the report of RUN (its id, the beginning of it, or last), or how far it has come.",
    "try": "Hold one conversation of SUITE live on the screen, and show how it is judged.",
    "view": (
        "Look at the runs of a store, or at RUN (its id, the beginning of it, or last), in a browser, and label there."
    ),
}


OF_EXTRAS = {  # commands of features that attach from outside, a row each
    "agree": "simeval.extras.viewer.command:agree",
    "attack": "simeval.extras.attacks.command:attack",
    "generate": "simeval.extras.proposals.command:generate",
    "import": "simeval.extras.importers.command:import_",
    "judge-test": "simeval.extras.judge_test.command:judge_test",
    "label": "simeval.extras.viewer.command:label",
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
    "help": "--help",
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
        return understood(partial(super().invoke, ctx), ctx.meta[WRITTEN], ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the commands."""
        return list(SUMMARIES)

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
        if args[0] not in SUMMARIES and not ctx.resilient_parsing:
            from simeval.core.validation import closest

            named, known = args[0], COMMANDS_ELSEWHERE.get(args[0])
            meant = f"did you mean {known!r}?" if known else closest(named, list(SUMMARIES))
            if named == "help" and args[1:2] and args[1] in SUMMARIES:
                meant = f"did you mean `simeval {args[1]} --help`?"
            if named.endswith((".yaml", ".yml")):
                meant = f"did you mean `simeval run {named}`?"
            meant = meant or "`simeval --help` lists them."
            raise Misused(f"there is no command {args[0]!r}; {meant}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the description of each command, in full."""
        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))


@click.command(context_settings=CONTEXT, cls=Commands)
@click.version_option(__version__)
def main() -> None:
    """Simulate users against a conversational AI app, judge the conversations, conclude with statistics."""


if __name__ == "__main__":
    main()
