"""Labels dealt by a judge's verdict: how many are as exact as 100 of a random sample, on public sets of labels.

    python -m benchmarks.statistics.labels [--judged 500] [--draws 4000] [--picture docs/pictures/labels.svg]

A row is a judge, by the number of items that it and people call good or bad. "share of people" is the rate that is
estimated, "dealt" the labels that estimate it with the variance of 100 random ones, dealt as `people label` does;
"proportional" deals in proportion to the verdicts, and "best" is the fewest that any deal needs. "error" is the ratio
of the two standard errors, dealt to random, in as many draws of trials and labels: about 1. Where the judge is
simulated, it cuts a normal score with the AUC given, and calls as many items good as people do. The exit status is 1
where a judge with an AUC of 0.9 or more saves less than a quarter of the labels.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import NormalDist

import numpy as np

from simeval.stats.people import Judge, PeopleTest, as_exact_as

RANDOM, ENOUGH, WANTED = 100, 0.9, 0.75
NORMAL = NormalDist()

# By set and judge: items that people call good and so does the judge, that it calls bad, and the two of people's bad.
# princeton-nlp/LLMBar@900616bf (MIT): output 1 is better. GPT-4, in the given order of the outputs.
# WeOpenML/PandaLM@3871806e (Apache-2.0): the majority of three finds response 1 at least as good.
RECORDED = {
    ("llmbar", "GPT-4, swap and CoT"): (86, 14, 16, 95),
    ("llmbar", "GPT-4, CoT"): (86, 14, 22, 89),
    ("llmbar", "GPT-4, metrics, reference"): (188, 22, 51, 179),
    ("pandalm", "gpt-3.5"): (201, 68, 58, 169),
    ("pandalm", "pandalm-7b"): (207, 62, 68, 159),
}
# Yale-LILY/SummEval (MIT): all experts rate consistency 5. google/BEGIN-dataset@6e65f0d5 (CC-BY-4.0): attributable.
SHARES = {"summeval": 648 / 800, "begin": 437 / 1223}
AUCS = (0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True, slots=True)
class Case:
    """A judge of a set of labels: the share that people call good, and how often it is right about these and others."""

    name: str
    rate: float
    judge: Judge
    auc: float

    @property
    def judged_good(self) -> float:
        """The share that the judge calls good."""
        return self.rate * self.judge.sensitivity + (1 - self.rate) * (1 - self.judge.specificity)


def main() -> None:
    """Print a row for each judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judged", type=int, default=500)
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    head = ("share of people", "sens/spec", "AUC", "dealt", "proportional", "best", "error")
    print(f"{'':<38}" + "".join(f"{each:>17}" for each in head))
    short, bars = 0, list[tuple[Case, int]]()
    for case in cases():
        dealt = fewest(case, options.judged)
        others = (proportional(case, options.judged), best(case, options.judged))
        error = ratio(case, options.judged, dealt, options.draws) if dealt <= options.judged else float("nan")
        right = f"{case.judge.sensitivity:.2f}/{case.judge.specificity:.2f}"
        cells = (f"{case.rate:.2f}", right, f"{case.auc:.2f}", *map(str, (dealt, *others)), f"{error:.2f}")
        print(f"{case.name:<38}" + "".join(f"{each:>17}" for each in cells), flush=True)
        short += case.auc >= ENOUGH and dealt > WANTED * RANDOM
        bars.append((case, dealt))
    if options.picture:
        options.picture.write_text(picture(bars), encoding="utf-8")
    sys.exit(short > 0)


