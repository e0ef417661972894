"""Traces as conversations: which of the recorded model calls are a user talking to an app.

- A call that another one was made within is left out: it is a wrapper (agent, chain), which repeats the inner one.
- A call continues an earlier one of its trace when its request repeats that one's conversation, or only adds tools'
  results; so a trace is one or more chains of calls. A request that is made again is a retry: its last answer counts.
- An agent that receives a hand-over, by a call such as transfer_to_billing, continues the conversation: it holds all
  of their messages, in order of time. Calls made within the run of a tool belong to an agent that was called as that
  tool: its tool calls are the conversation's, its texts are not. If there are several agents, each tool call has the
  name of its "agent", if known.
- The conversation is the longest chain (of equals the last). Chains under another system prompt are other agents,
  routers or judges; they, and retries, are left out and counted as metadata "other_calls". Chains under the same
  prompt are conversations of their own.
- Traces of one session (thread) are one conversation: a chain whose first request repeats its messages
  continues it, another is appended.
- A trace without model calls is the input and output of its outermost span.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import nan
from pathlib import Path
from typing import Any, TypeVar

from simeval.core.serialization import Json
from simeval.datasets.conversations import example_of, is_run_of
from simeval.datasets.dataset import Example
from simeval.datasets.messages import Turn, filled, first, mapping
from simeval.datasets.records import REFUSALS, Unreadable, examples_from, reason_of, records

_HAND_OVER = re.compile(
    r"(?i:(transfer|hand[_ -]?(off|over)|delegate|route|switch|escalate|transition)"
    r"([_ -]?(back|work|task|call|chat|user|conversation|control))?[_ -]?to)(?=[_ \-A-Z]|$)"
    r"|(?i:(hand[_ -]?(off|over)|delegate)$)"
)
_Known = TypeVar("_Known")
_MARKS = re.compile(r"[\W_]+")
_EARLIEST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call to a model: the messages it was given and those it answered, and the agent that made it."""

    asked: tuple[Turn, ...]
    answered: tuple[Turn, ...]
    call_id: str = ""
    started: datetime | None = None
    seconds: float = nan
    details: Mapping[str, Any] = field(default_factory=dict)
    agent: str = ""


@dataclass(slots=True, kw_only=True)
class Trace:
    """The record of one request to an app.

    `parents` gives the span that each span is within; `runs` are tools that ran, `within` those of them whose span is
    known, by it; `agents` are names of agents by the spans of their runs; `root` is the input and output of the
    outermost span; `refused` are calls that could not be read.
    """

    trace_id: str
    session: str = ""
    calls: list[Call] = field(default_factory=list)
    runs: list[Json] = field(default_factory=list)
    within: dict[str, Json] = field(default_factory=dict)
    agents: dict[str, str] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)
    root: tuple[Turn, ...] = ()
    metadata: Json = field(default_factory=dict)
    refused: list[Unreadable] = field(default_factory=list)

    def around(self, span: str, known: Mapping[str, _Known]) -> _Known | None:
        """Return the known entry of the nearest span that a span is, or is within."""
        seen = set[str]()
        while span and span not in seen:
            if span in known:
                return known[span]
            seen.add(span)
            span = self.parents.get(span, "")
        return None

    def call_around(self, span: str) -> Call | None:
        """Return the call that a span is within."""
        return self.around(self.parents.get(span, ""), {call.call_id: call for call in self.calls})


@dataclass(slots=True)
class _Chain:
    """Calls that continue one another: all messages, the first request and the last one.

    `made` are the calls, without repeated ones.
    """

    turns: list[Turn]
    opening: Sequence[Turn]
    request: Sequence[Turn]
    retries: int = 0
    calls: int = 1
    made: list[Call] = field(default_factory=list)


def seconds_between(started: datetime | None, ended: datetime | None) -> float:
    """Return how long something took; NaN where either end is not known."""
    return (ended - started).total_seconds() if started and ended else nan


def conversations_in(path: Path, trace_of: Callable[[Any], Trace]) -> Iterator[Example | Unreadable]:
    """Return the conversations of a file of traces; those that belong to a session are held in memory."""
    unread: list[Unreadable] = []
    yield from conversations_of(_traces(path, trace_of, unread))
    yield from unread


def _traces(path: Path, trace_of: Callable[[Any], Trace], unread: list[Unreadable]) -> Iterator[Trace]:
    for found in examples_from(records(path), lambda value: [trace_of(value)]):
        if isinstance(found, Unreadable):
            unread.append(found)
        else:
            yield found


