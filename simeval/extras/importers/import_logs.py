"""The work of `simeval import`: read logs, write them as one dataset, report the parts read and not read."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from simeval.cli.output import are_same, exit_status, require_writable, say, show
from simeval.core.row_files import JSON_LINES
from simeval.core.terminal import PLAIN, room_of
from simeval.datasets.dataset import Dataset, Example, check_dataset, own_ids
from simeval.datasets.files import TABLES, Form, read_dataset, write_dataset
from simeval.datasets.records import ImportedLog
from simeval.errors import DefinitionError
from simeval.extras.importers.registry import AUTO, import_log, plain_name
from simeval.store.opening import open_database

ENDING = ".simeval.jsonl"
USERS_ENDING = ".users.yaml"
LABEL = 15  # cells of a line's topic
MOST_SHOWN = 20  # problems that are written out
MOST_MODELS = 8
_NO_STATUS = 0


@dataclass(slots=True)
class _Tally:
    """Counts of the written examples."""

    messages: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    tool_calls: int = 0

    def add(self, example: Example) -> None:
        for message in example.conversation.messages if example.conversation else ():
            self.messages[message.role] += 1
            self.tool_calls += len(message.tool_calls)
            self.models.update([str(message.metadata["model"])] if message.metadata.get("model") else [])
            for name in ("prompt_tokens", "completion_tokens"):
                self.tokens[name] += int(message.metadata.get(name) or 0)


@dataclass(frozen=True, slots=True)
class _Users:
    """Fitted users as YAML, and in rows."""

    text: str
    rows: Sequence[tuple[str, str]]


@exit_status
def import_logs(
    *,
    files: Sequence[Path],
    format: str,
    out: Path | None,
    name: str | None,
    store: str | None = None,
    form: Form = "simeval",
    fit_users: bool = False,
) -> int:
    """Write the logs in `files` as one dataset, keep it in a `store` too, fit its users, and give the exit status."""
    target = _target(files, out, name)
    require_writable(str(target), read=(store,))
    users_target = _users_target(target) if fit_users else None
    logs = [_read(path, format, name) for path in files]
    dataset = logs[0].dataset
    if len(logs) > 1:
        dataset = check_dataset(partial(_joined, logs), name=name or plain_name(target))
    users = _fitted(dataset) if users_target is not None else None
    kept = [("kept in", _keep(dataset, store))] if store is not None else []
    tally = _Tally()
    write_dataset(replace(dataset, source=partial(_counted, dataset, tally)), target, form=form)
    problems = [f"{path}, {problem}" for path, log in zip(files, logs, strict=True) for problem in log.problems]
    rows = [*_summary(logs, dataset, tally), ("written to", str(target)), *kept]
    if users is not None and users_target is not None:
        users_target.write_text(users.text, encoding="utf-8")
        rows += [*users.rows, ("users in", str(users_target))]
    show(_laid_out(rows, room_of(sys.stdout)), None)
    for problem in problems[:MOST_SHOWN]:
        say(problem, _NO_STATUS)
    if len(problems) > MOST_SHOWN:
        say(f"and {len(problems) - MOST_SHOWN} more that could not be read", _NO_STATUS)
    return 0


def _read(path: Path, format: str, name: str | None) -> ImportedLog:
    """Return a log, or a table of any columns, as a dataset. Raises DefinitionError."""
    if format == AUTO and path.suffix in TABLES:
        return ImportedLog(dataset=read_dataset(path, name=name), format="table")
    return import_log(path, format=format, name=name)


def _target(files: Sequence[Path], out: Path | None, name: str | None) -> Path:
    """Return the file to write. Raises DefinitionError if it is one that is read, or not for JSON lines."""
    if out is None and len(files) > 1:
        raise DefinitionError("--out", found="several files make one dataset", do="say where to write it")
    if out is None and name is not None and Path(name).name != name:
        raise DefinitionError("--name", found=f"{name!r} is no name of a file", do="name another, or give --out")
    target = out or files[0].with_name(f"{name or plain_name(files[0])}{ENDING}")
    if any(are_same(target, path) for path in files):
        raise DefinitionError(f"--out {str(target)!r}", found="it is a file that is read", do="name another")
    if not target.name.lower().removesuffix(".gz").endswith(JSON_LINES):
        raise DefinitionError(f"--out {str(target)!r}", found="a dataset is JSON lines", do="name a file *.jsonl")
    return target


def _users_target(target: Path) -> Path:
    """Return the file for the users of a dataset. Raises DefinitionError if it exists: people edit it."""
    name = target.name.removesuffix(".gz")
    users = target.with_name(f"{name.removesuffix(ENDING) if name.endswith(ENDING) else Path(name).stem}{USERS_ENDING}")
    if users.exists():
        do = "move it, or name another dataset with --out"
        raise DefinitionError(str(users), found="this file is there already, and may have been edited", do=do)
    require_writable(str(users))
    return users


def _fitted(dataset: Dataset) -> _Users:
    """Fit the users of a dataset. Raises DefinitionError if none of them wrote a word."""
    from simeval.extras.populations.fitting import (
        fit_users,  # loads SciPy
        users_text,
    )

    fitted = fit_users(each.conversation for each in dataset if each.conversation is not None)
    shown = [
        f"{each.persona.share:.0%} ({each.interval[0]:.0%} to {each.interval[1]:.0%}) {each.persona.name}"
        for each in fitted.personas
    ]
    rests_on = f"{fitted.dialogues:,} conversations" + f", {fitted.left_out:,} without a word" * bool(fitted.left_out)
    labels = ["users", *[""] * (len(shown) - 1)]
    return _Users(users_text(fitted), [*zip(labels, shown, strict=True), ("fitted to", rests_on)])


def _joined(logs: Sequence[ImportedLog]) -> Iterator[Example]:
    return own_ids(example for log in logs for example in log.dataset)


def _counted(dataset: Dataset, tally: _Tally) -> Iterator[Example]:
    for example in dataset:
        tally.add(example)
        yield example


def _keep(dataset: Dataset, store: str) -> str:
    """Store a dataset, so that people can give feedback on its examples; return the store's name."""
    from simeval.store.datasets import Datasets  # SQLAlchemy takes a while to load

    with closing(open_database(store)) as database:
        Datasets(database).save(dataset)
        return database.name


