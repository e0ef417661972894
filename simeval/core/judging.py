"""The ratings of judges, and the controls that they rate first.

A control is a conversation with a known right verdict. A judge rates it before it judges any other.

it must fail   evasive          an answer without content
               off_topic        a fluent answer to something else
               near_miss        a courteous answer to the point, with one thing wrong, by a rule or the rubric's writer
               near_miss_again  another, for a judge that passed the first; one alone may be an accident
               counterexample   one of the suite's own, in place of all these
it must pass   example          one of the suite's own, if it gives one
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import TYPE_CHECKING, Any, Self, get_args

from simeval.core.conversation import Message, Speaker
from simeval.core.trial import HIGHEST, LOWEST, MEETS_FROM, ControlKind, ControlRecord
from simeval.core.validation import require
from simeval.errors import DefinitionError

if TYPE_CHECKING:
    from simeval.core.near_misses import NearMiss

PLACES: Mapping[int, Sequence[int]] = {  # of the levels of a list, by how many there are
    2: (1, 10),
    3: (1, 5, 10),
    5: (1, 3, 5, 8, 10),
    10: tuple(range(LOWEST, HIGHEST + 1)),
}

GivenLevels = Sequence[str] | Mapping[int, str] | Mapping[float, str]

WHEN_UNTOLD = "cannot tell"
ESCALATION = "escalation"  # of a score's details: each judge's rating, and why the second was asked
_BAND = re.compile(r"rating (\d+(?:\.\d+)?)\.\.(\d+(?:\.\d+)?)")

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


@dataclass(frozen=True, slots=True)
class RubricTemplate:
    """The texts with places that the rubric of several cases is written for, and the case whose values fill it."""

    given: str
    when: str
    expected_behavior: str
    case: Mapping[str, Any]


def placed_levels(given: object, where: str) -> Mapping[str, str]:
    """Return the levels of a rubric that a suite gives, by the ratings they describe, from the worst to the best.

    A list of 2, 3, 5 or 10 levels gets the ratings in PLACES; a mapping gives its own ratings. Raises DefinitionError
    for anything else, for an empty text, for two levels with the same meaning, and if no level describes a rating below
    6, or none one from 6 on.
    """
    if isinstance(given, Mapping):
        placed = _at_ratings(given, where)
    elif isinstance(given, Sequence) and not isinstance(given, str):
        do = "give 2, 3, 5 or 10 levels, or a mapping of ratings to texts"
        require(len(given) in PLACES, where, found=given, do=do)
        placed = {float(rating): text for rating, text in zip(PLACES[len(given)], given, strict=True)}
    else:
        raise DefinitionError(where, found=f"found {given!r}", do="give a list of levels, from the worst to the best")
    for text in placed.values():
        require(isinstance(text, str) and bool(text.strip()), where, found=text, do="give each level a text")
    levels = {f"{rating:g}": text.strip() for rating, text in sorted(placed.items())}
    if same := equal_levels(levels):
        do = "let each level say what sets it apart from the others"
        raise DefinitionError(where, found=f"levels {same[0]} and {same[1]} say the same", do=do)
    return levels


def _at_ratings(given: Mapping[object, object], where: str) -> dict[float, str]:
    """Return levels by their ratings as numbers. Raises DefinitionError for an invalid rating."""
    placed: dict[float, str] = {}
    do = f"let the keys be ratings, numbers from {LOWEST} to {HIGHEST}"
    for key, text in given.items():
        try:
            rating = float(key) if isinstance(key, (str, int, float)) and not isinstance(key, bool) else nan
        except ValueError:
            rating = nan
        require(LOWEST <= rating <= HIGHEST and rating not in placed, where, found=key, do=do)
        placed[rating] = text  # type: ignore[assignment]  # it is checked
    below, above = (any(map(is_there, placed)) for is_there in (lambda r: r < MEETS_FROM, lambda r: r >= MEETS_FROM))
    do = f"describe a rating below {MEETS_FROM} (not met) and one from {MEETS_FROM} on (met), or give a list"
    require(below and above, where, found=sorted(placed), do=do)
    return placed


def equal_levels(levels: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the names of two levels equal but for case, spaces and punctuation; None if there are none."""
    first: dict[str, str] = {}
    for name, text in levels.items():
        said = _said(text)
        if said in first:
            return first[said], name
        first[said] = name
    return None


