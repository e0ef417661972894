"""`input` is the message that `output` answers, and the same on every road a conversation takes to a scorer."""

import inspect
import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from math import isfinite
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from simeval import (
    AppResponse,
    Conversation,
    Engine,
    Expectation,
    Message,
    ProportionEvaluator,
    ScenarioResult,
    ScenarioTest,
    Scorer,
    scorer,
)
from simeval.core.conversation import GIVEN
from simeval.core.trial import Failure, Score
from simeval.datasets.dataset import Dataset, Example, check_dataset
from simeval.datasets.files import read_dataset
from simeval.extras.importers.registry import import_log
from simeval.extras.online.evaluator import OnlineEvaluator
from simeval.models.protocol.model import Completion
from simeval.results.rows import Rows
from simeval.results.suite import encode_suite
from simeval.scorers import BiasScorer, ColumnScorer, EachTurn, Persona, PersonalData, SentimentScorer, ToxicityScorer
from simeval.scorers.base import conversation_columns, turns_of
from simeval.scorers.llm.base import ModelScorer
from simeval.scorers.metrics import SCORERS
from simeval.scorers.returned import parts_of
from simeval.store.opening import open_database
from simeval.store.runs import Runs
from simeval.store.stored_rows import answers_of
from simeval.suites.script import Step
from tests.support.classifiers import leaning
from tests.support.encoders import BagOfWords
from tests.support.experiments import engine

pytestmark = pytest.mark.anyio

TALK = {
    "What does the repair of a torn jacket cost?": ("A repair costs 20 euros.", ["A repair costs 20 euros."]),
    "When are you open on Saturday?": ("We open at 9 on Saturday.", ["Open on Saturday from 9 to 5."]),
    "Thanks, bye": ("You are welcome. Goodbye!", ["Farewell phrases of the house."]),
}
SCENARIO: Mapping[str, Any] = {
    "given": "A customer.",
    "when": "You ask for a price and the opening hours.",
    "script": [Step(user=text) for text in TALK],
    "sample_size": 2,
    "max_turns": 3,
}
READ = ("input", "output", "context")


async def handle(message: str) -> AppResponse:
    text, context = TALK[message]
    return AppResponse(text, context=context)


class Hours(BaseModel):
    opens: int


class Flags:
    """A moderation model that flags the letter Q in a text."""

    name = "flags"

    async def complete(self, request: Any) -> Completion:
        flagged = "Q" in request.text
        scores = {"letters": len(request.text) / 1000}
        return Completion(text=json.dumps({"flagged": flagged, "categories": {"letters": flagged}, "scores": scores}))

    async def close(self) -> None: ...


class Lengths:
    """A classifier that tells texts apart by their length."""

    name = "lengths"

    async def classify(self, text: str) -> Mapping[str, float]:
        return leaning(len(text) / 100)


class Rates:
    """A classifier of two labels."""

    name = "rates"

    async def classify(self, text: str) -> Mapping[str, float]:
        share = len(text) / 100
        return {"toxic": share, "non-toxic": 1 - share, "Biased": share, "Non-biased": 1 - share}


GOLDEN = ["A repair costs money.", "We open at noon.", "You are welcome to call us."]
PERSONA = Persona(id="shop", preferred=["open"], avoided=["costs"], examples=GOLDEN)

# What scorers need beside their defaults; a new one without an entry is tried as it is.
MADE: Mapping[str, Mapping[str, Any]] = {
    "alignment": {"persona": PERSONA, "encoder": BagOfWords()},
    "authenticity": {"persona": PERSONA, "encoder": BagOfWords()},
    "bias": {"model": Rates()},
    "bias_consistency": {"by": BiasScorer(Rates()), "references": GOLDEN},
    "bias_match": {"by": BiasScorer(Rates()), "expected": 0.1},
    "contains": {"texts": ["open"]},
    "context_match": {"column_map": {"reference_contexts": "first_input"}},
    "criteria": {"criteria": {"hours": "It says when the shop is open."}},
    "embedding_similarity": {"model": BagOfWords()},
    "language": {"least_letters": 3},
    "moderation": {"model": Flags()},
    "preference": {"column_map": {"baseline": "first_input"}},
    "pydantic": {"model": Hours},
    "regex_match": {"pattern": "Saturday"},
    "response_relevancy": {"encoder": BagOfWords()},
    "safety": {"persona": PERSONA},
    "sentiment": {"model": Lengths()},
    "sentiment_consistency": {"by": SentimentScorer(Lengths()), "references": GOLDEN},
    "sentiment_match": {"by": SentimentScorer(Lengths()), "expected": 0.1},
    "stability": {"encoder": BagOfWords()},
    "toxicity": {"model": Rates()},
    "toxicity_consistency": {"by": ToxicityScorer(Rates()), "references": GOLDEN},
    "toxicity_match": {"by": ToxicityScorer(Rates()), "expected": 0.1},
}


def readers() -> list[str]:
    """Return the names of all scorers that take one of the columns."""
    kinds: dict[str, Any] = {name: SCORERS.find(name) for name in SCORERS.names}
    return [name for name, kind in kinds.items() if kind and set(READ) & set(inspect.signature(kind.score).parameters)]


