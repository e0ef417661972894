"""The embedded models: a simulated user, a judge and an app that need no network and no key.

They are lexical heuristics for smoke tests, demos and measuring the engine, deterministic for a seed.
What they say about a real app is no judgement of its quality, and every report says so.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import anyio.lowlevel

from simeval import seeds
from simeval.conversation import ChatMessage, Message
from simeval.errors import DefinitionError, ModelUnusable
from simeval.models import lexical
from simeval.models.model import Completion, Request
from simeval.models.requests import ChatRequest, GradeRequest, RubricRequest, UserTurn

PREFIX = "offline/"
NOTICE = "a lexical heuristic for smoke tests and demos, not a judgement of quality"


@dataclass(frozen=True, slots=True)
class OfflineModel:
    """One of offline/user, offline/judge and offline/app."""

    name: str

    def __post_init__(self) -> None:
        if self.name not in _ROLES:
            raise DefinitionError(
                f"model {self.name!r}",
                found="there is no embedded model of this name",
                do=f"use one of {', '.join(sorted(_ROLES))}, or a LiteLLM model name",
            )

    async def complete(self, request: Request) -> Completion:
        """Answer from the request's own fields; raises ModelUnusable for a role the model cannot play."""
        await anyio.lowlevel.checkpoint()
        role = _ROLES[self.name].get(type(request))
        if role is None:
            raise ModelUnusable(self.name, kind="bad_request", problem=f"it cannot play the role {request.role!r}")
        text = role(request)
        return Completion(text=text, completion_tokens=len(text.split()))

    async def close(self) -> None:
        """Nothing is open."""


def _user(request: UserTurn) -> str:
    """Say the sentences of the When clause one a turn, answer questions, leave when the goal seems met."""
    goals = [_first_person(sentence) for sentence in lexical.sentences(request.when)]
    turn = sum(message.role == "user" for message in request.history)
    random = seeds.generator(request.seed, "user", turn)
    last = request.history[-1].content if request.history else ""
    if turn < len(goals):
        message, goes_on = goals[turn], turn + 1 < len(goals) or random.random() < 0.3
    elif last.rstrip().endswith("?") and not _said(request.history, request.given):
        message, goes_on = _first_person(request.given), True
    else:
        message, goes_on = random.choice(_GOODBYES), False
    return json.dumps({"message": _styled(message, request.writing_style, random, turn), "continue": goes_on})


def _said(history: Sequence[Message], text: str) -> bool:
    said = " ".join(message.content for message in history if message.role == "user")
    return lexical.content_stems(text) <= lexical.content_stems(said)


_GOODBYES = ("Thanks, that is all.", "Okay, thank you.", "Alright, bye.", "Good, thanks for the help.")
_PERSON = (
    ("The user asks ", "I want "),
    ("The user is trying to ", "I want to "),
    ("The user tries to ", "I want to "),
    ("The user wants ", "I want "),
    ("The user is ", "I am "),
    ("The user has ", "I have "),
    ("The user ", "I "),
    ("A user who ", "I "),
    ("A customer who ", "I "),
    ("You are ", "I am "),
    ("You do not ", "I do not "),
    ("You ", "I "),
    ("Your ", "My "),
)
_INNER_PERSON = (
    (" you are ", " I am "),
    (" your ", " my "),
    (" you ", " I "),
    (" their ", " my "),
    (" they are ", " I am "),
    (" they ", " I "),
)


def _first_person(sentence: str) -> str:
    """Turn what is said about the user into what the user says."""
    text = sentence
    for theirs, mine in _PERSON:
        if text.startswith(theirs):
            text = mine + text[len(theirs) :]
            break
    for theirs, mine in _INNER_PERSON:
        text = text.replace(theirs, mine)
    text = text.replace("I want a ", "I want to ask a ").replace("I want about ", "I want to know about ")
    return text.replace("I wants", "I want").replace("I asks", "I ask").replace("I says", "I say")


def _styled(message: str, style: Mapping[str, str] | None, random: Random, turn: int) -> str:
    """Colour a message by its style; the words that carry the goal are never taken away."""
    if not style:
        return message
    tone, formality = style.get("tone", "").lower(), style.get("formality", "").lower()
    if turn == 0:
        if "formal" in formality and "casual" not in formality:
            message = f"Good day. {message}"
        elif "casual" in formality:
            message = f"hey, {message[0].lower()}{message[1:]}"
    if any(word in tone for word in ("impatient", "annoyed", "frustrated")):
        message += random.choice((" Please hurry.", " I have no time for this.", ""))
    elif any(word in tone for word in ("polite", "warm", "friendly")):
        message += random.choice((" Thank you!", " I appreciate your help.", ""))
    if "mistakes" in style.get("proficiency", "").lower() or "errors" in style.get("proficiency", "").lower():
        message = message.lower().replace("'", "").rstrip(".")
    return message


def _rubric(request: RubricRequest) -> str:
    """Grade by how many parts of the expectation are covered."""
    wanted = lexical.parts(request.expected_behavior)
    listed = "; ".join(wanted)
    levels = {
        str(level): f"About {round(100 * (level - 1) / 9)}% of these parts are covered: {listed}."
        for level in range(1, 11)
    }
    return json.dumps({"levels": levels})


def _judge(request: GradeRequest) -> str:
    """Rate the share of the expectation's parts that the assistant's messages cover, from 1 to 10."""
    said = frozenset[str]().union(
        *(lexical.content_stems(m.content) for m in request.conversation if m.role == "assistant")
    )
    wanted = lexical.parts(request.expected_behavior)
    missed = [part for part in wanted if not lexical.covers(said, part)]
    score = round(1 + 9 * (len(wanted) - len(missed)) / len(wanted))
    reasoning = f"{len(wanted) - len(missed)} of {len(wanted)} parts of the expectation are covered"
    if missed:
        reasoning += "; not covered: " + "; ".join(missed)
    return json.dumps({"reasoning": f"{reasoning} (heuristic)", "score": score})


def _app(request: ChatRequest) -> str:
    """Answer like a helpful assistant that repeats what it was asked, and now and then does not get it."""
    history: Sequence[ChatMessage] = request.history
    last = history[-1]["content"] if history else ""
    random = seeds.generator(request.seed, "app", len(history), last)
    if random.random() < 0.08:
        return "Sorry, I did not understand that. Could you say it differently?"
    opening = random.choice(("Of course.", "Happy to help.", "Sure.", "Thanks for reaching out."))
    return f"{opening} You wrote: {last} I have taken care of it. Is there anything else?"


_ROLES: Mapping[str, Mapping[type, Callable[..., str]]] = {
    "offline/user": {UserTurn: _user},
    "offline/judge": {GradeRequest: _judge, RubricRequest: _rubric},
    "offline/app": {ChatRequest: _app},
}
