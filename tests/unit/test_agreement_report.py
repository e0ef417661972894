"""A run's judge held against people's labels."""

import json
from collections.abc import Sequence
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any

import pytest

from simeval import agreement
from simeval.errors import DefinitionError
from simeval.evaluators import MeanEvaluator, ProportionEvaluator, QuantileEvaluator
from simeval.judging import load_run
from simeval.labels import Label, draw_sample, write_sample
from simeval.outcome import Chart
from simeval.ratings import RatingAverageEvaluator, RatingProportionEvaluator, SuccessRateEvaluator
from simeval.results import SuiteResult
from simeval.saved_run import Cut
from simeval.stats.agreement import BootstrapInterval, cohen_kappa, krippendorff_alpha
from simeval.stats.binomial import clopper_pearson
from simeval.stats.calibration import CONDITIONS, corrected_rate
from simeval.trust import JudgeAgreement, encode_agreement, trust_in
from tests.unit.records import RUN, rated
from tests.unit.stored_runs import SUCCESS, requirement, run_of, scenario_of

PASSES = [True] * 12 + [False] * 8  # the judge's
PEOPLE = [True] * 10 + [False] * 2 + [True] + [False] * 7  # what people say of the same trials


def labels(values: Sequence[bool | float | None], *, rater: str = "", **fields: Any) -> list[Label]:
    return [
        Label(scenario="s", index=index, value=value, rater=rater, **fields)
        for index, value in enumerate(values)
        if value is not None
    ]


def run(*expectations: dict[str, Any]) -> dict[str, Any]:
    return run_of(scenario_of("s", *expectations))


def one(result: Any, given: Sequence[Label], **options: Any) -> JudgeAgreement:
    (entry,) = agreement(result, given, **options).entries
    return entry


