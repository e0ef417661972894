"""Recorded conversations scored: seconds, CPU and memory, beside a bare loop over the same scorers.

python -m benchmarks.speed.experiments [--conversations 10000]
"""

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import anyio

from simeval import Engine, RegexMatch, Scorer, ToolCallMatch, ValidJSON, ValidXML
from simeval.core.conversation import Conversation, Message
from simeval.datasets.dataset import Dataset, Example, check_dataset
from simeval.scorers.metrics import METRICS

SCORERS: list[Scorer] = [
    ValidJSON(),
    ValidXML(),
    RegexMatch(r"answer \d+"),
    ToolCallMatch(mode="subset", column_map={"reference": "calls"}),
    *METRICS.values(),
]
SIZES = (2_000, 10_000, 30_000)


def conversations(count: int) -> Iterator[Example]:
    """Return conversations of three turns, two thirds of which end in valid JSON."""
    for number in range(count):
        said: list[Message] = []
        for turn in range(3):
            said.append(Message(role="user", content=f"question {number} of turn {turn} " * 8, seconds=0.0))
            answer = json.dumps({"answer": f"answer {number} " * 15}) if number % 3 else "I do not know"
            calls = ({"name": "look_up", "arguments": {"n": number}},)
            said.append(Message(role="assistant", content=answer, seconds=0.5 + number % 7 / 10, tool_calls=calls))
        recorded = Conversation(messages=tuple(said), ended="recorded")
        wanted = [{"name": "look_up", "arguments": {"n": number}}]
        yield Example(conversation=recorded, metadata={"calls": wanted}, example_id=f"c{number}")


def dataset(count: int) -> Dataset:
    return check_dataset(lambda: conversations(count), name="recorded")


def bare(count: int) -> float:
    """Return the CPU seconds of calling each scorer on each conversation in a loop."""
    started = process_time()
    for example in conversations(count):
        held = example.conversation
        assert held is not None
        columns = {**example.columns(), "conversation": held, "output": held.output, "input": held.input}
        for scorer in SCORERS:
            scorer.function(**scorer.arguments(columns))
    return process_time() - started


def measure(count: int, store: str) -> None:
    """Print a line of what one experiment takes; in a process of its own, for its memory."""
    loop = bare(min(count, 2_000)) * count / min(count, 2_000)
    found = dataset(count)
    engine = Engine(store=store or None, seed=1, display="none")
    wall, cpu = perf_counter(), process_time()
    result = anyio.run(_evaluate, engine, found)
    wall, cpu = perf_counter() - wall, process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert result == count
    where = "SQLite" if store else "none"
    print(
        f"{count:>13,}  {where:<6}  {wall:>7.1f}  {1e6 * cpu / count:>14.0f}  {cpu / loop:>12.1f}  {peak:>8.0f}",
        flush=True,
    )


async def _evaluate(engine: Engine, found: Dataset) -> int:
    return (await engine.experiment(found, scorers=SCORERS)).answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--store", default=None, help="for the processes it starts")
    arguments = parser.parse_args()
    if arguments.store is not None:
        measure(arguments.conversations[0], arguments.store)
        return
    print(f"{len(SCORERS)} scorers of formats, tool calls and metrics, six messages a conversation")
    print("conversations  store   seconds  CPU us for one  x bare loop   peak MB", flush=True)
    with TemporaryDirectory() as folder:
        for count in arguments.conversations:
            for store in ("", str(Path(folder) / f"{count}.db")):
                command = [sys.executable, "-m", "benchmarks.speed.experiments", "--conversations", str(count)]
                subprocess.run([*command, "--store", store], check=True)


if __name__ == "__main__":
    main()
