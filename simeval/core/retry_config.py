"""How calls to language models are retried."""

from dataclasses import dataclass

from simeval.core.validation import require


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryConfig:
    """How calls to language models are retried, by tenacity.

    At most `max_attempts` are made (tenacity's stop). The wait before the next is tenacity's `wait_random_exponential`:
    at random up to a bound that doubles from `backoff_multiplier` seconds to `max_backoff_seconds`; a provider's
    Retry-After is waited for in full if it is at most two minutes.
    """

    enabled: bool = True
    max_attempts: int = 5
    backoff_multiplier: float = 0.5
    max_backoff_seconds: float = 30.0

    def __post_init__(self) -> None:
        require(self.max_attempts >= 1, "RetryConfig.max_attempts", found=self.max_attempts, do="use 1 or more")
        require(
            self.backoff_multiplier >= 0,
            "RetryConfig.backoff_multiplier",
            found=self.backoff_multiplier,
            do="use 0 or more seconds",
        )
        require(
            self.max_backoff_seconds >= 0,
            "RetryConfig.max_backoff_seconds",
            found=self.max_backoff_seconds,
            do="use 0 or more seconds",
        )
