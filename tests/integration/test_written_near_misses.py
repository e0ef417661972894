"""Near misses that the writer of the rubric gives, for expectations of tone, form and conduct."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from simeval import Engine, Expectation, RetryConfig, ScenarioResult, ScenarioTest, SuccessRateEvaluator
from simeval.models.protocol.model import Request
from simeval.models.protocol.prompts import JudgeRequest
from simeval.store.database import Database
from simeval.store.runs import Runs
from simeval.testing import ScriptedModel, judge_reply, rubric_reply
from tests.support.stores import run_sql

pytestmark = pytest.mark.anyio

TONE = "The assistant sounds cheerful when the customer complains"
KIND = "I am so sorry about this, and I will put it right for you at once."
CURT = "The parcel is late because you gave us the wrong street. Next time, read the form before you send it."
COLD = "Complaints are handled within ten days. There is nothing more to be said about your parcel here."
UNTESTED = "'tone': judges were not tested with a near miss, as neither a rule nor the writer of the rubric made one"


async def app(message: str) -> str:
    return KIND


def judge_that(passes: Any, *near_misses: str) -> ScriptedModel:
    """Return a judge that passes some answers, and writes rubrics with these near misses."""

    def rate(request: Request) -> dict[str, Any]:
        assert isinstance(request, JudgeRequest)
        return judge_reply(9 if passes(request.conversation[-1].content) else 2)

    return ScriptedModel({"rubric": [rubric_reply(near_misses=near_misses)], "judge": rate, "control": rate})


def kind_judge(*near_misses: str) -> ScriptedModel:
    return judge_that(lambda answer: answer == KIND, *near_misses)


async def evaluated(
    model: ScriptedModel,
    *,
    fields: dict[str, Any] | None = None,
    cases: Sequence[Mapping[str, Any]] = (),
    **options: Any,
) -> ScenarioResult:
    then = Expectation(
        **{"expected_behavior": TONE, "label": "tone", "evaluator": SuccessRateEvaluator(0.5), **(fields or {})}
    )
    about = {"title": "Parcel", "given": "A customer", "when": "The user complains that a parcel is late"}
    suite = ScenarioTest(**about, then=then, sample_size=8, max_turns=1, cases=cases)  # type: ignore[arg-type]
    options = {"rubric_folder": None, "seed": 1, "store": None, "retry_config": RetryConfig(enabled=False), **options}
    return await Engine(model, "offline/user", **options).evaluate(suite, app)


def said(result: ScenarioResult) -> str:
    return " ".join(str(result).split())


def shown(model: ScriptedModel) -> list[tuple[str | None, str]]:
    asked = [each for each in model.requests if isinstance(each, JudgeRequest) and each.control]
    return sorted((each.control, each.conversation[-1].content) for each in asked)


async def test_a_judge_that_looks_for_the_parcel_and_not_for_the_tone_is_refused() -> None:
    model = judge_that(lambda answer: "parcel" in answer or answer == KIND, CURT, COLD)
    result = await evaluated(model)

    assert (result.outcome, result.trials) == ("error", 0)
    assert "9 of 10 to a near miss, an answer to the point with one thing wrong, and 9 of 10 to another" in said(result)
    assert f'the near miss says: "{CURT}"' in said(result)
    assert [kind for kind, _ in shown(model)] == ["evasive", "near_miss", "near_miss_again", "off_topic"]


async def test_one_that_is_wrong_about_the_first_alone_judges() -> None:
    result = await evaluated(judge_that(lambda answer: answer in (KIND, CURT), CURT, COLD))

    assert result.passed
    assert "near misses of this run 1 of 2" in " ".join(result.run.notes)


async def test_one_that_knows_them_is_shown_the_first_alone_and_nothing_is_noted_as_untested() -> None:
    model = kind_judge(CURT, COLD)
    result = await evaluated(model)

    assert result.passed
    assert ("near_miss", CURT) in shown(model)
    assert len(shown(model)) == 3
    assert UNTESTED not in said(result)


@pytest.mark.parametrize("near_misses", [(), (CURT,), (CURT, CURT.upper()), (TONE, CURT), (CURT, "so " * 61)])
async def test_where_two_cannot_be_used_the_report_says_that_the_expectation_was_not_tested(
    near_misses: tuple[str, ...],
) -> None:
    model = kind_judge(*near_misses)
    result = await evaluated(model)

    assert result.passed
    assert [kind for kind, _ in shown(model)] == ["evasive", "off_topic"]
    assert UNTESTED in said(result)


async def test_a_rule_comes_before_them() -> None:
    model = kind_judge(CURT, COLD)
    await evaluated(model, fields={"expected_behavior": "The assistant says that the parcel arrives on Friday"})

    [near_miss] = [answer for kind, answer in shown(model) if kind == "near_miss"]
    assert "arrives on Sunday" in near_miss


async def test_a_counterexample_takes_their_place() -> None:
    model = kind_judge(CURT, COLD)
    result = await evaluated(model, fields={"counterexample": COLD})

    assert shown(model) == [("counterexample", COLD)]
    assert UNTESTED not in said(result)


async def test_a_rubric_of_the_suite_brings_none() -> None:
    model = kind_judge(CURT, COLD)
    result = await evaluated(model, fields={"rubric": ["It is curt.", "It is kind."]})

    assert [request.role for request in model.requests].count("rubric") == 0
    assert UNTESTED in said(result)


@pytest.mark.parametrize("max_calls", [8, 9, 12])
async def test_calls_for_them_are_kept_from_a_budget_and_given_back_when_none_are_there(max_calls: int) -> None:
    for near_misses, before in (((CURT, COLD), 4), ((), 3)):
        result = await evaluated(kind_judge(*near_misses), max_calls=max_calls, early_stopping=False)

        assert result.trials == (max_calls - before) // 2


@pytest.fixture
async def cut_off(tmp_path: Path) -> Path:
    """Return the store of a run that was ended early; its rubric has near misses."""
    store = tmp_path / "runs.db"
    await evaluated(kind_judge(CURT, COLD), store=store, max_calls=8, early_stopping=False)
    return store


async def test_a_store_keeps_them_for_the_run_that_goes_on(cut_off: Path) -> None:
    again = kind_judge()
    result = await evaluated(again, store=cut_off, resume="last", early_stopping=False)

    [rubric] = Runs(Database(cut_off)).load(result.run.run_id).rubrics.values()
    assert rubric.near_misses == (CURT, COLD)
    assert {request.role for request in again.requests} == {"judge"}
    assert UNTESTED not in said(result)


async def test_a_rubric_from_before_them_stays_in_use_untested(cut_off: Path) -> None:
    database = Database(cut_off)
    run_sql(database, "ALTER TABLE rubrics DROP COLUMN near_misses")
    run_sql(database, "UPDATE schema_version SET version = 10")
    database.close()
    again = kind_judge(CURT, COLD)
    result = await evaluated(again, store=cut_off, resume="last", early_stopping=False)

    assert {request.role for request in again.requests} == {"judge"}
    assert UNTESTED in said(result)


async def test_of_a_table_of_cases_its_places_are_filled() -> None:
    model = kind_judge(CURT.replace("parcel", "{thing}"), COLD.replace("parcel", "{thing}"))

    await evaluated(model, cases=[{"thing": "parcel"}])

    assert ("near_miss", CURT) in shown(model)
