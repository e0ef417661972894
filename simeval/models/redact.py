"""Secrets are taken out of every text that could reach a log, a journal or a report."""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

MASK = "[secret]"
SHORTEST = 8  # characters; shorter values would mask ordinary words
_KEY_LIKE = re.compile(
    r"\b(?:sk|pk|rk|key|ghp|gho|xox[a-z])[-_][A-Za-z0-9_\-]{12,}|(?i:\bbearer\s+)[A-Za-z0-9._~+/\-]{8,}=*"
)
_NAMES = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
_HEADERS = ("headers", "extra_headers")


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


def secret_options(options: Mapping[str, object]) -> list[object]:
    """Give the values of those options whose name says that they are secret, and of all headers."""
    found: list[object] = []
    for name, value in options.items():
        if isinstance(value, Mapping):
            found += value.values() if name in _HEADERS else secret_options(value)
        elif _NAMES.search(name):
            found.append(value)
    return found
