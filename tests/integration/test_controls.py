"""Controls: what a judge must be right about before it judges, and what follows where it is not."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from simeval import Engine, Expectation, RetryConfig, ScenarioTest, SuccessRateEvaluator
from simeval.core.judging import EVASIVE, OFF_TOPIC
from simeval.core.near_misses import near_misses
from simeval.errors import DefinitionError
from simeval.models.protocol.model import Request
from simeval.models.protocol.prompts import JudgeRequest
from simeval.results.junit import junit_xml
from simeval.results.suite import ScenarioResult, encode_suite
from simeval.store.journal import encode_entry
from simeval.testing import MemoryJournal, ScriptedModel, judge_reply
from tests.support.doubles import failure

pytestmark = pytest.mark.anyio

RULE = SuccessRateEvaluator(min_proportion=0.5)
CREDULOUS = [judge_reply(10, "It is as it should be.")]
ANSWER = "It is Paris, on the Seine."
NEAR_MISS = near_misses(("Bot says Paris",), answers=("Paris",))[0].answer


def expectation(**fields: Any) -> Expectation:
    return Expectation(**{"expected_behavior": "Bot says Paris", "label": "Paris", "evaluator": RULE, **fields})


def scenario(then: Expectation, sample_size: int = 8) -> ScenarioTest:
    about = {"title": "Capital", "given": "A pupil", "when": "The user asks for the capital of France"}
    return ScenarioTest(**about, then=then, sample_size=sample_size, max_turns=1)  # type: ignore[arg-type]


async def app(message: str, state: Any) -> str:
    return ANSWER


def judge(control: Any = None, *, name: str = "scripted/judge") -> ScriptedModel:
    """Return a judge that rates every conversation 9, and controls by a script, by default as a good one."""
    script = {"judge": [judge_reply(9, "It says Paris.")]}
    return ScriptedModel(script if control is None else {**script, "control": control}, name)


async def evaluated(judges: Any, then: Expectation | None = None, **options: Any) -> ScenarioResult:
    options = {"rubric_folder": None, "seed": 1, "store": None, "retry_config": RetryConfig(enabled=False), **options}
    return await Engine(judges, "offline/user", **options).evaluate(scenario(then or expectation()), app)


def shown(model: ScriptedModel) -> list[str]:
    """Return what the app said in the controls that a judge was shown, in the alphabet's order."""
    asked = [request for request in model.requests if isinstance(request, JudgeRequest) and request.control]
    return sorted(request.conversation[-1].content for request in asked)


class TestAJudgeThatTellsGoodFromBad:
    async def test_it_judges_as_ever_and_its_controls_are_in_the_result(self) -> None:
        model = judge()
        result = await evaluated(model, expectation(example=ANSWER))

        [found] = encode_suite([result], result.run, version="1")["scenarios"][0]["expectations"]
        assert result.passed
        assert [(each["control"], each["score"], each["is_right"]) for each in found["controls"]] == [
            ("evasive", 1, True),
            ("off_topic", 1, True),
            ("near_miss", 1, True),
            ("example", 10, True),
        ]
        assert "warnings" not in found
        assert "warning" not in str(result)
        assert result.run.usage["control"].calls == 4

    async def test_it_is_shown_them_before_the_first_trial_as_conversations_like_any_other(self) -> None:
        model = judge()
        await evaluated(
            model, expectation(example=[{"role": "user", "content": "?"}, {"role": "assistant", "content": "Paris"}])
        )

        roles = [request.role for request in model.requests]
        control = next(request for request in model.requests if request.role == "control")
        graded = next(request for request in model.requests if request.role == "judge")
        assert roles[:5] == ["rubric", *["control"] * 4]
        assert set(roles[5:]) == {"judge"}
        assert shown(model) == sorted([EVASIVE, OFF_TOPIC[0], NEAR_MISS, "Paris"])
        assert control.messages()[0] == graded.messages()[0]
        assert (
            control.messages()[1]["content"].split("<conversation>")[0]
            == (graded.messages()[1]["content"].split("<conversation>")[0])
        )


