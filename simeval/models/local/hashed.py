"""A weak encoder that needs nothing: counts of words and of pairs of words, hashed into a vector.

It knows which words two texts share and nothing else: paraphrases are as far apart as texts about different things. It
is for first trials, for tests, and for use without torch.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from math import hypot, sqrt

HASHED = "hashed"
DIMENSIONS = 512

_TOKEN = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")


class HashedEncoder:
    """Makes vectors of length 1; a text without a word or a mark has the zero vector."""

    async def encode(self, text: str) -> list[float]:
        """Return the vector of a text; never waits."""
        return _encoded(text)

    async def encode_all(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text; never waits."""
        return [_encoded(text) for text in texts]


def _encoded(text: str) -> list[float]:
    tokens = [token.replace("’", "'") for token in _TOKEN.findall(text.casefold())]
    counts = Counter([*tokens, *(f"{one} {other}" for one, other in pairwise(tokens))])
    vector = [0.0] * DIMENSIONS
    for feature, count in counts.items():
        place, sign = _place(feature)
        vector[place] += sign * sqrt(count)
    length = hypot(*vector)
    return [number / length for number in vector] if length else vector


@lru_cache(maxsize=50_000)
def _place(feature: str) -> tuple[int, int]:
    """Return the place of a feature and its sign, so that features that share a place do not add up."""
    number = int.from_bytes(blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest())
    return number % DIMENSIONS, 1 if number >> 63 else -1
