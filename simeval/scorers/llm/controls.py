"""Controls shown to judges: each one's ratings, asked for once, and the consequence of a wrong one."""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from typing import Any, Protocol

import anyio

from simeval.core.capture import first_leaf
from simeval.core.controls import ControlKind, ControlRecord, Controls, complaints, failed, near_misses_of
from simeval.core.conversation import Conversation
from simeval.core.logs import log
from simeval.core.preparation import Preparation
from simeval.core.rubric_levels import LOWEST
from simeval.core.setting_choices import OnFailedControl
from simeval.core.trial import Failure, Score, failure_of
from simeval.errors import CannotTell, ModelError, ModelUnusable
from simeval.models.caller import Caller
from simeval.models.provider_table import is_embedded
from simeval.scorers.llm.once import Once

FAILED_CONTROL = "failed_control"  # the cause of a failure


class Judging(Protocol):
    """A scorer that lets judges rate conversations."""

    @property
    def basis(self) -> Sequence[object]:
        """The inputs of its ratings besides the scenario and the rubric, as JSON."""

    def alone(self, judge: Caller, control: ControlKind) -> "Judging":
        """Return the scorer with which one judge rates a control once."""

    async def score(self, conversation: Conversation, given: str, when: str, seed: int, facts: Any = "") -> Score:
        """Return the rating of a conversation. Raises ModelError, and CannotTell."""


@dataclass(slots=True)
class ControlBook:
    """The ratings of controls by the judges of a run.

    `known` holds the ratings of a resumed run, by their keys; `record` stores the ones of this run.
    """

    known: Mapping[str, ControlRecord] = field(default_factory=dict)
    record: Callable[[ControlRecord], Awaitable[None]] | None = None
    _found: Once[ControlRecord] = field(default_factory=Once)
    _left: Counter[int] = field(default_factory=Counter)  # calls, by the id of an expectation's controls

    def expect(self, expectation: object, calls: int) -> None:
        """Say how many calls an expectation can still take."""
        self._left[id(expectation)] = calls

    def took(self, expectation: object, calls: int) -> None:
        """Say that so many of them were made, or will not be."""
        self._left[id(expectation)] -= calls

    def unrated(self) -> int:
        """Return how many calls can still be made."""
        unused = len(self.known.keys() - self._found.made.keys())
        return max(0, self._left.total() - unused)

    async def rating(self, key: str, rate: Callable[[], Awaitable[ControlRecord]]) -> ControlRecord:
        """Return the rating known under a key, or else the one from `rate`, which is stored."""
        return await self._found.get(key, partial(self._rated, key, rate))

    async def _rated(self, key: str, rate: Callable[[], Awaitable[ControlRecord]]) -> ControlRecord:
        if key in self.known:
            return self.known[key]
        found = await rate()
        log.debug("control", judge=found.judge, control=found.control, score=found.score, reasoning=found.reasoning)
        if self.record is not None:
            await self.record(found)
        return found


