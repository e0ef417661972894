"""A model that is an object of the user's own: errors of its code are reported as its own, with their place."""

from dataclasses import replace
from inspect import isawaitable
from numbers import Real
from typing import Any

from simeval.core.capture import Caught, capture, guarded, place_of, said_of
from simeval.core.frames import defined_at
from simeval.core.logs import warn_all
from simeval.errors import ModelError, ModelUnusable
from simeval.models.protocol.model import Completion, Model, Request, Wrapped

_COUNTED = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens")


class OwnModel(Wrapped):
    """A model around an object of the user's own, which is checked before anything counts its answers."""

    __slots__ = ()

    async def complete(self, request: Request) -> Completion:
        """Answer. Raises ModelError for any exception, and ModelUnusable for anything but a Completion."""

        async def answer() -> object:
            answering: object = self.model.complete(request)
            return await guarded(answering, "its complete") if isawaitable(answering) else answering

        found = await capture(answer)
        if isinstance(found, Completion) and not (wrong := _wrong_in(found)):
            counted: dict[str, Any] = {name: int(getattr(found, name) or 0) for name in _COUNTED}
            return replace(found, **counted)
        if isinstance(found, Caught):
            if isinstance(found.error, ModelError):
                raise found.error
            problem = f"{said_of(found.error)}{place_of(found.error)}"
            raise ModelError(self.name, kind="code", problem=problem) from found.error
        place = defined_at(self.model.complete)
        its = f"its complete ({place})" if place else "its complete"
        what = type(found).__name__ if not isinstance(found, Completion) else f"a Completion of which {wrong}"
        raise ModelUnusable(self.name, kind="code", problem=f"{its} returned {what}")


def _wrong_in(found: Completion) -> str:
    """Return the parts of a completion that are not as declared; empty if all are.

    Tokens and costs that are not counted may be None.
    """
    kinds: dict[str, Any] = {"text": str, **dict.fromkeys((*_COUNTED, "cost_usd"), Real | None)}
    wrong = [name for name, kind in kinds.items() if not isinstance(getattr(found, name), kind)]
    return f"{wrong[0]} is {type(getattr(found, wrong[0])).__name__}" if wrong else ""


async def close(model: Model) -> None:
    """Close a model. An error of closing is reported, and takes nobody's result away."""

    async def closed() -> None:
        closing: object = model.close()
        if isawaitable(closing):
            await closing

    if isinstance(failed := await capture(closed), Caught):
        warn_all(f"{model.name} could not be closed: {said_of(failed.error)}{place_of(failed.error)}")
