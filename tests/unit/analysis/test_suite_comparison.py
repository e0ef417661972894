"""Comparison of two runs: what it concludes on each requirement, and what it says."""

import json
from collections.abc import Sequence
from math import comb
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simeval import Engine, Expectation, MeanEvaluator, ScenarioTest, SuccessRateEvaluator, compare, scorer
from simeval.analysis.suite_comparison_report import Change, encode_comparison
from simeval.errors import DefinitionError
from simeval.results.encoding import encode_suite
from simeval.results.suite import SuiteResult
from simeval.stats.paired import mcnemar, paired_not_worse, sign_flip
from simeval.stats.two_sample import fisher, not_worse
from tests.support.golden import SHARED, rows_of

Met = Sequence[bool | None]
MIXED = st.lists(st.tuples(*[st.sampled_from([True, False, None])] * 2), min_size=1, max_size=70)


def share(
    met: Met,
    *,
    label: str = "helps",
    evaluator: str = "score ≥ 1 in at least 90% of conversations",
    stop: str = "never",
    n_max: int | None = None,
    excluded: Sequence[int] = (),
) -> dict[str, Any]:
    """Return an expectation with one verdict on a share."""
    size = len(met) + len(excluded) if n_max is None else n_max
    chart = {"n_max": size, "stop": stop, "met": list(met), "pass_at": [], "fail_at": [], "excluded": list(excluded)}
    return {"label": label, "scores": [], "verdicts": [{"evaluator": evaluator, "chart": chart}]}


def mean(evaluator: str = "mean at least 5", label: str = "rates") -> dict[str, Any]:
    """Return an expectation with one verdict on a mean; words without a direction leave it out."""
    sign = {"least": ">=", "most": "<="}.get(evaluator.split()[-2])
    cut = None if sign is None else {"sign": sign, "score": float(evaluator.split()[-1])}
    return {"label": label, "scores": [], "verdicts": [{"evaluator": evaluator, "chart": None, "cut": cut}]}


def scenario(
    *expectations: dict[str, Any],
    title: str = "A scenario",
    scores: Sequence[float | None] = (),
    sample_size: int | None = None,
) -> dict[str, Any]:
    trials = [
        {"index": index, "scores": {} if score is None else {"rates": {"score": score}}}
        for index, score in enumerate(scores)
    ]
    size = len(trials) if sample_size is None else sample_size
    return {
        "title": title,
        "sample_size": size,
        "trials": len(trials),
        "expectations": list(expectations),
        "conversations": trials,
    }


def run(*scenarios: dict[str, Any], seed: int = 7, run_id: str = "one", **fields: Any) -> dict[str, Any]:
    named = {"simeval": "1", "run_id": run_id, "seed": seed, "app": "app:handle", "models": {"judge": "j", "user": "u"}}
    return {**named, "scenarios": list(scenarios), **fields}


def shares(before: Met, now: Met, *, seeds: tuple[int, int] = (7, 7), **options: float) -> Change:
    """Return what becomes of one requirement whose trials ended so."""
    old = run(scenario(share(before)), seed=seeds[0])
    return compare(old, run(scenario(share(now)), seed=seeds[1], run_id="two"), **options).changes[0]


def means(
    before: Sequence[float | None], now: Sequence[float | None], evaluator: str = "mean at least 5", **new: Any
) -> Change:
    old = run(scenario(mean(evaluator), scores=before))
    return compare(old, run(scenario(mean(evaluator), scores=now), run_id="two", **new)).changes[0]


def pairs(both: int, better: int, worse: int, neither: int = 0) -> tuple[list[bool], list[bool]]:
    counted = [(True, True)] * both + [(False, True)] * better + [(True, False)] * worse + [(False, False)] * neither
    return [old for old, _ in counted], [new for _, new in counted]


def test_runs_of_one_seed_are_tested_as_pairs() -> None:
    change = shares(*pairs(35, 3, 9, 3))

    assert change.paired
    assert (change.better, change.worse) == (3, 9)
    assert (str(change.baseline), str(change.candidate)) == ("44 of 50", "38 of 50")
    assert change.difference == pytest.approx(-6 / 50)
    assert change.p_worse == mcnemar(3, 9).p_new_worse
    assert change.p_not_worse == paired_not_worse(35, 3, 9, 3, margin=0.05).p_value
    assert "44 of 50 before, 38 of 50 now; 9 trials got worse, 3 better" in change.explanation


