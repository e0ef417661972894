"""The work of `simeval completion`: print the script that makes a shell complete commands, options and their values."""

import sys

import click
from click.shell_completion import get_completion_class

from simeval.cli.output import status_of
from simeval.errors import DefinitionError

PROGRAM, VARIABLE = "simeval", "_SIMEVAL_COMPLETE"


def show_completion(program: click.Command, shell: str) -> int:
    """Write the script that makes a shell complete a program; return the exit status."""

    def work() -> None:
        made = get_completion_class(shell)
        if made is None:
            raise DefinitionError("completion", found=f"found {shell!r}", do="use bash, zsh or fish")
        sys.stdout.write(f"{made(program, {}, PROGRAM, VARIABLE).source()}\n")

    return status_of(work)
