"""Conversations of given and simulated turns with checks in between, through the whole engine."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from scenarios import returns_desk, telecom
from simeval import Engine, Expectation, ProportionEvaluator, ScenarioResult, ScenarioTest, UserMix, UserPersona
from simeval.engine.actors import dialogue
from simeval.errors import DefinitionError
from simeval.models.protocol.model import Request
from simeval.models.protocol.prompts import CriteriaRequest
from simeval.scorers import ToolRules
from simeval.suites import Check, Step
from simeval.suites.files import load_file
from simeval.testing import ScriptedModel, user_reply

pytestmark = pytest.mark.anyio
SUITE = Path(__file__).resolve().parents[2] / "scenarios" / "returns_desk.yaml"
SHARE = ProportionEvaluator(min_proportion=0.5, early_stopping=False)
Messages = Sequence[Mapping[str, str]]


def counting(messages: Messages, state: Any) -> str:
    return f"Answer {sum(message['role'] == 'user' for message in messages)} to {messages[-1]['content']}"


def scripted(*script: Step, **about: Any) -> ScenarioTest:
    fields: dict[str, Any] = {
        "title": "Script",
        "given": "A customer with order F1001",
        "when": "The user asks where the order is. The user asks when it comes. The user asks who brings it.",
        "then": Expectation(scorer=lambda conversation: True, evaluator=SHARE),
        "sample_size": 10,
    }
    return ScenarioTest(script=script, **{**fields, **about})


async def run(scenario: ScenarioTest, app: Any = counting, **settings: Any) -> ScenarioResult:
    return await Engine(seed=3, display="none", **{"store": None, **settings}).evaluate(scenario, app)


def said(result: ScenarioResult, trial: int = 0) -> list[tuple[str, str]]:
    return [(each.role, each.content) for each in result.conversations[trial].messages]


async def test_given_and_simulated_turns_stand_in_their_order_and_a_given_answer_is_not_asked() -> None:
    talker = ScriptedModel(lambda _: user_reply("Where is it?", goes_on=True))

    result = await run(
        scripted(Step(user="Hello"), Step(app="How can I help?"), Step(simulate=1), Step(user="Bye")),
        user_simulator_model=talker,
    )

    assert said(result) == [
        ("user", "Hello"),
        ("assistant", "How can I help?"),
        ("user", "Where is it?"),
        ("assistant", "Answer 2 to Where is it?"),
        ("user", "Bye"),
        ("assistant", "Answer 3 to Bye"),
    ]
    assert [len(each.responses) for each in result.conversations] == [2] * 10
    assert {each.ended for each in result.conversations} == {"script_over"}


@pytest.mark.parametrize("concurrency", [1, 3, 10])
async def test_a_seed_gives_the_same_transcripts_at_any_concurrency(concurrency: int) -> None:
    async def one(at_once: int) -> list[list[tuple[str, str]]]:
        script = (Step(user="Hello"), Step(simulate=2), Step(check=Check(contains="Answer")), Step(simulate="to_end"))
        result = await run(scripted(*script), concurrency=at_once)
        return [said(result, trial) for trial in range(10)]

    alone = await one(1)

    assert await one(concurrency) == alone
    assert len({str(each) for each in alone}) > 1


@pytest.mark.parametrize(
    ("check", "why"),
    [
        (Check(contains="refund"), "the answer does not contain 'refund'"),
        (Check(contains=["Answer", "label"]), "the answer does not contain 'label'"),
        (Check(matches=r"Answer [5-9]"), "the answer does not match 'Answer [5-9]'"),
        (Check(tools=ToolRules(required=["refund"])), "refund was not called"),
        ("Bot offers a refund", "the judge does not find that 'Bot offers a refund'"),
    ],
)
async def test_a_check_that_fails_ends_the_trial_as_not_met_with_its_turn_named(check: Any, why: str) -> None:
    result = await run(scripted(Step(user="Hello"), Step(user="Again"), Step(check=check), Step(user="Never said")))

    (verdict,) = result.verdicts
    errors = {failure.error for _, failure in result.failures}
    assert result.outcome == "fail"
    assert (verdict.estimate, verdict.missing) == (0.0, 0)
    assert errors == {f"a check did not hold at turn 2 (step 3 of the script): {why}"}
    assert "at turn 2" in str(result)
    assert all(("user", "Never said") not in said(result, trial) for trial in range(10))
    assert {each.ended for each in result.conversations} == {"check_failed"}


@pytest.mark.parametrize("on_app_error", ["fail", "exclude", "stop"])
async def test_a_failed_check_counts_as_not_met_whatever_becomes_of_an_apps_errors(on_app_error: Any) -> None:
    failing = scripted(Step(user="Hello"), Step(check=Check(contains="refund")))

    (verdict,) = (await run(failing, on_app_error=on_app_error)).verdicts

    assert (verdict.outcome, verdict.n, verdict.left_out) == ("fail", 10, 0)


async def test_checks_that_hold_let_the_conversation_go_on() -> None:
    checks = [Check(contains="Answer"), Check(matches="^Answer 1 "), Check(tools=ToolRules(max_calls=0))]

    result = await run(
        scripted(Step(user="Hello"), *(Step(check=each) for each in checks), Step(check="Bot says Answer"))
    )

    assert result.passed


async def test_a_check_may_look_at_the_world() -> None:
    scenario = scripted(
        Step(user="My phone is offline."),
        Step(check=Check(state={"phone.restarts": 1})),
        Step(check=Check(state={"line.bill": {"at_least": 100}})),
        world=telecom.Telecom,
    )

    result = await run(scenario, telecom.helper)

    assert {failure.error for _, failure in result.failures} == {
        "a check did not hold at turn 1 (step 3 of the script): line.bill is 4.0, not at_least 100"
    }


async def test_what_a_script_gives_is_no_fault_of_the_simulated_user() -> None:
    line = "How can I help you today? I need the number of your order, please."

    result = await run(scripted(Step(user=line), Step(user=line)))

    assert result.passed
    assert result.users.faulty == 0


async def test_a_run_that_is_read_back_has_the_same_checks_and_transcripts(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    scenario = scripted(Step(user="Hello"), Step(simulate=1), Step(check=Check(contains="to Where")))
    first = await run(scenario, store=store)

    again = await run(scenario, store=store, resume=first.run.run_id)

    assert [said(again, trial) for trial in range(10)] == [said(first, trial) for trial in range(10)]
    assert again.failures == first.failures != ()
    assert again.verdicts == first.verdicts


async def test_a_given_answer_is_refused_where_the_app_would_not_know_of_it() -> None:
    def by_message(message: str) -> str:
        return message

    with pytest.raises(DefinitionError, match="the app handler takes the last message only"):
        await run(scripted(Step(user="Hello"), Step(app="How can I help?"), Step(simulate=1)), by_message)


@pytest.mark.parametrize(("app", "outcome"), [(returns_desk.handle, "pass"), (returns_desk.hasty, "fail")])
async def test_the_returns_desk_is_found_out_where_it_is_hasty(app: Any, outcome: str) -> None:
    result = await Engine(seed=7, display="none", store=None).evaluate(load_file(SUITE), app)

    assert result.outcome == outcome


async def test_a_sentence_that_no_judge_could_rule_on_is_refused_before_anything_is_asked() -> None:
    first, second = (ScriptedModel([user_reply("Hi")], name) for name in ("judge/first", "judge/second"))
    made = Engine([first, second], store=None, escalate="rating 4..8")

    with pytest.raises(DefinitionError, match="takes no ruling on criteria"):
        await made.evaluate(scripted(Step(user="Hello"), Step(check="Bot is polite")), counting)

    assert first.calls == second.calls == 0


async def test_who_judges_a_check_is_not_told_who_the_user_is() -> None:
    def ruled(request: Request) -> Mapping[str, Any]:
        assert isinstance(request, CriteriaRequest)
        quote = request.conversation[-1].content
        ruling = {"reasoning": "It does.", "quote": quote, "ruling": "met"}
        return {"rulings": dict.fromkeys(request.criteria, ruling)}

    judge = ScriptedModel({"judge": ruled, "user": [user_reply("Hi")]})
    users = UserMix([UserPersona(persona="You are in a hurry.", share=1)])
    script = (Step(user="Hello"), Step(check="Bot answers"))

    result = await Engine(judge, seed=3, store=None).evaluate(scripted(*script, users=users, sample_size=2), counting)

    assert {request.given for request in judge.requests if isinstance(request, CriteriaRequest)} == {
        "A customer with order F1001"
    }
    assert {each.ended for each in result.conversations} == {"script_over"}


@pytest.mark.parametrize(
    ("script", "about"),
    [
        ((Step(user="Hello"), Step(user="Bye")), {}),
        ((), {"world": telecom.Telecom}),
        ((), {"users": UserMix([UserPersona(persona="You are Ada.", share=1, scripts=[[Step(user="Hello")]])])}),
    ],
)
async def test_a_conversation_that_was_under_way_before_there_was_a_script_or_a_world_does_not_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Sequence[Step], about: Mapping[str, Any]
) -> None:
    monkeypatch.setattr(dialogue, "YOUNG_SECONDS", 0.0)
    store = tmp_path / "runs.db"

    async def leaves_the_run(request: Request) -> Any:
        if getattr(request, "history", ()):
            first.end()
            await anyio.sleep_forever()
        return user_reply("Where is it?", goes_on=True)

    first = Engine(ScriptedModel(leaves_the_run), seed=3, store=store, concurrency=1, display="none")
    await first.evaluate(scripted(sample_size=3), counting)

    changed = scripted(*script, sample_size=3, **about)
    talker = ScriptedModel({"user": [user_reply("And now?")]})
    allowed = {"accept_changes": True, "max_user_fault_rate": 1.0}  # it asks for one of three things
    result = await run(changed, store=store, resume="last", user_simulator_model=talker, **allowed)

    assert [each.ended == "cut" for each in result.conversations] == [True, False, False]


@pytest.mark.parametrize(("steps", "is_drawn"), [((), False), ((Step(simulate=1),), True)])
async def test_a_style_is_drawn_only_where_a_simulated_user_writes(steps: tuple[Step, ...], is_drawn: bool) -> None:
    mix = UserMix([UserPersona(persona="You are Ada.", share=1, name="Ada", style={"language": "Danish."})])

    result = await run(scripted(Step(user="Hello"), *steps, users=mix))

    assert {"language" in (each.writing_style or {}) for each in result.conversations} == {is_drawn}
    assert {(each.writing_style or {}).get("persona") for each in result.conversations} == {"Ada"}
