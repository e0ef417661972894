"""A small telecom world in which the user has tools, too, and two bots: one that does what it says, one that says it.

The idea of a world with tools for both sides is tau2-bench's (arXiv 2506.07982); nothing of it is copied here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

Tools = Mapping[str, Callable[..., Any]]


@dataclass
class Telecom:
    """One customer's line and phone. The carrier's side is the app's to change, the phone the user's."""

    is_suspended: bool = False
    is_in_airplane_mode: bool = True
    data_left_gb: float = 0.0
    bill: float = 0.0
    restarts: int = field(default=0, init=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is open: a world with a database would close it here."""

    @property
    def tools(self) -> Tools:
        """What the app can do."""
        return {"look_up_line": self._look_up_line, "resume_line": self._resume_line, "add_data": self._add_data}

    @property
    def user_tools(self) -> Tools:
        """What the user can do with the phone, when the app asks for it by these words."""
        return {"airplane_mode": self._switch_airplane_mode, "restart_phone": self._restart_phone}

    @property
    def is_online(self) -> bool:
        """Whether the phone has mobile data: both sides must have done theirs."""
        return not (self.is_suspended or self.is_in_airplane_mode) and self.data_left_gb > 0 and self.restarts > 0

    def state(self) -> Mapping[str, Any]:
        """Return what is true now."""
        line = {"suspended": self.is_suspended, "data_left_gb": self.data_left_gb, "bill": self.bill}
        phone = {"airplane_mode": self.is_in_airplane_mode, "restarts": self.restarts, "online": self.is_online}
        return {"line": line, "phone": phone}

    def _look_up_line(self) -> Mapping[str, Any]:
        return {"suspended": self.is_suspended, "data_left_gb": self.data_left_gb}

    def _resume_line(self) -> str:
        self.is_suspended = False
        return "resumed"

    def _add_data(self, gb: float) -> str:
        self.data_left_gb += gb
        self.bill += 2 * gb
        return f"{gb:g} GB added"

    def _switch_airplane_mode(self) -> str:
        self.is_in_airplane_mode = not self.is_in_airplane_mode
        return f"airplane mode is {'on' if self.is_in_airplane_mode else 'off'} now"

    def _restart_phone(self) -> str:
        self.restarts += 1
        return "the phone has started again"


def helper(message: str, state: Any, *, tools: Tools) -> str:  # noqa: ARG001
    """Look the line up, put right what is wrong on the carrier's side, and say what the user has to do."""
    line = tools["look_up_line"]()
    if line["suspended"]:
        tools["resume_line"]()
    if line["data_left_gb"] < 1:
        tools["add_data"](gb=2)
        return (
            "I have added 2 GB of mobile data to your line. Please switch airplane mode off. Then restart your phone. "
            "Your mobile data works again after that."
        )
    return "Your mobile data works again."


def claimer(message: str, state: Any) -> str:  # noqa: ARG001
    """Say what the helper says, and do nothing: the defect that only the state shows."""
    return "I have added 2 GB of mobile data to your line. Your mobile data works again."
