"""Detects an app that mixes conversations: an answer repeats words that only another trial's user had sent."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from simeval.core.logs import warn_all
from simeval.core.run_records import TrialKey
from simeval.core.trial import Trial

FIRST = 24  # conversations of a run that are listened to
RUN, NEW = 8, 2  # words in a row that are no chance, where so many of them are new to a conversation
MOST = 4_000  # characters of a message that are looked at
_WORD = re.compile(r"\w+")


@dataclass(slots=True)
class Mixing:
    """Listens to the first conversations of a run; `found` is the proof that they mix, if there is one.

    A proof is a run of words that one user wrote and that is in the answer to another, though the app had never used it
    before the user did, and some of the words are in neither that other conversation nor the scenario.
    """

    advice: str
    found: str = ""
    heard: dict[str, tuple[TrialKey, str]] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)
    _of: set[TrialKey] = field(default_factory=set)
    _scenarios: dict[int, set[str]] = field(default_factory=dict)

    def ear(self, trial: Trial, scenario: object) -> "Ear | None":
        """Return a listener to the conversation of a trial; None if that is not needed any more."""
        key = (trial.scenario, trial.index)
        if self.found or (len(self._of) >= FIRST and key not in self._of):
            return None
        self._of.add(key)
        if trial.scenario not in self._scenarios:
            self._scenarios[trial.scenario] = {*_words(repr(scenario).replace("\\n", " "))}
        return Ear(self, key, {*self._scenarios[trial.scenario]})

    def _tell(self, key: TrialKey, other: TrialKey, words: str, said: str) -> None:
        scenario = "" if key[0] == other[0] else " of another scenario"
        self.found = (
            f"your app mixes conversations: the answer to trial {key[1]} repeats what trial {other[1]}{scenario} said "
            f'("{words}", of "{said[:80]}"); {self.advice}'
        )
        warn_all(self.found)


@dataclass(slots=True)
class Ear:
    """Listens to one conversation; `own` are the words of its user and its scenario."""

    mixing: Mixing
    key: TrialKey
    own: set[str]

    def asked(self, text: str) -> None:
        """Hear the user."""
        words = _words(text[:MOST])
        for run in _runs(words):
            if run not in self.mixing.answered:
                self.mixing.heard.setdefault(run, (self.key, text))
        self.own.update(words)

    def answered(self, text: str) -> None:
        """Hear the app."""
        mixing = self.mixing
        for run in _runs(_words(text[:MOST])):
            other, said = mixing.heard.get(run, (self.key, ""))
            if other != self.key and not mixing.found and sum(word not in self.own for word in run.split()) >= NEW:
                mixing._tell(self.key, other, run, said)
            mixing.answered.add(run)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _runs(words: Sequence[str]) -> list[str]:
    return [" ".join(words[place : place + RUN]) for place in range(len(words) - RUN + 1)]
