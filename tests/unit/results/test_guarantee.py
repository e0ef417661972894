"""The error bound of a suite, in words, and what a gate lets through."""

from dataclasses import replace

import pytest

from simeval.core.setting_field import Gate
from simeval.core.terminal import printable
from simeval.core.trial import Outcome, Verdict
from simeval.evaluators.scores import ProportionEvaluator
from simeval.results.guarantee import guarantee
from simeval.results.junit import junit_xml
from simeval.results.suite import SuiteResult
from simeval.results.text import meets_gate
from tests.support.records import RUN, rated

RULE = ProportionEvaluator(min_proportion=0.9)
PASS, OPEN = RULE.evaluate([1.0] * 30), RULE.evaluate([1.0] * 20)


def test_one_pass_names_its_level() -> None:
    assert guarantee([PASS], gate="pass", joint=False) == "an app below a bar passes it with a chance of at most 5%."


def test_a_list_of_passes_names_what_is_to_be_expected_of_it() -> None:
    said = guarantee([PASS, PASS, PASS], gate="pass", joint=False)

    assert "and the whole suite with no more than that; of 3 requirements exactly at their bars, 0.15 would" in said


def test_what_cannot_pass_is_not_counted_among_what_passes_by_chance() -> None:
    two, one = ([*[PASS] * count, OPEN, OPEN] for count in (2, 1))

    assert "of the 2 requirements that can pass, exactly at their bars, 0.1 would" in guarantee(
        two, gate="pass", joint=False
    )
    assert guarantee(one, gate="pass", joint=False).endswith("and the whole suite with no more than that.")


@pytest.mark.parametrize(
    ("gate", "joint", "said"),
    [
        ("pass", False, "an app that is worse by more than the margin in a requirement passes it with a chance of at"),
        ("pass", True, "if the app is worse by more than the margin in some requirements, the chance that it passes"),
        ("not_fail", False, "an app that is no worse fails it with a chance of at most 5%; one that is worse in none"),
    ],
)
def test_of_a_comparison_the_bound_is_of_a_loss(gate: Gate, joint: bool, said: str) -> None:
    held = replace(PASS, against="another run", margin=0.05)

    assert guarantee([held, held], gate=gate, joint=joint).startswith(said)


def test_without_a_pass_there_is_nothing_to_guarantee() -> None:
    assert guarantee([OPEN], gate="pass", joint=False) == ""
    assert guarantee([], gate="pass", joint=False) == ""


def test_a_gate_that_only_a_fail_closes_names_the_chance_of_being_blocked() -> None:
    said = guarantee([PASS, OPEN, OPEN, OPEN], gate="not_fail", joint=False)

    assert "an app that meets a bar fails it with a chance of at most 5%" in said
    assert "one that meets all 4 is blocked with at most 20%" in said


def test_a_joint_claim_names_the_share_of_the_level() -> None:
    verdicts: list[Verdict] = [replace(PASS, significance_level=0.0125)] * 4

    said = guarantee(verdicts, gate="pass", joint=True)

    assert "at most 5% (each of the 4 requirements is tested at 0.0125)" in said


@pytest.mark.parametrize(
    ("outcome", "gate", "let_through"),
    [
        ("pass", "pass", True),
        ("inconclusive", "pass", False),
        ("inconclusive", "not_fail", True),
        ("fail", "not_fail", False),
        ("error", "not_fail", False),
    ],
)
def test_gates(outcome: Outcome, gate: Gate, let_through: bool) -> None:
    assert meets_gate(outcome, gate) is let_through


def test_reports_say_what_the_gate_does() -> None:
    run = replace(RUN, gate="not_fail")
    result = replace(rated(*[10.0] * 20), run=run)

    xml = junit_xml([result], run)

    assert 'failures="0"' in xml
    assert 'skipped="1"' in xml
    assert "<skipped" in xml
    assert "the scenario is inconclusive (accepted by the gate not_fail)" in str(SuiteResult((result,), run))


def test_control_characters_of_an_app_do_not_reach_the_terminal() -> None:
    assert printable("a\x1b[31mred\x07\nnext") == "a\ufffd[31mred\ufffd\nnext"
