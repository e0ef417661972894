"""Faults of simulated users, found without a model in a scenario and a conversation.

    repeats_itself       repeats, word for word, a message that was answered, if the answer fitted it at all
    speaks_as_assistant  offers help, or does for others a part of the app's work
    empty_message        writes nothing
    left_while_asked     leaves satisfied, or handed over, while the app waits for an answer, or only promises something
    never_states_goal    writes not a word of its goal, if that names a number, an address or a quoted name
    leaks_expectation    quotes how the app is to be judged, or gives it the answer
    changes_fact         gives a number or address nearly as it was given before, and not quite
    switches_language    writes in a language that nobody has brought up
    recites_script       reads out its own script, as of another person
    plays_both_sides     writes the app's part, too
    breaks_character     speaks of the simulation, or in its marks
    only_thanks          thanks again and again
    invents_fact         gives a number, address or name of its own that nobody has given
    part_unsaid          leaves satisfied, with a part of its goal never spoken of

Nobody is accused of an act that the scenario asks for (`asked_for`). A detector rather misses a fault than accuses a
person: `python -m benchmarks.users.faults` prints how many of each it catches, and how many people it accuses.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from simeval.core.conversation import GIVEN, USER_FAULTS, Conversation, UserFaultKind
from simeval.engine.users import fact_faults, goal_faults, speech_faults
from simeval.engine.users.asked_for import asked_for
from simeval.engine.users.talk import Found, Talk, UserFault
from simeval.suites.scenario import ScenarioTest

KINDS: tuple[UserFaultKind, ...] = get_args(UserFaultKind)


def find_faults(scenario: ScenarioTest, conversation: Conversation) -> tuple[UserFault, ...]:
    """Return the faults of the user in a conversation, at most one of a kind, in the order of the kinds.

    An act that the scenario asks for, or allows, is none.
    """
    talk = Talk.of(scenario, conversation)
    if not talk.user:
        return ()
    none = asked_for(scenario)
    given = {
        place for place, message in enumerate(conversation.messages) if GIVEN in message.metadata
    }  # nobody simulated wrote these
    found = (
        next((fault for fault in _DETECTORS[kind](talk) if fault.place not in given), None)
        for kind in KINDS
        if kind not in none
    )
    return tuple(fault for fault in found if fault is not None)


def with_faults(conversation: Conversation, faults: Sequence[UserFault]) -> Conversation:
    """Return a conversation with its user's faults noted on the messages that show them."""
    messages = list(conversation.messages)
    for fault in faults:
        message = messages[fault.place]
        noted = {**message.metadata.get(USER_FAULTS, {}), fault.kind: fault.evidence}
        messages[fault.place] = replace(message, metadata={**message.metadata, USER_FAULTS: noted})
    return replace(conversation, messages=tuple(messages))


_DETECTORS: Mapping[UserFaultKind, Callable[[Talk], Found]] = {
    "repeats_itself": speech_faults.repeats_itself,
    "speaks_as_assistant": speech_faults.speaks_as_assistant,
    "empty_message": speech_faults.empty_message,
    "left_while_asked": goal_faults.left_while_asked,
    "never_states_goal": goal_faults.never_states_goal,
    "leaks_expectation": goal_faults.leaks_expectation,
    "changes_fact": fact_faults.changes_fact,
    "switches_language": speech_faults.switches_language,
    "recites_script": speech_faults.recites_script,
    "plays_both_sides": speech_faults.plays_both_sides,
    "breaks_character": speech_faults.breaks_character,
    "only_thanks": speech_faults.only_thanks,
    "invents_fact": fact_faults.invents_fact,
    "part_unsaid": goal_faults.part_unsaid,
}
