"""Comparison of two runs of a suite: what it concludes on a share of good trials."""

from math import comb
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simeval import compare
from simeval.stats.paired import mcnemar, paired_not_worse
from simeval.stats.two_sample import fisher, not_worse
from tests.support.golden import reference_numbers, rows_of
from tests.support.results import pairs, run, scenario, share, shares

MIXED = st.lists(st.tuples(*[st.sampled_from([True, False, None])] * 2), min_size=1, max_size=70)


def test_runs_of_one_seed_are_tested_as_pairs() -> None:
    change = shares(*pairs(35, 3, 9, 3))

    assert change.pairs == 50
    assert (len(change.improved), len(change.regressed)) == (3, 9)
    assert (change.baseline.met, change.baseline.n, change.candidate.met) == (44, 50, 38)
    assert change.difference == pytest.approx(-6 / 50)
    assert (change.p_worse, change.p_better) == (mcnemar(3, 9).p_new_worse, mcnemar(3, 9).p_new_better)
    assert change.p_not_worse == paired_not_worse(35, 3, 9, 3, margin=0.05).p_value
    assert "44 of 50 before, 38 of 50 now; 9 trials got worse, 3 better" in change.explanation


def test_runs_of_different_seeds_are_tested_as_independent_samples() -> None:
    change = shares([True] * 44 + [False] * 6, [True] * 30 + [False] * 10, seeds=(7, 8))

    assert (change.pairs, change.improved, change.regressed) == (None, (), ())
    tested = fisher(30, 40, 44, 50)
    assert (change.p_worse, change.p_better) == (tested.p_new_worse, tested.p_new_better)
    assert change.p_not_worse == not_worse(30, 40, 44, 50, margin=0.05).p_value
    assert not change.approximate


@pytest.mark.parametrize("seeds", [(7, 7), (7, 8)])
def test_no_change_in_enough_trials_is_proven_not_worse(seeds: tuple[int, int]) -> None:
    change = shares([True] * 59, [True] * 59, seeds=seeds)

    assert (change.finding, change.reason) == ("not worse", "")


@pytest.mark.parametrize("seeds", [(7, 7), (7, 8)])
def test_no_change_in_too_few_trials_is_unclear_and_says_how_many_it_takes(seeds: tuple[int, int]) -> None:
    change = shares([True] * 58, [True] * 58, seeds=seeds)

    assert (change.finding, change.reason) == ("unclear", "not_proven")
    assert "even without any change at least 59 trials of each run are needed" in change.explanation
    assert change.explanation.count("59") == 1


def test_too_few_trials_with_changes_are_told_both_numbers() -> None:
    explanation = shares(*pairs(18, 1, 1)).explanation

    assert "about 290 trials of each run would prove the second" in explanation
    assert "even without any change at least 59 are needed" in explanation


def test_a_clear_loss_is_worse() -> None:
    change = shares([True] * 40, [False] * 20 + [True] * 20)

    assert change.finding == "worse"
    assert change.p_value == change.p_worse


def test_a_loss_proven_smaller_than_the_margin_is_not_worse_and_says_that_it_is_one() -> None:
    change = shares(*pairs(280, 0, 6), margin=0.05)

    assert (change.finding, change.reason) == ("not worse", "within_margin")
    assert "worse (p = 0.016), but by less than 5 percentage points" in change.explanation


def test_a_loss_of_the_margin_is_not_promised_a_proof() -> None:
    change = shares(*pairs(36, 0, 4))

    assert change.finding == "unclear"
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

    assert shares(*counts, margin=0.4).finding == "not worse"
    assert shares(*counts, margin=0.01, alpha=0.2).finding == "worse"
    assert shares(*counts, margin=0.01).finding == "unclear"


@settings(deadline=None, max_examples=60)
@given(outcomes=MIXED, paired=st.booleans())
def test_missing_trials_count_against_every_finding(
    outcomes: list[tuple[bool | None, bool | None]], paired: bool
) -> None:
    seeds = (7, 7 if paired else 8)
    before, now = [old for old, _ in outcomes], [new for _, new in outcomes]

    change = shares(before, now, seeds=seeds)
    worst = shares([old is not False for old in before], [bool(new) for new in now], seeds=seeds)
    best = shares([bool(old) for old in before], [new is not False for new in now], seeds=seeds)

    assert (change.p_not_worse, change.p_better) == (worst.p_not_worse, worst.p_better)
    assert change.p_worse == best.p_worse
    assert change.interval is not None
    assert worst.interval is not None
    assert best.interval is not None
    assert change.interval == (worst.interval[0], best.interval[1])
    assert change.baseline.missing == before.count(None)


def test_missing_trials_are_named() -> None:
    change = shares([True] * 39 + [None], [None, None] + [True] * 38)

    assert [(side.met, side.n) for side in (change.baseline, change.candidate)] == [(39, 39), (38, 38)]
    assert "1 before and 2 now are missing, which counts against every finding" in change.explanation


