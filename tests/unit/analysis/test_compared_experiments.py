"""Comparison of experiments: examples are paired, and what is proven is said for each metric."""

import pytest

from simeval import compare
from simeval.errors import DefinitionError
from simeval.stats.paired import mcnemar, paired_difference_interval, paired_not_worse, sign_flip
from tests.support.results import again, experiment


def test_yes_or_no_is_compared_by_mcnemars_test_example_by_example() -> None:
    old = experiment({"right": [1, 1, 1, 1, 1, 1, 1, 0, 0, 1]})
    new = experiment({"right": [0, 0, 0, 0, 0, 0, 1, 0, 1, 1]})

    [change] = compare(old, new).changes

    assert change.finding == "unclear"
    assert (change.p_worse, change.p_better) == (mcnemar(1, 6).p_new_worse, mcnemar(1, 6).p_new_better)
    assert change.p_not_worse == paired_not_worse(2, 1, 6, 1, margin=0.05).p_value
    assert change.interval == paired_difference_interval(2, 1, 6, 1, alpha=0.05)
    assert [each.index for each in change.regressed] == [0, 1, 2, 3, 4, 5]
    assert [each.index for each in change.improved] == [8]
    assert (change.baseline.value, change.candidate.value, change.unchanged) == (0.8, 0.3, 3)


def test_what_is_proven_worse_fails_and_what_is_proven_better_does_not() -> None:
    good, bad = experiment({"right": [1] * 12}), experiment({"right": [0] * 12})

    worse, better = compare(good, bad), compare(bad, good)

    assert ([c.finding for c in worse.changes], worse.passed) == (["worse"], False)
    assert ([c.finding for c in better.changes], better.passed) == (["better"], True)


def test_no_change_on_many_examples_is_proven_not_worse() -> None:
    same = experiment({"right": [1] * 100})

    [change] = compare(same, again(same)).changes

    assert change.finding == "not worse"


def test_numbers_are_compared_by_sign_flips_of_their_differences() -> None:
    before, now = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.5, 2.5, 3.25, 4.75, 5.5, 6.5]

    [change] = compare(experiment({"length": before}, kind="mean"), experiment({"length": now}, kind="mean")).changes

    assert change.p_better == sign_flip([new - old for old, new in zip(before, now, strict=True)]).p_new_better
    assert change.finding == "better"
    assert change.interval is not None
    assert change.interval[0] < 0.5 < change.interval[1]
    assert change.p_not_worse is None


def test_less_is_better_where_that_is_said() -> None:
    old, new = experiment({"seconds": [1.0] * 8}, kind="mean"), experiment({"seconds": [2.0] * 8}, kind="mean")

    [change] = compare(old, new, lower_is_better=["seconds"]).changes

    assert change.finding == "worse"
    assert len(change.regressed) == 8
    with pytest.raises(DefinitionError, match="name a metric of both: seconds"):
        compare(old, new, lower_is_better=["minutes"])


def test_a_share_of_which_less_is_better_is_compared_the_other_way_round() -> None:
    old, new = experiment({"toxic": [0] * 12}), experiment({"toxic": [1] * 12})

    [change] = compare(old, new, lower_is_better=["toxic"]).changes

    assert change.finding == "worse"
    assert change.interval is not None
    assert change.interval[0] > 0


def test_repetitions_are_one_value_and_their_examples_are_what_is_flipped() -> None:
    old = experiment({"right": [[1, 0], [1, 1], [0, 0]]})
    new = experiment({"right": [[1, 1], [1, 1], [1, 0]]})

    [change] = compare(old, new).changes

    assert change.p_better == sign_flip([0.5, 0.0, 0.5]).p_new_better
    assert change.baseline.value == 0.5
    assert change.candidate.value == pytest.approx(2.5 / 3)


def test_examples_are_paired_by_their_keys_whatever_their_order_and_others_are_counted() -> None:
    old = experiment({"n": [1.0, 2.0, 3.0]}, keys=["a", "b", "c"], kind="mean")
    new = experiment({"n": [3.0, 1.0, 9.0, 8.0]}, keys=["c", "a", "x", "y"], kind="mean", version="v2")

    found = compare(old, new)

    assert (found.pairs, found.baseline.examples_only_here, found.candidate.examples_only_here) == (2, 1, 2)
    assert found.changes[0].unchanged == 2
    assert "different versions of the dataset" in " ".join(found.notes)


def test_equal_examples_are_paired_in_their_order() -> None:
    old = experiment({"n": [1.0, 2.0]}, keys=["a", "a"], kind="mean")

    assert compare(old, again(old)).changes[0].unchanged == 2


