"""Which values JSON gives back as they are."""

import json
from collections import OrderedDict
from enum import StrEnum
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.core.serialization import survives_json


class Mood(StrEnum):
    GOOD = "good"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_what_survives_json_comes_back_equal(value: Any) -> None:
    assert survives_json(value)
    assert json.loads(json.dumps(value)) == value


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(object(), id="object"),
        float("nan"),
        float("inf"),
        (1, 2),
        {1: "a"},
        {"a": {"b": {1, 2}}},
        [OrderedDict(a=1)],
        Mood.GOOD,
        {Mood.GOOD: 1},
        np.float64(1.0),
        b"bytes",
    ],
    ids=repr,
)
def test_what_comes_back_otherwise_does_not_survive(value: object) -> None:
    assert not survives_json(value)
