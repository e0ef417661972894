"""Rubrics: ten levels for each expectation, written once and kept under what they were made from."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from threading import get_ident

import anyio

from simeval.errors import ModelError, ModelUnusable
from simeval.logs import log
from simeval.models.replies import RubricReply
from simeval.models.requests import PROMPT_VERSION, RubricRequest
from simeval.models.retries import Caller


@dataclass(slots=True)
class RubricBook:
    """The rubrics of one model, in memory and, where `folder` is given, on disk.

    Concurrent requests for one rubric make one call, and all get what came of it. A rubric that could not be
    written, retries included, is not tried again in this run. The disk is a convenience: where it cannot be
    read or written, rubrics are kept in memory.
    """

    caller: Caller
    folder: Path | None = None
    _known: dict[str, Mapping[str, str] | ModelError] = field(default_factory=dict)
    _locks: dict[str, anyio.Lock] = field(default_factory=dict)

    async def levels(self, *, given: str, when: str, expected_behavior: str) -> Mapping[str, str]:
        """Give the levels, keys "1" to "10". Raises ModelError where they cannot be written."""
        request = RubricRequest(given=given, when=when, expected_behavior=expected_behavior)
        key = rubric_key(self.caller.model.name, request)
        if key not in self._known:
            async with self._locks.setdefault(key, anyio.Lock()):
                if key not in self._known:
                    self._known[key] = await self._load(key) or await self._write(key, request)
        found = self._known[key]
        if isinstance(found, ModelError):
            raise found.with_traceback(None)
        return found

    async def _write(self, key: str, request: RubricRequest) -> Mapping[str, str] | ModelError:
        try:
            levels = (await self.caller.ask(request, RubricReply)).levels
        except ModelUnusable:
            raise
        except ModelError as error:
            return error
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
    """Give the key of a rubric: a hash of everything that it depends on."""
    parts = [PROMPT_VERSION, model, request.given, request.when, request.expected_behavior]
    return sha256(json.dumps(parts).encode()).hexdigest()


def _store(path: Path, levels: Mapping[str, str]) -> None:
    """Write a rubric so that no reader ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.{get_ident()}.tmp")
    draft.write_text(json.dumps({"levels": dict(levels)}, ensure_ascii=False, indent=1), encoding="utf-8")
    draft.replace(path)


def _as_lines(levels: Mapping[str, str]) -> str:
    return "\n".join(f"{level}: {text}" for level, text in levels.items())
