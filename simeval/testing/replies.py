"""Replies in the form that is asked of each role."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from math import sqrt
from typing import Any, Literal, get_args
from zlib import crc32

from simeval.core.conversation import UserFaultKind
from simeval.core.judging import EVASIVE, OFF_TOPIC
from simeval.core.near_misses import OPENINGS as NEAR_MISS_OPENINGS
from simeval.models.protocol.prompt_texts import built_in
from simeval.models.providers.offline import scorer_reply, words

Role = Literal["user", "judge", "rubric", "control", "canary", "app", "scorer", "audit", "proposal"]
"""The role in which a fake model is asked."""

Fault = Literal[
    "error_500",
    "rate_limited",
    "malformed",
    "truncated",
    "hang",
    "auth",
    "bad_request",
    "html",
    "content_filter",
    "reset",
    "huge",
]
"""The fault of a fake endpoint: a status, a broken answer, or none."""

FAULTS: tuple[Fault, ...] = get_args(Fault)

Reply = dict[str, Any] | str

_PLAYS_USER = "You are a person who is typing"
_MAY_LEAVE = built_in("user").parts["free"]
# how the prompts of simeval begin
_PROMPTS: Mapping[str, Role] = {
    _PLAYS_USER: "user",
    "You check whether the simulated user": "audit",
    "You judge how": "judge",
    "You write rubrics": "rubric",
    "You propose scenarios": "proposal",
    "You grade ": "scorer",
    "You list the entities": "scorer",
}
# how the answers of controls begin, as prompts write them
_CONTROLS = [f">{escape(answer, quote=False)}" for answer in (EVASIVE, *OFF_TOPIC, *NEAR_MISS_OPENINGS)]
_CANNOT = "I can not"  # by this a judge that reads knows a bad answer

DIMENSIONS = 256
CATEGORIES = {"violence": "kill", "hate": "hate", "self-harm/intent": "myself"}


def user_reply(message: str, *, goes_on: bool = False) -> dict[str, Any]:
    """Return a simulated user's next message; unless the user `goes_on`, the answer to it satisfies.

    Given again after that answer, the same reply is how the user leaves, without another word.
    """
    return {"status": "open" if goes_on else "satisfied", "message": message}


def judge_reply(score: float, reasoning: str = "It did what was expected.") -> dict[str, Any]:
    """Return a judge's rating, from 1 to 10."""
    return {"reasoning": reasoning, "score": score}


def rubric_reply(levels: Mapping[int, str] | None = None, *, near_misses: Sequence[str] = ()) -> dict[str, Any]:
    """Return a rubric: the texts of its levels 1 to 10, or plain ones; with near misses, if any are given."""
    texts = levels or {level: f"Does {level} tenths of it." for level in range(1, 11)}
    found = {"levels": {str(level): text for level, text in texts.items()}}
    return {**found, "near_misses": {str(n): text for n, text in enumerate(near_misses, 1)}} if near_misses else found


def audit_reply(*faults: UserFaultKind, reasoning: str = "The user did its part.") -> dict[str, Any]:
    """Return an auditor's findings on a simulated user: the names of its faults."""
    return {"reasoning": reasoning, "faults": list(faults)}


def proposal_reply(*titles: str, quote: str = "") -> dict[str, Any]:
    """Return scenarios with these titles, or one, each of which tests something else."""
    named = titles or ("Opening hours",)
    return {
        "scenarios": [
            {
                "title": title,
                "given": "A customer",
                "when": f"The user asks about {title}",
                "expected_behavior": f"The assistant explains {title}",
                "counterexample": "I do not know.",
                "quote": quote,
            }
            for title in named
        ]
    }


@dataclass(slots=True, kw_only=True)
class Behaviour:
    """How a fake endpoint answers; it may be changed while the endpoint runs.

    Each of the numbers named as a fault is the share of requests (0 to 1) that it strikes, drawn from `seed`, among
    those of `faulty_roles`. `first_faults` strike the first such requests, before any is drawn; "" lets one pass.
    `retry_after` is the header of a 429, None leaves it out; `refusal` is the text of a 401. `echo_key` puts the
    caller's API key into the text of every error. More than `max_rps` requests within a second are answered with 429.
    With `reads` the answers depend on the prompt alone: each of the user's messages has a number made from it, and the
    judge rates by the app's replies. A judge that is `credulous` rates controls as it does all else. `prompts` maps the
    beginnings of other programs' system prompts to the roles they ask for; an unknown one asks for the app.
    """

    latency_seconds: float = 0.0
    user_messages: int = 3
    score: float = 8
    credulous: bool = False
    error_500: float = 0.0
    rate_limited: float = 0.0
    malformed: float = 0.0
    truncated: float = 0.0
    hang: float = 0.0
    auth: float = 0.0
    bad_request: float = 0.0
    html: float = 0.0
    content_filter: float = 0.0
    reset: float = 0.0
    huge: float = 0.0
    first_faults: tuple[Fault | Literal[""], ...] = ()
    faulty_roles: tuple[Role, ...] = get_args(Role)
    retry_after: str | None = "0.05"
    refusal: str = "Incorrect API key provided"
    echo_key: bool = False
    max_rps: float | None = None
    reads: bool = False
    seed: int = 0
    prompts: Mapping[str, Role] = field(default_factory=dict)


