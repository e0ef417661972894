"""How like people the simulated users of a run are: a few measures beside those of people, with noise.

The people are the users of the logs that a mix was fitted to, else recorded people with a task each, from whom only
these numbers are shipped. A difference is named if it is larger than in 19 of 20 runs with such people as users.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from math import sqrt
from typing import Any

from simeval.core.conversation import Conversation
from simeval.core.user_measures import (
    AT_ONCE,
    MEASURES,
    PUSH_BACK,
    QUESTIONS,
    WORDS,
    Reference,
    Spread,
    measure_user,
    spreads_of,
)

PEOPLE = Reference(  # the 1,495 complete, happy dialogues of STAR with one task and no instructions on the way
    name="people with a task (STAR, English)",
    conversations=1495,
    spreads={
        WORDS: Spread(mean=7.12, deviation=4.19, n=1495),
        AT_ONCE: Spread(mean=0.188, deviation=0.371, n=1285),
        QUESTIONS: Spread(mean=0.084, deviation=0.138, n=1495),
        PUSH_BACK: Spread(mean=0.008, deviation=0.048, n=1456),
    },
    error={WORDS: 0.492, AT_ONCE: 0.036, QUESTIONS: 0.012, PUSH_BACK: 0.002},  # over 23 tasks and 95 people
    shared={WORDS: 0.138, AT_ONCE: 0.067, QUESTIONS: 0.105, PUSH_BACK: 0.023},
)
LEAST = 5  # conversations, for any statement
LEAST_LOGS = 20  # conversations of people that have a measure
MOST_READ = 300  # conversations, as many of each scenario: more would hardly narrow the noise
OUTSIDE = 2.64  # standard errors: the four measures together leave them in one of 20 runs (Bonferroni, 23 tasks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One measure of a run's users, that of people, and by how much the two may differ by chance."""

    users: float
    people: float
    noise: float

    @property
    def differs(self) -> bool:
        """Whether the difference is larger than chance makes it."""
        return abs(self.users - self.people) > self.noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Fidelity:
    """How like people the users of `conversations` are, beside so many of `reference`; `measures` by their names."""

    reference: str
    of_people: int
    conversations: int
    measures: Mapping[str, Measured]

    @property
    def verdict(self) -> str:
        """Whether users are easier or harder for an app than people, else unlike them, or within the noise."""
        at_once, back = self.measures.get(AT_ONCE), self.measures.get(PUSH_BACK)
        easier = [each.users > each.people for each in [at_once] if each and each.differs]
        easier += [each.users < each.people for each in [back] if each and each.differs]
        if easier and len(set(easier)) == 1:
            return "easier than" if easier[0] else "harder than"
        return "unlike" if any(each.differs for each in self.measures.values()) else "within the noise of"

    def __str__(self) -> str:
        differing = {name: each for name, each in self.measures.items() if each.differs} or self.measures
        said = "; ".join(say(differing[name]) for name, say in _SAID.items() if name in differing)
        people = f"{self.reference}, {self.of_people:,} conversations"
        return f"users: {self.verdict} {people}: {said}"

    def numbers(self) -> Mapping[str, Any]:
        """Return all numbers with their conclusions."""
        measures = {name: {**asdict(each), "differs": each.differs} for name, each in self.measures.items()}
        return {**asdict(self), "measures": measures, "verdict": self.verdict}


_SAID: Mapping[str, Callable[[Measured], str]] = {  # first by which users are easier or harder
    AT_ONCE: lambda each: f"tell {each.users:.0%} of their details at once, they {_share(each)}",
    PUSH_BACK: lambda each: f"push back in {each.users:.0%} of messages, they in {_share(each)}",
    WORDS: lambda each: f"{each.users:.0f} words a turn, they {each.people:.0f} (±{each.noise:.0f})",
    QUESTIONS: lambda each: f"ask in {each.users:.0%} of messages, they in {_share(each)}",
}


def _share(each: Measured) -> str:
    return f"{each.people:.0%} (±{100 * each.noise:.0f} points)"


def fidelity_of(scenarios: Sequence[Iterable[Conversation]], logs: Mapping[str, Sequence[float]]) -> Fidelity | None:
    """Return how like people the users of these scenarios' conversations are; None for too few, or for other languages.

    `logs` has mean, standard deviation and number of conversations of each measure, if a mix was fitted to them.
    """
    most = max(1, MOST_READ // max(1, len(scenarios)))
    read = [[one for one in islice(each, most) if one.ended != "recorded"] for each in scenarios]
    measured = [found for found in ([*filter(None, map(measure_user, each))] for each in read) if found]
    people = _fitted(logs) if logs else PEOPLE
    total = sum(map(len, measured))
    if total < LEAST or (people is PEOPLE and not _is_english(read)):
        return None
    users = spreads_of(row for rows in measured for row in rows)
    names = [name for name in MEASURES if name in people.spreads and name in users and users[name].n >= LEAST]
    return Fidelity(
        reference=people.name,
        of_people=people.conversations,
        conversations=total,
        measures={name: _compared(name, users[name], people, measured) for name in names},
    )


def _compared(
    name: str, users: Spread, people: Reference, scenarios: Sequence[Sequence[Mapping[str, float]]]
) -> Measured:
    """Return a measure with its noise: conversations about one scenario have a part of their variance in common.

    The larger deviation of people and users counts: a rare event has a larger one if it happens to be frequent.
    """
    of = people.spreads[name]
    deviation = max(of.deviation, users.deviation)
    counts = [sum(name in row for row in rows) for rows in scenarios]
    together = sum(count * count for count in counts) / users.n**2
    variance = deviation**2 * (people.shared[name] * together + (1 - people.shared[name]) / users.n)
    noise = OUTSIDE * sqrt(variance + people.error[name] ** 2)
    return Measured(users=users.mean, people=of.mean, noise=noise)


def _fitted(logs: Mapping[str, Sequence[float]]) -> Reference:
    known = {name: Spread(mean=mean, deviation=sd, n=int(n)) for name, (mean, sd, n) in logs.items()}
    spreads = {name: each for name, each in known.items() if each.n >= LEAST_LOGS}
    return Reference(
        name="your users",
        conversations=max(each.n for each in known.values()),
        spreads=spreads,
        error={name: each.deviation / sqrt(each.n) for name, each in spreads.items()},
        shared=PEOPLE.shared,
    )


def _is_english(scenarios: Sequence[Sequence[Conversation]]) -> bool:
    """Return whether most users write English, as far as the first user of each scenario shows it."""
    from simeval.core.languages import language_of  # which reports do without

    said = ["\n".join(m.content for m in each[0].messages if m.role == "user") for each in scenarios if each]
    found = Counter(filter(None, map(language_of, said)))
    return not found or found.most_common(1)[0][0] == "en"
