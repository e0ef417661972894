"""A model that answers by a script, and remembers its requests."""

import inspect
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import anyio.lowlevel

from simeval.core.validation import require
from simeval.errors import ModelUnusable
from simeval.models.protocol.model import Completion, Request
from simeval.models.protocol.prompts import CriteriaRequest, JudgeRequest, LabelGradeRequest, LabelRulingRequest
from simeval.testing.replies import Role, audit_reply, judge_reply, rubric_reply

Answer = str | Mapping[str, Any] | Completion | Exception
"""An answer of a scripted model: a text, an object as JSON, a whole completion, or an error to be raised."""

Script = Sequence[Answer] | Callable[[Request], Answer | Awaitable[Answer]]
"""Answers given in turn, the last one for ever; or a function of the request."""

_ROLES: tuple[Role, ...] = get_args(Role)


def _rated_well(request: Request) -> Answer:
    must_pass = isinstance(request, JudgeRequest) and request.control == "example"
    if isinstance(request, LabelGradeRequest):
        return max(request.levels) if must_pass else min(request.levels)
    if isinstance(request, LabelRulingRequest):
        return "yes" if must_pass else "no"
    if isinstance(request, CriteriaRequest):
        quote, ruling = (request.conversation[-1].content, "met") if must_pass else ("", "not_met")
        each = {"reasoning": "It is a control.", "quote": quote, "ruling": ruling}
        return {"rulings": dict.fromkeys(request.criteria, each)}
    return judge_reply(10 if must_pass else 1, "It is a control.")


_UNSCRIPTED: Mapping[str, Script] = {
    "rubric": [rubric_reply()],
    "control": _rated_well,
    "audit": [audit_reply()],
}


@dataclass(slots=True)
class ScriptedModel:
    """A model that answers by a script, and remembers its requests.

    A script is a list of answers, given in turn, the last one for ever; or a function of the request, sync or async,
    that returns an answer. An answer is a text, a mapping, which is sent as JSON, a Completion, or an exception, which
    is raised. `script` may also be a mapping from roles ("user", "judge", "rubric", "control", "canary", "scorer",
    "app", "audit", "proposal") to scripts; a missing "rubric" has plain levels, a missing "audit" finds no fault, and a
    request of another role without a script raises ModelUnusable. Controls are rated as a good judge does, unless
    "control" has a script; canaries, and conversations another judge leaves to this one, use the script of "judge".
    Raises DefinitionError for a script without answers, and for an unknown role.

    `requests` are those it was asked, in order; `under_way` is how many of them it is answering, and `peak` the most
    that it was answering at once. `answers` counts its answers, `closed` is whether it was closed.
    """

    script: Script | Mapping[str, Script]
    name: str = "scripted/model"
    requests: list[Request] = field(default_factory=list, init=False)
    under_way: int = field(default=0, init=False)
    peak: int = field(default=0, init=False)
    answers: int = field(default=0, init=False)
    closed: bool = field(default=False, init=False)
    _answered: Counter[str] = field(default_factory=Counter, init=False, repr=False)

    def __post_init__(self) -> None:
        scripts = self.script if isinstance(self.script, Mapping) else {"": self.script}
        unknown = sorted(set(scripts) - {"", *_ROLES})
        require(not unknown, "ScriptedModel", found=f"roles {unknown}", do=f"the roles are {', '.join(_ROLES)}")
        for script in scripts.values():
            do = "give a list of answers, or a function of the request"
            require(_is_usable(script), "ScriptedModel", found=script, do=do)

    @property
    def calls(self) -> int:
        """How many requests it was asked."""
        return len(self.requests)

    async def complete(self, request: Request) -> Completion:
        """Answer a request by the script of its role."""
        self.requests.append(request)
        self.under_way += 1
        self.peak = max(self.peak, self.under_way)
        try:
            completion = _completion(await self._answer(request))
        finally:
            self.under_way -= 1
        self.answers += 1
        return completion

    async def close(self) -> None:
        """Note that it was closed."""
        self.closed = True

    async def _answer(self, request: Request) -> Answer:
        role, script = self._script_for(request)
        if callable(script):
            answer = script(request)
            if inspect.isawaitable(answer):
                return await answer
        else:
            answer = script[min(self._answered[role], len(script) - 1)]
            self._answered[role] += 1
        await anyio.lowlevel.checkpoint()
        return answer

    def _script_for(self, request: Request) -> tuple[str, Script]:
        """Return the role under which answers are counted, "" if one script serves all, and the script."""
        if not isinstance(self.script, Mapping):
            return ("", self.script) if request.role != "control" else ("control", _UNSCRIPTED["control"])
        script = self.script.get(request.role) or _UNSCRIPTED.get(request.role)
        if script is None and request.role in ("canary", "escalation"):
            script = self.script.get("judge")
        if script is None:
            raise ModelUnusable(self.name, kind="bad_request", problem=f"no script for the role {request.role!r}")
        return request.role, script


def _is_usable(script: object) -> bool:
    return callable(script) or (isinstance(script, Sequence) and not isinstance(script, str) and len(script) > 0)


def _completion(answer: Answer) -> Completion:
    if isinstance(answer, Exception):
        raise answer
    if isinstance(answer, Completion):
        return answer
    return Completion(text=answer if isinstance(answer, str) else json.dumps(answer))
