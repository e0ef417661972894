"""Sentiment against people: how the lexicon, the embedded model, or any checkpoint agrees with human ratings.

    python -m benchmarks.models.sentiment [MODEL ...] [--data FILE] [--all]

MODEL is "lexicon", "embedded", or a hub name or folder; without one the first two are measured. FILE is
public_vader_sentiment.jsonl.gz: sentences rated by about twenty people each. Only those are used that
`benchmarks/training/sentiment.py` held out, so that all are measured on the same ones; with --all every one is (the
embedded model has seen most of those). Intervals are of 95%: Fisher's for Pearson's correlation.

The five classes of the people's mean are cut at -2, -0.5, 0.5 and 2 of -4 to 4. "F1 by class" is macro-F1 where a model
of five classes is taken by its most probable one; that seldom is one of the ends, because people seldom agree on those.
"F1 by score" cuts the score where it stands for these means if people choose between neighbouring classes: at -5/8,
-1/6, 1/6 and 5/8; the lexicon's at -0.5, -0.05, 0.05 and 0.5, of which its authors give the inner two.
"""

import argparse
from collections.abc import Mapping, Sequence
from math import atanh, sqrt, tanh
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import anyio
from scipy.stats import pearsonr, spearmanr

from benchmarks.training.sentiment_data import HELD_OUT, SETS, Rated, apart, class_of, read
from simeval.extras.local.classifiers.sentiment import LEXICON, SentimentScorer

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "public_vader_sentiment.jsonl.gz"
CLASSES = 5
AT_ONCE = 64
CUTS = (-5 / 8, -1 / 6, 1 / 6, 5 / 8)
LEXICON_CUTS = (-0.5, -0.05, 0.05, 0.5)


async def measured(scorer: SentimentScorer, texts: Sequence[str]) -> list[dict[str, Any]]:
    """Score texts, some of them at once."""
    found: list[dict[str, Any]] = [{} for _ in texts]
    limit = anyio.CapacityLimiter(AT_ONCE)

    async def measure(number: int) -> None:
        async with limit:
            found[number] = await scorer.score(output=texts[number])

    async with anyio.create_task_group() as group:
        for number in range(len(texts)):
            group.start_soon(measure, number)
    return found


def by_class(result: Mapping[str, Any]) -> int | None:
    """Return the number from 0 to 4 of the most probable class, where there are five."""
    worth: Mapping[str, float] = result["label_map"]
    probabilities: Mapping[str, float] = result["distribution"]
    if len(set(worth.values())) != CLASSES:
        return None
    return round(2 * worth[max(probabilities, key=lambda label: probabilities[label])] + 2)


def by_score(result: Mapping[str, Any]) -> int:
    """Return the number from 0 to 4 of the class that the score lies in."""
    cuts = LEXICON_CUTS if result["model"].startswith("lexicon") else CUTS
    return sum(result["sentiment"] > cut for cut in cuts)


def macro_f1(found: Sequence[int | None], wanted: Sequence[int]) -> float:
    """Return the mean F1 of the classes that occur among the wanted."""
    both = list(zip(found, wanted, strict=True))
    hits = {each: both.count((each, each)) for each in set(wanted)}
    return sum(2 * hits[each] / (found.count(each) + wanted.count(each)) for each in hits) / len(hits)


def row(domain: str, rated: Sequence[Rated], results: Sequence[Mapping[str, Any]]) -> str:
    """Return a line of the table."""
    scores, means = [result["sentiment"] for result in results], [each.mean for each in rated]
    pearson, spearman = float(pearsonr(scores, means)[0]), float(spearmanr(scores, means)[0])
    margin = 1.96 / sqrt(len(rated) - 3)
    low, high = tanh(atanh(pearson) - margin), tanh(atanh(pearson) + margin)
    wanted = [class_of(mean) for mean in means]
    classes, cut = [by_class(result) for result in results], [by_score(result) for result in results]
    first = f"{macro_f1(classes, wanted):13.3f}" if None not in classes else f"{'-':>13}"
    figures = f"{pearson:.3f} [{low:.3f}, {high:.3f}]{spearman:11.3f}{first}{macro_f1(cut, wanted):13.3f}"
    return f"{domain:10}{len(rated):6}   {figures}"


async def report(model: str, rated: Sequence[Rated]) -> None:
    """Measure a model and print its table."""
    scorer = SentimentScorer(model)
    await scorer.score(output="The first text loads the model.")
    wall, cpu = perf_counter(), process_time()
    results = await measured(scorer, [each.text for each in rated])
    wall, cpu = perf_counter() - wall, process_time() - cpu
    print(f"\n{results[0]['model']}: {len(rated) / wall:,.0f} texts/s, {len(rated) / cpu:,.0f} per CPU-second")
    print(f"{'':10}{'n':>6}   {'Pearson':21}{'Spearman':>10}{'F1 by class':>13}{'F1 by score':>13}")
    for domain in SETS.values():
        chosen = [number for number, each in enumerate(rated) if each.domain == domain]
        print(row(domain, [rated[number] for number in chosen], [results[number] for number in chosen]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=[LEXICON, "embedded"])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--all", action="store_true")
    asked = parser.parse_args()
    everything = read(asked.data)
    rated = everything if asked.all else apart(everything, HELD_OUT)[1]
    for model in asked.models:
        anyio.run(report, model, rated)


if __name__ == "__main__":
    main()