class TestOnOneExpectation:
    def test_the_table_counts_what_judge_and_people_say(self) -> None:
        table = one(run(requirement("a", PASSES)), labels(PEOPLE)).confusion

        assert (table.true_pass, table.false_pass, table.false_fail, table.true_fail) == (10, 2, 1, 7)
        assert (table.sensitivity.value, table.specificity.value) == (10 / 11, 7 / 9)
        assert (table.sensitivity.low, table.sensitivity.high) == clopper_pearson(10, 11, 0.05)

    def test_the_coefficients_are_those_of_the_labels(self) -> None:
        found = one(run(requirement("a", PASSES)), labels(PEOPLE))

        assert found.kappa.estimate == cohen_kappa(PEOPLE, PASSES).value
        assert found.alpha.estimate == krippendorff_alpha([PEOPLE, PASSES]).value
        assert found.kappa.low < found.kappa.estimate < found.kappa.high
        assert found.weighted_kappa is None
        assert found.alpha_of_people is None

    def test_the_corrected_rate_is_that_of_all_trials_and_the_labels_there_are(self) -> None:
        people = [*PEOPLE[:5], *[None] * 15]

        found = one(run(requirement("a", PASSES)), labels(people), alpha=0.1)

        assert found.rate == corrected_rate(people, PASSES, alpha=0.1)
        assert (found.rate.judge_rate, found.labelled, found.trials) == (0.6, 5, 20)

    def test_with_enough_labels_the_rate_is_corrected_by_the_judge(self) -> None:
        judge, people = PASSES * 6, [*PEOPLE * 3, *[None] * 60]

        found = one(run(requirement("a", judge)), labels(people))

        assert "PPI" in found.rate.method
        assert not found.exact
        assert "(prediction-powered (PPI), approximate)" in " ".join(str(found).split())

    def test_ratings_are_held_against_the_evaluators_cut(self) -> None:
        scores = [9.0, 8.0, 4.0, 6.0]
        made = requirement("a", [True, True, False, True], scores=scores)

        found = one(run(made), labels([7.0, 5.5, 5.0, 6.0]))

        assert (found.confusion.true_pass, found.confusion.false_pass, found.confusion.true_fail) == (2, 1, 1)
        assert found.weighted_kappa is not None
        assert found.weighted_kappa.estimate == cohen_kappa([7, 5.5, 5, 6], scores, weights="quadratic").value
        assert found.alpha.estimate == krippendorff_alpha([[7, 5.5, 5, 6], scores], level="ordinal").value

    def test_a_crash_of_the_app_counts_in_the_rate_and_not_for_the_judge(self) -> None:
        made = requirement("a", [True, False, False], scores=[9.0, 3.0, None])

        found = one(run(made), labels([True, False, False]))

        assert (found.confusion.true_fail, found.rate.n_judged, found.rate.human_rate) == (1, 3, 1 / 3)
        assert found.alpha.n_clusters == 2

    def test_a_label_of_a_trial_without_an_outcome_is_not_used_and_counted(self) -> None:
        made = requirement("a", [True, None, False, True], excluded=[1])

        found = one(run(made), labels([True, True, True, False, True]))

        assert (found.trials, found.labelled, found.unused) == (3, 3, 2)
        assert "3 of 3 conversations are labelled, 2 labelled trials have no outcome here" in str(found)

    def test_the_rate_of_a_run_that_could_stop_early_is_not_exact(self) -> None:
        fixed, sequential = (
            one(run(requirement("a", PASSES, stop=stop)), labels(PEOPLE)) for stop in ("never", "gate")
        )

        assert fixed.exact
        assert fixed.conditions == CONDITIONS
        assert not sequential.exact
        assert "could stop early" in sequential.conditions[-1]

    def test_each_verdict_of_an_expectation_has_a_cut_of_its_own(self) -> None:
        made = requirement("a", [True, True], scores=[9.0, 7.0])
        strict = requirement("a", [True, False], evaluator="rating ≥ 8", cut=(">=", 8.0))
        made["verdicts"] += strict["verdicts"]

        report = agreement(run(made), labels([9.0, 7.0]))

        assert [entry.evaluator for entry in report.entries] == [made["verdicts"][0]["evaluator"], "rating ≥ 8"]
        assert [entry.confusion.true_fail for entry in report.entries] == [0, 1]
        assert report.overall is None
        assert str(report).count("Cohen's kappa") == 2

    def test_requirements_with_one_cut_and_the_same_numbers_are_printed_once(self) -> None:
        made, other = requirement("a", PASSES), requirement("b", PASSES)
        for evaluator, cut in (("median rating at least 6", (">=", 6.0)), ("all above 5", (">", 5.0))):
            made["verdicts"] += requirement("a", PASSES, evaluator=evaluator, cut=cut)["verdicts"]
        given = [*labels(PEOPLE, expectation="a"), *labels(PEOPLE, expectation="b")]

        report = agreement(run(made, other), given)

        said = " ".join(str(report).split())
        assert [entry.cut for entry in report.entries] == [">= 6", ">= 6", "> 5", ">= 6"]
        assert said.count("Cohen's kappa") == 3
        assert f"s: a: {SUCCESS} and median rating at least 6 20 of 20" in said
        assert "s: a: all above 5 20 of 20" in said
        assert f"s: b: {SUCCESS} 20 of 20" in said


class TestSeveralPeople:
    def test_the_table_takes_what_most_say_and_a_tie_is_no_label(self) -> None:
        given = [
            *labels([True, True, True], rater="Ada"),
            *labels([True, False, False], rater="Bob"),
            *labels([None, False, None], rater="Cyd"),
        ]

        found = one(run(requirement("a", [True, True, False])), given)

        assert (found.confusion.true_pass, found.confusion.false_pass, found.ties, found.labelled) == (1, 1, 1, 3)
        assert found.rate.n_labelled == 2
        assert "on 1 of them people are split evenly" in str(found)

    def test_alpha_holds_each_person_against_the_judge_and_people_against_each_other(self) -> None:
        ada, bob = [9.0, 3.0, 7.0, 2.0], [8.0, 3.0, 5.0, 4.0]
        judge = [9.0, 2.0, 9.0, 2.0]

        found = one(
            run(requirement("a", [True, False, True, False])), [*labels(ada, rater="Ada"), *labels(bob, rater="Bob")]
        )

        assert found.alpha.estimate == pytest.approx(krippendorff_alpha([ada + bob, judge * 2], level="ordinal").value)
        assert found.alpha_of_people == krippendorff_alpha([ada, bob], level="ordinal").value
        assert found.alpha.n_clusters == 4
        assert "people among themselves ." in " ".join(str(found).split())

    def test_the_report_counts_them(self) -> None:
        given = [*labels([True], rater="Ada"), *labels([True], rater="Bob")]

        assert "against 2 people (passes and failures), run run-1" in str(
            agreement(run(requirement("a", [True])), given)
        )


