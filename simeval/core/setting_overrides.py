"""The settings as keyword arguments, for type checkers and editors."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from simeval.core.run_records import Journal
from simeval.core.setting_field import (
    CriteriaCalls,
    EarlyStopping,
    Gate,
    JudgeReply,
    OnAppError,
    OnFailedControl,
    OnUserFault,
    Order,
    RayExecutor,
    RetryConfig,
    Stop,
    TraceOut,
    UserFormat,
    WritingStyleConfig,
)
from simeval.core.terminal import Display


class _NamesOfOptions(TypedDict, total=False):
    """Settings by the names of their options, which the fields of Settings do not have."""

    alpha: float
    app_rpm: int | None
    app_timeout: float
    judge_context: int | None
    max_answer: int
    max_cost: float | None
    model_timeout: float
    outage: float
    rpm: int | None
    samples: int
    tpm: int | None


class SettingOverrides(_NamesOfOptions, total=False):
    """The names and types of the fields of Settings, which documents each; a test keeps the two in step."""

    sample_size: int
    significance_level: float
    early_stopping: EarlyStopping
    min_trials: int
    stop: Stop | None
    gate: Gate
    joint: bool
    fail_fast: bool
    judge_repeats: int
    escalate: str | None
    escalation_audit: float
    judge_reply: JudgeReply
    criteria_calls: CriteriaCalls
    judge_context_tokens: int | None
    on_failed_control: OnFailedControl
    judge_examples: Path | str | None
    on_app_error: OnAppError
    max_error_rate: float
    user_format: UserFormat
    on_user_fault: OnUserFault
    max_user_fault_rate: float
    audit_users: float
    seed: int | None
    date: str | None
    writing_style_config: WritingStyleConfig | None
    prompts: Mapping[str, Path | str] | None
    order: Order
    concurrency: int
    model_concurrency: int
    app_concurrency: int | None
    app_requests_per_minute: int | None
    app_timeout_seconds: float
    model_timeout_seconds: float
    max_answer_bytes: int
    requests_per_minute: int | None
    tokens_per_minute: int | None
    outage_seconds: float
    retry_config: RetryConfig | None
    max_cost_usd: float | None
    max_calls: int | None
    max_tokens: int | None
    max_seconds: float | None
    store: Path | str | Journal | None
    executor: str | RayExecutor
    shard: str | None
    resume: str | None
    accept_changes: bool
    cache: bool
    rubric_folder: Path | str | None
    canary_folder: Path | str | None
    require_judge_test: bool
    model_options: Mapping[str, Any] | None
    judge_options: Mapping[str, Any] | None
    user_options: Mapping[str, Any] | None
    app_options: Mapping[str, Any] | None
    secret_patterns: Sequence[str]
    trace_out: TraceOut | None
    trace_in: str | None
    trace_in_seconds: float
    display: Display | None
