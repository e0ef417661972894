"""Suites from files and modules."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simeval.cli.init import SUITE
from simeval.errors import DefinitionError, SuiteFileError
from simeval.evaluators.base import Evaluator
from simeval.evaluators.ratings import RatingAverageEvaluator, RatingProportionEvaluator, SuccessRateEvaluator
from simeval.evaluators.scores import MeanEvaluator, ProportionEvaluator, QuantileEvaluator
from simeval.scorers.metrics import response_latency
from simeval.suites.files import load_file, load_object, load_suite
from simeval.suites.scenario import ScenarioTest

ONE = """\
- title: First
  given: A user
  when: They ask
  then:
    expected_behavior: It answers
    evaluator: {type: success_rate, min_proportion: 0.9}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "suite.yaml"


def load(file: Path, text: str) -> list[ScenarioTest]:
    file.write_text(text, encoding="utf-8")
    return load_file(file)


def mistake(file: Path, text: str) -> SuiteFileError:
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


# ---- what is loaded


@pytest.mark.parametrize(
    ("written", "evaluator"),
    [
        ("{type: success_rate, min_proportion: 0.9}", SuccessRateEvaluator(min_proportion=0.9)),
        (
            "{type: rating_proportion, min_rating: 8, min_proportion: 0.75}",
            RatingProportionEvaluator(min_rating=8, min_proportion=0.75),
        ),
        ("{type: rating_average, min_median_rating: 7.5}", RatingAverageEvaluator(min_median_rating=7.5)),
        ("{type: proportion, min_proportion: 0.9}", ProportionEvaluator(min_proportion=0.9)),
        (
            "{type: proportion, threshold: 2, max_proportion: 0.1, at_least: false, significance_level: 0.01}",
            ProportionEvaluator(2, max_proportion=0.1, at_least=False, significance_level=0.01),
        ),
        ("{type: quantile, at_least: 8}", QuantileEvaluator(0.5, at_least=8)),
        ("{type: quantile, quantile: 0.95, at_most: 2.5}", QuantileEvaluator(0.95, at_most=2.5)),
        ("{type: mean, at_least: 0.5}", MeanEvaluator(at_least=0.5)),
        ("{type: mean, at_most: 7, bounds: [1, 10]}", MeanEvaluator(at_most=7, bounds=(1, 10))),
    ],
)
def test_every_evaluator_can_be_written(file: Path, written: str, evaluator: Evaluator) -> None:
    (scenario,) = load(file, suite(evaluator=written))

    assert scenario.expectations[0].evaluators == (evaluator,)


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
    assert [len(scenario.expectations) for scenario in load(file, SUITE)] == [2, 1]


def test_texts_may_span_lines_and_use_any_script(file: Path) -> None:
    (scenario,) = load(file, ONE.replace("They ask", "|\n    Fragt höflich: «où?»\n    好吗"))

    assert scenario.when == "Fragt höflich: «où?»\n好吗"


