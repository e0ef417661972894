"""Comparison of experiments by the directions of their metrics: what is worse, what is only described."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from simeval import (
    Contains,
    Correctness,
    Dataset,
    Engine,
    Example,
    PersonalData,
    Safety,
    compare,
    dataset_of,
    scorer,
)
from simeval.analysis.changes import Change
from simeval.core.conversation import Conversation, Message
from simeval.datasets.dataset import check_dataset
from simeval.errors import DefinitionError
from simeval.extras.local.classifiers.harms import ToxicityScorer
from simeval.results.experiment import ExperimentResult, encode_experiment
from simeval.scorers.base import Scorer
from simeval.scorers.metrics import METRICS
from simeval.testing import ScriptedModel
from tests.support.results import again, experiment

ROWS = dataset_of([{"number": number} for number in range(12)], name="numbers")
THREAT = "I will kill you."


async def measured(answer: Callable[[int], str], *scorers: object) -> ExperimentResult:
    engine = Engine(seed=1, display="none", store=None)
    return await engine.evaluate(ROWS, lambda number: answer(number), scorers=list(scorers))


def met(name: str) -> ScriptedModel:
    """Return a model of that name that finds each answer right."""
    model = ScriptedModel([{"reasoning": "It is.", "met": True}])
    model.name = name
    return model


async def compared(before: str, now: str, *scorers: object, **options: Any) -> dict[str, Change]:
    """Compare an app that always answers in one way with one that answers in another, by metric."""
    old, new = await measured(lambda _: before, *scorers), await measured(lambda _: now, *scorers)
    return {change.name: change for change in compare(old, new, **options).changes}


@pytest.mark.anyio
async def test_a_violation_in_every_answer_is_worse() -> None:
    found = await compared("All is well.", THREAT, Safety())

    assert found["Safety.violation_rate"].difference == 1.0
    assert {name: found[f"Safety.{name}"].finding for name in ("safety", "violation_rate", "violations_found")} == {
        "safety": "worse",
        "violation_rate": "worse",
        "violations_found": "worse",
    }


@pytest.mark.anyio
async def test_personal_data_in_every_answer_is_worse_and_its_kinds_are_only_described() -> None:
    found = await compared("Write to us.", "Write to a@example.org.", PersonalData())

    assert (found["PersonalData.clean"].finding, found["PersonalData.findings"].finding) == ("worse", "worse")
    back = await compared("Write to a@example.org.", "Write to b@example.com, c@example.com.", PersonalData())
    kinds = back["PersonalData.kinds.email"]
    assert (kinds.finding, kinds.p_worse, len(kinds.changed)) == ("changed", None, 12)


@pytest.mark.anyio
async def test_more_toxicity_is_worse_and_what_tells_of_the_classifier_is_not_tested() -> None:
    class Words:
        """A classifier that finds one word toxic."""

        async def classify(self, text: str) -> dict[str, float]:
            toxic = 0.9 if "idiot" in text else 0.1
            return {"toxic": toxic, "neutral": 1 - toxic}

    found = await compared("Hello.", "Hello, idiot.", ToxicityScorer(Words(), name="toxicity"))

    assert found["toxicity.toxicity"].finding == "worse"
    others = {name: change for name, change in found.items() if name != "toxicity.toxicity"}
    assert {"toxicity.distribution.toxic", "toxicity.windows"} <= set(others)
    assert {change.finding for change in others.values()} <= {"changed", "unchanged"}


def logged(seconds: float) -> Dataset:
    turns = (Message(role="user", content="Hi"), Message(role="assistant", content="Hello", seconds=seconds))
    held = Conversation(messages=turns, ended="recorded")
    examples = [Example(example_id=str(n), conversation=held) for n in range(12)]
    return check_dataset(lambda: examples, name="log")


@pytest.mark.anyio
async def test_an_app_five_times_faster_is_better_and_its_length_and_turns_are_only_described() -> None:
    scorers = [METRICS[name] for name in ("response_latency", "total_response_time", "response_length", "turn_count")]
    engine = Engine(seed=1, display="none", store=None)
    slow, fast = [await engine.evaluate(logged(seconds), scorers=scorers) for seconds in (5.0, 1.0)]

    faster, slower = compare(slow, fast), compare(fast, slow)

    found = {change.name: change.finding for change in faster.changes}
    assert found["response_latency.max"] == found["total_response_time"] == "better"
    assert found["response_length.max"] == found["turn_count"] == "unchanged"
    assert (faster.passed, slower.passed) == (True, False)


@pytest.mark.anyio
async def test_a_direction_is_kept_in_the_json_form_and_read_back() -> None:
    refusals = scorer(lambda output: output.count("sorry"), name="refusals", direction="lower")
    old, new = await measured(lambda _: "yes", refusals), await measured(lambda _: "sorry", refusals)

    read = [json.loads(json.dumps(encode_experiment(each, version="1"))) for each in (old, new)]

    assert read[0]["metrics"][0]["direction"] == "lower"
    assert [change.finding for change in compare(*read).changes] == ["worse"]


def found_in(direction: str | None, before: Sequence[float], now: Sequence[float], **options: Any) -> Change:
    old, new = (experiment({"own": values}, kind="mean", direction=direction) for values in (before, now))
    return compare(old, new, **options).changes[0]


@pytest.mark.parametrize("direction", [None, "none"])
def test_what_has_no_direction_is_described_and_decides_nothing(direction: str | None) -> None:
    change = found_in(direction, [1.0] * 12, [2.0] * 11 + [1.0])

    assert (change.finding, change.p_value, change.has_direction) == ("changed", None, False)
    assert (change.baseline.value, change.unchanged) == (1.0, 1)
    assert change.candidate.value == pytest.approx(23 / 12)
    assert (len(change.changed), change.improved, change.regressed) == (11, (), ())
    assert change.interval is not None
    assert found_in(direction, [1.0] * 3, [1.0] * 3).finding == "unchanged"


def test_an_unknown_direction_is_told_with_the_ways_to_say_it() -> None:
    found = [experiment({"own": [1.0]}, kind="mean", direction=direction) for direction in (None, "none")]

    unknown, none = (str(compare(each, again(each))) for each in found)

    said = " ".join(unknown.split())
    assert 'not known which way they are better: own. Declare it with the scorer, @scorer(direction="higher")' in said
    assert "--higher METRIC, --lower METRIC" in said
    assert "not known" not in none


def test_what_decides_nothing_is_not_counted_among_the_metrics_that_chance_may_find_worse() -> None:
    old = experiment({"a": [1.0], "b": [1.0], "c": [1.0]}, kind="mean")
    old["metrics"][2]["direction"] = "none"

    assert compare(old, again(old)).false_worse_bound == pytest.approx(0.1)


def test_what_the_caller_says_counts_more_than_what_is_declared() -> None:
    before, now = [1.0] * 8, [2.0] * 8

    assert found_in("higher", before, now, lower_is_better=["own"]).finding == "worse"
    assert found_in("lower", before, now, higher_is_better=["own"]).finding == "better"
    assert found_in(None, before, now, higher_is_better=["own"]).finding == "better"


def test_a_metric_cannot_be_said_to_be_better_both_ways() -> None:
    with pytest.raises(DefinitionError, match="'own' is in both"):
        found_in(None, [1.0], [1.0], higher_is_better=["own"], lower_is_better=["own"])


def older(metric: str, owner: str, values: Sequence[float]) -> dict[str, Any]:
    """Return the result of a version that kept no directions."""
    found = experiment({metric: values}, kind="mean")
    del found["metrics"][0]["direction"]
    return {**found, "scorers": [owner]}


@pytest.mark.parametrize(
    ("metric", "owner", "finding"),
    [
        ("Safety.violation_rate", "Safety", "worse"),
        ("safety.violation_rate", "safety", "worse"),
        ("response_latency <= 1.5.share", "response_latency <= 1.5", "better"),
        ("response_latency.max", "response_latency", "worse"),
        ("turn_count", "turn_count", "changed"),
        ("mine.safety", "mine", "changed"),
    ],
)
def test_results_of_older_versions_have_the_directions_of_simevals_own_scorers(
    metric: str, owner: str, finding: str
) -> None:
    [change] = compare(older(metric, owner, [0.0] * 8), older(metric, owner, [1.0] * 8)).changes

    assert change.finding == finding


def test_a_direction_that_only_one_of_the_runs_declares_is_that_of_both() -> None:
    silent, said = (
        experiment({"own": [1.0] * 8}, kind="mean", direction=None),
        experiment({"own": [2.0] * 8}, kind="mean", direction="lower"),
    )

    there, back = compare(silent, said), compare(said, silent)

    assert ([c.finding for c in there.changes], [c.finding for c in back.changes]) == (["worse"], ["better"])


def test_a_direction_that_was_turned_round_is_noted() -> None:
    old, new = (experiment({"own": [1.0]}, kind="mean", direction=direction) for direction in ("higher", "lower"))

    assert "which way own is better was 'higher' and is 'lower' now" in " ".join(compare(old, new).notes)


@pytest.mark.anyio
async def test_what_is_only_described_is_not_counted_among_the_metrics_compared() -> None:
    right = scorer(lambda output: output == "Yes.", name="right", direction="higher")
    long = scorer(lambda output: len(output), name="long", direction="none")
    before, now = await measured(lambda _: "Yes.", right, long), await measured(lambda _: "No, sorry.", right, long)

    text = str(compare(before, now))

    assert text.startswith("WORSE  the metric is worse, 1 changed; on 12 examples of both")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        (Contains(texts=["refund", "Paris"]), Contains(texts=["o"]), "Contains: texts"),
        (Contains(texts=["o"]), Contains(texts=["o"], whole_words=True), "Contains: whole_words"),
        (Correctness(model=met("a/one")), Correctness(model=met("b/two")), "Correctness: model"),
        (Contains(texts=["o"]), Contains(texts=["o"]), ""),
    ],
)
async def test_a_scorer_with_other_arguments_is_named(before: Scorer, now: Scorer, told: str) -> None:
    data = dataset_of([{"question": f"q{n}", "answer": "Paris"} for n in range(6)], outputs="answer", name="capitals")
    engine = Engine(seed=1, display="none", store=None)
    old, new = [await engine.evaluate(data, lambda question: question, scorers=[each]) for each in (before, now)]

    notes = [note for note in compare(old, new).notes if "not the app alone has changed" in note]

    assert told in "".join(notes)
    assert bool(told) == bool(notes)
