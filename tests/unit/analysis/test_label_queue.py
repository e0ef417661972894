"""The queue of trials that people label: what comes, what is kept, what is shown of it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import pytest

from simeval.analysis.judge_agreement import people_labels
from simeval.analysis.label_queue import LabelItem, LabelQueue, label_items, until_look
from simeval.analysis.labels import Label, labels_of
from simeval.analysis.saved_run import read_suite
from simeval.core.feedback import Feedback
from simeval.core.serialization import plain
from simeval.errors import DefinitionError
from tests.support.stored_runs import requirement, run_of, scenario_of

RUN = run_of(
    scenario_of("s", requirement("helps", [True] * 30 + [False] * 10, reason="SECRET REASON")),
    scenario_of("t", requirement("helps", [True] * 10), requirement("is kind", [True] * 10)),
)


@dataclass(slots=True)
class Book:
    """Keeps labels as a store does."""

    kept: dict[str, Feedback] = field(default_factory=dict)

    def add(self, feedback: Feedback) -> None:
        self.kept[feedback.feedback_id] = feedback

    def remove(self, feedback_id: str) -> None:
        del self.kept[feedback_id]


def items(size: int = 8, **options: Any) -> list[LabelItem]:
    return label_items(read_suite(RUN, "run"), {}, **{"label": "helps", "size": size, **options})


def queue(book: Book, *, rater: str = "ann", size: int = 8, overlap: int | None = None) -> LabelQueue:
    """Return the queue of a person who sits down now."""
    return LabelQueue(items(size), book, rater=rater, given=list(book.kept.values()), overlap=overlap)


def keys(found: Sequence[LabelItem]) -> list[tuple[str, int]]:
    return [item.key for item in found]


def test_a_sample_is_fixed_by_the_run_and_a_larger_one_begins_with_it() -> None:
    assert keys(items(8)) == keys(items(8))
    assert keys(items(20))[:8] == keys(items(8))
    assert keys(items(8, seed=1)) != keys(items(8))
    assert len(set(keys(items(500)))) == 50


def test_every_trial_is_drawn_with_the_probability_that_its_label_keeps() -> None:
    book = Book()
    person = queue(book)

    person.label(True)

    [kept] = book.kept.values()
    assert kept.inclusion == 8 / 50
    assert (kept.key, kept.source, kept.labeller, kept.score) == ("helps", "ann", "person", True)


def test_nothing_of_what_the_judge_said_is_in_what_is_shown() -> None:
    shown = str(plain([asdict(item) for item in items(50)]))

    assert "SECRET REASON" not in shown
    assert "score" not in shown
    assert "question 3" in shown


def test_labels_and_skips_are_kept_one_by_one_and_a_queue_that_was_left_goes_on() -> None:
    book = Book()
    first = queue(book)
    first.label(True)
    first.skip("too short")

    second = queue(book)

    assert (second.labelled, second.skipped, second.left) == (1, 1, 6)
    assert second.current is not None
    assert second.current.key == keys(items())[2]
    assert [each.comment for each in book.kept.values()] == ["", "too short"]


def test_undo_takes_back_the_last_label_also_of_an_earlier_sitting() -> None:
    book = Book()
    first = queue(book)
    first.label(True)
    first.label(False)

    second = queue(book)
    taken = second.undo()

    assert taken is not None
    assert second.current is taken
    assert taken.key == keys(items())[1]
    assert len(book.kept) == 1
    assert second.undo() is not None
    assert second.undo() is None


def test_by_default_everybody_labels_all_and_with_an_overlap_no_more_than_so_many() -> None:
    book = Book()
    ann = queue(book)
    while ann.left > 2:
        ann.label(True)

    everybody, shared, twice = (queue(book, rater="bob", overlap=overlap) for overlap in (None, 1, 2))

    assert (everybody.left, shared.left, twice.left) == (8, 2, 8)


def test_what_others_skipped_and_what_a_model_said_takes_no_place() -> None:
    book = Book()
    queue(book).skip("unclear")
    item = items()[1]
    of: dict[str, Any] = {"run_id": item.run_id, "scenario": item.scenario, "trial": item.index, "key": "helps"}
    book.add(Feedback(score=True, source="gpt", labeller="model", **of))

    assert queue(book, rater="bob", overlap=1).left == 8


def test_a_queue_that_is_done_has_nothing_more_to_label() -> None:
    person = queue(Book(), size=1)
    person.label(7.0)

    assert person.current is None
    with pytest.raises(DefinitionError, match="all trials are labelled"):
        person.label(True)


@pytest.mark.parametrize(
    ("label", "said"),
    [(None, "the run has 2 judged expectations; name one of 'helps', 'is kind'"), ("help", "there is no expectation")],
)
def test_the_expectation_must_be_one_of_the_run(label: str | None, said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        items(label=label)


def test_a_skip_needs_a_reason_and_a_label_a_person() -> None:
    with pytest.raises(DefinitionError, match="say why"):
        queue(Book()).skip("  ")
    with pytest.raises(DefinitionError, match="say who labels"):
        queue(Book(), rater="")


def test_only_what_people_said_counts_as_their_labels() -> None:
    of: dict[str, Any] = {"key": "helps", "run_id": "r", "scenario": "s", "trial": 3}
    found = labels_of(
        [
            Feedback(score=True, source="ann", labeller="person", **of),
            Feedback(score=True, source="gpt", labeller="model", **of),
            Feedback(score=True, source="checker", labeller="program", **of),
            Feedback(score=True, source="somebody", **of),
            Feedback(comment="unclear", source="bob", labeller="person", **of),
        ]
    )

    assert [(label.rater, label.value, label.index, label.run) for label in found] == [("ann", True, 3, "r")]


@pytest.mark.parametrize(
    ("scores", "drawn", "read"),
    [
        ([1, 1.0, 0], None, [True, True, False]),
        ([1, 1], None, [True, True]),
        ([1, 9], None, [1, 9]),
        ([1, 1], 0.5, [1, 1]),
        ([True, False], 0.5, [True, False]),
    ],
)
def test_ones_and_zeros_are_passes_and_failures_as_in_a_file(
    scores: list[float], drawn: float | None, read: list[float]
) -> None:
    of: dict[str, Any] = {"key": "helps", "run_id": "r", "scenario": "s", "labeller": "person", "inclusion": drawn}
    other = Feedback(score=7, trial=9, **{**of, "key": "another"})
    found = labels_of(
        [*(Feedback(score=score, trial=trial, **of) for trial, score in enumerate(scores)), other], "helps"
    )

    assert [repr(label.value) for label in found] == [repr(value) for value in read]


def test_ratings_under_one_expectation_leave_the_queues_of_others_alone() -> None:
    by_people = requirement("helps", [True] * 40)
    by_people["verdicts"][0]["by_people"] = {"labels": 40, "share": 0.8, "looks": 3}
    run = read_suite(run_of(scenario_of("s", by_people, requirement("is kind", [True] * 40))), "run")
    found = label_items(run, {}, label="helps", size=8)
    rated = [Label(scenario="s", index=1, value=7.0, expectation="is kind", rater="ann", run=run.run_id)]
    said = [replace(rated[0], value=True, expectation="helps")]

    labels = people_labels(run, [*rated, *said])

    assert labels == {("s", "helps"): {1: True}}
    assert keys(until_look(found, run, labels)) == keys(found)[:20]
