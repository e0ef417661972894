"""A value that is compared with what an app gives is the one that is written, or is refused with its line."""

import re
from pathlib import Path
from typing import Any

import pytest

from simeval.errors import SuiteFileError
from simeval.suites import load_suite

SUITE = """
scenarios:
- title: Refunds
  given: A customer.
  when: You ask for a refund.
  facts: {facts}
  then:
  - tools: {{required: [refund], where: {{refund: {where}}}}}
    evaluator: {{type: proportion, min_proportion: 0.9}}
"""


def read(tmp_path: Path, *, where: str = "{order: A1}", facts: str = "Order A1.") -> Any:
    path = tmp_path / "suite.yaml"
    path.write_text(SUITE.format(where=where, facts=facts), encoding="utf-8")
    return load_suite(str(path))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        *(("0012", "10"), ("12:30", "750"), ("yes", "true"), ("No", "false"), ("on", "true"), ("off", "false")),
        *(("0x1F", "31"), ("1_000", "1000"), ("+491234", "491234"), ("1:30.5", "90.5")),
        ("2026-01-05 10:30:00", "2026-01-05 10:30:00"),
    ],
)
@pytest.mark.parametrize("where", ["{{order: {}}}", "{{order: {{one_of: [A1, {}]}}}}", "{{order: {{is_not: {}}}}}"])
def test_what_yaml_reads_as_another_value_is_refused(tmp_path: Path, written: str, meant: str, where: str) -> None:
    with pytest.raises(SuiteFileError) as caught:
        read(tmp_path, where=where.format(written))

    assert "suite.yaml, line 8, field scenarios.0.then.0.tools.where.refund.order" in str(caught.value)
    assert f'YAML reads {written} as {meant}; put it in quotes, "{written}", or write' in str(caught.value)


@pytest.mark.parametrize("written", ["1e3", "2.5E6", "0o14"])
def test_a_number_that_yaml_reads_as_a_text_is_refused(tmp_path: Path, written: str) -> None:
    told = f"YAML reads {written} as the text '{written}'; put it in quotes, \"{written}\", or write the number in full"
    with pytest.raises(SuiteFileError, match=re.escape(told)):
        read(tmp_path, where=f"{{order: {written}}}")


def test_all_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(SuiteFileError) as caught:
        read(tmp_path, where="{order: 0012, time: 12:30, ok: yes}")

    assert [each.field.rpartition(".")[2] for each in (caught.value, *caught.value.others)] == ["order", "time", "ok"]


AS_WRITTEN = ["'0012'", '"12:30"', "true", "false", "12", "-3", "0", "0.5", "12.50", "null", "A1", "2026-01-05"]


@pytest.mark.parametrize("written", AS_WRITTEN)
def test_what_is_read_as_it_is_written_is_taken(tmp_path: Path, written: str) -> None:
    assert len(read(tmp_path, where=f"{{order: {written}}}")) == 1


def test_a_check_of_a_script_and_a_state_are_read_so_too(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(
        "scenarios:\n- title: R\n  given: A.\n  when: B.\n  script:\n  - user: Hi\n  - check:\n      state:\n"
        "        order.code: 0012\n"
        "  then:\n    state: {order.time: 12:30}\n    evaluator: {type: proportion, min_proportion: 0.9}\n",
        encoding="utf-8",
    )

    with pytest.raises(SuiteFileError) as caught:
        load_suite(str(path))

    assert [each.line for each in (caught.value, *caught.value.others)] == [9, 11]


def test_a_word_that_is_no_value_to_compare_is_read_as_before(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(
        "scenarios:\n- title: R\n  given: A.\n  when: B.\n  then:\n    expected_behavior: It says hi.\n"
        "    controls: no\n"
        "    evaluator: {type: success_rate, min_proportion: 0.9}\n",
        encoding="utf-8",
    )

    [scenario] = load_suite(str(path))

    assert scenario.expectations[0].controls is False
