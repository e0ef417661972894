"""Recorded conversations with the scenarios that their users had, from public data sets."""

import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simeval.core.conversation import STATUS, Conversation, Ending, Message, Speaker
from simeval.evaluators.scores import SuccessRateEvaluator
from simeval.suites.scenario import Expectation, ScenarioTest

HUMAN = frozenset({"sgd_scenarios", "abcd_sample", "fed_dialogs", "dices_safety"})  # whose users are people
_UNKNOWN = "chats"  # the goal of whoever has none
_MARKS: Mapping[str, tuple[str, Ending]] = {
    "###STOP###": ("satisfied", "goal_satisfied"),
    "###TRANSFER###": ("handed_off", "handed_off"),
    "###OUT-OF-SCOPE###": ("gave_up", "gave_up"),
}


@dataclass(frozen=True, slots=True)
class Recorded:
    """One conversation: its data set, its place there, what its user was to do, and what was said."""

    source: str
    place: int
    scenario: ScenarioTest
    conversation: Conversation

    @property
    def is_for_tuning(self) -> bool:
        """Whether detectors may have been tuned on it: every second one is kept for the test."""
        return self.place % 2 == 0


def load(folder: Path) -> dict[str, list[Recorded]]:
    """Return the conversations of each data set in a folder, those without a user's message left out."""
    readers = {
        "tau_airline": _tau,
        "tau2_ab_sft": _tau2,
        "tau2_policy_trials": _tau2,
        "sgd_scenarios": _sgd,
        "abcd_sample": _abcd,
        "alignmenter_demo": _sessions,
        "wendys_voice": _sessions,
        "fed_dialogs": _fed,
        "dices_safety": _dices,
    }
    return {
        source: [
            Recorded(source, place, scenario, conversation)
            for place, (scenario, conversation) in enumerate(read(folder, f"public_{source}"))
            if conversation.input
        ]
        for source, read in readers.items()
    }


def rows_of(folder: Path, name: str) -> list[dict[str, Any]]:
    """Return the rows of a data set."""
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


Read = Iterator[tuple[ScenarioTest, Conversation]]


def _tau(folder: Path, name: str) -> Read:
    for row in rows_of(folder, name):
        yield scenario_of("A customer of an airline", row["user_instruction"]), conversation_of(row["turns"])


def _tau2(folder: Path, name: str) -> Read:
    tasks = {task["id"]: task for task in rows_of(folder, "tau2_tasks")}
    for row in rows_of(folder, name):
        domain = re.split(r"[/_-]", row.get("domain") or row["config"])[0]
        task = tasks.get(f"tau2-{domain}-{row['task_id']}")
        scenario = (
            scenario_of("A customer", _UNKNOWN)
            if task is None
            else scenario_of(task["given"], task["when"], task["then_nl_assertions"])
        )
        yield scenario, conversation_of(row["turns"])


def _sgd(folder: Path, name: str) -> Read:
    for row in rows_of(folder, name):
        said = zip(row["when_user_turns"], row["recorded_assistant_turns"], strict=False)
        turns = [
            {"role": role, "content": text}
            for pair in said
            for role, text in zip(("user", "assistant"), pair, strict=True)
        ]
        goal = f"{row['given']} {json.dumps(row['goal'])}"
        yield scenario_of(row["given"], goal), conversation_of(turns, "goal_satisfied")


def _abcd(folder: Path, name: str) -> Read:
    for row in rows_of(folder, name):
        scenario = scenario_of(json.dumps(row["scenario"]), _UNKNOWN)  # its flow is a label
        yield scenario, conversation_of(row["turns"], "goal_satisfied")


def _sessions(folder: Path, name: str) -> Read:
    found: dict[str, list[dict[str, str]]] = {}
    for row in rows_of(folder, name):
        found.setdefault(row["session_id"], []).append({"role": row["role"], "content": row["text"]})
    for turns in found.values():
        yield scenario_of("A person", _UNKNOWN), conversation_of(turns)


def _fed(folder: Path, name: str) -> Read:
    for row in rows_of(folder, name):
        yield scenario_of("A person", _UNKNOWN), conversation_of(row["turns"])


def _dices(folder: Path, name: str) -> Read:
    for row in rows_of(folder, name):
        parts = re.split(r"^(USER|LAMDA): ?", row["context"], flags=re.MULTILINE)[1:]
        turns = [
            {"role": "user" if who == "USER" else "assistant", "content": text.strip()}
            for who, text in zip(parts[::2], parts[1::2], strict=True)
        ]
        answer = {"role": "assistant", "content": row["response"]}
        yield scenario_of("A person", _UNKNOWN), conversation_of([*turns, answer])


def scenario_of(given: str, when: str, behaviours: Sequence[str] = ()) -> ScenarioTest:
    """Return a scenario with these expectations."""
    rule = SuccessRateEvaluator(min_proportion=0.9)
    then = [Expectation(expected_behavior=each, evaluator=rule) for each in behaviours or ["The assistant helps"]]
    return ScenarioTest(title="recorded", given=given or "A person", when=when or _UNKNOWN, then=then)


def conversation_of(turns: Sequence[Mapping[str, Any]], ended: Ending = "recorded") -> Conversation:
    """Return what user and assistant said, each in one message a turn; a mark in the user's ends it."""
    messages: list[Message] = []
    for turn in turns:
        text, status = turn.get("content") or "", ""
        for mark, (meant, ending) in _MARKS.items():
            if mark in text:
                text, status, ended = text.replace(mark, "").strip(), meant, ending
        if turn["role"] not in ("user", "assistant") or not text.strip():
            continue
        role: Speaker = turn["role"]
        metadata = {STATUS: status} if status else {}
        if messages and messages[-1].role == role:
            last = messages.pop()
            text, metadata = f"{last.content}\n{text}", {**last.metadata, **metadata}
        messages.append(Message(role=role, content=text, metadata=metadata))
    return Conversation(messages=tuple(messages), ended=ended)
