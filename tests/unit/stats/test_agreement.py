"""Agreement of a judge with people, and of raters with each other."""

from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.stats.agreement import bootstrap_by_cluster, cohen_kappa, confusion, krippendorff_alpha
from simeval.stats.binomial import clopper_pearson
from tests.support.golden import cases_of, rows_of

Weights = Literal["none", "linear", "quadratic"]
WEIGHTS: list[Weights] = ["none", "linear", "quadratic"]
LEVELS: list[Literal["nominal", "ordinal", "interval"]] = ["nominal", "ordinal", "interval"]
PAIRS = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=40)
LABELS = st.lists(st.tuples(st.sampled_from([True, False, None]), st.sampled_from([True, False, None])), max_size=40)
TABLES = st.lists(
    st.lists(st.one_of(st.none(), st.integers(1, 4)), min_size=3, max_size=3), min_size=1, max_size=15
)  # a row for each unit


def by_rater(units: list[list[int | None]]) -> list[list[int | None]]:
    longest = max(map(len, units))
    padded = [unit + [None] * (longest - len(unit)) for unit in units]
    return [list(rater) for rater in zip(*padded, strict=True)]


@pytest.mark.parametrize("case", cases_of("cohen_kappa"))
def test_kappa_equals_the_reference(case: dict[str, Any]) -> None:
    given = case["inputs"]
    levels = tuple(given["levels"]) if given.get("levels") else None

    found = cohen_kappa(given["human"], given["judge"], weights=given["weights"], levels=levels)

    assert found.value == pytest.approx(case["expected"]["kappa"], abs=case["tolerance"])


@pytest.mark.parametrize("case", cases_of("krippendorff_alpha"))
def test_alpha_equals_the_reference(case: dict[str, Any]) -> None:
    given = case["inputs"]

    found = krippendorff_alpha(given["ratings_by_rater"], level=given["level"])

    assert found.value == pytest.approx(case["expected"]["alpha"], abs=case["tolerance"])


def test_alpha_of_krippendorffs_example_is_the_published_one() -> None:
    # K. Krippendorff (2011), example C: nominal .743, ordinal .815, interval .849; unit 12 has a single rating
    ratings = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]

    found = [krippendorff_alpha(ratings, level=level) for level in LEVELS]

    assert [round(each.value, 3) for each in found] == [0.743, 0.815, 0.849]
    assert {(each.n, each.left_out) for each in found} == {(11, 1)}


@pytest.mark.parametrize(
    ("weights", "kappa"),
    # statsmodels 0.15: inter_rater.cohens_kappa([[20, 5, 1], [3, 15, 4], [0, 6, 12]], wt=None, "linear", "quadratic")
    [("none", 0.5645833333333334), ("linear", 0.6466809421841542), ("quadratic", 0.7334801762114538)],
)
def test_kappa_of_a_table_of_three_levels(weights: Weights, kappa: float) -> None:
    table = np.array([[20, 5, 1], [3, 15, 4], [0, 6, 12]])
    human = np.repeat(np.repeat([0, 1, 2], 3), table.ravel())
    judge = np.repeat(np.tile([0, 1, 2], 3), table.ravel())

    assert cohen_kappa(human, judge, weights=weights).value == pytest.approx(kappa, abs=1e-12)


def test_judges_of_summaries_agree_with_people_as_recorded() -> None:
    insights = [insight for row in rows_of("public_summhay") for insight in row["insights"]]
    human = [insight["human"] for insight in insights]
    judge = [insight["judges"]["prompted_gpt-4o"] for insight in insights]

    # public_reference_numbers.json: summhay, prompted_gpt-4o
    assert round(cohen_kappa(human, judge).value, 4) == 0.5340
    assert round(cohen_kappa(human, judge, weights="quadratic").value, 4) == 0.7275
    assert round(float(np.mean(np.equal(human, judge))), 4) == 0.6877


