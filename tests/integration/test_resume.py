"""A run that was stopped in the middle goes on where it was, at the cost of the rest, to the same verdicts."""

import importlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import simeval
from simeval import (
    Expectation,
    ProportionEvaluator,
    ScenarioTest,
    Scorer,
    SuiteResult,
    dataset_of,
)
from simeval.errors import DefinitionError, ModelError
from simeval.models.protocol.prompts import GradeRequest, RubricRequest
from simeval.results.encoding import encode_document
from simeval.results.suite import encode_suite
from simeval.scorers import ExactMatch
from simeval.store.database import Database
from simeval.store.runs import Runs
from simeval.testing import ScriptedModel
from tests.support.doubles import LEVELS
from tests.support.ending_early import BEHAVIOUR, LENGTH, LOWER, SUITE, App, Engine, findings

pytestmark = pytest.mark.anyio


async def ended_at(turn: int, store: Path, suite: Sequence[ScenarioTest] = SUITE, **options: Any) -> SuiteResult:
    """Run a suite and end it at once at a turn of the app."""
    engine = Engine(store=store, **options)
    return await engine.evaluate(suite, App(turn, engine.end))


async def stopped_at(turn: int, store: Path, **options: Any) -> SuiteResult:
    """Run the suite and start no more trials from a turn of the app on."""
    engine = Engine(store=store, **options)
    return await engine.evaluate(SUITE, App(turn, engine.stop))


