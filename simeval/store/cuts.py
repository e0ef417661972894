"""Where a run was interrupted: the trial that is missing for that, and later ones, kept but not counted."""

from sqlalchemy import ColumnElement, Connection, Table, delete, select

from simeval.core.run_records import Cut
from simeval.core.serialization import encode_result
from simeval.core.trial import Trial, cut_off
from simeval.results.entries import encode_entry
from simeval.store.backends.base import Backend, Row
from simeval.store.reading import Part, read_conversations, read_scores
from simeval.store.rows import row, rows_of_conversations
from simeval.store.schema import CUTS, JUDGEMENTS, MESSAGES, SCORES, SET_ASIDE, STARTS, TRIALS
from simeval.store.text_encoding import to_json


def apply_cut(connection: Connection, backend: Backend, run_id: str, cut: Cut) -> None:
    """Record that a trial is missing, and set aside all results from it on. Doing it again changes nothing."""
    at = cut.trial
    before = (
        connection.execute(select(CUTS.c.trial).where(CUTS.c.run_id == run_id, CUTS.c.scenario == at.scenario))
        .scalars()
        .all()
    )
    if at.index in before:
        return
    aside = _set_aside(connection, run_id, at, attempt=len(before))
    for table in (STARTS, SCORES, JUDGEMENTS, MESSAGES, TRIALS):
        connection.execute(delete(table).where(*_from(table, run_id, at)))
    kept = row(CUTS, run_id=run_id, scenario=at.scenario, trial=at.index, set_aside=len(aside))
    found = rows_of_conversations(run_id, [cut_off(at)])
    backend.write(connection, {SET_ASIDE: aside, CUTS: [kept], **found})


def _from(table: Table, run_id: str, at: Trial) -> list[ColumnElement[bool]]:
    return [table.c.run_id == run_id, table.c.scenario == at.scenario, table.c.trial >= at.index]


def _set_aside(connection: Connection, run_id: str, at: Trial, *, attempt: int) -> list[Row]:
    part = Part(at.scenario, first=at.index)
    held, scores = read_conversations(connection, run_id, part=part), read_scores(connection, run_id, part=part)
    return [
        row(
            SET_ASIDE,
            run_id=run_id,
            trial=index,
            scenario=scenario,
            attempt=attempt,
            seed=each.trial.seed,
            conversation=to_json(encode_entry(each)[0]),
            scores=to_json({place: encode_result(score) for place, score in scores.get((scenario, index), {}).items()}),
        )
        for (scenario, index), each in held.items()
    ]