def test_people_who_compare_answers_agree_as_recorded() -> None:
    one, two, three = zip(*(row["human"] for row in rows_of("public_pandalm")), strict=True)

    found = [cohen_kappa(*pair).value for pair in ((one, two), (one, three), (two, three))]

    # public_reference_numbers.json: pandalm, human_kappa
    assert [round(each, 4) for each in found] == [0.8459, 0.8550, 0.8681]


def test_people_who_rate_dialogues_agree_as_recorded() -> None:
    rows = rows_of("public_fed_dialogs")
    human, gpt4 = by_rater([row["human"]["Overall"] for row in rows]), by_rater([row["gpt4"]["ovr"] for row in rows])

    # public_reference_numbers.json: fed_dialogs
    assert round(krippendorff_alpha(human, level="interval").value, 4) == 0.3766
    assert round(krippendorff_alpha(human, level="ordinal").value, 4) == 0.3482
    assert round(krippendorff_alpha(gpt4, level="interval").value, 4) == 0.7553


@given(PAIRS)
def test_kappa_is_the_same_with_the_raters_swapped(pairs: list[tuple[int, int]]) -> None:
    human, judge = zip(*pairs, strict=True)

    for weights in WEIGHTS:
        one, other = cohen_kappa(human, judge, weights=weights), cohen_kappa(judge, human, weights=weights)
        assert one.value == pytest.approx(other.value, nan_ok=True)


@given(PAIRS)
def test_kappa_is_at_most_1_and_1_for_a_rater_with_itself(pairs: list[tuple[int, int]]) -> None:
    human, judge = zip(*pairs, strict=True)

    for weights in WEIGHTS:
        found, same = cohen_kappa(human, judge, weights=weights).value, cohen_kappa(human, human, weights=weights).value
        assert np.isnan(found) or -1 - 1e-9 <= found <= 1
        assert (same == 1.0) if len(set(human)) > 1 else np.isnan(same)


@given(PAIRS, st.integers(1, 9), st.integers(-5, 5))
def test_kappa_does_not_change_with_the_unit_of_the_scale(pairs: list[tuple[int, int]], unit: int, start: int) -> None:
    human, judge = (np.array(ratings) for ratings in zip(*pairs, strict=True))

    for weights in WEIGHTS:
        found = cohen_kappa(human * unit + start, judge * unit + start, weights=weights)
        assert found.value == pytest.approx(cohen_kappa(human, judge, weights=weights).value, nan_ok=True)


@given(PAIRS)
def test_on_two_levels_all_weights_give_one_kappa(pairs: list[tuple[int, int]]) -> None:
    human, judge = zip(*((one > 2, other > 2) for one, other in pairs), strict=True)

    found = [cohen_kappa(human, judge, weights=weights).value for weights in WEIGHTS]

    assert found == pytest.approx([found[0]] * 3, nan_ok=True)


def test_pairs_without_a_rating_are_left_out_of_kappa_and_counted() -> None:
    found = cohen_kappa([1, 2, None, 3, float("nan")], [1, 3, 2, None, 1])

    assert (found.n, found.left_out) == (2, 3)
    assert found.value == cohen_kappa([1, 2], [1, 3]).value


def test_kappa_is_undefined_without_pairs_and_where_all_ratings_are_one() -> None:
    assert np.isnan(cohen_kappa([], []).value)
    assert np.isnan(cohen_kappa([None], [3]).value)
    assert np.isnan(cohen_kappa([7, 7, 7], [7, 7, 7], weights="quadratic").value)


def test_kappa_of_constant_raters_that_differ_is_0() -> None:
    assert [cohen_kappa([7, 7], [8, 8], weights=weights).value for weights in WEIGHTS] == [0.0, 0.0, 0.0]


def test_kappa_refuses_what_it_cannot_use() -> None:
    with pytest.raises(ValueError, match="from 0 to 8; give them from 1 to 10"):
        cohen_kappa([0, 5], [8, 5], levels=(1, 10))
    with pytest.raises(ValueError, match="equal length"):
        cohen_kappa([1, 2], [1])
    with pytest.raises(ValueError, match="infinite"):
        cohen_kappa([1, float("inf")], [1, 2])


