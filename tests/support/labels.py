"""Labels that people gave to a run for tests, and what is said of the judge by them."""

from collections.abc import Sequence
from typing import Any

from simeval import agreement
from simeval.analysis.agreement_report import JudgeAgreement
from simeval.analysis.labels import Label
from tests.support.stored_runs import run_of, scenario_of

PASSES = [True] * 12 + [False] * 8  # the judge's
PEOPLE = [True] * 10 + [False] * 2 + [True] + [False] * 7  # what people say of the same trials


def labels(values: Sequence[bool | float | None], *, rater: str = "", **fields: Any) -> list[Label]:
    """Return a person's labels of the trials of a scenario `s`; None leaves a trial without."""
    return [
        Label(scenario="s", index=index, value=value, rater=rater, **fields)
        for index, value in enumerate(values)
        if value is not None
    ]


def run(*expectations: dict[str, Any]) -> dict[str, Any]:
    """Return a run of a scenario `s` with these expectations."""
    return run_of(scenario_of("s", *expectations))


def only_entry(result: Any, given: Sequence[Label], **options: Any) -> JudgeAgreement:
    """Return what is said of the judge on the only expectation that has labels."""
    (entry,) = agreement(result, given, **options).entries
    return entry