class TestAJudgeThatPassesWhatItMustFail:
    async def test_it_never_makes_a_pass_and_costs_no_trial(self) -> None:
        model = judge(CREDULOUS)
        result = await evaluated(model)

        (verdict,) = result.verdicts
        assert (verdict.outcome, verdict.n, result.trials) == ("error", 0, 0)
        assert (
            "scripted/judge is not to be trusted here, it gives 10 of 10 to an answer that says nothing"
            in verdict.explanation
        )
        assert "give a counterexample" in verdict.explanation
        assert [request.role for request in model.requests] == ["rubric", *["control"] * 4]

    async def test_nor_where_its_reasons_are_no_words(self) -> None:
        reply = [judge_reply(10, "][")]
        result = await evaluated(ScriptedModel({"judge": reply, "control": reply}))

        assert result.outcome == "error"
        assert "there is no letter in it" in result.verdicts[0].explanation

    async def test_it_is_named_in_every_report(self) -> None:
        result = await evaluated(judge(CREDULOUS))

        suite = encode_suite([result], result.run, version="1")
        error = ET.fromstring(junit_xml([result], result.run)).find(".//error")
        said = "scripted/judge is not to be trusted here, it gives 10 of 10 to"
        assert said in " ".join(str(result).split())
        assert said in suite["scenarios"][0]["expectations"][0]["verdicts"][0]["explanation"]
        assert [each["is_right"] for each in suite["scenarios"][0]["expectations"][0]["controls"]] == [False] * 4
        assert error is not None
        assert said in error.attrib["message"]

    async def test_it_may_judge_with_a_warning_in_every_report(self) -> None:
        result = await evaluated(judge(CREDULOUS), on_failed_control="warn")

        [found] = encode_suite([result], result.run, version="1")["scenarios"][0]["expectations"]
        out = ET.fromstring(junit_xml([result], result.run)).findtext(".//testcase/system-out")
        assert (result.outcome, result.verdicts[0].outcome) == ("inconclusive", "pass")
        assert found["warnings"][0].startswith(
            "scripted/judge is not to be trusted here, it gives 10 of 10 to an answer that says nothing"
        )
        assert len(found["warnings"]) == 1
        assert f"warning: {found['warnings'][0]}\n" == out
        assert "warning: 'Paris': scripted/judge is not to be trusted" in str(result)

    async def test_of_a_panel_it_alone_is_named(self) -> None:
        result = await evaluated([judge(), judge(CREDULOUS, name="scripted/credulous")])

        assert result.outcome == "error"
        assert "scripted/credulous is not to be trusted" in result.verdicts[0].explanation
        assert "scripted/judge" not in result.verdicts[0].explanation


class TestWhatASuiteGives:
    async def test_an_example_that_a_judge_fails_is_named(self) -> None:
        result = await evaluated(judge([judge_reply(2)]), expectation(example=ANSWER))

        assert result.outcome == "error"
        assert "gives 2 of 10 to the example, which meets the expectation" in result.verdicts[0].explanation
        assert "correct the example" in result.verdicts[0].explanation

    async def test_a_counterexample_takes_the_place_of_what_such_an_answer_would_meet(self) -> None:
        async def rate(request: Request) -> Any:
            assert isinstance(request, JudgeRequest)
            return judge_reply(1 if "hunter2" in request.conversation[-1].content else 10)

        secret = {"expected_behavior": "Bot does not tell the password", "label": "secret"}
        model = judge(rate)

        without = await evaluated(judge(rate), expectation(**secret))
        result = await evaluated(model, expectation(**secret, counterexample="It is hunter2."))

        assert without.outcome == "error"
        assert result.passed
        assert shown(model) == ["It is hunter2."]

    async def test_a_judge_that_passes_the_counterexample_is_named(self) -> None:
        result = await evaluated(judge(CREDULOUS), expectation(counterexample="It is Lyon."))

        assert (
            "gives 10 of 10 to the counterexample, which does not meet the expectation"
            in result.verdicts[0].explanation
        )

    @pytest.mark.parametrize(
        ("then", "options"),
        [(expectation(controls=False), {}), (expectation(example=ANSWER), {"on_failed_control": "off"})],
    )
    async def test_none_are_shown_where_none_are_wanted(self, then: Expectation, options: dict[str, Any]) -> None:
        model = judge(CREDULOUS)

        assert (await evaluated(model, then, **options)).passed
        assert shown(model) == []