def conversations_of(traces: Iterable[Trace]) -> Iterator[Example | Unreadable]:
    """Return the conversations of traces; those of traces that belong to a session come last."""
    sessions: dict[str, list[Trace]] = {}
    for trace in traces:
        yield from trace.refused
        if trace.session:
            sessions.setdefault(trace.session, []).append(trace)
        else:
            yield from _of_trace(trace)
    for session, members in sessions.items():
        yield from _of_session(session, members)


def _of_trace(trace: Trace) -> Iterator[Example | Unreadable]:
    chains, others = _chosen(trace)
    said = [chain.turns for chain in chains] or ([list(trace.root)] if trace.root else [])
    metadata = {**trace.metadata, **filled(other_calls=others or None)}
    if not said and not trace.refused:
        yield Unreadable(f"trace {trace.trace_id}", "it has no model call with messages")
    for number, turns in enumerate(said, 1):
        name = trace.trace_id if len(said) == 1 else f"{trace.trace_id}-{number}"
        yield _example(turns, name, metadata, trace.runs)


def _of_session(session: str, traces: Sequence[Trace]) -> Iterator[Example | Unreadable]:
    conversation = _Chain([], (), ())
    others = 0
    ordered = sorted(traces, key=_began)
    for trace in ordered:
        chains, left_out = _chosen(trace)
        others += left_out
        for chain in chains or [_Chain(list(trace.root), trace.root[:-1], ())]:
            old, continues = conversation.turns, _repeats(conversation, chain.opening)
            conversation.turns = _kept(old, chain.turns) if continues else [*old, *chain.turns]
    first_of = {name: value for trace in reversed(ordered) for name, value in trace.metadata.items()}
    known = filled(session=session, other_calls=others or None, traces=[trace.trace_id for trace in ordered])
    if conversation.turns:
        runs = [run for trace in ordered for run in trace.runs]
        yield _example(conversation.turns, session, {**first_of, **known}, runs)
    elif not any(trace.refused for trace in traces):
        yield Unreadable(f"session {session}", "it has no model call with messages")


def _example(turns: Iterable[Turn], name: str, metadata: Json, runs: Sequence[Json]) -> Example | Unreadable:
    try:
        return example_of(turns, example_id=name, metadata=metadata, runs=runs)
    except REFUSALS as error:
        return Unreadable(f"trace {name}", reason_of(error))


def _began(trace: Trace) -> datetime:
    return min((call.started or _EARLIEST for call in trace.calls), default=_EARLIEST)


def _chosen(trace: Trace) -> tuple[list[_Chain], int]:
    """Return the chains of a trace that are conversations, and how many other calls there are."""
    calls, inner = _by_tools(trace)
    chains = _joined(_chains(calls))
    for chain in chains:
        chain.turns = _with_inner(chain.turns, inner)
    if not chains:
        return [], 0
    main = max(enumerate(chains), key=lambda found: (len(_spoken(found[1].turns)), found[0]))[1]
    chosen = [chain for chain in chains if _system(chain.turns) == _system(main.turns)]
    left_out = sum(chain.calls for chain in chains if all(chain is not each for each in chosen))
    left_out += sum(len(made) for _, made in inner.values())
    outer = _system([turn for call in trace.calls for turn in call.asked]) or _system(trace.root)
    if outer and not _system(main.turns):  # a wrapper may be alone in naming the system prompt
        for chain in chosen:
            chain.turns = [Turn(role="system", text=outer), *chain.turns]
    return chosen, left_out + sum(chain.retries for chain in chosen)


def _by_tools(trace: Trace) -> tuple[list[Call], dict[int, tuple[Json, list[Call]]]]:
    """Return the calls of the conversation, and those made within the run of a tool, by that run."""
    calls = [
        replace(call, agent=call.agent or trace.around(call.call_id, trace.agents) or "") for call in _innermost(trace)
    ]
    ran = _runs_within(trace)
    calls = [_with_runs(call, ran.get(call.call_id, ())) for call in calls]
    if len({call.agent for call in calls}) > 1:
        calls = [_signed(call) for call in calls]
    runs = [trace.around(call.call_id, trace.within) for call in calls]
    if all(run is not None for run in runs):  # all of it was traced within a tool
        return calls, {}
    inner: dict[int, tuple[Json, list[Call]]] = {}
    for call, run in zip(calls, runs, strict=True):
        if run is not None:
            inner.setdefault(id(run), (run, []))[1].append(call)
    return [call for call, run in zip(calls, runs, strict=True) if run is None], inner


