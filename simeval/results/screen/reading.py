"""A page read from the machine-readable result of a run, as `--json` writes it and a store keeps it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from simeval.core.breaches import first_answer
from simeval.core.serialization import decode_conversation
from simeval.core.usage import players
from simeval.results.screen.page import Page, ShownScenario, ShownScore, ShownTrial, roles_of
from simeval.results.text import show_rubrics


def read_page(document: Mapping[str, Any], *, only_worst: bool = False) -> Page | None:
    """Return what a screen shows of a suite's run; None for an experiment's, and of versions that kept too little.

    With `only_worst`, of conversations only those that the report of a run shows.
    """
    if "scenarios" not in document:
        return None
    usage, repeats = document["usage"]["by_role"], document.get("judge_repeats", 1)
    played = players(**document["models"], asked=usage)
    rubrics = [each.get("rubric") for scenario in document["scenarios"] for each in scenario["expectations"]]
    authors = [each["model"] for each in rubrics if each]
    try:
        return TypeAdapter(Page).validate_python(
            {
                **document,
                "roles": (*roles_of(document["app"], played, repeats), *show_rubrics(authors)),
                "usage": usage,
                "scenarios": [_scenario(each, only_worst=only_worst) for each in document["scenarios"]],
            }
        )
    except (ValidationError, KeyError):
        return None


def _scenario(found: Mapping[str, Any], *, only_worst: bool) -> ShownScenario:
    worst = {each.get("worst") for each in found["expectations"]} if only_worst else None
    held = {**found, "conversations": read_trials(found["conversations"], found["errors"], worst)}
    return TypeAdapter(ShownScenario).validate_python(held)


def read_trials(
    conversations: Sequence[Mapping[str, Any]],
    errors: Sequence[Mapping[str, Any]] = (),
    wanted: Collection[object] | None = None,
) -> dict[int, ShownTrial]:
    """Return trials by their places, by default all; `errors` is what went wrong, each with its trial."""
    said: dict[int, list[str]] = {}
    for each in errors:
        said.setdefault(each["index"], []).append(each["error"])
    return {
        each["index"]: ShownTrial(
            index=each["index"],
            conversation=decode_conversation(each),
            scores={
                label: ShownScore(
                    score.get("score"), score.get("reasoning") or "", first_answer(score.get("details") or {})
                )
                for label, score in each["scores"].items()
                if "score" in score
            },
            failures=said.get(each["index"], []),
        )
        for each in conversations
        if wanted is None or each["index"] in wanted
    }
