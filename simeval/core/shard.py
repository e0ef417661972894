"""A shard: one of so many runs that share a suite out among them."""

import re
from dataclasses import dataclass

from simeval.core.validation import require

_FORM = re.compile(r"(\d{1,6})/(\d{1,6})")


@dataclass(frozen=True, slots=True)
class Shard:
    """The shard with this number, from 1, of so many."""

    number: int
    of: int

    @classmethod
    def read(cls, text: object, where: str = "shard") -> "Shard":
        """Read "3/8". Raises DefinitionError for anything else."""
        found = _FORM.fullmatch(text) if isinstance(text, str) else None
        number, of = map(int, found.groups()) if found else (0, 0)
        require(1 <= number <= of, where, found=text, do="write NUMBER/OF, from 1/OF to OF/OF, such as 3/8")
        return cls(number, of)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def part_of(self, whole: int) -> int:
        """Return this shard's part of a whole number; the parts of all shards add up to it."""
        return whole * self.number // self.of - whole * (self.number - 1) // self.of


def require_shard(value: object, name: str) -> None:
    """Raise a DefinitionError unless a value names a shard."""
    Shard.read(value, name)
