"""Rubrics: the levels of each expectation, given by its suite, or written once and kept by their inputs."""

import json
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path

import anyio

from simeval.core.drafts import write_whole
from simeval.core.logs import log
from simeval.core.run_records import RubricRecord
from simeval.errors import ModelError, ModelUnusable
from simeval.models.caller import Caller
from simeval.models.protocol.prompt_texts import Prompt, built_in
from simeval.models.protocol.prompts import RubricRequest
from simeval.models.protocol.replies import RubricReply
from simeval.scorers.llm.once import Once

EARLIER = ("2",)  # versions of the prompt that gave the same levels, without near misses


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
    return _hash_of(request.prompt.identity, model, request.given, request.when, request.expected_behavior)


def _keys(model: str, request: RubricRequest) -> Sequence[str]:
    """Return the keys under which a rubric may be kept: its own first, then those of prompts with the same levels."""
    prompt = request.prompt
    earlier = [replace(request, prompt=replace(prompt, version=each)) for each in EARLIER if prompt.version]
    return [rubric_key(model, each) for each in (request, *earlier)]


@lru_cache(maxsize=1_000)  # it is looked up for each trial
def _hash_of(*parts: str) -> str:
    return sha256(json.dumps(list(parts)).encode()).hexdigest()


def given_key(levels: Mapping[str, str]) -> str:
    """Return the key of a rubric that a suite gives: a hash of its levels."""
    return sha256(json.dumps(["given", dict(levels)]).encode()).hexdigest()


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
