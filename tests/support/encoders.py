"""Encoders for tests: vectors from a table, and the bag of words that another system falls back on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2s

import anyio.lowlevel


@dataclass(slots=True)
class Table:
    """Returns the vectors of a table, and keeps what it was asked for."""

    vectors: Mapping[str, Sequence[float]]
    asked: list[list[str]] = field(default_factory=list)

    async def encode(self, text: str) -> Sequence[float]:
        return (await self.encode_all([text]))[0]

    async def encode_all(self, texts: Sequence[str]) -> list[Sequence[float]]:
        self.asked.append(list(texts))
        await anyio.lowlevel.checkpoint()
        return [self.vectors[text] for text in texts]


class BagOfWords:
    """Counts what white space separates in 512 places by a hash: a plain encoder, called in a thread."""

    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text."""
        return [_counted(text) for text in texts]


def _counted(text: str) -> list[float]:
    counts = [0.0] * 512
    for word in text.split():
        counts[int.from_bytes(blake2s(word.encode(), digest_size=8).digest()) % 512] += 1
    return counts