class TestTrust:
    @pytest.mark.parametrize(
        ("alpha", "low", "n", "trust"),
        [
            (0.66, 0.5, 50, "do not trust"),
            (0.667, 0.5, 50, "tentative"),
            (0.95, 0.79, 50, "tentative"),
            (0.95, 0.8, 50, "usable"),
            (0.95, float("nan"), 50, "tentative"),
            (-0.3, -0.5, 50, "do not trust"),
            (float("nan"), float("nan"), 50, "unknown"),
            (1.0, 1.0, 49, "too few labels"),
            (-0.3, -0.5, 49, "too few labels"),
        ],
    )
    def test_it_needs_fifty_labels_and_then_follows_the_customary_bounds_of_alpha(
        self, alpha: float, low: float, n: int, trust: str
    ) -> None:
        assert trust_in(BootstrapInterval(alpha, low, 1.0, n_clusters=n, n_draws=1999, n_undefined=0)) == trust

    def test_a_judge_that_agrees_is_usable_and_one_that_does_not_is_warned_of(self) -> None:
        made = run(requirement("a", PASSES * 3))

        assert "alpha 1.00 [1.00, 1.00]: usable" in str(one(made, labels(PASSES * 3)))
        assert "DO NOT TRUST this judge" in str(one(made, labels([not passed for passed in PASSES * 3])))

    def test_on_few_labels_there_is_no_advice_but_how_many_more_it_takes(self) -> None:
        report = agreement(
            run(requirement("a", PASSES), requirement("b", PASSES)),
            [
                *labels([not passed for passed in PASSES], expectation="a"),
                *labels(PASSES, expectation="b"),
            ],
        )

        said = " ".join(str(report).split())
        assert [entry.trust for entry in report.entries] == ["too few labels"] * 2
        assert said.count("no advice on fewer than 50 labelled conversations (30 more wanted)") == 3
        assert "usable" not in said
        assert "TRUST" not in said

    def test_ratings_in_the_same_order_on_different_sides_of_the_bar_are_not_trusted(self) -> None:
        people, judge = [9.0, 8.0, 5.5, 5.0, 5.5, 3.0, 2.0] * 8, [9.0, 8.0, 6.0, 6.0, 6.0, 3.0, 2.0] * 8
        made = requirement("a", ([True] * 5 + [False] * 2) * 8, scores=judge)

        found = one(run(made), labels(people))

        assert found.alpha_at_cut is not None
        assert found.alpha.estimate > 0.8 > 0.5 > found.alpha_at_cut.estimate
        assert found.trust == "do not trust"
        assert "(below .667); of the ratings (ordinal) .8" in " ".join(str(found).split())

    def test_ratings_in_another_order_on_the_same_sides_of_the_bar_are_usable(self) -> None:
        people, judge = [9.0, 7.0, 2.0, 4.0] * 15, [7.0, 9.0, 4.0, 2.0] * 15

        found = one(run(requirement("a", [True, True, False, False] * 15, scores=judge)), labels(people))

        assert found.alpha.estimate < 0.667
        assert found.trust == "usable"
        assert "alpha at the bar 1.00 [1.00, 1.00]: usable; of the ratings (ordinal)" in " ".join(str(found).split())

    def test_labels_that_all_say_the_same_tell_nothing(self) -> None:
        found = one(run(requirement("a", [True] * 50)), labels([True] * 50))

        assert (found.trust, isnan(found.kappa.estimate)) == ("unknown", True)
        assert "undefined: cannot be told" in str(found)
        assert "specificity - [0%, 100%]" in str(found)

    def test_labels_only_where_there_is_no_outcome_leave_everything_open(self) -> None:
        found = one(run(requirement("a", [True, None])), labels([None, True]))

        assert (found.trust, found.labelled, found.rate.lower, found.rate.upper) == ("too few labels", 0, 0.0, 1.0)
        assert "people would find - [0%, 100%]" in " ".join(str(found).split())


