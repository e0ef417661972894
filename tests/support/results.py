"""JSON results of runs and experiments, made up for comparisons."""

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from simeval import compare
from simeval.analysis.changes import Change

Met = Sequence[bool | None]
Values = Sequence[float | Sequence[float | None] | None]
_NUMBERS = count(1)


def share(
    met: Met,
    *,
    label: str = "helps",
    evaluator: str = "score ≥ 1 in at least 90% of conversations",
    stop: str = "never",
    n_max: int | None = None,
    excluded: Sequence[int] = (),
) -> dict[str, Any]:
    """Return an expectation with one verdict on a share."""
    size = len(met) + len(excluded) if n_max is None else n_max
    chart = {"n_max": size, "stop": stop, "met": list(met), "pass_at": [], "fail_at": [], "excluded": list(excluded)}
    return {"label": label, "scores": [], "verdicts": [{"evaluator": evaluator, "chart": chart}]}


def mean(evaluator: str = "mean at least 5", label: str = "rates") -> dict[str, Any]:
    """Return an expectation with one verdict on a mean; words without a direction leave it out."""
    sign = {"least": ">=", "most": "<="}.get(evaluator.split()[-2])
    cut = None if sign is None else {"sign": sign, "score": float(evaluator.split()[-1])}
    return {"label": label, "scores": [], "verdicts": [{"evaluator": evaluator, "chart": None, "cut": cut}]}


def scenario(
    *expectations: dict[str, Any],
    title: str = "A scenario",
    scores: Sequence[float | None] = (),
    sample_size: int | None = None,
) -> dict[str, Any]:
    trials = [
        {"index": index, "scores": {} if score is None else {"rates": {"score": score}}}
        for index, score in enumerate(scores)
    ]
    size = len(trials) if sample_size is None else sample_size
    return {
        "title": title,
        "sample_size": size,
        "trials": len(trials),
        "expectations": list(expectations),
        "conversations": trials,
    }


def run(*scenarios: dict[str, Any], seed: int = 7, run_id: str = "one", **fields: Any) -> dict[str, Any]:
    named = {"simeval": "1", "run_id": run_id, "seed": seed, "app": "app:handle", "models": {"judge": "j", "user": "u"}}
    return {**named, "conditions": {"scenarios": []}, "scenarios": list(scenarios), **fields}


def shares(before: Met, now: Met, *, seeds: tuple[int, int] = (7, 7), **options: Any) -> Change:
    """Return what becomes of one requirement whose trials ended so."""
    old = run(scenario(share(before)), seed=seeds[0])
    return compare(old, run(scenario(share(now)), seed=seeds[1], run_id="two"), **options).changes[0]


def means(
    before: Sequence[float | None], now: Sequence[float | None], evaluator: str = "mean at least 5", **new: Any
) -> Change:
    old = run(scenario(mean(evaluator), scores=before))
    return compare(old, run(scenario(mean(evaluator), scores=now), run_id="two", **new)).changes[0]


def pairs(both: int, better: int, worse: int, neither: int = 0) -> tuple[list[bool], list[bool]]:
    counted = [(True, True)] * both + [(False, True)] * better + [(True, False)] * worse + [(False, False)] * neither
    return [old for old, _ in counted], [new for _, new in counted]


def experiment(
    metrics: Mapping[str, Values],
    *,
    keys: Sequence[str] | None = None,
    kind: str = "share",
    direction: str | None = "higher",
    version: str = "v1",
    crashed: Sequence[int] = (),
    **more: Any,
) -> dict[str, Any]:
    """Return an experiment's JSON result; a value stands for one answer, a list for the repetitions of an example."""
    rows = {name: [list(v) if isinstance(v, Sequence) else [v] for v in values] for name, values in metrics.items()}
    size = len(next(iter(rows.values())))
    return {
        "simeval": "1",
        "run_id": f"run-{next(_NUMBERS)}",
        "app": "m:f",
        "dataset": {"name": "d", "version": version, "repetitions": len(next(iter(rows.values()))[0])},
        "scorers": list(metrics),
        "metrics": [{"name": name, "kind": kind, "direction": direction} for name in metrics],
        "examples": {
            "keys": list(keys) if keys else [f"k{place}" for place in range(size)],
            "values": {name: [value for row in values for value in row] for name, values in rows.items()},
            "crashed": list(crashed),
        },
        **more,
    }


def again(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result as another run has it that found the same."""
    return {**found, "run_id": f"run-{next(_NUMBERS)}"}
