"""The plan of labels for a requirement on the rate of people: the judge's errors it goes by."""

from simeval.analysis.people_standard import dealt_trials, label_plan
from simeval.analysis.saved_run import read_suite
from tests.support.stored_runs import requirement, run_of, scenario_of


def test_a_plan_learns_the_errors_of_a_judge_from_few_labels_if_no_more_of_a_kind_are_dealt() -> None:
    met = [index >= 4 for index in range(60)]
    by_people = requirement("helps", met)
    by_people["verdicts"][0]["by_people"] = {"labels": 30, "share": 0.8, "looks": 1}
    run = read_suite(run_of(scenario_of("s", by_people)), "run")
    said = {index: met[index] for _, index in dealt_trials(run, "helps")}

    before, after = (" ".join(label_plan(run, {("s", "helps"): labels}).split()) for labels in ({}, said))

    assert sum(not is_met for is_met in said.values()) < 10
    assert "these errors are a guess, until there are labels for 10 of those it calls good and" in before
    assert "by these labels it is right in" in after
