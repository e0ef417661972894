"""Suites from files and modules."""

import json
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import pytest

from simeval.cli.starter_apps import SUITE
from simeval.core.setting_field import WritingStyleAxes, WritingStyleConfig, about_of
from simeval.core.settings import RetryConfig, Settings
from simeval.errors import DefinitionError, SuiteFileError
from simeval.scorers.metrics import response_latency
from simeval.suites.files import load_suite
from tests.support.suite_files import ONE, load, mistake, suite


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "suite.yaml"


def test_several_expectations_and_evaluators_can_be_written(file: Path) -> None:
    (scenario,) = load(
        file,
        """
scenarios:
  - title: First
    given: A user
    when: They ask
    then:
      - expected_behavior: It answers
        label: answers
        evaluator:
          - {type: success_rate, min_proportion: 0.9}
          - {type: rating_average, min_median_rating: 8}
      - scorer: response_latency
        score: p90
        evaluator: {type: proportion, threshold: 2, at_least: false, min_proportion: 0.9}
""",
    )

    first, second = scenario.expectations
    assert (first.label, first.expected_behavior, len(first.evaluators)) == ("answers", "It answers", 2)
    assert (second.scorer, second.score, second.expected_behavior) == (response_latency, "p90", None)


def test_defaults_of_the_file_hold_where_a_scenario_has_none_of_its_own(file: Path) -> None:
    top = "sample_size: 12\nsignificance_level: 0.1\nmax_turns: 4\n"

    (bare,) = load(file, suite(top=top))
    (own,) = load(file, suite(top=top, scenario="    sample_size: 7\n    max_turns: 2\n    significance_level: 0.01\n"))

    assert (bare.sample_size, bare.significance_level, bare.max_turns) == (12, 0.1, 4)
    assert (own.sample_size, own.significance_level, own.max_turns) == (7, 0.01, 2)


def test_without_defaults_the_engine_decides(file: Path) -> None:
    (scenario,) = load(file, suite())

    assert (scenario.sample_size, scenario.significance_level, scenario.max_turns) == (None, None, 10)


def test_a_list_at_the_top_is_a_suite(file: Path) -> None:
    assert [scenario.title for scenario in load(file, ONE + ONE.replace("First", "Second"))] == ["First", "Second"]


def test_what_init_writes_is_a_suite(file: Path) -> None:
    assert [len(scenario.expectations) for scenario in load(file, SUITE.read_text())] == [1, 1]


def test_texts_may_span_lines_and_use_any_script(file: Path) -> None:
    (scenario,) = load(file, ONE.replace("They ask", "|\n    Fragt höflich: «où?»\n    好吗"))

    assert scenario.when == "Fragt höflich: «où?»\n好吗"


