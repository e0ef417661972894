"""A run that is cut off gives no trial that was under way another chance: that one is missing, later ones are anew."""

import json
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

import simeval
from simeval import Engine, Expectation, ProportionEvaluator, ScenarioResult, ScenarioTest, scorer
from simeval.core.conversation import Conversation
from simeval.core.run_records import ResumableRun
from simeval.core.setting_field import WritingStyleConfig
from simeval.core.trial import CUT_OFF
from simeval.datasets.dataset import Example, check_dataset
from simeval.engine.actors import dialogue
from simeval.errors import RunStopped
from simeval.models.protocol.model import Request
from simeval.models.protocol.prompts import UserTurn
from simeval.store.database import Database
from simeval.store.runs import Runs
from simeval.testing import ScriptedModel
from tests.support.stores import SlowJournal, rows, run_sql
from tests.support.waiting import until

pytestmark = pytest.mark.anyio
App = Callable[..., Awaitable[Any]]
IN_FLIGHT = 6
RULE = ProportionEvaluator(min_proportion=0.5)


@scorer
def is_good(conversation: Conversation) -> bool:
    return all(message.content == "good" for message in conversation.responses)


def suite(sample_size: int = 20, *, max_turns: int = 1) -> ScenarioTest:
    then = Expectation(scorer=is_good, evaluator=RULE)
    return ScenarioTest(title="s", given="a", when="b", then=then, sample_size=sample_size, max_turns=max_turns)


@dataclass(slots=True)
class Talk:
    """A user that says how many messages were said, and an app that answers well.

    They wait for ever where `hangs` says so of the side and the trial's index.
    """

    hangs: Callable[[str, int, int], bool] = lambda side, index, turn: False
    hung: int = 0
    heard: list[tuple[int, int]] = field(default_factory=list)
    order: list[int] = field(default_factory=list)  # the trials' seeds, as they came

    async def say(self, request: Request) -> str:
        assert isinstance(request, UserTurn)
        if request.seed not in self.order:
            self.order.append(request.seed)
        turn = len(request.history) // 2
        await self._pass("user", request.seed, turn)
        return json.dumps({"message": f"{request.seed} {turn}", "status": "open"})

    async def answer(self, message: str) -> str:
        seed, turn = map(int, message.split())
        self.heard.append((seed, turn))
        await self._pass("app", seed, turn)
        return "good"

    async def _pass(self, side: str, seed: int, turn: int) -> None:
        if self.hangs(side, self.order.index(seed), turn):
            self.hung += 1
            await anyio.sleep_forever()


async def run(store: Path, talk: Talk, app: App, test: ScenarioTest, **options: Any) -> ScenarioResult:
    """Run a scenario, and end it at once when nothing moves in it any more."""
    engine = simeval.Engine(
        "offline/judge",
        ScriptedModel(talk.say),
        store=store,
        seed=3,
        concurrency=IN_FLIGHT,
        early_stopping=False,
        writing_style_config=WritingStyleConfig(enabled=False),
        **options,
    )

    def is_at_rest() -> bool:
        return talk.hung == IN_FLIGHT or (talk.hung > 0 and talk.hung + len(past(store).held) == test.sample_size)

    async def end() -> None:
        await until(is_at_rest)
        engine.end("cut")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(end)
        result = await engine.evaluate(test, app)
        tasks.cancel_scope.cancel()
    return result


def hanging(trials: Collection[int], *, side: str = "app", turn: int = 0) -> Callable[[str, int, int], bool]:
    return lambda at, index, now: (at, now) == (side, turn) and index in trials


def past(store: Path) -> ResumableRun:
    database = Database(store)
    try:
        return Runs(database).load(Runs(database).find("last"))
    finally:
        database.close()


def seeds(result: ScenarioResult) -> list[int]:
    return [judgement.trial.seed for judgement in result.judgements]


def cut_notes(result: ScenarioResult) -> list[str]:
    return [note for note in result.run.notes if "cut off" in note]


def by_message(talk: Talk) -> App:
    async def app(message: str) -> str:
        return await talk.answer(message)

    return app


def by_history(talk: Talk) -> App:
    async def app(messages: Sequence[Any]) -> str:
        return await talk.answer(messages[-1]["content"])

    return app


