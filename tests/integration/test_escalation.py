"""A composite judge in an engine: the first settles what is clear, the second the rest; audits change nothing."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from simeval import Engine, Expectation, ScenarioTest, SuccessRateEvaluator, SuiteResult
from simeval.analysis import Label, against, agreement
from simeval.core.trial import Failure, Score
from simeval.errors import DefinitionError, ModelError, SuiteFileError
from simeval.models.protocol.model import Request
from simeval.models.protocol.prompts import CriteriaRequest, GradeRequest
from simeval.results.suite import encode_suite
from simeval.suites import load_suite
from simeval.testing import ScriptedModel, judge_reply, user_reply
from tests.support.command_line import simeval

pytestmark = pytest.mark.anyio
RATINGS = (1, 3, 5, 7, 9, 10)  # of the first judge, by the app's answers
SECOND = 10  # what the second gives to all


def rated(request: Request) -> Any:
    """Rate an answer as it names itself; "none" cannot be told."""
    assert isinstance(request, (GradeRequest, CriteriaRequest))
    said = request.conversation[-1].content.split()[-1]
    if isinstance(request, GradeRequest):
        return {"reasoning": f"It is {said}.", "score": None if said == "none" else float(said)}
    ruling = {"none": "cannot_tell", "10": "met"}.get(said, "not_met")
    each = {"reasoning": "read", "quote": f"It is {said}" if ruling == "met" else "", "ruling": ruling}
    return {"rulings": dict.fromkeys(request.criteria, each)}


def cheap() -> ScriptedModel:
    return ScriptedModel({"judge": rated, "user": [user_reply("How good is it?")]}, "cheap/judge")


def strong(*ratings: float | Exception) -> ScriptedModel:
    told = [each if isinstance(each, Exception) else judge_reply(each, "read twice") for each in ratings or (SECOND,)]
    return ScriptedModel({"judge": told}, "strong/judge")


class App:
    """Answers by turns with each of these."""

    def __init__(self, answers: Sequence[object] = RATINGS) -> None:
        self._answers, self._turn = answers, 0

    async def __call__(self, message: str, state: Any) -> str:
        said = self._answers[self._turn % len(self._answers)]
        self._turn += 1
        return f"It is {said}"


def scenario(size: int = len(RATINGS), **fields: Any) -> ScenarioTest:
    judged = fields or {"expected_behavior": "It is good", "label": "good"}
    then = Expectation(evaluator=SuccessRateEvaluator(min_proportion=0.5), **judged)
    return ScenarioTest(title="How good", given="A user", when="They ask", then=then, sample_size=size, max_turns=1)


async def run(
    second: ScriptedModel | None = None, test: ScenarioTest | None = None, app: App | None = None, **options: Any
) -> SuiteResult:
    fixed: dict[str, Any] = {
        "seed": 3,
        "store": None,
        "rubric_folder": None,
        "early_stopping": False,
        "concurrency": 1,
        "escalate": "rating 4..8",
        "escalation_audit": 0.0,
    }
    engine = Engine([cheap(), second or strong()], "cheap/judge", **{**fixed, **options})
    return await engine.evaluate([test or scenario()], app or App())


def values(result: SuiteResult) -> list[float | None]:
    return [each.value if isinstance(each, Score) else None for each in result[0].expectations[0].results]


def escalations(result: SuiteResult) -> Any:
    return result[0].expectations[0].escalations


class TestScores:
    async def test_a_rating_within_the_band_is_left_to_the_second_judge_and_others_stand(self) -> None:
        result = await run()

        first = result[0].expectations[0].results[2]
        assert values(result) == [1, 3, SECOND, SECOND, 9, 10]
        assert isinstance(first, Score)
        assert first.details["escalation"] == {"why": "rating", "first": 5.0, "second": 10.0}
        assert [rating.judge for rating in first.ratings] == ["strong/judge"]

    async def test_both_ends_belong_to_the_band(self) -> None:
        result = await run(escalate="rating 3..9")

        assert values(result) == [1, SECOND, SECOND, SECOND, SECOND, 10]

    @pytest.mark.parametrize(("when", "expected"), [("cannot tell", SECOND), ("rating 4..8", None)])
    async def test_what_the_first_cannot_tell_is_left_to_the_second_only_where_the_rule_says_so(
        self, when: str, expected: float | None
    ) -> None:
        result = await run(app=App(["none", "7"]), test=scenario(2), escalate=when)

        assert values(result)[0] == expected

    async def test_where_the_second_has_no_rating_the_trial_is_missing(self) -> None:
        result = await run(strong(ModelError("strong/judge", kind="bad_request", problem="no")), max_error_rate=1.0)

        missing = [each for each in result[0].expectations[0].results if isinstance(each, Failure)]
        assert values(result) == [1, 3, None, None, 9, 10]
        assert {failure.stage for failure in missing} == {"judge"}

    async def test_repeats_are_of_each_judge(self) -> None:
        second = strong()
        result = await run(second, judge_repeats=3)

        assert values(result) == [1, 3, SECOND, SECOND, 9, 10]
        assert sum(request.role == "escalation" for request in second.requests) == 6
        assert result[0].expectations[0].reliability is None


class TestCriteria:
    @pytest.mark.parametrize(("answers", "expected"), [(["none", "10"], [10, 10]), (["1", "10"], [1, 10])])
    async def test_what_the_first_cannot_tell_of_criteria_is_left_to_the_second(
        self, answers: Sequence[str], expected: Sequence[float]
    ) -> None:
        second = ScriptedModel({"judge": self.met}, "strong/judge")
        result = await run(second, scenario(2, criteria=["It is good"]), App(answers), escalate="cannot tell")

        assert values(result) == expected

    async def test_a_band_of_ratings_that_no_ruling_has_is_refused(self) -> None:
        with pytest.raises(DefinitionError, match=r"takes no ruling on criteria.*cannot tell"):
            await run(test=scenario(2, criteria=["It is good"]))

    def met(self, request: Request) -> Mapping[str, Any]:
        assert isinstance(request, CriteriaRequest)
        each = {"reasoning": "read", "quote": request.conversation[-1].content, "ruling": "met"}
        return {"rulings": dict.fromkeys(request.criteria, each)}


class TestAudits:
    async def test_an_audit_of_everything_changes_no_score(self) -> None:
        plain, audited = await run(), await run(escalation_audit=1.0)

        assert values(audited) == values(plain)
        assert audited[0].verdicts == plain[0].verdicts

    async def test_it_gives_the_agreement_on_what_the_first_settled(self) -> None:
        found = escalations(await run(escalation_audit=1.0))

        assert (found.rated, found.escalated, found.audited, found.agreed) == (6, 2, 4, 2)
        assert found.interval == pytest.approx((0.0676, 0.9324), abs=1e-4)  # R: binom.test(2, 4)$conf.int

    async def test_a_share_is_drawn_by_seed_alone(self) -> None:
        found = [escalations(await run(test=scenario(60), escalation_audit=0.3)) for _ in range(2)]

        assert found[0] == found[1]
        assert 3 <= found[0].audited <= 25

    async def test_an_audit_that_fails_leaves_the_score(self) -> None:
        second = strong(ModelError("strong/judge", kind="bad_request", problem="no"))
        result = await run(second, app=App([9, 10]), test=scenario(2), escalation_audit=1.0)

        assert values(result) == [9, 10]
        assert escalations(result).audited == 0


class TestReport:
    async def test_it_names_both_judges_the_rule_and_the_share(self) -> None:
        text = " ".join(str(await run(escalation_audit=1.0)).split())

        assert "judge cheap/judge (escalating to strong/judge at rating 4..8)" in text
        assert "2 of 6 conversations (33%) left to the second" in text
        assert "both agree in 2 of 4 audited" in text
        assert "judges: the first 6 calls; the second 6 calls (its audits among them)" in text

    async def test_the_json_result_has_the_counts_and_the_calls_of_each_judge(self) -> None:
        result = await run()

        found = encode_suite(result.results, result.run, version="1")
        [expectation] = found["scenarios"][0]["expectations"]
        calls = {role: used["calls"] for role, used in found["usage"]["by_role"].items()}
        assert expectation["escalations"] == {
            "rated": 6,
            "escalated": 2,
            "audited": 0,
            "agreed": 0,
            "interval": None,
        }
        assert (calls["judge"], calls["escalation"]) == (6, 2)

    async def test_people_are_held_against_the_composite(self) -> None:
        result = await run()
        people = [False, False, True, False, True, True]  # of the escalated ones they find the second wrong once

        labels = [
            Label(scenario="How good", index=index, expectation="good", value=value)
            for index, value in enumerate(people)
        ]
        [entry] = agreement(result, labels).entries
        assert entry.confusion.sensitivity is not None
        assert entry.confusion.specificity is not None
        assert entry.confusion.sensitivity.value == 1.0
        assert entry.confusion.specificity.value == pytest.approx(2 / 3)


class TestDefinition:
    @pytest.mark.parametrize("changed", [{"escalate": "rating 5..8"}, {"escalation_audit": 0.5}])
    async def test_a_run_is_not_resumed_by_other_thresholds(self, tmp_path: Path, changed: Mapping[str, Any]) -> None:
        store = tmp_path / "runs.db"
        await run(store=store)

        with pytest.raises(DefinitionError, match="escalat"):
            await run(store=store, resume="last", **changed)

    async def test_by_the_same_it_is_and_pays_nothing_again(self, tmp_path: Path) -> None:
        store = tmp_path / "runs.db"
        before = await run(store=store, escalation_audit=0.5)
        second = strong()

        after = await run(second, store=store, resume="last", escalation_audit=0.5)

        assert values(after) == values(before)
        assert escalations(after) == escalations(before)
        assert second.calls == 0

    async def test_a_run_is_held_against_no_other_that_had_another_way_to_judge(self) -> None:
        same, other = await run(), await run(escalate=None)

        await run(test=against([scenario()], same)[0])
        with pytest.raises(DefinitionError, match=r"judge was 'cheap/judge \+ strong/judge' and is 'cheap/judge \(esc"):
            await run(test=against([scenario()], other)[0])

    def test_it_takes_two_judges(self) -> None:
        with pytest.raises(DefinitionError, match="escalate: the judges are cheap/judge; name two"):
            Engine(cheap(), escalate="rating 4..8", store=None)

    @pytest.mark.parametrize("when", ["rating 8..4", "rating 0..8", "4..8", "rating 4..8 or rating 9..10", "", 4])
    def test_a_rule_that_says_nothing_is_refused(self, when: Any) -> None:
        with pytest.raises(DefinitionError, match=r'escalate: found .*; write "rating 4..8"'):
            Engine([cheap(), strong()], escalate=when, store=None)


SUITE = """\
judge:
  first: openai/small
  escalate: {to: openai/large, when: rating 4..8 or cannot tell}
