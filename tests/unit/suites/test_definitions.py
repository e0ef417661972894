"""Evaluators and scorers as suite files write them, by their types and arguments."""

from pathlib import Path
from typing import Any

import pytest

from simeval.core.faces import Registry
from simeval.evaluators.base import Evaluator
from simeval.evaluators.scores import (
    MeanEvaluator,
    ProportionEvaluator,
    QuantileEvaluator,
    RatingAverageEvaluator,
    RatingProportionEvaluator,
    SuccessRateEvaluator,
)
from simeval.extras.brand.persona import Policy
from simeval.extras.brand.safety import Safety
from simeval.extras.local.classifiers.sentiment import SentimentMatch, SentimentScorer
from simeval.scorers.base import ColumnScorer
from simeval.scorers.llm.graded import Criteria
from simeval.scorers.metrics import SCORERS, find_metric, response_length
from simeval.scorers.text.formats import JSONMatch
from simeval.scorers.text.personal_data import PersonalData
from simeval.scorers.text.similarity import Contains, RegexMatch
from simeval.scorers.text.tool_calls import ToolCallMatch
from simeval.suites.definitions import EVALUATORS, form_of_file
from simeval.suites.files import load_expectations
from tests.support.suite_files import load, mistake, suite

RULE = "{type: proportion, min_proportion: 0.9, at_least: true}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "suite.yaml"


@pytest.mark.parametrize(
    ("written", "evaluator"),
    [
        ("{type: success_rate, min_proportion: 0.9}", SuccessRateEvaluator(min_proportion=0.9)),
        (
            "{type: rating_proportion, min_rating: 8, min_proportion: 0.75}",
            RatingProportionEvaluator(min_rating=8, min_proportion=0.75),
        ),
        ("{type: rating_average, min_median_rating: 7.5}", RatingAverageEvaluator(min_median_rating=7.5)),
        ("{type: proportion, threshold: 6, min_proportion: 0.9}", ProportionEvaluator(6, 0.9)),
        (
            "{type: proportion, threshold: 2, max_proportion: 0.1, at_least: false, significance_level: 0.01}",
            ProportionEvaluator(2, max_proportion=0.1, at_least=False, significance_level=0.01),
        ),
        ("{type: quantile, at_least: 8}", QuantileEvaluator(0.5, at_least=8)),
        ("{type: quantile, quantile: 0.95, at_most: 2.5}", QuantileEvaluator(0.95, at_most=2.5)),
        ("{type: mean, at_least: 7, bounds: [1, 10]}", MeanEvaluator(at_least=7, bounds=(1, 10))),
        ("{type: mean, at_most: 7, bounds: [1, 10]}", MeanEvaluator(at_most=7, bounds=(1, 10))),
    ],
)
def test_every_evaluator_can_be_written(file: Path, written: str, evaluator: Evaluator) -> None:
    (scenario,) = load(file, suite(evaluator=written))

    assert scenario.expectations[0].evaluators == (evaluator,)


@pytest.mark.parametrize("registry", [EVALUATORS, SCORERS], ids=["evaluators", "scorers"])
def test_the_names_are_those_of_what_the_package_lists(registry: Registry) -> None:
    assert {"evaluators": 6, "scorers": 41}[registry.package.split(".")[1]] <= len(registry.names)
    assert all(registry.find(name) is not None for name in registry.names)


@pytest.mark.parametrize(
    ("name", "class_name"),
    [
        ("valid_json", "ValidJSON"),
        ("json_match", "JSONMatch"),
        ("token_f1", "TokenF1"),
        ("rouge_l", "RougeL"),
        ("sentiment", "SentimentScorer"),
        ("tool_call_match", "ToolCallMatch"),
    ],
)
def test_a_name_is_the_classes_own_in_small_letters(name: str, class_name: str) -> None:
    found = SCORERS.find(name)

    assert found is not None
    assert found.__name__ == class_name
    assert SCORERS.find_class(class_name) is found