class TestMissing:
    async def test_the_first_trial_under_way_is_missing_and_those_dealt_after_it_are_dealt_anew(
        self, tmp_path: Path
    ) -> None:
        first, second = Talk(hanging({2, 5})), Talk()
        await run(tmp_path / "runs.db", first, by_message(first), suite())
        before = past(tmp_path / "runs.db")

        result = await run(tmp_path / "runs.db", second, by_message(second), suite(), resume="last")

        finished = {index for _, index in before.held}
        assert {2, 5}.isdisjoint(finished)
        assert {0, 1, 3, 4, 6} <= finished
        assert [judgement.failure for judgement in result.judgements] == [None, None, CUT_OFF] + [None] * 17
        assert seeds(result)[:2] == [before.held[0, index].trial.seed for index in (0, 1)]
        assert set(seeds(result)[3:]).isdisjoint(first.order)
        assert (result.verdicts[0].n, result.verdicts[0].missing) == (20, 1)
        aside = len(finished) - 2
        assert cut_notes(result) == [
            "the run was cut off in 1 trial that was under way, which counts as missing; "
            f"{aside} later trials that had finished were set aside and repeated"
        ]
        assert cut_notes(result)[0] in " ".join(str(result).split())

    async def test_what_is_set_aside_stays_in_the_store(self, tmp_path: Path) -> None:
        first, second = Talk(hanging({1})), Talk()
        await run(tmp_path / "runs.db", first, by_message(first), suite())
        before = past(tmp_path / "runs.db")

        await run(tmp_path / "runs.db", second, by_message(second), suite(), resume="last")

        database = Database(tmp_path / "runs.db")
        kept = rows(database, "SELECT trial, seed FROM set_aside ORDER BY trial")
        database.close()
        assert kept == sorted((index, held.trial.seed) for (_, index), held in before.held.items() if index > 1)

    async def test_every_cut_gives_fresh_draws(self, tmp_path: Path) -> None:
        drawn, missing = list[int](), []
        for number in range(5):
            talk = Talk(hanging({2}))
            await run(tmp_path / "runs.db", talk, by_message(talk), suite(), resume="last" if number else None)
            drawn += talk.order
            missing.append(past(tmp_path / "runs.db").cuts.get(0, ()))
        talk = Talk()

        result = await run(tmp_path / "runs.db", talk, by_message(talk), suite(), resume="last")

        assert len(drawn) == len(set(drawn))
        assert missing == [(), (2,), (2, 5), (2, 5, 8), (2, 5, 8, 11)]
        assert [index for index, _ in result.failures] == [2, 5, 8, 11, 14]
        assert cut_notes(result)[0].startswith("the run was cut off in 5 trials")

    async def test_a_trial_that_is_missing_for_a_cut_is_no_error(self, tmp_path: Path) -> None:
        first, second = Talk(hanging({1})), Talk()
        await run(tmp_path / "runs.db", first, by_message(first), suite(8))

        result = await run(tmp_path / "runs.db", second, by_message(second), suite(8), resume="last")

        assert len(result.failures) == 1 > 0.1 * 8
        assert result.passed

    async def test_a_finished_run_that_is_resumed_loses_nothing(self, tmp_path: Path) -> None:
        first, second = Talk(), Talk()
        whole = await run(tmp_path / "runs.db", first, by_message(first), suite())

        again = await run(tmp_path / "runs.db", second, by_message(second), suite(), resume="last")

        assert not second.heard
        assert seeds(again) == seeds(whole)
        assert not cut_notes(again)

    async def test_of_a_run_of_an_older_version_gaps_are_what_was_under_way(self, tmp_path: Path) -> None:
        first, second = Talk(hanging({2, 5})), Talk()
        await run(tmp_path / "runs.db", first, by_message(first), suite())
        database = Database(tmp_path / "runs.db")
        run_sql(database, "DELETE FROM starts")
        database.close()

        result = await run(tmp_path / "runs.db", second, by_message(second), suite(), resume="last")

        assert [index for index, _ in result.failures] == [2]

    async def test_a_larger_sample_takes_the_rule_over(self, tmp_path: Path) -> None:
        first, second = Talk(hanging({2})), Talk()
        await run(tmp_path / "runs.db", first, by_message(first), suite())
        larger = partial(run, test=suite(30), resume="last")

        result = await larger(tmp_path / "runs.db", second, by_message(second), accept_changes=True)
        third = Talk()
        again = await larger(tmp_path / "runs.db", third, by_message(third))

        assert [index for index, _ in result.failures] == [2]
        assert result.trials == 30
        assert set(second.order).isdisjoint(first.order)
        assert seeds(again) == seeds(result)
        assert not third.heard

    async def test_an_app_that_stopped_the_run_gets_no_other_chance_at_that_trial(self, tmp_path: Path) -> None:
        talk, broken = Talk(), iter(["once"])

        async def app(message: str) -> str:
            if len(talk.heard) == 5 and next(broken, ""):
                raise RuntimeError("once")
            return await talk.answer(message)

        engine = partial(run, test=suite(), on_app_error="stop")
        with pytest.raises(ExceptionGroup) as caught:
            await engine(tmp_path / "runs.db", talk, app)

        result = await engine(tmp_path / "runs.db", talk, app, resume="last")

        assert isinstance(caught.value.exceptions[0], RunStopped)
        assert [failure for _, failure in result.failures] == [CUT_OFF]
        assert result.passed


