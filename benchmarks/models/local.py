"""The local model service beside a plain loop: 200 concurrent trials against batches of sorted texts, in pairs.

    python -m benchmarks.models.local [--model minilm] [--trials 200] [--turns 6] [--pairs 5]

Each trial scores its turns one after the other through the service, as scorers do. The plain loop has all texts at
once, sorts them by length, tokenises and encodes 16 at a time and does the same pooling: it is what a script would do
that measures nothing else. A second row scores by `EmbeddingSimilarity`, two texts a score, the references shared by no
trial. Lag is how late a task wakes that sleeps 5 ms at a time; it is told beside that of the idle loop and that with
the plain loop in a thread, because what shares the machine makes it late, too. Needs the extra `local`.
"""

import argparse
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter, process_time

import anyio
import anyio.to_thread
import psutil

from simeval.extras.local.service import LocalEncoder, encoder
from simeval.models.encoders import MINILM
from simeval.scorers.llm.embeddings import EmbeddingSimilarity

SLEEP_SECONDS, BATCH = 0.005, 16
Loop = Callable[[Sequence[str]], object]
SAID = (
    "the order arrived late and nobody told me why although your colleague had promised to call back on Monday about "
    "a refund for two broken lamps which I returned in March with every receipt you asked for thank you"
)
WORDS = SAID.split()


@dataclass
class Lag:
    """How late a task woke, in milliseconds."""

    late: list[float] = field(default_factory=list)

    async def watch(self) -> None:
        while True:
            start = perf_counter()
            await anyio.sleep(SLEEP_SECONDS)
            self.late.append(1000 * (perf_counter() - start - SLEEP_SECONDS))

    def __str__(self) -> str:
        late = sorted(self.late)
        high = late[int(0.99 * (len(late) - 1))]
        return f"median {median(late):.1f}, 99th percentile {high:.1f}, most {late[-1]:.1f} ms"


def drawn(trials: int, turns: int, seed: int) -> list[list[str]]:
    """Draw the texts of trials: 3 to 60 words, most of them short."""
    dice = random.Random(seed)
    return [
        [" ".join(dice.choices(WORDS, k=min(60, 3 + int(dice.expovariate(1 / 15))))) for _ in range(turns)]
        for _ in range(trials)
    ]


async def watched(work: Callable[[], Awaitable[object]]) -> tuple[float, float, Lag]:
    """Do work; give its seconds, its CPU seconds and the lag of the loop meanwhile."""
    lag = Lag()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lag.watch)
        wall, cpu = perf_counter(), process_time()
        await work()
        wall, cpu = perf_counter() - wall, process_time() - cpu
        tasks.cancel_scope.cancel()
    return wall, cpu, lag


def plain(asked: LocalEncoder) -> Loop:
    """Return the plain loop over texts, with a tokenizer and a model of its own."""
    import torch
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    tokenizer, model = AutoTokenizer.from_pretrained(asked.path), AutoModel.from_pretrained(asked.path).eval()

    def loop(texts: Sequence[str]) -> list[list[float]]:
        ordered = sorted(texts, key=len, reverse=True)
        vectors: list[list[float]] = []
        with torch.inference_mode():
            for start in range(0, len(ordered), BATCH):
                some = ordered[start : start + BATCH]
                batch = tokenizer(some, padding=True, truncation=True, max_length=asked.longest, return_tensors="pt")
                weights = batch["attention_mask"].unsqueeze(-1)
                states = (model(**batch).last_hidden_state * weights).sum(dim=1) / weights.sum(dim=1)
                vectors += torch.nn.functional.normalize(states, dim=1).tolist()
        return vectors

    return loop


async def all_trials(trials: Sequence[Sequence[str]], score: Callable[[str], Awaitable[object]]) -> None:
    """Let every trial score its texts, one after the other, all trials at once."""

    async def trial(texts: Sequence[str]) -> None:
        for text in texts:
            await score(text)

    async with anyio.create_task_group() as tasks:
        for texts in trials:
            tasks.start_soon(trial, texts)


@dataclass(frozen=True)
class Pair:
    """Rates of texts a second, by the clock and by CPU seconds, and the lags meanwhile."""

    plain: tuple[float, float, Lag]
    service: tuple[float, float, Lag]
    scores: tuple[float, float, Lag]

    def share(self, name: str, clock: int) -> float:
        found: float = getattr(self, name)[clock] / self.plain[clock]
        return found


async def measured(asked: LocalEncoder, loop: Loop, texts: Sequence[Sequence[str]]) -> Pair:
    """Encode texts three ways: in the plain loop, by the service, and half of them in scores, with references."""
    flat = [text for some in texts for text in some]
    similar = EmbeddingSimilarity(model=asked)

    async def score(text: str) -> object:
        return await similar.score(output=text, reference=f"{text} indeed")

    ways: list[Callable[[], Awaitable[object]]] = [
        lambda: anyio.to_thread.run_sync(loop, flat),
        lambda: all_trials(texts, asked.encode),
        lambda: all_trials([some[::2] for some in texts], score),
    ]
    found = [await watched(way) for way in ways]
    return Pair(*((len(flat) / wall, len(flat) / cpu, lag) for wall, cpu, lag in found))


async def main(model: str, trials: int, turns: int, pairs: int) -> None:
    process = psutil.Process()
    asked, before = encoder(model), process.memory_info().rss / 2**20
    seconds, cpu, lag = await watched(asked.load)
    loaded = process.memory_info().rss / 2**20
    print(f"load, with the imports: {seconds:.1f} s, {cpu:.1f} CPU s, {loaded - before:.0f} MiB; lag {lag}")
    print(f"lag of the idle loop: {(await watched(lambda: anyio.sleep(1)))[2]}")
    loop = plain(asked)
    await measured(asked, loop, drawn(trials=20, turns=2, seed=0))  # warm
    found = []
    for number in range(pairs):
        found.append(pair := await measured(asked, loop, drawn(trials, turns, seed=number + 1)))
        for name in ("plain", "service", "scores"):
            rate, by_cpu, lag = getattr(pair, name)
            rates = f"{rate:.0f} texts/s ({pair.share(name, 0):.0%}), {by_cpu:.0f} a CPU s ({pair.share(name, 1):.0%})"
            print(f"pair {number + 1}, {name:7}: {rates}; lag {lag}")
    for name in ("service", "scores"):
        by_clock, by_cpu = (median(pair.share(name, clock) for pair in found) for clock in (0, 1))
        print(f"{name}: {by_clock:.1%} of the plain loop's throughput, by CPU time {by_cpu:.1%} (medians of pairs)")
    more = process.memory_info().rss / 2**20 - loaded
    print(f"memory: {more:.0f} MiB more than after loading, with the plain loop's own model")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", default=MINILM)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--pairs", type=int, default=5)
    given = parser.parse_args()
    anyio.run(main, given.model, given.trials, given.turns, given.pairs)
