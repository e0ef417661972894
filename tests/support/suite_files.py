"""Suite files for tests: written with lines put in, and read."""

from pathlib import Path

import pytest

from simeval.errors import SuiteFileError
from simeval.suites.files import Suite, load_file

ONE = """\
- title: First
  given: A user
  when: They ask
  then:
    expected_behavior: It answers
    evaluator: {type: success_rate, min_proportion: 0.9}
"""


def load(file: Path, text: str) -> Suite:
    """Write a suite file and read it."""
    file.write_text(text, encoding="utf-8")
    return load_file(file)


def mistake(file: Path, text: str) -> SuiteFileError:
    """Return the error that reading a suite ends with."""
    with pytest.raises(SuiteFileError) as raised:
        load(file, text)
    return raised.value


def suite(*, top: str = "", scenario: str = "", then: str = "", evaluator: str = "") -> str:
    """Write a suite of one scenario with lines put in; the scenario's title stands in line 3 without `top`."""
    rule = evaluator or "{type: success_rate, min_proportion: 0.9}"
    return (
        top
        + "# a suite\nscenarios:\n  - title: First\n    given: A user\n    when: They ask\n"
        + scenario
        + "    then:\n"
        + (then or "      expected_behavior: It answers\n")
        + f"      evaluator: {rule}\n"
    )