def test_runs_of_different_seeds_are_tested_as_independent_samples() -> None:
    change = shares([True] * 44 + [False] * 6, [True] * 30 + [False] * 10, seeds=(7, 8))

    assert not change.paired
    assert (change.better, change.worse) == (None, None)
    assert change.p_worse == fisher(30, 40, 44, 50).p_new_worse
    assert change.p_not_worse == not_worse(30, 40, 44, 50, margin=0.05).p_value
    assert not change.approximate


@pytest.mark.parametrize("seeds", [(7, 7), (7, 8)])
def test_no_change_in_enough_trials_passes(seeds: tuple[int, int]) -> None:
    change = shares([True] * 59, [True] * 59, seeds=seeds)

    assert (change.outcome, change.reason) == ("pass", "")


@pytest.mark.parametrize("seeds", [(7, 7), (7, 8)])
def test_no_change_in_too_few_trials_is_inconclusive_and_says_how_many_it_takes(seeds: tuple[int, int]) -> None:
    change = shares([True] * 58, [True] * 58, seeds=seeds)

    assert (change.outcome, change.reason) == ("inconclusive", "not_proven")
    assert "even without any change at least 59 trials of each run are needed" in change.explanation
    assert change.explanation.count("59") == 1


def test_too_few_trials_with_changes_are_told_both_numbers() -> None:
    explanation = shares(*pairs(18, 1, 1)).explanation

    assert "about 290 trials of each run would prove the second" in explanation
    assert "even without any change at least 59 are needed" in explanation


def test_a_clear_loss_fails() -> None:
    change = shares([True] * 40, [False] * 20 + [True] * 20)

    assert (change.outcome, change.reason) == ("fail", "proven_worse")
    assert change.p_value == change.p_worse


def test_a_loss_smaller_than_the_margin_passes_and_says_that_it_is_one() -> None:
    change = shares(*pairs(280, 0, 6), margin=0.05)

    assert (change.outcome, change.reason) == ("pass", "worse_within_margin")
    assert "worse (p = 0.016), but by less than 5 percentage points" in change.explanation


def test_a_loss_of_the_margin_is_not_promised_a_proof() -> None:
    change = shares(*pairs(36, 0, 4))

    assert change.outcome == "inconclusive"
    assert "more trials are unlikely" in change.explanation


def test_about_as_many_trials_as_it_names_prove_it_four_times_in_five() -> None:
    change = shares(*pairs(18, 1, 1), margin=0.1)
    n, each = 82, 1 / 20  # one of twenty got better, one worse
    few = range(14)
    chance = {
        (b, w): comb(n, b) * comb(n - b, w) * each ** (b + w) * (1 - 2 * each) ** (n - b - w) for b in few for w in few
    }

    proven = [paired_not_worse(n - b - w, b, w, 0, margin=0.1).p_value <= 0.05 for b, w in chance]
    power = sum(share for share, is_proven in zip(chance.values(), proven, strict=True) if is_proven)

    assert f"about {n} trials of each run would prove the second" in change.explanation
    assert power == pytest.approx(0.8, abs=0.03)


def test_the_margin_and_the_level_are_those_asked_for() -> None:
    counts = pairs(35, 1, 5, 3)

    assert shares(*counts, margin=0.4).outcome == "pass"
    assert shares(*counts, margin=0.01, alpha=0.2).outcome == "fail"
    assert shares(*counts, margin=0.01).outcome == "inconclusive"


@settings(deadline=None, max_examples=60)
@given(outcomes=MIXED, paired=st.booleans())
def test_missing_trials_count_against_both_conclusions(
    outcomes: list[tuple[bool | None, bool | None]], paired: bool
) -> None:
    seeds = (7, 7 if paired else 8)
    before, now = [old for old, _ in outcomes], [new for _, new in outcomes]

    change = shares(before, now, seeds=seeds)
    worst = shares([old is not False for old in before], [bool(new) for new in now], seeds=seeds)
    best = shares([bool(old) for old in before], [new is not False for new in now], seeds=seeds)

    assert change.p_not_worse == worst.p_not_worse
    assert change.p_worse == best.p_worse
    assert change.interval is not None
    assert worst.interval is not None
    assert best.interval is not None
    assert change.interval == (worst.interval[0], best.interval[1])
    assert change.baseline.missing == before.count(None)


def test_missing_trials_are_named() -> None:
    change = shares([True] * 39 + [None], [None, None] + [True] * 38)

    assert (str(change.baseline), str(change.candidate)) == ("39 of 39", "38 of 38")
    assert "1 before and 2 now are missing, which counts against both conclusions" in change.explanation


