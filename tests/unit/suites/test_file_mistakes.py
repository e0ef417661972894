"""Mistakes in suite files: each is told with file, line and field."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simeval.errors import DefinitionError, SuiteFileError
from simeval.suites.files import load_file
from tests.support.suite_files import ONE, mistake, suite


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "suite.yaml"


@pytest.mark.parametrize(
    ("text", "line", "field", "says"),
    [
        (suite(scenario="    titel: x\n"), 6, "scenarios.0.titel", "did you mean 'title'"),
        (suite(scenario="    min_trials: 5\n"), 6, "scenarios.0.min_trials", "put it under `settings`, at the top"),
        (suite(scenario="    store: a.db\n"), 6, "scenarios.0.store", "give it to the run (--store)"),
        (suite(scenario="    judge_model: x\n"), 6, "scenarios.0.judge_model", "put it at the top of the file"),
        (suite(scenario="    label: x\n"), 6, "scenarios.0.label", "put it under `then`"),
        (suite(top="trials: 5\n"), 1, "trials", "there is no field"),
        (suite(evaluator="{type: success_rate, min_proportion: 0.9, level: 0.1}"), 8, "level", "there is no field"),
        (suite().replace("    given: A user\n", ""), 3, "scenarios.0.given", "missing"),
        ("- title: A\n- given: x\n- when: y\n- then: z\n", 2, "1", "a dash begins a new scenario here"),
        (suite(evaluator="{type: success_rate}"), 8, "min_proportion", "missing"),
        (
            suite(evaluator="{min_proportion: 0.9}"),
            8,
            "scenarios.0.then.evaluator.type",
            "the field is missing; add it: one of proportion, rating_proportion, success_rate.",
        ),
        (
            suite(evaluator="[{min_proportion: 0.9}]"),
            8,
            "scenarios.0.then.evaluator.0.type",
            "the field is missing; add it: one of proportion, rating_proportion, ",
        ),
        (
            suite(evaluator="{type: success_rate, min_proportion: 0.9, early_stopping: maybe}"),
            8,
            "scenarios.0.then.evaluator.early_stopping",
            "found 'maybe'; use true, false or anytime.",
        ),
        (suite(evaluator="{type: magic}"), 8, "scenarios.0.then.evaluator.type", "or a class of yours as MODULE:CLASS"),
        (suite(evaluator="{type: sucess_rate}"), 8, "then.evaluator.type", "did you mean 'success_rate'?"),
        (suite(evaluator="{type: 'math:pi'}"), 8, "then.evaluator.type", "'math:pi' is no evaluator"),
        (
            suite(then="      expected_behavior: It answers\n      rubric: [bad]\n"),
            8,
            "scenarios.0.then.rubric",
            "give 2, 3, 5 or 10 levels",
        ),
        (
            suite(then="      expected_behavior: It answers\n      rubric: {1: It is BAD, 10: it is bad.}\n"),
            8,
            "scenarios.0.then.rubric",
            "levels 1 and 10 say the same",
        ),
        (
            suite(then="      expected_behavior: It answers\n      example: [{role: bot, content: Hello}]\n"),
            8,
            "scenarios.0.then.example",
            "each with role (user or assistant) and content",
        ),
        (suite(evaluator="success_rate"), 8, "scenarios.0.then.evaluator", "success_rate"),
        (suite(scenario="    sample_size: many\n"), 6, "scenarios.0.sample_size", "found 'many'"),
        (suite(scenario="    sample_size: 2.5\n"), 6, "scenarios.0.sample_size", "whole number"),
        (suite(scenario="    sample_size: 0\n"), 6, "scenarios.0.sample_size", "a whole number of 1 or more"),
        (suite(scenario="    max_turns: true\n"), 6, "scenarios.0.max_turns", "whole number"),
        (
            suite(scenario="    allowed_user_faults: [repeats_himself]\n"),
            6,
            "scenarios.0.allowed_user_faults",
            "repeats_itself",
        ),
        (suite(scenario="    allowed_user_faults: repeats_itself\n"), 6, "scenarios.0.allowed_user_faults", "list"),
        (suite(scenario="    significance_level: 5\n"), 6, "scenarios.0.significance_level", "between 0 and 0.5"),
        (suite(top="sample_size: -1\n"), 1, "sample_size", "a whole number of 1 or more"),
        (suite().replace("title: First", "title: ''"), 3, "scenarios.0.title", "give a text that is not empty"),
        (suite().replace("title: First", "title: [First]"), 3, "scenarios.0.title", "give a text"),
        (suite().replace("title: First", "title: 5"), 3, "scenarios.0.title", "give a text"),
        (suite(evaluator="{type: success_rate, min_proportion: 90}"), 8, "evaluator", "strictly between 0 and 1"),
        (suite(evaluator="{type: success_rate, min_proportion: high}"), 8, "min_proportion", "number"),
        (
            suite(evaluator="{type: proportion}"),
            8,
            "evaluator",
            "found neither min_proportion nor max_proportion",
        ),
        (
            suite(evaluator="{type: quantile, at_least: 1, at_most: 2}"),
            8,
            "evaluator",
            "found both at_least and at_most",
        ),
        (suite(evaluator="{type: mean, at_least: 7}"), 8, "evaluator", "give the lowest and the highest score"),
        (suite(evaluator="[]"), 8, "scenarios.0.then.evaluator", "one or more evaluators"),
        (
            suite(then="      scorer: speed\n"),
            7,
            "scenarios.0.then",
            "`simeval help scorers` lists them",
        ),
        (
            suite(then="      scorer: speed\n"),
            7,
            "then",
            "METRIC <= NUMBER (for response_latency, time_to_first_token and response_length)",
        ),
        (suite(then="      scorer: response_latency <= abc\n"), 7, "then", "found 'abc' as the number"),
        (suite(then="      scorer: response_latency <= -1\n"), 7, "then", "found '-1' as the number"),
        (suite(then="      scorer: response_latency <=\n"), 7, "then", "found '' as the number"),
        (suite(then="      scorer: response_latency < 3\n"), 7, "then", "found the sign '<'"),
        (
            suite(then="      scorer: turn_count < 3\n"),
            7,
            "then",
            "one of response_latency, time_to_first_token and response_length",
        ),
        (suite(then="      scorer: no_such_module:x\n"), 7, "scenarios.0.then", "importing it failed"),
        (suite(then="      scorer: .relative:x\n"), 7, "scenarios.0.then", "MODULE:OBJECT"),
        (
            suite(then="      label: nothing\n"),
            7,
            "scenarios.0.then",
            "one of expected_behavior, criteria, scorer, tools or state",
        ),
        (suite(top="max_turns: 0\n"), 1, "max_turns", "found 0; use a whole number of 1 or more"),
        (suite(top="settings: {concurency: 5}\n"), 1, "settings.concurency", "did you mean 'concurrency'?"),
        (suite(top="settings: {concurrency: 0}\n"), 1, "settings.concurrency", "found 0; use a whole number of 1 or"),
        (
            suite(top="settings: {concurrency: many}\n"),
            1,
            "settings.concurrency",
            "found 'many'; use a whole number, such as 30",
        ),
        (suite(top="settings:\n  seed: 1\n  gate: most\n"), 3, "settings.gate", "use pass or not_fail"),
        (suite(top="settings: {early_stopping: later}\n"), 1, "early_stopping", "use true, false or anytime"),
        (
            suite(top="settings: {retry_config: {max_attempts: 0}}\n"),
            1,
            "settings.retry_config.max_attempts",
            "found 0; use 1 or more",
        ),
        (suite(top="settings: {resume: last}\n"), 1, "settings.resume", "belongs to a run, not to a suite; give it to"),
        (
            suite(top="settings: {rubric_folder: here}\n"),
            1,
            "settings.rubric_folder",
            "a run, not to a suite; give it to Engine",
        ),
        (
            suite(top="settings: {resum: last}\n"),
            1,
            "settings.resum",
            "there is no field 'resum'; resume belongs to a run: give it to the run (--resume)",
        ),
        (suite(top="settings: 5\n"), 1, "settings", "found 5; give a mapping with sample_size, "),
        ("scenarios: []\n", 1, "scenarios", "give at least one"),
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
    text = ONE + ONE.replace("0.9", "1.5").replace("First", "Second")

    error = mistake(file, text)

    assert error.line == 12
    assert error.field == "1.then.evaluator.min_proportion"


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
        ("ok: 1\na: 'open\n\n", 2),
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


def test_a_file_in_another_encoding_is_told_so(file: Path) -> None:
    file.write_text(suite(), encoding="utf-16")

    with pytest.raises(SuiteFileError) as raised:
        load_file(file)

    assert str(raised.value) == f"{file}, line 1: it is not UTF-8 (byte 1 of the file); save it as UTF-8."


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


def test_all_mistakes_of_the_scenarios_are_told_at_once(file: Path) -> None:
    file.write_text(
        """\
scenarios:
  - title: A
    given: someone
    when: they ask
    sample_size: x
    max_turns: x
    significance_level: on
    then:
      expected_behavior: It answers
      evaluator: {type: success_rate, min_proportion: 90, min_trials: 0, min_rating: 4}
  - title: A
    given: someone
    when2: they ask
    then:
      expected_behavior: It answers
      evaluator: {type: sucess}
"""
    )

    with pytest.raises(SuiteFileError) as raised:
        load_file(file)

    told = [(each.line, each.field.rpartition(".")[2]) for each in (raised.value, *raised.value.others)]
    assert told == [
        (5, "sample_size"),
        (6, "max_turns"),
        (7, "significance_level"),
        (10, "min_rating"),
        (13, "when2"),
        (16, "type"),
    ]
    said = str(raised.value)
    assert "found True; use a number, such as 0.9: YAML reads yes, no, on and off as true and false." in said
    assert "there is no field 'min_rating'; leave it out, or use the type rating_proportion, which has it." in said
    assert "did you mean 'success_rate'?" in said
