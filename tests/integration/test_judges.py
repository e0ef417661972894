"""Repeated judges and panels in an engine: what each rating is asked with, and what becomes of them."""

import json
import shutil
import subprocess
from collections.abc import Awaitable, Callable
from math import nan
from pathlib import Path
from statistics import mean
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from simeval import Engine, Expectation, ScenarioTest, SuccessRateEvaluator
from simeval.core import seeds
from simeval.core.settings import RetryConfig
from simeval.core.trial import Failure, Rating, Score
from simeval.errors import DefinitionError, ModelUnusable
from simeval.models.protocol.model import Request
from simeval.results.suite import ScenarioResult, encode_suite
from simeval.store.journal import encode_entry
from simeval.testing import MemoryJournal, ScriptedModel
from tests.support.command_line import SUITE, simeval
from tests.support.doubles import LEVELS, failure

pytestmark = pytest.mark.anyio

Pause = Callable[[], Awaitable[object]]


def judge(rate: Callable[[Request], float], name: str = "judge/a", pause: Pause = checkpoint) -> ScriptedModel:
    """Return a judge that rates as a function of the request says."""

    async def act(request: Request) -> str:
        await pause()
        if request.role == "rubric":
            return json.dumps({"levels": LEVELS})
        return json.dumps({"reasoning": f"seen by {name}", "score": rate(request)})

    return ScriptedModel(act, name)


def noisy(request: Request) -> float:
    return float(seeds.generator(request.seed, "noise").randint(5, 10))


def scenario(sample_size: int = 6, **fields: Any) -> ScenarioTest:
    then = Expectation(
        expected_behavior="Bot names its abilities",
        label="names its abilities",
        evaluator=SuccessRateEvaluator(min_proportion=0.5),
    )
    defaults = {"title": "What it does", "given": "A user", "when": "The user asks.", "then": then, "max_turns": 1}
    return ScenarioTest(**{**defaults, "sample_size": sample_size, **fields})


async def app(message: str, state: Any) -> str:
    return "I track orders."


async def evaluated(judges: Any, *, sample_size: int = 6, **options: Any) -> ScenarioResult:
    options = {"early_stopping": False, "rubric_folder": None, "seed": 4, "store": None, **options}
    return await Engine(judges, "offline/user", **options).evaluate(scenario(sample_size), app)


def scores(result: ScenarioResult) -> list[Score]:
    return [each for each in result.expectations[0].results if isinstance(each, Score)]


async def test_a_judge_that_cannot_tell_makes_the_trial_missing() -> None:
    def unsure(request: Request) -> Any:
        return None if request.seed % 2 else 8

    model = judge(unsure)
    result = await evaluated(model, on_failed_control="off", max_error_rate=1.0, sample_size=20)

    [expectation] = result.expectations
    untold = [each for each in expectation.results if isinstance(each, Failure)]
    assert 0 < len(untold) < 20
    assert {(each.stage, each.cause) for each in untold} == {("judge", "cannot_tell")}
    assert expectation.verdicts[0].missing == len(untold)
    assert f"it cannot be told in {len(untold)} of 20 conversations" in " ".join(str(result).split())
    assert sum(each.role == "judge" for each in model.requests) == 20  # it was answered: nothing is asked again


class TestOneRating:
    async def test_it_is_asked_with_the_trials_own_seed_and_is_the_score(self) -> None:
        model = judge(noisy)
        result = await evaluated(model)

        grades = [request for request in model.requests if request.role == "judge"]
        assert {grade.seed for grade in grades} == {judgement.trial.seed for judgement in result.judgements}
        assert [score.reasoning for score in scores(result)] == ["seen by judge/a"] * 6
        assert [dict(score.details) for score in scores(result)] == [{}] * 6

    async def test_a_list_of_one_judge_is_that_judge(self) -> None:
        alone, listed = await evaluated(judge(noisy)), await evaluated([judge(noisy)])

        assert listed.expectations == alone.expectations
        assert listed.run.judge_model == "judge/a"

    async def test_nothing_is_said_of_its_reliability(self) -> None:
        result = await evaluated(judge(noisy))

        assert result.expectations[0].reliability is None
        assert "ICC" not in str(result)
        assert "reliability" not in encode_suite([result], result.run, version="1")["scenarios"][0]["expectations"][0]


