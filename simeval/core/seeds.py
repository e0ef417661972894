"""Random numbers that depend on a seed and a path alone, never on time or order."""

from hashlib import blake2b
from random import Random


def derive(seed: int, *path: str | int) -> int:
    """Return the 63-bit seed that belongs to `path` under `seed`; distinct paths give distinct seeds.

    63 bits, because some providers and databases take signed 64-bit integers only.
    """
    digest = blake2b(repr((seed, *path)).encode(), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


def generator(seed: int, *path: str | int) -> Random:
    """Return a generator of its own for `path` under `seed`."""
    return Random(derive(seed, *path))
