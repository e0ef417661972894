"""What a conversation keeps of the state of its world."""

from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from simeval.core.world import Unmeasured, world_record

GONE = Unmeasured("it is down")


@dataclass
class Order:
    status: Any


class Shelf(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    left: Any


@pytest.mark.parametrize(
    ("state", "path", "kept"),
    [
        ({"orders": {"F1": GONE}}, "orders.F1", {"orders": {"F1": None}}),
        ({"orders": [{"status": "sent"}, {"status": GONE}]}, "orders.1.status", None),
        ({"orders": (GONE, 3)}, "orders.0", {"orders": [None, 3]}),
        ({"order": Order(GONE)}, "order.status", {"order": {"status": None}}),
        ({"shelves": [Shelf(left=GONE)]}, "shelves.0.left", {"shelves": [{"left": None}]}),
    ],
)
def test_what_could_not_be_looked_at_is_known_by_its_path_wherever_it_stands(state: Any, path: str, kept: Any) -> None:
    record = world_record(state)

    assert record["unmeasured"] == {path: "it is down"}
    assert kept is None or record["state"] == kept
