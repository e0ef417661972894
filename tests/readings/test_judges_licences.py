"""A judge earns a licence before it judges: in few calls, and every report names it."""

import json
import zlib
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import pytest

from simeval import Engine, Expectation, RetryConfig, ScenarioTest, SuccessRateEvaluator, SuiteResult
from simeval.core.licences import JudgeForm, JudgeLicence
from simeval.core.near_misses import language_in
from simeval.errors import DefinitionError, ModelError, ModelErrorKind
from simeval.extras.judge_test.licences import LANGUAGES, licence_cases
from simeval.extras.judge_test.licensing import licence_design
from simeval.models.protocol.prompt_texts import source_of
from simeval.models.protocol.prompts import CriteriaRequest, GradeRequest
from simeval.results.junit import junit_xml
from simeval.results.suite import encode_suite
from simeval.testing import ScriptedModel, judge_reply, user_reply
from tests.support.blind_judges import BLIND

pytestmark = pytest.mark.anyio
Rate = Callable[[Any], Any]
FOUR = ("one shared word", "half of the words", "more positive words", "agrees")
RIGHT = {
    (each.question, each.answer): each.is_right
    for right in (True, False)
    for language in LANGUAGES
    for each in licence_cases(0, right=right, language=language)
}


def blind(name: str) -> Rate:
    def rate(request: Any) -> Any:
        passes = BLIND[name](request.expected_behavior, request.conversation[-1].content)
        return judge_reply(9 if passes else 2, "It says so.")

    return rate


def is_right(request: Any) -> bool:
    return RIGHT.get((request.conversation[0].content, request.conversation[-1].content), False)


def reading(share: float = 1.0) -> Rate:
    """Return a judge that is right with this chance."""
    chance = Random(7)

    def rate(request: Any) -> Any:
        return judge_reply(9 if is_right(request) == (chance.random() < share) else 2, "It says so.")

    return rate


def engine(rate: Rate, store: Path | None = None, **options: Any) -> Engine:
    model = ScriptedModel({"judge": rate, "control": rate, "user": [user_reply("When do you open?")]})
    return Engine(model, store=store, rubric_folder=None, display="none", **{"seed": 1, **options})


async def licences(rate: Rate, *, seeds: int, language: str = "en", **options: Any) -> list[JudgeLicence]:
    return [await engine(rate, seed=seed, **options).test_judge(language=language) for seed in range(seeds)]


@pytest.mark.parametrize(("language", "seeds"), [("en", 100), ("de", 20), ("es", 20)])
@pytest.mark.parametrize("name", FOUR)
async def test_a_judge_of_words_is_refused_within_a_few_calls(name: str, language: str, seeds: int) -> None:
    found = await licences(blind(name), seeds=seeds, language=language)

    assert sum(each.is_licensed for each in found) <= 0.05 * seeds
    assert mean(each.calls for each in found) <= 12


@pytest.mark.parametrize("score", [1, 10])
async def test_one_that_always_says_the_same_is_refused_in_six_calls(score: int) -> None:
    [found] = await licences(lambda _: judge_reply(score, "It says so."), seeds=1)

    assert not found.is_licensed
    assert found.calls == 6


@pytest.mark.parametrize(("share", "least", "calls"), [(1.0, 50, 34), (0.98, 47, 45), (0.95, 45, 55)])
async def test_one_that_reads_is_licensed_in_as_many_calls_as_the_design_foretells(
    share: float, least: int, calls: int
) -> None:
    found = await licences(reading(share), seeds=50)

    assert sum(each.is_licensed for each in found) >= least
    assert mean(each.calls for each in found) <= calls
    assert max(each.calls for each in found) <= 84


def failing(kind: ModelErrorKind, after: int = 0) -> Rate:
    """Return a judge that is right so often, and whose calls fail then."""
    calls = iter(range(1_000))

    def rate(request: Any) -> Any:
        if next(calls) >= after:
            raise ModelError("scripted/model", kind=kind, problem="refused")
        return reading()(request)

    return rate


