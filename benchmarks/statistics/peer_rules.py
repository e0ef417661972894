"""When a peer passes, asked of its own package; run by the interpreter that has it, never imported.

PYTHON peer_rules.py NAME prints JSON: the package's version, and each rule with its states (trials, misses) at which a
run passes, and at which it ends without a pass; of pairs (pairs, better, worse). A run that reaches its last trial
without either has not passed.
"""

import json
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any, Literal

BAR = 0.9
State = Literal["pass", "end", "go on"]


def rule(name: str, n_max: int, state: Callable[[int, int], State], *, first: int = 1) -> dict[str, Any]:
    """Return a rule by the state of each number of trials, from the `first` on, and misses."""
    found = [(n, misses, state(n, misses)) for n in range(first, n_max + 1) for misses in range(n + 1)]
    return {
        "rule": name,
        "of": "trials",
        "n_max": n_max,
        "passes": [[n, misses] for n, misses, said in found if said == "pass"],
        "ends": [[n, misses] for n, misses, said in found if said == "end"],
    }


def agentcheck() -> tuple[str, list[dict[str, Any]]]:
    """@pytest.mark.agentcheck(runs=..., min_pass_rate=0.9): its test is green unless its plugin raises."""
    from pytest_agentcheck.stats import sequential_verdict

    def by(runs: int) -> Callable[[int, int], State]:
        def state(n: int, misses: int) -> State:
            found = sequential_verdict(n - misses, n, runs, BAR)
            if not found.should_stop and n < runs:
                return "go on"
            is_red = found.verdict == "FAIL" or (found.verdict == "INCONCLUSIVE" and (n - misses) / n < BAR)
            return "end" if is_red else "pass"

        return state

    name = "agentcheck-pytest-plugin"
    return name, [rule(f"min_pass_rate=0.9, runs={runs}", runs, by(runs)) for runs in (10, 20, 100)]


def agentassay() -> tuple[str, list[dict[str, Any]]]:
    """Its test against a baseline of 90%, which is to find one that is 15 points worse: cold, and warm."""
    from agentassay.efficiency.warm_start import WarmStartSPRT

    def by(successes: int, trials: int) -> Callable[[int, int], State]:
        def state(n: int, misses: int) -> State:
            known = {"prior_successes": successes + n - misses, "prior_trials": trials + n}
            said = WarmStartSPRT(theta_0=BAR, delta=0.15, **known).decision
            return "pass" if said == "accept_h0" else "end" if said == "accept_h1" else "go on"

        return state

    return "agentassay", [
        rule("WarmStartSPRT, no earlier run", 200, by(0, 0)),
        rule("WarmStartSPRT, 92 of 100 in an earlier run", 200, by(92, 100), first=0),
    ]


def evalsig() -> tuple[str, list[dict[str, Any]]]:
    """Its sequential gate on pairs: that the app is better than one that is exactly at the bar."""
    import numpy as np
    from evalsig.inference.sequential import confidence_sequence

    def is_better(pairs: int, better: int, worse: int) -> bool:
        differences = np.r_[np.zeros(pairs - better - worse), np.ones(better), -np.ones(worse)]
        return bool(confidence_sequence(differences).ci[0] > 0)

    size, first = 100, 30  # pairs, and the first that the gate looks at
    passes = [
        [pairs, better, worse]
        for pairs in range(first, size + 1)
        for better in range(pairs + 1)
        for worse in range(min(better, pairs - better + 1))
        if is_better(pairs, better, worse)
    ]
    name = f"sequential_gate, {size} pairs with an app at 90%"
    return "evalsig", [{"rule": name, "of": "pairs", "n_max": size, "passes": passes, "ends": []}]


def sigmaeval() -> tuple[str, list[dict[str, Any]]]:
    """Its test of a proportion."""
    from sigmaeval._evaluators import ProportionEvaluator

    def by(size: int) -> Callable[[int, int], State]:
        test = ProportionEvaluator(significance_level=0.05, threshold=0.5, proportion=BAR, comparison="gte")

        def state(n: int, misses: int) -> State:
            values = [1.0] * (n - misses) + [0.0] * misses
            return "pass" if n == size and test.evaluate(values)["passed"] else "go on"

        return state

    name = "sigmaeval-framework"
    return name, [rule(f"proportion_gte, sample_size={size}", size, by(size)) for size in (30, 100)]


def claque() -> tuple[str, list[dict[str, Any]]]:
    """Its gate in CI, and the interval that its report shows."""
    from types import SimpleNamespace

    from claque.ci import evaluate_gates
    from claque.stats import wilson_interval

    def gate(size: int) -> Callable[[int, int], State]:
        def state(n: int, misses: int) -> State:
            if n < size:
                return "go on"
            verdicts = [SimpleNamespace(resolved=place >= misses, scores={}) for place in range(n)]
            run: Any = SimpleNamespace(verdicts=verdicts, transcripts=verdicts)
            return "pass" if evaluate_gates(run, {"min_resolved_rate": BAR}).passed else "end"

        return state

    def interval(size: int) -> Callable[[int, int], State]:
        def state(n: int, misses: int) -> State:
            return "pass" if n == size and wilson_interval(n - misses, n).low >= BAR else "go on"

        return state

    sizes = (20, 100)
    gates = [rule(f"min_resolved_rate: 0.9, {size} conversations", size, gate(size)) for size in sizes]
    shown = [rule(f"95% interval in its report above 90%, {size}", size, interval(size)) for size in sizes]
    return "claque", [*gates, *shown]


PEERS = {each.__name__: each for each in (agentcheck, agentassay, evalsig, sigmaeval, claque)}


def main(arguments: Sequence[str]) -> None:
    """Print the rules of a peer."""
    package, rules = PEERS[arguments[0]]()
    print(json.dumps({"package": package, "version": version(package), "rules": rules}))


if __name__ == "__main__":
    main(sys.argv[1:])