scenarios:
  - title: Hours
    given: A customer
    when: They ask when the shop opens
    then:
      expected_behavior: Bot says at nine
      evaluator: {type: success_rate, min_proportion: 0.9}
"""


class TestSuiteFiles:
    def test_a_suite_names_both_judges_and_the_rule(self, tmp_path: Path) -> None:
        path = tmp_path / "suite.yaml"
        path.write_text(SUITE)

        suite = load_suite(str(path))

        assert suite.cast.judge_model == ["openai/small", "openai/large"]
        assert suite.settings.escalate == "rating 4..8 or cannot tell"

    @pytest.mark.parametrize(
        ("written", "instead", "said"),
        [
            ("rating 4..8 or cannot tell", "often", r"line 3.*judge.escalate.when.*rating 4\.\.8"),
            ("first:", "one:", r"line 2.*judge.one.*there is no field 'one'"),
            ("judge:\n", "judge_model: openai/other\njudge:\n", r"judge: found 'judge_model' beside it"),
        ],
    )
    def test_a_mistake_is_told_with_its_line(self, tmp_path: Path, written: str, instead: str, said: str) -> None:
        path = tmp_path / "suite.yaml"
        path.write_text(SUITE.replace(written, instead))

        with pytest.raises(SuiteFileError, match=said):
            load_suite(str(path))

    def test_its_rubrics_are_shown_as_those_of_its_first_judge(self, tmp_path: Path) -> None:
        path = tmp_path / "suite.yaml"
        path.write_text(SUITE)

        shown = simeval(tmp_path, "rubric", str(path), "--judge-model", "offline/judge")

        assert shown.returncode == 0, shown.stderr
        assert "Bot says at nine" in shown.stdout
