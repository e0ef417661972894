"""Replies in the form that is asked of each role."""

from collections.abc import Mapping, Sequence
from typing import Any

from simeval.core.conversation import UserFaultKind


def user_reply(message: str, *, goes_on: bool = False) -> dict[str, Any]:
    """Return a simulated user's next message; unless the user `goes_on`, the answer to it satisfies.

    Given again after that answer, the same reply is how the user leaves, without another word.
    """
    return {"status": "open" if goes_on else "satisfied", "message": message}


def judge_reply(score: float, reasoning: str = "It did what was expected.") -> dict[str, Any]:
    """Return a judge's rating, from 1 to 10."""
    return {"reasoning": reasoning, "score": score}


def rubric_reply(levels: Mapping[int, str] | None = None, *, near_misses: Sequence[str] = ()) -> dict[str, Any]:
    """Return a rubric: the texts of its levels 1 to 10, or plain ones; with near misses, if any are given."""
    texts = levels or {level: f"Does {level} tenths of it." for level in range(1, 11)}
    found = {"levels": {str(level): text for level, text in texts.items()}}
    return {**found, "near_misses": {str(n): text for n, text in enumerate(near_misses, 1)}} if near_misses else found


def audit_reply(*faults: UserFaultKind, reasoning: str = "The user did its part.") -> dict[str, Any]:
    """Return an auditor's findings on a simulated user: the names of its faults."""
    return {"reasoning": reasoning, "faults": list(faults)}


def proposal_reply(*titles: str, quote: str = "") -> dict[str, Any]:
    """Return scenarios with these titles, or one, each of which tests something else."""
    named = titles or ("Opening hours",)
    return {
        "scenarios": [
            {
                "title": title,
                "given": "A customer",
                "when": f"The user asks about {title}",
                "expected_behavior": f"The assistant explains {title}",
                "counterexample": "I do not know.",
                "quote": quote,
            }
            for title in named
        ]
    }