class TestSeveralExpectations:
    def test_each_has_an_entry_in_the_runs_order_and_all_have_an_alpha_together(self) -> None:
        first, second = scenario_of("s", requirement("a", PASSES)), scenario_of("t", requirement("b", PASSES))
        given = [*(replace(label, scenario="t") for label in labels(PEOPLE)), *labels(PASSES)]

        report = agreement(run_of(first, second), given)

        assert [(entry.scenario, entry.expectation) for entry in report.entries] == [("s", "a"), ("t", "b")]
        assert report.overall is not None
        assert report.overall.estimate == krippendorff_alpha([PASSES + PEOPLE, PASSES * 2]).value
        assert report.overall.n_clusters == 40
        assert "all expectations together: alpha " in str(report)

    def test_a_label_without_expectation_belongs_to_the_only_judged_one(self) -> None:
        made = run(requirement("latency", [True], reason=""), requirement("a", [True]))

        assert one(made, labels([True])).expectation == "a"
        assert one(made, labels([True], expectation="latency")).expectation == "latency"

    def test_the_file_names_what_it_is_about(self, tmp_path: Path) -> None:
        made = run(requirement("a", [True]), requirement("b", [False]))
        (tmp_path / "result.json").write_text(json.dumps(made))
        (tmp_path / "labels.csv").write_text("scenario,index,expectation,label\ns,0,b,pass\n")

        report = agreement(tmp_path / "result.json", str(tmp_path / "labels.csv"))

        assert [(entry.expectation, entry.confusion.false_fail) for entry in report.entries] == [("b", 1)]


class TestRefusals:
    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ([], "labels: found []"),
            ([Label(scenario="S", index=0, value=True)], "label 0: no scenario of the run is titled 'S'"),
            ([Label(scenario="scenari", index=0, value=True)], "did you mean 'scenario'?"),
            ([Label(scenario="s", index=9, value=True)], "'s' has no trial 9; its trials are 0 to 1"),
            ([Label(scenario="s", index=-1, value=True)], "'s' has no trial -1"),
            (
                [Label(scenario="s", index=0, value=True)],
                "has 2 judged expectations and the label names none; use one of 'a', 'b'",
            ),
            ([Label(scenario="s", index=0, value=True, expectation="c")], "no expectation 'c'"),
            ([Label(scenario="s", index=0, value=True, expectation="a")] * 2, "label 1: trial 0 of 's' has a label"),
            ([Label(scenario="s", index=0, value=11, expectation="a")], "label 0: found 11"),
            (
                [
                    Label(scenario="s", index=0, value=7, expectation="a"),
                    Label(scenario="s", index=1, value=True, expectation="a"),
                ],
                "both ratings and passes or failures",
            ),
            ([Label(scenario="s", index=9, value=True, where="x.csv, line 4")], "x.csv, line 4: 's' has no trial 9"),
        ],
    )
    def test_labels_that_do_not_fit_are_refused(self, given: list[Label], said: str) -> None:
        made = run_of(
            scenario_of("s", requirement("a", [True, True]), requirement("b", [True, True])),
            scenario_of("scenario", requirement("a", [True])),
        )

        with pytest.raises(DefinitionError) as caught:
            agreement(made, given)

        assert said in str(caught.value)

    def test_an_expectation_whose_trials_do_not_meet_anything_cannot_be_labelled(self) -> None:
        made = requirement("a", [True])
        made["verdicts"][0]["chart"] = None

        with pytest.raises(DefinitionError, match="that its trials meet or not"):
            agreement(run(made), labels([True], expectation="a"))

    def test_ratings_need_a_result_that_knows_its_cuts(self) -> None:
        with pytest.raises(DefinitionError, match="which ratings are good"):
            agreement(run(requirement("a", [True], cut=None)), labels([7.0]))

    def test_labels_of_another_run_are_refused_with_their_line(self, tmp_path: Path) -> None:
        path = tmp_path / "labels.csv"
        path.write_text("scenario,index,label,run\ns,0,pass,\ns,1,pass,run-1\ns,2,pass,run-2\n")

        with pytest.raises(DefinitionError) as caught:
            agreement(run(requirement("a", [True] * 3)), path)

        assert f"{path}, line 4, run: the label is of run 'run-2', the result of run 'run-1'" in str(caught.value)
        assert "give the result of the run that was labelled" in str(caught.value)

    def test_a_sample_that_was_drawn_is_taken_by_its_own_run_only(self, tmp_path: Path) -> None:
        made = run(requirement("a", [True] * 3))
        rows, _ = draw_sample(load_run(made), 3, seed=1)
        write_sample([[*row[:4], "pass", *row[5:]] for row in rows], tmp_path / "labels.csv")

        assert agreement(made, tmp_path / "labels.csv").entries[0].labelled == 3
        with pytest.raises(DefinitionError, match=r"labels\.csv, line 2, run: "):
            agreement({**made, "run_id": "run-2"}, tmp_path / "labels.csv")

    @pytest.mark.parametrize("alpha", [0, 0.5, 1.0])
    def test_a_level_that_is_none_is_refused(self, alpha: float) -> None:
        with pytest.raises(DefinitionError, match="alpha"):
            agreement(run(requirement("a", [True])), labels([True]), alpha=alpha)


