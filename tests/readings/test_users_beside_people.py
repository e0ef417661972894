"""How like people the users of a run are: said at its end, in every form of its report."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from simeval import Engine, Expectation, ProportionEvaluator, ScenarioTest, SuiteResult, fit_users
from simeval.analysis.merging import read_ended
from simeval.core.conversation import GIVEN, Conversation, Message
from simeval.core.user_measures import AT_ONCE, PUSH_BACK, QUESTIONS, WORDS, measure_user
from simeval.extras.populations.fitting import users_text
from simeval.results.guarantee import fidelity_of
from simeval.results.html.heads import head_of
from simeval.results.suite import encode_suite
from simeval.store.opening import open_database
from simeval.suites.files import load_suite

ANYTHING = Expectation(
    scorer=lambda output: bool(output), label="answers", evaluator=ProportionEvaluator(min_proportion=0.5)
)
WITH_DETAILS = ScenarioTest(
    title="An order",
    given="A customer with order F1001, e-mail ann@shop.example",
    when="The user asks when order F1001 comes to 12 Mill Road",
    then=ANYTHING,
    sample_size=20,
)


def talk(*said: str, ended: str = "goal_satisfied") -> Conversation:
    """Return a conversation of a user who says this, and is told "Yes." each time."""
    pairs = [(Message(role="user", content=text), Message(role="assistant", content="Yes.")) for text in said]
    return Conversation(messages=tuple(each for pair in pairs for each in pair), ended=ended)  # type: ignore[arg-type]


def person(random: Random) -> Conversation:
    """Return what some person would say, who tells an order now or later, at some length."""
    said = [" ".join(["well"] * (1 + int(random.expovariate(0.15)))) for _ in range(random.randint(2, 6))]
    said[0 if random.random() < 0.3 else 1] += f" it is order F{random.randint(1000, 9999)}"
    asked = [f"{text}?" if random.random() < 0.2 else text for text in said]
    return talk(asked[0], *(f"{text}. But I paid" if random.random() < 0.1 else text for text in asked[1:]))


def logs_of(talks: list[Conversation]) -> dict[str, tuple[float, float, int]]:
    return dict(fit_users(talks).measured)


async def run(scenario: ScenarioTest = WITH_DETAILS, store: Path | None = None) -> SuiteResult:
    engine = Engine("offline/judge", seed=7, store=store, display="none", early_stopping=False)
    return await engine.evaluate([scenario], lambda message, state: "It comes on Friday, and a return costs $5.")


def test_each_measure_is_read_off_the_messages() -> None:
    found = measure_user(talk("Hello there", "Where is order F1001?", "But I paid $20 for F1001!"))

    assert found == {WORDS: 4.0, AT_ONCE: 0.0, QUESTIONS: pytest.approx(1 / 3), PUSH_BACK: 0.5}


def test_people_beside_themselves_stay_within_the_noise_in_19_of_20_runs() -> None:
    random = Random(11)
    told = 0
    for _ in range(100):
        logs = logs_of([person(random) for _ in range(100)])
        found = fidelity_of([[person(random)] for _ in range(20)], logs)
        assert found is not None
        told += any(each.differs for each in found.measures.values())

    assert told <= 5


def test_users_who_tell_everything_at_once_are_easier_than_those_of_the_logs() -> None:
    random = Random(12)
    logs = logs_of([person(random) for _ in range(200)])

    found = fidelity_of([[talk("well well well well it is order F1001", "well well")] * 10] * 10, logs)

    assert found is not None
    assert found.verdict == "easier than"
    assert str(found).startswith("users: easier than your users, 200 conversations: tell 100% of their details at once")


def test_users_who_push_back_at_each_turn_are_harder_than_people() -> None:
    found = fidelity_of([[talk("Where is my parcel", "But that is wrong", "That is not what I asked")] * 10] * 5, {})

    assert found is not None
    assert found.verdict == "harder than"
    assert "push back in 100%" in str(found)


def test_nothing_is_said_of_scripts_recordings_few_users_and_other_languages() -> None:
    given = Message(role="user", content="Where is order F1001?", metadata={GIVEN: True})
    scripted = Conversation(messages=(given,), ended="goal_satisfied")
    german = talk("Ich möchte bitte wissen, wann meine Bestellung bei mir ist", "Das ist nicht die Antwort auf das")

    assert fidelity_of([[scripted] * 20], {}) is None
    assert fidelity_of([[talk("Where is it?", ended="recorded")] * 20], {}) is None
    assert fidelity_of([[talk("Where is it?")] * 4], {}) is None
    assert fidelity_of([[german] * 20], {}) is None
    assert fidelity_of([[german] * 20], logs_of([german] * 30)) is not None


@pytest.mark.anyio
async def test_every_form_of_the_report_says_it_and_a_stored_run_says_the_same(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"

    result = await run(store=store)
    said = str(result.run.fidelity)

    assert said.startswith("users: easier than people with a task (STAR, English), 1,495 conversations: ")
    assert said in " ".join(result.text().split())
    assert said in " ".join(result.to_markdown().split())
    assert said in head_of(result.document()).notes
    encoded = json.loads(json.dumps(encode_suite(result.results, result.run, version="1")))["fidelity"]
    assert encoded["measures"][AT_ONCE]["users"] > encoded["measures"][AT_ONCE]["people"] + 0.5
    database = open_database(str(store), must_exist=True)
    assert read_ended(database, result.run.run_id).result.run.fidelity == result.run.fidelity
    database.close()


@pytest.mark.anyio
async def test_a_mix_fitted_to_logs_brings_its_own_people(tmp_path: Path) -> None:
    random = Random(13)
    fitted = fit_users(person(random) for _ in range(60))
    then = "{expected_behavior: d, evaluator: {type: success_rate, min_proportion: 0.5}}"
    suite = f"scenarios: [{{title: a, given: b, when: c, then: {then}}}]"
    (tmp_path / "suite.yaml").write_text(f"{users_text(fitted)}{suite}", encoding="utf-8")

    read = load_suite(str(tmp_path / "suite.yaml")).scenarios[0].users
    result = await run(replace(WITH_DETAILS, users=fitted.mix))

    assert read is not None
    assert read.logs[WORDS] == pytest.approx(fitted.measured[WORDS], rel=1e-3)
    assert result.run.fidelity is not None
    assert result.run.fidelity.reference == "your users"
