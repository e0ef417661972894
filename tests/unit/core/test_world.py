"""What a conversation keeps of the state of its world."""

from collections import deque
from dataclasses import dataclass
from enum import Enum
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
        ({"queue": deque([3, GONE])}, "queue.1", {"queue": [3, None]}),
        ({"found": {GONE}}, "found.0", {"found": [None]}),
        ({"order": Order(GONE)}, "order.status", {"order": {"status": None}}),
        ({"shelves": [Shelf(left=GONE)]}, "shelves.0.left", {"shelves": [{"left": None}]}),
    ],
)
def test_what_could_not_be_looked_at_is_known_by_its_path_wherever_it_stands(state: Any, path: str, kept: Any) -> None:
    record = world_record(state)

    assert record["unmeasured"] == {path: "it is down"}
    assert kept is None or record["state"] == kept


class Status(Enum):
    SENT = "sent"


class Desk:
    def __init__(self) -> None:
        self.open = GONE


def test_an_object_that_is_no_json_asserts_nothing_by_its_text() -> None:
    record = world_record({"orders": {"desk": Desk()}, "status": Status.SENT})

    assert record["state"] == {"orders": {"desk": None}, "status": "sent"}
    assert record["unmeasured"] == {"orders.desk": "state() gives an object that is no JSON (Desk); give its values"}