@dataclass(frozen=True, slots=True)
class ExpectationControls:
    """The controls of one expectation, as they are shown to each of `judges` in a run, in so many `calls` each."""

    book: ControlBook
    shown: Controls
    judges: Sequence[Caller]
    on_failed: OnFailedControl
    expected_behavior: str
    calls: int = 1

    def __post_init__(self) -> None:
        kinds = [kind for judge in self.judges for kind in kinds_for(self.shown, judge.model.name)]
        self.book.expect(self, self.calls * (len(kinds) + kinds.count("near_miss")))

    async def prepare(self, scorer: Judging, columns: Mapping[str, Any], made: Preparation) -> Preparation:
        """Show every control to every judge, all at once, and add the results to the preparation `made`.

        `columns` are the ones that all trials share. Raises ModelUnusable. A judge that could rate none of the controls
        it must fail is unproven, and counts as wrong.
        """
        whole = self
        if made.rubric is not None:
            self.book.expect(self, 0)
            best_level = [*made.rubric.levels.values()][-1]
            whole = replace(self, shown=self.shown.completed(made.rubric.near_misses, best_level))
        lacks = not {"near_miss", "counterexample"} & {*whole.shown.kinds}
        are_tested = not all(is_embedded(judge.model.name) for judge in self.judges)
        return await whole.show(scorer, columns, replace(made, lacks_near_miss=lacks and are_tested))

    async def show(self, scorer: Judging, columns: Mapping[str, Any], made: Preparation) -> Preparation:
        """Show the controls as `prepare` does, once it is known which there are."""
        found: dict[int, list[ControlRecord]] = {}
        lost: dict[str, Failure] = {}
        places = [(judge, kind) for judge in self.judges for kind in kinds_for(self.shown, judge.model.name)]

        async def show(place: int) -> None:
            judge, kind = places[place]
            kinds: list[ControlKind] = [kind, "near_miss_again"] if kind == "near_miss" else [kind]
            found[place] = []
            try:
                for each in kinds:
                    if all(not shown.is_right for shown in found[place]):
                        found[place].append(await self._rating(judge, each, scorer, columns, made))
                    self.book.took(self, self.calls)
            except ModelUnusable:
                raise
            except ModelError as error:
                lost[judge.model.name] = failure_of(error, "judge", clean=judge.redactor.clean)
                self.book.took(self, self.calls * (len(kinds) - len(found[place])))

        try:
            async with anyio.create_task_group() as showing:
                for place in range(len(places)):
                    showing.start_soon(show, place)
        except ExceptionGroup as group:
            raise first_leaf(group) from group
        finally:
            self.book.expect(self, 0)
        made = replace(made, controls=tuple(each for place in sorted(found) for each in found[place]))
        return made if self.on_failed == "warn" else replace(made, failure=self._failure(made, lost, columns))

    def _failure(self, made: Preparation, lost: Mapping[str, Failure], columns: Mapping[str, Any]) -> Failure | None:
        """Return why judges, some of them `lost`, shall not judge; None if they may."""
        if said := "; ".join(complaints(made.controls)):
            if any(each.control == "near_miss" for each in failed(made.controls)):
                said += f'; the near miss says: "{near_misses_of(self.shown, _facts(columns))[0].statement}"'
            said += "; --on-failed-control warn lets it judge"
            return Failure(stage="judge", error=said, cause=FAILED_CONTROL)
        tested = {control.judge for control in made.controls if control.control != "example"}
        return next((failure for judge, failure in lost.items() if judge not in tested), None)

    async def _rating(
        self, judge: Caller, kind: ControlKind, scorer: Judging, columns: Mapping[str, Any], made: Preparation
    ) -> ControlRecord:
        about = {name: str(columns.get(name) or "") for name in ("given", "when", "facts")}
        first, *others = self.shown.conversation(kind, **about, expected_behavior=self.expected_behavior)
        conversation = Conversation(messages=(replace(first, started=datetime.now(UTC)), *others))  # dated, as any is
        levels = dict(made.rubric.levels) if made.rubric else {}
        key = _key([judge.model.name, *scorer.basis, about, levels, conversation.as_chat()])
        record = partial(
            ControlRecord, key=key, judge=judge.model.name, control=kind, expected_behavior=self.expected_behavior
        )

        async def rate() -> ControlRecord:
            try:
                score = await scorer.alone(judge, kind).score(conversation, **about, seed=0)
            except CannotTell as error:  # which is no pass
                return record(score=float(LOWEST), reasoning=str(error))
            return record(score=score.value, reasoning=score.reasoning)

        return await self.book.rating(key, rate)


def kinds_for(shown: Controls, judge: str) -> Sequence[ControlKind]:
    """Return which controls a judge is shown; an embedded one, which is known not to understand, no near miss."""
    return [kind for kind in shown.kinds if kind != "near_miss" or not is_embedded(judge)]


def _facts(columns: Mapping[str, Any]) -> str:
    return str(columns.get("facts") or "")


def _key(parts: Sequence[object]) -> str:
    """Return a hash of all that a rating of a control depends on."""
    return sha256(json.dumps(parts).encode()).hexdigest()
