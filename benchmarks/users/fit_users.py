"""Whether users fitted to half of recorded dialogues describe the other half.

    python -m benchmarks.users.fit_users DATA [--splits 20]

DATA is the folder with the data sets that `transcripts` reads (.jsonl.gz). Dialogues of one task stay in one half. How
far two distributions are apart is half the sum of their differences (total variation).
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import isnan, log2, nan
from pathlib import Path
from random import Random
from statistics import mean, quantiles
from typing import Any, TypeVar

from benchmarks.users.transcripts import Recorded, load
from simeval.core.conversation import Conversation
from simeval.core.setting_field import WritingStyleAxes
from simeval.extras.populations.axes import AXES, UNKNOWN
from simeval.extras.populations.fitting import FittedUsers, distances, fit_users, read_habits
from simeval.extras.populations.habits import Habits

LEAST = 60  # dialogues of a data set that is split
NOISE = 41  # random halves, and one
SMOOTHED = 0.01  # of a distribution, that is spread over all traits: one that was not seen may be there
SAMPLE, SAMPLES = 100, 200  # dialogues drawn from a population that is known, and how often
HEADER = f"{'':<20}" + "".join(f"{axis.name:>12}" for axis in AXES) + f"{'mean':>12}"
Shares = Mapping[str, float]
T = TypeVar("T")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--splits", type=int, default=20)
    options = parser.parse_args()
    recorded = {source: talks for source, talks in load(options.data).items() if len(talks) >= LEAST}
    for talks in recorded.values():
        habits(talks)
    recorded["all of them"] = [talk for talks in recorded.values() for talk in talks]
    for source, talks in recorded.items():
        describe(source, talks, options.splits)
    elsewhere(recorded["sgd_scenarios"], recorded["dices_safety"])
    coverage(recorded["sgd_scenarios"])


def describe(source: str, talks: Sequence[Recorded], splits: int) -> None:
    """Fit to one half and measure on the other, several times; print the means, beside the noise of random halves."""
    apart: dict[str, list[list[float]]] = defaultdict(list)
    bits: dict[str, list[float]] = defaultdict(list)
    personas: list[float] = []
    personas_noise: list[float] = []
    noise = [by_axis(habits(one), habits(other)) for one, other in (halves(talks, Random(-n)) for n in range(1, NOISE))]
    for seed in range(splits):
        one, other = halves(talks, Random(seed))
        fitted = fit_users(each.conversation for each in one)
        seen, found = habits(one), habits(other)
        for name, told in candidates(fitted, seen).items():
            apart[name].append([distance(told[axis.name], shares(found, place)) for place, axis in enumerate(AXES)])
        personas.append(distance(rates(nearest(fitted, seen)), rates(nearest(fitted, found))))
        personas_noise.append(noise_of(fitted, talks, seed))
        for name, cost in costs(fitted, seen, found).items():
            bits[name].append(cost)
    print(f"\n{source}: {len(talks)} dialogues, {splits} splits; apart from the other half, by axis:\n{HEADER}")
    noisiest = [bound(each) for each in zip(*noise, strict=True)]
    for name, rows in {**apart, "random halves, 95%": [noisiest]}.items():
        print(f"{name:<20}{row([mean(column) for column in zip(*rows, strict=True)])}")
    over = sum(found > most for found, most in zip(personas, personas_noise, strict=True))
    print(
        f"personas' shares: {mean(personas):.3f} apart (random halves, 95%: {mean(personas_noise):.3f}; beyond: {over})"
    )
    print("bits for a dialogue's traits: " + ", ".join(f"{name} {mean(each):.2f}" for name, each in bits.items()))


def row(found: Sequence[float]) -> str:
    """Return figures by axis with their mean; an axis of which users are told nothing has none."""
    told = [each for each in found if not isnan(each)]
    return "".join(f"{each:>12.3f}".replace("nan", "  -") for each in [*found, mean(told)])


def by_axis(one: Sequence[Habits], other: Sequence[Habits]) -> list[float]:
    return [distance(shares(one, place), shares(other, place)) for place in range(len(AXES))]


def nearest(fitted: FittedUsers, users: Sequence[Habits]) -> list[int]:
    """Return, for each user, the place of the persona that is nearest."""
    apart = distances([each.traits for each in users], [each.traits for each in fitted.personas])
    return [int(place) for place in apart.argmin(axis=1)]


def noise_of(fitted: FittedUsers, talks: Sequence[Recorded], seed: int) -> float:
    """Return how far the shares of these personas in random halves are apart at most, in 95 of 100."""
    found = []
    for n in range(1, NOISE):
        one, other = halves(talks, Random(-1000 * seed - n))
        found.append(distance(rates(nearest(fitted, habits(one))), rates(nearest(fitted, habits(other)))))
    return bound(found)


def bound(found: Sequence[float]) -> float:
    return quantiles(found, n=20, method="inclusive")[-1]


def halves(talks: Sequence[Recorded], random: Random) -> tuple[list[Recorded], list[Recorded]]:
    """Return two halves, where dialogues of one task are in one."""
    groups: dict[tuple[str, str], list[Recorded]] = defaultdict(list)
    for talk in talks:
        task = talk.scenario.given + talk.scenario.when
        groups[talk.source, task if len(task) > 40 else str(talk.place)].append(talk)
    parts: tuple[list[Recorded], list[Recorded]] = ([], [])
    for _, group in sorted(groups.items(), key=lambda _: random.random()):
        parts[len(parts[1]) < len(parts[0])].extend(group)
    return parts


def habits(talks: Sequence[Recorded]) -> list[Habits]:
    """Return how users write; each conversation is read once, with the others of its data sets."""
    unread = [talk for talk in talks if (talk.source, talk.place) not in _READ]
    for talk, found in zip(unread, read_habits([talk.conversation for talk in unread]), strict=True):
        _READ[talk.source, talk.place] = found
    return [_READ[talk.source, talk.place] for talk in talks]


_READ: dict[tuple[str, int], Habits] = {}


def shares(users: Sequence[Habits], place: int) -> Shares:
    """Return what users would be told of an axis, with shares, without what is unknown."""
    return rates([AXES[place].told(each.traits[place]) for each in users if each.traits[place] != UNKNOWN])


def rates(found: Sequence[T]) -> dict[T, float]:
    return {each: count / len(found) for each, count in Counter(found).items()}


def distance(one: Mapping[Any, float], other: Mapping[Any, float]) -> float:
    """Return the total variation between two distributions; NaN where one of them is none."""
    if not (one and other):
        return nan
    return sum(abs(one.get(each, 0) - other.get(each, 0)) for each in {*one, *other}) / 2


def candidates(fitted: FittedUsers, seen: Sequence[Habits]) -> dict[str, dict[str, Shares]]:
    """Return what users are told on each axis: by the fitted mix, and by others to hold it against."""
    even: dict[str, Shares] = {axis.name: rates([axis.told(word) for word in traits(axis.name, seen)]) for axis in AXES}
    default = WritingStyleAxes()
    drawn: dict[str, Shares] = {axis.name: rates(getattr(default, axis.name, [])) for axis in AXES}
    personas = [(each.persona.share, each.persona.style) for each in fitted.personas]
    alike = [(1 / len(personas), style) for _, style in personas]
    return {
        "fitted mix": mixed(personas),
        "personas, alike": mixed(alike),
        "traits, alike": even,
        "default styles": drawn,
    }


def traits(name: str, seen: Sequence[Habits]) -> list[str]:
    place = [axis.name for axis in AXES].index(name)
    return list(AXES[place].traits) or sorted({each.traits[place] for each in seen} - {UNKNOWN})


def mixed(personas: Sequence[tuple[float, Mapping[str, str | Shares]]]) -> dict[str, Shares]:
    """Return what a mix tells its users, with shares, on each axis; of those who are told something there."""
    told: dict[str, dict[str, float]] = {axis.name: defaultdict(float) for axis in AXES}
    for share, style in personas:
        for name, value in style.items():
            for text, within in ({value: 1.0} if isinstance(value, str) else value).items():
                told[name][text] += share * within
    return {name: {text: each / sum(counts.values()) for text, each in counts.items()} for name, counts in told.items()}


def costs(fitted: FittedUsers, seen: Sequence[Habits], found: Sequence[Habits]) -> dict[str, float]:
    """Return how many bits the traits of another user cost on average, under the mix and under others."""
    people = [
        [h for h, at in zip(seen, nearest(fitted, seen), strict=True) if at == n] for n in range(len(fitted.personas))
    ]
    return {
        "fitted mix": bits([(len(each) / len(seen), each) for each in people if each], found),
        "personas, alike": bits([(1 / len(people), each) for each in people if each], found),
        "one persona": bits([(1.0, seen)], found),
        "traits, alike": sum(
            log2(len({*traits(axis.name, seen), UNKNOWN} if not axis.traits else axis.traits)) for axis in AXES
        ),
    }


def bits(people: Sequence[tuple[float, Sequence[Habits]]], found: Sequence[Habits]) -> float:
    tables = [
        (share, [rates([each.traits[place] for each in some]) for place in range(len(AXES))]) for share, some in people
    ]
    return -mean(log2(sum(share * chance(table, each) for share, table in tables)) for each in found)


def chance(table: Sequence[Shares], user: Habits) -> float:
    product = 1.0
    for axis, rate, word in zip(AXES, table, user.traits, strict=True):
        product *= (1 - SMOOTHED) * rate.get(word, 0.0) + SMOOTHED / (len(axis.traits) or 30)
    return product


def elsewhere(one: Sequence[Recorded], other: Sequence[Recorded]) -> None:
    """Fit to one data set and measure on another: a mix describes the traffic that it is fitted to."""
    told = mixed([(each.persona.share, each.persona.style) for each in fit_users(conversations(one)).personas])
    found = habits(other)
    apart = row([distance(told[axis.name], shares(found, place)) for place, axis in enumerate(AXES)])
    print(f"\nfitted to {one[0].source}, apart from {other[0].source}:\n{HEADER}\n{'fitted mix':<20}{apart}")


def conversations(talks: Sequence[Recorded]) -> list[Conversation]:
    return [talk.conversation for talk in talks]


def coverage(talks: Sequence[Recorded]) -> None:
    """Draw samples of a population that is known, and count the intervals that hold the share of all."""
    everybody, random = habits(talks), Random(7)
    held = n = 0
    for _ in range(SAMPLES):
        fitted = fit_users(conversations(random.choices(talks, k=SAMPLE)))
        true = rates(nearest(fitted, everybody))
        for place, each in enumerate(fitted.personas):
            lower, upper = each.interval
            held, n = held + (lower <= true.get(place, 0.0) <= upper), n + 1
    print(f"\nintervals of samples of {SAMPLE} that hold the share of all {len(talks)}: {held} of {n} = {held / n:.1%}")


if __name__ == "__main__":
    main()
