"""How often the gates of other tools, and ours, pass an app that is exactly at the bar, or clearly under it.

    python -m benchmarks.statistics.peers_level [--peer NAME=PYTHON ...]

Nothing is simulated. A rule is the set of states (trials, misses) at which a run passes or ends, and the chance of a
pass is summed over all sequences of outcomes. Each peer is asked for its states by its own package, in an interpreter
that has it (benchmarks/statistics/peer_rules.py says how it is used there). The bar is 90%.
"""

import argparse
import json
import subprocess
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from simeval import ProportionEvaluator, __version__
from simeval.core.terminal import render_table

BAR = 0.9
RATES = (0.9, 0.85, 0.75, 0.97)
PEERS = {
    "sigmaeval": "sigmaeval-framework 0.1.3",
    "agentcheck": "agentcheck-pytest-plugin 0.1.0",
    "agentassay": "agentassay 0.2.3",
    "evalsig": "evalsig 0.1.2",
    "claque": "claque 0.0.1",
}
Counts = tuple[int, ...]
State = tuple[int, Counts]
Gate = tuple[str, Callable[[float], tuple[float, float]]]  # its name; the chance of a pass and the trials, by the rate
HEADERS = ("gate", *(f"passes at {rate:.0%}" for rate in RATES), f"trials at {RATES[-1]:.0%}")


def of_trials(rate: float) -> Mapping[Counts, float]:
    """Return the chance of each change of (misses)."""
    return {(0,): rate, (1,): 1 - rate}


def of_pairs(rate: float) -> Mapping[Counts, float]:
    """Return the chance of each change of (better, worse) than an app at the bar."""
    better, worse = rate * (1 - BAR), (1 - rate) * BAR
    return {(0, 0): 1 - better - worse, (1, 0): better, (0, 1): worse}


OUTCOMES = {"trials": of_trials, "pairs": of_pairs}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A gate: a run ends at a state (trials, counts) of `passes` or `ends`, or at trial n_max."""

    name: str
    n_max: int
    passes: frozenset[State]
    ends: frozenset[State] = frozenset()
    outcomes: Callable[[float], Mapping[Counts, float]] = of_trials

    def walk(self, rate: float) -> tuple[float, float]:
        """Return the chance of a pass, and the trials taken on average, for an app of this rate."""
        outcomes = self.outcomes(rate)
        over, passed, trials = self.passes | self.ends, 0.0, 0.0
        going: dict[Counts, float] = {tuple(0 for _ in next(iter(outcomes))): 1.0}
        for n in range(self.n_max + 1):
            passed += sum(chance for counts, chance in going.items() if (n, counts) in self.passes)
            going = {counts: chance for counts, chance in going.items() if (n, counts) not in over}
            trials += sum(going.values()) if n < self.n_max else 0.0
            going = _after(going, outcomes)
        return passed, trials


def _after(going: Mapping[Counts, float], outcomes: Mapping[Counts, float]) -> dict[Counts, float]:
    """Return the chances of all counts one trial later."""
    after: defaultdict[Counts, float] = defaultdict(float)
    for counts, chance in going.items():
        for change, likely in outcomes.items():
            after[tuple(map(sum, zip(counts, change, strict=True)))] += chance * likely
    return after


def at_the_end(name: str, n: int, most_misses: int) -> Rule:
    """Return the gate that looks once, after n trials."""
    return Rule(name=name, n_max=n, passes=frozenset((n, (misses,)) for misses in range(most_misses + 1)))


def by_threshold() -> list[Rule]:
    """Return the gates of tools that compare what was observed with a threshold; known from what they document."""
    share = "at least 90% of the trials observed good (promptfoo's pass rate threshold with --repeat)"
    every = "every trial good (DeepEval's assert_test, each test case by its threshold)"
    observed = [at_the_end(f"{share}, {n}", n, n - ceil(BAR * n - 1e-9)) for n in (10, 20)]
    return [*observed, *(at_the_end(f"{every}, {n}", n, 0) for n in (1, 10))]


def ours(n_max: int) -> Gate:
    """Return our gate, whose design knows both figures exactly."""
    plan = ProportionEvaluator(min_proportion=BAR, significance_level=0.05).plan(n_max, stop="fewest")

    def walk(rate: float) -> tuple[float, float]:
        found = plan.characteristics(rate)
        return found.prob_pass, found.expected_n

    return f"simeval {__version__}: sample_size={n_max}", walk


def of_peer(name: str, python: str) -> list[Rule]:
    """Return the gates of a peer, as its package in another interpreter says."""
    script = Path(__file__).with_name("peer_rules.py")
    done = subprocess.run([python, str(script), name], capture_output=True, text=True, timeout=600, check=True)
    said: Mapping[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return [
        Rule(
            name=f"{said['package']} {said['version']}: {each['rule']}",
            n_max=each["n_max"],
            passes=frozenset((n, tuple(counts)) for n, *counts in each["passes"]),
            ends=frozenset((n, tuple(counts)) for n, *counts in each["ends"]),
            outcomes=OUTCOMES[each["of"]],
        )
        for each in said["rules"]
    ]


def table(gates: Sequence[Gate]) -> str:
    """Return the chances of all gates."""
    rows = []
    for name, walk in gates:
        found = [walk(rate) for rate in RATES]
        rows.append([name, *(f"{passed:.3f}" for passed, _ in found), f"{found[-1][1]:.0f}"])
    return render_table(HEADERS, rows, widths=())


def main() -> None:
    """Print the chances of all gates that can be asked here."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = ", ".join(f"{name} ({versioned})" for name, versioned in PEERS.items())
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON", help=f"one of {known}")
    peers = dict(peer.split("=", 1) for peer in parser.parse_args().peer)
    print(f"chance of a pass by the app's true rate, where {BAR:.0%} is asked for; exact")
    asked = [rule for name, python in peers.items() for rule in of_peer(name, python)]
    print(table([ours(30), ours(100), *((each.name, each.walk) for each in [*by_threshold(), *asked])]))
    for name in PEERS.keys() - peers:
        print(f"{PEERS[name]}: not asked; give --peer {name}=PYTHON, an interpreter that has it")


if __name__ == "__main__":
    main()
