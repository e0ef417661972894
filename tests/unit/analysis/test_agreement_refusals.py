"""Labels, runs and levels with which no judge can be held against people."""

from pathlib import Path

import pytest

from simeval import agreement
from simeval.analysis.judge_agreement import load_run
from simeval.analysis.labels import Label, draw_sample, write_sample
from simeval.errors import DefinitionError
from tests.support.labels import labels, run
from tests.support.stored_runs import requirement, run_of, scenario_of


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
                "labels: both ratings (label 0) and passes or failures (label 1); give labels of one kind",
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
