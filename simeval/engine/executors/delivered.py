"""What workers delivered to a run that had ended by then, without it having taken it."""

from simeval.core.trial import Judgement, TrialConversation
from simeval.engine.executors.protocol import decode_assignment, decode_delivery
from simeval.store.database import Database
from simeval.store.journal import Entry
from simeval.store.trial_queue import clear, delivered


def take_in(database: Database, run_id: str) -> bool:
    """Keep what workers delivered to a run that had ended by then; return whether there was anything.

    For a run that nobody is at. What has been kept before is the same.
    """
    entries: list[Entry] = []
    for work, delivery in delivered(database, run_id):
        assignment, made = decode_assignment(work), decode_delivery(delivery)
        trial = assignment.trial
        if made.unusable is None:
            entries.append(TrialConversation(trial, made.conversation, made.failure))
            entries.append(
                Judgement(trial=trial, conversation=made.conversation, results=made.results, failure=made.failure)
            )
    if entries:
        database.append(run_id, entries)
    clear(database, run_id)
    return bool(entries)