def made(name: str) -> Scorer:
    """Make a scorer; a reference that it wants is the user's first message."""
    kind: Any = SCORERS.find(name)
    wants = [each for each in ("reference",) if each in inspect.signature(kind.score).parameters and name != "contains"]
    model = {"model": "offline/judge"} if issubclass(kind, ModelScorer) else {}
    options = {"name": name, "column_map": dict.fromkeys(wants, "first_input"), **model, **MADE.get(name, {})}
    found: Scorer = kind(**options)
    return found


def by_scorer(rows: Rows, names: list[str]) -> dict[str, dict[str, Any]]:
    """Return what the first row holds of each scorer, by the paths of its numbers."""
    scores = next(iter(rows)).scores
    return {
        name: {
            path.removeprefix(name).removeprefix("."): each.failure.error if each.failure else each.value
            for path, each in scores.items()
            if path == name or path.startswith(f"{name}.")
        }
        for name in names
    }


async def measured(dataset: Dataset, scorers: list[Scorer]) -> dict[str, dict[str, Any]]:
    """Return what scorers measure of recorded conversations."""
    result = await engine().experiment(dataset, scorers=scorers)
    return by_scorer(result.rows, [each.name for each in scorers])


async def simulated(tmp_path: Path, scorers: list[Scorer]) -> tuple[ScenarioResult, str]:
    """Return the result of a simulation by all scorers, and where its store is."""
    store = f"sqlite:///{tmp_path / 'runs.db'}"
    then = [
        Expectation(scorer=each, label=each.name, score=first_number(each), evaluator=the_best(each))
        for each in scorers
    ]
    scenario = ScenarioTest(title="Repairs", then=then, **SCENARIO)
    return await engine(store=store, early_stopping=False).evaluate(scenario, handle), store


async def scored_live(conversation: Conversation, scorers: list[Scorer]) -> dict[str, dict[str, Any]]:
    """Return what the online evaluator measures of a conversation."""
    found: dict[str, dict[str, Any]] = {}

    def keep(name: str, score: Score | Failure, _: object) -> None:
        if isinstance(score, Failure):
            found[name] = {"": score.error}
        else:
            found[name] = dict(parts_of(score))

    async with OnlineEvaluator(scorers, on_score=keep) as online:
        online.submit(conversation)
    return found


def the_best(each: Scorer) -> ProportionEvaluator:
    """Return a requirement that fits any scorer."""
    path = first_number(each) or ""
    low, high = each.bounds_of(path) or (0, 1)
    high = high if isfinite(high) else 1
    is_lower = each.direction_of(path) == "lower"
    return ProportionEvaluator(threshold=low if is_lower else high, at_least=not is_lower, min_proportion=0.1)


def first_number(each: Scorer) -> str | None:
    of_criteria = {"criteria": "hours", "turns of criteria": "hours.min"}
    return of_criteria.get(each.name) or each.default_score or (each.paths[0] if each.paths else None)


@pytest.fixture
def scorers() -> list[Scorer]:
    """All scorers that read an input, an output or a context; of those of one answer also each turn's."""
    found = [made(name) for name in readers()]
    return [*found, *(EachTurn(each, name=f"turns of {each.name}") for each in found)]


@scorer
def shown(input: str, output: str, context: list[str], first_input: str) -> dict[str, str]:
    return {"input": input, "output": output, "context": context[0], "first_input": first_input}


ASKED = list(TALK)


class Reads(ColumnScorer):
    """Tells what it was given."""

    def score(self, input: str, output: str, context: list[str], first_input: str) -> Score:
        found = {"input": input, "output": output, "context": context[0], "first_input": first_input}
        return Score(value=1.0, reasoning=str(found))


READ_RIGHTLY = {
    "input": ASKED[1],
    "output": TALK[ASKED[1]][0],
    "context": TALK[ASKED[1]][1][0],
    "first_input": ASKED[0],
}


def is_same(told: Mapping[str, Any], again: Mapping[str, Any], first: str | None) -> bool:
    """Return whether a run's numbers are those of another road; a run names the one it concludes on by no path."""
    concluded = {first or "": told[""]}
    return told == again or {**concluded, **{path: each for path, each in told.items() if path}} == again


