"""A judge that looks at words, and not at what is true, is refused before a conversation is paid for."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simeval import Engine, Expectation, RetryConfig, ScenarioResult, ScenarioTest, SuccessRateEvaluator
from simeval.core.judging import Controls, failed
from simeval.core.near_misses import near_misses
from simeval.core.trial import ControlRecord
from simeval.models.protocol.model import Request
from simeval.models.protocol.prompts import JudgeRequest
from simeval.testing import ScriptedModel, judge_reply
from tests.support.blind_judges import BLIND, Judge, content

FOLDER = Path("tests/data/near_misses")
PAIRS = [json.loads(line) for line in (FOLDER / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
ALL_KINDS = [json.loads(line) for line in (FOLDER / "all_kinds.jsonl").read_text(encoding="utf-8").splitlines()]
HELD_OUT = [json.loads(line) for line in (FOLDER / "held_out.jsonl").read_text(encoding="utf-8").splitlines()]
OF_NO_VALUE = {"does what it must not", "says what it must not", "does not ask", "refuses", "says that it cannot"}
NAMING = [pair for pair in PAIRS if pair["rule"] not in OF_NO_VALUE]
ABOUT = {"given": "A customer", "when": "They have a question", "facts": ""}
RULE = SuccessRateEvaluator(min_proportion=0.6)
ON_FRIDAY = "The assistant says that order F1001 arrives on Friday"


def is_refused(judge: Judge, expected: str, written: Sequence[str] = ()) -> bool:
    """Return whether a judge fails the controls of an expectation, the second near miss being shown after the first.

    If no rule makes near misses, those that the rubric's writer has `written` are shown.
    """
    controls = Controls(expected=(expected,), unwritten=bool(written)).completed(written, "")
    kinds = [*controls.kinds, *(["near_miss_again"] if "near_miss" in controls.kinds else [])]
    given = {kind: judge(expected, answer_of(controls, kind, expected)) for kind in kinds}
    return bool(failed([record(kind, 10 if passes else 1) for kind, passes in given.items()]))


def answer_of(controls: Controls, kind: Any, expected: str) -> str:
    return controls.conversation(kind, **ABOUT, expected_behavior=expected)[-1].content


def record(kind: Any, score: float, expected: str = "") -> ControlRecord:
    return ControlRecord(
        key="", judge="judge", control=kind, expected_behavior=expected, score=score, reasoning="It is so."
    )


def share(refused: list[bool]) -> float:
    return sum(refused) / len(refused)


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("one shared word", 0.95),
        ("polite and on topic", 0.95),
        ("on topic and over 20 words", 0.95),
        ("more positive words", 0.95),
        ("agrees", 0.85),
        ("half of the words", 0.75),
    ],
)
@pytest.mark.parametrize("naming", [NAMING, HELD_OUT], ids=["tuned on", "held out"])
def test_where_a_value_is_named_it_is_refused(naming: list[dict[str, str]], name: str, least: float) -> None:
    refused = [is_refused(BLIND[name], pair["expectation"]) for pair in naming]

    assert len(naming) >= 40
    assert share(refused) >= least


def test_one_that_wants_a_shared_word_is_refused_where_no_value_is_named_too() -> None:
    assert share([is_refused(BLIND["one shared word"], pair["expectation"]) for pair in PAIRS]) >= 0.9


def test_of_actions_refusals_questions_conduct_and_form_too() -> None:
    refused = [is_refused(BLIND["one shared word"], row["expectation"]) for row in ALL_KINDS]
    untested = [row["kind"] for row in ALL_KINDS if not near_misses((row["expectation"],))]

    assert share(refused) >= 0.95
    assert len(untested) <= 0.03 * len(ALL_KINDS)


def test_the_writer_of_the_rubric_tests_it_where_no_rule_does() -> None:
    by_nobody = [row for row in ALL_KINDS if not near_misses((row["expectation"],))]
    refused = [is_refused(BLIND["one shared word"], row["expectation"], row["written"]) for row in by_nobody]

    assert 0 < len(refused) == sum(refused)


def test_one_that_looks_the_value_up_is_not() -> None:
    def refused(pair: dict[str, str]) -> bool:
        value = content(pair["good"]) - content(pair["near_miss"])
        return is_refused(lambda _, answer: value <= content(answer), pair["expectation"])

    assert share([refused(pair) for pair in NAMING]) <= 0.02


def test_nor_one_that_finds_the_values_of_expectations_that_no_rule_was_written_for() -> None:
    def refused(row: dict[str, str]) -> bool:
        values = [
            re.compile(rf"(?<![A-Za-z0-9]){re.escape(value)}(?![A-Za-z0-9])", re.IGNORECASE)
            for value in row["value"].split("; ")
        ]
        return is_refused(lambda _, answer: all(value.search(answer) for value in values), row["expectation"])

    assert share([refused(row) for row in HELD_OUT]) <= 0.02


def test_one_that_errs_on_three_in_a_hundred_ends_at_most_five_in_a_hundred_runs_of_thirty_expectations() -> None:
    errs = np.random.default_rng(7).random((5_000, 30, 2)) < 0.03

    def ends(run: Any) -> bool:
        shown = (
            [record("near_miss", 9), record("near_miss_again", 9 if again else 1)]
            if first
            else [record("near_miss", 1)]
            for first, again in run
        )
        return any(failed(each) for each in shown)

    assert share([ends(run) for run in errs]) <= 0.05


def rated_by(judge: Judge) -> Callable[[Request], Any]:
    def rate(request: Request) -> Any:
        assert isinstance(request, JudgeRequest)
        passes = judge(ON_FRIDAY, request.conversation[-1].content)
        return judge_reply(10 if passes else 1, "The order arrives as it says.")

    return rate


async def evaluated(model: ScriptedModel, expected: str = ON_FRIDAY, **fields: Any) -> ScenarioResult:
    async def app(message: str, state: Any) -> str:
        return "Thank you for asking! Your order F1001 arrives on Sunday, I am glad to say, and please ask me anything."

    scenario = ScenarioTest(
        title="Order",
        given="A customer whose order F1001 is late",
        when="They ask when it arrives",
        then=Expectation(expected_behavior=expected, evaluator=RULE, label="arrival", **fields),
        sample_size=20,
        max_turns=1,
    )
    options: dict[str, Any] = {"rubric_folder": None, "store": None, "seed": 1}
    return await Engine(model, "offline/user", **options, retry_config=RetryConfig(enabled=False)).evaluate(
        scenario, app
    )


def shown_to(model: ScriptedModel) -> list[Any]:
    return [request for request in model.requests if isinstance(request, JudgeRequest) and request.control]


class TestInARun:
    pytestmark = pytest.mark.anyio

    @pytest.mark.parametrize("name", [name for name in BLIND if name != "half of the words"])
    async def test_an_app_that_is_always_wrong_never_passes_by_it(self, name: str) -> None:
        rate = rated_by(BLIND[name])
        result = await evaluated(ScriptedModel({"judge": rate, "control": rate}))

        assert (result.outcome, result.trials) == ("error", 0)
        assert "a near miss" in result.verdicts[0].explanation
        assert 'the near miss says: "Order F1001 arrives on Sunday."' in result.verdicts[0].explanation

    async def test_one_that_reads_is_shown_one_near_miss_and_judges(self) -> None:
        rate = rated_by(lambda _, answer: "Friday" in answer)
        model = ScriptedModel({"judge": rate, "control": rate})
        result = await evaluated(model)

        assert result.outcome == "fail"
        assert [request.control for request in shown_to(model)] == ["evasive", "off_topic", "near_miss"]

    async def test_one_accident_is_followed_by_a_second_near_miss_and_forgiven(self) -> None:
        rate = rated_by(lambda _, answer: "Friday" in answer or "on Sunday. Please let me know" in answer)
        model = ScriptedModel({"judge": rate, "control": rate})
        result = await evaluated(model)

        kinds = [request.control for request in shown_to(model)]
        assert kinds == ["evasive", "off_topic", "near_miss", "near_miss_again"]
        assert result.outcome == "fail"
        assert result.expectations[0].warnings == ()

    async def test_the_user_speaks_in_the_first_person(self) -> None:
        model = ScriptedModel({"judge": [judge_reply(1)]})
        await evaluated(model)

        assert {request.conversation[0].content for request in shown_to(model)} == {
            "Hello! I want to know when it arrives."
        }

    async def test_a_counterexample_takes_the_place_of_the_near_miss(self) -> None:
        model = ScriptedModel({"judge": [judge_reply(1)]})
        await evaluated(model, counterexample="It arrives on Monday.")

        assert [request.control for request in shown_to(model)] == ["counterexample"]

    async def test_the_report_says_of_which_expectations_none_can_be_made(self) -> None:
        vague = await evaluated(ScriptedModel({"judge": [judge_reply(1)]}), "Successful purchase")
        value = await evaluated(ScriptedModel({"judge": [judge_reply(1)]}))

        assert "'arrival': judges were not tested with a near miss" in str(vague)
        assert "not tested with a near miss" not in str(value)

    async def test_the_embedded_judge_is_shown_none_as_it_is_known_not_to_understand(self) -> None:
        result = await evaluated("offline/judge")  # type: ignore[arg-type]  # a name

        prepared = result.expectations[0].prepared
        assert prepared is not None
        assert [each.control for each in prepared.controls] == ["evasive", "off_topic"]
