"""Names and texts of a suite file are what is written, whatever YAML or JSON make of them."""

import re
from pathlib import Path

import pytest

from simeval.errors import SuiteFileError
from simeval.suites.files import load_file
from tests.support.suite_files import suite


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "suite.yaml"


@pytest.mark.parametrize("name", ["on", "no", "3", "0x1", "1.5", "null", "~", "2027-01-31"])
def test_a_name_that_yaml_reads_as_no_text_is_told_as_it_is_written(file: Path, name: str) -> None:
    file.write_text(f"scenarios:\n  - {{title: A, given: a, when: b, {name}: 4, then: []}}\n")

    with pytest.raises(SuiteFileError, match=re.escape(f"there is no field {name!r}")):
        load_file(file)


def test_a_character_that_json_writes_as_two_halves_is_one(file: Path) -> None:
    file.write_text(suite().replace("title: First", 'title: "Power cut \\ud83d\\udd0c"'))

    [found] = load_file(file)

    assert found.title == "Power cut \N{ELECTRIC PLUG}"


def test_half_a_character_is_told_as_that(file: Path) -> None:
    file.write_text(suite().replace("title: First", 'title: "Power cut \\ud83d"'))

    with pytest.raises(SuiteFileError, match="write the character itself"):
        load_file(file)


def test_a_name_that_refers_to_a_number_is_a_text_and_the_number_stays_one(file: Path) -> None:
    file.write_text(suite(scenario="    sample_size: &n 5\n    *n : 4\n"))

    with pytest.raises(SuiteFileError, match="there is no field '5'") as raised:
        load_file(file)

    assert not raised.value.others
