"""Two conversations with an app at once, each with a code word of its own, and the proof in their answers."""

import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import permutations
from random import SystemRandom
from time import perf_counter
from typing import Any

import anyio

from simeval.core.conversation import AppResponse, Beginning, ChatMessage, Message
from simeval.engine.actors.app import App, AppSession, Memory
from simeval.engine.actors.app_line import AppLine, gate_of
from simeval.engine.actors.dialogue import ONE_SESSION, SHARED
from simeval.engine.actors.handler import Handler
from simeval.engine.flow import TrialScope
from simeval.errors import AppError, AppNotAsked, AppUnusable
from simeval.suites.apps.described_app import DescribedApp
from simeval.suites.apps.http_app import Ids, changed_id, ids_of
from simeval.suites.apps.named import name_of
from simeval.suites.apps.protocol_app import ProtocolApp
from simeval.suites.apps.remote_app import Exchange, Session

QUESTION = "Which code word did I give you?"
WORDS = ("amber", "birch", "cobalt", "falcon", "garnet", "juniper", "lantern", "maple", "orchid", "saffron", "walnut")
OUTAGE_SECONDS = 10.0  # during which an app may ask to come back later
NOT_SHOWN = "not shown: your app did not repeat the word"


@dataclass(slots=True)
class Turn:
    """A message and its answer, or the `problem` instead; `exchange` is that of an app behind a protocol."""

    said: str
    answer: Message | None = None
    problem: str = ""
    exchange: Exchange | None = None
    seconds: float = 0.0
    session: Session | None = None

    @property
    def sent(self) -> Mapping[str, str]:
        """Return the parts of the request."""
        return self.exchange.sent() if self.exchange else {}

    @property
    def ids(self) -> Ids:
        """Return values of the answer that look like the name of a session, by path."""
        return ids_of(self.exchange.body) if self.exchange else {}

    def has(self, word: str) -> bool:
        """Return whether the answer has a code word, however it is written."""
        said = self.answer.content if self.answer else ""
        return re.search(rf"\b{word.replace('-', '[^0-9A-Za-z]{0,3}')}\b", said, re.IGNORECASE) is not None


@dataclass(slots=True)
class Talk:
    """One conversation with a code word from the user; `given` is our name of it."""

    word: str
    handler: Handler
    given: str
    session: AppSession
    turns: list[Turn] = field(default_factory=list)
    _exchange: Exchange | None = None

    @classmethod
    def opened(cls, word: str, handler: Handler, line: AppLine, timeout_seconds: float) -> "Talk":
        """Open one, as a run does."""
        app = App(handler, line, anyio.CapacityLimiter(1), timeout_seconds)
        memory = Memory(app.first_state(0))
        session = app.open(Beginning(), memory, TrialScope())
        remote = handler.function if isinstance(handler.function, ProtocolApp) else None
        given = session.held.session if remote is None else Session.of(memory.state).given
        talk = cls(word, handler, given, session)
        if remote is not None:
            session.held.handler = replace(handler, function=partial(talk._asked, remote))
        return talk

    async def _asked(self, app: ProtocolApp, messages: list[ChatMessage], state: dict[str, Any]) -> AppResponse:
        self._exchange = await app.exchange(messages, state)
        return self._exchange.answer()

    async def say(self, text: str) -> None:
        """Send it, and keep the answer."""
        self._exchange, turn, clock = None, Turn(text), perf_counter()
        try:
            turn.answer = await self.session.answer(Message(role="user", content=text))
        except (AppError, AppNotAsked, AppUnusable) as error:
            turn.problem = error.problem
        turn.seconds = turn.answer.seconds if turn.answer else perf_counter() - clock
        turn.exchange, state = self._exchange, self.session.memory.state
        turn.session = Session.of(state) if isinstance(self.handler.function, ProtocolApp) else None
        self.turns.append(turn)

    @property
    def answers(self) -> Sequence[Turn]:
        """The turns that were answered."""
        return [turn for turn in self.turns if turn.answer]

    @property
    def repeats(self) -> bool:
        """Whether the second answer has its code word."""
        return len(self.answers) > 1 and self.turns[1].has(self.word)


async def held(app: Any, message: str, timeout_seconds: float) -> Sequence[Talk]:
    """Hold two conversations at once, the second turns after both first ones. Raises DefinitionError."""
    handler, random = Handler.of(app), SystemRandom()
    line = AppLine(name_of(app), gate_of(2), outage_seconds=OUTAGE_SECONDS)
    words = [f"{word}-{random.randint(1000, 9999)}" for word in random.sample(WORDS, 2)]
    async with app if isinstance(app, ProtocolApp) else nullcontext():
        talks = [Talk.opened(word, handler, line, timeout_seconds) for word in words]
        try:
            for first in (True, False):
                async with anyio.create_task_group() as tasks:
                    for talk in (each for each in talks if first or each.answers):
                        tasks.start_soon(talk.say, first_message(message, talk.word) if first else QUESTION)
        finally:
            for talk in talks:
                await talk.session.leave()
    return talks