class TestContinued:
    @pytest.fixture(autouse=True)
    def _bookmarks_from_the_first_turn_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(dialogue, "YOUNG_SECONDS", 0.0)

    async def test_conversations_that_waited_for_their_user_go_on_where_they_were(self, tmp_path: Path) -> None:
        test = suite(max_turns=3)
        first, second = Talk(hanging(range(20), side="user", turn=2)), Talk()
        await run(tmp_path / "runs.db", first, by_history(first), test)
        begun = past(tmp_path / "runs.db").begun
        second.order = first.order

        result = await run(tmp_path / "runs.db", second, by_history(second), test, resume="last")

        assert len(begun) == 6
        assert not result.failures
        assert not cut_notes(result)
        assert [len(conversation.messages) for conversation in result.conversations] == [6] * 20
        assert sorted(first.heard + second.heard) == sorted((seed, turn) for seed in second.order for turn in range(3))
        assert [conversation.messages[:4] for conversation in result.conversations[:6]] == [
            begun[0, index].messages for index in range(6)
        ]

    async def test_an_answer_that_was_under_way_is_not_asked_for_again(self, tmp_path: Path) -> None:
        test = suite(max_turns=3)
        hangs = hanging({3}, turn=1)
        waits = hanging(range(20), side="user", turn=2)
        first = Talk(lambda *at: hangs(*at) or waits(*at))
        second = Talk()
        await run(tmp_path / "runs.db", first, by_history(first), test)

        result = await run(tmp_path / "runs.db", second, by_history(second), test, resume="last")

        assert [index for index, _ in result.failures] == [3]
        assert sorted(turn for seed, turn in second.heard if seed in first.order) == [2, 2, 2]

    async def test_the_state_of_an_app_goes_on_with_it(self, tmp_path: Path) -> None:
        test, counts = suite(max_turns=3), list[int]()
        first, second = Talk(hanging(range(20), side="user", turn=2)), Talk()

        def app(talk: Talk) -> App:
            async def counting(message: str, state: dict[str, Any]) -> tuple[str, Any]:
                count = state.get("turns", 0) + 1
                if talk is second:
                    counts.append(count)
                return await talk.answer(message), {"turns": count}

            return counting

        await run(tmp_path / "runs.db", first, app(first), test)
        second.order = first.order

        result = await run(tmp_path / "runs.db", second, app(second), test, resume="last")

        assert counts.count(3) == 20
        assert counts.count(1) == 14
        assert not result.failures

    @pytest.mark.parametrize(
        "state",
        [object(), {"items": (1, 2)}, {1: "key"}, {"key": "sk-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"}],
        ids=["object", "tuple", "number as a key", "secret"],
    )
    async def test_a_state_that_cannot_be_kept_as_it_is_keeps_no_place(self, tmp_path: Path, state: object) -> None:
        test = suite(max_turns=3)
        first, second = Talk(hanging(range(20), side="user", turn=2)), Talk()

        async def app(message: str, _: Any) -> tuple[str, Any]:
            return await first.answer(message), state

        await run(tmp_path / "runs.db", first, app, test)
        kept = past(tmp_path / "runs.db").begun.values()

        result = await run(tmp_path / "runs.db", second, by_message(second), test, resume="last", accept_changes=True)

        assert [start.messages for start in kept] == [None] * 6
        assert [index for index, _ in result.failures] == [0]

    async def test_an_app_that_shows_nothing_of_what_it_remembers_is_not_gone_on_with(self, tmp_path: Path) -> None:
        test = suite(max_turns=3)
        talk = Talk(hanging(range(20), side="user", turn=2))
        await run(tmp_path / "runs.db", talk, by_message(talk), test)

        assert [start.messages for start in past(tmp_path / "runs.db").begun.values()] == [None] * 6

    async def test_what_was_kept_of_a_conversation_is_gone_when_the_run_has_ended(self, tmp_path: Path) -> None:
        talk = Talk()
        await run(tmp_path / "runs.db", talk, by_history(talk), suite(5, max_turns=3))

        database = Database(tmp_path / "runs.db")
        assert rows(database, "SELECT count(*), count(said), count(state) FROM starts") == [(5, 0, 0)]
        database.close()