def test_a_folder_is_loaded_in_the_order_of_its_names(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("c.yaml", "a.yml", "b/x.yaml", "b/notes.txt", "README.md"):
        (tmp_path / name).write_text(ONE.replace("First", name), encoding="utf-8")

    assert [scenario.title for scenario in load_suite(str(tmp_path))] == ["a.yml", "b/x.yaml", "c.yaml"]


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


def test_a_scorer_of_ones_own_is_named_by_module_and_object(module: str, file: Path) -> None:
    (scenario,) = load(
        file,
        suite(then=f"      scorer: {module}:my_scorer\n", evaluator="{type: proportion, min_proportion: 0.9}"),
    )

    assert scenario.expectations[0].title == "my_scorer"


@pytest.mark.parametrize(
    "reference",
    [
        "nowhere_at_all:x",
        ":x",
        "math:",
        "math",
        "math:no_such",
        "math:pi.no_such",
        ".relative:x",
        "..:x",
        "a b:c",
        "\0:x",
    ],
)
def test_an_object_that_cannot_be_imported_is_refused_with_its_name(reference: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        load_object(reference, what="app")

    assert raised.value.where == f"app {reference!r}"


@pytest.mark.parametrize("code", ["def broken(:\n", "1 / 0\n"])
def test_a_module_that_fails_while_it_is_imported_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    (tmp_path / "failing_module_of_a_test.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(DefinitionError, match="failing_module_of_a_test"):
        load_object("failing_module_of_a_test:x", what="app")


def test_a_suite_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for source in ("nothing.yaml", "nothing", str(tmp_path / "a:b.yaml")):
        with pytest.raises(DefinitionError, match="no such file or folder"):
            load_suite(source)


def test_a_folder_without_suites_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match=r"holds no \.yaml file"):
        load_suite(str(tmp_path))


# ---- mistakes


@pytest.mark.parametrize(
    ("text", "line", "field", "says"),
    [
        (suite(scenario="    titel: x\n"), 6, "scenarios.0.titel", "did you mean 'title'"),
        (suite(top="samples: 5\n"), 1, "samples", "there is no field"),
        (suite(evaluator="{type: success_rate, min_proportion: 0.9, alpha: 0.1}"), 8, "alpha", "there is no field"),
        (suite().replace("    given: A user\n", ""), 3, "scenarios.0.given", "missing"),
        (suite(evaluator="{type: success_rate}"), 8, "min_proportion", "missing"),
        (
            suite(evaluator="{min_proportion: 0.9}"),
            8,
            "scenarios.0.then.evaluator.type",
            "the field is missing; add it: one of 'success_rate', 'rating_proportion', 'rating_average', 'proportion', "
            "'quantile', 'mean'.",
        ),
        (
            suite(evaluator="[{min_proportion: 0.9}]"),
            8,
            "scenarios.0.then.evaluator.0.type",
            "the field is missing; add it: one of 'success_rate'",
        ),
        (
            suite(evaluator="{type: success_rate, min_proportion: 0.9, early_stopping: maybe}"),
            8,
            "scenarios.0.then.evaluator.early_stopping",
            "found 'maybe'; use true, false or anytime.",
        ),
        (suite(evaluator="{type: magic}"), 8, "scenarios.0.then.evaluator", "'success_rate'"),
        (suite(evaluator="success_rate"), 8, "scenarios.0.then.evaluator", "success_rate"),
        (suite(scenario="    sample_size: many\n"), 6, "scenarios.0.sample_size", "found 'many'"),
        (suite(scenario="    sample_size: 2.5\n"), 6, "scenarios.0.sample_size", "integer"),
        (suite(scenario="    sample_size: 0\n"), 6, "scenarios.0.sample_size", "greater than or equal to 1"),
        (suite(scenario="    max_turns: true\n"), 6, "scenarios.0.max_turns", "integer"),
        (suite(scenario="    significance_level: 5\n"), 6, "scenarios.0.significance_level", "less than 0.5"),
        (suite(top="sample_size: -1\n"), 1, "sample_size", "greater than or equal to 1"),
        (suite().replace("title: First", "title: ''"), 3, "scenarios.0.title", "at least 1 character"),
        (suite().replace("title: First", "title: [First]"), 3, "scenarios.0.title", "string"),
        (suite().replace("title: First", "title: 5"), 3, "scenarios.0.title", "string"),
        (suite(evaluator="{type: success_rate, min_proportion: 90}"), 8, "evaluator", "strictly between 0 and 1"),
        (suite(evaluator="{type: success_rate, min_proportion: high}"), 8, "min_proportion", "number"),
        (suite(evaluator="{type: proportion}"), 8, "evaluator", "either min_proportion or max_proportion"),
        (suite(evaluator="{type: quantile, at_least: 1, at_most: 2}"), 8, "evaluator", "either at_least or at_most"),
        (suite(evaluator="{type: mean, at_least: 7}"), 8, "evaluator", "finite lowest and highest score"),
        (suite(evaluator="[]"), 7, "scenarios.0.then", "one or more evaluators"),
        (suite(then="      scorer: speed\n"), 7, "scenarios.0.then", "response_latency, response_length"),
        (suite(then="      scorer: speed\n"), 7, "then", "METRIC <= NUMBER (for response_latency and response_length)"),
        (suite(then="      scorer: response_latency <= abc\n"), 7, "then", "found 'abc' as the number"),
        (suite(then="      scorer: response_latency <= -1\n"), 7, "then", "found '-1' as the number"),
        (suite(then="      scorer: response_latency <=\n"), 7, "then", "found '' as the number"),
        (suite(then="      scorer: response_latency < 3\n"), 7, "then", "found the sign '<'"),
        (suite(then="      scorer: turn_count < 3\n"), 7, "then", "one of response_latency and response_length"),
        (suite(then="      scorer: no_such_module:x\n"), 7, "scenarios.0.then", "importing it failed"),
        (suite(then="      scorer: .relative:x\n"), 7, "scenarios.0.then", "MODULE:OBJECT"),
        (suite(then="      label: nothing\n"), 7, "scenarios.0.then", "either expected_behavior or scorer"),
        ("scenarios: []\n", 1, "scenarios", "at least 1 item"),
        ("# nothing\nsample_size: 5\n", 2, "scenarios", "missing"),
        (ONE + "- just a text\n", 7, "1", "found 'just a text'"),
        (ONE + ONE.replace("  when: They ask\n", ""), 7, "1.when", "missing"),
    ],
)
def test_a_mistake_is_told_with_file_line_and_field(file: Path, text: str, line: int, field: str, says: str) -> None:
    error = mistake(file, text)

    assert says.lower() in str(error).lower()
    assert field in error.field
    assert (error.file, error.line) == (str(file), line)


def test_a_mistake_in_the_second_of_many_scenarios_is_told_at_its_own_line(file: Path) -> None:
    text = ONE + ONE.replace("0.9", "1.5")

    error = mistake(file, text)

    assert error.line == 12
    assert error.field == "1.then.evaluator"


def test_a_mistake_in_one_of_several_evaluators_is_told_at_its_own_line(file: Path) -> None:
    rules = (
        "\n        - {type: success_rate, min_proportion: 0.9}\n        - {type: rating_average, min_median_rating: 11}"
    )

    error = mistake(file, suite(evaluator=rules))

    assert error.line == 10
    assert "min_median_rating" in str(error)


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n", "null\n", "5\n", "text\n", "[]\n", "{}\n"])
def test_a_file_without_scenarios_is_refused(file: Path, text: str) -> None:
    assert mistake(file, text).line in (1, 2, 3)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("scenarios:\n  - title: First\n   given: x\n", 3),
        ("scenarios: [\n", 2),
        ("a: 'open\n\n", 3),
        ("ok: 1\nbad: *nowhere\n", 2),
        ("ok: 1\n\tbad: 1\n", 2),
        ("ok: !!python/object:os.system x\n", 1),
        ("---\na: 1\n---\nb: 1\n", 3),
        ("? [a]\n: b\n", 1),
    ],
)
def test_what_is_not_yaml_is_told_with_its_line(file: Path, text: str, line: int) -> None:
    error = mistake(file, text)

    assert "not YAML" in str(error)
    assert error.line == line


