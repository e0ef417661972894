"""How much of a run's prompts earlier requests begin with, and what a verdict costs with that cached, beside SigmaEval.

    python -m benchmarks.models.prefixes [--scenarios 30] [--trials 20] [--peer sigmaeval=PYTHON]

One suite, one endpoint that records what it is asked. Each user has four details and tells one a turn, as the app asks
for them. Tokens are cl100k's, prices those of LiteLLM's table. "From 16" counts every whole block of 16 tokens that
an earlier request began with, as vLLM and SGLang keep them; "from 1,024" what OpenAI keeps, in blocks of 128.
A provider may place the schema of the reply before the messages: then only requests of one schema share anything.
What is under way at the same time is taken for cached, so these are the most that can be had. Nothing that a model
thinks is counted, and no early stopping.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import anyio
import tiktoken

from simeval import Engine, Expectation, ScenarioTest, SuccessRateEvaluator
from simeval.models.providers.litellm_model import load_litellm
from simeval.models.providers.litellm_table import listed
from simeval.models.registry import price_of
from tests.support.chat_server import Body, chat_server, refused, said

MODEL = "gpt-5-mini"
PEER = Path(__file__).with_name("peer_sigmaeval.py")
ROLES = {  # how the prompts of both begin
    "You are a person who is typing": "user",
    "You are simulating a user": "user",
    "You judge how": "judge",
    "You are an expert evaluator": "judge",
    "You write rubrics": "rubric",
    "You are an expert at creating": "rubric",
}
KINDS = ("order number", "name", "postcode", "e-mail address")
REASONING = (
    "The assistant asked for the order number, the name, the postcode and the e-mail address one after the other, "
    "then looked the order up and told the user on which day it will arrive, as was expected of it."
)
LEVEL = "The assistant does {level} tenths of it: it asks for what it needs, looks the order up, and tells the day."


@dataclass(frozen=True, slots=True)
class Case:
    """One scenario, with the details that its user tells one by one and what the app says at each turn."""

    number: int

    @property
    def details(self) -> tuple[str, ...]:
        names = ("Ada Berg", "Ivo Klein", "Mia Roth", "Tom Vogt", "Lea Falk")
        name = names[self.number % len(names)]
        order, postcode = f"F{1000 + self.number}", f"{48000 + 7 * self.number}"
        return order, name, postcode, f"{name.split()[0].lower()}{self.number}@post.example"

    @property
    def given(self) -> str:
        order, name, postcode, mail = self.details
        return (
            f'A customer of a shop for tents who has waited for order {order} for two weeks. The name is "{name}", the '
            f"postcode {postcode}, the e-mail address {mail}. They leave for a holiday on Saturday."
        )

    @property
    def answers(self) -> tuple[str, ...]:
        asked = tuple(f"I can look that up for you. What is your {kind}?" for kind in KINDS)
        return *asked, f"Thank you. Order {self.details[0]} was sent on Monday, and arrives on Friday."

    def messages(self) -> tuple[str, ...]:
        """Return what the user says, from its first message on."""
        told = (f"It is {detail}." for detail in self.details)
        return "Hi, I would like to know when my order arrives.", *told


WHEN = "They want to know on which day their order arrives, and whether that is before they leave."
EXPECTED = "The assistant tells the day on which the order arrives."


@dataclass(slots=True)
class Recorded:
    """What an endpoint was asked in one run, with what it answered."""

    asked: list[tuple[str, Body, str]] = field(default_factory=list)

    def answer(self, body: Body) -> tuple[int, Body]:
        """Answer in the role that the prompt asks for."""
        if "messages" not in body:
            return refused("there is no such page", status=404)
        messages = body["messages"]
        role = next(role for opening, role in ROLES.items() if messages[0]["content"].startswith(opening))
        reply = json.dumps(getattr(self, f"_{role}")(messages))
        self.asked.append((role, body, reply))
        return said(reply)

    def _user(self, messages: Sequence[Mapping[str, str]]) -> Mapping[str, Any]:
        text = " ".join(each["content"] for each in messages)
        found = re.search(r"F(1\d{3})", text)
        assert found is not None
        to_say = Case(int(found[1]) - 1000).messages()
        told = sum(each["role"] == "assistant" for each in messages) + text.count('<turn speaker="user">')
        if text.startswith("You are simulating"):
            return {"message": to_say[told], "continue": told + 1 < len(to_say)}
        if told == len(to_say):
            return {"status": "satisfied", "message": ""}
        return {"status": "open", "message": to_say[told]}

    @staticmethod
    def _judge(messages: Sequence[Mapping[str, str]]) -> Mapping[str, Any]:
        is_right = "arrives on Friday" in messages[-1]["content"]
        return {"reasoning": REASONING, "score": 9 if is_right else 1}

    @staticmethod
    def _rubric(messages: Sequence[Mapping[str, str]]) -> Mapping[str, Any]:
        levels = {str(level): LEVEL.format(level=level) for level in range(1, 11)}
        return {"levels": levels} if messages[0]["content"].startswith("You write") else levels


async def ours(cases: Sequence[Case], trials: int) -> Recorded:
    """Return what simeval asks."""
    recorded = Recorded()
    then = Expectation(expected_behavior=EXPECTED, evaluator=SuccessRateEvaluator(min_proportion=0.7))
    suite = [
        ScenarioTest(title=f"Order {case.number}", given=case.given, when=WHEN, then=then, sample_size=trials)
        for case in cases
    ]

    def app(messages: list[dict[str, str]]) -> str:
        found = re.search(r"F(1\d{3})", " ".join(each["content"] for each in messages))
        turn = sum(each["role"] == "user" for each in messages) - 1
        return Case(int(found[1]) - 1000 if found else 0).answers[turn]

    async with chat_server(recorded.answer) as server:
        options = {"api_base": server.base_url, "api_key": "none"}
        engine = Engine(
            f"openai-compatible/{MODEL}",
            model_options=options,
            display="none",
            store=None,
            rubric_folder=None,
            early_stopping=False,
            on_user_fault="count",
            seed=1,
            settings=None,
        )
        await engine.evaluate(suite, app)
    return recorded


async def theirs(python: str, cases: Sequence[Case], trials: int) -> Recorded:
    """Return what SigmaEval asks, run by an interpreter that has it."""
    recorded = Recorded()
    suite = [{"given": case.given, "when": WHEN, "then": EXPECTED, "answers": case.answers} for case in cases]
    async with chat_server(recorded.answer) as server:
        command = [python, str(PEER), server.base_url, str(trials)]
        done = await anyio.run_process(command, input=json.dumps(suite).encode(), check=False)
    if done.returncode:
        raise SystemExit(done.stderr.decode()[-2000:])
    return recorded


@lru_cache(maxsize=100_000)
def tokens_of(text: str) -> tuple[int, ...]:
    """Return the tokens of a text."""
    return tuple(_encoding().encode(text, disallowed_special=()))


@lru_cache
def _encoding() -> tiktoken.Encoding:
    load_litellm()  # which carries the file
    return tiktoken.get_encoding("cl100k_base")


@dataclass(frozen=True, slots=True)
class Caching:
    """What a provider keeps: blocks of so many tokens, where a prompt has at least so many."""

    least: int
    block: int
    is_schema_first: bool = False


def shared(asked: Iterable[tuple[str, Body, str]], caching: Caching) -> Mapping[str, int]:
    """Return by role how many tokens of prompts an earlier request began with."""
    seen: set[int] = set()
    found: Counter[str] = Counter()
    for role, body, _ in asked:
        prompt = [token for each in body["messages"] for token in tokens_of(f"{each['role']}\n{each['content']}\n")]
        key, kept, is_kept = hash(str(body.get("response_format")) if caching.is_schema_first else ""), 0, True
        for place in range(caching.block, len(prompt) + 1, caching.block):
            key = hash((key, *prompt[place - caching.block : place]))
            is_kept = is_kept and key in seen
            kept = place if is_kept else kept
            seen.add(key)
        found[role] += kept if kept >= caching.least else 0
    return found


def lines(name: str, recorded: Recorded, verdicts: int) -> Iterable[str]:
    """Return the table's lines of one run."""
    asked = recorded.asked
    prompt, reply = Counter[str](), 0
    for role, body, text in asked:
        prompt[role] += sum(len(tokens_of(f"{each['role']}\n{each['content']}\n")) for each in body["messages"])
        reply += len(tokens_of(text))
    price, kept = price_of(f"openai/{MODEL}"), listed(f"openai/{MODEL}")["cache_read_input_token_cost"]
    assert price is not None
    total = prompt.total()
    for how, caching in CACHINGS.items():
        found = shared(asked, caching) if caching else Counter[str]()
        cached = sum(found.values())
        cost = price.of(total - cached, reply) + cached * kept
        shares = (cached / total, *(found[role] / prompt[role] for role in ("user", "judge")))
        shown = [f"{share:.0%}" for share in shares]
        yield FORM.format(name, len(asked), f"{total:,}", how, *shown, f"{cost:.3f}", f"{cost / verdicts:.4f}")


CACHINGS = {
    "nothing": None,
    "from 16": Caching(16, 16),
    "from 16, schema first": Caching(16, 16, is_schema_first=True),
    "from 1,024": Caching(1024, 128),
}
FORM = "{:16} {:>8} {:>13}  {:22} {:>5} {:>7} {:>8} {:>7} {:>10}"
HEADER = ("system", "requests", "prompt tokens", "cached", "share", "user's", "judge's", "$", "$ a verdict")


async def main(scenarios: int, trials: int, peers: Mapping[str, str]) -> None:
    cases = [Case(number) for number in range(scenarios)]
    print(FORM.format(*HEADER))
    runs = {"simeval": await ours(cases, trials)}
    if python := peers.get("sigmaeval"):
        runs["SigmaEval 0.1.3"] = await theirs(python, cases, trials)
    for name, recorded in runs.items():
        for line in lines(name, recorded, scenarios):
            print(line, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenarios", type=int, default=30)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--peer", action="append", default=[], metavar="sigmaeval=PYTHON")
    chosen = parser.parse_args()
    anyio.run(main, chosen.scenarios, chosen.trials, dict(peer.split("=", 1) for peer in chosen.peer))