class TestRepeats:
    async def test_the_score_is_the_mean_of_all_ratings_and_keeps_each(self) -> None:
        result = await evaluated(judge(noisy), judge_repeats=3)

        for judgement, score in zip(result.judgements, scores(result), strict=True):
            found = score.ratings
            assert score.value == mean(rating.score for rating in found)
            assert [(rating.judge, rating.repeat) for rating in found] == [("judge/a", n) for n in range(3)]
            assert found[0].score == seeds.generator(judgement.trial.seed, "noise").randint(5, 10)
            assert score.reasoning.startswith(f"the mean of {found[0].score:g}, {found[1].score:g}, ")

    async def test_each_has_a_seed_of_its_own_and_the_first_the_trials(self) -> None:
        model = judge(noisy)
        result = await evaluated(model, judge_repeats=4)

        grades = [request.seed for request in model.requests if request.role == "judge"]
        assert len(grades) == len(set(grades)) == 6 * 4
        assert {judgement.trial.seed for judgement in result.judgements} < set(grades)

    async def test_more_repeats_keep_the_ratings_there_were(self) -> None:
        two, three = [await evaluated(judge(noisy), judge_repeats=repeats) for repeats in (2, 3)]

        kept = [score.ratings[:2] for score in scores(three)]
        assert kept == [score.ratings for score in scores(two)]

    @pytest.mark.parametrize("concurrency", [1, 3, 50])
    async def test_they_are_the_same_at_any_concurrency(self, concurrency: int) -> None:
        result = await evaluated(judge(noisy), judge_repeats=3, concurrency=concurrency)

        again = await evaluated(judge(noisy), judge_repeats=3, concurrency=2)
        assert result.expectations == again.expectations

    @pytest.mark.parametrize(("model_concurrency", "peak"), [(2, 2), (50, 5)])
    async def test_they_run_at_once_within_the_judges_limit(self, model_concurrency: int, peak: int) -> None:
        slow = judge(noisy, pause=anyio.wait_all_tasks_blocked)

        await evaluated(slow, judge_repeats=5, concurrency=1, model_concurrency=model_concurrency)

        assert slow.peak == peak

    async def test_a_rating_that_fails_is_tried_again_alone(self) -> None:
        failed: set[int] = set()

        def rate(request: Request) -> float:
            if request.seed % 2 and request.seed not in failed:
                failed.add(request.seed)
                raise failure("server")
            return 8.0

        again = RetryConfig(backoff_multiplier=0)
        result = await evaluated(judge(rate), judge_repeats=3, retry_config=again)

        assert failed
        assert [score.value for score in scores(result)] == [8.0] * 6
        assert (result.run.usage["judge"].calls, result.run.usage["judge"].failed_calls) == (
            18 + len(failed),
            len(failed),
        )

    async def test_one_that_is_lost_loses_the_score_of_its_trial_only(self) -> None:
        lost: list[int] = []

        def rate(request: Request) -> float:
            lost.extend([request.seed] if not lost else [])
            if request.seed in lost:
                raise failure("server")
            return 8.0

        never = RetryConfig(enabled=False)
        result = await evaluated(judge(rate), judge_repeats=3, retry_config=never, max_error_rate=0.5)

        failures = [each for each in result.expectations[0].results if isinstance(each, Failure)]
        assert [(each.stage, each.cause) for each in failures] == [("judge", "server")]
        assert [len(score.ratings) for score in scores(result)] == [3] * 5
        assert result.verdicts[0].missing == 1

    async def test_all_of_them_are_usage_of_the_judge(self) -> None:
        result = await evaluated(judge(noisy), judge_repeats=3)

        assert {role: usage.calls for role, usage in result.run.usage.items() if role != "user"} == {
            "judge": 18,
            "rubric": 1,
            "control": 3,
        }

    async def test_journal_and_json_hold_each_of_them(self) -> None:
        journal = MemoryJournal()
        result = await evaluated(judge(noisy), judge_repeats=2, store=journal)

        suite = json.loads(json.dumps(encode_suite([result], result.run, version="1"), allow_nan=False))
        written = suite["scenarios"][0]["conversations"][0]["scores"]["names its abilities"]["details"]["ratings"]
        entries = [encoded for entry in journal.entries for encoded in encode_entry(entry)]
        kept = [entry["results"][0]["details"]["ratings"] for entry in entries if entry["type"] == "judgement"]
        assert [set(rating) for rating in written] == [{"judge", "repeat", "score", "reasoning"}] * 2
        assert written in kept
        assert suite["judge_repeats"] == 2

    async def test_the_result_says_how_reliable_the_judge_is(self) -> None:
        result = await evaluated(judge(noisy), judge_repeats=3, sample_size=30)

        found = result.expectations[0].reliability
        assert found is not None
        assert (found.judges, found.repeats, found.conversations) == (("judge/a",), 3, 30)
        assert [advice.cost_ratio for advice in found.advice] == [1, 5, 10]
        assert "judge: ICC " in str(result)
        assert "judge/a (3 ratings each)" in " ".join(str(result).split())

    async def test_the_mean_may_fall_between_the_judges_levels(self) -> None:
        result = await evaluated(judge(lambda request: 5.0 if request.seed % 2 else 6.0), judge_repeats=2)

        assert {score.value for score in scores(result)} <= {5.0, 5.5, 6.0}


