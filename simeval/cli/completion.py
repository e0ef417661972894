"""The work of `simeval completion`: print the script that makes a shell complete commands, options and their values."""

import click
from click.shell_completion import get_completion_class

from simeval.cli.output import STDOUT, exit_status, write_text
from simeval.errors import DefinitionError

PROGRAM, VARIABLE = "simeval", "_SIMEVAL_COMPLETE"


@exit_status
def show_completion(program: click.Command, shell: str) -> None:
    """Write the script that makes a shell complete a program; return the exit status."""
    made = get_completion_class(shell)
    if made is None:
        raise DefinitionError("completion", found=f"found {shell!r}", do="use bash, zsh or fish")
    write_text(STDOUT, made(program, {}, PROGRAM, VARIABLE).source())
