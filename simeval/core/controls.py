"""Controls: conversations with a known right verdict, shown to a judge before it judges any.

it must fail   evasive          an answer without content
               off_topic        a fluent answer to something else
               near_miss        a courteous answer to the point, with one thing wrong, by a rule or the rubric's writer
               near_miss_again  another, for a judge that passed the first; one alone may be an accident
               counterexample   one of the suite's own, in place of all these
it must pass   example          one of the suite's own, if it gives one
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

from simeval.core.conversation import Message, Speaker
from simeval.core.run_records import ControlKind, ControlRecord
from simeval.core.validation import require

if TYPE_CHECKING:
    from simeval.core.near_misses import NearMiss

Shown = str | Sequence[Mapping[str, Any]]  # the app's answer, or a conversation as chat models take it

EVASIVE = "I'm sorry, I can't say anything about that."
OFF_TOPIC = (
    "Knead the dough for ten minutes until it is smooth, let it rise under a cloth for an hour, and bake the loaf in a "
    "hot oven until the crust turns golden brown.",
    "Lift the rear wheel, turn the pedals slowly backwards and drip a little oil onto each link of the bicycle chain; "
    "then wipe off what is left with a rag.",
    "Plant the tulip bulbs in October, three times as deep as they are tall, with the tip upwards, and water them once "
    "before the first frost.",
)
NAMES: Mapping[ControlKind, str] = {
    "evasive": f'an answer that says nothing ("{EVASIVE}")',
    "off_topic": "an answer to something else",
    "near_miss": "a near miss, an answer to the point with one thing wrong,",
    "near_miss_again": "another near miss",
    "counterexample": "the counterexample, which does not meet the expectation",
    "example": "the example, which meets the expectation",
}
NAMED = 3  # expectations in a note
_WORD = re.compile(r"\w{4,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Controls:
    """The controls of one expectation: simeval's own, and those of its suite.

    Near misses are made from the `expected` text, the expectation or its criteria, and from its `reference`. If no rule
    makes any, the `written` ones of the rubric's writer are used; until the rubric is there, they are `unwritten`.
    """

    example: tuple[Message, ...] = ()
    counterexample: tuple[Message, ...] = ()
    expected: tuple[str, ...] = ()
    reference: str = ""
    written: tuple[str, ...] = ()
    unwritten: bool = False

    @property
    def kinds(self) -> tuple[ControlKind, ...]:
        """Which there are, in the order shown; of near misses the second is shown only after the first."""
        far: tuple[ControlKind, ...] = ("evasive", "off_topic")
        near: tuple[ControlKind, ...] = ("near_miss",) if self.unwritten or near_misses_of(self) else ()
        must_fail: tuple[ControlKind, ...] = ("counterexample",) if self.counterexample else (*far, *near)
        return (*must_fail, "example") if self.example else must_fail

    def completed(self, written: Sequence[str], best_level: str) -> "Controls":
        """Return the controls with those near misses that the rubric's writer gave and that can be used."""
        from simeval.core.near_misses import usable_pair

        if not self.unwritten:
            return self
        found = usable_pair(written, self.expected[0], others=[EVASIVE, *OFF_TOPIC, best_level])
        return replace(self, written=found, unwritten=False)

    def conversation(
        self, kind: ControlKind, *, given: str, when: str, expected_behavior: str, facts: str = ""
    ) -> tuple[Message, ...]:
        """Return the conversation of a control; one with only the app's answer opens with a message of the user."""
        from simeval.core.languages import opening  # patterns that only a judged run needs

        if kind == "evasive":
            said: tuple[Message, ...] = (Message(role="assistant", content=EVASIVE),)
        elif kind == "off_topic":
            said = (Message(role="assistant", content=off_topic(f"{given} {when} {expected_behavior}")),)
        elif kind in ("near_miss", "near_miss_again"):
            answer = near_misses_of(self, facts)[kind == "near_miss_again"].answer
            said = (Message(role="assistant", content=answer),)
        else:
            said = self.example if kind == "example" else self.counterexample
        return said if len(said) > 1 else (Message(role="user", content=opening(when)), *said)


def near_misses_of(controls: Controls, facts: str = "") -> "tuple[NearMiss, ...]":
    """Return the two near misses of an expectation: those of a rule, else those that were written; or none."""
    from simeval.core.near_misses import NearMiss, near_misses  # patterns that only a judged run needs

    shown = [controls.example[-1].content] if len(controls.example) == 1 else []
    answers = tuple(filter(None, [controls.reference, *shown]))
    made = near_misses(controls.expected, answers=answers, facts=facts)
    return made or tuple(NearMiss("written", text, text, "") for text in controls.written)


