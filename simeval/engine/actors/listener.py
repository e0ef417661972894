"""A listener gets every message as it is sent: its errors are reported once, and cost no conversation."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from inspect import iscoroutinefunction

from simeval.core.capture import Caught, attempt, place_of, said_of
from simeval.core.conversation import Message
from simeval.core.logs import warn_all
from simeval.core.validation import require


@dataclass(slots=True)
class Listener:
    """A function that is called with every message. Raises DefinitionError for anything else."""

    function: Callable[[Message], object]
    _is_told: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        do = "give a plain function that takes a Message"
        fits = callable(self.function) and not isinstance(self.function, type)
        is_async = any(map(iscoroutinefunction, (self.function, getattr(self.function, "__call__", None))))  # noqa: B004
        require(fits and not is_async, "listen", found=self.function, do=do)

    def hear(self, message: Message) -> None:
        """Call it; the first error is a warning."""
        failed = attempt(partial(self.function, message))
        if isinstance(failed, Caught) and not self._is_told:
            self._is_told = True
            warn_all(f"the listener failed: {said_of(failed.error)}{place_of(failed.error)}; the evaluation goes on")
