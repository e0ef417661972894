"""Every recorded case of the original systems is tested somewhere, or it is said why not."""

import pytest

from tests.unit import (
    test_golden_alignment,
    test_golden_audacia,
    test_golden_documented,
    test_golden_experiments,
    test_golden_graded,
    test_golden_langsmith,
    test_golden_sentiment,
    test_golden_weave,
)
from tests.unit.golden_cases import cases_in, ids

TESTED = {
    "weave": [
        test_golden_weave.COVERED,
        test_golden_graded.COVERED["weave"],
        test_golden_experiments.COVERED["weave"],
    ],
    "langsmith": [
        test_golden_langsmith.COVERED,
        test_golden_graded.COVERED["langsmith"],
        test_golden_experiments.COVERED["langsmith"],
    ],
    "alignmenter": [test_golden_alignment.COVERED["alignmenter"]],
    "alignmenter_casestudy": [test_golden_alignment.COVERED["alignmenter_casestudy"]],
    "audacia": [test_golden_audacia.COVERED, test_golden_sentiment.COVERED["audacia"]],
    "documented": [
        test_golden_alignment.COVERED["documented"],
        test_golden_documented.COVERED,
        test_golden_graded.COVERED["documented"],
        test_golden_sentiment.COVERED["documented"],
    ],
}

ELSEWHERE: dict[str, dict[str, frozenset[str]]] = {
    "weave": {},
    "langsmith": {
        "scenarios: the engine simulates users itself": ids("langsmith", 48, 49, 50, 51),
    },
    "alignmenter": {},
    "alignmenter_casestudy": {},
    "audacia": {},
    "documented": {},
}


@pytest.mark.parametrize("name", TESTED)
def test_every_case_is_accounted_for_once(name: str) -> None:
    cases = cases_in(name).keys()
    if not cases:
        pytest.skip(f"no cases of {name}: the folder 'shared' is not beside the repository")

    groups = [group & cases for group in (*TESTED[name], *ELSEWHERE[name].values())]

    assert frozenset[str]().union(*groups) == cases
    assert sum(map(len, groups)) == len(cases)
