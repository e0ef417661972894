"""Every error simeval raises, in one tree.

SimevalError
├── DefinitionError        a suite, scenario, evaluator, handler or option that cannot be used
│   └── SuiteFileError     the same, in a file: names file, line and field
├── AppError               the app under test raised, timed out or returned the wrong type
├── AppNotAsked            the app said "later", refused our key or was not reached; the trial is missing data
├── AppUnusable            the app has refused every message for too long: the run stops
├── ModelError             a call to a language model that failed; the trial it served is missing data
│   ├── MalformedReply     the model answered, but not in the form that was asked for
│   └── ModelUnusable      no call to this model can succeed: the run stops
├── StoreError             a journal or report could not be written; a run stops, because nothing may be lost
├── CannotTell             a judge finds that the conversation does not show the answer; the trial is missing data
├── CheckFailed            a check in the script of a conversation does not hold: the trial is not met
├── WorldError             a trial's world could not be opened, or its user's tool failed; the trial is missing data
├── NotMeasured            something a trial was to be measured by could not be read; the trial is missing data
├── DatasetChanged         a dataset is not there any more as it was when the run began
├── NoWorkers              no worker is left to run trials: the run stops
└── RunStopped             the run ended early because the user asked for that (on_app_error="stop")
"""

from collections.abc import Callable, Sequence
from errno import EMFILE
from os import strerror
from typing import Any, Literal

__all__ = [
    "AppError",
    "AppNotAsked",
    "AppUnusable",
    "CannotTell",
    "CheckFailed",
    "DatasetChanged",
    "DefinitionError",
    "MalformedReply",
    "ModelError",
    "ModelErrorKind",
    "ModelUnusable",
    "NoWorkers",
    "NotMeasured",
    "RunStopped",
    "SimevalError",
    "StoreError",
    "SuiteFileError",
    "WorldError",
]

ModelErrorKind = Literal[
    "rate_limit",
    "timeout",
    "connection",
    "server",
    "malformed",
    "content",
    "withheld",
    "authentication",
    "bad_request",
    "unknown_model",
    "download",
    "code",
]
WITHOUT_DOWNLOAD = (
    "allow the download or give a folder with the model; without one there is minilm to embed and embedded for "
    "sentiment, and nothing for toxicity and bias: take Safety, or an LLM judge"
)
TOO_MANY_FILES = (
    "this process holds as many files open as it may: see whether the app leaves files or connections open, or raise "
    "the limit (ulimit -n)"
)
LONGEST_PROBLEM = 300  # characters shown of a provider's message
LONGEST_KEPT = 10_000  # characters of it that are kept: more, so that no secret is cut before it is masked
RETRYABLE: frozenset[ModelErrorKind] = frozenset({"rate_limit", "timeout", "connection", "server", "malformed"})


class SimevalError(Exception):
    """Base of everything simeval raises on purpose.

    One that ends a run carries, as `partial`, the SuiteResult of the trials finished by then.
    """

    partial: Any = None


class DefinitionError(SimevalError, ValueError):
    """Something the user wrote cannot be used.

    `where` names the thing (an argument, a field, a file), `found` its value there, `do` the way out.
    """

    def __init__(self, where: str, *, found: str, do: str) -> None:
        self.where, self.found, self.do = where, found, do
        super().__init__(f"{where}: {found}; {do}{'' if do.endswith('?') else '.'}")


class SuiteFileError(DefinitionError):
    """A mistake in the file of a suite or a persona, with its line (from 1) and the path of the field.

    `others` are further ones of the same file; the text has them all.
    """

    def __init__(self, file: str, *, line: int, field: str, found: str, do: str) -> None:
        self.file, self.line, self.field = file, line, field
        at = f"{file}, line {line}" + (f", field {field}" if field else "")
        super().__init__(at, found=found, do=do)
        self.others: Sequence[SuiteFileError] = ()

    def with_others(self, others: "Sequence[SuiteFileError]") -> "SuiteFileError":
        """Return this mistake as the first of several: its text has them all, each on a line."""
        self.others = others
        self.args = ("\n".join(map(str, [self, *others])),)
        return self


class AppError(SimevalError):
    """The app under test failed its user at one turn (counted from 1)."""

    def __init__(self, turn: int, problem: str) -> None:
        self.turn, self.problem = turn, problem
        super().__init__(f"the app failed at turn {turn}: {problem}")


class AppNotAsked(SimevalError):
    """The app could not be asked at one turn (counted from 1), which is no evidence about the app.

    `outcome` is "later" (it asked us to come back), "key" (it refused our key) or "network" (it was not reached);
    `retry_after` the number of seconds it asked us to wait, if it did.
    """

    def __init__(self, turn: int, problem: str, *, outcome: str, retry_after: float | None = None) -> None:
        self.turn, self.problem, self.outcome, self.retry_after = turn, problem, outcome, retry_after
        self.tries = 1
        super().__init__(turn, problem, outcome)

    def __str__(self) -> str:
        tries = f" (tried {self.tries} times)" if self.tries > 1 else ""
        return f"the app could not be asked at turn {self.turn}: {self.problem}{tries}"