@settings(deadline=None, max_examples=40)
@given(outcomes=MIXED)
def test_worse_for_one_is_better_for_the_other(outcomes: list[tuple[bool | None, bool | None]]) -> None:
    before, now = [bool(old) for old, _ in outcomes], [bool(new) for _, new in outcomes]

    there, back = shares(before, now), shares(now, before)

    assert (there.better, there.worse) == (back.worse, back.better)
    assert there.difference == pytest.approx(-(back.difference or 0))
    assert there.p_worse == mcnemar(back.worse or 0, back.better or 0).p_new_worse
    assert not there.outcome == back.outcome == "fail"


def test_excluded_trials_shift_no_pair() -> None:
    before = run(scenario(share([True, False, True, False])))
    now = run(scenario(share([True, True, False], excluded=[1])), run_id="two")

    change = compare(before, now).changes[0]

    assert change.candidate.trials == 3
    assert (change.better, change.worse) == (0, 0)
    assert "1 left out, because the app failed on them" in change.explanation


def test_trials_that_a_fixed_sample_did_not_get_are_missing() -> None:
    before = run(scenario(share([True] * 30)))
    now = run(scenario(share([True] * 10, n_max=30)), run_id="two")

    change = compare(before, now).changes[0]

    assert (change.candidate.trials, change.candidate.missing) == (30, 20)
    assert not change.approximate


@pytest.mark.parametrize("early", ["before", "now"])
def test_a_run_that_stopped_early_makes_the_error_rates_approximate(early: str) -> None:
    ended = {"before": 30, "now": 30, early: 20}
    before, now = (
        run(scenario(share([True] * ended[side], stop="gate", n_max=30)), run_id=side) for side in ("before", "now")
    )

    comparison = compare(before, now)

    assert comparison.changes[0].candidate.trials == 20
    assert "--no-early-stopping" in comparison.changes[0].approximate
    assert str(comparison).count("~ approximate") == 1


@pytest.mark.parametrize(
    ("ended", "seed", "left"), [(45, 7, "45 pairs"), (1, 7, "1 pair"), (45, 8, "60 and 45 trials")]
)
def test_where_early_stopping_left_too_few_trials_that_is_said_and_not_more_trials(
    ended: int, seed: int, left: str
) -> None:
    before = run(scenario(share([True] * 60, stop="gate")))
    now = run(scenario(share([True] * (ended - 1) + [False], stop="gate", n_max=60)), seed=seed, run_id="two")

    change = compare(before, now).changes[0]

    assert change.outcome == "inconclusive"
    assert change.explanation.endswith(f"; early stopping left {left}; run both with --no-early-stopping")
    assert "would prove" not in change.explanation


def test_samples_of_different_planned_sizes_are_paired_as_far_as_both_go_and_stay_exact() -> None:
    change = shares([True] * 80, [True] * 60)

    assert (change.baseline.trials, change.candidate.trials) == (60, 60)
    assert (change.outcome, change.approximate) == ("pass", "")


def test_the_asymptotic_test_of_the_margin_is_named() -> None:
    change = shares([True] * 301, [True] * 301)

    assert "asymptotic" in change.approximate
    assert change.outcome == "pass"


def test_a_run_without_trials_is_inconclusive() -> None:
    change = shares([], [True] * 3)

    assert (change.outcome, change.reason) == ("inconclusive", "no_common_trials")
    assert change.difference is None


def test_paired_means_fail_where_they_are_proven_worse() -> None:
    before, now = [8.0, 7.0, 9.0, 8.0, 7.0, 9.0], [6.0, 6.0, 7.0, 7.0, 5.0, 8.0]

    change = means(before, now)

    assert change.outcome == "fail"
    assert change.p_worse == sign_flip([new - old for old, new in zip(before, now, strict=True)]).p_new_worse
    assert (change.better, change.worse) == (0, 6)
    assert change.p_not_worse is None
    assert change.difference == pytest.approx(-1.5)


def test_a_mean_that_should_be_low_is_worse_where_it_rose() -> None:
    rose = means([1.0] * 8, [2.0] * 8, "mean at most 3")
    fell = means([2.0] * 8, [1.0] * 8, "mean at most 3")

    assert (rose.outcome, fell.outcome) == ("fail", None)
    assert (rose.worse, fell.better) == (8, 8)


def test_paired_means_that_are_not_proven_worse_have_no_verdict() -> None:
    change = means([8.0] * 60, [8.0] * 60)

    assert (change.outcome, change.reason) == (None, "no_margin")


def test_unpaired_means_are_only_described() -> None:
    change = means([9.0] * 30, [2.0] * 30, seed=8)

    assert (change.outcome, change.reason, change.p_worse) == (None, "unpaired", None)
    assert "a mean of 9 in 30 before, a mean of 2 in 30 now" in change.explanation


