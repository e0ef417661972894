"""The few kinds that are nearest to many: medoids, chosen greedily and then exchanged while that helps.

Reference: L. Kaufman and P. J. Rousseeuw (1990), "Finding Groups in Data", chapter 2 (PAM). To move each of the many to
its nearest kind is the cheapest way to turn their distribution into one on so few kinds (Monge and Kantorovich).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simeval.extras.populations.axes import AXES

MOST_ROUNDS = 20  # of exchanges; a handful are needed
MOST_LOOKED_AT = 1_000  # of the commonest kinds, the candidates for medoids


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
