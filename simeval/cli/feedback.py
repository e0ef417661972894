"""The work of `simeval people feedback`: add, list, export, import and remove feedback on trials and examples."""

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from simeval.cli.output import exit_status, show
from simeval.core.feedback import Feedback, Labeller
from simeval.core.terminal import printable, render_table
from simeval.core.validation import WORDS
from simeval.errors import DefinitionError
from simeval.store.database import Database
from simeval.store.feedback import FeedbackBook
from simeval.store.opening import open_database
from simeval.store.runs import LAST, Runs

HEADERS = ("of", "key", "score", "comment", "source", "given (UTC)", "id")
WIDTHS = (30, 20, 8, 40, 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackOptions:
    """The options on the command line; None for one that is not given."""

    run: str | None
    trial: int | None
    scenario: str | None
    dataset: str | None
    example: str | None
    key: str | None
    score: str | None
    comment: str | None
    source: str | None
    labeller: Labeller | None
    export_path: str | None
    import_path: str | None
    remove: str | None

    @property
    def is_said(self) -> bool:
        """Whether feedback is to be added."""
        return any(value is not None for value in (self.key, self.score, self.comment, self.source))


@exit_status
def feedback(store: str, options: FeedbackOptions) -> None:
    """Do the requested work with the feedback of a store; return the exit status."""
    work = _chosen(options)
    with closing(open_database(store, must_exist=True)) as database:
        show(work(database, options), None)


def _chosen(options: FeedbackOptions) -> Callable[[Database, FeedbackOptions], str]:
    """Return the one thing that is asked for. Raises DefinitionError for several."""
    wanted = {
        "--export": (options.export_path is not None, _export),
        "--import": (options.import_path is not None, _import),
        "--remove": (options.remove is not None, _remove),
        "--key": (options.is_said, _add),
    }
    asked = {name: work for name, (is_asked, work) in wanted.items() if is_asked}
    if len(asked) > 1:
        raise DefinitionError("feedback", found=f"found {' and '.join(asked)}", do="use one of them at a time")
    if options.run is not None and options.dataset is not None:
        raise DefinitionError("feedback", found="found a run and --dataset", do="give one of them")
    if options.is_said and options.key is None:
        do = "name what is said of it, such as --key helpful"
        raise DefinitionError("feedback", found="--key is missing", do=do)
    return next(iter(asked.values()), _list)


def _add(database: Database, options: FeedbackOptions) -> str:
    of_example = options.dataset is not None or options.example is not None
    said = Feedback(
        key=options.key or "",
        score=_score(options.score),
        comment=options.comment or "",
        source=options.source or "",
        labeller=options.labeller or "",
        run_id="" if of_example else Runs(database).find(options.run or LAST),
        scenario=options.scenario or "",
        trial=options.trial,
        dataset=options.dataset or "",
        example=options.example or "",
    )
    FeedbackBook(database).add(said)
    return f"added {said.feedback_id}"


def _list(database: Database, options: FeedbackOptions) -> str:
    book = FeedbackBook(database)
    if options.dataset is not None:
        of, found = f"dataset {options.dataset}", book.of_dataset(options.dataset)
    else:
        run_id = Runs(database).find(options.run or LAST)
        of, found = f"run {run_id}", book.of_run(run_id)
    return render_table(HEADERS, [_row(each) for each in found], widths=WIDTHS) if found else f"no feedback on {of}"


def _export(database: Database, options: FeedbackOptions) -> str:
    path = options.export_path or ""
    run_id = "" if options.run is None else Runs(database).find(options.run)
    count = FeedbackBook(database).export(path, run_id=run_id, dataset=options.dataset or "")
    return f"{count} written to {path}"


def _import(database: Database, options: FeedbackOptions) -> str:
    path = options.import_path or ""
    run_id = "" if options.run is None else Runs(database).find(options.run)
    return f"{FeedbackBook(database).load(path, run_id=run_id)} new from {path}"


def _remove(database: Database, options: FeedbackOptions) -> str:
    FeedbackBook(database).remove(options.remove or "")
    return f"removed {options.remove}"


def _score(text: str | None) -> float | bool | None:
    if text is None:
        return None
    word = text.strip().lower()
    try:
        return WORDS[word] if word in WORDS else float(word)
    except ValueError as error:
        raise DefinitionError("--score", found=f"found {text!r}", do="give a number, true or false") from error


def _row(found: Feedback) -> list[str]:
    of = f"{found.scenario}, trial {found.trial}" if found.run_id else f"example {found.example}"
    score = "" if found.score is None else json.dumps(found.score)
    texts = (of, found.key, score, found.comment, found.source, f"{found.created:%Y-%m-%d %H:%M:%S}", found.feedback_id)
    return [printable(text) for text in texts]
