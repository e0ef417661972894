"""Fields of a suite by the names that options, engines and other tools have for them."""

from pathlib import Path

import pytest

from simeval.errors import DefinitionError
from simeval.suites.files import load_suite
from simeval.suites.project import read_project

SUITE = """
samples: 30
settings: {alpha: 0.01, rpm: 9, tokensPerMinute: 500}
scenarios:
  - title: First
    given: A user
    when: They ask
    sampleSize: 40
    then:
      expectedBehavior: It answers
      evaluator: {type: rating_median, min_median_rating: 8, alpha: 0.02}
  - title: Second
    given: A user
    when: They ask
    then:
      expected_behavior: It answers
      evaluator: {type: rating_median, minMedianRating: 8}
"""
OWN = {
    "samples": "sample_size",
    "sampleSize": "sample_size",
    "alpha": "significance_level",
    "rpm": "requests_per_minute",
    "tokensPerMinute": "tokens_per_minute",
    "expectedBehavior": "expected_behavior",
    "minMedianRating": "min_median_rating",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "suite.yaml"


def test_a_field_may_have_the_name_of_its_option_or_be_in_camel_case(path: Path) -> None:
    path.write_text(SUITE)
    found = load_suite(str(path))

    own = SUITE
    for name, meant in OWN.items():
        own = own.replace(f"{name}:", f"{meant}:")
    path.write_text(own)

    wanted = load_suite(str(path))
    assert own != SUITE
    assert found.settings == wanted.settings
    assert found.scenarios == wanted.scenarios
    assert [each.sample_size for each in found] == [40, 30]


def test_a_field_that_is_there_by_both_names_is_refused(path: Path) -> None:
    path.write_text(SUITE.replace("samples: 30", "samples: 30\nsample_size: 20"))

    with pytest.raises(Exception, match="there is no field 'samples'"):
        load_suite(str(path))


def test_a_mistake_is_named_at_its_line_whatever_name_its_field_has(path: Path) -> None:
    path.write_text(SUITE.replace("sampleSize: 40", "sampleSize: -4"))

    with pytest.raises(DefinitionError, match=r"line 8, field scenarios\.0\.sample_size: found -4"):
        load_suite(str(path))


@pytest.mark.parametrize("name", ["expect", "expectations", "assert"])
def test_then_is_advised_for_its_names_in_other_tools(path: Path, name: str) -> None:
    path.write_text(SUITE.replace("then:", f"{name}:"))

    with pytest.raises(DefinitionError, match=f"there is no field '{name}' here; did you mean 'then'"):
        load_suite(str(path))


def test_a_judge_that_is_given_twice_is_refused_by_any_name(path: Path) -> None:
    twice = (
        "judgeModel: offline/judge\njudge: {first: offline/judge, escalate: {to: offline/other, when: cannot tell}}\n"
    )
    path.write_text(twice + SUITE)

    with pytest.raises(DefinitionError, match="leave judge_model out: judge says it"):
        load_suite(str(path))


def test_a_mistake_of_a_project_is_named_at_its_line_whatever_name_its_field_has(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.simeval]\nrpm = 9\nalpha = 3\n")

    with pytest.raises(DefinitionError, match=r"line 3, field tool\.simeval\.significance_level: found 3"):
        read_project(tmp_path)


def test_two_scenarios_of_one_title_are_refused_by_any_name_of_the_field(path: Path) -> None:
    path.write_text(SUITE.replace("title: First", "Title: Same").replace("title: Second", "title: Same"))

    with pytest.raises(DefinitionError, match="there is another scenario with the title 'Same'"):
        load_suite(str(path))
