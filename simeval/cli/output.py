"""The common part of all commands: exit statuses, and how results and problems are written."""

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial, wraps
from pathlib import Path
from typing import Any, ParamSpec, TextIO

from simeval.core.drafts import whole
from simeval.core.logs import configure_logging, log
from simeval.core.redaction import Redactor, secrets_in, shown
from simeval.core.terminal import written
from simeval.core.trial import Outcome
from simeval.errors import DefinitionError, SimevalError, StoreError

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"  # the file whose Markdown GitHub shows on the page of a job
BAD_INPUT, NOT_COMPLETED, INTERRUPTED = 2, 3, 130
STATUS: dict[Outcome, int] = {"pass": 0, "fail": 1, "inconclusive": 1, "error": 3}
STDOUT = "-"  # as the path of an output
P = ParamSpec("P")


def exit_status(act: Callable[P, int | None]) -> Callable[P, int]:
    """Let a command return its exit status, by default 0; print its error, and return the status of that."""

    @wraps(act)
    def acted(*args: P.args, **kwargs: P.kwargs) -> int:
        try:
            return act(*args, **kwargs) or 0
        except DefinitionError as error:
            return say(error, BAD_INPUT)
        except SimevalError as error:
            return say(error, NOT_COMPLETED)
        except KeyboardInterrupt:
            return say("interrupted", INTERRUPTED)

    return acted


def show_log(level: str, form: Any, *, detailed: bool = False) -> list[str]:
    """Show the log on standard error; return the list that warnings go to."""
    # LiteLLM prepares a call in a thread; an interrupted one is never awaited there, which is nobody's concern.
    warnings.filterwarnings("ignore", message="coroutine '.*' was never awaited", category=RuntimeWarning)
    shown: Any = level.upper()
    return configure_logging(shown, form=form, detailed=detailed)


def say(problem: object, status: int) -> int:
    """Write a problem to standard error, without secrets of addresses and the command line, and give the status."""
    _write(sys.stderr, f"simeval: {shown(_redactor().clean(str(problem)))}\n")
    return status


def _redactor() -> Redactor:
    """Return a redactor of the secrets in the addresses and commands on the command line."""
    redactor = Redactor()
    redactor.learn(secret for argument in sys.argv[1:] for secret in secrets_in(argument))
    return redactor


def show(text: object, json_path: str | None) -> None:
    """Write text for people to standard output; to standard error if that is for JSON."""
    _write(reader(json_path), f"{text}\n")


def reader(json_path: str | None) -> TextIO:
    """Return the stream for people: standard output, or standard error if that is for JSON."""
    return sys.stderr if json_path == "-" else sys.stdout


def _write(stream: TextIO, text: str) -> None:
    """Write to standard output or standard error. Raises StoreError if standard output is a file on a full disk."""
    try:
        written(stream, partial(stream.write, text))
    except OSError as error:
        if stream is sys.stdout:
            raise StoreError("standard output", problem=str(error.strerror)) from error


def each_tried(*writes: Callable[[], object]) -> None:
    """Write several outputs, each whatever becomes of the others. Raises the first StoreError when all were tried."""
    failed: list[StoreError] = []
    for write in writes:
        try:
            write()
        except StoreError as error:
            failed.append(error)
    if failed:
        raise failed[0]


def write_json(path: str | None, found: Mapping[str, Any]) -> None:
    """Write a result as JSON, if a path is given; "-" is standard output."""
    if path == "-":
        _write(sys.stdout, f"{json.dumps(found, indent=1)}\n")  # plain ASCII: whoever reads may use any encoding
    elif path:
        write_text(path, f"{json.dumps(found, ensure_ascii=False, indent=1)}\n")


def write_markdown(path: str | None, made: Callable[[], str]) -> None:
    """Write a report as Markdown, if a path is given, and add it to the summary of a GitHub job, if there is one.

    A page that GitHub cannot take is reported, and spoils nothing else.
    """
    summary = os.environ.get(STEP_SUMMARY)
    if path is None and not summary:
        return
    text = made()
    if path is not None:
        write_text(path, text)
    if summary and path != summary:
        try:
            with Path(summary).open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"{text}\n")
        except OSError as error:
            log.warning(f"the summary of this job cannot be written ({STEP_SUMMARY}: {error.strerror})")


def write_text(path: str, text: str) -> None:
    """Write a file, or standard output for "-", with a line's end. Raises StoreError."""
    text = text if text.endswith("\n") else f"{text}\n"
    if path == "-":
        _write(sys.stdout, text)
        return
    try:
        with whole(path) as file:
            file.write(text)
    except OSError as error:
        raise StoreError(path, problem=str(error.strerror)) from error


def require_apart(outputs: Mapping[str, str | None]) -> None:
    """Raise DefinitionError if two outputs would be in one file, or both on standard output."""
    named = [(option, path) for option, path in outputs.items() if path is not None]
    for number, (option, path) in enumerate(named):
        for other, same in named[:number]:
            if path == same or ("-" not in (path, same) and are_same(Path(path), Path(same))):
                do = "give each a file of its own"
                raise DefinitionError(option, found=f"{path!r} is where {other} is written", do=do)


def require_writable(path: str | None, *, read: Iterable[object] = ()) -> None:
    """Raise before the run if its report could not be written after it, or would overwrite one that is `read`.

    Only texts and paths among these are files.
    """
    if path is None or path == "-":
        return
    target = Path(path)
    if path.startswith("-"):
        do = f"name a file behind the option before it, or write it as ./{path}"
        raise DefinitionError(f"file {path!r}", found="this looks like an option", do=do)
    if any(are_same(target, Path(each)) for each in read if each and isinstance(each, str | Path)):
        do = "name another file for what is written"
        raise DefinitionError(f"file {path!r}", found="this file is read by the same command", do=do)
    is_new = not target.exists()
    try:
        target.open("ab").close()
        if is_new:
            target.unlink()
    except OSError as error:
        raise DefinitionError(
            f"file {path!r}",
            found=f"it cannot be written ({error.strerror})",
            do="check the path, or its permissions",
        ) from error


def are_same(one: Path, other: Path) -> bool:
    """Return whether two paths are one file, whether it is there or not."""
    return one.absolute() == other.absolute() or (one.exists() and other.exists() and one.samefile(other))