class TestResume:
    @pytest.mark.parametrize("turn", [1, 9, 60, 90])
    async def test_a_resumed_run_concludes_as_an_uninterrupted_one_would(self, tmp_path: Path, turn: int) -> None:
        whole = await Engine(store=None).evaluate(SUITE, App())
        cut = await stopped_at(turn, tmp_path / "runs.db")

        resumed = await Engine(store=tmp_path / "runs.db", resume=cut.run.run_id).evaluate(SUITE, App())

        assert cut.run.stopped
        assert findings(resumed) == findings(whole)
        assert resumed.run.run_id == cut.run.run_id
        assert not resumed.run.stopped
        assert not any("cut off" in note for note in resumed.run.notes)

    async def test_it_may_be_stopped_again_and_again(self, tmp_path: Path) -> None:
        whole = await Engine(store=None).evaluate(SUITE, App())
        result = await stopped_at(15, tmp_path / "runs.db")
        for _ in range(30):
            if not result.run.stopped:
                break
            result = await stopped_at(25, tmp_path / "runs.db", resume="last")

        assert findings(result) == findings(whole)

    async def test_finished_conversations_are_not_held_again(self, tmp_path: Path) -> None:
        cut = await stopped_at(100, tmp_path / "runs.db", early_stopping=False)
        database = Database(tmp_path / "runs.db")
        past = Runs(database).load(cut.run.run_id)
        database.close()
        app = App()

        whole = await Engine(store=tmp_path / "runs.db", resume="last", early_stopping=False).evaluate(SUITE, app)

        turns = sum(len(c.responses) for result in whole for c in result.conversations)
        kept = sum(len(held.conversation.responses) for held in past.held.values())
        assert kept >= 60
        assert app.turns == turns - kept

    async def test_usage_and_seconds_are_those_of_all_attempts(self, tmp_path: Path) -> None:
        cut = await stopped_at(100, tmp_path / "runs.db", early_stopping=False)

        resumed = await Engine(store=tmp_path / "runs.db", resume="last", early_stopping=False).evaluate(SUITE, App())

        alone = await Engine(store=None, early_stopping=False).evaluate(SUITE, App())
        assert resumed.run.usage["judge"].calls == alone.run.usage["judge"].calls == 90
        assert resumed.run.usage["user"].calls == alone.run.usage["user"].calls
        assert resumed.run.seconds > cut.run.seconds

    async def test_a_finished_run_is_only_concluded_again(self, tmp_path: Path) -> None:
        whole = await Engine(store=tmp_path / "runs.db").evaluate(SUITE, App())
        app = App()

        again = await Engine(store=tmp_path / "runs.db", resume=whole.run.run_id[:12]).evaluate(SUITE, app)

        assert app.turns == 0
        assert findings(again) == findings(whole)
        assert again.run.usage == whole.run.usage

    async def test_the_stored_result_is_what_was_returned(self, tmp_path: Path) -> None:
        cut = await ended_at(60, tmp_path / "runs.db")
        resumed = await Engine(store=tmp_path / "runs.db", resume=cut.run.run_id).evaluate(SUITE, App())
        database = Database(tmp_path / "runs.db")

        found = encode_document(Runs(database).document(cut.run.run_id))

        database.close()
        expected = encode_suite(resumed.results, resumed.run, version=simeval.__version__)
        assert json.loads(json.dumps(found)) == json.loads(json.dumps(expected))

    async def test_rubrics_are_not_written_again(self, tmp_path: Path) -> None:
        asked = Counter[str]()

        async def judge(request: Any) -> str:
            asked[request.role] += 1
            if isinstance(request, RubricRequest):
                return json.dumps({"levels": {**LEVELS, "6": f"text {asked['rubric']}"}})
            assert isinstance(request, GradeRequest)
            return json.dumps({"reasoning": request.levels["6"], "score": 8})

        panel: dict[str, Any] = {
            "judge_model": ScriptedModel(judge),
            "user_simulator_model": "offline/user",
            "rubric_folder": None,
        }
        await ended_at(60, tmp_path / "runs.db", **panel)
        written = asked["rubric"]

        resumed = await Engine(store=tmp_path / "runs.db", resume="last", **panel).evaluate(SUITE, App())

        assert written == asked["rubric"] == 3
        assert resumed.run.usage["rubric"].calls == 3

    async def test_what_the_judge_could_not_score_is_asked_again(self, tmp_path: Path) -> None:
        is_down = True

        async def judge(request: Any) -> str:
            if isinstance(request, RubricRequest):
                return json.dumps({"levels": LEVELS})
            if is_down:
                raise ModelError("judge", kind="content", problem="refused")
            return json.dumps({"reasoning": "fine", "score": 8})

        options: dict[str, Any] = {
            "judge_model": ScriptedModel(judge),
            "user_simulator_model": "offline/user",
            "rubric_folder": None,
        }
        before = await Engine(store=tmp_path / "runs.db", **options).evaluate(SUITE, App())
        is_down, app = False, App()

        after = await Engine(store=tmp_path / "runs.db", resume="last", **options).evaluate(SUITE, app)

        assert {result.outcome for result in before} == {"error"}
        assert {result.expectations[0].outcome for result in after} == {"pass"}
        assert app.turns < sum(len(c.responses) for result in after for c in result.conversations)

    async def test_an_app_that_failed_has_failed(self, tmp_path: Path) -> None:
        async def broken(message: str) -> str:
            raise RuntimeError("no")

        before = await Engine(store=tmp_path / "runs.db").evaluate(SUITE, broken)
        fixed = partial(broken)

        after = await Engine(store=tmp_path / "runs.db", resume="last", accept_changes=True).evaluate(SUITE, fixed)

        assert [result.outcome for result in after] == [result.outcome for result in before] == ["error"] * 3

    async def test_an_app_whose_module_has_changed_is_another(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file, store = tmp_path / "changing_bot.py", tmp_path / "runs.db"
        file.write_text(
            "told = []\n\nasync def handle(message):\n    return await told[0](message)\n", encoding="utf-8"
        )
        monkeypatch.syspath_prepend(tmp_path)
        bot = importlib.import_module("changing_bot")
        first = Engine(store=store)
        bot.told.append(App(9, first.stop))
        cut = await first.evaluate(SUITE, bot.handle)
        file.write_text("def handle(message):\n    return 'No.'\n", encoding="utf-8")

        with pytest.raises(DefinitionError, match="the code of the app changing_bot:handle is another"):
            await Engine(store=store, resume="last").evaluate(SUITE, bot.handle)
        taken = await Engine(store=store, resume="last", accept_changes=True).evaluate(SUITE, bot.handle)

        assert cut.run.stopped
        assert "although the code of the app changing_bot:handle is another" in " ".join(taken.run.notes)


class TestChanges:
    @pytest.mark.parametrize(
        ("suite", "options", "said"),
        [
            (SUITE, {"seed": 5}, "seed was 4 and is 5 (--seed)"),
            (SUITE, {"on_app_error": "exclude"}, "settings: on_app_error was 'fail' and is 'exclude'"),
            (SUITE, {"model_options": {"temperature": 1}}, "model options: temperature was not set and is '1'"),
            (SUITE[:2], {}, "scenario 'scenario 2' is gone (--only)"),
            ([*SUITE, replace(SUITE[0], title="new")], {}, "scenario 'new' is new (--only)"),
            ([replace(SUITE[0], max_turns=3), *SUITE[1:]], {}, "scenario 'scenario 0': max_turns was 4 and is 3"),
            ([replace(SUITE[0], sample_size=60), *SUITE[1:]], {}, "'scenario 0': sample_size was 30 and is 60"),
            (
                [replace(SUITE[0], given="Someone"), *SUITE[1:]],
                {},
                "given was 'A customer with 0 orders' and is 'Someone'",
            ),
            ([replace(SUITE[0], then=[BEHAVIOUR]), *SUITE[1:]], {}, "then: 'length' is gone"),
            (
                [replace(SUITE[0], then=[replace(BEHAVIOUR, evaluator=LOWER), LENGTH]), *SUITE[1:]],
                {},
                "evaluators: SuccessRateEvaluator: ",
            ),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    async def test_a_changed_run_is_refused_with_what_changed(
        self, tmp_path: Path, suite: list[ScenarioTest], options: dict[str, Any], said: str
    ) -> None:
        await ended_at(9, tmp_path / "runs.db")
        app = App()

        with pytest.raises(DefinitionError) as caught:
            await Engine(store=tmp_path / "runs.db", resume="last", **options).evaluate(suite, app)

        assert said in str(caught.value)
        assert app.turns == 0

    @pytest.mark.parametrize(
        "suite",
        [[SUITE[1], SUITE[0], SUITE[2]], [replace(SUITE[0], then=[LENGTH, BEHAVIOUR]), *SUITE[1:]]],
        ids=["scenarios", "expectations"],
    )
    async def test_another_order_is_a_change(self, tmp_path: Path, suite: list[ScenarioTest]) -> None:
        await ended_at(60, tmp_path / "runs.db")

        with pytest.raises(DefinitionError, match="stand in another order"):
            await Engine(store=tmp_path / "runs.db", resume="last").evaluate(suite, App())

    async def test_an_experiment_that_was_run_since_is_not_taken_for_the_run_of_a_suite(self, tmp_path: Path) -> None:
        await ended_at(9, tmp_path / "runs.db")
        rows = dataset_of([{"input": "a", "said": "b", "output": "c"}], recorded="said")
        await Engine(store=tmp_path / "runs.db").experiment(rows, scorers=[ExactMatch()])

        with pytest.raises(DefinitionError, match=r"it is an experiment's .* and this is a suite; name the run"):
            await Engine(store=tmp_path / "runs.db", resume="last").evaluate(SUITE, App())

    async def test_another_argument_of_a_scorer_is_a_change(self, tmp_path: Path) -> None:
        class Within(Scorer):
            def __init__(self, limit: int) -> None:
                self.limit = limit

            def score(self, output: str) -> bool:
                return len(output) <= self.limit

        def suite(limit: int) -> list[ScenarioTest]:
            within = Expectation(scorer=Within(limit), evaluator=ProportionEvaluator(min_proportion=0.5))
            return [replace(SUITE[0], then=within)]

        await Engine(store=tmp_path / "runs.db").evaluate(suite(5), App())

        with pytest.raises(DefinitionError, match="arguments: limit was 5 and is 500"):
            await Engine(store=tmp_path / "runs.db", resume="last").evaluate(suite(500), App())

    async def test_a_run_that_takes_over_another_takes_its_rubrics_too(self, tmp_path: Path) -> None:
        written: list[str] = []

        async def judge(request: Any) -> str:
            if isinstance(request, RubricRequest):
                written.append(request.expected_behavior)
                return json.dumps({"levels": LEVELS})
            return json.dumps({"reasoning": "fine", "score": 8})

        options: dict[str, Any] = {"user_simulator_model": "offline/user", "rubric_folder": None}
        options |= {"judge_model": ScriptedModel(judge), "store": tmp_path / "runs.db", "early_stopping": False}
        larger = [replace(each, sample_size=40) for each in SUITE[:1]]
        await Engine(**options).evaluate(SUITE[:1], App())
        engine = Engine(**options, resume="last", accept_changes=True)
        await engine.evaluate(larger, App(10, engine.end))

        result = await Engine(**options, resume="last").evaluate(larger, App())

        assert result[0].trials == 40
        assert len(written) == 1

    async def test_another_app_is_refused(self, tmp_path: Path) -> None:
        await ended_at(9, tmp_path / "runs.db")

        with pytest.raises(DefinitionError, match=r"app was .*App' and is 'offline/app'"):
            await Engine(store=tmp_path / "runs.db", resume="last").evaluate(SUITE, "offline/app")

    async def test_accepted_changes_make_a_new_run_that_takes_over_what_there_is(self, tmp_path: Path) -> None:
        old = await Engine(store=tmp_path / "runs.db", early_stopping=False).evaluate(SUITE, App())
        changed = [
            replace(SUITE[2], sample_size=40),
            replace(SUITE[0], then=[LENGTH, replace(BEHAVIOUR, evaluator=ProportionEvaluator(6, min_proportion=0.5))]),
        ]
        app = App()
        engine = Engine(store=tmp_path / "runs.db", resume="last", accept_changes=True, early_stopping=False)

        new = await engine.evaluate(changed, app)

        assert new.run.run_id != old.run.run_id
        assert any("taken over from run " + old.run.run_id in note for note in new.run.notes)
        assert new[0].conversations[:30] == old[2].conversations
        assert new[1].conversations == old[0].conversations
        assert new[1].expectations[1].results == old[0].expectations[0].results
        assert app.turns == sum(len(c.responses) for c in new[0].conversations[30:])
        again = await Engine(store=tmp_path / "runs.db", resume=new.run.run_id, early_stopping=False).evaluate(
            changed, App()
        )
        assert findings(again) == findings(new)

    @pytest.mark.parametrize("store", [None, "runs.jsonl"], ids=["none", "JSON lines"])
    async def test_only_a_database_can_be_resumed_from(self, tmp_path: Path, store: str | None) -> None:
        engine = Engine(store=None if store is None else tmp_path / store, resume="last")

        with pytest.raises(DefinitionError, match="needs a database"):
            await engine.evaluate(SUITE, App())

    async def test_a_store_that_is_not_there_is_not_made(self, tmp_path: Path) -> None:
        with pytest.raises(DefinitionError, match="there is no"):
            await Engine(store=tmp_path / "runs.db", resume="last").evaluate(SUITE, App())

        assert not (tmp_path / "runs.db").exists()

    async def test_a_run_that_is_not_there_is_refused(self, tmp_path: Path) -> None:
        Database(tmp_path / "runs.db").close()
        with pytest.raises(DefinitionError, match="nonsense"):
            await Engine(store=tmp_path / "runs.db", resume="nonsense").evaluate(SUITE, App())

    async def test_a_run_that_is_under_way_cannot_be_resumed(self, tmp_path: Path) -> None:
        refused: list[str] = []

        async def app(message: str) -> str:
            if not refused:
                refused.append("")
                try:
                    await Engine(store=tmp_path / "runs.db", resume="last").evaluate(SUITE, app)
                except DefinitionError as error:
                    refused[0] = str(error)
            return "I track orders and start returns."

        result = await Engine(store=tmp_path / "runs.db").evaluate(SUITE, app)

        assert "is being run by" in refused[0]
        assert result.outcome == "pass"


async def test_a_finished_run_goes_on_where_scores_are_missing(tmp_path: Path) -> None:
    failing = [True]

    def length(output: str) -> float:
        if failing[0]:
            raise RuntimeError("not now")
        return float(len(output))

    measured = Expectation(scorer=length, evaluator=ProportionEvaluator(threshold=1, min_proportion=0.5))
    suite = [replace(SUITE[0], then=[measured])]
    lost = await Engine(store=tmp_path / "runs.db", max_error_rate=1.0).evaluate(suite, App())
    failing[0] = False
    app = App()

    found = await Engine(store=tmp_path / "runs.db", max_error_rate=1.0, resume="last").evaluate(suite, app)
    again = await Engine(store=tmp_path / "runs.db", max_error_rate=1.0, resume="last").evaluate(suite, app)

    assert (lost.results[0].expectations[0].scores, found.passed, again.passed) == ((), True, True)
    assert not any("nothing was left to do" in note for note in found.run.notes)
    assert any("nothing was left to do" in note for note in again.run.notes)