def picture(bars: Sequence[tuple[Case, int]]) -> str:
    """Return a bar for each judge, the longer the less the judge saves; SVG."""
    high, scale, left = 74 + 28 * len(bars), 3.9, 275
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {high}" font-family="sans-serif" font-size="13">',
        f'<rect width="720" height="{high}" fill="#ffffff"/>',
        '<text x="12" y="26" fill="#1d2733" font-weight="bold">Labels as exact as 100 of a random sample</text>',
        '<text x="12" y="46" fill="#5b6673">set and judge, with its AUC against people; 500 judged</text>',
    ]
    for row, (case, labels) in enumerate(sorted(bars, key=lambda bar: bar[1])):
        y, colour = 60 + 28 * row, "#2f7d4f" if labels <= WANTED * RANDOM else "#c98a1b"
        lines += [
            f'<text x="{left - 10}" y="{y + 15}" text-anchor="end" fill="#1d2733">{case.name}, {case.auc:.2f}</text>',
            f'<rect x="{left}" y="{y}" width="{scale * labels:.0f}" height="22" rx="4" fill="{colour}"/>',
            f'<text x="{left + scale * labels - 8:.0f}" y="{y + 15}" text-anchor="end" fill="#ffffff">{labels}</text>',
        ]
    at, end = left + scale * RANDOM, high - 12
    lines.append(f'<text x="{at:.0f}" y="46" text-anchor="middle" fill="#5b6673">random: 100</text>')
    lines.append(f'<path d="M{at:.0f} 54V{end}" stroke="#5b6673" stroke-dasharray="4 4"/>')
    return "\n".join([*lines, "</svg>", ""])


def cases() -> Iterator[Case]:
    """Yield the judges that were recorded, then those that are simulated."""
    for (name, judge), (both, missed, wrong, neither) in RECORDED.items():
        good, bad = both + missed, wrong + neither
        right = Judge(both / good, neither / bad)
        yield Case(f"{name}: {judge}", good / (good + bad), right, right.auc)
    for name, rate in SHARES.items():
        for auc in AUCS:
            yield Case(f"{name}: simulated", rate, simulated(rate, auc), auc)


def simulated(rate: float, auc: float) -> Judge:
    """Return a judge by a normal score, cut where as many are good as people find."""
    distance, low, high = sqrt(2) * NORMAL.inv_cdf(auc), -5.0, 5.0
    while high - low > 1e-9:
        cut = (low + high) / 2
        above = rate * (1 - NORMAL.cdf(cut - distance)) + (1 - rate) * (1 - NORMAL.cdf(cut))
        low, high = (cut, high) if above > rate else (low, cut)
    return Judge(1 - NORMAL.cdf(low - distance), NORMAL.cdf(low))


def fewest(case: Case, judged: int) -> int:
    """Return the fewest labels that are as exact as the random ones."""
    tried = range(10, 3 * RANDOM)
    return next((labels for labels in tried if precision(case, judged, labels) >= RANDOM), 3 * RANDOM)


def precision(case: Case, judged: int, labels: int) -> float:
    """Return how many random labels are as exact as those dealt, with a bar at the rate."""
    good = round(judged * case.judged_good)
    return as_exact_as(PeopleTest(judged, labels, case.rate), good, case.judge.chances(case.judged_good))


def proportional(case: Case, judged: int) -> int:
    """Return the labels that a deal in proportion to the verdicts needs."""
    w, (a, b) = case.judged_good, case.judge.chances(case.judged_good)
    return _needed(case, judged, w * a * (1 - a) + (1 - w) * b * (1 - b))


def best(case: Case, judged: int) -> int:
    """Return the labels that Neyman's deal needs, which knows the chances."""
    w, (a, b) = case.judged_good, case.judge.chances(case.judged_good)
    return _needed(case, judged, (w * sqrt(a * (1 - a)) + (1 - w) * sqrt(b * (1 - b))) ** 2)


def _needed(case: Case, judged: int, within: float) -> int:
    w, (a, b) = case.judged_good, case.judge.chances(case.judged_good)
    between = (a - b) ** 2 * w * (1 - w) / judged
    return int(np.ceil(within / (case.rate * (1 - case.rate) / RANDOM - between)))


def ratio(case: Case, judged: int, labels: int, draws: int) -> float:
    """Return the standard error of the rate from labels dealt, to that from random ones, over draws of a run."""
    chance = np.random.default_rng(20250101)
    test, errors = PeopleTest(judged, labels, case.rate), []
    of_good, of_bad = case.judge.chances(case.judged_good)
    for good in chance.binomial(judged, case.judged_good, draws):
        dealt = test.deal(int(good))
        found = good / judged * chance.binomial(dealt.good, of_good) / max(1, dealt.good)
        found += (1 - good / judged) * chance.binomial(dealt.bad, of_bad) / max(1, dealt.bad)
        errors.append(found - case.rate)
    return float(np.sqrt(np.mean(np.square(errors)) / (case.rate * (1 - case.rate) / RANDOM)))


if __name__ == "__main__":
    main()
