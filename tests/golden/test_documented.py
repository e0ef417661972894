"""Formats and classification as the documents of the original systems define them."""

from typing import Any

import pytest

from simeval.core.trial import Scored
from simeval.scorers.text.classification import Classification
from simeval.scorers.text.formats import ValidJSON
from simeval.stats.agreement import cohen_kappa
from tests.support.golden_cases import TOLERANCE, chosen, ids

JSON = ids("doc", 48, 50, 53)
CLASSES = ids("doc", 63)
COVERED = JSON | CLASSES
NOT_ASKED_FOR = {"mcc"}  # Matthews' correlation: no feature of this package


@pytest.mark.parametrize("case", chosen("documented", JSON))
def test_json_is_valid_where_the_document_says_so(case: dict[str, Any]) -> None:
    assert ValidJSON().score(case["inputs"]["output"])["valid"] is case["expected"]


@pytest.mark.parametrize("case", chosen("documented", CLASSES))
def test_classes_are_measured_as_defined(case: dict[str, Any]) -> None:
    reference, prediction = case["inputs"]["reference"], case["inputs"]["prediction"]
    classes = Classification(labels=[0, 1])
    rows = enumerate(zip(prediction, reference, strict=True))

    found = classes.summarize([Scored(example=at, columns={}, measured=classes.score(*row)) for at, row in rows])

    expected = case["expected"]
    wanted = {"accuracy": expected["accuracy"]}
    wanted |= {
        f"{name}.{key}": expected[name][key] for name in ("macro", "micro", "weighted") for key in expected[name]
    }
    by_class = expected["per_class"].items()
    wanted |= {f"class.{label}.{key}": row[key] for label, row in by_class for key in row if key != "support"}
    assert {name: estimate.value for name, estimate in found.items()} == pytest.approx(wanted, abs=TOLERANCE)
    assert {label: found[f"class.{label}.recall"].n for label, _ in by_class} == {"0": 3, "1": 3}
    assert cohen_kappa(reference, prediction).value == pytest.approx(expected["cohen_kappa"], abs=TOLERANCE)
    assert expected.keys() - {"accuracy", "macro", "micro", "weighted", "per_class", "cohen_kappa"} == NOT_ASKED_FOR
