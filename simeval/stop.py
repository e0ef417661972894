"""The stop signal of a run: no more trials, or an end at once; with the reason, which the results carry."""

from dataclasses import dataclass, field

import anyio


@dataclass(slots=True)
class StopSignal:
    """Ends a run before its verdicts are settled. The first reason counts.

    `dealing` is the scope in which trials are dealt, `line` that of the whole line of pools.
    """

    reason: str = ""
    dealing: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    line: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    def stop(self, reason: str) -> None:
        """Start no more trials; those in flight are finished."""
        self.reason = self.reason or reason or "it was asked to"
        self.dealing.cancel()

    def end(self, reason: str) -> None:
        """End all that is under way; what was finished stays."""
        self.stop(reason)
        self.line.cancel()