@pytest.mark.parametrize(
    "name", ["column", "model", "function", "rubric", "turn_metric", "persona", "scorer", "nothing"]
)
def test_what_is_no_scorer_to_be_made_has_no_name(name: str) -> None:
    assert SCORERS.find(name) is None


def public(scorer: ColumnScorer) -> dict[str, object]:
    return {name: value for name, value in vars(scorer).items() if not name.startswith("_")}


def scorer_of(file: Path, written: str) -> Any:
    file.write_text(f"then:\n  scorer: {written}\n  evaluator: {RULE}\n")
    (expectation,) = load_expectations(file)
    return expectation.scorer


@pytest.mark.parametrize(
    ("written", "scorer"),
    [
        (
            "{type: contains, texts: [refund, return label]}",
            Contains(name="contains", texts=["refund", "return label"]),
        ),
        (
            "{type: contains, name: polite, texts: [please, thank], at_least: 1, ignore_case: true}",
            Contains(name="polite", texts=["please", "thank"], at_least=1, ignore_case=True),
        ),
        (
            r"{type: regex_match, pattern: '\d+ days', full: true}",
            RegexMatch(r"\d+ days", name="regex_match", full=True),
        ),
        (
            "{type: criteria, criteria: {short: It is short.}, model: openai/gpt-5-nano}",
            Criteria(name="criteria", criteria={"short": "It is short."}, model="openai/gpt-5-nano"),
        ),
        (
            "{type: json_match, ignore: [id], lists: same, column_map: {reference: input}}",
            JSONMatch(name="json_match", ignore=["id"], lists="same", column_map={"reference": "input"}),
        ),
        ("{type: personal_data, kinds: [email, phone]}", PersonalData(name="personal_data", kinds=["email", "phone"])),
        (
            "{type: tool_call_match, mode: subset, overrides: {search: [query]}}",
            ToolCallMatch(name="tool_call_match", mode="subset", overrides={"search": ["query"]}),
        ),
        (
            "{type: safety, policies: [{name: refunds, severity: high, phrases: [no refunds]}]}",
            Safety(name="safety", policies=[Policy(name="refunds", severity="high", phrases=["no refunds"])]),
        ),
    ],
)
def test_a_scorer_is_written_with_its_arguments(file: Path, written: str, scorer: ColumnScorer) -> None:
    found = scorer_of(file, written)

    assert type(found) is type(scorer)
    assert public(found) == public(scorer)


def test_a_scorer_that_another_asks_is_written_in_its_place(file: Path) -> None:
    found = scorer_of(file, "{type: sentiment_match, expected: 0.5, by: {type: sentiment, model: lexicon}}")

    assert isinstance(found, SentimentMatch)
    assert isinstance(found.by, SentimentScorer)
    assert (found.expected, found.by.model) == (0.5, "lexicon")


@pytest.mark.parametrize("written", ["response_length", "response_latency <= 1.5"])
def test_a_metric_is_its_name(file: Path, written: str) -> None:
    assert scorer_of(file, written) == find_metric(written)
    assert scorer_of(file, "response_length") is response_length


@pytest.mark.parametrize("name", ["valid_json", "contains", "personal_data", "rouge_l", "helpfulness"])
def test_a_scorer_without_arguments_is_its_name(file: Path, name: str) -> None:
    found, mapped = scorer_of(file, name), scorer_of(file, f"{{type: {name}}}")

    assert found.name == mapped.name == name
    assert type(found) is type(mapped) is SCORERS.find(name)