class TestReport:
    def test_it_says_that_the_labels_must_be_a_random_subset(self) -> None:
        report = agreement(run(requirement("a", PASSES)), labels(PEOPLE))

        assert "random subset of these very conversations" in " ".join(str(report).split())
        assert "judge judge/a against one person" in str(report)
        assert "too narrow with fewer than 50" in str(report)

    def test_its_json_is_strict_and_has_everything(self) -> None:
        report = agreement(run(requirement("a", [True] * 5)), labels([True] * 5))

        found = json.loads(json.dumps(encode_agreement(report), allow_nan=False))

        (entry,) = found["entries"]
        assert set(found) >= {"simeval", "run_id", "judge", "judge_repeats", "raters", "entries", "overall"}
        assert set(entry) >= {"confusion", "kappa", "alpha", "trust", "rate", "exact", "conditions"}
        assert entry["kappa"]["estimate"] is None
        assert entry["rate"]["judge_rate"] == 1.0

    def test_a_result_of_the_engine_is_taken_as_it_is(self) -> None:
        found = rated(9.0, 3.0, 8.0, title="s", label="a")
        (expectation,) = found.expectations
        chart = Chart(n_max=3, stop="never", met=(True, False, True))
        verdicts = tuple(replace(verdict, chart=chart) for verdict in expectation.verdicts)
        judged = replace(found, expectations=(replace(expectation, verdicts=verdicts),))
        given = labels([8.0, 2.0, 3.0])

        alone = agreement(judged, given)

        assert alone.entries[0].confusion.false_pass == 1
        assert alone.judge == "offline/judge"
        assert agreement(SuiteResult((judged,), RUN), given) == alone


@pytest.mark.parametrize(
    "evaluator",
    [
        SuccessRateEvaluator(min_proportion=0.9),
        RatingProportionEvaluator(8, 0.9),
        RatingAverageEvaluator(7.5),
        ProportionEvaluator(3, 0.5),
        ProportionEvaluator(3, 0.5, at_least=False),
        ProportionEvaluator(3, max_proportion=0.5),
        ProportionEvaluator(3, max_proportion=0.5, at_least=False),
        QuantileEvaluator(at_least=4),
        QuantileEvaluator(at_most=4),
        MeanEvaluator(at_least=4, bounds=(1, 10)),
        MeanEvaluator(at_most=4, bounds=(1, 10)),
    ],
    ids=repr,
)
def test_the_cut_that_is_written_is_where_the_evaluator_begins_to_be_met(evaluator: Any) -> None:
    sign, score = evaluator.cut
    cut = Cut(sign=sign, score=score)

    assert all(cut.holds(half / 2) == evaluator.meets(half / 2) for half in range(2, 21))