@pytest.mark.parametrize("kind", ["content", "malformed", "withheld"])
async def test_a_judge_that_cannot_reply_is_wrong(kind: ModelErrorKind) -> None:
    [found] = await licences(failing(kind), seeds=1, retry_config=RetryConfig(max_attempts=1))

    assert (found.near_misses.right, found.right_answers.right) == (0, 0)
    assert not found.is_licensed


@pytest.mark.parametrize("kind", ["connection", "timeout", "rate_limit", "server"])
async def test_a_call_that_was_not_answered_says_nothing_of_the_judge(kind: ModelErrorKind, tmp_path: Path) -> None:
    tester = engine(failing(kind, after=10), tmp_path / "store.db", retry_config=RetryConfig(max_attempts=1))

    with pytest.raises(ModelError) as raised:
        await tester.test_judge()

    assert raised.value.kind == kind
    assert "not tested so" in str((await run(engine(reading(), tmp_path / "store.db"))).run.notes)


@pytest.mark.parametrize("form", ["rating", "criteria"])
async def test_it_is_asked_in_the_form_of_the_run(form: JudgeForm) -> None:
    asked: set[type] = set()

    def rate(request: Any) -> Any:
        asked.add(type(request))
        passes, said = is_right(request), request.conversation[-1].content
        ruling = {"quote": said, "reasoning": "It says so.", "ruling": "met" if passes else "not_met"}
        return judge_reply(9 if passes else 2, "It says so.") if form == "rating" else {"rulings": {"1": ruling}}

    found = await engine(rate).test_judge(form)

    assert asked == {GradeRequest if form == "rating" else CriteriaRequest}
    assert (found.form, found.is_licensed) == (form, True)


@pytest.mark.parametrize("language", LANGUAGES)
async def test_it_is_shown_answers_in_the_language_asked_for(language: str) -> None:
    shown: list[str] = []

    def rate(request: Any) -> Any:
        shown.append(language_in(request.conversation[-1].content))
        return reading()(request)

    found = await engine(rate).test_judge(language=language)

    assert found.is_licensed
    assert max(set(shown), key=shown.count) == language
    assert len(licence_cases(0, right=True, language=language)) >= licence_design().n_max


async def test_a_language_without_answers_is_refused_before_a_call() -> None:
    model = ScriptedModel({"judge": reading()})

    with pytest.raises(DefinitionError, match="name one of en, de, es"):
        await Engine(model, store=None, rubric_folder=None).test_judge(language="fr")
    assert model.calls == 0


async def test_a_panel_is_tested_as_one_judge() -> None:
    judges = [ScriptedModel({"judge": rate}, name=name) for name, rate in (("a/a", reading()), ("b/b", reading()))]
    found = await Engine(judges, store=None, rubric_folder=None, seed=1).test_judge()

    assert found.judge == "a/a + b/b"
    assert (found.is_licensed, found.calls) == (True, 68)


def scenario(expected_behavior: str = "It says nine", **fields: Any) -> ScenarioTest:
    expected = Expectation(expected_behavior=expected_behavior, evaluator=SuccessRateEvaluator(min_proportion=0.5))
    return ScenarioTest(
        title="Hours", given="A customer", when="They ask when the shop opens", then=expected, sample_size=2, **fields
    )


async def run(engine: Engine) -> SuiteResult:
    return await engine.evaluate([scenario()], lambda message, state: "At nine.")


