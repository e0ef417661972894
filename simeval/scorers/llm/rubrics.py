"""Rubrics: ten levels for each expectation, written once and kept under what they were made from."""

import json
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from threading import get_ident

import anyio

from simeval.core.logs import log
from simeval.core.run_records import RubricRecord
from simeval.errors import ModelError, ModelUnusable
from simeval.models.caller import Caller
from simeval.models.protocol.prompt_texts import Prompt, built_in
from simeval.models.protocol.prompts import RubricRequest
from simeval.models.protocol.replies import RubricReply


@dataclass(slots=True)
class RubricBook:
    """The rubrics of one model, in memory and, where `folder` is given, on disk.

    `known` holds those a resumed run had, by their keys; `record` keeps those that this run judges by.

    Concurrent requests for one rubric make one call, and all get what came of it. A rubric that could not be
    written, retries included, is not tried again in this run. The disk is a convenience: where it cannot be
    read or written, rubrics are kept in memory.
    """

    caller: Caller
    folder: Path | None = None
    known: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    record: Callable[[RubricRecord], Awaitable[None]] | None = None
    prompt: Prompt = field(default_factory=partial(built_in, "rubric"))
    _found: dict[str, Mapping[str, str] | ModelError] = field(default_factory=dict)
    _locks: dict[str, anyio.Lock] = field(default_factory=dict)

    async def unwritten(self, requests: Iterable[RubricRequest]) -> Callable[[], int]:
        """Return what counts those of these rubrics that are still to be written."""
        keys = {rubric_key(self.caller.model.name, request) for request in requests} - set(self.known)
        if self.folder is not None:
            kept = await anyio.to_thread.run_sync(_kept, self.folder)
            keys -= kept
        return lambda: len(keys - set(self._found))

    async def levels(self, *, given: str, when: str, expected_behavior: str) -> Mapping[str, str]:
        """Return the levels, keys "1" to "10". Raises ModelError where they cannot be written."""
        request = RubricRequest(given=given, when=when, expected_behavior=expected_behavior, prompt=self.prompt)
        key = rubric_key(self.caller.model.name, request)
        if key not in self._found:
            async with self._locks.setdefault(key, anyio.Lock()):
                if key not in self._found:
                    self._found[key] = await self._recorded(key, request)
        found = self._found[key]
        if isinstance(found, ModelError):
            raise found.with_traceback(None)
        return found

    async def _recorded(self, key: str, request: RubricRequest) -> Mapping[str, str] | ModelError:
        levels = self.known.get(key) or await self._load(key) or await self._write(key, request)
        if self.record is not None and not isinstance(levels, ModelError):
            name, behaviour = self.caller.model.name, request.expected_behavior
            await self.record(RubricRecord(key=key, model=name, expected_behavior=behaviour, levels=levels))
        return levels

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
            return None  # never written, or damaged: it is written anew
        except OSError as error:
            self._give_up_the_folder(error)
            return None


def rubric_key(model: str, request: RubricRequest) -> str:
    """Return the key of a rubric: a hash of everything that it depends on."""
    parts = [request.prompt.identity, model, request.given, request.when, request.expected_behavior]
    return sha256(json.dumps(parts).encode()).hexdigest()


def _store(path: Path, levels: Mapping[str, str]) -> None:
    """Write a rubric so that no reader ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.{get_ident()}.tmp")
    draft.write_text(json.dumps({"levels": dict(levels)}, ensure_ascii=False, indent=1), encoding="utf-8")
    draft.replace(path)


def _kept(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("*.json")}


def _as_lines(levels: Mapping[str, str]) -> str:
    return "\n".join(f"{level}: {text}" for level, text in levels.items())
