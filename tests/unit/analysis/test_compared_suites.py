"""Comparison of two runs of a suite: what is compared with what, what is noted, what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from simeval import Engine, Expectation, MeanEvaluator, ScenarioTest, SuccessRateEvaluator, compare, scorer
from simeval.errors import DefinitionError
from simeval.results.suite import SuiteResult, encode_suite
from tests.support.results import again, experiment, mean, run, scenario, share


def test_requirements_of_one_run_only_are_listed() -> None:
    old = run(scenario(share([True]), share([True], label="gone")))
    new = run(scenario(share([True])), scenario(share([True]), title="Another"), run_id="two")

    comparison = compare(old, new)

    assert [change.label for change in comparison.changes] == ["helps"]
    assert [key[1] for key in comparison.baseline.only_here] == ["gone"]
    assert [key[0] for key in comparison.candidate.only_here] == ["Another"]
    assert "only in the baseline, not compared:\n  A scenario: gone" in str(comparison)
    assert "only in the candidate, not compared:\n  Another: helps" in str(comparison)
    assert str(comparison).splitlines()[0] == "UNCLEAR  the requirement is unclear, 2 more are in one run only"


def test_equal_words_are_matched_in_their_order() -> None:
    old = run(scenario(share([True] * 60)), scenario(share([False] * 60)))
    new = run(scenario(share([True] * 60)), scenario(share([True] * 60)), run_id="two")

    changes = compare(old, new).changes

    assert [change.title for change in changes] == ["A scenario", "A scenario (2)"]
    assert [len(change.improved) for change in changes] == [0, 60]


def test_what_else_changed_is_noted() -> None:
    old = run(scenario(share([True])))
    new = run(scenario(share([True])), seed=8, run_id="two", models={"judge": "k", "user": "u"}, simeval="2")

    notes = " ".join(compare(old, new).notes)

    assert "different seeds (7 and 8)" in notes
    assert "the judge model was j and is k now" in notes
    assert "the user model" not in notes
    assert "different versions of simeval" in notes


def test_a_run_is_not_compared_with_itself() -> None:
    one = run(scenario(share([True])))

    with pytest.raises(DefinitionError, match="both are run one; give two runs"):
        compare(one, one)


ONE: dict[str, Any] = {
    "title": "A scenario",
    "users": [["Ann", "kind", 1.0, {}]],
    "max_turns": 5,
    "then": [{"title": "helps", "scorer": "contains", "arguments": {"texts": ["refund"], "whole_words": False}}],
}
[HELPS] = ONE["then"]


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ({}, {"users": [["Ann", "rude", 1.0, {}]], "world": "shop:W"}, "'A scenario' (users, world)"),
        ({}, {"then": [{**HELPS, "arguments": {"texts": ["o"], "whole_words": False}}]}, "(helps: texts)"),
        ({}, {"then": [{**HELPS, "arguments": {"texts": ["refund"]}}]}, "(helps: whole_words)"),
        ({}, {"then": [{**HELPS, "scorer": "regex"}]}, "(helps: scorer)"),
        ({"then": [{**HELPS, "rubric": {"1": "a"}}]}, {"then": [{**HELPS, "rubric": {"1": "b"}}]}, "(helps: rubric)"),
        ({}, {"then": [{"title": "thanks", "scorer": "regex"}]}, ""),
        ({}, {"title": "Another"}, ""),
    ],
)
def test_changes_of_scenarios_and_their_scorers_are_named(before: Any, now: Any, told: str) -> None:
    old, new = (run(scenario(share([True])), conditions={"scenarios": [{**ONE, **each}]}) for each in (before, now))

    notes = [note for note in compare(old, again(new)).notes if "not the app alone has changed" in note]

    assert told in "".join(notes)
    assert bool(told) == bool(notes)


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ({"model options": {"temperature": "1"}}, "the rest: model options"),
        ({"settings": {"user_format": "text"}}, "the rest: settings"),
        ({"prompts": {"judge": "b", "criteria": "c"}}, "the rest: prompt 'judge'"),
        ({"prompts": {"judge": "a", "criteria": "c"}}, ""),
    ],
)
def test_changes_of_the_whole_run_are_named(now: dict[str, Any], told: str) -> None:
    then = {"model options": {}, "settings": {"user_format": "json"}, "prompts": {"judge": "a"}, "scenarios": []}
    old, new = (run(scenario(share([True])), conditions={**then, **each}) for each in ({}, now))

    notes = [note for note in compare(old, again(new)).notes if "not the app alone has changed" in note]

    assert told in "".join(notes)
    assert bool(told) == bool(notes)


@pytest.mark.parametrize("part", ["given", "when"])
def test_another_story_under_the_same_title_is_named(part: str) -> None:
    old = run({**scenario(share([True])), part: "A new customer"})
    new = run({**scenario(share([True])), part: "An angry customer"})

    assert f"due to the rest: 'A scenario' ({part})" in " ".join(compare(old, again(new)).notes)
    assert not [note for note in compare(old, again(old)).notes if "not the app alone" in note]
    assert not [note for note in compare(run(scenario(share([True]))), again(new)).notes if "not the app alone" in note]


def test_of_an_older_result_it_is_said_that_its_users_are_not_known() -> None:
    old, new = run(scenario(share([True])), conditions=None), run(scenario(share([True])), run_id="two")

    [note] = [note for note in compare(old, new).notes if "did not keep" in note]
    assert note.startswith("run one was made by an older simeval, which did not keep its users, scripts, worlds")


def test_another_number_of_ratings_of_each_conversation_is_noted() -> None:
    once, thrice = run(scenario(share([True]))), run(scenario(share([True])), judge_repeats=3, run_id="two")

    notes = " ".join(compare(once, thrice).notes)

    assert "the ratings of each conversation by a judge were 1 and are 3 now, which is another criterion" in notes
    assert "by a judge" not in " ".join(compare(thrice, again(thrice)).notes)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ([], "no result of a simeval run"),
        ({}, "no result of a simeval run"),
        ({**run(), "simeval": None}, "simeval: "),
        ({key: value for key, value in run().items() if key != "seed"}, "the key seed is missing"),
        ({**run({"title": "A scenario"}), "scenarios": None}, "scenarios: Input should be"),
        (run(1), "scenarios.0: Input should be"),  # type: ignore[arg-type]
        (run({"expectations": [{}]}), "the key label is missing"),
        (run({"title": "A scenario"}), "the key scenarios.0.sample_size is missing"),
        (run(scenario({"label": "helps", "verdicts": [{"evaluator": "x"}]})), "verdicts.0.chart is missing"),
        (run(scenario(share([2, 1]))), "scenarios.0.expectations.0.verdicts.0.chart.met.0"),  # type: ignore[list-item]
        (run(scenario(mean(), scores=[float("nan")])), "finite"),
    ],
)
def test_what_is_no_result_is_refused_with_the_key_at_fault(broken: Any, said: str) -> None:
    with pytest.raises(DefinitionError, match="candidate") as error:
        compare(run(scenario(share([True]))), broken)

    assert said in str(error.value)
    assert "give what `--json PATH` writes" in str(error.value)


def test_runs_with_nothing_in_common_are_refused() -> None:
    with pytest.raises(DefinitionError, match="two runs of the same suite"):
        compare(run(scenario(share([True]))), run(scenario(share([True]), title="Another"), run_id="two"))


@pytest.mark.parametrize(
    "options", [{"margin": 5}, {"margin": 0}, {"margin": -0.1}, {"alpha": 0}, {"alpha": 0.6}, {"gate": "pass"}]
)
def test_a_margin_level_or_gate_that_cannot_be_used_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError, match=next(iter(options))):
        compare(run(scenario(share([True]))), run(scenario(share([True]))), **options)


@scorer
def length(output: str) -> int:
    """Return the length of an answer, up to 100."""
    return min(100, len(output))


async def old_app(message: str, state: dict[str, Any]) -> str:
    return "I track orders and I start returns."


async def new_app(message: str, state: dict[str, Any]) -> str:
    return "I track orders and I start returns." if len(message) % 4 else "No idea."


async def evaluated(app: Any, *, seed: int = 3, early_stopping: bool = False) -> SuiteResult:
    """Return a run of two expectations with the embedded models."""
    test = ScenarioTest(
        title="The bot says what it does",
        given="A new user",
        when="The user asks what the bot can do",
        sample_size=60,
        max_turns=1,
        then=[
            Expectation(
                expected_behavior="Bot tracks orders, starts returns",
                evaluator=SuccessRateEvaluator(min_proportion=0.8),
                label="says it",
            ),
            Expectation(scorer=length, evaluator=MeanEvaluator(at_least=20, bounds=(0, 100))),
        ],
    )
    return await Engine(seed=seed, early_stopping=early_stopping, display="none", store=None).evaluate([test], app)


@pytest.mark.anyio
async def test_a_worse_app_is_worse_than_its_baseline_and_the_other_way_round_better(tmp_path: Path) -> None:
    old, new = await evaluated(old_app), await evaluated(new_app)

    there, back = compare(old, new), compare(new, old)

    assert there.paired
    assert [change.finding for change in there.changes] == ["worse", "worse"]
    assert [change.finding for change in back.changes] == ["better", "better"]
    assert len(there.changes[0].regressed) == old[0].trials - sum(score >= 6 for score in new[0].expectations[0].scores)
    assert there.changes[0].improved == ()
    assert not any(change.approximate for change in there.changes)


@pytest.mark.anyio
async def test_a_result_its_json_and_a_single_scenario_compare_alike() -> None:
    old, new = await evaluated(old_app), await evaluated(new_app)
    stored = json.loads(json.dumps(encode_suite(old.results, old.run, version="1")))

    changes = compare(old, new).changes

    assert compare(stored, new).changes == changes
    assert compare(old[0], new[0]).changes == changes


@pytest.mark.anyio
async def test_runs_that_stopped_early_are_compared_as_far_as_both_went() -> None:
    old, new = await evaluated(old_app, early_stopping=True), await evaluated(new_app, early_stopping=True)

    changes = compare(old, new).changes

    assert changes[0].candidate.size < 60
    assert all("--no-early-stopping" in change.approximate for change in changes)


def test_the_directions_of_requirements_cannot_be_said() -> None:
    one = run(scenario(share([True])))

    with pytest.raises(DefinitionError, match="their evaluators say it"):
        compare(one, again(one), lower_is_better=["helps"])


def test_a_run_of_a_suite_is_not_compared_with_an_experiment() -> None:
    with pytest.raises(DefinitionError, match="compare two of a kind"):
        compare(run(scenario(share([True]))), experiment({"right": [1]}))