@given(TABLES, st.randoms(use_true_random=False))
def test_alpha_does_not_depend_on_the_order_of_raters_or_units(units: list[list[int | None]], random: Any) -> None:
    mixed = [random.sample(unit, 3) for unit in random.sample(units, len(units))]

    for level in LEVELS:
        found = krippendorff_alpha(by_rater(mixed), level=level)
        assert found.value == pytest.approx(krippendorff_alpha(by_rater(units), level=level).value, nan_ok=True)


@given(TABLES)
def test_alpha_equals_its_definition_by_pairs(units: list[list[int | None]]) -> None:
    rated = [known for unit in units if len(known := [x for x in unit if x is not None]) > 1]
    everything = [x for unit in rated for x in unit]
    n = len(everything)

    observed = sum((x - y) ** 2 / (len(unit) - 1) for unit in rated for x in unit for y in unit)
    expected = sum((x - y) ** 2 for x in everything for y in everything) / max(n - 1, 1)

    found = krippendorff_alpha(by_rater(units), level="interval")
    assert found.value == pytest.approx(1 - observed / expected if expected else float("nan"), nan_ok=True)
    assert (found.n, found.left_out) == (len(rated), len(units) - len(rated))


@given(TABLES)
def test_alpha_in_ranks_does_not_change_when_the_scale_is_stretched(units: list[list[int | None]]) -> None:
    stretched = [[None if x is None else x**3 for x in unit] for unit in units]

    found = krippendorff_alpha(by_rater(stretched), level="ordinal")

    assert found.value == pytest.approx(krippendorff_alpha(by_rater(units), level="ordinal").value, nan_ok=True)


def test_alpha_of_raters_that_never_differ_is_1() -> None:
    assert [krippendorff_alpha([[1, 2, 3], [1, 2, 3]], level=level).value for level in LEVELS] == [1.0, 1.0, 1.0]


def test_alpha_is_undefined_where_nothing_varies_or_nothing_counts() -> None:
    for level in LEVELS:
        assert np.isnan(krippendorff_alpha([[2, 2], [2, 2]], level=level).value)
        assert np.isnan(krippendorff_alpha([[1, None], [None, 2]], level=level).value)
        assert np.isnan(krippendorff_alpha([[], []], level=level).value)


@pytest.mark.parametrize("unknown", ["ratio", ""])
def test_unknown_weights_and_levels_are_refused(unknown: Any) -> None:
    with pytest.raises(ValueError, match="linear"):
        cohen_kappa([1, 2], [1, 3], weights=unknown)
    with pytest.raises(ValueError, match="ordinal"):
        krippendorff_alpha([[1, 2], [1, 3]], level=unknown)


def test_alpha_refuses_a_single_list() -> None:
    with pytest.raises(ValueError, match="one row for each rater"):
        krippendorff_alpha(np.array([1.0, 2.0]))


def test_a_confusion_table_with_its_rates() -> None:
    human = [True] * 10 + [False] * 6 + [None, True]
    judge = [True] * 9 + [False] + [True] * 2 + [False] * 4 + [True, None]

    found = confusion(human, judge, alpha=0.05)

    assert (found.true_pass, found.false_fail, found.false_pass, found.true_fail) == (9, 1, 2, 4)
    assert found.left_out == 2
    assert (found.sensitivity.value, found.specificity.value, found.accuracy.value) == (0.9, 4 / 6, 13 / 16)
    assert (found.sensitivity.low, found.sensitivity.high) == clopper_pearson(9, 10, 0.05)
    assert (found.specificity.low, found.specificity.high) == clopper_pearson(4, 6, 0.05)
    assert (found.accuracy.low, found.accuracy.high) == clopper_pearson(13, 16, 0.05)


@given(LABELS)
def test_a_confusion_table_counts_every_pair_once(pairs: list[tuple[bool | None, bool | None]]) -> None:
    human, judge = [one for one, _ in pairs], [other for _, other in pairs]

    found, swapped = confusion(human, judge, alpha=0.05), confusion(judge, human, alpha=0.05)

    counted = found.true_pass + found.false_pass + found.false_fail + found.true_fail + found.left_out
    assert counted == len(pairs)
    assert (found.true_pass, found.false_pass) == (swapped.true_pass, swapped.false_fail)
    assert found.accuracy.successes == found.true_pass + found.true_fail == swapped.accuracy.successes


