"""The families of attacks that come with simeval: who the attackers are, what they say, and what they are after."""

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

Aims = Mapping[str, Sequence[str]]  # what attackers are after, each with the names that are told in it
MARKER = "marker"
FILE = Path(__file__).with_name("families.yaml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attacker:
    """One way to attack: its turns, in each of which there may be a place for what it is after."""

    name: str
    turns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Attacks of one kind: what it is `about`, its `owasp` identifiers, what its attackers are after.

    `strategies` say how attackers go about it who are played by a model, by their names. Where `is_planted`, an order
    also stands in what the tools of a world return.
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
        """Return all that an attacker may say who is after one of these aims: a script for each way to say it."""
        return [_script(attacker, text, name) for text, name in self._wanted(aims)]

    def pursuits(self, aims: Aims) -> list[list[Step]]:
        """Return a script for each way to say one of these aims, in which a model pursues it."""
        return [[Step(attack=text)] for text, _ in self._wanted(aims)]

    def said(self, family: Family, aims: Aims) -> list[str]:
        """Return all that a family's attackers say who are after these aims."""
        return [*(turn for each in family.attackers for turn in each.turns), *(text for text, _ in self._wanted(aims))]

    def orders(self, aims: Aims) -> list[str]:
        """Return the orders that are put into what tools return: one for each way to say one of these aims."""
        return [self.planted.format(aim=text) for text, _ in self._wanted(aims)]

    def _wanted(self, aims: Aims) -> Iterator[tuple[str, str]]:
        """Yield each way to say one of these aims, with the name that is told in it."""
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
