"""Classification of a whole dataset: measures, intervals, and what is missing."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from simeval.core.trial import Estimate, Failure, Scored
from simeval.errors import DefinitionError
from simeval.scorers.text.classification import Classification
from simeval.stats.binomial import clopper_pearson
from simeval.stats.clusters import korn_graubard

Answer = tuple[object, object]
APP = Failure(stage="app", error="the app failed at turn 1: boom", cause="app")
JUDGE = Failure(stage="scorer", error="TypeError: boom", cause="TypeError")
SPAM = Classification(labels=["spam", "ham"], positive="spam")
COUNTS = {("spam", "spam"): 8, ("ham", "spam"): 2, ("ham", "ham"): 9, ("spam", "ham"): 1}
MAIL: list[Answer] = [answer for answer, times in COUNTS.items() for _ in range(times)]


def scored(scorer: Classification, answers: Sequence[Answer], *, repetitions: int = 1) -> list[Scored]:
    return [
        Scored(example=at // repetitions, columns={"reference": answer[1]}, measured=scorer.score(*answer))
        for at, answer in enumerate(answers)
    ]


def values(found: dict[str, Estimate] | object) -> dict[str, float | None]:
    assert isinstance(found, dict)
    return {name: estimate.value for name, estimate in found.items()}


def test_an_answer_is_correct_where_it_names_the_class_of_the_reference() -> None:
    assert SPAM.score(" spam\n", "spam") == {"correct": True, "predicted": "spam", "actual": "spam"}
    assert SPAM.score("It is spam.", "spam") == {"correct": False, "predicted": "It is spam.", "actual": "spam"}
    assert SPAM.score("SPAM", "spam")["correct"] is False
    assert replace(SPAM, ignore_case=True).score("Spam", "SPAM") == {
        "correct": True,
        "predicted": "spam",
        "actual": "spam",
    }


@pytest.mark.parametrize("output", ["", None, {"label": "spam"}, "spam" * 300_000])
def test_an_answer_that_is_no_label_is_wrong(output: object) -> None:
    found = SPAM.score(output, "spam")

    assert found["correct"] is False
    assert len(str(found["predicted"])) <= 200


@pytest.mark.parametrize("reference", [None, "", "eggs", 3])
def test_a_reference_that_is_no_label_is_an_error(reference: object) -> None:
    with pytest.raises(DefinitionError, match=r"scorer Classification: (no|the) reference"):
        SPAM.score("spam", reference)


def test_shares_have_exact_intervals_with_the_n_they_rest_on() -> None:
    found = SPAM.summarize(scored(SPAM, MAIL))

    assert found["accuracy"].value == 17 / 20
    assert found["accuracy"].interval == clopper_pearson(17, 20, 0.05)
    precision, recall = found["class.spam.precision"], found["class.spam.recall"]
    assert (precision.value, precision.n, precision.interval) == (8 / 9, 9, clopper_pearson(8, 9, 0.05))
    assert (recall.value, recall.n, recall.interval) == (8 / 10, 10, clopper_pearson(8, 10, 0.05))
    assert precision.method == "Clopper-Pearson, 90%"


def test_the_level_that_is_told_is_that_of_the_interval() -> None:
    found = SPAM.summarize(scored(SPAM, MAIL), alpha=0.001)["accuracy"]

    assert (found.interval, found.method) == (clopper_pearson(17, 20, 0.001), "Clopper-Pearson, 99.8%")


def test_the_positive_class_has_its_measures_under_short_names() -> None:
    found = SPAM.summarize(scored(SPAM, MAIL))

    assert list(found)[:4] == ["accuracy", "precision", "recall", "f1"]
    assert all(found[name] == found[f"class.spam.{name}"] for name in ("precision", "recall", "f1"))
    assert "precision" not in Classification().summarize(scored(SPAM, MAIL))


def test_f1_and_averages_have_bootstrap_intervals_around_them() -> None:
    found = SPAM.summarize(scored(SPAM, MAIL))

    for name in ("class.spam.f1", "micro.f1", "macro.f1", "macro.precision", "weighted.recall"):
        value, interval = found[name].value, found[name].interval
        assert value is not None
        assert interval is not None
        assert 0 < interval[0] < value < interval[1] <= 1
    assert found["class.spam.f1"].value == pytest.approx(16 / 19)
    assert found["class.spam.f1"].n == 11
    assert found["macro.f1"].method == "bootstrap over 20 examples, 1999 draws, 90%"


def test_repeated_examples_are_clusters() -> None:
    answers = [answer for answer in MAIL for _ in range(3)]

    once, thrice = SPAM.summarize(scored(SPAM, MAIL)), SPAM.summarize(scored(SPAM, answers, repetitions=3))

    expected = korn_graubard([3.0 * (output == right) for output, right in MAIL], [3] * 20, alpha=0.05)
    assert thrice["accuracy"].interval == (expected.low, expected.high)
    assert thrice["accuracy"].n == 60
    assert thrice["accuracy"].method == "Korn-Graubard over 20 examples, 90%"
    assert thrice["class.spam.precision"].method == "Korn-Graubard over 9 examples, 90%"
    assert thrice["macro.f1"].interval == once["macro.f1"].interval


def test_an_answer_of_no_class_lowers_recall_and_nobodys_precision() -> None:
    without, with_one = MAIL, [*MAIL, ("no idea", "spam")]

    before, after = (values(SPAM.summarize(scored(SPAM, answers))) for answers in (without, with_one))

    assert after["accuracy"] == 17 / 21
    assert after["recall"] == 8 / 11
    assert after["precision"] == before["precision"] == 8 / 9
    assert after["micro.precision"] == 17 / 20


def test_an_app_that_failed_gave_a_wrong_answer_of_no_class() -> None:
    failed = Scored(example=20, columns={"reference": "spam"}, failure=APP)

    found = SPAM.summarize([*scored(SPAM, MAIL), failed])

    assert values(found) == values(SPAM.summarize(scored(SPAM, [*MAIL, ("", "spam")])))
    assert found["accuracy"].n == 21
    assert "missing" not in found["accuracy"].method


def test_the_label_of_a_failed_app_is_that_of_its_parameter_whatever_its_column_is_called() -> None:
    mapped = replace(SPAM, column_map={"reference": "expected.label"})
    columns = mapped.chosen({"expected": {"label": "ham"}, "output": "x", "reference": "spam"})
    failed = Scored(example=20, columns=columns, failure=APP)

    assert mapped.summarize([*scored(SPAM, MAIL), failed])["class.ham.recall"].value == 9 / 11


def test_a_scorer_that_failed_is_missing_and_said() -> None:
    broken = Scored(example=20, columns={"reference": "spam"}, failure=JUDGE)
    nameless = Scored(example=21, columns={"reference": "eggs"}, failure=APP)

    found = SPAM.summarize([*scored(SPAM, MAIL), broken, nameless])

    assert values(found) == values(SPAM.summarize(scored(SPAM, MAIL)))
    assert found["accuracy"].method == "Clopper-Pearson, 90%; 2 of 22 answers missing"
    assert all("2 of 22 answers missing" in estimate.method for estimate in found.values())


def test_where_all_is_missing_there_is_no_estimate() -> None:
    found = SPAM.summarize([Scored(example=0, columns={}, failure=JUDGE)])

    assert found == {"accuracy": Estimate(value=None, n=0, method="undefined: 0 of 0; 1 of 1 answers missing")}


def test_0_of_0_is_none_and_so_is_a_mean_over_it() -> None:
    found = SPAM.summarize(scored(SPAM, [("ham", "ham"), ("ham", "spam"), ("", "ham")]))

    assert found["precision"] == Estimate(value=None, n=0, method="undefined: 0 of 0")
    assert found["recall"].value == 0
    assert found["f1"].value == 0
    assert found["macro.precision"].value is found["weighted.precision"].value is None
    assert found["macro.precision"].interval is None
    assert found["macro.recall"].value == 0.25


def test_where_no_draw_differs_there_is_no_bootstrap_interval() -> None:
    found = SPAM.summarize(scored(SPAM, [("ham", "ham"), ("spam", "spam")] * 20))

    assert found["macro.f1"] == Estimate(value=1.0, n=40, method="no interval: no draw differs")
    assert found["accuracy"].interval == clopper_pearson(40, 40, 0.05)


def test_without_labels_the_classes_are_those_of_the_references() -> None:
    found = values(Classification().summarize(scored(Classification(), [("Käse", "Käse"), ("?", "魚"), (1, 1)])))

    assert [name for name in found if name.endswith(".recall")][3:] == [
        "class.1.recall",
        "class.Käse.recall",
        "class.魚.recall",
    ]


def test_the_seed_decides_the_draws() -> None:
    many = MAIL * 10

    first, again, other = (replace(SPAM, seed=seed).summarize(scored(SPAM, many)) for seed in (1, 1, 2))

    assert first == again
    assert first["macro.f1"].interval != other["macro.f1"].interval


def test_ten_thousand_examples_of_many_classes_are_summed_up() -> None:
    labels, choose = [f"intent {each}" for each in range(77)], random.Random(1)
    rights = [choose.choice(labels) for _ in range(10_000)]
    answers: list[Answer] = [(each if choose.random() < 0.8 else choose.choice(labels), each) for each in rights]
    scorer = Classification(labels=labels)

    found = scorer.summarize(scored(scorer, answers))

    assert len(found) == 1 + 3 * 3 + 3 * 77
    macro = found["macro.f1"]
    assert macro.value == pytest.approx(0.8, abs=0.02)
    assert macro.interval is not None
    assert macro.interval[1] - macro.interval[0] == pytest.approx(0.016, abs=0.003)


@pytest.mark.parametrize(
    ("labels", "positive", "where"),
    [
        ("spam", None, "Classification.labels: found 'spam'"),
        ([], None, r"Classification.labels: found \[\]"),
        (["a", "a "], None, "give a list of different labels"),
        (["a", ""], None, "give a list of different labels"),
        (["a", "b"], "c", "Classification.positive: found 'c'; give one of the labels"),
    ],
)
def test_labels_that_cannot_be_used_are_refused_when_the_scorer_is_made(
    labels: Sequence[object], positive: object, where: str
) -> None:
    with pytest.raises(DefinitionError, match=where):
        Classification(labels=labels, positive=positive)


LENIENT = replace(SPAM, ignore_case=True, lenient=True)


@pytest.mark.parametrize(
    "output",
    [
        "spam.",
        "**spam**",
        "Label: spam",
        "**Label:** Spam.",
        "The label: `spam`",
        '"spam"',
        "## spam\n",
        "class = spam",
    ],
)
def test_a_label_may_be_marked_up_or_named_where_that_is_wanted(output: str) -> None:
    assert LENIENT.score(output, "spam")["correct"] is True
    assert replace(LENIENT, labels=None, positive=None).score(output, "spam")["correct"] is True
    assert replace(LENIENT, lenient=False).score(output, "spam")["correct"] is False


@pytest.mark.parametrize("output", ["not spam", "spam or ham", "It is spam.", "", None, "Label: eggs", "spam: no"])
def test_a_sentence_that_has_a_label_in_it_is_none(output: object) -> None:
    assert LENIENT.score(output, "spam")["correct"] is False


def test_a_label_of_marks_is_found_as_it_stands() -> None:
    faces = Classification(labels=[":)", ":("], lenient=True)

    assert faces.score(":)", ":)")["correct"] is True
    assert faces.score(":(", ":)")["correct"] is False