def failed(controls: Sequence[ControlRecord]) -> tuple[ControlRecord, ...]:
    """Return the controls of one expectation that count against their judges; one near miss passed is no proof."""
    wrong = [control for control in controls if not control.is_right]
    twice = {control.judge for control in wrong if control.control == "near_miss_again"}
    return tuple(each for each in wrong if each.control != "near_miss" or each.judge in twice)


def near_misses_said(controls: Sequence[ControlRecord]) -> list[str]:
    """Say of each judge how many of the near misses that it was shown it failed, as it must."""
    shown = [control for control in controls if control.control in ("near_miss", "near_miss_again")]
    all_of, right = Counter(each.judge for each in shown), Counter(each.judge for each in shown if each.is_right)
    return [f"judge {judge}: near misses of this run {right[judge]} of {n}" for judge, n in all_of.items()]


def untested_notes(labels: Iterable[str]) -> list[str]:
    """Say of which expectations, by their `labels`, judges were shown no near miss."""
    named = [*map(repr, dict.fromkeys(labels))]
    several = [*named[:NAMED], f"{len(named) - NAMED} more"] if len(named) > NAMED else named
    said = "judges were not tested with a near miss, as neither a rule nor the writer of the rubric made one"
    return [f"{', '.join(several)}: {said}: give a counterexample"] if named else []


def complaints(controls: Sequence[ControlRecord]) -> tuple[str, ...]:
    """Describe for each judge that failed a control its rating, and what to do."""
    wrong: dict[str, list[ControlRecord]] = {}
    for control in failed(controls):
        wrong.setdefault(control.judge, []).append(control)
    return tuple(_complaint(judge, found) for judge, found in wrong.items())


def _complaint(judge: str, wrong: Sequence[ControlRecord]) -> str:
    rated = " and ".join(f"{each.score:g} of 10 to {NAMES[each.control]}" for each in wrong)
    own = [each.control for each in wrong if each.control in ("example", "counterexample")]
    other = "name another judge" + (" (this one reads English only)" if judge.startswith("offline/") else "")
    do = (
        f"{other}, or correct the {' and the '.join(own)}, or the rubric"
        if own
        else f"{other} or, if such an answer does meet the expectation, give a counterexample that does not "
        "(counterexample: TEXT), or show none (controls: false)"
    )
    return f"{judge} is not to be trusted here, it gives {rated}: {do}"


def off_topic(text: str) -> str:
    """Return the answer that shares the fewest words with the topic of a scenario."""
    about = _words(text)
    return min(OFF_TOPIC, key=lambda answer: len(_words(answer) & about))


def as_messages(shown: object, where: str) -> tuple[Message, ...]:
    """Return a conversation from a suite: one message of the app's for a text.

    Raises DefinitionError for anything but a text or a list of messages that includes the app's.
    """
    if isinstance(shown, str):
        require(bool(shown.strip()), where, found=shown, do="give the app's answer")
        return (Message(role="assistant", content=shown.strip()),)
    do = "give the app's answer as a text, or a list of messages, each with role (user or assistant) and content"
    require(isinstance(shown, Sequence) and bool(shown), where, found=shown, do=do)
    said = tuple(_message(each, where, do) for each in shown)  # type: ignore[attr-defined]  # a sequence, as required
    has_answer = any(message.role == "assistant" for message in said)
    require(has_answer and len(said) > 1, where, found=shown, do=f"{do}; of the user and of the app one or more")
    return said


def _message(each: object, where: str, do: str) -> Message:
    require(isinstance(each, Mapping) and {*each} <= {"role", "content", "tool_calls"}, where, found=each, do=do)
    found: Mapping[str, Any] = each  # type: ignore[assignment]  # a mapping, as required
    role, content, calls = found.get("role"), found.get("content"), found.get("tool_calls") or ()
    require(role in get_args(Speaker) and isinstance(content, str), where, found=each, do=do)
    are_calls = isinstance(calls, Sequence) and all(isinstance(call, Mapping) for call in calls)
    require(are_calls, where, found=calls, do="let tool_calls be a list of mappings")
    return Message(role=role, content=str(content), tool_calls=tuple(calls))  # type: ignore[arg-type]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))