def _said(text: str) -> str:
    """Return a text in one case, without spaces and punctuation; if nothing else is left, the text."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(letter for letter in folded if unicodedata.category(letter)[0] not in "PZC") or folded


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalationRule:
    """The ratings of the first judge, both ends among them, and the rulings, that do not settle a conversation."""

    band: tuple[float, float] | None = None
    when_untold: bool = False

    @classmethod
    def of(cls, text: object, name: str = "escalate") -> Self:
        """Return the rule in a text. Raises DefinitionError."""
        parts = text.split(" or ") if isinstance(text, str) else []
        bands = [found for part in parts if (found := _BAND.fullmatch(part.strip()))]
        untold = [part for part in parts if part.strip() == WHEN_UNTOLD]
        is_read = parts and len(bands) + len(untold) == len(parts) and len(bands) < 2 and len(untold) < 2
        band = (float(bands[0][1]), float(bands[0][2])) if bands else None
        if not is_read or (band and not LOWEST <= band[0] <= band[1] <= HIGHEST):
            do = f'write "rating 4..8", with ratings from {LOWEST} to {HIGHEST}, "{WHEN_UNTOLD}", or both with "or"'
            raise DefinitionError(name, found=f"found {text!r:.80}", do=do)
        return cls(band=band, when_untold=bool(untold))

    def takes(self, rating: float) -> bool:
        """Return whether a conversation with this rating is handed on."""
        return self.band is not None and self.band[0] <= rating <= self.band[1]


def require_rule(value: object, name: str) -> None:
    """Raise DefinitionError unless a value names when a second judge is asked."""
    EscalationRule.of(value, name)


def require_two(judges: Sequence[str], when: str | None) -> None:
    """Raise a DefinitionError where something is to be escalated and there are not two judges for that."""
    do = "name two: judge_model=[FIRST, SECOND], or --judge-model FIRST --judge-model SECOND"
    if when is not None and len(judges) != 2:
        raise DefinitionError("escalate", found=f"the judges are {', '.join(judges)}", do=do)


def judges_said(judges: Sequence[str], when: str | None) -> str:
    """Describe the judges in words: a panel, or one judge that escalates to another, and when."""
    return " + ".join(judges) if when is None else f"{judges[0]} (escalating to {judges[1]} at {when})"


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
        found = self.kinds_but_near
        is_near = not self.counterexample and (self.unwritten or near_misses_of(self))
        return (*found[:2], "near_miss", *found[2:]) if is_near else found

    @property
    def kinds_but_near(self) -> tuple[ControlKind, ...]:
        """Which there are besides near misses, in the order shown."""
        must_fail: tuple[ControlKind, ...] = ("counterexample",) if self.counterexample else ("evasive", "off_topic")
        return (*must_fail, "example") if self.example else must_fail

    def completed(self, written: Sequence[str], best_level: str) -> "Controls":
        """Return the controls with those near misses that the rubric's writer gave and that can be used."""
        if not self.unwritten:
            return self
        found = _usable_pair(written, self.expected[0], others=[EVASIVE, *OFF_TOPIC, best_level])
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


def _usable_pair(written: Sequence[str], expected: str, *, others: Collection[str] = ()) -> tuple[str, ...]:
    """Return the first two of the answers that a model wrote that can be shown; none if fewer can.

    One alone could not refuse a judge: a judge is refused for two. They differ from the `others`.
    """
    from simeval.core.near_misses import unusable  # patterns that only a judged run needs

    found: list[str] = []
    for text in map(str.strip, written):
        if not unusable(text, expected, others=[*others, *found]):
            found.append(text)
    return tuple(found[:2]) if len(found) > 1 else ()


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
