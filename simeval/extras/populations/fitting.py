"""A mix of personas fitted to logged conversations, each with its share and how its people write.

conversations ──rules──► habits of each user ──medoids──► few personas: people nearest to it, their shares of each trait

Medoids are chosen greedily and then exchanged while that helps, and written as YAML for a person to edit.

Reference: L. Kaufman and P. J. Rousseeuw (1990), "Finding Groups in Data", chapter 2 (PAM). To move each of the many to
its nearest kind is the cheapest way to turn their distribution into one on so few kinds (Monge and Kantorovich).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from simeval.core.conversation import Conversation
from simeval.core.terminal import printable
from simeval.core.user_measures import measure_user, spreads_of
from simeval.core.validation import require_whole
from simeval.errors import DefinitionError
from simeval.extras.populations.axes import AXES, UNKNOWN
from simeval.extras.populations.goals import EACH_SIDE, Goal, goals_of
from simeval.extras.populations.habits import Habits, habits_of, slips_in
from simeval.stats.binomial import clopper_pearson
from simeval.suites.script import UserMix, UserPersona

MOST_ROUNDS = 20  # of exchanges; a handful are needed
MOST_LOOKED_AT = 1_000  # of the commonest kinds, the candidates for medoids

MOST_PERSONAS = 6
LEAST_EACH = 25  # users for each persona, on average
SENTENCE = "You keep to your own way of writing."

WIDTH = 110
COUNTING_DIGITS = 4  # of a share


def distances(some: Sequence[tuple[str, ...]], others: Sequence[tuple[str, ...]]) -> NDArray[np.float64]:
    """Return how far each of some users is from each of others, by their traits: a row for each of `some`."""
    total = np.zeros((len(some), len(others)))
    for place, axis in enumerate(AXES):
        words = sorted({each[place] for each in (*some, *others)})
        apart = np.array([[axis.distance(one, other) for other in words] for one in words])
        total += apart[np.ix_(_codes(some, place, words), _codes(others, place, words))]
    return total


def _codes(users: Sequence[tuple[str, ...]], place: int, words: Sequence[str]) -> list[int]:
    return [words.index(each[place]) for each in users]


def medoids(kinds: Sequence[tuple[str, ...]], counts: Sequence[int], *, most: int) -> list[int]:
    """Return the places of at most `most` kinds with the least sum of distances from all users."""
    places = sorted(range(len(kinds)), key=lambda place: -counts[place])[:MOST_LOOKED_AT]
    apart, weights = distances(kinds, [kinds[place] for place in places]), np.array(counts, dtype=float)
    chosen: list[int] = []
    for _ in range(min(most, len(places))):
        chosen.append(int(np.argmin(_costs(apart, weights, chosen))))
    for _ in range(MOST_ROUNDS):
        before = list(chosen)
        for place, kind in enumerate(before):
            others = [*chosen[:place], *chosen[place + 1 :]]
            costs = _costs(apart, weights, others)
            best = int(np.argmin(costs))
            chosen[place] = best if costs[best] < costs[kind] - 1e-9 else kind
        if chosen == before:
            break
    return [places[place] for place in dict.fromkeys(chosen)]


def _costs(apart: NDArray[np.float64], weights: NDArray[np.float64], chosen: Sequence[int]) -> NDArray[np.float64]:
    """Return the cost of moving all to the nearest, for each kind that may be added to the chosen ones."""
    held = apart[:, list(chosen)].min(axis=1) if chosen else np.full(len(weights), np.inf)
    costs: NDArray[np.float64] = weights @ np.minimum(apart, held[:, None])
    return costs


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedPersona:
    """A persona, the number `n` of users who are nearest to it, and the exact 95% interval of their share.

    `traits` are those of the user in their middle, `words` in a message and `messages` in a chat their medians.
    """

    persona: UserPersona
    traits: tuple[str, ...]
    n: int
    interval: tuple[float, float]
    words: float
    messages: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedUsers:
    """The users of some logged conversations, as a mix of personas, the commonest first.

    It rests on `dialogues` of them; in `left_out` the user wrote no word. Intervals assume every dialogue is another
    person's: they are too narrow if a few people wrote many. `messages` is a number of messages that 95% of users did
    not exceed; `goals` are their goals. `measured` has the mean, standard deviation and number of dialogues of the
    measures compared with simulated users.
    """

    personas: tuple[FittedPersona, ...]
    dialogues: int
    left_out: int
    messages: int
    goals: tuple[Goal, ...]
    measured: Mapping[str, tuple[float, float, int]]

    @property
    def mix(self) -> UserMix:
        """The personas with their shares, as a scenario takes them."""
        return UserMix([each.persona for each in self.personas], self.measured)


def fit_users(conversations: Iterable[Conversation], *, most_personas: int = MOST_PERSONAS) -> FittedUsers:
    """Return the personas that are nearest to the users of these conversations, with their shares.

    There are at most so many of them, and one for each 25 users. Raises DefinitionError where no user wrote a word.
    """
    require_whole(most_personas, "fit_users: most_personas")
    talks = list(conversations)
    habits = read_habits(talks)
    if not habits:
        do = "give conversations in which users wrote something"
        raise DefinitionError("fit_users", found=f"{len(talks)} conversations, none with a word of its user", do=do)
    counts = Counter(each.traits for each in habits)
    most = max(1, min(most_personas, len(habits) // LEAST_EACH))
    kinds = sorted(counts)
    middles = [kinds[place] for place in medoids(kinds, [counts[kind] for kind in kinds], most=most)]
    nearest = distances([each.traits for each in habits], middles).argmin(axis=1)
    people = {middle: [h for h, at in zip(habits, nearest, strict=True) if at == n] for n, middle in enumerate(middles)}
    names = _names(middles)
    return FittedUsers(
        personas=tuple(
            _persona(names[middle], middle, found, of=len(habits))
            for middle, found in sorted(people.items(), key=lambda each: -len(each[1]))
        ),
        dialogues=len(habits),
        left_out=len(talks) - len(habits),
        messages=sorted(each.messages for each in habits)[-(-95 * len(habits) // 100) - 1],
        goals=goals_of(talks),
        measured={name: (of.mean, of.deviation, of.n) for name, of in spreads_of(map(measure_user, talks)).items()},
    )


def read_habits(conversations: Sequence[Conversation]) -> list[Habits]:
    """Return how the users of conversations write, without those who wrote no word."""
    slips = slips_in(message.content for each in conversations for message in each.messages)
    return [habits for each in conversations if (habits := habits_of(each, slips)) is not None]


def _persona(name: str, middle: tuple[str, ...], people: Sequence[Habits], *, of: int) -> FittedPersona:
    style = {axis.name: _told([each.traits[place] for each in people], place) for place, axis in enumerate(AXES)}
    known = {axis: texts if len(texts) > 1 else next(iter(texts)) for axis, texts in style.items() if texts}
    return FittedPersona(
        persona=UserPersona(persona=SENTENCE, share=len(people) / of, name=name, style=known),
        traits=middle,
        n=len(people),
        interval=clopper_pearson(len(people), of, EACH_SIDE),
        words=median(each.words for each in people),
        messages=median(each.messages for each in people),
    )


def _shares(words: Sequence[str]) -> dict[str, float]:
    """Return the share of each word, the commonest first."""
    return {word: count / len(words) for word, count in sorted(Counter(words).items(), key=lambda each: -each[1])}


def _told(words: Sequence[str], place: int) -> dict[str, float]:
    """Return the prompts of people with these traits, each with its share of those whose trait is known."""
    known = [word for word in words if word != UNKNOWN]
    return {AXES[place].told(word): share for word, share in _shares(known).items()}


def _names(middles: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """Return a name for each persona: its traits on the fewest axes that separate all, the language as the last."""
    places = (*range(1, len(AXES)), 0)
    telling = next(
        some
        for count in range(1, len(AXES) + 1)
        for some in combinations(places, count)
        if len({tuple(each[place] for place in some) for each in middles}) == len(middles)
    )
    return {each: ", ".join(each[place] for place in sorted(telling)) for each in middles}


def users_text(fitted: FittedUsers) -> str:
    """Return the YAML of a mix, as the first fields of a suite file."""
    head = [
        f"How users write, fitted to {fitted.dialogues:,} logged conversations. Put this at the beginning of a suite,",
        "and name and edit the personas. Shares have exact 95% intervals, as if each conversation had its own person.",
        f"19 of 20 users wrote at most {fitted.messages} messages: max_turns: {fitted.messages} has room for those.",
    ]
    if fitted.goals:
        head += ["What they came for, by words that openings share (`simeval generate` proposes scenarios from logs):"]
        head += [f"  {goal}" for goal in fitted.goals]
    comment = "".join(f"# {printable(line)}\n" for line in head)
    measured = "".join(f"    {name}: [{', '.join(map(_number, of))}]\n" for name, of in fitted.measured.items())
    logs = f"  logs:  # mean, standard deviation, number of conversations: simulated users are held beside\n{measured}"
    return f"{comment}users:\n{logs}  mix:\n{''.join(map(_item, fitted.personas))}"


def _item(fitted: FittedPersona) -> str:
    persona, (lower, upper) = fitted.persona, fitted.interval
    fields: dict[str, Any] = {"name": persona.name, "share": _rounded(persona.share), "persona": persona.persona}
    fields["style"] = {axis: _rounded_shares(value) for axis, value in persona.style.items()}
    written = yaml.safe_dump([fields], sort_keys=False, allow_unicode=True, width=WIDTH)
    told = f"{fitted.n:,} users, {lower:.1%} to {upper:.1%}; median words a message {fitted.words:g}"
    told += f", messages a chat {fitted.messages:g}"
    return "".join(f"    {line}\n" for line in (f"# {told}", *written.splitlines()))


def _rounded_shares(value: str | Mapping[str, float]) -> str | dict[str, float]:
    return value if isinstance(value, str) else {text: _rounded(share) for text, share in value.items()}


def _number(value: float) -> str:
    return f"{value:.{COUNTING_DIGITS}g}" if isinstance(value, float) else str(value)


def _rounded(share: float) -> float:
    return float(f"{share:.{COUNTING_DIGITS}g}")