class TestPanels:
    async def test_every_judge_rates_and_the_first_writes_the_rubrics(self) -> None:
        first, second = judge(lambda request: 9.0), judge(lambda request: 6.0, "judge/b")
        result = await evaluated([first, second], judge_repeats=2)

        assert [score.value for score in scores(result)] == [7.5] * 6
        assert scores(result)[0].ratings[2] == Rating(judge="judge/b", repeat=0, score=6.0, reasoning="seen by judge/b")
        assert [request.role for request in first.requests].count("rubric") == 1
        assert {request.role for request in second.requests} == {"control", "judge"}
        assert "the mean of 9 (judge/a), 9 (judge/a), 6 (judge/b), 6 (judge/b)" in scores(result)[0].reasoning

    async def test_it_is_named_in_full(self) -> None:
        result = await evaluated([judge(noisy), judge(noisy, "judge/b")])

        assert result.run.judge_model == "judge/a + judge/b"
        assert "judge judge/a + judge/b, user" in " ".join(str(result).split())

    async def test_its_embedded_judge_is_named_as_what_it_is(self) -> None:
        result = await evaluated([judge(noisy), "offline/judge"])

        assert "judge offline/judge and user offline/user: a lexical heuristic" in result.run.notes[0]

    async def test_the_result_says_how_far_the_judges_agree(self) -> None:
        def shifted(request: Request) -> float:
            return max(1.0, noisy(request) - 3)

        same = await evaluated([judge(noisy), judge(noisy, "judge/b")])
        apart = await evaluated([judge(noisy), judge(shifted, "judge/b")])

        agreed, not_agreed = same.expectations[0].reliability, apart.expectations[0].reliability
        assert agreed is not None
        assert not_agreed is not None
        assert not_agreed.alpha is not None
        assert agreed.alpha == pytest.approx(1)
        assert not_agreed.alpha < 0.5
        assert agreed.advice == ()
        assert "judge: alpha 1.00 between 2 judges" in str(same)

    async def test_a_judge_that_cannot_be_used_ends_the_run(self) -> None:
        async def act(request: Request) -> str:
            raise ModelUnusable("judge/b", kind="authentication", problem="no key")

        with pytest.raises(ModelUnusable, match="judge/b"):
            await evaluated([judge(noisy), ScriptedModel(act, "judge/b")])

    @pytest.mark.parametrize("judges", [[], ["offline/judge", "offline/judge"], ["offline/judge", None]])
    def test_one_that_makes_no_sense_is_refused(self, judges: Any) -> None:
        with pytest.raises(DefinitionError, match="model"):
            Engine(judges)

    async def test_an_unknown_judge_among_them_is_refused_before_the_first_call(self) -> None:
        first = judge(noisy)

        with pytest.raises(DefinitionError, match="no-such-provider"):
            await evaluated([first, "no-such-provider/x"])

        assert first.calls == 0