def _runs_within(trace: Trace) -> Mapping[str, Sequence[Json]]:
    """Return the tools that ran within each call, by its id."""
    found: dict[str, list[Json]] = {}
    for span, run in trace.within.items():
        if (call := trace.call_around(span)) is not None:
            found.setdefault(call.call_id, []).append(run)
    return found


def _with_runs(call: Call, ran: Sequence[Json]) -> Call:
    """Return a call with the tools that ran within it and are in none of its messages.

    An agent's span may hold the messages of its user alone.
    """
    told = [each for turn in (*call.asked, *call.answered) for each in turn.calls]
    untold = [run for run in ran if not any(is_run_of(each, run) for each in told)]
    return replace(call, answered=(Turn(role="assistant", calls=tuple(untold)), *call.answered)) if untold else call


def _signed(call: Call) -> Call:
    """Return a call with the name of the calling agent in each tool call."""
    if not call.agent:
        return call
    agent = {"agent": call.agent}
    said = (replace(turn, calls=tuple({**each, **agent} for each in turn.calls)) for turn in call.answered)
    return replace(call, answered=tuple(said))


def _with_inner(turns: Iterable[Turn], inner: dict[int, tuple[Json, list[Call]]]) -> list[Turn]:
    """Return turns with the tools that agents called which were called as tools, each after the call it was made for.

    Those are taken out of `inner`.
    """
    found: list[Turn] = []
    for turn in turns:
        found.append(turn)
        for call in turn.calls:
            run = next((key for key, (run, _) in inner.items() if is_run_of(call, run)), None)
            for chain in _chains(inner.pop(run)[1]) if run is not None else ():
                said = (each for each in chain.turns if each.role in ("assistant", "tool"))
                silent = [replace(each, text="", started=None, seconds=nan, details={}) for each in said]
                found += _with_inner([each for each in silent if each.calls or each.results], inner)
    return found


def _joined(chains: Sequence[_Chain]) -> list[_Chain]:
    """Return chains joined with those they handed over to."""
    left = list(chains)
    group = {id(chain): [chain] for chain in chains}
    for giver in chains:
        for call in giver.made:
            for target in filter(None, (_target(each) for turn in call.answered for each in turn.calls)):
                taker = _taker(left, group[id(giver)], call, target)
                if taker is not None:
                    group[id(giver)] += group[id(taker)]
                    for member in group[id(taker)]:
                        group[id(member)] = group[id(giver)]
    kept: dict[int, list[_Chain]] = {id(members): members for members in group.values()}
    return [members[0] if len(members) == 1 else _as_one(members) for members in kept.values()]


def _target(call: Mapping[str, Any]) -> str:
    """Return the agent that a call of a tool hands over to; empty if it does not."""
    name = str(call.get("name") or "")
    handed = _HAND_OVER.match(name)
    if handed is None:
        return ""
    arguments = mapping(call.get("arguments"))
    named = first(arguments, "agent_name", "agent", "target_agent", "destination", "to", "coworker", "assistant")
    rest = name[handed.end() :]
    return _plain(str(named or rest)) or _plain(name)


def _plain(name: str) -> str:
    """Return an agent's name without case, marks and the word agent."""
    return _MARKS.sub("", name.casefold()).replace("agent", "").replace("assistant", "")


def _taker(chains: Sequence[_Chain], members: Sequence[_Chain], call: Call, target: str) -> _Chain | None:
    """Return the chain that a conversation goes on with after a call that handed over to a target."""
    begun = call.started or _EARLIEST
    others = [each for each in chains if all(each is not member for member in members)]
    later = [each for each in others if (each.made[0].started or _EARLIEST) >= begun]
    named = [each for each in later if (agent := _plain(each.made[0].agent)) and (agent in target or target in agent)]
    return next(iter([*named, *(each for each in later if _hears(each, call))]), None)


def _hears(chain: _Chain, call: Call) -> bool:
    """Return whether the first request of a chain has the user's last message of a call, word for word."""
    asked = [turn.text for turn in call.asked if turn.role == "user" and turn.text]
    return bool(asked) and any(turn.text == asked[-1] for turn in chain.opening if turn.role == "user")


