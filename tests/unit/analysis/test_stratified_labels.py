"""Labels of a sample with more of what the judge fails: told from random ones, and weighted to be those of all."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from simeval import agreement
from simeval.analysis.label_queue import LabelItem, label_items
from simeval.analysis.labels import Label
from simeval.analysis.saved_run import read_suite
from simeval.errors import DefinitionError
from tests.support.labels import only_entry
from tests.support.stored_runs import requirement, run_of, scenario_of

MET = [True] * 180 + [False] * 20
RUN = run_of(scenario_of("s", requirement("helps", MET)))
STRICT = run_of(
    scenario_of(
        "s",
        {
            **requirement("helps", MET),
            "verdicts": [
                *requirement("helps", MET)["verdicts"],
                *requirement("helps", [True] * 90 + [False] * 110, evaluator="strict", cut=(">=", 9.5))["verdicts"],
            ],
        },
    )
)


def drawn(size: int = 40, *, stratified: bool = True) -> list[LabelItem]:
    return label_items(read_suite(RUN, "run"), {}, label="helps", size=size, stratified=stratified)


def labels(items: Sequence[LabelItem], *, wrong: int = 0) -> list[Label]:
    """Return what a person says who agrees with the judge, but for every so many-th of what it passes."""
    return [
        Label(
            scenario="s",
            index=item.index,
            value=MET[item.index] and not (wrong and item.index % wrong == 0),
            expectation="helps",
            inclusion=item.inclusion,
        )
        for item in items
    ]


def test_half_of_a_sample_is_of_what_the_judge_fails_in_an_order_that_does_not_tell() -> None:
    items = drawn(30)
    fails = [not MET[item.index] for item in items]

    assert (len(items), sum(fails)) == (30, 15)
    assert 4 <= sum(fails[:15]) <= 11
    assert {item.inclusion for item in items} == {15 / 180, 15 / 20}


def test_where_there_are_not_so_many_fails_the_others_are_more() -> None:
    items = drawn(60)

    assert sum(not MET[item.index] for item in items) == 20
    assert {item.inclusion for item in items} == {40 / 180, 1.0}


def test_a_sample_is_never_larger_than_the_run() -> None:
    assert len(drawn(500)) == 200
    assert {item.inclusion for item in drawn(500)} == {1.0}


def test_rates_are_those_of_all_conversations() -> None:
    found = only_entry(RUN, labels(drawn(), wrong=3))
    passed = found.confusion.true_pass / (found.confusion.true_pass + found.confusion.false_pass)

    assert found.stratified
    assert found.rate.estimate == pytest.approx(0.9 * passed)
    assert found.confusion.specificity.value == pytest.approx(20 / (20 + 180 * (1 - passed)))
    assert found.confusion.sensitivity.value == 1
    assert found.confusion.specificity.low < found.confusion.specificity.value < found.confusion.specificity.high
    assert found.rate.lower < found.rate.estimate < found.rate.upper
    assert found.exact
    assert "weighted to be those of all" in " ".join(str(found).split())


def test_a_random_sample_is_not_weighted_and_two_of_different_sizes_are_not_either() -> None:
    random, more = drawn(40, stratified=False), drawn(100, stratified=False)
    mixed = [*labels(random), *labels([item for item in more if item not in random][40:])]

    assert not only_entry(RUN, labels(random, wrong=3)).stratified
    assert not only_entry(RUN, labels([*more], wrong=3)).stratified
    assert not only_entry(RUN, [replace(each, inclusion=None) for each in mixed]).stratified


def test_a_sample_is_known_by_its_first_labels_although_they_are_of_one_kind() -> None:
    stratified = [item for item in drawn(60) if MET[item.index]][:5]
    random = [item for item in drawn(60, stratified=False) if MET[item.index]][:5]

    assert only_entry(RUN, labels(stratified)).stratified
    assert not only_entry(RUN, labels(random)).stratified


def test_of_another_requirement_of_the_expectation_nothing_follows() -> None:
    [entry] = agreement(STRICT, labels(drawn())).entries

    assert entry.evaluator != "strict"
    assert entry.stratified


def test_ratings_of_a_stratified_sample_are_refused() -> None:
    rated = [replace(each, value=8.0) for each in labels(drawn())]

    with pytest.raises(DefinitionError, match="label a stratified sample with pass and fail"):
        only_entry(RUN, rated)
