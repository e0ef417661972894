"""Faults of simulated users: how many of each kind are caught, and how many clean conversations are accused.

    python -m benchmarks.users.faults DATA [--stubs 400]

DATA is the folder with the data sets that `transcripts` reads (.jsonl.gz). Each stub is a clean conversation with one
fault put into it (`stubs`). Detectors were tuned on every second conversation and on the first half of each bank of
sentences; the columns "tuned on" and "held out" say how much that helped them.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

from benchmarks.users.stubs import STUBS
from benchmarks.users.transcripts import HUMAN, Recorded, load
from simeval.core.conversation import UserFaultKind
from simeval.engine.users.faults import KINDS, find_faults
from simeval.stats.binomial import clopper_pearson

SEED = 20240611


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--stubs", type=int, default=400, help="of each kind and half")
    options = parser.parse_args()
    recorded = load(options.data)
    everything = [talk for talks in recorded.values() for talk in talks]
    clean = [talk for talk in everything if not accused(talk)]
    print("caught                 tuned on              held out")
    for kind in KINDS:
        cells = [shown(*caught(kind, clean, half, options.stubs)) for half in (0, 1)]
        print(f"{kind:<22} {cells[0]:<21} {cells[1]}")
    print("\naccused                users   tuned on              held out              of what")
    for source, talks in recorded.items():
        print(row(source, "people" if source in HUMAN else "models", talks))
    print(row("all", "", everything))


def caught(kind: UserFaultKind, clean: Sequence[Recorded], half: int, stubs: int) -> tuple[int, int]:
    """Return how many stubs of a fault, made of clean conversations of a half, are caught, and of how many."""
    random = Random(f"{SEED} {kind} {half}")
    talks = [talk for talk in clean if talk.is_for_tuning == (half == 0)]
    found = made = 0
    while made < stubs:
        stub = STUBS[kind](random.choice(talks), random, half)
        if stub is not None:
            made += 1
            found += kind in {fault.kind for fault in find_faults(*stub)}
    return found, made


def accused(talk: Recorded) -> list[UserFaultKind]:
    """Return the faults that are found in a conversation as it was recorded."""
    return [fault.kind for fault in find_faults(talk.scenario, talk.conversation)]


def row(source: str, users: str, talks: Sequence[Recorded]) -> str:
    halves = [[accused(talk) for talk in talks if talk.is_for_tuning is tuned] for tuned in (True, False)]
    kinds = Counter(kind for half in halves for each in half for kind in each)
    cells = "  ".join(f"{shown(sum(map(bool, half)), len(half)):<21}" for half in halves)
    return f"{source:<22} {users:<6}  {cells} {', '.join(f'{count} {kind}' for kind, count in kinds.items())}".rstrip()


def shown(count: int, of: int) -> str:
    if not of:
        return "-"
    low, high = clopper_pearson(count, of, 0.025)
    return f"{count}/{of} [{low:.1%}, {high:.1%}]"


if __name__ == "__main__":
    main()
