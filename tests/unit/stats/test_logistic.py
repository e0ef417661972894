"""Logistic regression, the area under the ROC curve, folds that keep groups whole."""

import numpy as np
import pytest

from simeval.stats.logistic import fit_logistic, grouped_folds, roc_auc

X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
Y = [0, 0, 1, 0, 1, 1]


def test_the_fit_is_where_the_penalised_likelihood_is_flat() -> None:
    fitted = fit_logistic(X, Y, penalty=0.5)

    error = fitted.probabilities(X) - np.array(Y)
    assert error.sum() == pytest.approx(0.0, abs=1e-4)
    assert float(X[:, 0] @ error) + 0.5 * fitted.weights[0] == pytest.approx(0.0, abs=1e-4)


def test_a_greater_penalty_makes_smaller_weights() -> None:
    weights = [abs(fit_logistic(X, Y, penalty=penalty).weights[0]) for penalty in (0.1, 1.0, 10.0)]

    assert weights == sorted(weights, reverse=True)
    assert weights[-1] < 0.5 * weights[0]


def test_labels_that_can_be_told_apart_have_a_fit_too() -> None:
    fitted = fit_logistic(X, [0, 0, 0, 1, 1, 1])

    assert np.isfinite(fitted.weights).all()
    assert ((fitted.probabilities(X) > 0.5) == [False, False, False, True, True, True]).all()


@pytest.mark.parametrize(("labels", "penalty"), [([1] * 6, 1.0), ([0] * 6, 1.0), (Y, 0.0)])
def test_what_has_no_fit_is_refused(labels: list[int], penalty: float) -> None:
    with pytest.raises(ValueError, match="give"):
        fit_logistic(X, labels, penalty=penalty)


@pytest.mark.parametrize(
    ("labels", "scores", "auc"),
    [
        ([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], 0.75),
        ([0, 1], [0.2, 0.9], 1.0),
        ([1, 0], [0.2, 0.9], 0.0),
        ([0, 1, 0, 1], [0.5, 0.5, 0.5, 0.5], 0.5),
        ([0, 1, 1, 0], [0.5, 0.5, 0.9, 0.1], 0.875),
    ],
)
def test_the_area_is_the_chance_to_rank_a_true_item_higher(labels: list[int], scores: list[float], auc: float) -> None:
    pairs = [(t, f) for t, a in zip(scores, labels, strict=True) for f, b in zip(scores, labels, strict=True) if a > b]

    counted = sum((t > f) + 0.5 * (t == f) for t, f in pairs) / len(pairs)

    assert roc_auc(labels, scores) == pytest.approx(auc)
    assert counted == pytest.approx(auc)


def test_the_area_is_undefined_with_one_label() -> None:
    assert np.isnan(roc_auc([1, 1], [0.1, 0.2]))
    with pytest.raises(ValueError, match="equal length"):
        roc_auc([1, 0], [0.1])


def test_folds_keep_groups_whole_and_labels_even() -> None:
    groups = [f"g{place // 2}" for place in range(60)]
    labels = [place % 3 == 0 for place in range(60)]

    folds = grouped_folds(groups, labels, n_folds=5, seed=3)

    assert all(len({fold for fold, group in zip(folds, groups, strict=True) if group == each}) == 1 for each in groups)
    assert [int(np.sum(folds == fold)) for fold in range(5)] == [12] * 5
    assert [int(np.sum((folds == fold) & labels)) for fold in range(5)] == [4] * 5
    assert (folds == grouped_folds(groups, labels, n_folds=5, seed=3)).all()
    with pytest.raises(ValueError, match="fewer folds"):
        grouped_folds(["a", "a"], [0, 1], n_folds=2)
