"""The work of `simeval people agree`: compare a run's judge with people's labels, or draw trials for them to label."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from simeval.analysis.agreement_report import encode_agreement
from simeval.analysis.judge_agreement import agreement, load_run
from simeval.analysis.labels import Label, draw_sample, judged_in, labels_of, skipped_in, write_sample
from simeval.cli.compare import load_result
from simeval.cli.output import STDOUT, exit_status, require_writable, show, write_json, write_text
from simeval.errors import DefinitionError
from simeval.store.opening import open_database

HOW_TO_AGREE = "give RESULT LABELS, RESULT alone for the labels of the store, or RESULT --sample N --out LABELS"
SAMPLED = """{rows} rows for {drawn} of the {trials} trials, drawn at random, are in {out}.
Fill in the column label, from the top and without skipping any that are hard: pass or fail, or a rating from 1 to 10.
"""


@exit_status
def agree(
    *,
    result: str,
    labels: Path | None,
    sample: int | None,
    out: Path | None,
    seed: int | None,
    alpha: float,
    json_path: str | None,
    store: str,
    feedback: str | None,
) -> int:
    """Hold a run's judge against people's labels, or draw trials for them to label; give the exit status."""
    if sample is None and out is None and (labels is None or feedback is None):
        return _agree(result, labels, alpha, json_path, store, feedback)
    if labels is None and feedback is None and sample is not None and out is not None:
        return _draw(result, sample, out, seed, store)
    raise DefinitionError("agree", found="it takes one of LABELS, --feedback and --sample", do=HOW_TO_AGREE)


def _agree(result: str, labels: Path | None, alpha: float, json_path: str | None, store: str, key: str | None) -> int:
    require_writable(json_path, read=(result, labels, store))
    document = load_result(result, store, f"result {result!r}", of_a_suite=True)
    given, skipped = (labels, []) if labels else _stored_labels(document, store, key)
    report = agreement(document, given, alpha=alpha, skipped=skipped)
    show(report, json_path)
    write_json(json_path, encode_agreement(report))
    return 0 if all(each.outcome == "pass" for each in report.people) else 1


def _stored_labels(document: Any, store: str, key: str | None) -> tuple[list[Label], list[tuple[str, str, int]]]:
    """Return people's labels of a run in the store, and the trials that they skipped.

    They are on its expectations, or under a key, which may name one after "=".

    Raises DefinitionError if there are none.
    """
    from simeval.store.feedback import FeedbackBook  # the database takes its time

    run = load_run(document)
    run_id = run.run_id
    with closing(open_database(store, must_exist=True)) as database:
        said = FeedbackBook(database).of_run(run_id)
    if key is None:
        judged = {label for _, label in judged_in(run, reasoned_only=False)}
        found = [each for each in labels_of(said) if each.expectation in judged]
    else:
        name, _, expectation = key.partition("=")
        found = [replace(each, expectation=expectation or None) for each in labels_of(said, name)]
    if not found:
        do = f"label trials with `simeval people label {run_id}`, or give a file of LABELS"
        under = "" if key is None else f" under {key.partition('=')[0]!r}"
        raise DefinitionError("labels", found=f"no person has labelled run {run_id} in {store}{under}", do=do)
    return found, skipped_in(said)


def _draw(result: str, sample: int, out: Path, seed: int | None, store: str) -> int:
    require_writable(str(out), read=(result, store))
    run = load_run(load_result(result, store, f"result {result!r}", of_a_suite=True))
    rows, trials = draw_sample(run, sample, seed=run.seed if seed is None else seed)
    write_sample(rows, out)
    write_text(STDOUT, SAMPLED.format(rows=len(rows), out=out, drawn=min(sample, trials), trials=trials))
    return 0
