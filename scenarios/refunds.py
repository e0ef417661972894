"""A refund desk with tools, for a suite with faults: one agent repeats a refund after a time-out, the other looks."""

from collections.abc import Callable, Mapping
from typing import Any, Self

ORDER, PRICE = "F1001", 49.0
Tools = Mapping[str, Callable[..., Any]]


class RefundDesk:
    """The refunds of one customer."""

    def __init__(self) -> None:
        self.refunds: list[dict[str, Any]] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing is open."""

    @property
    def tools(self) -> Tools:
        """Refund an order, or look at its refunds."""
        return {"refund": self.refund, "look_up": self.look_up}

    async def refund(self, order: str, amount: float) -> Mapping[str, Any]:
        """Refund an order."""
        self.refunds.append({"order": order, "amount": amount})
        return {"done": True}

    async def look_up(self, order: str) -> list[Mapping[str, Any]]:
        """Return the refunds of an order."""
        return [each for each in self.refunds if each["order"] == order]

    def state(self) -> Mapping[str, Any]:
        """Return all refunds."""
        return {"refunds": self.refunds}


async def eager(message: str, state: dict[str, Any], *, tools: Tools) -> tuple[str, dict[str, Any]]:  # noqa: ARG001
    """Refund again if the tool does not answer: the defect, which shows only under faults."""
    return await _refunded(state, tools, looks=False)


async def careful(message: str, state: dict[str, Any], *, tools: Tools) -> tuple[str, dict[str, Any]]:  # noqa: ARG001
    """Look whether the refund was made if the tool does not answer."""
    return await _refunded(state, tools, looks=True)


async def _refunded(state: dict[str, Any], tools: Tools, *, looks: bool) -> tuple[str, dict[str, Any]]:
    if state.get("refunded"):
        return "The money arrives within five days.", state
    for _ in range(3):
        try:
            await tools["refund"](order=ORDER, amount=PRICE)
        except TimeoutError:
            if not looks or not await tools["look_up"](order=ORDER):
                continue
        return f"I have refunded order {ORDER}.", {"refunded": True}
    return "I cannot reach our payment service. Please try again later.", state
