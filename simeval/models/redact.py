"""Secrets are taken out of every text that could reach a log, a journal or a report."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

MASK = "[secret]"
SHORTEST = 6  # characters; shorter values would mask ordinary words
_KEY_LIKE = re.compile(
    r"\b(?:sk|pk|rk|key|ghp|gho|xox[a-z])[-_][A-Za-z0-9_\-]{12,}|(?i:\bbearer\s+)[A-Za-z0-9._~+/\-]{8,}=*"
)
_NAMES = re.compile(r"(?:API_?KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Redactor:
    """Masks known secrets and what looks like a key or a bearer token."""

    secrets: tuple[str, ...] = ()

    @classmethod
    def of(cls, values: Iterable[object]) -> "Redactor":
        """Know `values` (the options of a model) and the environment's keys, tokens, secrets and passwords."""
        environment = (value for name, value in os.environ.items() if _NAMES.search(name))
        found = {str(value) for value in (*values, *environment) if value and len(str(value)) >= SHORTEST}
        return cls(tuple(sorted(found, key=len, reverse=True)))

    def clean(self, text: str) -> str:
        """Give the text with every secret masked."""
        for secret in self.secrets:
            text = text.replace(secret, MASK)
        return _KEY_LIKE.sub(MASK, text)


def secret_options(options: Iterable[tuple[str, object]]) -> list[object]:
    """Give the values of those options whose name says that they are secret."""
    return [value for name, value in options if _NAMES.search(name)]
