"""Fields of a suite by the names that options, engines and other tools have for them."""

from pathlib import Path

import pytest

from simeval.suites.files import load_suite

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
