"""The settings of a run: retries, limits, budgets. Each default is stated once, here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from simeval.core.judging import require_rule
from simeval.core.network import MOST_BYTES, require_listening
from simeval.core.run_records import Journal
from simeval.core.setting_field import (
    BUDGET,
    DEFAULT_STYLE,
    LIMITS,
    SURROUNDINGS,
    VERDICTS,
    CriteriaCalls,
    EarlyStopping,
    Gate,
    JudgeReply,
    ModelRole,
    OnAppError,
    OnFailedControl,
    OnUserFault,
    Order,
    RayExecutor,
    Stop,
    StopAt,
    TraceOut,
    UserFormat,
    WritingStyleConfig,
    check,
    meant_setting,
    options_of_calls,
    require_amount,
    require_date,
    require_executor,
    require_kind,
    require_part,
    require_path,
    require_place,
    require_prompts,
    require_seconds,
    require_seed,
    require_shard,
    setting,
)
from simeval.core.setting_field import RetryConfig as RetryConfig
from simeval.core.terminal import Display
from simeval.core.validation import own_name, require_level, require_size, require_whole
from simeval.errors import DefinitionError


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that bounds or steers a run, apart from the suite and its models.

    Each field is defined here alone, with its default and its help text: Engine takes it by this name, commands make an
    option of it, and suite files may set it unless it concerns the run's surroundings.

    Raises DefinitionError for a value that cannot be used.
    """

    sample_size: int = setting(30, VERDICTS, "Trials a scenario may use, unless it says so itself.", check=require_size)
    significance_level: float = setting(
        0.05,
        VERDICTS,
        "The significance level: the chance of a wrong pass, or fail.",
        flag="--alpha",
        check=require_level,
    )
    early_stopping: EarlyStopping = setting(
        True, VERDICTS, "End a scenario as soon as its verdicts are settled.", flag="--early-stopping"
    )
    min_trials: int = setting(
        10,
        VERDICTS,
        "Trials of a scenario before any verdict, with early stopping; the tests take it into account.",
        flag="--min-trials",
        check=require_size,
    )
    stop: Stop | None = setting(
        None,
        VERDICTS,
        "What ends a scenario that does not pass: a pass is unlikely, out of reach, or a fail is proven.",
        flag="--stop",
        unset="by the gate",
    )
    gate: Gate = setting(
        "pass", VERDICTS, "What exit status 0 requires: every verdict is a pass, or none is a fail.", flag="--gate"
    )
    joint: bool = setting(
        False, VERDICTS, "Apply the significance level to all passes together, instead of to each.", flag="--joint"
    )
    fail_fast: bool = setting(
        False, VERDICTS, "End the run at the first scenario that keeps it from meeting its gate.", flag="--fail-fast"
    )
    judge_repeats: int = setting(
        1,
        VERDICTS,
        "How often each judge rates a conversation; the mean counts.",
        flag="--judge-repeats",
        check=require_whole,
    )
    escalate: str | None = setting(
        None,
        VERDICTS,
        'When the first of two judges passes a conversation on to the second: "rating 4..8", "cannot tell", or both.',
        flag="--escalate",
        metavar="WHEN",
        unset="several judges are a panel",
        check=require_rule,
    )
    escalation_audit: float = setting(
        0.05,
        VERDICTS,
        "Share of what the first judge settles that the second rates too, to see whether they agree.",
        flag="--escalation-audit",
        check=require_part,
    )
    judge_reply: JudgeReply = setting(
        "json",
        VERDICTS,
        "What judges answer with: an object with reasons, or just a label, with its probability if known.",
        flag="--judge-reply",
    )
    criteria_calls: CriteriaCalls = setting(
        "all",
        VERDICTS,
        "Whether a judge rules on all criteria of an expectation in one call, or on each in a separate call.",
        flag="--criteria-calls",
    )
    judge_context_tokens: int | None = setting(
        None,
        VERDICTS,
        "Tokens of a conversation that judges are shown; of a longer one the middle is left out, and of long messages.",
        flag="--judge-context",
        unset="all of it",
        check=require_whole,
    )
    on_failed_control: OnFailedControl = setting(
        "refuse",
        VERDICTS,
        "What happens to an expectation whose judge is wrong about the controls.",
        flag="--on-failed-control",
    )
    judge_examples: Path | str | None = setting(
        None,
        VERDICTS,
        "Conversations that people labelled (a file of `simeval people agree --sample`), shown to judges as examples.",
        flag="--judge-examples",
        metavar="FILE",
        unset="none",
        check=require_path,
    )
    on_app_error: OnAppError = setting(
        "fail", VERDICTS, "What happens to a trial in which the app fails.", flag="--on-app-error"
    )
    max_error_rate: float = setting(
        0.1, VERDICTS, "Share of trials that may be lost.", flag="--max-error-rate", check=require_part
    )
    user_format: UserFormat = setting(
        "json",
        VERDICTS,
        "What the simulated user's model writes: plain text is easier for weak models.",
        flag="--user-format",
    )
    on_user_fault: OnUserFault = setting(
        "missing",
        VERDICTS,
        "What happens to a trial whose simulated user is at fault: it is missing, repeated, or only counted.",
        flag="--on-user-fault",
    )
    max_user_fault_rate: float = setting(
        0.1,
        VERDICTS,
        "Share of trials that may be lost to faults of simulated users.",
        flag="--max-user-fault-rate",
        check=require_part,
    )
    audit_users: float = setting(
        0.0,
        VERDICTS,
        "Share of conversations in which the judge checks the simulated user too.",
        flag="--audit-users",
        check=require_part,
    )
    seed: int | None = setting(
        None, VERDICTS, "Fixes writing styles and trial seeds.", flag="--seed", unset="drawn", check=require_seed
    )
    date: str | None = setting(
        None,
        VERDICTS,
        "The day that judges read and that {today} is in scenarios, such as 2026-11-26.",
        flag="--date",
        unset="the day of the run",
        check=require_date,
    )
    writing_style_config: WritingStyleConfig | None = setting(
        None,
        VERDICTS,
        "Whether simulated users write in varied styles, and which.",
        unset="varied",
        check=partial(require_kind, kind=WritingStyleConfig),
    )
    prompts: Mapping[str, Path | str] | None = setting(
        None,
        VERDICTS,
        "Your prompts in place of simeval's: each a file, or a text of several lines.",
        flag="--prompt",
        metavar="NAME=FILE",
        unset="those that `simeval prompts` lists",
        check=require_prompts,
    )
    order: Order = setting(
        "round-robin",
        LIMITS,
        "Which scenarios come first: all in turn, in the file's order, or those that did not pass last time.",
        flag="--order",
    )
    concurrency: int = setting(50, LIMITS, "Trials in flight, at most.", flag="--concurrency", check=require_whole)
    model_concurrency: int = setting(
        50, LIMITS, "Calls in flight to a model, at most.", flag="--model-concurrency", check=require_whole
    )
    app_concurrency: int | None = setting(
        None,
        LIMITS,
        "Turns in flight in the app, at most.",
        flag="--app-concurrency",
        unset="10 for an app at a URL, else all",
        check=require_whole,
    )
    app_requests_per_minute: int | None = setting(
        None, LIMITS, "Turns per minute put to the app, at most.", flag="--app-rpm", check=require_whole
    )
    app_timeout_seconds: float = setting(
        60.0, LIMITS, "Seconds that the app may take for a turn.", flag="--app-timeout", check=require_seconds
    )
    model_timeout_seconds: float = setting(
        60.0, LIMITS, "Seconds that a call to a model may take.", flag="--model-timeout", check=require_seconds
    )
    max_answer_bytes: int = setting(
        MOST_BYTES,
        LIMITS,
        "Bytes that an answer of the app or of a model may have, unpacked; "
        "of a stream in all, with 100 more for each of its events.",
        flag="--max-answer",
        check=require_whole,
    )
    requests_per_minute: int | None = setting(
        None, LIMITS, "Requests per minute to each model, at most.", flag="--rpm", check=require_whole
    )
    tokens_per_minute: int | None = setting(
        None, LIMITS, "Tokens per minute of each model, at most.", flag="--tpm", check=require_whole
    )
    outage_seconds: float = setting(
        300.0, LIMITS, "Seconds to wait for a model or an app that is down.", flag="--outage", check=require_seconds
    )
    retry_config: RetryConfig | None = setting(
        None,
        LIMITS,
        "How often, and after which waits, a call to a model is tried again.",
        unset="those of `RetryConfig`",
        check=partial(require_kind, kind=RetryConfig),
    )

    max_cost_usd: float | None = setting(
        None, BUDGET, "Stop cleanly at this cost.", flag="--max-cost", metavar="USD", check=require_amount
    )
    max_calls: int | None = setting(
        None, BUDGET, "Stop cleanly at this many model calls.", flag="--max-calls", check=require_whole
    )
    max_tokens: int | None = setting(
        None, BUDGET, "Stop cleanly at this many tokens.", flag="--max-tokens", check=require_whole
    )
    max_seconds: float | None = setting(
        None, BUDGET, "Start no trial after this many seconds.", flag="--max-seconds", check=require_amount
    )

    store: Path | str | Journal | None = setting(
        Path(".simeval/simeval.db"),
        SURROUNDINGS,
        "Where every finished step is kept: a SQLite file, a PostgreSQL URL, a .jsonl file, or none.",
        flag="--store",
        unset="nowhere",
        check=require_place,
    )
    executor: str | RayExecutor = setting(
        "local",
        SURROUNDINGS,
        "Where trials run: local (this process) or ray (actors of a Ray cluster).",
        flag="--executor",
        check=require_executor,
    )
    shard: str | None = setting(
        None,
        SURROUNDINGS,
        "Run only this part of the suite's scenarios, such as 3/8; `simeval merge` joins the runs of all parts.",
        flag="--shard",
        metavar="I/N",
        unset="all of it",
        check=require_shard,
    )
    resume: str | None = setting(
        None,
        SURROUNDINGS,
        "Continue this run of the store (its id, or last), and pay only for the rest.",
        flag="--resume",
        metavar="RUN",
    )
    accept_changes: bool = setting(
        False, SURROUNDINGS, "Resume although something has changed; a new run takes over.", flag="--accept-changes"
    )
    cache: bool = setting(False, SURROUNDINGS, "Answer calls that some run made before from the store.", flag="--cache")
    rubric_folder: Path | str | None = setting(
        Path(".simeval/rubrics"),
        SURROUNDINGS,
        "Where rubrics that a model wrote are kept between runs.",
        unset="in memory only",
    )
    canary_folder: Path | str | None = setting(
        None,
        SURROUNDINGS,
        "Folder with judges' answers to fixed conversations; says whether a judge's model changed (24 calls).",
        flag="--canary",
        metavar="FOLDER",
        unset="not asked",
    )
    require_judge_test: bool = setting(
        False,
        SURROUNDINGS,
        "Refuse to run where `judge-test` has not licensed the judge for how it judges here.",
        flag="--require-judge-test",
    )
    model_options: Mapping[str, Any] | None = options_of_calls("--model-option", "An option for every call to a model.")
    judge_options: Mapping[str, Any] | None = options_of_calls(
        "--judge-option", "An option for the calls of judges, rubrics and scorers only."
    )
    user_options: Mapping[str, Any] | None = options_of_calls(
        "--user-option", "An option for the calls of the simulated user only."
    )
    app_options: Mapping[str, Any] | None = options_of_calls(
        "--app-option", "An option for the calls of an app that is a model only."
    )
    secret_patterns: Sequence[str] = setting(
        (), SURROUNDINGS, "What to mask in all texts, as secret.", flag="--secret-pattern", metavar="REGEX", repr=False
    )
    trace_out: TraceOut | None = setting(
        None,
        SURROUNDINGS,
        "Export the run as OpenTelemetry spans: to where OTEL_* variables say, or the program's own provider.",
        flag="--trace-out",
        unset="to nobody",
    )
    trace_in: str | None = setting(
        None,
        SURROUNDINGS,
        "Receive the app's own OpenTelemetry spans at this address, to see which tools it runs.",
        flag="--trace-in",
        metavar="HOST:PORT",
        unset="not at all",
        check=require_listening,
    )
    trace_in_seconds: float = setting(
        10.0,
        SURROUNDINGS,
        "Seconds to wait for a trial's spans, at most.",
        flag="--trace-in-wait",
        check=require_seconds,
    )
    display: Display | None = setting(
        None, SURROUNDINGS, "How a run is shown.", flag="--display", unset="live on a terminal, else plain"
    )

    def __post_init__(self) -> None:
        for each in fields(self):
            check(each, getattr(self, each.name))

    def options_of(self, role: ModelRole | None) -> Mapping[str, Any]:
        """Return the options of each call of a role: its own over those of all models."""
        return {**(self.model_options or {}), **(getattr(self, f"{role}_options") or {} if role else {})}

    @property
    def has_budget(self) -> bool:
        """Whether there is a limit on what a run spends, earlier attempts included."""
        return any(most is not None for most in (self.max_cost_usd, self.max_calls, self.max_tokens, self.max_seconds))

    @property
    def stop_mode(self) -> StopAt | None:
        """The event that ends a scenario; if only a proven fail matters, a proven side.

        None: a gate, if that can decide.
        """
        if self.stop == "reachable":
            return None
        return self.stop or ("fewest" if self.gate == "pass" else "verdict")

    @property
    def retry(self) -> RetryConfig:
        """How calls to models are retried."""
        return self.retry_config or RetryConfig()

    @property
    def writing_style(self) -> WritingStyleConfig:
        """Whether simulated users write in varied styles, and which."""
        return self.writing_style_config or DEFAULT_STYLE

    def __repr__(self) -> str:
        own = [each.name for each in fields(self) if each.repr and getattr(self, each.name) != each.default]
        return f"Settings({', '.join(f'{name}={getattr(self, name)!r}' for name in own)})"

    def overridden(self, overrides: Mapping[str, Any], *, beside: Sequence[str] = ()) -> "Settings":
        """Return these with others in their place. Raises DefinitionError, which may suggest a name `beside` them."""
        names, given = [each.name for each in fields(self)], dict[str, Any]()
        for name, value in overrides.items():
            own = own_name(name, names)
            if own not in names:
                do = meant_setting(name, fields(self), beside) or "see the fields of simeval.engine.Settings"
                raise DefinitionError("settings", found=f"there is no setting {name!r}", do=do)
            if own in given:
                raise DefinitionError("settings", found=f"{own!r} is given twice", do=f"leave {name!r} out")
            given[own] = value
        return replace(self, **given)


DEFAULTS = Settings()
ALPHA = DEFAULTS.significance_level  # error on each side of an interval, as verdicts have it
MARGIN = 0.05  # the loss of a share that a comparison tolerates
POWER = 0.8  # the chance of a pass that a sample is planned for