@settings(deadline=None, max_examples=40)
@given(outcomes=MIXED)
def test_worse_for_one_is_better_for_the_other(outcomes: list[tuple[bool | None, bool | None]]) -> None:
    before, now = [bool(old) for old, _ in outcomes], [bool(new) for _, new in outcomes]

    there, back = shares(before, now), shares(now, before)

    assert [each.index for each in there.improved] == [each.index for each in back.regressed]
    assert there.difference == pytest.approx(-(back.difference or 0))
    assert there.p_worse == mcnemar(len(back.regressed), len(back.improved)).p_new_worse == back.p_better
    assert not there.finding == back.finding == "worse"


def test_excluded_trials_shift_no_pair() -> None:
    before = run(scenario(share([True, False, True, False])))
    now = run(scenario(share([True, True, False], excluded=[1])), run_id="two")

    change = compare(before, now).changes[0]

    assert change.candidate.size == 3
    assert (len(change.improved), len(change.regressed)) == (0, 0)
    assert "1 left out, because the app failed on them" in change.explanation


def test_trials_that_a_fixed_sample_did_not_get_are_missing() -> None:
    before = run(scenario(share([True] * 30)))
    now = run(scenario(share([True] * 10, n_max=30)), run_id="two")

    change = compare(before, now).changes[0]

    assert (change.candidate.size, change.candidate.missing) == (30, 20)
    assert not change.approximate


@pytest.mark.parametrize("early", ["before", "now"])
def test_a_run_that_stopped_early_makes_the_error_rates_approximate(early: str) -> None:
    ended = {"before": 30, "now": 30, early: 20}
    before, now = (
        run(scenario(share([True] * ended[side], stop="gate", n_max=30)), run_id=side) for side in ("before", "now")
    )

    comparison = compare(before, now)

    assert comparison.changes[0].candidate.size == 20
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

    assert change.finding == "unclear"
    assert change.explanation.endswith(f"; early stopping left {left}; run both with --no-early-stopping")
    assert "would prove" not in change.explanation


def test_samples_of_different_planned_sizes_are_paired_as_far_as_both_go_and_stay_exact() -> None:
    change = shares([True] * 80, [True] * 60)

    assert (change.baseline.size, change.candidate.size) == (60, 60)
    assert (change.finding, change.approximate) == ("not worse", "")


def test_the_asymptotic_test_of_the_margin_is_named() -> None:
    change = shares([True] * 1001, [True] * 1001)

    assert "asymptotic" in change.approximate
    assert change.finding == "not worse"


def test_a_run_without_trials_is_unclear() -> None:
    change = shares([], [True] * 3)

    assert (change.finding, change.reason) == ("unclear", "nothing_in_common")
    assert change.difference is None


def test_real_pairs_give_the_published_numbers() -> None:
    rows = rows_of("public_tau2_ab_sft")
    reference = reference_numbers("tau2_ab_sft")
    configs = [config for config in reference if config != "ALL"]
    base, tuned = (
        run(*[scenario(share(rewards(rows, config, arm)), title=config) for config in configs], run_id=arm)
        for arm in ("base", "sft")
    )

    there, back = compare(base, tuned).changes, compare(tuned, base).changes

    for change, reverse in zip(there, back, strict=True):
        expected = reference[change.title]
        assert (change.baseline.size, len(change.regressed), len(change.improved)) == (
            expected["pairs"],
            expected["base_only"],
            expected["sft_only"],
        )
        assert round(change.baseline.value or 0, 4) == expected["base"]
        assert round(change.candidate.value or 0, 4) == expected["sft"]
        two_sided = min(1.0, 2 * min(change.p_worse or 0, reverse.p_worse or 0))
        assert round(two_sided, 4) == expected["mcnemar_exact_p"]
    assert [change.finding for change in back] == ["unclear", "unclear", "worse", "unclear"]


def rewards(rows: list[dict[str, Any]], config: str, arm: str) -> list[bool]:
    found = {row["task_id"]: row["reward"] == 1.0 for row in rows if (row["config"], row["arm"]) == (config, arm)}
    return [found[task] for task in sorted(found)]


@pytest.mark.parametrize("seeds", [(7, 7), (7, 8)])
def test_a_clear_gain_is_better(seeds: tuple[int, int]) -> None:
    change = shares([False] * 20 + [True] * 20, [True] * 40, seeds=seeds)

    assert (change.finding, change.reason, change.p_value) == ("better", "", change.p_better)
    assert "20 of 40 before, 40 of 40 now" in change.explanation


def test_the_trials_that_changed_are_told_by_their_places() -> None:
    change = shares([True, True, False, None], [True, False, True, True])

    assert [each.index for each in change.regressed] == [1]
    assert [each.index for each in change.improved] == [2]
    assert (change.pairs, change.unchanged) == (3, 1)
