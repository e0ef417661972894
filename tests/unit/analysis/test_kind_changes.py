"""Kinds of misses in two runs: which are new, gone, rarer or more frequent."""

import json
from collections.abc import Sequence
from dataclasses import replace

from simeval.analysis.comparison import compare
from simeval.analysis.comparison_report import Comparison, comparison_markdown, encode_comparison
from simeval.core.trial import Score
from simeval.evaluators.scores import SuccessRateEvaluator
from simeval.results.suite import SuiteResult, encode_suite, with_shares
from simeval.stats.paired import mcnemar
from tests.support.records import RUN, result

RULE = (SuccessRateEvaluator(min_proportion=0.5),)
PRICE, POLICY = "The total price is wrong: it is {} euros.", "The cancellation policy is never mentioned."


def run(reasons: Sequence[str], *, run_id: str, seed: int = RUN.seed) -> SuiteResult:
    """Return a run whose trials missed their requirement for these reasons, or met it where they are empty."""
    scores = [Score(value=1 if reason else 10, reasoning=reason) for reason in reasons]
    about = replace(RUN, run_id=run_id, seed=seed)
    return SuiteResult((with_shares(replace(result(("it works", RULE, scores)), run=about)),), about)


def found(comparison: Comparison) -> list[tuple[str, int, int]]:
    return [(each.finding, each.before, each.now) for each in comparison.kinds]


def test_a_kind_is_new_gone_rarer_or_as_before() -> None:
    before = run(
        [*["rule a is broken"] * 12, *["rule b is broken"] * 3, *["rule c is broken"] * 2, *[""] * 23], run_id="a"
    )
    now = run(
        [*[""] * 12, *["rule d is broken"] * 4, *["rule c is broken"] * 2, *[""] * 21, "rule a is broken"], run_id="b"
    )

    comparison = compare(before, now)

    assert found(comparison) == [("new", 0, 4), ("fewer", 12, 1), ("gone", 3, 0), ("unclear", 2, 2)]
    assert comparison.kinds[1].p_value == 4 * mcnemar(1, 12).p_two_sided


def test_free_reasons_are_matched_by_their_words() -> None:
    before = run([*[PRICE.format(each) for each in range(100, 106)], *[POLICY] * 3, ""], run_id="a")
    now = run([*[""] * 7, "The price that is quoted, 300, is not the right total.", POLICY, ""], run_id="b", seed=8)

    comparison = compare(before, now)

    assert sorted(found(comparison)) == [("unclear", 3, 1), ("unclear", 6, 1)]


def test_kinds_of_results_that_have_none_are_made_of_their_conversations() -> None:
    before, now = run(["rule a is broken"] * 8, run_id="a"), run([""] * 8, run_id="b")
    older = json.loads(json.dumps(encode_suite(list(before), before.run, version="1")))
    del older["scenarios"][0]["expectations"][0]["kinds"]

    assert found(compare(older, now)) == [("gone", 8, 0)]


def test_texts_markdown_and_json_have_what_changed() -> None:
    comparison = compare(run(["rule a is broken"] * 8, run_id="a"), run(["rule b is broken"] * 8, run_id="b"))

    said = "A scenario: it works: rule b is broken: 0 of 8 before, 8 of 8 now, p = 0.016"
    assert f"  new: {said}" in comparison.text()
    assert f"- new: {said}" in comparison_markdown(comparison)
    assert [each["finding"] for each in encode_comparison(comparison)["kinds"]] == ["new", "gone"]
