"""A table of cases through the whole engine: who is told what, by what it is judged, and what is kept."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import unescape
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simeval
from benchmarks.statistics.cases import RATES, finds_the_pair, measure, named_for_nothing
from simeval import Expectation, ProportionEvaluator, ScenarioTest, SuiteResult, dataset_of
from simeval.analysis.merging import read_ended
from simeval.core.filling import as_text
from simeval.core.trial import Score
from simeval.errors import DefinitionError
from simeval.models.protocol.model import Request
from simeval.models.protocol.prompts import CriteriaRequest, GradeRequest, RubricRequest, UserTurn
from simeval.results.junit import junit_xml
from simeval.results.suite import encode_suite
from simeval.scorers import Contains
from simeval.scorers.base import Scorer
from simeval.store.database import Database
from simeval.store.opening import rows_at
from simeval.suites import Step
from simeval.testing import ScriptedModel, judge_reply, rubric_reply, user_reply
from tests.support.suites import SUCCESS, Engine

pytestmark = pytest.mark.anyio

ROWS = [{"nights": nights, "total": 80 * nights} for nights in (1, 2, 3, 5, 7)]
STAY = ScenarioTest(
    title="Price of {nights} nights",
    given="A guest who stays {nights} nights",
    when="They ask what {nights} nights cost",
    facts="{nights} nights cost {total} euros",
    then=Expectation(expected_behavior="Names {total} euros", reference="{total} euros", evaluator=SUCCESS),
    sample_size=12,
    max_turns=1,
    cases=ROWS,
)


def model() -> ScriptedModel:
    def user(request: Request) -> Any:
        assert isinstance(request, UserTurn)
        nights = "".join(re.findall(r"\d+", request.when))
        return user_reply("" if request.history else f"What do {nights} nights cost?")

    def judge(request: Request) -> Any:
        assert isinstance(request, GradeRequest)
        return judge_reply(9 if request.reference in request.conversation[-1].content else 2)

    between = {level: f"Nearly {{total}}: {level}" for level in range(2, 10)}
    rubric = rubric_reply({1: "Names no price.", **between, 10: "Names {total}."})
    return ScriptedModel({"user": user, "judge": judge, "rubric": [rubric]})


async def app(message: str) -> str:
    [nights] = map(int, re.findall(r"\d+", message))
    return f"That is {80 * nights - 10 * (nights > 4)} euros."


@dataclass
class Desk:
    """The app, which stops a run at its answer number `turn`."""

    turn: int = 0
    stop: Callable[[], object] = str
    answered: int = 0

    async def __call__(self, message: str) -> str:
        self.answered += 1
        if self.answered == self.turn:
            self.stop()
        return await app(message)


def nights_of(result: SuiteResult | simeval.ScenarioResult) -> list[Any]:
    [first] = result if isinstance(result, SuiteResult) else [result]
    return [each.columns["inputs"]["nights"] for each in first.judgements]  # type: ignore[index]


async def test_each_trial_is_told_and_judged_by_its_own_row() -> None:
    asked = model()

    result = await Engine(asked, seed=7, rubric_folder=None).evaluate(STAY, app)

    told = [each for each in asked.requests if isinstance(each, UserTurn)]
    graded = [each for each in asked.requests if isinstance(each, GradeRequest) and each.role == "judge"]
    assert {each.given for each in told} == {f"A guest who stays {row['nights']} nights" for row in ROWS}
    assert {(each.facts, each.expected_behavior, each.levels["10"]) for each in graded} == {
        (f"{row['nights']} nights cost {row['total']} euros", f"Names {row['total']} euros", f"Names {row['total']}.")
        for row in ROWS
    }
    assert [score == 9 for score in result.expectations[0].scores] == [nights <= 3 for nights in nights_of(result)]


async def test_all_cases_have_one_rubric_and_one_set_of_controls() -> None:
    asked = model()

    result = await Engine(asked, seed=7, rubric_folder=None).evaluate(STAY, app)

    [rubric] = [each for each in asked.requests if isinstance(each, RubricRequest)]
    controls = [each for each in asked.requests if isinstance(each, GradeRequest) and each.role == "control"]
    assert (rubric.given, rubric.expected_behavior) == (STAY.given, "Names {total} euros")
    assert [each.control for each in controls] == ["evasive", "off_topic", "near_miss"]
    assert {each.expected_behavior for each in controls} == {f"Names {80 * nights_of(result)[0]} euros"}
    assert not any("{" in text for each in controls for text in (each.given, each.conversation[-1].content))


async def test_criteria_are_filled() -> None:
    asked = ScriptedModel({"judge": [{"rulings": {"1": {"reasoning": "-", "quote": "", "ruling": "not_met"}}}]})
    then = Expectation(criteria=["Names {total} euros"], evaluator=SUCCESS, controls=False)
    script = [Step(user="What do {nights} nights cost?")]

    await Engine(asked, seed=7, rubric_folder=None).evaluate(
        ScenarioTest(**{**fields_of(STAY), "then": then, "script": script}), app
    )

    ruled = [each for each in asked.requests if isinstance(each, CriteriaRequest)]
    assert {each.criteria["1"] for each in ruled} == {f"Names {row['total']} euros" for row in ROWS}


def fields_of(test: ScenarioTest) -> dict[str, Any]:
    return {name: getattr(test, name) for name in ("title", "given", "when", "then", "sample_size", "cases")}


def scripted(**fields: Any) -> ScenarioTest:
    """Return the scenario with given words, measured by a scorer."""
    then = Expectation(scorer=Contains(texts=["{total} euros"]), evaluator=ProportionEvaluator(min_proportion=0.9))
    script = [Step(user="What do {nights} nights cost?")]
    return ScenarioTest(**{**fields_of(STAY), "then": then, "script": script, **fields})


async def test_scorers_have_the_row_and_its_columns() -> None:
    seen: list[tuple[Any, Any]] = []

    def right(output: str, total: int, inputs: Any) -> bool:
        seen.append((total, inputs))
        return f"{total} euros" in output

    then = Expectation(scorer=right, evaluator=ProportionEvaluator(min_proportion=0.9))
    result = await Engine(seed=7).evaluate(scripted(then=then), app)

    assert sorted(seen, key=str)[::3] == sorted([(row["total"], row) for row in ROWS] * 3, key=str)[: len(seen)][::3]
    assert sum(result.expectations[0].scores) == sum(nights <= 3 for nights in nights_of(result))


async def test_cases_do_not_depend_on_how_many_trials_are_under_way() -> None:
    one, many = [await Engine(seed=7, concurrency=concurrency).evaluate(scripted(), app) for concurrency in (1, 30)]

    assert sorted(nights_of(one)[:5]) == [1, 2, 3, 5, 7]
    assert nights_of(one) == nights_of(many)
    assert one.expectations[0].results == many.expectations[0].results


async def test_a_resumed_run_keeps_the_case_of_each_trial_and_its_rows_show_it(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    whole = await Engine(seed=7).evaluate([scripted()], Desk())
    engine = Engine(seed=7, store=store, concurrency=2)
    cut = await engine.evaluate([scripted()], Desk(turn=6, stop=engine.stop))

    resumed = await Engine(store=store, resume=cut.run.run_id).evaluate([scripted()], Desk())

    assert cut.run.stopped
    assert nights_of(resumed) == nights_of(whole)
    assert resumed[0].expectations[0].results == whole[0].expectations[0].results
    assert [row.inputs["nights"] for row in rows_at(store, resumed.run.run_id)] == nights_of(whole)


async def test_another_table_is_another_run(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    first = await Engine(seed=7, store=store).evaluate([scripted()], app)

    with pytest.raises(DefinitionError, match=r"cases was '5 \(.*' and is '4 \("):
        await Engine(store=store, resume=first.run.run_id).evaluate([scripted(cases=ROWS[1:])], app)


async def test_with_a_verdict_for_each_case_each_has_a_result() -> None:
    result = await Engine(seed=7).evaluate([scripted(per_case=True, sample_size=30)], app)

    assert {each.title: each.outcome for each in result} == {
        f"Price of {nights} nights": "pass" if nights <= 3 else "fail" for nights in (1, 2, 3, 5, 7)
    }
    assert all(each.trials == 30 for each in result)


async def test_one_scenario_with_a_verdict_for_each_case_is_no_single_result() -> None:
    with pytest.raises(DefinitionError, match=r"give a list, \[scenario\]"):
        await Engine(seed=7).evaluate(scripted(per_case=True), app)


TABLE = [
    {"nights": nights, "breakfast": breakfast, "room": room, "total": 80 * nights}
    for nights, breakfast, room in product(range(1, 8), (True, False), ("single", "double", "suite"))
]
FULL = scripted(
    cases=TABLE, sample_size=84, script=[Step(user="{nights} nights in a {room}, breakfast: {breakfast}. How much?")]
)


async def half_right(message: str) -> str:
    nights = int(message[0])
    return f"That is {80 * nights - 10 * (nights > 4 and 'breakfast: yes' in message)} euros."


async def test_every_report_names_the_slice_and_shows_the_rows(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"

    result = await Engine(seed=7, store=store).evaluate([FULL], half_right)

    said = str(result[0].expectations[0].cases)
    [found] = encode_suite([*result], result.run, version="1")["scenarios"][0]["expectations"]
    database = Database(str(store))
    stored = read_ended(database, result.run.run_id)
    database.close()
    assert "nights >= 5 with breakfast fails more often than the rest (18 of 18 against 0 of 66)" in said
    assert said in " ".join(str(result).split())
    assert said in " ".join(unescape(result.to_markdown()).split())
    assert said in unescape(junit_xml([*result], result.run))
    assert found["cases"]["slices"][0]["words"] == "nights >= 5 with breakfast"
    assert len(found["cases"]["rows"]) == 42
    assert stored.result[0].expectations[0].cases == result[0].expectations[0].cases


async def test_an_experiment_names_the_slices_of_its_examples() -> None:
    rows = [
        {"input": f"{row['nights']} nights, breakfast: {as_text(row['breakfast'])}, {row['room']}", **row}
        for row in TABLE
    ]

    def right(output: str, total: int) -> bool:
        return f"{total} euros" in output

    then = Expectation(scorer=right, evaluator=ProportionEvaluator(min_proportion=0.9))
    data = dataset_of(rows, inputs=["input"], outputs=["total"])

    result = await Engine(seed=7).experiment(data, half_right, then=then)

    [slice_named] = result.expectations[0].cases.slices  # type: ignore[union-attr]
    assert (slice_named.words, slice_named.failed, slice_named.n) == ("nights >= 5 with breakfast", 9, 9)
    assert "nights >= 5 with breakfast fails more often than the rest (9 of 9 against 0 of 33)" in " ".join(
        str(result).split()
    )


@pytest.mark.parametrize("in_flight", [1, 32])
def test_cases_with_their_mean_at_the_bar_seldom_pass_or_fail_through_a_cut(in_flight: int) -> None:
    results = measure(RATES[".5 to 1"], 20, in_flight, is_cut=True)

    outcomes = [each.outcome for each in results]
    assert outcomes.count("pass") <= 5  # where each is wrong with a chance of 5%: more in one of 3,000 such tests
    assert outcomes.count("fail") <= 5


def test_runs_that_stop_early_name_a_slice_for_nothing_in_at_most_5_percent_and_find_the_one_there_is() -> None:
    named = sum(named_for_nothing(seed, is_stopped=True) for seed in range(40))
    found = sum(finds_the_pair(seed, is_stopped=True) for seed in range(20))

    assert named <= 6  # more has a chance of 0.3% where each is named with one of 5%
    assert found >= 10


@dataclass
class Prepared(Scorer):
    """A scorer with a place in its argument, that must be prepared."""

    word: str
    sizes: Any = field(default_factory=lambda: np.zeros(3))  # no value of it can be compared as a whole
    is_ready: bool = field(default=False, init=False)

    async def prepare(self, columns: Mapping[str, Any]) -> None:
        self.is_ready = self.word in columns["given"]

    async def score(self, output: str) -> bool:
        return self.is_ready


async def test_a_scorer_with_places_is_prepared_for_each_case() -> None:
    then = Expectation(scorer=Prepared("{nights} nights"), evaluator=ProportionEvaluator(min_proportion=0.5))

    result = await Engine(model(), seed=7).evaluate(scripted(then=then), app)

    assert {each.value for each in result.expectations[0].results if isinstance(each, Score)} == {1.0}


@pytest.mark.parametrize("judged", [{"expected_behavior": "Names {total}"}, {"criteria": ["Names {total}"]}])
async def test_the_labels_of_a_template_are_shown_to_the_judges_of_each_case(
    judged: dict[str, Any], tmp_path: Path
) -> None:
    then = Expectation(**judged, evaluator=SUCCESS, controls=False)
    labels = tmp_path / "labels.csv"
    labels.write_text(f'expected_behavior,label,transcript\n{then.judged},pass,"user: hi\nassistant: bye"\n')
    ruled = {"rulings": {"1": {"reasoning": "-", "quote": "", "ruling": "not_met"}}}
    asked = ScriptedModel({"judge": [ruled if "criteria" in judged else judge_reply(2)]})

    await Engine(asked, seed=7, rubric_folder=None, judge_examples=labels).evaluate(scripted(then=then), app)

    judges = [str(each.messages()) for each in asked.requests if each.role == "judge"]
    assert judges
    assert all("<example people" in each for each in judges)