def test_a_key_that_is_written_twice_is_refused(file: Path) -> None:
    error = mistake(file, suite(scenario="    when: They complain\n"))

    assert error.line == 6
    assert "when" in str(error)


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe\xfa",
        b"\x00",
        b"title: \x07",
        b"a: 2001-99-99\n",
        b"a: !!int many\n",
        b"a: " + b"9" * 5000 + b"\n",
        b"&a [*a]\n",
        b"scenarios: &a [*a]\n",
        b"scenarios: &a\n  - *a\n",
        b"[" * 5000,
        b"{a: " * 2000,
        b"- " * 3000 + b"x",
        b"? ? ? ?",
        b"a: !!timestamp x\n",
        b"<<: 5\n",
        b"a: !!binary '*'\n",
        b"1: 2\n",
        b"null: 2\n",
        b"true: 2\n",
        b"a: 1:99:99\n",
        b"a: !!float x\n",
        b"=: x\n",
        b"a: =\n",
    ],
)
def test_a_strange_file_is_refused_like_any_other(file: Path, content: bytes) -> None:
    file.write_bytes(content)

    with pytest.raises(DefinitionError):
        load_file(file)


@settings(max_examples=150)
@given(st.one_of(st.binary(max_size=200), st.text(st.sampled_from(list("-:[]{}&*!|>'\"#%@,?=\n ab1.")), max_size=60)))
def test_any_bytes_are_a_suite_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes | str) -> None:
    file = tmp_path_factory.getbasetemp() / "fuzz.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())

    with pytest.raises(DefinitionError):
        load_file(file)


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from(["", "x", "success_rate", "a:b", ".:x", "mean"]),
)
KEYS = st.sampled_from(
    [
        "scenarios",
        "title",
        "given",
        "when",
        "then",
        "evaluator",
        "type",
        "min_proportion",
        "scorer",
        "bounds",
        "at_least",
    ]
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=20,
)


@settings(max_examples=150)
@given(TREES, st.sampled_from(["suite", "scenario", "then", "evaluator"]))
def test_any_tree_in_any_place_is_refused_with_a_line(
    tmp_path_factory: pytest.TempPathFactory, tree: Any, place: str
) -> None:
    import yaml

    rule = {"type": "success_rate", "min_proportion": 0.9}
    then = {"expected_behavior": "x", "evaluator": tree if place == "evaluator" else rule}
    scenario = {"title": "t", "given": "g", "when": "w", "then": tree if place == "then" else then}
    whole = tree if place == "suite" else [tree if place == "scenario" else scenario]
    file = tmp_path_factory.getbasetemp() / "tree.yaml"
    file.write_text(yaml.safe_dump(whole), encoding="utf-8")

    try:
        loaded = load_file(file)
    except SuiteFileError as error:
        line, do = error.line, error.do
    else:
        line, do = 1, loaded[0].title
    assert line >= 1
    assert do
