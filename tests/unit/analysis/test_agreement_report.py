"""A run's judge held against people's labels."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from simeval import agreement
from simeval.analysis.agreement_report import encode_agreement
from simeval.core.terminal import LINE
from simeval.core.trial import Chart
from simeval.results.suite import SuiteResult
from simeval.stats.agreement import cohen_kappa, krippendorff_alpha
from simeval.stats.binomial import clopper_pearson
from simeval.stats.calibration import CONDITIONS, corrected_rate
from tests.support.labels import PASSES, PEOPLE, labels, only_entry, run
from tests.support.records import RUN, rated
from tests.support.stored_runs import SUCCESS, requirement, run_of, scenario_of


class TestOnOneExpectation:
    def test_the_table_counts_what_judge_and_people_say(self) -> None:
        table = only_entry(run(requirement("a", PASSES)), labels(PEOPLE)).confusion

        assert (table.true_pass, table.false_pass, table.false_fail, table.true_fail) == (10, 2, 1, 7)
        assert (table.sensitivity.value, table.specificity.value) == (10 / 11, 7 / 9)
        assert (table.sensitivity.low, table.sensitivity.high) == clopper_pearson(10, 11, 0.05)

    def test_the_coefficients_are_those_of_the_labels(self) -> None:
        found = only_entry(run(requirement("a", PASSES)), labels(PEOPLE))

        assert found.kappa.estimate == cohen_kappa(PEOPLE, PASSES).value
        assert found.alpha.estimate == krippendorff_alpha([PEOPLE, PASSES]).value
        assert found.kappa.low < found.kappa.estimate < found.kappa.high
        assert found.weighted_kappa is None
        assert found.alpha_of_people is None

    def test_the_corrected_rate_is_that_of_all_trials_and_the_labels_there_are(self) -> None:
        people = [*PEOPLE[:5], *[None] * 15]

        found = only_entry(run(requirement("a", PASSES)), labels(people), alpha=0.1)

        assert found.rate == corrected_rate(people, PASSES, alpha=0.1)
        assert (found.rate.judge_rate, found.labelled, found.trials) == (0.6, 5, 20)

    def test_with_many_labels_the_rate_is_that_of_the_labels_and_exact(self) -> None:
        judge, people = PASSES * 6, [*PEOPLE * 3, *[None] * 60]

        found = only_entry(run(requirement("a", judge)), labels(people))

        assert found.exact
        assert found.rate.estimate == sum(PEOPLE) / len(PEOPLE)
        assert "human labels only (Clopper-Pearson)" in " ".join(str(found).split())

    def test_ratings_are_held_against_the_evaluators_cut(self) -> None:
        scores = [9.0, 8.0, 4.0, 6.0]
        made = requirement("a", [True, True, False, True], scores=scores)

        found = only_entry(run(made), labels([7.0, 5.5, 5.0, 6.0]))

        assert (found.confusion.true_pass, found.confusion.false_pass, found.confusion.true_fail) == (2, 1, 1)
        assert found.weighted_kappa is not None
        assert found.weighted_kappa.estimate == cohen_kappa([7, 5.5, 5, 6], scores, weights="quadratic").value
        assert found.alpha.estimate == krippendorff_alpha([[7, 5.5, 5, 6], scores], level="ordinal").value

    def test_a_crash_of_the_app_counts_in_the_rate_and_not_for_the_judge(self) -> None:
        made = requirement("a", [True, False, False], scores=[9.0, 3.0, None])

        found = only_entry(run(made), labels([True, False, False]))

        assert (found.confusion.true_fail, found.rate.n_judged, found.rate.human_rate) == (1, 3, 1 / 3)
        assert found.alpha.n_clusters == 2

    def test_a_label_of_a_trial_without_an_outcome_is_not_used_and_counted(self) -> None:
        made = requirement("a", [True, None, False, True], excluded=[1])

        found = only_entry(run(made), labels([True, True, True, False, True]))

        assert (found.trials, found.labelled, found.unused) == (3, 3, 2)
        assert "3 of 3 conversations are labelled, 2 labelled trials have no outcome here" in str(found)

    def test_the_rate_of_a_run_that_could_stop_early_is_not_exact(self) -> None:
        fixed, sequential = (
            only_entry(run(requirement("a", PASSES, stop=stop)), labels(PEOPLE)) for stop in ("never", "gate")
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

        found = only_entry(run(requirement("a", [True, True, False])), given)

        assert (found.confusion.true_pass, found.confusion.false_pass, found.ties, found.labelled) == (1, 1, 1, 3)
        assert found.rate.n_labelled == 2
        assert "on 1 of them people are split evenly" in str(found)

    def test_alpha_holds_each_person_against_the_judge_and_people_against_each_other(self) -> None:
        ada, bob = [9.0, 3.0, 7.0, 2.0], [8.0, 3.0, 5.0, 4.0]
        judge = [9.0, 2.0, 9.0, 2.0]

        found = only_entry(
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

        assert only_entry(made, labels([True])).expectation == "a"
        assert only_entry(made, labels([True], expectation="latency")).expectation == "latency"

    def test_the_file_names_what_it_is_about(self, tmp_path: Path) -> None:
        made = run(requirement("a", [True]), requirement("b", [False]))
        (tmp_path / "result.json").write_text(json.dumps(made))
        (tmp_path / "labels.csv").write_text("scenario,index,expectation,label\ns,0,b,pass\n")

        report = agreement(tmp_path / "result.json", str(tmp_path / "labels.csv"))

        assert [(entry.expectation, entry.confusion.false_fail) for entry in report.entries] == [("b", 1)]


class TestReport:
    def test_it_says_that_the_labels_must_be_a_random_subset(self) -> None:
        report = agreement(run(requirement("a", PASSES)), labels(PEOPLE))

        assert "random subset of these very conversations" in " ".join(str(report).split())
        assert "judge judge/a against one person" in str(report)
        assert "too narrow with fewer than 50" in " ".join(str(report).split())
        assert max(map(len, str(report).splitlines())) <= LINE

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