async def test_a_young_conversation_keeps_no_place(tmp_path: Path) -> None:
    talk = Talk(hanging(range(20), side="user", turn=2))
    await run(tmp_path / "runs.db", talk, by_history(talk), suite(max_turns=3))

    assert [start.messages for start in past(tmp_path / "runs.db").begun.values()] == [None] * 6


class TestExperiments:
    async def test_an_example_that_was_under_way_is_missing(self, tmp_path: Path) -> None:
        examples = [Example(inputs={"input": str(number)}) for number in range(20)]
        dataset = check_dataset(lambda: examples, name="numbers")
        asked: list[str] = []

        async def answer(message: str) -> str:
            asked.append(message)
            if asked.count("8") == 1 and message == "8":
                engine.end("cut")
            if message == "3" and "8" not in asked:
                await anyio.sleep_forever()
            return "good"

        engine = simeval.Engine(store=tmp_path / "runs.db", seed=1, concurrency=2)
        await engine.evaluate(dataset, answer, scorers=[is_good])

        again = simeval.Engine(store=tmp_path / "runs.db", seed=1, concurrency=2, resume="last")
        result = await again.evaluate(dataset, answer, scorers=[is_good])

        assert result.answers == 20
        assert dict(result.failures) == {f"run: {CUT_OFF.error}": 1}
        assert sum(value != value for value in result.values["is_good"]) == 1
        assert asked.count("3") == 1
        assert asked.count("4") == asked.count("7") == 2

    async def test_what_was_recorded_is_the_same_whenever_it_is_measured(self, tmp_path: Path) -> None:
        said = Conversation(messages=(simeval.Message(role="assistant", content="good"),), ended="recorded")
        dataset = check_dataset(lambda: [Example(conversation=said)] * 30, name="log")
        measured: list[int] = []

        async def slow(output: str) -> bool:
            measured.append(1)
            if len(measured) == 12:
                engine.end("cut")
            await anyio.sleep(0.001)
            return True

        engine = simeval.Engine(store=tmp_path / "runs.db", seed=1, concurrency=4)
        await engine.evaluate(dataset, None, scorers=[scorer(slow, name="slow")])

        again = simeval.Engine(store=tmp_path / "runs.db", seed=1, concurrency=4, resume="last")
        result = await again.evaluate(dataset, None, scorers=[scorer(slow, name="slow")])

        assert (result.answers, dict(result.failures)) == (30, {})


@pytest.mark.parametrize("kind", ["scenario", "examples"])
async def test_no_app_is_asked_before_it_is_kept_that_its_trial_has_begun(kind: str) -> None:
    journal = SlowJournal()
    asked: list[int] = []
    unkept: list[int] = []

    async def app(message: str) -> str:
        trial = int(message.split()[0])
        asked.append(trial)
        if trial not in {each.seed if kind == "scenario" else each.index for each in journal.begun}:
            unkept.append(trial)
        return "good"

    engine = Engine("offline/judge", ScriptedModel(Talk().say), store=journal, concurrency=4, seed=1)
    if kind == "scenario":
        await engine.evaluate(suite(), app)
    else:
        examples = [Example(inputs={"input": str(number)}) for number in range(8)]
        await engine.evaluate(check_dataset(lambda: examples, name="numbers"), app, scorers=[is_good])

    assert len(asked) >= 8
    assert unkept == []
