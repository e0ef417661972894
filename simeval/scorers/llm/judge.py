"""The judges: LLMs that rate a conversation from 1 to 10 by a rubric, and the rubrics with their controls."""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from hashlib import sha256
from logging import DEBUG
from pathlib import Path
from statistics import mean
from typing import Any, Generic, Protocol, TypeVar

import anyio

from simeval.core import seeds
from simeval.core.capture import first_leaf
from simeval.core.conversation import Conversation
from simeval.core.drafts import write_whole
from simeval.core.feedback import LabelledExample
from simeval.core.filling import filled
from simeval.core.judging import Controls, RubricTemplate, complaints, failed, near_misses_of
from simeval.core.logs import log, warn_all
from simeval.core.serialization import plain
from simeval.core.setting_field import JudgeReply, OnFailedControl
from simeval.core.trial import (
    LOWEST,
    ControlKind,
    ControlRecord,
    Failure,
    Preparation,
    Rating,
    RubricRecord,
    Score,
    failure_of,
)
from simeval.errors import CannotTell, ModelError, ModelUnusable, NotMeasured
from simeval.models.caller import Caller
from simeval.models.protocol.model import RubricReply, is_embedded
from simeval.models.protocol.prompt_texts import Excerpt, Prompt, built_in
from simeval.models.protocol.prompts import GradeRequest, LabelGradeRequest, RubricRequest
from simeval.scorers.base import Scorer

T = TypeVar("T")

EARLIER = ("2",)  # versions of the prompt that gave the same levels, without near misses

FAILED_CONTROL = "failed_control"  # the cause of a failure

TOO_LONG = "a conversation is too long for the judge"
LEAST_TOKENS = 20  # of each of the texts that a judge is shown


@dataclass(slots=True)
class Once(Generic[T]):
    """Caches values by key, and makes each once.

    Concurrent callers wait for one computation; if it is cancelled, the next caller takes over.
    """

    made: dict[str, T] = field(default_factory=dict)
    _locks: dict[str, anyio.Lock] = field(default_factory=dict)

    async def get(self, key: str, make: Callable[[], Awaitable[T]]) -> T:
        """Return the cached value of a key, or make it now."""
        if key not in self.made:
            async with self._locks.setdefault(key, anyio.Lock()):
                if key not in self.made:
                    self.made[key] = await make()
        return self.made[key]


