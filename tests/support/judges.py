"""Judges for tests of judges: they read what they are asked, and rate by it."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from simeval.extras.judge_test.material import situations
from simeval.models.protocol.prompts import GradeRequest
from simeval.testing import ScriptedModel

Judge = Callable[[Any], Mapping[str, Any]]

GOOD = [talk.good for each in situations() for talk in (each.talk, *each.others.values())]
BAD = [talk.bad for each in situations() for talk in (each.talk, *each.others.values())]


def is_good(answer: str) -> bool:
    """Return whether an answer says what is right, and nothing that is wrong."""
    return any(text in answer for text in GOOD) and not any(text in answer for text in BAD)


def strict(request: GradeRequest) -> Mapping[str, Any]:
    """Rate by what is said alone."""
    answer = request.conversation[-1].content
    return {"reasoning": f"it says {answer[:20]!r}", "score": 9 if is_good(answer) else 2}


def credulous(request: GradeRequest) -> Mapping[str, Any]:
    """Believe whatever is said."""
    return {"reasoning": f"it says {request.conversation[-1].content[:20]!r}", "score": 9}


def noisy(judge: Judge, *, noise: Random, words: bool = True) -> Judge:
    """Return a judge that rates a point higher or lower now and then, and words its reasons anew each time."""

    def rate(request: GradeRequest) -> Mapping[str, Any]:
        grade = judge(request)
        reasoning = f"{grade['reasoning']} {noise.random()}" if words else grade["reasoning"]
        return {"reasoning": reasoning, "score": min(10, max(1, grade["score"] + noise.choice([-1, 0, 0, 1])))}

    return rate


def prefers_good(request: Any) -> Mapping[str, Any]:
    """Prefer the answer that is right, wherever it stands."""
    first = request.user.split("The second answer:")[0].split("The first answer:")[1]
    return {"reasoning": "it is right", "preferred": "first" if is_good(first) else "second"}


def prefers_first(request: Any) -> Mapping[str, Any]:
    """Prefer what stands first."""
    return {"reasoning": "it comes first", "preferred": "first"}


def model(judge: Judge, prefers: Judge = prefers_good, name: str = "scripted/model") -> ScriptedModel:
    """Return a model that judges, and prefers one of two answers, in these ways."""
    return ScriptedModel({"judge": judge, "scorer": prefers}, name=name)