def failed(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [name for name, each in found.items() if isinstance(each.get(""), str)]


async def test_a_run_its_rescoring_its_export_and_the_online_evaluator_measure_the_same(
    tmp_path: Path, scorers: list[Scorer]
) -> None:
    result, store = await simulated(tmp_path, scorers)
    report = tmp_path / "run.json"
    report.write_text(json.dumps(encode_suite([result], result.run, version="1")), encoding="utf-8")
    database = open_database(store)

    told = by_scorer(result.rows, [each.name for each in scorers])
    again = await measured(answers_of(database, Runs(database).find("last")), scorers)
    imported = await measured(import_log(report).dataset, scorers)
    live = await scored_live(result.conversations[0], scorers)

    assert failed(told) == ["json_match", "turns of json_match"]  # whose reference here is no JSON
    for road in (again, imported, live):
        assert [
            each.name for each in scorers if not is_same(told[each.name], road[each.name], first_number(each))
        ] == []


async def test_a_function_reads_the_last_question_with_its_answer_and_context_on_every_road(tmp_path: Path) -> None:
    result, _ = await simulated(tmp_path, [Reads(name="shown")])
    conversation = result.conversations[0]
    dataset = check_dataset(lambda: [Example(conversation=conversation)], name="log")
    live = await scored_live(conversation, [shown])
    again = await measured(dataset, [shown])

    assert [each.reasoning for each in result.judgements[0].results if isinstance(each, Score)] == [str(READ_RIGHTLY)]
    assert live["shown"] == again["shown"] == READ_RIGHTLY


def test_an_answer_that_never_came_moves_nothing_and_a_greeting_answers_nothing() -> None:
    talk = [("assistant", "Welcome!"), ("user", "Price?"), ("assistant", "20 euros."), ("user", "And on Sunday?")]
    cut, greeted = conversation_of(talk), conversation_of(talk[:1])

    assert (cut.input, cut.output, cut.first_input) == ("Price?", "20 euros.", "Price?")
    assert (greeted.input, greeted.output) == ("", "Welcome!")
    assert [turn["input"] for turn in turns_of(cut)] == ["", "Price?"]


def test_two_answers_to_one_message_have_one_input_and_an_answer_to_two_messages_the_last() -> None:
    talk = conversation_of(
        [("user", "Hi"), ("user", "Price?"), ("assistant", "One moment."), ("assistant", "20 euros.")]
    )

    assert [(turn["input"], turn["output"]) for turn in turns_of(talk)] == [
        ("Price?", "One moment."),
        ("Price?", "20 euros."),
    ]


def test_what_a_script_answers_in_the_apps_place_is_no_answer_of_a_turn() -> None:
    talk = conversation_of([("user", "Hi"), ("assistant", "Hello"), ("user", "Price?"), ("assistant", "20 euros.")])
    given = replace(talk.messages[1], metadata={GIVEN: True})
    talk = replace(talk, messages=(talk.messages[0], given, *talk.messages[2:]))

    assert [turn["output"] for turn in turns_of(talk)] == ["20 euros."]


async def test_a_turn_without_context_does_not_get_that_of_another_turn() -> None:
    talk = conversation_of([("user", "Hi"), ("assistant", "Hello"), ("user", "Price?"), ("assistant", "20 euros.")])
    answer = replace(talk.messages[3], metadata={"context": ["20 euros"]})
    talk = replace(talk, messages=(*talk.messages[:3], answer))
    by_turn = EachTurn(scorer(lambda context: len(context)))

    found = await by_turn.measure(conversation_columns(talk))

    assert (found["turns"], found["not_measured"]) == (1, 1)


def conversation_of(said: list[tuple[Any, str]]) -> Conversation:
    return Conversation(messages=tuple(Message(role=role, content=text) for role, text in said))


@pytest.mark.anyio
async def test_a_run_that_is_scored_again_counts_the_conversations_in_which_the_app_failed(tmp_path: Path) -> None:
    talks = count()

    def flaky(message: str) -> str:
        if next(talks) % 2:
            raise RuntimeError("boom")
        return "I track orders."

    engine = Engine(store=tmp_path / "store.db", display="none", seed=1, max_error_rate=1)
    clean = Expectation(scorer=PersonalData(), score="clean", evaluator=ProportionEvaluator(min_proportion=0.7))
    run = await engine.evaluate(
        ScenarioTest(title="Orders", given="A user", when="They ask", sample_size=20, max_turns=3, then=clean), flaky
    )
    failed = [row.failure is not None for row in run.rows]
    database = open_database(tmp_path / "store.db")

    again = await engine.experiment(answers_of(database, run.run.run_id), then=clean)
    database.close()

    assert 0 < sum(failed) < 20
    assert [row.failure is not None for row in again.rows] == failed
    assert again.outcome == run.outcome != "pass"


@pytest.mark.parametrize(
    ("answered", "failed", "doubt"),
    [
        (3, 3, "3 parts of log.jsonl could not be read (first: line 1: the request has no answer: overloaded)"),
        (1, 1, "1 part of log.jsonl could not be read (first: line 1: the request has no answer: overloaded)"),
        (200, 1, ""),
        (5, 0, ""),
    ],
)
def test_of_a_log_with_many_failed_requests_the_rest_is_no_fair_sample(
    tmp_path: Path, answered: int, failed: int, doubt: str
) -> None:
    request = {"model": "m", "messages": [{"role": "user", "content": "Where is it?"}]}
    answer = {"choices": [{"message": {"role": "assistant", "content": "Here."}}]}
    log = tmp_path / "log.jsonl"
    rows = [{"request": request, "response": {"error": {"message": "overloaded"}}}] * failed
    rows += [{"request": request, "response": answer}] * answered
    log.write_text("\n".join(map(json.dumps, rows)))

    assert import_log(log).dataset.doubt == doubt


def test_a_table_of_input_and_output_may_have_an_empty_output(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("input,output\nq1,\nq2,a\n")

    assert [each.outputs["output"] for each in read_dataset(table)] == ["", "a"]
