"""The answers of a fake endpoint in each role."""

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any
from zlib import crc32

from simeval.core.controls import EVASIVE, OFF_TOPIC
from simeval.core.near_misses import OPENINGS as NEAR_MISS_OPENINGS
from simeval.models.protocol.prompt_texts import built_in
from simeval.models.providers.offline import scorer_reply
from simeval.testing.behaviour import Behaviour, Role
from simeval.testing.replies import audit_reply, judge_reply, proposal_reply, rubric_reply, user_reply

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