def test_an_app_that_failed_has_not_met_a_yes_or_no_and_has_no_number() -> None:
    old, new = experiment({"right": [1, 1]}), experiment({"right": [None, 1]}, crashed=[0])

    change, crashes = compare(old, new).changes
    number, _ = compare(
        experiment({"n": [1.5, 1.0]}, kind="mean"), experiment({"n": [None, 1.0]}, kind="mean", crashed=[0])
    ).changes

    assert [each.index for each in change.regressed] == [0]
    assert (number.pairs, number.candidate.missing) == (1, 1)
    assert (crashes.name, crashes.direction, crashes.candidate.value) == ("(the app failed)", "lower", 0.5)


def test_an_app_that_fails_on_every_example_is_worse_whatever_it_was_measured_by() -> None:
    old = experiment({"right": [1] * 12}, kind="mean")
    dead = {**experiment({"right": [None] * 12}, crashed=range(12)), "metrics": []}

    found = compare(old, dead)

    assert {change.name: change.finding for change in found.changes} == {
        "right": "unclear",
        "(the app failed)": "worse",
    }
    assert not found.passed


def test_a_share_that_no_answer_has_any_more_is_lost_and_no_reason_to_pass() -> None:
    old = experiment({"right": [1] * 40})
    gone = {**experiment({"right": [None] * 40}), "metrics": []}

    [change] = compare(old, gone).changes

    assert (change.candidate.missing, change.pairs) == (40, 0)
    assert (change.finding, change.p_not_worse) == ("unclear", 1.0)


def test_what_is_missing_counts_against_every_finding() -> None:
    half = experiment({"right": [1] * 100 + [None] * 100})
    whole = experiment({"right": [1] * 200})

    [lost] = compare(whole, half).changes
    [found] = compare(half, whole).changes

    assert (lost.finding, lost.p_worse) == ("unclear", 1.0)
    assert (found.finding, found.p_better) == ("not worse", 1.0)  # that holds whatever the missing ones were


def test_of_numbers_of_which_many_are_missing_nothing_is_found() -> None:
    old = experiment({"n": [1.0] * 20}, kind="mean")

    [few] = compare(old, experiment({"n": [2.0] * 18 + [None] * 2}, kind="mean")).changes
    [many] = compare(old, experiment({"n": [2.0] * 17 + [None] * 3}, kind="mean")).changes

    assert (few.finding, many.finding) == ("better", "unclear")
    assert "3 of 20 examples lack a value" in many.method


def test_what_keeps_runs_from_being_compared_is_noted() -> None:
    old = experiment({"n": [1.0, 1.0]}, kind="mean", models={"judge": "a"})
    new = experiment({"n": [1.0, None]}, kind="mean", models={"judge": "b"}, keys=["k0", ""], stopped="enough")

    notes = " ".join(compare(old, new).notes)

    assert "the judge model was a and is b now" in notes
    assert "the candidate was stopped after 1 of 2 examples: enough" in notes


def test_metrics_of_one_run_only_are_named() -> None:
    found = compare(experiment({"a": [1], "b": [1]}), experiment({"b": [1], "c": [1]}))

    assert [found.baseline.only_here, found.candidate.only_here] == [(("", "a", ""),), (("", "c", ""),)]
    assert "only in the baseline, not compared:\n  a\n" in str(found)


def test_runs_without_a_common_example_are_refused() -> None:
    with pytest.raises(DefinitionError, match="no example in common"):
        compare(experiment({"a": [1]}, keys=["x"]), experiment({"a": [1]}, keys=["y"]))


def test_what_is_no_experiment_is_refused_with_what_is_missing() -> None:
    with pytest.raises(DefinitionError, match="baseline: the key run_id is missing"):
        compare({"simeval": "1", "metrics": []}, experiment({"a": [1]}))


def test_examples_that_changed_are_printed_with_their_values() -> None:
    old = experiment({"right": [1] * 12, "seconds": [1.0] * 12})
    new = experiment({"right": [0] * 11 + [1], "seconds": [1.5, *[1.0] * 11]})
    for run in (old, new):
        run["metrics"][1] |= {"kind": "mean", "direction": "lower"}

    text = str(compare(old, new))

    assert "right    WORSE    12 of 12  1 of 12" in text
    assert "worse: examples 0, 1, 2, 3, 4, 5, 6, 7, 3 more" in text
    assert "worse: example 0 (1 -> 1.5)" in text