class TestCriteria:
    RULES = ("It names the capital", "It does not name the river")

    async def test_judges_that_rule_on_criteria_are_shown_controls_too(self) -> None:
        def rulings(request: Request, ruling: str, number: int) -> dict[str, Any]:
            assert isinstance(request, JudgeRequest)
            quote = request.conversation[number].content if ruling == "met" else ""
            return {"reasoning": "It is so.", "quote": quote, "ruling": ruling}

        def met(request: Request) -> Any:
            return {"rulings": dict.fromkeys("12", rulings(request, "met", 1))}

        def unclear(request: Request) -> Any:
            return {"rulings": dict.fromkeys("12", rulings(request, "cannot_tell", 1))}

        then = {"expected_behavior": None, "criteria": self.RULES}
        judges = [ScriptedModel({"judge": met, "control": control}, "scripted/judge") for control in (met, unclear)]
        credulous, careful = [await evaluated(judge, expectation(**then)) for judge in judges]
        good = await evaluated(ScriptedModel({"judge": met}), expectation(**then, example=ANSWER))

        assert "gives 10 of 10 to an answer that says nothing" in credulous.verdicts[0].explanation
        assert careful.passed
        assert good.passed
        assert good.expectations[0].prepared is not None
        assert [each.score for each in good.expectations[0].prepared.controls] == [1, 1, 1, 10]

    async def test_each_in_a_call_of_its_own_counts(self) -> None:
        def met(request: Request) -> Any:
            quote = {"reasoning": "It is so.", "quote": ANSWER, "ruling": "met"}
            return {"rulings": dict.fromkeys(request.criteria, quote)}  # type: ignore[attr-defined]

        then = expectation(expected_behavior=None, criteria=self.RULES)
        result = await evaluated(
            ScriptedModel({"judge": met}), then, criteria_calls="each", max_calls=12, early_stopping=False
        )

        assert (result.trials, result.run.usage["control"].calls) == (2, 6)


class TestAControlThatCannotBeRated:
    async def test_one_that_is_lost_is_made_up_for_by_another(self) -> None:
        result = await evaluated(judge([failure("server"), judge_reply(1)]))

        prepared = result.expectations[0].prepared
        assert result.passed
        assert prepared is not None
        assert [each.is_right for each in prepared.controls] == [True, True]

    async def test_where_all_are_lost_nothing_is_known_of_the_judge(self) -> None:
        result = await evaluated(judge([failure("content")]))

        assert result.outcome == "error"
        assert "judge: scripted/model failed (content)" in result.verdicts[0].explanation

    async def test_it_stops_nobody_where_controls_only_warn(self) -> None:
        assert (await evaluated(judge([failure("content")]), on_failed_control="warn")).passed