def test_a_folder_is_loaded_in_the_order_of_its_names(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("c.yaml", "a.yml", "b/x.yaml", "b/notes.txt", "README.md"):
        (tmp_path / name).write_text(ONE.replace("First", name), encoding="utf-8")

    assert [scenario.title for scenario in load_suite(str(tmp_path))] == ["a.yml", "b/x.yaml", "c.yaml"]


def test_a_file_brings_settings_for_its_run(file: Path) -> None:
    written = """settings:
  seed: 7
  early_stopping: anytime
  gate: not_fail
  max_cost_usd: 2.5
  app_concurrency: null
  retry_config: {max_attempts: 2}
  writing_style_config: {axes: {tone: [Furious.]}}
"""

    found = load(file, suite(top=written))

    assert found.settings == Settings(
        seed=7,
        early_stopping="anytime",
        gate="not_fail",
        max_cost_usd=2.5,
        retry_config=RetryConfig(max_attempts=2),
        writing_style_config=WritingStyleConfig(axes=WritingStyleAxes(tone=["Furious."])),
    )


@pytest.mark.parametrize("each", fields(Settings), ids=lambda each: each.name)
def test_a_suite_may_set_what_does_not_surround_a_run(file: Path, each: "Field[Any]") -> None:
    simple: Any = each.default if isinstance(each.default, (bool, int, float, str)) else None
    text = suite(top=f"settings: {json.dumps({each.name: simple})}\n")

    if about_of(each).is_of_a_suite:
        assert load(file, text).settings == Settings(**{each.name: simple})
    else:
        assert "belongs to a run" in mistake(file, text).found


def test_a_suite_without_settings_leaves_them_to_the_engine(file: Path, module: str) -> None:
    assert load(file, ONE).settings == load_suite(f"{module}:one").settings == Settings()


def test_files_of_a_folder_set_together_what_a_run_has(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(suite(top="settings: {seed: 1, joint: true}\n"), encoding="utf-8")
    (tmp_path / "b.yaml").write_text(
        suite(top="settings: {joint: true, gate: not_fail}\n").replace("First", "Second"), encoding="utf-8"
    )

    found = load_suite(str(tmp_path))

    assert len(found) == 2
    assert found.settings == Settings(seed=1, joint=True, gate="not_fail")


def test_files_of_a_folder_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(suite(top="settings: {seed: 1}\n"), encoding="utf-8")
    (tmp_path / "b.yaml").write_text(suite(top="settings: {seed: 2, joint: true}\n"), encoding="utf-8")

    with pytest.raises(SuiteFileError) as raised:
        load_suite(str(tmp_path))

    assert (Path(raised.value.file).name, raised.value.line, raised.value.field) == ("b.yaml", 1, "settings.seed")
    assert f"found 2, and seed is 1 in {tmp_path / 'a.yaml'}; give both the same value" in str(raised.value)


def test_a_suite_takes_a_size_for_all_of_its_scenarios(file: Path) -> None:
    found = load(file, suite(top="settings: {seed: 1}\n", scenario="    sample_size: 7\n"))

    assert [each.sample_size for each in found.sized(4)] == [4]
    assert [each.sample_size for each in found.sized(None)[:1]] == [7]
    assert found.sized(4).settings == Settings(seed=1)


def test_a_file_is_loaded_by_its_path(file: Path) -> None:
    file.write_text(ONE, encoding="utf-8")

    assert [scenario.title for scenario in load_suite(str(file))] == ["First"]


MODULE = """
from simeval import Expectation, ScenarioTest, SuccessRateEvaluator

one = ScenarioTest(
    title="One", given="g", when="w",
    then=Expectation(expected_behavior="e", evaluator=SuccessRateEvaluator(min_proportion=0.9)),
)
several = [one, one]

def made():
    return [one]

class Suites:
    inner = (one,)

number = 5
texts = ["one"]

def my_scorer(output):
    return len(output)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A module in the current folder, under a name of its own for each test."""
    name = f"suites_of_test_{abs(hash(request.node.nodeid))}"
    (tmp_path / f"{name}.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return name


@pytest.mark.parametrize(("name", "count"), [("one", 1), ("several", 2), ("made", 1), ("Suites.inner", 1)])
def test_an_object_of_a_module_is_a_suite(module: str, name: str, count: int) -> None:
    assert [scenario.title for scenario in load_suite(f"{module}:{name}")] == ["One"] * count


@pytest.mark.parametrize("name", ["number", "texts"])
def test_an_object_that_is_no_suite_is_refused(module: str, name: str) -> None:
    with pytest.raises(DefinitionError, match="give a ScenarioTest, a list of them"):
        load_suite(f"{module}:{name}")


def test_a_suite_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for source in ("nothing.yaml", "nothing", str(tmp_path / "a:b.yaml")):
        with pytest.raises(DefinitionError, match="no such file or folder"):
            load_suite(source)


def test_a_folder_without_suites_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match=r"holds no \.yaml file"):
        load_suite(str(tmp_path))


def test_two_files_of_a_folder_cannot_have_one_title(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(suite(), encoding="utf-8")

    with pytest.raises(
        DefinitionError, match=r"b\.yaml, line 3, field title: the scenario 'First' is in .*a\.yaml, too; give each"
    ):
        load_suite(str(tmp_path))
