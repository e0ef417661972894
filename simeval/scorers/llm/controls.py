"""Controls shown to judges: what each gives them, asked for once, and what follows where it is wrong."""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256

import anyio

from simeval.core.capture import first_leaf
from simeval.core.controls import ControlKind, ControlRecord, Controls, complaints
from simeval.core.logs import log
from simeval.core.preparation import Preparation
from simeval.core.run_records import RubricRecord
from simeval.core.settings import OnFailedControl
from simeval.core.trial import Failure, failure_of
from simeval.errors import ModelError, ModelUnusable
from simeval.models.caller import Caller
from simeval.models.protocol.prompts import ControlRequest
from simeval.models.protocol.replies import Grade
from simeval.scorers.llm.once import Once

FAILED_CONTROL = "failed_control"  # the cause of a failure


@dataclass(slots=True)
class ControlBook:
    """What the judges of a run give to controls.

    `known` holds what a resumed run had, by its keys; `record` keeps what this run finds.
    """

    known: Mapping[str, ControlRecord] = field(default_factory=dict)
    record: Callable[[ControlRecord], Awaitable[None]] | None = None
    _found: Once[ControlRecord] = field(default_factory=Once)
    _left: Counter[int] = field(default_factory=Counter)  # by the id of an expectation's controls

    def expect(self, expectation: object, ratings: int) -> None:
        """Say how many ratings an expectation can still take."""
        self._left[id(expectation)] = ratings

    def took(self, expectation: object) -> None:
        """Say that one of them was made, or could not be."""
        self._left[id(expectation)] -= 1

    def unrated(self) -> int:
        """Return how many calls can still be made."""
        unused = len(self.known.keys() - self._found.made.keys())
        return max(0, self._left.total() - unused)

    async def rate(self, judge: Caller, kind: ControlKind, request: ControlRequest) -> ControlRecord:
        """Return what a judge gives a control. Raises ModelError where that cannot be had."""
        key = control_key(judge.model.name, request)
        return await self._found.get(key, partial(self._rated, key, judge, kind, request))

    async def _rated(self, key: str, judge: Caller, kind: ControlKind, request: ControlRequest) -> ControlRecord:
        if key in self.known:
            return self.known[key]
        said = [message.content for message in request.conversation]
        grade = await judge.ask(request, Grade, quoted_texts=said)
        found = ControlRecord(
            key=key,
            judge=judge.model.name,
            control=kind,
            expected_behavior=request.expected_behavior,
            score=grade.score,
            reasoning=judge.redactor.clean(grade.reasoning),
        )
        log.debug("control", judge=found.judge, control=kind, score=found.score, reasoning=found.reasoning)
        if self.record is not None:
            await self.record(found)
        return found


@dataclass(frozen=True, slots=True)
class ExpectationControls:
    """The controls of one expectation, as they are shown to each of `judges` in a run."""

    book: ControlBook
    shown: Controls
    judges: Sequence[Caller]
    on_failed: OnFailedControl

    def __post_init__(self) -> None:
        self.book.expect(self, len(self.judges) * len(self.shown.kinds))

    async def prepare(self, request: ControlRequest, rubric: RubricRecord) -> Preparation:
        """Show every control to every judge, all at once; `request` is what asks for a rating, but for what was said.

        Raises ModelUnusable. Of a judge that cannot rate one, nothing is known: it is taken for one that is wrong.
        """
        found: dict[int, ControlRecord] = {}
        lost: list[Failure] = []
        places = [(judge, kind) for judge in self.judges for kind in self.shown.kinds]

        async def show(place: int) -> None:
            judge, kind = places[place]
            asked = request.showing(self.shown, kind)
            try:
                found[place] = await self.book.rate(judge, kind, asked)
            except ModelUnusable:
                raise
            except ModelError as error:
                lost.append(failure_of(error, "judge", clean=judge.redactor.clean))
            self.book.took(self)

        try:
            async with anyio.create_task_group() as showing:
                for place in range(len(places)):
                    showing.start_soon(show, place)
        except ExceptionGroup as group:
            raise first_leaf(group) from group
        finally:
            self.book.expect(self, 0)
        controls = tuple(found[place] for place in sorted(found))
        made = Preparation(rubric=rubric, controls=controls)
        if self.on_failed == "warn":
            return made
        if said := "; ".join(complaints(controls)):
            said += "; --on-failed-control warn lets it judge"
            return replace(made, failure=Failure(stage="judge", error=said, cause=FAILED_CONTROL))
        return replace(made, failure=lost[0]) if lost else made


def control_key(judge: str, request: ControlRequest) -> str:
    """Return the key of a control: a hash of all that its rating depends on."""
    parts = [judge, [dict(message) for message in request.first_messages()]]
    return sha256(json.dumps(parts).encode()).hexdigest()