def test_a_mean_without_a_known_direction_is_only_described() -> None:
    change = means([9.0] * 30, [2.0] * 30, "typical score of 5")

    assert (change.outcome, change.reason) == (None, "no_direction")


@settings(deadline=None, max_examples=40)
@given(
    before=st.lists(st.none() | st.integers(1, 10), min_size=8, max_size=8),
    now=st.lists(st.none() | st.integers(1, 10), min_size=8, max_size=8),
)
def test_a_missing_score_never_makes_a_mean_look_worse(before: list[int | None], now: list[int | None]) -> None:
    complete = [(old, new) for old, new in zip(before, now, strict=True) if old is not None and new is not None]

    change = means(before, now)

    assert change.p_worse is not None
    assert change.p_worse >= sign_flip([new - old for old, new in complete]).p_new_worse - 1e-9
    assert change.candidate.missing == now.count(None)


def test_the_outcome_is_the_worst_and_what_has_no_verdict_does_not_count() -> None:
    good, same, lost = share([True] * 60), share([True] * 60, label="b"), share([False] * 60, label="b")
    old = run(scenario(good, share([True] * 60, label="b"), mean(), scores=[5.0] * 60))
    with_pass = compare(old, run(scenario(good, same, mean(), scores=[5.0] * 60)))
    with_fail = compare(old, run(scenario(good, lost, mean(), scores=[5.0] * 60)))

    assert [change.outcome for change in with_pass.changes] == ["pass", "pass", None]
    assert (with_pass.outcome, with_pass.passed) == ("pass", True)
    assert (with_fail.outcome, with_fail.passed) == ("fail", False)
    assert with_fail.false_fail_bound == pytest.approx(0.15)


def test_a_comparison_without_any_verdict_is_inconclusive() -> None:
    old = run(scenario(mean(), scores=[5.0] * 60))

    assert compare(old, old).outcome == "inconclusive"


def test_requirements_of_one_run_only_are_listed() -> None:
    old = run(scenario(share([True]), share([True], label="gone")))
    new = run(scenario(share([True])), scenario(share([True]), title="Another"), run_id="two")

    comparison = compare(old, new)

    assert [change.label for change in comparison.changes] == ["helps"]
    assert [key[1] for key in comparison.baseline.only_here] == ["gone"]
    assert [key[0] for key in comparison.candidate.only_here] == ["Another"]
    assert "only in the baseline, not compared:\n  A scenario: gone" in str(comparison)
    assert "only in the candidate, not compared:\n  Another: helps" in str(comparison)
    last = str(comparison).splitlines()[-1]
    assert "1 requirement compared (1 inconclusive), 2 not compared (in one run only); baseline run one" in last


def test_equal_words_are_matched_in_their_order() -> None:
    old = run(scenario(share([True] * 60)), scenario(share([False] * 60)))
    new = run(scenario(share([True] * 60)), scenario(share([True] * 60)), run_id="two")

    changes = compare(old, new).changes

    assert [change.title for change in changes] == ["A scenario", "A scenario (2)"]
    assert [change.better for change in changes] == [0, 60]


def test_what_else_changed_is_noted() -> None:
    old = run(scenario(share([True])))
    new = run(scenario(share([True])), seed=8, run_id="two", models={"judge": "k", "user": "u"}, simeval="2")

    notes = " ".join(compare(old, new).notes)

    assert "different seeds (7 and 8)" in notes
    assert "the judge model was j and is k now" in notes
    assert "the user model" not in notes
    assert "different versions of simeval" in notes
    assert "both are the same run, one" in " ".join(compare(old, old).notes)


def test_another_number_of_ratings_of_each_conversation_is_noted() -> None:
    once, thrice = run(scenario(share([True]))), run(scenario(share([True])), judge_repeats=3)

    notes = " ".join(compare(once, thrice).notes)

    assert "the ratings of each conversation by a judge were 1 and are 3 now, which is another criterion" in notes
    assert "by a judge" not in " ".join(compare(thrice, thrice).notes)


def test_it_prints_the_table_the_reasons_and_one_summary_line() -> None:
    comparison = compare(
        run(scenario(share(pairs(35, 3, 9, 3)[0]))), run(scenario(share(pairs(35, 3, 9, 3)[1])), run_id="two")
    )

    lines = str(comparison).splitlines()

    assert lines[0].split() == [
        *("scenario", "requirement", "verdict", "before", "now", "change", "interval", "trials", "p")
    ]
    assert "INCONCLUSIVE  44 of 50  38 of 50  -12 pts" in lines[2]
    assert lines[-1].startswith("INCONCLUSIVE: 1 requirement compared (1 inconclusive); baseline run one")
    assert "fails with probability at most 5%" in " ".join(str(comparison).split())


