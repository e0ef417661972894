"""Where people and a judge say different things."""

from simeval.analysis.agreement_report import disagreements, show_disagreements
from simeval.analysis.labels import Label
from simeval.analysis.saved_run import read_suite
from tests.support.stored_runs import requirement, run_of, scenario_of

RUN = read_suite(run_of(scenario_of("s", requirement("helps", [True, False, None, True]))), "run")


def label(index: int, value: bool | float, rater: str = "ann") -> Label:
    return Label(scenario="s", index=index, value=value, expectation="helps", rater=rater)


def test_a_disagreement_reveals_what_the_judge_said_and_why() -> None:
    found = disagreements(RUN, [label(0, False), label(1, False), label(2, True), label(3, True)])

    assert [str(each) for each in found] == ["s, trial 0: ann says fail, the judge pass with 9: because"]


def test_ratings_are_held_against_the_bar_of_the_judge() -> None:
    found = disagreements(RUN, [label(0, 6.0), label(0, 5.5, rater="bob"), label(1, 6.0)])

    assert [(each.rater, each.index, each.passes) for each in found] == [("bob", 0, False), ("ann", 1, True)]


def test_many_are_counted_and_none_is_said() -> None:
    many = disagreements(RUN, [label(0, False, rater=str(n)) for n in range(25)])

    assert show_disagreements(many).startswith("people and the judge disagree on 25:")
    assert show_disagreements(many).endswith("… and 5 more")
    assert show_disagreements([]) == "people and the judge agree on every label"