def first_message(message: str, word: str) -> str:
    """Return a message with a code word behind it."""
    end = "" if message.rstrip()[-1:] in "。！？.!?…" else "."
    return f"{message.rstrip()}{end} My code word is {word}.".lstrip(". ")


@dataclass(frozen=True, slots=True)
class Proof:
    """The proof of two conversations about the session, and about mixing; or that the setup `is_wrong`."""

    session: str
    at_once: str
    is_wrong: bool

    @classmethod
    def of(cls, talks: Sequence[Talk]) -> "Proof":
        """Compare the answers."""
        ties = _ties(talks[0])
        kept, is_lost = _kept(talks, ties)
        mixed = _mixed(talks)
        if mixed:
            kept, is_lost = "", False
        is_sent = isinstance(talks[0].handler.function, ProtocolApp)
        none = "not sent: the request names no session" if is_sent else "not given: it takes the message alone"
        how = "; ".join(ties.values()) or none
        return cls("; ".join(filter(None, (how, kept))), mixed or _apart(talks), bool(mixed) or is_lost)


def _ties(talk: Talk) -> Mapping[str, str]:
    """Return the ways in which the last request identifies the conversation to the app, by kinds."""
    handler, turn = talk.handler, talk.turns[-1]
    if turn.session is None:
        given = {*handler.places, *handler.names.values()}
        found = {
            "session": f"named by us: {talk.given}" if "session" in given else "",
            "all": "it is given all that was said" if handler.takes_history else "",
            "state": "it is given its state" if "state" in given else "",
            "object": "each conversation has an object of its own" if handler.maker else "",
        }
        return {kind: said for kind, said in found.items() if said}
    sent, before = "\n".join(turn.sent.values()), talk.turns[max(0, len(talk.turns) - 2)].session or turn.session
    theirs = next((each for each in (before.theirs, turn.session.theirs) if each and each in sent), None)
    found = {
        "session": f"named by us: {talk.given}" if talk.given in sent else "",
        "theirs": f"named by the app: {theirs}" if theirs else "",
        "cookies": f"cookies are sent back: {', '.join(before.cookies)}" if before.cookies else "",
        "all": "all that was said is sent" if len(talk.turns) > 1 and talk.word in sent else "",
        "line": "by what is kept open for it" if turn.session.line is not None else "",
        "before": "perhaps by what `before:` takes" if getattr(handler.function, "before", ()) else "",
    }
    return {kind: said for kind, said in found.items() if said}


def _kept(talks: Sequence[Talk], ties: Mapping[str, str]) -> tuple[str, bool]:
    """Report whether the app knows the first message at the second turn, and whether the contrary is proven."""
    whole = [talk for talk in talks if len(talk.answers) > 1]
    if not whole:
        return "", False
    if count := sum(talk.repeats for talk in whole):
        where = "" if count == len(whole) else f" in {count} of {len(whole)} conversations"
        return f"kept{where}: the second answer repeats the code word", False
    function, two = whole[0].handler.function, [[turn.ids for turn in talk.turns] for talk in whole]
    changed = changed_id([(before, after) for before, after in two]) if {"all", "line"}.isdisjoint(ties) else None
    if changed:
        path, value, after = changed
        said = f'not kept: {path} of the answer is new at every turn ("{value}", then "{after}")'
        return said + (function.session_advice(path) if isinstance(function, DescribedApp) else ""), True
    for path, value in two[0][0].items():
        found = [[ids.get(path) for ids in both] for both in two]
        are_same = all(both[0] == both[1] for both in found) and len({both[0] for both in found}) == len(talks)
        if are_same and value != whole[0].given:
            return f"kept: {path} of the answer stays the same in a conversation, and differs in another", False
    if not ties and isinstance(function, DescribedApp):
        do = function.session_warning.partition("; ")[2]
        said = "not kept: nothing in the second request says which conversation it belongs to"
        return said + (f"; {do}" if do else ""), True
    return NOT_SHOWN, False


def _mixed(talks: Sequence[Talk]) -> str:
    """Return the proof that the app mixes conversations; empty without one."""
    advice = SHARED if talks[0].handler.may_block else ONE_SESSION
    for talk, other in permutations(talks):
        if any(turn.has(other.word) for turn in talk.turns):
            said = f"an answer in one repeats the code word of the other, {other.word}"
            return f"your app mixes conversations: {said}; {advice}"
    if any(talk.repeats for talk in talks) or not all(talk.answers for talk in talks):
        return ""
    for path, value in talks[0].answers[0].ids.items():
        if {turn.ids.get(path) for talk in talks for turn in talk.answers} == {value}:
            return f'your app mixes conversations: {path} of the answer is "{value}" in both; {advice}'
    return ""


def _apart(talks: Sequence[Talk]) -> str:
    """Say whether the conversations were seen to be apart."""
    if all(talk.repeats for talk in talks):
        return "kept apart: each of two conversations knows its own code word alone"
    return NOT_SHOWN if all(talk.answers for talk in talks) else "not shown: not both conversations were answered"
