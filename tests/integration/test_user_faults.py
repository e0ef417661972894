"""Simulated users that err, through the whole engine: what it costs, and what is said of it."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import simeval
from simeval import Engine, Expectation, ProportionEvaluator, ScenarioTest, WritingStyleConfig, scorer
from simeval.core.conversation import Conversation
from simeval.core.run_records import Start
from simeval.core.trial import MOST_ANEW
from simeval.errors import DefinitionError
from simeval.models.protocol.model import ModelRequest
from simeval.models.protocol.prompts import UserTurn
from simeval.results.guarantee import HOW_THEY_ENDED
from simeval.results.junit import junit_xml
from simeval.results.suite import encode_suite
from simeval.testing import MemoryJournal, ScriptedModel, audit_reply, judge_reply, user_reply

pytestmark = pytest.mark.anyio

OPENING = "My boots leak and I want to send them back."
FAULTS = {
    "repeats_itself": OPENING,
    "speaks_as_assistant": "How can I help you today?",
    "empty_message": "...",
    "leaks_expectation": "You must name the deadline of thirty days and offer a label.",
    "changes_fact": "It is F1007.",
    "switches_language": "Ich weiß es nicht, weil ich die Bestellung nicht habe.",
}


@scorer
def is_well_treated(conversation: Conversation) -> bool:
    """Find an app bad whose user is: as a judge may whom a strange conversation confuses."""
    bad = [text for text in FAULTS.values() if text != OPENING]
    return not any(text in message.content for message in conversation.messages for text in bad)


def suite(**about: Any) -> ScenarioTest:
    fields: dict[str, Any] = {
        "title": "Return",
        "given": "A customer with order F1001",
        "when": "The customer wants to send back leaking boots of order F1001.",
        "then": [
            Expectation(scorer=is_well_treated, evaluator=ProportionEvaluator(min_proportion=0.9), label="treated"),
            Expectation(
                expected_behavior="The app names the deadline of thirty days and offers a label",
                evaluator=simeval.SuccessRateEvaluator(min_proportion=0.5),
                label="rated",
            ),
        ],
        "sample_size": 60,
    }
    return ScenarioTest(**{**fields, **about})


def erring(share: float, kinds: tuple[str, ...] = tuple(FAULTS)) -> Callable[[Any], dict[str, Any]]:
    """Return a user that errs in its second message in a share of its conversations."""

    def write(request: Any) -> dict[str, Any]:
        assert isinstance(request, UserTurn)
        if not request.history:
            return {"message": OPENING}
        random, turn = Random(request.seed), len(request.history) // 2
        errs, kind = random.random() < share, random.choice(kinds)
        if turn == 1:
            return user_reply(FAULTS[kind] if errs else "It is F1001.", goes_on=True)
        return user_reply("")

    return write


async def app(message: str, state: dict[str, Any]) -> str:
    return "It is registered: you have thirty days." if state.get("asked") else "The boots are noted, thank you."


def engine(user: Any, **options: Any) -> Engine:
    judge = ScriptedModel({"judge": [judge_reply(9)], "audit": options.pop("audit", [audit_reply()])})
    defaults: dict[str, Any] = {
        "user_simulator_model": ScriptedModel({"user": user}, name="scripted/user"),
        "store": None,
        "rubric_folder": None,
        "seed": 1,
        "display": "none",
        "writing_style_config": WritingStyleConfig(enabled=False),
    }
    return Engine(judge, **{**defaults, **options})


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("options", [{}, {"max_user_fault_rate": 1.0}, {"on_user_fault": "retry"}], ids=str)
async def test_a_perfect_app_never_fails_by_its_users(seed: int, options: dict[str, Any]) -> None:
    result = await engine(erring(0.2), seed=seed, **options).evaluate(suite(), app)

    assert not any(verdict.failed for verdict in result.verdicts)
    assert result.outcome != "fail"


async def test_the_same_users_are_the_apps_failure_where_they_only_count() -> None:
    outcomes = Counter[str]()
    for seed in range(8):
        result = await engine(erring(0.3), seed=seed, on_user_fault="count").evaluate(suite(), app)
        outcomes[result.outcome] += 1
        assert result.users.faulty > 0

    assert outcomes["fail"] > 0


async def test_a_fault_makes_a_trial_missing_for_all_its_expectations() -> None:
    result = await engine(erring(0.2), early_stopping=False, max_user_fault_rate=1.0).evaluate(suite(), app)

    faulty = [judgement for judgement in result.judgements if judgement.conversation.user_faults]
    assert 0 < len(faulty) < 30
    assert [verdict.missing for verdict in result.verdicts] == [len(faulty)] * 2
    for judgement in faulty:
        assert judgement.failure
        assert (judgement.failure.stage, judgement.failure.cause) == ("simulator", "user_fault")
        assert judgement.conversation.ended == "goal_satisfied"


async def test_the_auditor_reads_what_the_user_could_not_know() -> None:
    read: list[str] = []

    def audit(request: ModelRequest) -> object:
        read.append(str(request.messages()[-1]["content"]))
        return audit_reply()

    tested = suite()
    await engine(erring(0), audit=audit, audit_users=1.0).evaluate(tested, app)

    secrets = [each.behaviour for each in tested.expectations if each.behaviour]
    assert len(read) > 10
    assert all(secret in text for text in read for secret in secrets)


async def test_above_the_share_that_is_allowed_nothing_is_concluded() -> None:
    result = await engine(erring(0.5)).evaluate(suite(), app)

    assert result.outcome == "error"
    assert "more than the 10% that max_user_fault_rate allows" in result.verdicts[0].explanation


async def test_the_share_is_printed_with_the_trials_and_stands_in_every_report() -> None:
    result = await engine(erring(0.2), early_stopping=False, max_user_fault_rate=1.0).evaluate(suite(), app)

    users = result.users
    [encoded] = encode_suite([result], result.run, version="0")["scenarios"]
    first = next(iter(users.faults.values()))[0]
    assert f"simulated users' faults: {users.faulty} of 60 trials ({users.faulty / 60:.1%})" in str(result)
    assert f"(trial {first}" in str(result).replace("trials", "trial")
    assert encoded["users"]["faulty"] == users.faulty == round(60 * encoded["users"]["fault_rate"])
    assert encoded["users"]["ends"] == {"goal_satisfied": 60}
    assert f'name="user_faults" value="{users.faulty} of 60 trials"' in junit_xml([result], result.run)


async def test_a_trial_is_held_anew_with_other_draws_until_its_user_does_its_part() -> None:
    result = await engine(erring(0.4), on_user_fault="retry", early_stopping=False).evaluate(suite(), app)

    anew = [conversation.held_anew for conversation in result.conversations]
    assert {len(each) for each in anew} == {0, 1, 2}
    assert set().union(*anew) <= set(FAULTS)
    assert result.users.held_anew == sum(map(len, anew))
    assert f"held anew because of a simulated user's fault: {result.users.held_anew} conversation" in str(result)


async def test_a_user_that_always_errs_is_tried_so_often_and_no_more() -> None:
    made = engine(erring(1.0), on_user_fault="retry", max_user_fault_rate=1.0, early_stopping=False)
    result = await made.evaluate(suite(sample_size=5), app)

    assert [len(conversation.held_anew) for conversation in result.conversations] == [MOST_ANEW] * 5
    assert all(failure.is_user_fault for _, failure in result.failures)
    assert result.run.usage["user"].calls == 5 * 3 * (1 + MOST_ANEW)


async def test_calls_are_never_more_than_allowed_though_trials_are_held_anew() -> None:
    options: dict[str, Any] = {"on_user_fault": "retry", "audit_users": 0.3, "on_failed_control": "off"}
    made = engine(erring(0.7), max_user_fault_rate=1.0, early_stopping=False, max_calls=200, **options)
    result = await made.evaluate(suite(max_turns=3), app)

    assert result.run.stopped is not None
    assert result.users.held_anew > 0
    assert sum(usage.calls for usage in result.run.usage.values()) <= 200


async def test_what_a_scenario_allows_is_no_fault_and_part_of_what_was_run(tmp_path: Path) -> None:
    options: dict[str, Any] = {"store": tmp_path / "runs.db", "early_stopping": False, "audit_users": 1.0}
    audits = [audit_reply("changes_fact", reasoning="F1001 is not its number")]
    allows = suite(allowed_user_faults=["changes_fact"], sample_size=8)
    result = await engine(erring(1.0, ("changes_fact",)), audit=audits, **options).evaluate(allows, app)

    assert result.users.faulty == 0
    with pytest.raises(DefinitionError, match="allowed_user_faults was changes_fact and is not set"):
        await engine(erring(1.0), audit=audits, **options, resume="last").evaluate(suite(sample_size=8), app)


async def test_a_run_that_held_trials_anew_is_resumed_as_it_was(tmp_path: Path) -> None:
    options: dict[str, Any] = {"store": tmp_path / "runs.db", "on_user_fault": "retry", "early_stopping": False}
    whole = await engine(erring(0.4), **options).evaluate(suite(), app)

    def silent(request: Any) -> dict[str, Any]:
        raise AssertionError("nothing is asked again")

    resumed = await engine(silent, **options, resume="last").evaluate(suite(), app)

    assert resumed.conversations == whole.conversations
    assert resumed.users == whole.users


async def test_nothing_goes_on_from_a_conversation_that_was_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simeval.engine.actors.dialogue.YOUNG_SECONDS", -1.0)
    journal = MemoryJournal()
    made = engine(erring(1.0), store=journal, on_user_fault="retry", max_user_fault_rate=1.0)

    await made.evaluate(suite(sample_size=1), app)

    starts = [entry for entry in journal.entries if isinstance(entry, Start)]
    texts = [start.messages and [each.content for each in start.messages if each.role == "user"] for start in starts]
    places = [place for place, said in enumerate(texts) if said == [OPENING]]
    assert len(places) == 1 + MOST_ANEW
    assert not any(texts[place - 1] for place in places)


async def test_an_app_that_crashes_is_not_excused_by_its_user() -> None:
    async def crashes(message: str, state: dict[str, Any]) -> str:
        if message in FAULTS.values() and message != OPENING:
            raise ValueError("no")
        return "Noted."

    result = await engine(erring(1.0, ("speaks_as_assistant",)), early_stopping=False).evaluate(suite(), crashes)

    assert {failure.stage for _, failure in result.failures} == {"app"}


async def test_the_judge_audits_a_share_that_the_seed_draws_and_its_faults_count_alike() -> None:
    audits = [audit_reply("changes_fact", reasoning="F1001 is not its number")]
    options: dict[str, Any] = {"max_user_fault_rate": 1.0, "early_stopping": False, "audit": audits}
    result = await engine(erring(0.0), audit_users=0.5, **options).evaluate(suite(), app)
    again = await engine(erring(0.0), audit_users=0.5, **options).evaluate(suite(), app)

    assert 15 <= result.users.faulty <= 45
    assert result.users == again.users
    assert set(result.users.faults) == {"changes_fact"}
    assert result.run.usage["audit"].calls == result.users.faulty
    assert result.verdicts[0].missing == result.users.faulty


async def test_an_audit_that_fails_accuses_nobody_and_is_told() -> None:
    result = await engine(erring(0.0), audit_users=1.0, audit=["no JSON"], early_stopping=False).evaluate(
        suite(sample_size=4), app
    )

    assert result.users.faulty == 0
    assert "4 audits of simulated users could not be made" in result.run.notes


async def test_the_embedded_judge_cannot_audit() -> None:
    with pytest.raises(DefinitionError, match="audit_users: it would ask offline/judge, which cannot audit"):
        await Engine(store=None, audit_users=0.1, display="none").evaluate(suite(), app)


async def test_a_user_in_plain_text_talks_and_leaves_by_a_mark() -> None:
    texts = [OPENING, "Me: It is F1001.", "[END]"]
    made = engine(lambda request: texts[len(request.history) // 2], user_format="text")

    result = await made.evaluate(suite(sample_size=1), app)

    assert [m.content for m in result.conversations[0].messages if m.role == "user"] == [OPENING, "It is F1001."]
    assert result.conversations[0].ended == "goal_satisfied"


@pytest.mark.parametrize(
    ("replies", "ended", "messages"),
    [
        (["satisfied"], "goal_satisfied", 1),
        (["handed_off"], "handed_off", 1),
        (["gave_up"], "gave_up", 1),
        (["open", "open", "open", "open"], "turn_limit", 4),
        (["no_progress"] * 9, "gave_up", None),
    ],
)
async def test_a_conversation_ends_by_a_reason(replies: list[str], ended: str, messages: int | None) -> None:
    said = ["My boots leak", "They are brown", "Size nine", "Bought in May", "From your shop", *"abcde"]

    def write(request: Any) -> str:
        turn = len(request.history) // 2
        leaves = turn and replies[turn - 1] in ("satisfied", "handed_off", "gave_up")
        return json.dumps({"status": replies[turn - 1] if turn else "open", "message": "" if leaves else said[turn]})

    async def answers(message: str, state: dict[str, Any]) -> str:
        return f"I see: {message}."

    limit = messages if ended == "turn_limit" else 10
    result = await engine(write).evaluate(suite(sample_size=1, max_turns=limit), answers)

    [conversation] = result.conversations
    assert conversation.ended == ended
    assert messages is None or len(conversation.responses) == messages
    assert f"users: 1 {HOW_THEY_ENDED[ended]}" in str(result)
