"""How far a judge is trusted on the labels there are."""

from math import isnan

import pytest

from simeval import agreement
from simeval.analysis.agreement_report import trust_in
from simeval.stats.agreement import BootstrapInterval
from tests.support.labels import PASSES, labels, only_entry, run
from tests.support.stored_runs import requirement


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

        assert "alpha 1.00 [1.00, 1.00]: usable" in str(only_entry(made, labels(PASSES * 3)))
        assert "DO NOT TRUST this judge" in str(only_entry(made, labels([not passed for passed in PASSES * 3])))

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

        found = only_entry(run(made), labels(people))

        assert found.alpha_at_cut is not None
        assert found.alpha.estimate > 0.8 > 0.5 > found.alpha_at_cut.estimate
        assert found.trust == "do not trust"
        assert "(below .667); of the ratings (ordinal) .8" in " ".join(str(found).split())

    def test_ratings_in_another_order_on_the_same_sides_of_the_bar_are_usable(self) -> None:
        people, judge = [9.0, 7.0, 2.0, 4.0] * 15, [7.0, 9.0, 4.0, 2.0] * 15

        found = only_entry(run(requirement("a", [True, True, False, False] * 15, scores=judge)), labels(people))

        assert found.alpha.estimate < 0.667
        assert found.trust == "usable"
        assert "alpha at the bar 1.00 [1.00, 1.00]: usable; of the ratings (ordinal)" in " ".join(str(found).split())

    def test_labels_that_all_say_the_same_tell_nothing(self) -> None:
        found = only_entry(run(requirement("a", [True] * 50)), labels([True] * 50))

        assert (found.trust, isnan(found.kappa.estimate)) == ("unknown", True)
        assert "undefined: cannot be told" in str(found)
        assert "specificity - [0%, 100%]" in str(found)

    def test_labels_only_where_there_is_no_outcome_leave_everything_open(self) -> None:
        found = only_entry(run(requirement("a", [True, None])), labels([None, True]))

        assert (found.trust, found.labelled, found.rate.lower, found.rate.upper) == ("too few labels", 0, 0.0, 1.0)
        assert "people would find - [0%, 100%]" in " ".join(str(found).split())