class AppUnusable(SimevalError):
    """The app has refused every message for so long that the run stops."""

    def __init__(self, name: str, problem: str, seconds: float) -> None:
        self.name, self.problem = name, problem
        super().__init__(
            f"{name} has refused every message for {seconds:.0f} s, last: {problem}; run again (--resume) when it "
            "answers, or wait longer with --outage"
        )


class ModelError(SimevalError):
    """A call to a language model failed.

    `kind` is the reason and decides whether the call is retried: "content" is a prompt that is too long, "withheld" an
    answer that a content filter or the model itself refused. `retry_after` is the number of seconds the provider asked
    to wait, if it did. The code that retries fills in `attempts`, how often the call was tried, and `role`, the purpose
    of the call.
    """

    def __init__(
        self,
        model: str,
        *,
        kind: ModelErrorKind,
        problem: str,
        retry_after: float | None = None,
    ) -> None:
        self.model, self.kind, self.problem = model, kind, problem[:LONGEST_KEPT]
        self.retry_after, self.attempts, self.role = retry_after, 1, ""
        self.wrong = problem[:LONGEST_KEPT]  # shown to the model, if its reply was malformed
        self.waited_out = False  # whether it was tried again until nothing more could be hoped for
        super().__init__(model, kind, self.problem)

    def __str__(self) -> str:
        tries = f" after {self.attempts} attempts" if self.attempts > 1 else ""
        return f"{self.model} failed ({self.kind}){tries}: {self.problem[:LONGEST_PROBLEM]}"

    def clean(self, mask: Callable[[str], str]) -> None:
        """Pass every text the error holds through `mask`, which takes secrets out; then keep the part that is shown."""
        self.problem = mask(self.problem)[:LONGEST_PROBLEM]
        self.args = (self.model, self.kind, self.problem)

    @property
    def retryable(self) -> bool:
        """Whether the same call may succeed when it is made again."""
        return self.kind in RETRYABLE


class MalformedReply(ModelError):
    """The model answered something that is not the JSON object it was asked for."""

    def __init__(self, model: str, *, problem: str, reply: str) -> None:
        super().__init__(model, kind="malformed", problem=f"{problem}, in {reply[:LONGEST_KEPT]!r}")
        self.wrong = problem[:LONGEST_KEPT]  # without the reply itself


class ModelUnusable(ModelError):
    """The model cannot be used at all: wrong key, unknown name, a request it will never accept."""

    def __str__(self) -> str:
        advice = {
            "authentication": "check the provider's API key in your environment",
            "unknown_model": "check the model's name (provider/model), and the end of api_base (often /v1)",
            "download": WITHOUT_DOWNLOAD,
            "connection": "check that its server runs and can be reached, and its api_base",
            "server": "try again later",
            "timeout": "try again later",
            "rate_limit": "try again later",
            "code": "return a simeval.models.Completion with a text",
        }.get(self.kind, "check the model's name and options")
        return f"{self.model} cannot be used ({self.kind}): {self.problem[:LONGEST_PROBLEM]}; {advice}"


class CannotTell(SimevalError):
    """A judge finds that a conversation does not show whether something is so."""

    def __init__(self, judge: str, asked: str) -> None:
        self.judge, self.asked = judge, asked
        super().__init__(f"{judge} cannot tell from the conversation: {asked[:LONGEST_PROBLEM]}")


class CheckFailed(SimevalError):
    """A check in the script of a conversation does not hold, after one turn of the app's (counted from 1)."""

    def __init__(self, turn: int, step: int, problem: str) -> None:
        self.turn, self.step, self.problem = turn, step, problem
        super().__init__(f"a check did not hold at turn {turn} (step {step} of the script): {problem}")


class WorldError(SimevalError):
    """A trial's world failed: that is no evidence about the app."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(f"the world {problem}")


class NotMeasured(SimevalError):
    """Something a trial was to be measured by could not be read: that is no evidence about the app."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(problem)


class StoreError(SimevalError):
    """The journal of a run, or its report, could not be written; `do` is the way out."""

    def __init__(self, path: str, *, problem: str, do: str = "check its path and its disk, or name another") -> None:
        self.path, self.problem = path, problem
        way_out = TOO_MANY_FILES if strerror(EMFILE) in problem else do
        super().__init__(f"{path!r} could not be written ({problem}); {way_out}")


class DatasetChanged(SimevalError):
    """A dataset cannot be read any more as it was when the run began."""

    def __init__(self, name: str, *, problem: str) -> None:
        self.name, self.problem = name, problem
        super().__init__(f"dataset {name!r} has changed ({problem}); leave it as it is while a run is going on")


class NoWorkers(SimevalError):
    """No worker is left to run the trials of a run."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(f"nobody is left who could run trials ({problem}); what was finished can be gone on with")


class RunStopped(SimevalError):
    """The run was stopped because an app error occurred and on_app_error is "stop"."""

    def __init__(self, scenario: str, index: int, problem: str) -> None:
        self.scenario, self.index, self.problem = scenario, index, problem
        super().__init__(f"the run stopped at scenario {scenario!r}, trial {index}: {problem} (on_app_error is 'stop')")


def said_of(error: BaseException) -> str:
    """Return the kind of an error with its message, if any."""
    said = str(error)
    return f"{type(error).__name__}: {said}" if said.strip() else type(error).__name__
