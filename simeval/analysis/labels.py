"""People's labels of a run's trials: read from a file, and the file for them to fill in, drawn at random."""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from math import isnan
from pathlib import Path

from simeval.analysis.saved_run import RequirementOutcomes, requirements_of, scenarios_of
from simeval.core import seeds
from simeval.core.conversation import named_data, show_call
from simeval.core.feedback import PERSON, Feedback
from simeval.core.row_files import JSON_LINES, csv_rows, json_objects, quoted_cell, unquoted_cell
from simeval.core.trial import TrialResult
from simeval.core.validation import WORDS
from simeval.errors import DefinitionError, StoreError
from simeval.results.document import RunDocument, ScenarioDocument

COLUMNS = ("scenario", "index", "expectation", "expected_behavior", "label", "transcript", "run")
NEEDED = ("scenario", "index", "label")
LOWEST, HIGHEST = 1.0, 10.0
WHAT_TO_WRITE = "write pass or fail in the column label, or ratings from 1 to 10; leave it empty for no label"

Judged = Mapping[tuple[str, str], Mapping[str, RequirementOutcomes]]  # by title and expectation, then by evaluator


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A person's label of a trial: whether it meets the expectation, or a rating from 1 to 10.

    `expectation` is optional if the scenario has only one; `run` is the id of the trial's run, empty if unknown;
    `inclusion` is the probability that the trial was drawn, None if all were drawn alike; `where` is the place it was
    read from.
    """

    scenario: str
    index: int
    value: bool | float
    expectation: str | None = None
    rater: str = ""
    run: str = ""
    inclusion: float | None = None
    where: str = ""


def read_labels(path: Path) -> list[Label]:
    """Return the labels of a CSV file, or of one JSON object a line; rows with an empty label are none.

    The columns scenario, index and label are needed, expectation, rater and run may be there, others are not read. The
    numbers 1 and 0 are a pass and a failure, unless any label of the file is another number: then all are ratings.
    Raises DefinitionError with the line that cannot be used.
    """
    rows = list(_json_rows(path) if path.suffix.lower() in JSON_LINES else _csv_rows(path))
    filled = [(where, row) for where, row in rows if row["label"]]
    for where, row in filled:
        if row.get("labeller", "") not in ("", PERSON):
            do = "give people's labels alone: a judge that is held against a model is held against nothing"
            raise DefinitionError(f"{where}, labeller", found=f"found {row['labeller']!r}", do=do)
    if not filled:
        raise DefinitionError(f"labels {str(path)!r}", found="no label is filled in", do=WHAT_TO_WRITE)
    numbers = [_number(row["label"]) for _, row in filled]
    are_ratings = any(number not in (None, 0.0, 1.0) for number in numbers)
    return [
        Label(
            scenario=row["scenario"],
            index=_index(row["index"], where),
            value=_rating(row["label"], where) if are_ratings else _verdict(row["label"], where),
            expectation=row.get("expectation") or None,
            rater=row.get("rater", ""),
            run=row.get("run", ""),
            where=where,
        )
        for where, row in filled
    ]


def labels_of(feedback: Iterable[Feedback], expectation: str | None = None) -> list[Label]:
    """Return the labels that people gave, by default of all expectations.

    Feedback of models and programs, and skipped trials, are none. As in a file, the numbers 1 and 0 are a pass and a
    failure, unless any under the same key is another number, or of a drawn sample: then all stay as they are.
    """
    said = [
        (each, each.score)
        for each in feedback
        if each.labeller == PERSON and each.score is not None and expectation in (None, each.key)
    ]
    rated = {each.key for each, score in said if score not in (0, 1) or each.inclusion is not None}
    return [
        Label(
            scenario=each.scenario,
            index=each.trial or 0,
            value=score if each.key in rated else bool(score),
            expectation=each.key,
            rater=each.source,
            run=each.run_id,
            inclusion=each.inclusion,
            where=f"{each.key!r} of trial {each.trial} (feedback {each.feedback_id})",
        )
        for each, score in said
    ]


def skipped_in(feedback: Iterable[Feedback]) -> list[tuple[str, str, int]]:
    """Return the trials that people skipped because they could not tell: title, expectation and index."""
    found = (each for each in feedback if each.labeller == PERSON and each.score is None)
    return [(each.scenario, each.key, each.trial) for each in found if each.trial is not None]


def judged_in(run: RunDocument, *, reasoned_only: bool = True) -> Judged:
    """Return the requirements that each trial meets or not, by default only those on scores with a reasoning.

    Where no score of the run has one, such as those of metrics, all are taken.
    """
    found: dict[tuple[str, str], dict[str, RequirementOutcomes]] = {}
    for (title, label, evaluator), requirement in requirements_of(run).items():
        if requirement.met is not None:
            found.setdefault((title, label), {})[evaluator] = requirement
    if not reasoned_only:
        return found
    scenarios = scenarios_of(run)
    reasoned = {key: each for key, each in found.items() if _is_reasoned(scenarios[key[0]], key[1])}
    return reasoned or found


def first_outcomes(run: RunDocument) -> dict[tuple[str, str], Mapping[int, bool | None]]:
    """Return the judge's outcomes of trials by the first requirement of each judged expectation."""
    judged = judged_in(run, reasoned_only=False)
    return {key: next(iter(requirements.values())).met or {} for key, requirements in judged.items()}