def test_the_json_form_holds_every_requirement() -> None:
    old = run(scenario(share([True] * 60), mean(), scores=[5.0] * 60))

    found = json.loads(json.dumps(encode_comparison(compare(old, old)), allow_nan=False))

    assert (found["outcome"], found["passed"], found["paired"]) == ("pass", True, True)
    assert [row["outcome"] for row in found["requirements"]] == ["pass", None]
    assert found["requirements"][0]["baseline"] == {"trials": 60, "missing": 0, "value": 1.0, "met": 60}
    assert found["baseline"] == {"run_id": "one", "seed": 7, "app": "app:handle"}
    assert found["only_in_candidate"] == []


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ([], "no result of a simeval run"),
        ({}, "no result of a simeval run"),
        ({**run(), "simeval": None}, "simeval: "),
        ({key: value for key, value in run().items() if key != "seed"}, "the key seed is missing"),
        (run({"title": "A scenario"}), "the key scenarios.0.sample_size is missing"),
        (run(scenario({"label": "helps", "verdicts": [{"evaluator": "x"}]})), "verdicts.0.chart is missing"),
        (run(scenario(share([1, 2]))), "scenarios.0.expectations.0.verdicts.0.chart.met.0"),  # type: ignore[list-item]
        (run(scenario(scores=[float("nan")])), "finite"),
    ],
)
def test_what_is_no_result_is_refused_with_the_key_at_fault(broken: Any, said: str) -> None:
    with pytest.raises(DefinitionError, match="candidate") as error:
        compare(run(scenario(share([True]))), broken)

    assert said in str(error.value)
    assert "give what `simeval run --json PATH` writes" in str(error.value)


def test_runs_with_nothing_in_common_are_refused() -> None:
    with pytest.raises(DefinitionError, match="two runs of the same suite"):
        compare(run(scenario(share([True]))), run(scenario(share([True]), title="Another")))


@pytest.mark.parametrize("options", [{"margin": 5}, {"margin": 0}, {"margin": -0.1}, {"alpha": 0}, {"alpha": 0.6}])
def test_a_margin_or_level_that_cannot_be_used_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(DefinitionError, match=next(iter(options))):
        compare(run(scenario(share([True]))), run(scenario(share([True]))), **options)


def test_real_pairs_give_the_published_numbers() -> None:
    rows = rows_of("public_tau2_ab_sft")
    reference = json.loads((SHARED / "data" / "public_reference_numbers.json").read_text())["tau2_ab_sft"]
    configs = [config for config in reference if config != "ALL"]
    base, tuned = (
        run(*[scenario(share(rewards(rows, config, arm)), title=config) for config in configs], run_id=arm)
        for arm in ("base", "sft")
    )

    there, back = compare(base, tuned).changes, compare(tuned, base).changes

    for change, reverse in zip(there, back, strict=True):
        expected = reference[change.title]
        assert (change.baseline.trials, change.worse, change.better) == (
            expected["pairs"],
            expected["base_only"],
            expected["sft_only"],
        )
        assert round(change.baseline.value or 0, 4) == expected["base"]
        assert round(change.candidate.value or 0, 4) == expected["sft"]
        two_sided = min(1.0, 2 * min(change.p_worse or 0, reverse.p_worse or 0))
        assert round(two_sided, 4) == expected["mcnemar_exact_p"]
    assert [change.outcome for change in back] == ["inconclusive", "inconclusive", "fail", "inconclusive"]


def rewards(rows: list[dict[str, Any]], config: str, arm: str) -> list[bool]:
    found = {row["task_id"]: row["reward"] == 1.0 for row in rows if (row["config"], row["arm"]) == (config, arm)}
    return [found[task] for task in sorted(found)]


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
    return await Engine(seed=seed, early_stopping=early_stopping, progress=False, store=None).evaluate([test], app)


@pytest.mark.anyio
async def test_a_worse_app_fails_against_its_baseline_and_the_other_way_round_passes(tmp_path: Path) -> None:
    old, new = await evaluated(old_app), await evaluated(new_app)

    there, back = compare(old, new), compare(new, old)

    assert there.paired
    assert [change.outcome for change in there.changes] == ["fail", "fail"]
    assert [change.outcome for change in back.changes] == ["pass", None]
    assert there.changes[0].worse == old[0].trials - sum(score >= 6 for score in new[0].expectations[0].scores)
    assert there.changes[0].better == 0
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

    assert changes[0].candidate.trials < 60
    assert all("--no-early-stopping" in change.approximate for change in changes)
