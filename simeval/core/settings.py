"""What a run is set to: retries, writing styles, limits. Each default is stated once, here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Literal

from simeval.core import seeds
from simeval.core.validation import is_number, require, require_level, require_one_of, require_size, require_whole

OnAppError = Literal["fail", "exclude", "stop"]
EarlyStopping = bool | Literal["anytime"]
Gate = Literal["pass", "not_fail"]
StopAt = Literal["gate", "verdict"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryConfig:
    """How calls to language models are retried.

    Waits grow exponentially from `backoff_multiplier` seconds, with full jitter, up to
    `max_backoff_seconds`; a provider's Retry-After is waited for in full where it is at most two minutes.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class WritingStyleAxes:
    """The values from which a simulated user's writing style is drawn, one from each axis."""

    proficiency: Sequence[str] = (
        "Writes at a primary-school level.",
        "Makes frequent spelling and grammar mistakes.",
        "Writes clearly, with a few small mistakes.",
        "Writes correct, everyday language.",
        "Writes flawlessly, with a rich vocabulary.",
    )
    tone: Sequence[str] = (
        "Warm and enthusiastic.",
        "Polite.",
        "Curious.",
        "Neutral and direct.",
        "Sceptical.",
        "A little confused.",
        "Impatient.",
        "Annoyed.",
    )
    verbosity: Sequence[str] = (
        "Very terse (1-5 words).",
        "Short (5-15 words).",
        "Medium (15-40 words).",
        "Detailed (40-100 words).",
        "Rambling (more than 100 words).",
    )
    formality: Sequence[str] = (
        "Very formal.",
        "Formal.",
        "Neutral.",
        "Casual.",
        "Very casual, with slang, abbreviations or emojis.",
    )

    def __post_init__(self) -> None:
        for axis in fields(self):
            values = getattr(self, axis.name)
            require(
                not isinstance(values, str) and len(values) > 0 and all(isinstance(v, str) and v for v in values),
                f"WritingStyleAxes.{axis.name}",
                found=values,
                do="give a list of one or more texts",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class WritingStyleConfig:
    """Whether simulated users write in varied styles, and which."""

    enabled: bool = True
    axes: WritingStyleAxes = field(default_factory=WritingStyleAxes)

    def draw(self, seed: int) -> Mapping[str, str] | None:
        """Draw the style of the trial that has this seed; None where styles are off."""
        if not self.enabled:
            return None
        random = seeds.generator(seed, "writing style")
        return {axis.name: random.choice(list(getattr(self.axes, axis.name))) for axis in fields(self.axes)}


_CHOICES: Mapping[str, Sequence[object]] = {
    "on_app_error": ("fail", "exclude", "stop"),
    "early_stopping": (True, False, "anytime"),
    "gate": ("pass", "not_fail"),
    "stop": (None, "gate", "verdict"),
    "joint": (True, False),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that bounds or steers a run, apart from its models.

    `concurrency` bounds the trials in flight, `model_concurrency` the calls under way to one model,
    `app_concurrency` the turns the app answers at once (None: as many as there are trials in flight).
    `requests_per_minute` and `tokens_per_minute` hold for each model; one that fails every call is waited for
    `outage_seconds`.
    `early_stopping` and `stop` say when a scenario's verdict ends its trials, `gate` what a suite must reach.
    With `joint` the level is that of all passes of a suite together, and each requirement gets its share.
    """

    sample_size: int = 30
    significance_level: float = 0.05
    early_stopping: EarlyStopping = True
    gate: Gate = "pass"
    stop: StopAt | None = None
    joint: bool = False
    judge_repeats: int = 1
    seed: int | None = None
    concurrency: int = 50
    model_concurrency: int = 50
    app_concurrency: int | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    outage_seconds: float = 300.0
    model_timeout_seconds: float = 60.0
    app_timeout_seconds: float = 60.0
    on_app_error: OnAppError = "fail"
    max_error_rate: float = 0.1
    retry: RetryConfig = field(default_factory=RetryConfig)
    writing_style: WritingStyleConfig = field(default_factory=WritingStyleConfig)

    def __post_init__(self) -> None:
        require_size(self.sample_size, "sample_size")
        for name in ("concurrency", "model_concurrency", "judge_repeats"):
            require_whole(getattr(self, name), name)
        for name in ("app_concurrency", "requests_per_minute", "tokens_per_minute"):
            require_whole(getattr(self, name), name, optional=True)
        require(self.seed is None or isinstance(self.seed, int), "seed", found=self.seed, do="use a whole number")
        for name in ("model_timeout_seconds", "app_timeout_seconds", "outage_seconds"):
            value = getattr(self, name)
            require(is_number(value) and value > 0, name, found=value, do="use more than 0 seconds")
        require_level(self.significance_level, "significance_level")
        require(
            is_number(self.max_error_rate) and 0 <= self.max_error_rate <= 1,
            "max_error_rate",
            found=self.max_error_rate,
            do="use a share from 0 to 1",
        )
        for name, choices in _CHOICES.items():
            require_one_of(getattr(self, name), choices, name)

    @property
    def stop_mode(self) -> StopAt | None:
        """What ends a scenario: where only a proven fail matters, a proven side; None leaves it to evaluators."""
        return self.stop or (None if self.gate == "pass" else "verdict")