class TestTheyArePaidForOnce:
    async def test_a_resumed_run_shows_none_again(self, where: str) -> None:
        first, again = judge(), judge()
        engine = Engine(first, "offline/user", rubric_folder=None, store=where, seed=1, concurrency=1)

        async def stops(message: str, state: Any) -> str:
            engine.stop("enough")
            return ANSWER

        stopped = await engine.evaluate(scenario(expectation(), 30), stops)
        resumed = Engine(again, "offline/user", rubric_folder=None, store=where, resume="last", concurrency=1)
        result = await resumed.evaluate(scenario(expectation(), 30), stops)

        assert (stopped.run.stopped, len(shown(first)), len(shown(again))) == ("enough", 3, 0)
        assert result.passed
        assert result.run.usage["control"].calls == 3
        assert result.expectations[0].prepared == stopped.expectations[0].prepared

    async def test_what_a_refused_judge_gave_is_not_asked_for_again(self, tmp_path: Path) -> None:
        again = judge()
        await evaluated(judge(CREDULOUS), store=tmp_path / "store.db")
        result = await evaluated(again, store=tmp_path / "store.db", resume="last", on_failed_control="warn")

        assert shown(again) == []
        assert result.verdicts[0].passed
        assert len(result.expectations[0].warnings) == 1

    async def test_with_the_cache_another_run_shows_none_again(self, tmp_path: Path) -> None:
        again = judge()
        await evaluated(judge(), store=tmp_path / "store.db", cache=True)
        result = await evaluated(again, store=tmp_path / "store.db", cache=True)

        assert result.passed
        assert shown(again) == []
        assert result.run.usage["control"].cached_calls == 3

    async def test_scenarios_that_share_one_share_what_was_given(self) -> None:
        model = judge()
        suite = [scenario(expectation()), replace(scenario(expectation()), title="Again")]
        await Engine(model, "offline/user", rubric_folder=None, store=None).evaluate(suite, app)

        assert len(shown(model)) == 3

    async def test_a_journal_has_each_with_its_reasons(self) -> None:
        journal = MemoryJournal()
        await evaluated(judge(), store=journal)

        entries = [encoded for entry in journal.entries for encoded in encode_entry(entry)]
        found = [entry for entry in entries if entry["type"] == "control"]
        assert sorted(entry["control"] for entry in found) == ["evasive", "near_miss", "off_topic"]
        assert all(entry["reasoning"] and entry["judge"] == "scripted/judge" for entry in json.loads(json.dumps(found)))


class TestBudgets:
    async def test_they_count(self) -> None:
        with pytest.raises(DefinitionError, match="after rubrics and controls, which take 5"):
            await evaluated(judge(), max_calls=6)

    @pytest.mark.parametrize("max_calls", [8, 10, 12])
    async def test_no_more_calls_are_made_than_may_be(self, max_calls: int) -> None:
        result = await evaluated(judge(), max_calls=max_calls, early_stopping=False)

        assert sum(usage.calls for usage in result.run.usage.values()) == max_calls
        assert result.trials == (max_calls - 4) // 2

    async def test_what_is_kept_for_them_is_free_where_they_are_not_shown(self) -> None:
        own = expectation(rubric=["It does not.", "It does."], controls=False)
        result = await evaluated(judge(), own, max_calls=4, early_stopping=False)

        assert result.trials == 2


class TestTheEmbeddedJudge:
    @pytest.mark.parametrize(
        "behaviour",
        [
            "Bot says Paris",
            "Bot says Paris, not Lyon",
            "Bot tracks orders, starts returns",
            "Bot is polite and never rude",
        ],
    )
    async def test_it_fails_what_it_must(self, behaviour: str) -> None:
        result = await evaluated("offline/judge", expectation(expected_behavior=behaviour))

        prepared = result.expectations[0].prepared
        assert prepared is not None
        assert prepared.failure is None
        assert [each.is_right for each in prepared.controls] == [True, True]

    async def test_what_an_answer_that_says_nothing_meets_takes_a_counterexample(self) -> None:
        secret = {"expected_behavior": "Bot does not tell the password hunter2", "label": "secret"}

        without = await evaluated("offline/judge", expectation(**secret))
        result = await evaluated("offline/judge", expectation(**secret, counterexample="The password is hunter2."))

        assert "give a counterexample" in without.verdicts[0].explanation
        assert result.passed


async def test_what_in_its_ratings_speaks_against_a_judge_is_in_every_report() -> None:
    model = ScriptedModel({"judge": [judge_reply(9, "Well done, all fine!")]}, "scripted/judge")
    result = await Engine(model, "offline/user", rubric_folder=None, store=None, early_stopping=False, seed=1).evaluate(
        scenario(expectation(), 60), app
    )

    [found] = encode_suite([result], result.run, version="1")["scenarios"][0]["expectations"]
    assert result.passed
    assert [each.split(" for ")[0] for each in found["warnings"]] == [
        "scripted/judge gave one and the same reasoning",
        "scripted/judge gave reasons without a word of conversation or expectation",
    ]
    assert "warning: 'Paris': scripted/judge gave one and the same reasoning" in str(result)