def test_a_rate_of_nothing_is_undefined_and_may_be_anything() -> None:
    found = confusion([True, True], [True, False], alpha=0.05).specificity

    assert np.isnan(found.value)
    assert (found.n, found.low, found.high) == (0, 0.0, 1.0)


def test_a_confusion_table_refuses_scores() -> None:
    with pytest.raises(ValueError, match="give true for a pass"):
        confusion([True, False], [7, 0], alpha=0.05)


def test_an_interval_of_a_mean_over_clusters_is_that_of_cluster_means() -> None:
    random = np.random.default_rng(2)
    values = np.repeat(random.normal(size=100), 4)
    clusters = np.repeat(np.arange(100), 4)

    found = bootstrap_by_cluster(lambda rows: float(values[rows].mean()), clusters, alpha=0.05)

    error = values[::4].std() / 10  # of 100 means; were the 400 rows independent, it would be half of that
    assert found.estimate == pytest.approx(values.mean())
    assert found.low == pytest.approx(values.mean() - 1.645 * error, abs=0.03)
    assert found.high == pytest.approx(values.mean() + 1.645 * error, abs=0.03)
    assert (found.n_clusters, found.n_draws, found.n_undefined) == (100, 1999, 0)


def test_a_draw_takes_whole_clusters() -> None:
    clusters = ["b", "a", "b", "c", "a", "b"]
    sizes = {"a": 2, "b": 3, "c": 1}

    def whole(rows: Any) -> float:
        names, counts = np.unique(np.array(clusters)[rows], return_counts=True)
        return float(all(count % sizes[name] == 0 for name, count in zip(names, counts, strict=True)))

    found = bootstrap_by_cluster(whole, clusters, alpha=0.05, n_draws=50)

    assert (found.low, found.high) == (1.0, 1.0)


def test_the_seed_alone_decides_the_draws() -> None:
    values, clusters = np.arange(20.0) ** 2, np.repeat(np.arange(10), 2)

    def interval(seed: int) -> tuple[float, float]:
        found = bootstrap_by_cluster(
            lambda rows: float(values[rows].mean()), clusters, alpha=0.05, n_draws=99, seed=seed
        )
        return found.low, found.high

    assert interval(1) == interval(1)
    assert interval(1) != interval(2)


def test_undefined_draws_are_left_out_and_counted() -> None:
    human, judge = np.array([1, 1, 2]), np.array([1, 1, 2])

    found = bootstrap_by_cluster(lambda rows: cohen_kappa(human[rows], judge[rows]).value, [0, 1, 2], alpha=0.05)

    # the third row is missing, or drawn alone, in (2/3)^3 + (1/3)^3 = 1/3 of the draws
    assert found.n_undefined / found.n_draws == pytest.approx(1 / 3, abs=0.05)
    assert (found.low, found.high) == (1.0, 1.0)


def test_no_interval_from_one_cluster_or_without_a_defined_draw() -> None:
    one = bootstrap_by_cluster(lambda rows: float(rows.size), [4, 4, 4], alpha=0.05)
    never = bootstrap_by_cluster(lambda rows: float("nan"), [1, 2, 3], alpha=0.05, n_draws=19)

    assert one.estimate == 3.0
    assert np.isnan([one.low, one.high, never.low, never.high]).all()
    assert never.n_undefined == 19


@pytest.mark.parametrize(("alpha", "n_draws"), [(0.0, 99), (0.5, 99), (0.05, 0)])
def test_the_bootstrap_refuses_what_it_cannot_use(alpha: float, n_draws: int) -> None:
    with pytest.raises(ValueError, match="give"):
        bootstrap_by_cluster(lambda rows: 0.0, [1, 2], alpha=alpha, n_draws=n_draws)