@pytest.mark.parametrize("repeats", [0, 1.5, "3", nan])
def test_repeats_that_cannot_be_counted_are_refused(repeats: Any) -> None:
    with pytest.raises(DefinitionError, match="judge_repeats"):
        Engine(judge_repeats=repeats)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a good app, with its result."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "shop.py").write_text("async def app(message, state):\n    return 'I track orders, start returns.'\n")
    (folder / "suite.yaml").write_text(SUITE)
    assert simeval(folder, "run", "suite.yaml", "--app", "shop:app", "--json", "result.json").returncode == 0
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "finished"))


class TestCommandLine:
    def run(self, folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return simeval(folder, "run", "suite.yaml", "--app", "shop:app", *arguments)

    def test_repeats_are_an_option(self, folder: Path) -> None:
        done = self.run(folder, "--judge-repeats", "3", "--json", "-")

        result = json.loads(done.stdout)
        held = result["scenarios"][0]["conversations"][0]["scores"]
        assert done.returncode == 0
        assert result["judge_repeats"] == 3
        assert [len(score["details"]["ratings"]) for score in held.values()] == [3]

    def test_several_judges_are_a_panel(self, folder: Path) -> None:
        twice = self.run(folder, "--judge-model", "offline/judge", "--judge-model", "offline/judge")
        unknown = self.run(folder, "--judge-model", "offline/judge", "--judge-model", "no-such-provider/x")

        assert (twice.returncode, unknown.returncode) == (2, 2)
        assert "judge_repeats asks one model several times" in twice.stderr
        assert "no-such-provider" in unknown.stderr

    def test_a_run_is_held_against_labels_that_people_filled_in(self, folder: Path) -> None:
        drawn = simeval(folder, "agree", "result.json", "--sample", "20", "--out", "labels.csv")
        text = (folder / "labels.csv").read_text()
        (folder / "labels.csv").write_text(text.replace('returns",,', 'returns",pass,'))

        done = simeval(folder, "agree", "result.json", "labels.csv", "--json", "agree.json")

        report = json.loads((folder / "agree.json").read_text())
        assert (drawn.returncode, done.returncode) == (0, 0), drawn.stderr + done.stderr
        assert "20 rows for 20 of the" in drawn.stdout
        assert report["entries"][0]["labelled"] == 20
        assert "of 20 that people pass the judge passes 20" in done.stdout

    def test_json_on_standard_output_stands_alone(self, folder: Path) -> None:
        (folder / "labels.csv").write_text("scenario,index,label\nThe bot says what it does,3,yes\n")

        done = simeval(folder, "agree", "result.json", "labels.csv", "--json", "-")

        assert json.loads(done.stdout)["entries"][0]["labelled"] == 1
        assert "Krippendorff" in done.stderr

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["result.json"], "label trials with `simeval people label "),
            (["result.json", "labels.csv", "--sample", "3"], "--sample N --out LABELS"),
            (["result.json", "--sample", "3"], "--sample N --out LABELS"),
            (["result.json", "--sample", "3", "--out", "labels.csv"], "it is there already"),
            (["nothing.json", "labels.csv"], "it cannot be read"),
            (["labels.csv", "labels.csv"], "it is not JSON"),
            (["other.json", "labels.csv"], "this is no result"),
            (["result.json", "labels.csv"], "labels.csv, line 2: 'The bot says what it does' has no trial 99"),
            (["result.json", "labels.csv", "--json", "no/folder/x.json"], "cannot be written"),
            (["result.json", "labels.csv", "--alpha", "0.7"], "alpha"),
        ],
    )
    def test_bad_input_has_status_2_and_says_what_is_wrong(self, folder: Path, arguments: list[str], said: str) -> None:
        (folder / "labels.csv").write_text("scenario,index,label\nThe bot says what it does,99,yes\n")
        (folder / "other.json").write_text("{}")

        done = simeval(folder, "agree", *arguments)

        assert done.returncode == 2
        assert said in done.stderr
        assert "Traceback" not in done.stderr