def _laid_out(rows: Sequence[tuple[str, str]], room: int | None) -> str:
    """Write the facts on a log below each other, in as much room as lines have."""
    if room is None:
        return "\n".join(f"{label:<{LABEL}}{value}" for label, value in rows)
    terminal = replace(PLAIN, width=room)
    return "\n".join(line for label, value in rows for line in terminal.wrap(value, first=f"{label:<{LABEL}}"))


def _summary(logs: Sequence[ImportedLog], dataset: Dataset, tally: _Tally) -> list[tuple[str, str]]:
    """Return the summary of the import, in rows."""
    what = "conversations" if dataset.recorded else "examples"
    formats = ", ".join(dict.fromkeys(log.format for log in logs))
    unread = sum(len(log.problems) for log in logs)
    rows = [("format", formats), (what, f"{len(dataset):,}")]
    if dataset.recorded:
        models = [f"{name} ({number:,})" for name, number in tally.models.most_common(MOST_MODELS)]
        models += [f"{len(tally.models) - MOST_MODELS} more"] if len(tally.models) > MOST_MODELS else []
        rows += [
            ("messages", f"{tally.messages['user']:,} of users, {tally.messages['assistant']:,} of assistants"),
            ("tool calls", f"{tally.tool_calls:,}"),
            ("models", ", ".join(models) or "none named"),
            ("tokens", f"{tally.tokens['prompt_tokens']:,} prompt, {tally.tokens['completion_tokens']:,} completion"),
        ]
    rows += [("not read", f"{unread:,}")] if unread else []
    return [*rows, ("dataset", f"{dataset.name}, kind {dataset.kind}, version {dataset.version}")]
