"""The length of a trial: its user's messages, the app's turns, and when judges rule on a check."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from simeval.suites.scenario import ScenarioTest
from simeval.suites.script import MOST_TAKEN_BACK, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """One conversation: its `turns`, each a message and an answer.

    A simulated user is asked for `simulated` messages: after so many turns, so many, and with the last it may leave; of
    all messages it writes `said`. Answers in the turns of `given` are a script's; judges rule on each sentence of
    `checked` after so many turns.
    """

    turns: int
    simulated: tuple[tuple[int, int], ...]
    given: tuple[int, ...] = ()
    checked: tuple[tuple[int, str], ...] = ()
    said: int = 0

    @classmethod
    def of(cls, scenario: ScenarioTest, typical: int | None = None) -> Self:
        """Return the longest course, or that of a user who leaves after a `typical` number of messages at a time.

        Of several scripts of its users it is the course of the one that asks the user's model most often.
        """
        courses = [cls._by(script, scenario, typical) for script in scenario.courses]
        return max(courses, key=lambda each: (sum(calls for _, calls in each.simulated), each.turns))

    @classmethod
    def _by(cls, script: Sequence[Step], scenario: ScenarioTest, typical: int | None) -> Self:
        if not script:
            turns, calls = _said(scenario.max_turns, typical)
            return cls(turns=turns, said=turns, simulated=((0, calls),))
        simulated: list[tuple[int, int]] = []
        checked: list[tuple[int, str]] = []
        given: list[int] = []
        turns = by_user = 0
        for step in script:
            if step.user is not None:
                turns += 1
            elif step.app is not None:
                given.append(turns - 1)
            elif step.simulate is not None:
                most = scenario.max_turns - turns if step.simulate == "to_end" else step.simulate
                said, calls = _said(max(0, most), typical)
                if step.simulate == "to_end" and typical is None:  # a user who left early has turns left
                    calls += len(simulated)
                simulated.append((turns, calls))
                turns, by_user = turns + said, by_user + said
            elif step.attack is not None:
                calls = scenario.max_turns + (MOST_TAKEN_BACK if typical is None else 0)
                simulated.append((turns, calls))
                turns, by_user = turns + calls, by_user + calls
            elif step.checks is not None and step.checks.judged is not None:
                checked.append((turns, step.checks.judged))
        return cls(turns=turns, said=by_user, simulated=tuple(simulated), given=tuple(given), checked=tuple(checked))


def _said(most: int, typical: int | None) -> tuple[int, int]:
    """Return how many messages a user writes who may write so many, and how often it is asked for one."""
    return (most, most) if typical is None else (min(typical, most), min(typical + 1, most))