@dataclass(slots=True)
class EndpointStats:
    """The requests a fake endpoint has seen. Read it when no request is under way, or take it as approximate."""

    requests: int = 0
    by_role: Counter[Role] = field(default_factory=Counter)
    faults: Counter[Fault] = field(default_factory=Counter)
    in_flight: int = 0
    peak_in_flight: int = 0
    saw_authorization: bool = False


def role_of(system_prompt: str, prompt: str, others: Mapping[str, Role]) -> Role:
    """Return the role a system prompt asks for, by its beginning; the conversation identifies a judge's controls."""
    known = {**_PROMPTS, **others}
    role: Role = next((role for opening, role in known.items() if system_prompt.startswith(opening)), "app")
    is_control = role == "judge" and any(answer in prompt for answer in _CONTROLS)
    return "control" if is_control else role


def reply_of(role: Role, messages: Sequence[Mapping[str, str]], behaviour: Behaviour) -> Reply:
    """Return the answer of the role to a prompt."""
    prompt = messages[-1]["content"]
    match role:
        case "scorer":
            return scorer_reply(messages[0]["content"], prompt)
        case "user":
            return _user(messages, behaviour)
        case "judge" | "canary":
            return judge_reply(_rating(prompt) if behaviour.reads else behaviour.score)
        case "control":
            return judge_reply(behaviour.score if behaviour.credulous else 1)
        case "rubric":
            return rubric_reply()
        case "audit":
            return audit_reply()
        case "proposal":
            return proposal_reply()
        case "app":
            return "I answer questions, book meetings and translate texts."


def _user(messages: Sequence[Mapping[str, str]], behaviour: Behaviour) -> Reply:
    """Ask one thing after the other, and leave with the last; the same for other programs, in their form."""
    system, prompt = messages[0]["content"], messages[-1]["content"]
    said = sum(message["role"] == "assistant" for message in messages) + prompt.count('speaker="user"')
    case = f" in case {crc32(json.dumps(messages).encode())}" if behaviour.reads else ""
    message, goes_on = f"Question {said + 1}: what can you do{case}", said + 1 < behaviour.user_messages
    if not system.startswith(_PLAYS_USER):
        return {"message": f"{message}?", "continue": goes_on}
    if goes_on or _MAY_LEAVE not in prompt:
        return user_reply(f"{message}?", goes_on=True)
    return user_reply("" if said >= behaviour.user_messages else f"{message}.")


def malformed(role: Role, reply: Reply, number: int) -> str:
    """Return a reply in the wrong form, each time in another way."""
    if isinstance(reply, str):
        return ""
    text = json.dumps(reply)
    missing = dict(list(reply.items())[:-1])
    wrong: Mapping[Role, dict[str, Any]] = {
        "user": {**reply, "message": 5},
        "judge": {**reply, "score": 11},
        "control": {**reply, "score": 11},
        "rubric": {"levels": {"1": "bad", "11": "good"}},
        "audit": {**reply, "faults": "none"},
        "proposal": {"scenarios": "none"},
        "scorer": {**reply, list(reply)[-1]: "perhaps"},
    }
    ways = ("I would rather not say.", text[: len(text) // 2], json.dumps(wrong[role]), json.dumps(missing))
    return ways[number % len(ways)]


def _rating(prompt: str) -> float:
    """Rate a conversation: 3 to 4 if the app could not help at some turn, else 8 to 9."""
    return (3 if _CANNOT in prompt else 8) + crc32(prompt.encode()) % 1000 / 1000


def embeddings(model: str, texts: Sequence[str]) -> dict[str, Any]:
    """Answer a request for embeddings: a count of words, by a hash of each, of length 1."""
    items = [{"object": "embedding", "index": place, "embedding": vector(text)} for place, text in enumerate(texts)]
    tokens = sum(len(text) for text in texts) // 4
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": items[::-1], "model": model, "usage": usage}  # the order is in the index


def vector(text: str) -> list[float]:
    """Return the vector of a text; zero if it has no word."""
    counts = [0.0] * DIMENSIONS
    for word in words(text):
        counts[crc32(word.encode()) % DIMENSIONS] += 1
    length = sqrt(sum(count * count for count in counts)) or 1.0
    return [count / length for count in counts]


def moderation(model: str, text: str) -> dict[str, Any]:
    """Answer a request for a moderation: a category is flagged by its word."""
    flags = {name: word in words(text) for name, word in CATEGORIES.items()}
    scores = {name: 0.9 if flag else 0.01 for name, flag in flags.items()}
    result = {"flagged": any(flags.values()), "categories": flags, "category_scores": scores}
    return {"id": "modr-test", "model": model, "results": [result]}
