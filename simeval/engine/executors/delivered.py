"""What workers delivered to a run that had ended by then, without it having taken it."""

from simeval.core.run_records import ResumableRun
from simeval.core.trial import Judgement, TrialConversation
from simeval.engine.executors.protocol import decode_assignment, decode_delivery
from simeval.store.database import Database
from simeval.store.journal import Entry
from simeval.store.trial_queue import clear, delivered


def take_in(database: Database, past: ResumableRun) -> bool:
    """Keep what workers delivered to a run that nobody is at any more; return whether there was anything new."""
    entries: list[Entry] = []
    for work, delivery in delivered(database, past.run_id):
        trial, made = decode_assignment(work).trial, decode_delivery(delivery)
        key = (trial.scenario, trial.index)
        if made.unusable is not None or key in past.scores:
            continue
        if key not in past.held:
            entries.append(TrialConversation(trial, made.conversation, made.failure))
        results, failure = made.results, made.failure
        entries.append(Judgement(trial=trial, conversation=made.conversation, results=results, failure=failure))
    if entries:
        database.append(past.run_id, entries)
    clear(database, past.run_id)
    return bool(entries)
