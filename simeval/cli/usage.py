"""The message about a command line that cannot be understood: one sentence, as for any other mistake."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any, TypeVar

import click

T = TypeVar("T")
WRITTEN = "simeval.written"  # the key of the command line's arguments in its context
THREADS = "simeval.threads"  # and the threads that were there before it
ELSEWHERE: Mapping[str, str] = {  # other tools' names of options, by their names here
    **dict.fromkeys(("k", "m", "filter", "tag", "tags", "scenario", "filter-pattern"), "--only"),
    **dict.fromkeys(("n", "trials", "repeat", "epochs"), "--samples"),
    **dict.fromkeys(("model", "judge", "grader"), "--judge-model"),
    **dict.fromkeys(("o", "output"), "--json"),
    **dict.fromkeys(("j", "max-concurrency"), "--concurrency"),
    "significance": "--alpha",
    **dict.fromkeys(("budget", "max-usd", "cost"), "--max-cost"),
    "user": "--user-model",
}
OF_SCENARIOS = ("max-turns", "turns")  # options of other tools that are fields of a scenario here
ALL = "simeval.help_all"  # the key in a context under which help shows everything
_HELP: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())  # click 8.1 writes the help itself


def _show_all(context: click.Context, option: click.Parameter, value: Any) -> None:  # noqa: ARG001
    if value:
        context.meta[ALL] = True
        click.echo(context.get_help(), color=context.color)
        context.exit()


help_all = click.option(
    "--help-all", is_flag=True, is_eager=True, expose_value=False, callback=_show_all, help="Show everything, by group."
)


class Misused(click.ClickException):
    """A command was called wrongly: the message has the mistake and the remedy."""

    exit_code = click.UsageError.exit_code  # which is BAD_INPUT

    def show(self, file: IO[Any] | None = None) -> None:  # noqa: ARG002
        """Write it to standard error, on one line."""
        click.echo(f"simeval: {self.message}", err=True)


class Interrupted(Misused):
    """Ctrl-C, before a command has begun to work: 1, which click returns then, would mean that something failed."""

    exit_code = 130  # as that of a command


def understood(work: Callable[[], T], written: Sequence[str], context: click.Context | None = None) -> T:
    """Return the result of reading the rest of a command line, which was `written` so and read up to its `context`.

    Raises Misused with the mistake and the remedy, and Interrupted.
    """
    try:
        return work()
    except KeyboardInterrupt:
        raise Interrupted("interrupted") from None
    except click.UsageError as error:
        if isinstance(error, _HELP):
            raise
        raise Misused(_told(error, written, (context and context.invoked_subcommand) or "")) from error


def _told(error: click.UsageError, arguments: Sequence[str], command: str) -> str:
    path = error.ctx.command_path.split()[1:] if error.ctx else [command] if command else []
    see = f"`{' '.join(['simeval', *path, '--help'])}` shows how it is called"
    where = f"{' '.join(path)}: " if path else ""
    if isinstance(error, click.NoSuchOption):
        named = error.ctx.command.get_params(error.ctx) if error.ctx else []
        flags = [each for option in named for each in option.opts if each.startswith("--")]
        written = _as_written(error.option_name, arguments)
        meant = _meant(written.lstrip("-"), flags) or _alike(written.lstrip("-"), flags)
        meant = _behind_a_command(written, arguments, error.ctx) or meant
        return f"{where}there is no option {written!r}; {meant or see + '.'}"
    if isinstance(error, click.MissingParameter):
        name = error.param.human_readable_name if error.param else "something"
        name = name if error.param is None or error.param.param_type_name == "argument" else error.param.opts[0]
        return f"{where}{name} is missing; {see}."
    if isinstance(error, click.BadParameter) and error.param is not None:
        name = error.param.opts[0] if error.param.param_type_name == "option" else error.param.human_readable_name
        return f"{name}: {_of_value(error.param.type, error.message)}"
    if isinstance(error, click.BadOptionUsage):
        wrong = error.message.removeprefix(f"Option {error.option_name!r} ").rstrip(".")
        return f"{where}{error.option_name} {wrong}; {see}."
    said, _, meant = error.format_message().partition(" Did you mean ")
    return f"{where}{said[:1].lower()}{said[1:].rstrip('.')}; {f'did you mean {meant}' if meant else see + '.'}"


def _as_written(flag: str, arguments: Sequence[str]) -> str:
    """Return an option as it was written, where click read its letters as options of their own."""
    alone = re.compile(rf"-\w*{re.escape(flag[1:])}\w+") if len(flag) == 2 else None
    return next((each for each in arguments if alone and alone.fullmatch(each)), flag)


def _behind_a_command(flag: str, arguments: Sequence[str], context: click.Context | None) -> str:
    """Return a note that an option belongs to a command, if it does and was written before one; else ""."""
    group = context.command if context else None
    names = group.list_commands(context) if context and isinstance(group, click.Group) else []
    named = next((each for each in arguments if each in names), None)
    command = group.get_command(context, named) if named and context and isinstance(group, click.Group) else None
    has = command is not None and any(flag.partition("=")[0] in option.opts for option in command.params)
    return f"write it behind the command: simeval {named} ... {flag}." if has else ""


def _meant(word: str, flags: Sequence[str]) -> str:
    """Ask whether an option with this beginning was meant, or the one that other tools call so; else ""."""
    begun = [each for each in flags if len(word) > 1 and each.startswith(f"--{word}")]
    if word in OF_SCENARIOS:
        return "a scenario says it: write max_turns, such as max_turns: 8, in the suite file."
    found = [each for each in flags if each == ELSEWHERE.get(word)] or begun[:3]
    return f"did you mean {' or '.join(map(repr, found))}?" if found else ""


def _alike(word: str, flags: Sequence[str]) -> str:
    """Ask whether an option was meant that is written nearly so, or which of several; else nothing."""
    from simeval.core.validation import closest

    said = closest(word, [each.removeprefix("--") for each in flags])
    return re.sub(r"'([^']+)'", r"'--\1'", said)


def _of_value(kind: "click.ParamType[Any]", said: str) -> str:
    """Describe the mistake in a value: as click `said` it, unless it is no number."""
    found, is_told, _ = said.partition(" is not ")
    if not is_told:
        return said[:1].lower() + said[1:]
    if isinstance(kind, click.Choice):
        *others, last = map(str, kind.choices)
        return f"found {found}; use {' or '.join([*filter(None, [', '.join(others)]), last])}."
    if isinstance(kind, (type(click.INT), type(click.FLOAT))):
        return f"found {found}; use a {'whole ' * isinstance(kind, type(click.INT))}number{_bounded(kind)}."
    return said[:1].lower() + said[1:]


def _bounded(kind: "click.ParamType[Any]") -> str:
    """Return the bounds of a number."""
    if not isinstance(kind, (click.IntRange, click.FloatRange)):
        return ""
    least, most = kind.min, kind.max
    if least is not None and most is not None:
        return f" {'above' if kind.min_open else 'from'} {least:g} {'and below' if kind.max_open else 'to'} {most:g}"
    if least is not None:
        return f" above {least:g}" if kind.min_open else f" of {least:g} or more"
    if most is not None:
        return f" below {most:g}" if kind.max_open else f" of {most:g} or less"
    return ""
