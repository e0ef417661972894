"""JSON results of runs for tests, with only what is read back."""

from collections.abc import Sequence
from typing import Any

SUCCESS = "success (rating ≥ 6) in at least 50% of conversations"


def requirement(
    label: str,
    met: Sequence[bool | None],
    *,
    scores: Sequence[float | None] | None = None,
    excluded: Sequence[int] = (),
    stop: str = "never",
    reason: str = "because",
    evaluator: str = SUCCESS,
    cut: tuple[str, float] | None = (">=", 6.0),
) -> dict[str, Any]:
    """Return an expectation with one verdict, and the scores its trials have: 9 where it is met, 2 where not."""
    trials = len(met) + len(excluded)
    counted = [index for index in range(trials) if index not in excluded]
    own = scores if scores is not None else [None if is_met is None else 9.0 if is_met else 2.0 for is_met in met]
    return {
        "label": label,
        "trials": trials,
        "verdicts": [
            {
                "evaluator": evaluator,
                "chart": {"n_max": trials, "stop": stop, "met": list(met), "excluded": list(excluded)},
                "cut": None if cut is None else {"sign": cut[0], "score": cut[1]},
            }
        ],
        "found": {
            index: {"score": score, "reasoning": reason}
            for index, score in zip(counted, own, strict=True)
            if score is not None
        },
    }


def scenario_of(title: str, *expectations: dict[str, Any]) -> dict[str, Any]:
    """Return a scenario; a trial without any score has crashed."""
    trials = max(each["trials"] for each in expectations)
    found = [
        {each["label"]: each["found"][index] for each in expectations if index in each["found"]}
        for index in range(trials)
    ]
    return {
        "title": title,
        "sample_size": trials,
        "trials": trials,
        "expectations": [{"label": each["label"], "verdicts": each["verdicts"]} for each in expectations],
        "conversations": [
            {
                "index": index,
                "turns": [
                    {"role": "user", "content": f"question {index}"},
                    *([{"role": "assistant", "content": f"answer {index}"}] if found[index] else []),
                ],
                "ended": "user" if found[index] else "app_error",
                "scores": found[index],
            }
            for index in range(trials)
        ],
    }


def run_of(*scenarios: dict[str, Any]) -> dict[str, Any]:
    """Return a run."""
    return {
        "simeval": "1.0",
        "run_id": "run-1",
        "seed": 7,
        "app": "app:handle",
        "models": {"judge": "judge/a", "user": "user/a"},
        "scenarios": list(scenarios),
    }
