"""Directions: which way a value is better, as its scorer declares it."""

from collections.abc import Mapping
from typing import Any

import pytest

import simeval
from simeval import (
    Contains,
    Criteria,
    ExactMatch,
    JSONMatch,
    LevenshteinSimilarity,
    Moderation,
    PersonalData,
    Readability,
    RegexMatch,
    RougeL,
    Safety,
    Scorer,
    SentimentScorer,
    TokenF1,
    ToxicityMatch,
    ToxicityScorer,
    ValidJSON,
    scorer,
)
from simeval.core.direction import by_path, direction_at
from simeval.errors import DefinitionError
from simeval.scorers.metrics import METRICS, SCORERS, direction_by_name, find_metric
from simeval.scorers.returned import metrics_of
from tests.support.classifiers import Written

BASES = {"ColumnScorer", "FunctionScorer", "Gauge", "ModelScorer", "Scorer", "SummaryFunction"}
NAMED_BY_WHAT_THEY_MEASURE = {"ConversationMetric", "RubricScorer", "TurnMetric", "TurnsWithin"}
PUBLIC = [getattr(simeval.scorers, name) for name in dir(simeval.scorers)]
OWN = [kind for kind in PUBLIC if isinstance(kind, type) and issubclass(kind, Scorer)]
KNOWN = [kind for kind in OWN if SCORERS.find_class(kind.__name__) is kind]


def test_a_scorer_of_simevals_own_can_be_found_by_its_class() -> None:
    assert {kind.__name__ for kind in OWN} - {kind.__name__ for kind in KNOWN} == BASES | NAMED_BY_WHAT_THEY_MEASURE


@pytest.mark.parametrize("kind", [kind for kind in KNOWN if kind.__name__ != "EachTurn"])  # which has its scorer's
def test_every_value_that_a_scorer_of_simevals_own_names_has_a_direction(kind: type[Scorer]) -> None:
    paths = kind.paths or (kind.default_score or "",)

    assert None not in [direction_at(kind.direction, path) for path in paths]


@pytest.mark.parametrize(
    ("measuring", "columns"),
    [
        (ExactMatch(), {"output": "a", "reference": "a"}),
        (Contains(), {"output": "a", "reference": "a"}),
        (RegexMatch("a"), {"output": "a"}),
        (LevenshteinSimilarity(), {"output": "a", "reference": "b"}),
        (TokenF1(), {"output": "a b", "reference": "b"}),
        (RougeL(), {"output": "a b", "reference": "b"}),
        (ValidJSON(), {"output": "{}"}),
        (JSONMatch(), {"output": {"a": 1}, "reference": {"a": 2}}),
        (PersonalData(), {"output": "write to me@example.org"}),
        (Readability(), {"output": "The cat sat on the mat."}),
        (Safety(), {"output": "All is well."}),
        (SentimentScorer(model="lexicon"), {"output": "A lovely day."}),
    ],
)
@pytest.mark.anyio
async def test_every_number_that_is_given_has_a_direction(measuring: Scorer, columns: Mapping[str, Any]) -> None:
    found = metrics_of(await measuring.measure(columns))

    assert found
    assert [path for path in found if measuring.direction_of(path) is None] == []


@pytest.mark.parametrize(
    ("measuring", "path", "direction"),
    [
        (Safety(), "safety", "higher"),
        (Safety(), "violation_rate", "lower"),
        (Safety(), "violations_found", "lower"),
        (PersonalData(), "clean", "higher"),
        (PersonalData(), "findings", "lower"),
        (PersonalData(), "kinds.email", "none"),
        (ToxicityScorer(Written({})), "toxicity", "lower"),
        (ToxicityScorer(Written({})), "distribution.toxic", "none"),
        (ToxicityScorer(Written({})), "windows", "none"),
        (ToxicityScorer(Written({})), "truncated", "none"),
        (Moderation(), "passed", "higher"),
        (Moderation(), "flagged", "lower"),
        (Moderation(), "categories.violence", "lower"),
        (Moderation(), "scores.violence", "none"),
        (SentimentScorer(model="lexicon"), "label_map.Negative", "none"),
        (JSONMatch(), "members.city", "higher"),
        (Criteria(criteria={"short": "It is short."}), "short", "higher"),
        (METRICS["response_latency"], "p90", "lower"),
        (METRICS["total_response_time"], "", "lower"),
        (METRICS["turn_count"], "", "none"),
        (METRICS["response_length"], "max", "none"),
        (find_metric("response_latency <= 1.5"), "share", "higher"),
        (find_metric("response_latency <= 1.5"), "turns", "none"),
    ],
)
def test_directions_of_values(measuring: Scorer, path: str, direction: str) -> None:
    assert measuring.direction_of(path) == direction


