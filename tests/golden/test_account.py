"""Every recorded case of the original systems is tested somewhere, or it is said why not."""

import pytest

from tests.golden import (
    test_alignment,
    test_audacia,
    test_documented,
    test_experiments,
    test_graded,
    test_langsmith,
    test_sentiment,
    test_weave,
)
from tests.support.golden_cases import cases_in, ids

TESTED = {
    "weave": [
        test_weave.COVERED,
        test_graded.COVERED["weave"],
        test_experiments.COVERED["weave"],
    ],
    "langsmith": [
        test_langsmith.COVERED,
        test_graded.COVERED["langsmith"],
        test_experiments.COVERED["langsmith"],
    ],
    "alignmenter": [test_alignment.COVERED["alignmenter"]],
    "alignmenter_casestudy": [test_alignment.COVERED["alignmenter_casestudy"]],
    "audacia": [test_audacia.COVERED, test_sentiment.COVERED["audacia"]],
    "documented": [
        test_alignment.COVERED["documented"],
        test_documented.COVERED,
        test_graded.COVERED["documented"],
        test_sentiment.COVERED["documented"],
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
    groups = [group & cases for group in (*TESTED[name], *ELSEWHERE[name].values())]

    assert frozenset[str]().union(*groups) == cases
    assert sum(map(len, groups)) == len(cases)
