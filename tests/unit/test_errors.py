"""Errors: what was wrong, where, and what to do."""

from typing import get_args

import pytest

from simeval.errors import (
    RETRYABLE,
    AppError,
    DefinitionError,
    MalformedReply,
    ModelError,
    ModelErrorKind,
    ModelUnusable,
    RunStopped,
    SimevalError,
    SuiteFileError,
)

DEFINITION = DefinitionError("sample_size", found="found 0", do="use 1 or more")
SUITE = SuiteFileError("suite.yaml", line=7, field="scenarios.0.title", found="found ''", do="write a title")
KINDS: tuple[ModelErrorKind, ...] = get_args(ModelErrorKind)


@pytest.mark.parametrize(
    "error",
    [
        DEFINITION,
        SUITE,
        AppError(1, "it raised"),
        ModelError("m", kind="server", problem="HTTP 500"),
        MalformedReply("m", problem="no JSON object", reply="x"),
        ModelUnusable("m", kind="authentication", problem="HTTP 401"),
        RunStopped("title", 3, "it raised"),
    ],
)
def test_every_error_is_a_simeval_error(error: Exception) -> None:
    assert isinstance(error, SimevalError)
    assert str(error)


def test_a_definition_error_says_where_what_was_found_and_what_to_do() -> None:
    assert str(DEFINITION) == "sample_size: found 0; use 1 or more."
    assert isinstance(DEFINITION, ValueError)


def test_an_error_in_a_suite_names_file_line_and_field() -> None:
    assert str(SUITE) == "suite.yaml, line 7, field scenarios.0.title: found ''; write a title."
    assert (SUITE.file, SUITE.line, SUITE.field) == ("suite.yaml", 7, "scenarios.0.title")
    assert isinstance(SUITE, DefinitionError)


def test_an_error_of_a_whole_file_names_no_field() -> None:
    error = SuiteFileError("suite.yaml", line=1, field="", found="this is not YAML", do="correct it")

    assert str(error) == "suite.yaml, line 1: this is not YAML; correct it."


def test_an_app_error_names_the_turn() -> None:
    assert str(AppError(2, "KeyError: 'x'")) == "the app failed at turn 2: KeyError: 'x'"


def test_a_model_error_names_model_kind_attempts_and_problem() -> None:
    error = ModelError("openai/gpt", kind="rate_limit", problem="HTTP 429")
    once = str(error)
    error.attempts = 5

    assert once == "openai/gpt failed (rate_limit): HTTP 429"
    assert str(error) == "openai/gpt failed (rate_limit) after 5 attempts: HTTP 429"


@pytest.mark.parametrize("kind", KINDS)
def test_causes_that_may_pass_are_retried_and_no_others(kind: ModelErrorKind) -> None:
    passing = kind in ("rate_limit", "timeout", "connection", "server", "malformed")

    assert ModelError("m", kind=kind, problem="x").retryable == passing == (kind in RETRYABLE)


@pytest.mark.parametrize(
    ("kind", "advice"),
    [("authentication", "API key"), ("unknown_model", "provider/model"), ("bad_request", "name and options")],
)
def test_a_model_that_cannot_be_used_comes_with_advice(kind: ModelErrorKind, advice: str) -> None:
    text = str(ModelUnusable("openai/gpt", kind=kind, problem="HTTP 4xx"))

    assert text.startswith(f"openai/gpt cannot be used ({kind}): HTTP 4xx; ")
    assert advice in text


def test_a_stopped_run_names_scenario_trial_and_option() -> None:
    text = str(RunStopped("Refunds", 3, "the app failed"))

    assert "'Refunds', trial 3: the app failed" in text
    assert "on_app_error is 'stop'" in text


def test_a_malformed_reply_shows_its_beginning() -> None:
    error = MalformedReply("m", problem="no JSON object", reply="x" * 1000)

    assert "x" * 200 in str(error)
    assert "x" * 301 not in str(error)


def test_a_secret_at_the_place_where_a_text_is_cut_is_masked_whole() -> None:
    error = ModelError("m", kind="server", problem="x" * 290 + "correct-horse-battery")

    error.clean(lambda text: text.replace("correct-horse-battery", "[secret]"))

    assert str(error).endswith("xx[secret]")
    assert "correct" not in f"{error} {error!r}"
