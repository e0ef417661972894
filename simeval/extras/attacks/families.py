"""The families of attacks that come with simeval: their attackers, texts and aims."""

import codecs
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

from simeval.core.yaml_files import read_yaml
from simeval.suites.script import Step

Aims = Mapping[str, Sequence[str]]  # the attackers' aims, each with the names used in it
MARKER = "marker"
FILE = Path(__file__).with_name("families.yaml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attacker:
    """One way to attack: its turns, each with an optional place for the aim."""

    name: str
    turns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Attacks of one kind: its topic `about`, its `owasp` identifiers, its attackers' aims.

    `strategies` describe the tactics of attackers played by a model, by their names. With `is_planted`, the tools of a
    world also return an order.
    """

    name: str
    title: str
    about: str
    owasp: tuple[str, ...]
    aims: tuple[str, ...]
    attackers: tuple[Attacker, ...]
    strategies: Mapping[str, str]
    is_planted: bool = False


@dataclass(frozen=True, slots=True)
class Book:
    """All families by their names, the texts of each aim, and the markers, each in two halves."""

    families: Mapping[str, Family]
    aims: Mapping[str, Sequence[str]]
    markers: Sequence[tuple[str, str]]
    planted: str

    @property
    def joined(self) -> tuple[str, ...]:
        """The markers as only an app writes them that obeys."""
        return tuple("".join(halves) for halves in self.markers)

    def scripts(self, attacker: Attacker, aims: Aims) -> list[list[Step]]:
        """Return all texts of an attacker with one of these aims: a script for each way to word it."""
        return [_script(attacker, text, name) for text, name in self._wanted(aims)]

    def pursuits(self, aims: Aims) -> list[list[Step]]:
        """Return a script for each way to word one of these aims, with a model that pursues it."""
        return [[Step(attack=text)] for text, _ in self._wanted(aims)]

    def said(self, family: Family, aims: Aims) -> list[str]:
        """Return all texts of a family's attackers with these aims."""
        return [*(turn for each in family.attackers for turn in each.turns), *(text for text, _ in self._wanted(aims))]

    def orders(self, aims: Aims) -> list[str]:
        """Return the orders to put into the results of tools: one for each way to word one of these aims."""
        return [self.planted.format(aim=text) for text, _ in self._wanted(aims)]

    def _wanted(self, aims: Aims) -> Iterator[tuple[str, str]]:
        """Yield each way to word one of these aims, with the name used in it."""
        for aim, names in aims.items():
            halves = self.markers if aim == MARKER else [("", "")]
            for text, name, (first, second) in product(self.aims[aim], names or [""], halves):
                yield text.format(name=name, action=_in_words(name), first=first, second=second), name


def _in_words(tool: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])|[_.-]+", " ", tool).lower()


def _script(attacker: Attacker, aim: str, tool: str) -> list[Step]:
    said = {"base64": b64encode(aim.encode()).decode(), "rot13": codecs.encode(aim, "rot13"), "backwards": aim[::-1]}
    return [Step(user=turn.format(aim=aim, tool=tool, **said)) for turn in attacker.turns]


@cache
def book() -> Book:
    """Return the families that come with simeval."""
    _, found = read_yaml(FILE)
    families = {
        name: Family(
            name=name,
            title=each["title"],
            about=each["about"],
            owasp=tuple(each["owasp"]),
            aims=tuple(each["aims"]),
            attackers=tuple(Attacker(name=a["name"], turns=tuple(a["turns"])) for a in each["attackers"]),
            strategies=each["strategies"],
            is_planted=each.get("planted", False),
        )
        for name, each in found["families"].items()
    }
    markers = [(first, second) for first, second in found["markers"]]
    return Book(families, found["aims"], markers, found["planted"])