def _as_one(chains: Sequence[_Chain]) -> _Chain:
    """Return the conversation of agents that handed it over: each one's new messages, in order of time."""
    made = sorted((call for chain in chains for call in chain.made), key=lambda call: call.started or _EARLIEST)
    began = {id(chain.made[0]) for chain in chains} - {id(made[0])}
    turns: list[Turn] = []
    retold: list[Turn] = []  # the messages so far, as an agent was given them
    for call in made:
        known = Counter(map(_heard, (*turns, *retold)))
        for turn in call.asked:
            known[_heard(turn)] -= 1
            is_retold = id(call) in began and turn.role in ("user", "assistant")
            if known[_heard(turn)] < 0:
                (retold if is_retold else turns).append(turn)
        turns += _timed(call)
    first_one = next(chain for chain in chains if chain.made[0] is made[0])
    retries, calls = sum(chain.retries for chain in chains), sum(chain.calls for chain in chains)
    return _Chain(turns, first_one.opening, made[-1].asked, retries, calls, made)


def _heard(turn: Turn) -> tuple[Any, ...]:
    """Return the identity of a turn, a tool's results included."""
    return (*_mark(turn), *(each.get("id") or str(each.get("result")) for each in turn.results))


def _innermost(trace: Trace) -> list[Call]:
    """Return the calls that no other call was made within, in order of time."""
    around: set[str] = set()
    for call in trace.calls:
        span = trace.parents.get(call.call_id, "")
        while span and span not in around:
            around.add(span)
            span = trace.parents.get(span, "")
    inner = [call for call in trace.calls if not call.call_id or call.call_id not in around]
    return sorted(inner, key=lambda call: call.started or _EARLIEST)


def _chains(calls: Iterable[Call]) -> list[_Chain]:
    chains: list[_Chain] = []
    for call in calls:
        answer = _timed(call)
        chain = next((each for each in reversed(chains) if _continues(each, call.asked)), None)
        if chain is None:
            chains.append(_Chain([*call.asked, *answer], call.asked, call.asked, made=[call]))
            continue
        only_adds = not _is_whole(call.asked)
        is_again = not only_adds and _marks(chain.request) == _marks(call.asked)
        chain.retries += is_again
        chain.calls += 1
        chain.made[len(chain.made) - is_again :] = [call]
        known = [*chain.turns, *call.asked] if only_adds else _kept(chain.turns, call.asked)
        chain.turns, chain.request = [*known, *answer], call.asked
    return chains


def _continues(chain: _Chain, asked: Sequence[Turn]) -> bool:
    """Return whether a request goes on with a chain, by itself or by repeating its last request."""
    if not _is_whole(asked):
        return True
    return _marks(chain.request) == _marks(asked) or _repeats(chain, asked)


def _is_whole(asked: Iterable[Turn]) -> bool:
    """Return whether a request holds messages, not only tools' results for a model that remembers the rest."""
    return any(turn.role in ("user", "assistant") for turn in asked)


def _repeats(chain: _Chain, turns: Sequence[Turn]) -> bool:
    """Return whether turns begin with all messages of a chain."""
    said, heard = _spoken(chain.turns), _spoken(turns)
    length = sum(turn.role != "system" for turn in chain.turns)
    return heard[: len(said)] == said and sum(turn.role != "system" for turn in turns) >= length


def _spoken(turns: Iterable[Turn]) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in turns if turn.role in ("user", "assistant") and turn.text]


def _system(turns: Iterable[Turn]) -> str:
    return "\n\n".join(dict.fromkeys(turn.text for turn in turns if turn.role == "system"))


def _marks(turns: Iterable[Turn]) -> list[tuple[Any, ...]]:
    return [_mark(turn) for turn in turns]


def _mark(turn: Turn) -> tuple[Any, ...]:
    """Return the identity of a turn that is repeated in a later request."""
    return (turn.role, turn.text, *(call.get("id") or call.get("name") for call in turn.calls))


def _kept(old: Iterable[Turn], new: Iterable[Turn]) -> list[Turn]:
    """Return the new turns, with the known data of the equal old ones."""
    known: dict[tuple[Any, ...], list[Turn]] = {}
    for turn in old:
        if turn.started or turn.details:
            known.setdefault(_mark(turn), []).append(turn)
    kept = []
    for turn in new:
        same = known.get(_mark(turn))
        before = same.pop(0) if same and not turn.started else turn
        calls, details = before.calls or turn.calls, before.details
        kept.append(replace(turn, calls=calls, started=before.started, seconds=before.seconds, details=details))
    return kept


def _timed(call: Call) -> list[Turn]:
    """Return the turns of an answer; the first of them knows when and how the call was made."""
    answer = list(call.answered)
    place = next((place for place, turn in enumerate(answer) if turn.role == "assistant"), None)
    if place is not None:
        turn = answer[place]
        details = {**call.details, **turn.details}
        answer[place] = replace(turn, started=call.started, seconds=call.seconds, details=details)
    return answer