async def test_every_report_names_the_licence_of_its_judge(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    licence = await engine(reading(), store).test_judge()
    result = await run(engine(reading(), store))

    result.to_html(tmp_path / "report.html")
    packed = (tmp_path / "report.html").read_text(encoding="utf-8").split('id="head">')[1].split("<")[0]
    reports = {
        "screen": str(result),
        "Markdown": result.to_markdown(),
        "JUnit": junit_xml(result, result.run),
        "HTML": zlib.decompress(b64decode(packed)).decode(),
        "JSON": json.dumps(encode_suite(result, result.run, version="1")),
    }
    named = {name for name, report in reports.items() if str(licence) in " ".join(report.split())}
    assert "licensed, tested" in str(licence)
    assert named == {*reports}


async def test_of_a_judge_that_votes_the_report_says_that_its_controls_count_towards_no_licence(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    await engine(reading(), store, judge_repeats=3).test_judge()
    notes = " ".join((await run(engine(reading(), store, judge_repeats=3))).run.notes)

    assert "(rating x 3): licensed" in notes
    assert "near misses are rated once, trials 3 times each: those of this run count towards no licence" in notes


async def test_a_licence_in_english_is_none_for_expectations_in_german(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    german = scenario("Der Assistent sagt, dass der Laden um neun Uhr öffnet")
    await engine(reading(), store).test_judge()
    before = await engine(reading(), store).evaluate([german], lambda message, state: "Um neun.")
    await engine(reading(), store).test_judge(language="de")
    after = await engine(reading(), store).evaluate([german], lambda message, state: "Um neun.")

    assert "(rating in German): not tested so" in " ".join(before.run.notes)
    assert "(rating in German): licensed" in " ".join(after.run.notes)


@pytest.mark.parametrize(
    "changed",
    [
        {"judge_repeats": 2},
        {"judge_options": {"top_p": 0.5}},
        {"prompts": {"judge": source_of("judge").replace("strictly", "very strictly")}},
    ],
    ids=["form", "options", "prompt"],
)
async def test_it_is_stale_where_the_judge_is_asked_otherwise(tmp_path: Path, changed: dict[str, Any]) -> None:
    store = tmp_path / "runs.db"
    await engine(reading(), store).test_judge()
    result = await run(engine(reading(), store, **changed))

    assert "not tested so; simeval judge-test" in " ".join(result.run.notes)


async def test_a_run_that_requires_it_is_refused_without_it_before_a_call_is_paid(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    model = ScriptedModel({"judge": [judge_reply(9)]})
    unlicensed = Engine(model, store=store, rubric_folder=None, display="none", require_judge_test=True)

    with pytest.raises(DefinitionError, match=r"require_judge_test.*not tested so"):
        await run(unlicensed)
    assert model.calls == 0

    await engine(lambda _: judge_reply(10, "Fine."), store).test_judge()
    with pytest.raises(DefinitionError, match="NOT LICENSED"):
        await run(unlicensed)
    assert model.calls == 0

    await engine(reading(), store).test_judge()
    assert (await run(engine(reading(), store, require_judge_test=True))).run.notes


async def test_an_own_near_miss_of_the_run_is_counted() -> None:
    wrong = Expectation(
        expected_behavior="The assistant says that order F1001 arrives on Friday",
        evaluator=SuccessRateEvaluator(min_proportion=0.5),
    )
    order = ScenarioTest(title="Order", given="A customer", when="They ask", then=wrong, sample_size=2)
    result = await engine(reading()).evaluate([order], lambda message, state: "On Friday.")

    assert "judge scripted/model: near misses of this run 1 of 1" in result.run.notes


def rating_near_misses(score: int) -> Rate:
    """Return a judge that gives so much to near misses, and nothing to far ones."""
    return lambda request: judge_reply(score if request.control.startswith("near_miss") else 1, "It says so.")


async def app(message: str) -> str:
    return "It arrives on Sunday."


class TestWhatRunsAdd:
    """A run's near misses count towards the licence of its judge; so does another model behind its name."""

    @staticmethod
    def suite(*days: str) -> list[ScenarioTest]:
        return [
            ScenarioTest(
                title=day,
                given="A customer",
                when="They ask when their order comes",
                sample_size=3,
                max_turns=1,
                then=Expectation(
                    expected_behavior=f"The assistant says that the order arrives on {day}",
                    rubric=["It does not.", "It does."],
                    evaluator=SuccessRateEvaluator(min_proportion=0.5),
                ),
            )
            for day in days
        ]

    @staticmethod
    def judging(store: Path, *, passes_near_misses: bool = False, **options: Any) -> Engine:
        def rate(request: Any) -> Any:
            if request.control is None:
                return judge_reply(9 if is_right(request) else 2, "It says so.")
            return judge_reply(9 if passes_near_misses and "Thank you" in request.conversation[-1].content else 2)

        return engine(rate, store, **options)

    async def notes(self, judging: Engine, *days: str) -> str:
        result = await judging.evaluate(self.suite(*days), app)
        return " ".join(result.run.notes)

    async def test_each_near_miss_counts_once_however_often_it_is_shown(self, tmp_path: Path) -> None:
        store = tmp_path / "runs.db"
        await self.judging(store).test_judge()
        for _ in range(2):
            await self.notes(self.judging(store), "Friday", "Monday")

        found = await self.notes(self.judging(store), "Friday")

        assert ": licensed, tested" in found
        assert "near misses of runs since 2 of 2 [" in found

    async def test_a_judge_that_passes_too_many_of_them_is_licensed_no_more(self, tmp_path: Path) -> None:
        store = tmp_path / "runs.db"
        await self.judging(store).test_judge()
        days = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
        await self.judging(store, passes_near_misses=True).evaluate(self.suite(*days), app)

        with pytest.raises(DefinitionError, match=r"NOT LICENSED.* near misses of runs since 0 of 5 \[0%, 45%\]"):
            await self.judging(store, require_judge_test=True).evaluate(self.suite("Friday"), app)
        await self.judging(store).test_judge()
        assert "near misses of runs" not in await self.notes(self.judging(store, require_judge_test=True), "Friday")

    @pytest.mark.parametrize(
        ("ratings", "options", "counted"),
        [
            ((2, 9), {}, "1 of 1"),  # 5.5 on average
            ((4, 9), {}, "0 of 1"),
            ((7, 2), {"escalate": "rating 4..8"}, "1 of 1"),
            ((9, 2), {"escalate": "rating 4..8"}, "0 of 1"),
            ((1, 2), {"escalate": "rating 4..8 or cannot tell"}, ""),
            ((2, 2), {"judge_repeats": 2}, ""),
        ],
    )
    async def test_several_judges_are_counted_as_they_rate_together(
        self, ratings: tuple[int, int], options: dict[str, Any], counted: str, tmp_path: Path
    ) -> None:
        scripts = [
            ScriptedModel({"judge": reading(), "control": rating_near_misses(rating)}, name=f"scripted/{name}")
            for name, rating in zip("ab", ratings, strict=True)
        ]
        fields: dict[str, Any] = {"store": tmp_path / "runs.db", "rubric_folder": None, "display": "none", "seed": 1}

        def together() -> Engine:
            return Engine(scripts, "offline/user", on_failed_control="warn", **fields, **options)

        await together().test_judge()
        await together().evaluate(self.suite("Friday"), app)
        notes = await self.notes(together(), "Friday")

        assert ("near misses of runs since" in notes) == bool(counted)
        assert counted in notes

    async def test_another_model_behind_the_name_ends_the_licence(self, tmp_path: Path) -> None:
        store, folder = tmp_path / "runs.db", tmp_path / "kept"
        await self.judging(store).test_judge()
        await self.judging(store, canary_folder=folder).evaluate(self.suite("Friday"), app)
        before = await self.notes(self.judging(store), "Friday")
        await engine(lambda _: judge_reply(8, "Fine."), store, canary_folder=folder).evaluate(self.suite("Friday"), app)

        assert ": licensed, tested" in before
        with pytest.raises(
            DefinitionError,
            match="another model answered by this name: remove its kept canary answers and test it again",
        ):
            await self.judging(store, require_judge_test=True).evaluate(self.suite("Friday"), app)

    async def test_a_licence_from_before_runs_added_to_it_is_read(self) -> None:
        found = await engine(reading()).test_judge()
        older = {name: value for name, value in found.encoded().items() if name not in ("in_runs", "seen", "changed")}

        assert JudgeLicence.of(older) == found