def drawable_in(run: RunDocument) -> dict[tuple[str, int], list[str]]:
    """Return the trials that have an outcome, by title and index, with the labels of their judged expectations."""
    drawable: dict[tuple[str, int], list[str]] = {}
    for (title, label), requirements in judged_in(run).items():
        outcomes = [requirement.met or {} for requirement in requirements.values()]
        for index in sorted({index for met in outcomes for index, is_met in met.items() if is_met is not None}):
            drawable.setdefault((title, index), []).append(label)
    return drawable


def draw_sample(run: RunDocument, size: int, *, seed: int) -> tuple[list[list[str]], int]:
    """Return the rows of a label file for `size` trials of the run, drawn at random, and how many trials there are.

    A trial has a row for each of its judged expectations; trials without an outcome are not drawn. The rows are in
    random order, so that the first ones are a random subset too. All trials if there are fewer.
    """
    drawable = drawable_in(run)
    if not drawable:
        raise DefinitionError("sample", found="the run has no judged trial", do="give a run with judged trials")
    trials = {title: each.by_index() for title, each in scenarios_of(run).items()}
    expected = {
        (title, expectation.label): expectation.expected_behavior or ""
        for title, scenario in scenarios_of(run).items()
        for expectation in scenario.expectations
    }
    drawn = seeds.generator(seed, "labels").sample(list(drawable), min(size, len(drawable)))
    rows = [
        [title, str(index), label, expected[title, label], "", transcript_of(trials[title][index]), run.run_id]
        for title, index in drawn
        for label in drawable[title, index]
    ]
    return rows, len(drawable)


def write_sample(rows: Sequence[Sequence[str]], path: Path) -> None:
    """Write the rows of a label file. Raises DefinitionError rather than overwrite people's labels.

    Texts that a spreadsheet would take for formulas have an apostrophe before them, which `read_labels` takes away.
    """
    text = StringIO(newline="")
    csv.writer(text).writerows([COLUMNS, *(map(quoted_cell, row) for row in rows)])
    try:
        with path.open("x", encoding="utf-8", errors="backslashreplace", newline="") as file:
            file.write(text.getvalue())
    except FileExistsError as error:
        do = "name a new file, so that no label is lost"
        raise DefinitionError(f"sample {str(path)!r}", found="it is there already", do=do) from error
    except OSError as error:
        raise StoreError(str(path), problem=str(error.strerror)) from error


def _csv_rows(path: Path) -> Iterator[tuple[str, Mapping[str, str]]]:
    rows = csv_rows(path, strict=False)
    line, first = next(rows, (1, []))
    header = [name.strip().lower() for name in first]
    missing = [name for name in NEEDED if name not in header]
    if missing:
        found = f"the columns {', '.join(missing)} are missing"
        do = f"name the columns {', '.join(NEEDED)} in its first line"
        raise DefinitionError(f"{path}, line {line}", found=found, do=do)
    for line, cells in rows:
        if any(cells):
            padded = [*(unquoted_cell(cell.strip()) for cell in cells), *[""] * (len(header) - len(cells))]
            yield f"{path}, line {line}", dict(zip(header, padded, strict=False))


def _json_rows(path: Path) -> Iterator[tuple[str, Mapping[str, str]]]:
    do = f"write a JSON object with {', '.join(NEEDED)} on each line"
    for where, row in json_objects(path, do=do):
        if not {"scenario", "index"} <= row.keys():
            raise DefinitionError(where, found=f"found {row!r:.80}", do=do)
        yield where, {"label": ""} | {name: _as_text(value) for name, value in row.items()}


def _as_text(value: object) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value).strip()


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return None if isnan(number) else number


def _index(text: str, where: str) -> int:
    number = _number(text)
    if number is None or not number.is_integer():
        raise DefinitionError(f"{where}, index", found=f"found {text!r}", do="give the trial's number, from 0")
    return int(number)


def _rating(text: str, where: str) -> float:
    number = _number(text)
    if number is None or not LOWEST <= number <= HIGHEST:
        raise DefinitionError(f"{where}, label", found=f"found {text!r} among ratings", do=WHAT_TO_WRITE)
    return number


def _verdict(text: str, where: str) -> bool:
    word, number = text.lower(), _number(text)
    if number is None and word not in WORDS:
        raise DefinitionError(f"{where}, label", found=f"found {text!r}", do=WHAT_TO_WRITE)
    return WORDS[word] if number is None else bool(number)


def _is_reasoned(scenario: ScenarioDocument, label: str) -> bool:
    found = (scenario.scores(trial).get(label) for trial in scenario.judgements)
    return any(score is not None and score.reasoning for score in found)


def transcript_of(trial: TrialResult, *, with_tools: bool = True) -> str:
    """Return a trial's conversation as a file of labels has it; those of older versions had no tool calls."""
    said = []
    for turn in trial.conversation.messages:
        said.append(f"{turn.role}: {named_data(turn.content)}")
        said += [f"→ {show_call(call)}" for call in turn.tool_calls if with_tools]
    return "\n".join([*said, "(here the app failed)"] if trial.conversation.ended == "app_error" else said)