@dataclass(slots=True)
class RubricBook:
    """The rubrics of a run: the suite's own, and those of one model, in memory and, with `folder`, on disk.

    `known` holds those of a resumed run, by their keys; `record` stores the ones this run judges by.

    Concurrent requests for one rubric make one call, and share its result. A rubric that could not be written, retries
    included, is not tried again in this run. The disk is a convenience: if it cannot be read or written, rubrics are
    kept in memory.
    """

    caller: Caller
    folder: Path | None = None
    known: Mapping[str, RubricRecord] = field(default_factory=dict)
    record: Callable[[RubricRecord], Awaitable[None]] | None = None
    prompt: Prompt = field(default_factory=partial(built_in, "rubric"))
    _found: Once[RubricRecord | ModelError] = field(default_factory=Once)

    async def unwritten(self, requests: Iterable[RubricRequest]) -> Callable[[], int]:
        """Return a counter of the rubrics among these that are still to be written."""
        wanted = {keys[0]: keys for keys in (_keys(self.caller.model.name, request) for request in requests)}
        kept = set(self.known)
        if self.folder is not None:
            every = {key for keys in wanted.values() for key in keys} - kept
            kept |= await anyio.to_thread.run_sync(_kept, self.folder, every)
        lacking = {key for key, keys in wanted.items() if kept.isdisjoint(keys)}
        return lambda: len(lacking - set(self._found.made))

    def request(self, *, given: str, when: str, expected_behavior: str) -> RubricRequest:
        """Return the request for a rubric."""
        return RubricRequest(given=given, when=when, expected_behavior=expected_behavior, prompt=self.prompt)

    async def rubric(self, request: RubricRequest, own: Mapping[str, str] | None = None) -> RubricRecord:
        """Return the rubric that a request asks for, or the one with the levels that the suite has of its `own`.

        Raises ModelError if it cannot be written.
        """
        key = rubric_key(self.caller.model.name, request) if own is None else given_key(own)
        found = await self._found.get(key, partial(self._recorded, key, request, own))
        if isinstance(found, ModelError):
            raise found.with_traceback(None)
        return found

    async def kept(self, request: RubricRequest) -> RubricRecord | None:
        """Return a rubric that need not be written, if there is one; nothing is asked."""
        for key in _keys(self.caller.model.name, request):
            if found := self.known.get(key) or await self._load(key):
                return self._made(request, found)
        return None

    async def _recorded(
        self, key: str, request: RubricRequest, own: Mapping[str, str] | None
    ) -> RubricRecord | ModelError:
        made: RubricRecord | ModelError
        if own is not None:
            made = RubricRecord(key=key, model="", expected_behavior=request.expected_behavior, levels=own)
        else:
            made = await self.kept(request) or await self._write(request)
        if isinstance(made, ModelError):
            return made
        if self.record is not None:
            await self.record(made)
        return made

    def _made(self, request: RubricRequest, found: RubricRecord | RubricReply) -> RubricRecord:
        name, clean = self.caller.model.name, self.caller.redactor.clean
        return RubricRecord(
            key=rubric_key(name, request),
            model=name,
            expected_behavior=request.expected_behavior,
            levels={level: clean(text) for level, text in found.levels.items()},
            near_misses=tuple(map(clean, found.near_misses)),
        )

    async def _write(self, request: RubricRequest) -> RubricRecord | ModelError:
        try:
            made = self._made(request, await self.caller.ask(request, RubricReply))
        except ModelUnusable:
            raise
        except ModelError as error:
            return error
        log.debug("rubric", expected_behavior=request.expected_behavior, levels=_as_lines(made.levels))
        if self.folder is not None:
            try:
                await anyio.to_thread.run_sync(_store, self.folder / f"{made.key}.json", made)
            except OSError as error:
                self._give_up_the_folder(error)
        return made

    def _give_up_the_folder(self, error: OSError) -> None:
        log.warning(f"rubrics are kept in memory only: {str(self.folder)!r} cannot be used ({error.strerror})")
        self.folder = None

    async def _load(self, key: str) -> RubricReply | None:
        if self.folder is None:
            return None
        path = anyio.Path(self.folder / f"{key}.json")
        try:
            return RubricReply.model_validate_json(await path.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None  # never written, or damaged: it is written again
        except OSError as error:
            self._give_up_the_folder(error)
            return None


def rubric_key(model: str, request: RubricRequest) -> str:
    """Return the key of a rubric: a hash of everything that it depends on."""
    return _hash_of((request.prompt.identity, model, request.given, request.when, request.expected_behavior))


def _keys(model: str, request: RubricRequest) -> Sequence[str]:
    """Return the keys under which a rubric may be kept: its own first, then those of prompts with the same levels."""
    prompt = request.prompt
    earlier = [replace(request, prompt=replace(prompt, version=each)) for each in EARLIER if prompt.version]
    return [rubric_key(model, each) for each in (request, *earlier)]


@lru_cache(maxsize=1_000)  # it is looked up for each trial
def _hash_of(parts: tuple[str, ...]) -> str:
    return _key(parts)


def given_key(levels: Mapping[str, str]) -> str:
    """Return the key of a rubric that a suite gives: a hash of its levels."""
    return _key(["given", dict(levels)])


def _store(path: Path, rubric: RubricRecord) -> None:
    said = {"levels": dict(rubric.levels), "near_misses": rubric.near_misses}
    write_whole(path, json.dumps(said, ensure_ascii=False, indent=1))


def _kept(folder: Path, keys: Collection[str]) -> set[str]:
    """Return those of the keys under which the folder has a rubric that can be used."""
    return {key for key in keys if _is_usable(folder / f"{key}.json")}


def _is_usable(path: Path) -> bool:
    try:
        RubricReply.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return True


def _as_lines(levels: Mapping[str, str]) -> str:
    return "\n".join(f"{level}: {text}" for level, text in levels.items())


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
        are_tested = not all(is_embedded(judge.model.name) for judge in self.judges)
        if made.rubric is not None:
            self.book.expect(self, 0)
        if made.rubric is not None and are_tested:
            best_level = [*made.rubric.levels.values()][-1]
            whole = replace(self, shown=self.shown.completed(made.rubric.near_misses, best_level))
        lacks = are_tested and not {"near_miss", "counterexample"} & {*whole.shown.kinds}
        return await whole.show(scorer, columns, replace(made, lacks_near_miss=lacks))

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
            await at_once([partial(show, place) for place in range(len(places))])
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
    return shown.kinds_but_near if is_embedded(judge) else shown.kinds


def _facts(columns: Mapping[str, Any]) -> str:
    return str(columns.get("facts") or "")


def _key(parts: Sequence[object]) -> str:
    """Return a hash of all that a rubric, or a rating of a control, depends on."""
    return sha256(json.dumps(parts).encode()).hexdigest()


async def of_each_judge(
    judges: Sequence[Caller], repeats: int, seed: int, ask: Callable[[Caller, int, int], Awaitable[T]]
) -> list[T]:
    """Return the result of `ask` with (judge, repeat, seed) for each judge and repeat, in this order.

    The first that fails ends the others, and is raised: fewer ratings would be another criterion.
    """

    async def asked(judge: Caller, repeat: int, seed: int) -> T:
        try:
            return await ask(judge, repeat, seed)
        except ModelError as error:
            if error.kind == "content":
                error.problem += "; the conversation is too long for the judge: --judge-context N shows less of it"
            raise

    asks = [partial(asked, judge, repeat, repeat_seed(seed, repeat)) for judge in judges for repeat in range(repeats)]
    return [await asks[0]()] if len(asks) == 1 else await at_once(asks)


async def at_once(asks: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
    """Return the result of each of these calls, in their order; the models bound how many are made at once.

    The first that fails ends the others, and is raised.
    """
    found: dict[int, T] = {}

    async def one(place: int) -> None:
        found[place] = await asks[place]()

    try:
        async with anyio.create_task_group() as asking:
            for place in range(len(asks)):
                asking.start_soon(one, place)
    except ExceptionGroup as group:
        raise first_leaf(group) from group
    return [found[place] for place in range(len(asks))]


def require_readable(shown: Excerpt) -> None:
    """Raise NotMeasured where so little of a conversation is shown that it cannot be judged."""
    if shown.most < LEAST_TOKENS:
        raise NotMeasured("the conversation is too long for the judge; show it more with --judge-context N")


def told_left_out(shown: Excerpt, told: set[str]) -> str:
    """Describe the part of a conversation that was left out for a judge; the first time it is a warning, too."""
    if not told:
        told.add(TOO_LONG)
        warn_all(f"{TOO_LONG}: it was shown one without {shown}; --judge-context N shows more")
    return str(shown)


def facts_of(found: Any) -> str:
    """Return the facts as judges read them: a text as it is, other values of a column as JSON."""
    return found if isinstance(found, str) else json.dumps(plain(found), ensure_ascii=False) if found else ""


def repeat_seed(seed: int, repeat: int) -> int:
    """Return the seed of a trial's repeat: the first has the trial's own, so that repeats can be added to a run."""
    return seeds.derive(seed, "rating", repeat) if repeat else seed


@dataclass(frozen=True, slots=True)
class RubricScorer(Scorer):
    """Rates how well an expected behaviour was met, by its `own_rubric`, or by its rubric in `book`.

    Each of the `judges` rates a conversation `repeats` times, all at once; the score is the mean of the ratings. Where
    the `reply` is a label, a rating is the mean of all by their probabilities, as far as the judge's server sends them.
    With a `template`, the rubric is written for that one's texts, and filled with the values of its case.
    """

    judges: Sequence[Caller]
    book: RubricBook
    expected_behavior: str
    repeats: int = 1
    prompt: Prompt = field(default_factory=partial(built_in, "judge"))
    own_rubric: Mapping[str, str] | None = None
    reference: str = ""
    most_tokens: int | None = None
    examples: Sequence[LabelledExample] = ()
    reply: JudgeReply = "json"
    controls: ExpectationControls | None = None
    control: ControlKind | None = None
    escalated: bool = False
    told: set[str] = field(default_factory=set, repr=False, compare=False)
    held_on: str | None = None
    template: RubricTemplate | None = None
    timeout_seconds = None
    direction = "higher"

    @property
    def name(self) -> str:
        return "rating"

    async def prepare(self, columns: Mapping[str, Any]) -> Preparation:
        """Have the rubric written, then show the controls to the judges. Raises ModelUnusable."""
        try:
            rubric = await self.rubric(columns["given"], columns["when"])
        except ModelUnusable:
            raise
        except ModelError as error:
            return Preparation(failure=failure_of(error, "rubric", clean=self.book.caller.redactor.clean))
        if self.template is not None:
            rubric = replace(rubric, near_misses=filled(rubric.near_misses, self.template.case))
        shown = Preparation(rubric=rubric)
        return shown if self.controls is None else await self.controls.prepare(self, columns, shown)

    @property
    def basis(self) -> Sequence[object]:
        """The inputs of its ratings besides the scenario and the rubric."""
        known = [self.prompt.name, self.prompt.identity, self.expected_behavior, self.reference]
        return [*known, *(each.key for each in self.examples)]

    def alone(self, judge: Caller, control: ControlKind) -> "RubricScorer":
        """Return the scorer with which one judge rates a control once."""
        return replace(self, judges=[judge], repeats=1, control=control)

    async def rubric(self, given: str, when: str) -> RubricRecord:
        """Return the rubric that conversations are rated by. Raises ModelError where it cannot be written."""
        asked = self.template or RubricTemplate(given, when, self.expected_behavior, {})
        request = self.book.request(given=asked.given, when=asked.when, expected_behavior=asked.expected_behavior)
        return await self.book.rubric(request, self.own_rubric)

    async def score(self, conversation: Conversation, given: str, when: str, seed: int, facts: Any = "") -> Score:
        """Return the mean rating with the reasoning of each.

        Raises ModelError if a rating is missing, CannotTell if a judge cannot decide.
        """
        levels = (await self.rubric(given, when)).levels
        if self.template is not None:
            levels = filled(levels, self.template.case)
        asked: dict[str, Any] = {
            "given": given,
            "when": when,
            "facts": facts_of(facts),
            "reference": self.reference,
            "examples": self.examples,
            "expected_behavior": self.expected_behavior,
            "conversation": conversation.messages,
            "most_tokens": self.most_tokens,
            "held_on": self.held_on,
            "seed": seed,
            "prompt": self.prompt,
            "control": self.control,
            "escalated": self.escalated,
        }
        if self.reply == "label":
            by_label = LabelGradeRequest(levels={level_label(level): text for level, text in levels.items()}, **asked)
            require_readable(shown := by_label.shown)
            found = await of_each_judge(self.judges, self.repeats, seed, partial(_expected_rating, by_label))
        else:
            request = GradeRequest(levels=levels, **asked)
            require_readable(shown := request.shown)
            found = await of_each_judge(self.judges, self.repeats, seed, partial(_rating, request))
        score = mean_rating(found)
        return score if shown.is_whole else replace(score, details={"left_out": told_left_out(shown, self.told)})


def level_label(level: str) -> str:
    """Return the label of a level from 1 to 10: a single digit, as 1 and 10 may begin with the same token."""
    return str(int(level) - 1)


def mean_rating(ratings: Sequence[Rating]) -> Score:
    """Return the score that several ratings of one conversation make: their mean, with each of them.

    A single rating is the score itself.
    """
    first = ratings[0]
    if len(ratings) == 1:
        return Score(value=first.score, reasoning=first.reasoning)
    several = len({rating.judge for rating in ratings}) > 1
    shown = [f"{rating.score:g} ({rating.judge})" if several else f"{rating.score:g}" for rating in ratings]
    reasons = [f"{name}: {rating.reasoning}" for name, rating in zip(shown, ratings, strict=True)]
    return Score(
        value=mean(rating.score for rating in ratings),  # exact, so that equal ratings give themselves
        reasoning="\n".join([f"the mean of {', '.join(shown)}", *dict.fromkeys(reasons)]),
        ratings=tuple(ratings),
    )


async def _rating(request: GradeRequest, judge: Caller, repeat: int, seed: int) -> Rating:
    heard = [message.content for message in request.conversation]
    asked = request if request.seed == seed else replace(request, seed=seed)
    grade = await judge.ask(asked, request.reads, quoted_texts=heard)
    rests_on = "" if grade.message is None else f" (message {grade.message})"
    reasoning = f"{judge.redactor.clean(grade.reasoning)}{rests_on}"
    if log.is_enabled_for(DEBUG):
        log.debug("grade", judge=judge.model.name, repeat=repeat, score=grade.score, reasoning=reasoning)
    if grade.score is None:
        raise CannotTell(judge.model.name, judge.redactor.clean(request.expected_behavior))
    return Rating(judge=judge.model.name, repeat=repeat, score=grade.score, reasoning=reasoning)


async def _expected_rating(request: LabelGradeRequest, judge: Caller, repeat: int, seed: int) -> Rating:
    """Return the mean of the labels' ratings, weighted by their probabilities."""
    chosen = await judge.choose(replace(request, seed=seed), list(request.levels))
    score = chosen.expected({label: float(label) + 1 for label in request.levels})
    log.debug("grade", judge=judge.model.name, repeat=repeat, score=score, label=chosen.label)
    return Rating(judge=judge.model.name, repeat=repeat, score=score)
