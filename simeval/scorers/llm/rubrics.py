"""Rubrics: the levels of each expectation, given by its suite, or written once and kept by their inputs."""

import json
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
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
    known: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    record: Callable[[RubricRecord], Awaitable[None]] | None = None
    prompt: Prompt = field(default_factory=partial(built_in, "rubric"))
    _found: Once[RubricRecord | ModelError] = field(default_factory=Once)

    async def unwritten(self, requests: Iterable[RubricRequest]) -> Callable[[], int]:
        """Return a counter of the rubrics among these that are still to be written."""
        keys = {rubric_key(self.caller.model.name, request) for request in requests} - set(self.known)
        if self.folder is not None:
            keys -= await anyio.to_thread.run_sync(_kept, self.folder, keys)
        return lambda: len(keys - set(self._found.made))

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
        key = rubric_key(self.caller.model.name, request)
        levels = self.known.get(key) or await self._load(key)
        return None if levels is None else self._made(key, request, levels)

    async def _recorded(
        self, key: str, request: RubricRequest, own: Mapping[str, str] | None
    ) -> RubricRecord | ModelError:
        levels = own or self.known.get(key) or await self._load(key) or await self._write(key, request)
        if isinstance(levels, ModelError):
            return levels
        made = self._made(key, request, levels, is_given=own is not None)
        if self.record is not None:
            await self.record(made)
        return made

    def _made(
        self, key: str, request: RubricRequest, levels: Mapping[str, str], *, is_given: bool = False
    ) -> RubricRecord:
        name, behaviour = "" if is_given else self.caller.model.name, request.expected_behavior
        return RubricRecord(key=key, model=name, expected_behavior=behaviour, levels=levels)

    async def _write(self, key: str, request: RubricRequest) -> Mapping[str, str] | ModelError:
        try:
            written = (await self.caller.ask(request, RubricReply)).levels
        except ModelUnusable:
            raise
        except ModelError as error:
            return error
        levels = {level: self.caller.redactor.clean(text) for level, text in written.items()}
        log.debug("rubric", expected_behavior=request.expected_behavior, levels=_as_lines(levels))
        if self.folder is not None:
            try:
                await anyio.to_thread.run_sync(_store, self.folder / f"{key}.json", levels)
            except OSError as error:
                self._give_up_the_folder(error)
        return levels

    def _give_up_the_folder(self, error: OSError) -> None:
        log.warning(f"rubrics are kept in memory only: {str(self.folder)!r} cannot be used ({error.strerror})")
        self.folder = None

    async def _load(self, key: str) -> Mapping[str, str] | None:
        if self.folder is None:
            return None
        path = anyio.Path(self.folder / f"{key}.json")
        try:
            return RubricReply.model_validate_json(await path.read_text(encoding="utf-8")).levels
        except (FileNotFoundError, ValueError):
            return None  # never written, or damaged: it is written again
        except OSError as error:
            self._give_up_the_folder(error)
            return None


def rubric_key(model: str, request: RubricRequest) -> str:
    """Return the key of a rubric: a hash of everything that it depends on."""
    return _hash_of(request.prompt.identity, model, request.given, request.when, request.expected_behavior)


@lru_cache(maxsize=1_000)  # it is looked up for each trial
def _hash_of(*parts: str) -> str:
    return sha256(json.dumps(list(parts)).encode()).hexdigest()


def given_key(levels: Mapping[str, str]) -> str:
    """Return the key of a rubric that a suite gives: a hash of its levels."""
    return sha256(json.dumps(["given", dict(levels)]).encode()).hexdigest()


def _store(path: Path, levels: Mapping[str, str]) -> None:
    write_whole(path, json.dumps({"levels": dict(levels)}, ensure_ascii=False, indent=1))


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