@pytest.mark.parametrize(("side", "direction"), [("at_most", "lower"), ("at_least", "higher"), ("both", "none")])
def test_the_number_of_a_check_is_better_on_the_side_that_never_fails(side: Any, direction: str) -> None:
    check = ToxicityMatch(by=ToxicityScorer(Written({})), expected=0.1, side=side)

    assert [check.direction_of(path) for path in ("toxicity", "difference")] == [direction] * 2
    assert (check.direction_of("passed"), check.direction_of("expected_score")) == ("higher", "none")


def test_the_scores_parts_keep_their_directions_in_a_whole() -> None:
    whole = simeval.Alignment.direction

    assert direction_at(whole, "alignment") == "higher"
    assert direction_at(whole, "safety.violation_rate") == "lower"
    assert direction_at(whole, "stability.drift") == "none"


def test_a_scorer_that_is_told_nothing_has_no_known_direction() -> None:
    assert scorer(lambda output: 1, name="own").direction_of("") is None


def test_an_own_function_says_it_in_one_argument() -> None:
    @scorer(direction="lower")
    def refusals(output: str) -> int:
        return output.count("sorry")

    assert refusals.direction_of("") == "lower"


def test_an_own_function_says_it_by_path() -> None:
    own = scorer(lambda output: {}, name="own", direction={"cost": "lower", "cost.saved": "higher", "": "none"})

    found = [own.direction_of(path) for path in ("cost", "cost.euro", "cost.saved", "costs", "")]

    assert found == ["lower", "lower", "higher", "none", "none"]


def test_an_own_class_says_it_by_an_attribute() -> None:
    class Refusals(Scorer):
        direction = "lower"

        def score(self, output: str) -> int:
            return output.count("sorry")

    assert Refusals().direction_of("") == "lower"


def test_what_a_scorer_is_made_with_replaces_what_its_class_declares_for_that_path_only() -> None:
    found = PersonalData(direction={"kinds": "lower"})

    assert [found.direction_of(path) for path in ("kinds.email", "findings")] == ["lower", "lower"]
    assert PersonalData().direction_of("kinds.email") == "none"
    assert RegexMatch("sorry", direction="lower").direction_of("") == "lower"


@pytest.mark.parametrize("wrong", ["less", "", ["higher"], {"a": "up"}, {1: "higher"}, True])
def test_what_is_no_direction_is_refused_where_it_is_written(wrong: Any) -> None:
    with pytest.raises(DefinitionError, match='"higher" or "lower"'):
        scorer(lambda output: 1, name="own", direction=wrong)
    with pytest.raises(DefinitionError, match="scorer ExactMatch: direction"):
        ExactMatch(direction=wrong)


def test_what_is_no_direction_of_an_own_class_is_refused_before_the_run() -> None:
    class Own(Scorer):
        direction = "less"  # type: ignore[assignment]

        def score(self, output: str) -> int:
            return 1

    with pytest.raises(DefinitionError, match="scorer Own: direction"):
        Own().check()


@pytest.mark.parametrize(
    ("name", "path", "direction"),
    [
        ("Safety", "violation_rate", "lower"),
        ("safety", "violation_rate", "lower"),
        ("safety (2)", "violation_rate", "lower"),
        ("ToxicityScorer", "toxicity", "lower"),
        ("toxicity", "windows", "none"),
        ("response_latency", "max", "lower"),
        ("response_latency <= 1.5", "share", "higher"),
        ("ToxicityMatch", "passed", "higher"),
        ("my own", "safety", None),
        ("ColumnScorer", "", None),
    ],
)
def test_directions_of_simevals_own_are_known_by_name(name: str, path: str, direction: str | None) -> None:
    assert direction_by_name(name, path) == direction


def test_directions_by_path_are_written_short() -> None:
    assert by_path(higher=["a"], lower=["b"], none=[""]) == {"a": "higher", "b": "lower", "": "none"}
