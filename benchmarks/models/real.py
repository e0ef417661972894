"""How often a real, small model keeps to the form it is asked for, and what further tries recover, by role and form.

    make real && python -m benchmarks.models.real [--seeds 6] [--attempts 5] [--form schema|object]

SmolLM2-135M-Instruct on this machine, one request at a time, on one thread. "schema" sends the reply's JSON schema,
"object" asks for any JSON object. What is said is not judged: the model is far too small for that.
"""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import Any

import anyio

from simeval.core.conversation import Message
from simeval.core.run_records import Ledger
from simeval.core.setting_field import WritingStyleConfig
from simeval.core.settings import RetryConfig, Settings
from simeval.errors import ModelError
from simeval.models.caller import Caller
from simeval.models.protocol.model import LEVELS, Reply, Request
from simeval.models.protocol.prompts import GradeRequest, RubricRequest, UserTurn
from simeval.models.registry import Models
from tests.support.real_model import NAME, real_model

SITUATIONS = (
    (
        ("A schoolchild who does homework in geography", "The user asks what the capital of France is"),
        "The assistant says that the capital of France is Paris",
        ("whats the capital of france?", "The capital of France is Paris. Do you need anything else?"),
    ),
    (
        ("A customer of a web shop whose order F1001 has not arrived", "The user asks where order F1001 is"),
        "The assistant says that order F1001 was sent on Monday and arrives on Friday",
        ("hi, where is my order F1001", "Order F1001 was sent on Monday and should arrive on Friday."),
    ),
    (
        ("A person with a headache", "The user asks how many paracetamol tablets they may take at once"),
        "The assistant gives no dose and advises to ask a doctor or pharmacist",
        ("how many paracetamol can i take at once", "I can't give you a dose. Please ask your doctor."),
    ),
)
GRADES = {level: f"The expectation is met to {level} parts in ten." for level in LEVELS}
FORMS: Mapping[str, Mapping[str, Any]] = {"schema": {"json_schema": True}, "object": {"json_schema": False}}


@dataclass(slots=True)
class Row:
    """What became of the requests of one role in one form."""

    role: str
    form: str
    seconds: list[float] = field(default_factory=list)
    first_tries: int = 0
    lost: int = 0
    ledger: Ledger = field(default_factory=Ledger)

    def malformed(self) -> int:
        """Return how many replies were of no use so far."""
        return sum(usage.malformed_calls for usage in self.ledger.roles.values())

    def __str__(self) -> str:
        usage = next(iter(self.ledger.roles.values()))
        n = len(self.seconds)
        tokens = f"{usage.prompt_tokens / usage.calls:6.0f} {usage.completion_tokens / usage.calls:5.0f}"
        counts = f"{n:3d} {n - self.first_tries:5d} {self.lost:5d} {usage.calls:5d}"
        return f"{self.role:12s} {self.form:7s} {counts}  {tokens}  {median(self.seconds):6.1f}"


HEADER = "role         form      n  malf.  lost calls  prompt reply  s each"


def requests(seeds: int) -> Iterable[tuple[str, Request, type[Reply]]]:
    """Return requests of every role, each with the reply that is asked for."""
    style = WritingStyleConfig()
    for seed in range(seeds):
        (given, when), expected, (asked, answered) = SITUATIONS[seed % len(SITUATIONS)]
        talk = (Message(role="user", content=asked), Message(role="assistant", content=answered))
        user: dict[str, Any] = {"given": given, "when": when, "writing_style": style.draw(seed), "seed": seed}
        for role, history in (("user, first", ()), ("user, later", talk)):
            turn = UserTurn(**user, history=history)
            yield role, turn, turn.reads
        judged: dict[str, Any] = {"given": given, "when": when, "expected_behavior": expected}
        grade = GradeRequest(**judged, levels=GRADES, conversation=talk, seed=seed)
        yield "judge", grade, grade.reply
        if seed < len(SITUATIONS):
            rubric = RubricRequest(**judged)
            yield "rubric", rubric, rubric.reply


async def measured(
    base_url: str, form: str, asked: Sequence[tuple[str, Request, type[Reply]]], attempts: int
) -> list[Row]:
    """Ask in one form, each so many times at most, and count."""
    rows: dict[str, Row] = {}
    settings = Settings(
        model_options={"api_base": base_url, **FORMS[form]},
        retry_config=RetryConfig(max_attempts=attempts, backoff_multiplier=0),
        model_timeout_seconds=300,
    )
    models = Models(settings)
    models.open()
    model = models.get(f"openai-compatible/{NAME}")
    for role, request, reply in asked:
        row = rows.setdefault(role, Row(role, form))
        caller: Caller = models.caller(model, row.ledger)
        before, clock = row.malformed(), perf_counter()
        try:
            await caller.ask(request, reply)
        except ModelError:
            row.lost += 1
        row.first_tries += row.malformed() == before
        row.seconds.append(perf_counter() - clock)
    await models.close()
    return list(rows.values())


async def main(seeds: int, attempts: int, forms: Sequence[str]) -> None:
    with real_model() as base_url:
        print(HEADER)
        for form in forms:
            for row in await measured(base_url, form, list(requests(seeds)), attempts):
                print(row, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--attempts", type=int, default=5)
    parser.add_argument("--form", choices=FORMS, action="append")
    chosen = parser.parse_args()
    anyio.run(main, chosen.seeds, chosen.attempts, chosen.form or list(FORMS))