OWN = """
from dataclasses import dataclass

from pydantic import BaseModel

from simeval import ProportionEvaluator
from simeval.scorers.base import ColumnScorer, Scorer


class Reply(BaseModel):
    answer: str


@dataclass(kw_only=True, eq=False)
class Politeness(ColumnScorer):
    words: list[str]
    least: int = 1

    def score(self, output):
        return sum(word in output for word in self.words) >= self.least


class Plain(Scorer):
    def __init__(self, limit: int = 3):
        if limit > 9:
            raise TypeError("too large a limit")
        self.limit = limit

    def score(self, output):
        return len(output) <= self.limit


@dataclass(frozen=True)
class Mostly(ProportionEvaluator):
    min_proportion: float = 0.8


def my_scorer(output):
    return len(output)
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A module of the user's own in the current folder, under a name of its own for each test."""
    name = f"definitions_of_test_{abs(hash(request.node.nodeid))}"
    (tmp_path / f"{name}.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return name


def test_a_scorer_of_ones_own_is_named_by_module_and_object(own: str, file: Path) -> None:
    assert scorer_of(file, f"{own}:my_scorer").__name__ == "my_scorer"


def test_a_class_of_ones_own_takes_its_arguments_like_simevals(own: str, file: Path) -> None:
    polite = scorer_of(file, f"{{type: '{own}:Politeness', words: [please], least: 1}}")
    plain = scorer_of(file, f"{{type: '{own}:Plain', limit: 4}}")
    (scenario,) = load(file, suite(evaluator=f"{{type: '{own}:Mostly', threshold: 6}}"))

    assert (polite.name, polite.words, polite.least) == ("Politeness", ["please"], 1)
    assert plain.limit == 4
    assert isinstance(scenario.expectations[0].evaluators[0], ProportionEvaluator)
    assert scenario.expectations[0].evaluators[0].min_proportion == 0.8


def test_what_no_file_can_hold_is_named_by_module_and_object(own: str, file: Path) -> None:
    found = scorer_of(file, f"{{type: pydantic, model: '{own}:Reply'}}")

    assert found.score(output='{"answer": "yes"}')["valid"]


@pytest.mark.parametrize(
    ("written", "field", "says"),
    [
        ("{texts: [a]}", "scorer.type", "the field is missing; add it: contains"),
        ("{nope: [a]}", "scorer.type", "types; `simeval help scorers` lists"),
        ("{metric: turn_count}", "scorer.type", "write a metric by its name alone: scorer: turn_count"),
        ("{texts: turn_count}", "scorer.type", "the field is missing; add it: contains"),
        ("{kind: contains}", "scorer.type", "the field is missing; add it: contains"),
        ("{type: contians}", "scorer.type", "found the type 'contians'; did you mean 'contains'?"),
        ("{type: 5}", "scorer.type", "found the type 5; use one of "),
        ("[5]", "scorer", "found [5]; use one of "),
        ("contian", "scorer", "found 'contian'; did you mean 'contains'?"),
        ("{type: contains, text: [a]}", "scorer.text", "there is no field 'text'; did you mean 'texts'?"),
        ("{type: contains, texts: a}", "scorer.texts", "found 'a'; give a list: [one, two]"),
        ("{type: contains, texts: [a, 5]}", "scorer.texts.1", "found 5; give a text, in quotes"),
        ("{type: contains, texts: ['']}", "scorer.texts", "found ['']; give a list of one or more texts"),
        ("{type: contains, texts: [a], at_least: 2}", "scorer.at_least", "found 2; use at most the 1 that are given"),
        ("{type: contains, at_least: 2}", "scorer.at_least", "found 2; say how many of the texts, and give them"),
        ("{type: regex_match, pattern: '('}", "scorer.pattern", "give a regular expression"),
        ("{type: regex_match}", "scorer.pattern", "the field is missing; add it"),
        ("criteria", "scorer.criteria", "the field is missing; add it"),
        ("{type: json_match, lists: alike}", "scorer.lists", "use ordered, same, superset or subset"),
        ("{type: sentiment_match, by: {type: bia}}", "scorer.by.type", "did you mean 'bias'?"),
        ("{type: pydantic, model: 5}", "scorer.model", "name an object as MODULE:OBJECT"),
        ("{type: 'math:pi'}", "scorer.type", "'math:pi' is no scorer; name a class that inherits Scorer"),
    ],
)
def test_a_mistake_in_a_scorer_is_told_with_line_and_field(file: Path, written: str, field: str, says: str) -> None:
    error = mistake(file, suite(then=f"      scorer: {written}\n", evaluator=RULE))

    assert error.field == f"scenarios.0.then.{field}"
    assert error.line == 7
    assert says in str(error)


def test_what_a_class_of_ones_own_refuses_is_told_with_line_and_field(own: str, file: Path) -> None:
    written = f"{{type: '{own}:Plain', limit: 10}}"

    error = mistake(file, suite(then=f"      scorer: {written}\n", evaluator=RULE))

    assert (error.line, error.field) == (7, "scenarios.0.then.scorer")
    assert "too large a limit" in error.found


@pytest.mark.parametrize(
    ("written", "levels"),
    [
        ("[It does not., It does.]", {"1": "It does not.", "10": "It does."}),
        (
            "{1: None of it., 6: Most of it., 10: All of it.}",
            {"1": "None of it.", "6": "Most of it.", "10": "All of it."},
        ),
    ],
)
def test_a_rubric_can_be_written_as_a_list_and_as_a_mapping(file: Path, written: str, levels: dict[str, str]) -> None:
    (scenario,) = load(file, suite(then=f"      expected_behavior: It answers\n      rubric: {written}\n"))

    assert scenario.expectations[0].levels == levels


def test_allowed_faults_of_users_are_written_in_a_file(tmp_path: Path) -> None:
    written = suite(scenario="    allowed_user_faults: [repeats_itself, empty_message]\n")

    [scenario] = load(tmp_path / "suite.yaml", written)

    assert list(scenario.allowed_user_faults) == ["repeats_itself", "empty_message"]


def test_criteria_facts_and_a_reference_are_written_in_a_file(tmp_path: Path) -> None:
    then = "      criteria: [It names the hour, It is polite]\n      reference: At nine.\n"

    [scenario] = load(tmp_path / "suite.yaml", suite(scenario="    facts: It opens at nine.\n", then=then))

    [expectation] = scenario.expectations
    assert (scenario.facts, expectation.reference) == ("It opens at nine.", "At nine.")
    assert expectation.criteria == ["It names the hour", "It is polite"]
    assert expectation.title == "It names the hour; It is polite"


@pytest.mark.parametrize(
    ("then", "says"),
    [
        ("      criteria: []\n", "give a list of one or more texts"),
        (
            "      criteria: [It is polite]\n      expected_behavior: It helps\n",
            "give one of expected_behavior, criteria",
        ),
        (
            "      criteria: [It is polite]\n      rubric: [bad, good]\n",
            "only a rating of an expected_behavior goes by",
        ),
        ("      scorer: valid_json\n      reference: At nine.\n", "only a judge reads it"),
    ],
)
def test_criteria_that_cannot_be_used_are_refused(tmp_path: Path, then: str, says: str) -> None:
    assert says in str(mistake(tmp_path / "suite.yaml", suite(then=then)))


def test_examples_can_be_written_as_an_answer_and_as_a_conversation(file: Path) -> None:
    then = (
        "      expected_behavior: It answers\n"
        "      example: Here you are.\n"
        "      counterexample: [{role: user, content: Hello}, {role: assistant, content: Go away.}]\n"
    )
    (scenario,) = load(file, suite(then=then))

    shown = scenario.expectations[0].shown_controls
    assert shown is not None
    assert [message.content for message in shown.example] == ["Here you are."]
    assert [message.content for message in shown.counterexample] == ["Hello", "Go away."]


def test_files_with_the_same_fields_share_a_form() -> None:
    one, another = {"scenarios": [], "app": "shop:answer"}, {"app": {"url": "http://127.0.0.1"}, "scenarios": [{}]}

    assert form_of_file(one) is form_of_file(another)
    assert form_of_file(one) is not form_of_file({"scenarios": []})
