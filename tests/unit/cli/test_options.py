"""Options that are made of settings."""

from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from simeval.cli.commands import commands
from simeval.cli.main import SUMMARIES, main
from simeval.cli.options import GroupedCommand, option_named, overrides, setting_options, written_flags
from simeval.core.setting_field import about_of
from simeval.core.settings import DEFAULTS, Settings
from simeval.errors import DefinitionError

WITH_FLAG = [each for each in fields(Settings) if about_of(each).flag]
EXAMPLES: dict[str, tuple[list[str], object]] = {
    "significance_level": (["--alpha", "0.01"], 0.01),
    "early_stopping": (["--no-early-stopping"], False),
    "min_trials": (["--min-trials", "20"], 20),
    "display": (["--display", "plain"], "plain"),
    "stop": (["--stop", "verdict"], "verdict"),
    "gate": (["--gate", "not_fail"], "not_fail"),
    "joint": (["--joint"], True),
    "fail_fast": (["--fail-fast"], True),
    "order": (["--order", "history"], "history"),
    "judge_repeats": (["--judge-repeats", "3"], 3),
    "escalate": (["--escalate", "rating 4..8"], "rating 4..8"),
    "escalation_audit": (["--escalation-audit", "0.2"], 0.2),
    "judge_reply": (["--judge-reply", "label"], "label"),
    "criteria_calls": (["--criteria-calls", "each"], "each"),
    "judge_examples": (["--judge-examples", "labels.csv"], "labels.csv"),
    "date": (["--date", "2026-11-26"], "2026-11-26"),
    "judge_context_tokens": (["--judge-context", "4000"], 4000),
    "on_failed_control": (["--on-failed-control", "warn"], "warn"),
    "on_app_error": (["--on-app-error", "exclude"], "exclude"),
    "max_error_rate": (["--max-error-rate", "0.5"], 0.5),
    "user_format": (["--user-format", "text"], "text"),
    "on_user_fault": (["--on-user-fault", "retry"], "retry"),
    "max_user_fault_rate": (["--max-user-fault-rate", "0.5"], 0.5),
    "audit_users": (["--audit-users", "0.25"], 0.25),
    "seed": (["--seed", "0"], 0),
    "prompts": (["--prompt", "user=a.md", "--prompt", "judge=b/c.md"], {"user": Path("a.md"), "judge": Path("b/c.md")}),
    "concurrency": (["--concurrency", "3"], 3),
    "model_concurrency": (["--model-concurrency", "3"], 3),
    "app_concurrency": (["--app-concurrency", "3"], 3),
    "app_requests_per_minute": (["--app-rpm", "300"], 300),
    "app_timeout_seconds": (["--app-timeout", "1.5"], 1.5),
    "max_answer_bytes": (["--max-answer", "2000"], 2000),
    "model_timeout_seconds": (["--model-timeout", "2"], 2.0),
    "requests_per_minute": (["--rpm", "60"], 60),
    "tokens_per_minute": (["--tpm", "6000"], 6000),
    "outage_seconds": (["--outage", "10"], 10.0),
    "max_cost_usd": (["--max-cost", "2.5"], 2.5),
    "max_calls": (["--max-calls", "9"], 9),
    "max_tokens": (["--max-tokens", "900"], 900),
    "max_seconds": (["--max-seconds", "30"], 30.0),
    "store": (["--store", "none"], None),
    "executor": (["--executor", "ray"], "ray"),
    "shard": (["--shard", "3/8"], "3/8"),
    "resume": (["--resume", "last"], "last"),
    "accept_changes": (["--accept-changes"], True),
    "cache": (["--cache"], True),
    "canary_folder": (["--canary", "kept"], "kept"),
    "require_judge_test": (["--require-judge-test"], True),
    "trace_out": (["--trace-out", "otlp"], "otlp"),
    "trace_in": (["--trace-in", "127.0.0.1:4318"], "127.0.0.1:4318"),
    "trace_in_seconds": (["--trace-in-wait", "2"], 2.0),
    "model_options": (
        ["--model-option", "temperature=0.5", "--model-option", "api_base=http://x"],
        {"temperature": 0.5, "api_base": "http://x"},
    ),
    "judge_options": (["--judge-option", "max_tokens=300"], {"max_tokens": 300}),
    "user_options": (["--user-option", "api_key=k"], {"api_key": "k"}),
    "app_options": (["--app-option", "json_schema=false"], {"json_schema": False}),
    "secret_patterns": (["--secret-pattern", "a+", "--secret-pattern", "b"], ("a+", "b")),
}


def invoked(*arguments: str, of: str = "") -> tuple[dict[str, Any], dict[str, str]]:
    """Return the settings that were written on the command line of a command of all settings, and as what."""
    found: list[tuple[dict[str, Any], dict[str, str]]] = []

    @click.command(cls=GroupedCommand)
    @setting_options(*([of] if of else []))
    @click.pass_context
    def command(context: click.Context) -> None:
        found.append((overrides(context), dict(written_flags(context))))

    CliRunner().invoke(command, arguments, standalone_mode=False, catch_exceptions=False)
    return found[0]


def test_without_an_option_no_setting_is_written() -> None:
    assert invoked() == ({}, {})


@pytest.mark.parametrize("each", WITH_FLAG, ids=lambda each: each.name)
def test_an_option_gives_its_setting_and_no_other(each: "Field[Any]") -> None:
    arguments, value = EXAMPLES[each.name]

    given, flags = invoked(*arguments)

    assert given == {each.name: value}
    assert flags == {each.name: arguments[0]}
    assert getattr(DEFAULTS.overridden(given), each.name) == value


@pytest.mark.parametrize(("flag", "value"), [("--joint", True), ("--no-joint", False)])
def test_what_a_suite_can_set_can_be_taken_back(flag: str, value: bool) -> None:
    assert invoked(flag) == ({"joint": value}, {"joint": flag})


def test_the_value_of_the_default_is_written_too() -> None:
    assert invoked("--concurrency", str(DEFAULTS.concurrency)) == (
        {"concurrency": DEFAULTS.concurrency},
        {"concurrency": "--concurrency"},
    )


@pytest.mark.parametrize("written", ["temperature", "=1"])
def test_a_model_option_that_is_none_is_told(written: str) -> None:
    with pytest.raises(DefinitionError, match=r"--model-option: found .*; write NAME=VALUE"):
        invoked("--model-option", written)


@pytest.mark.parametrize(
    "arguments", [["--concurrency", "0"], ["--seed", "x"], ["--gate", "most"], ["--rpm", "1.5"], ["--max-cost", "x"]]
)
def test_a_value_of_another_kind_is_a_mistake_in_the_command(arguments: list[str]) -> None:
    with pytest.raises(click.UsageError):
        invoked(*arguments)


def help_of(command: str, flag: str = "--help") -> str:
    return CliRunner().invoke(main, [command, flag], terminal_width=400).output


@pytest.mark.parametrize("each", WITH_FLAG, ids=lambda each: each.name)
def test_help_has_each_setting_in_its_group_with_its_default(each: "Field[Any]") -> None:
    said, text = about_of(each), help_of("run", "--help-all")

    group = text[text.index(f"\n{said.group}:\n") :].split("\n\n")[0]
    line = next(line for line in group.splitlines() if line.strip().startswith(said.flag))
    assert said.help in " ".join(group.split())
    assert said.flag in line
    if isinstance(each.default, (int, float, Path)) and not isinstance(each.default, bool):
        assert f"[default: {each.default}" in group
    if said.unset and each.default is None:
        assert f"[default: {said.unset}]" in group


def test_a_command_says_in_its_own_words_what_a_setting_means_there() -> None:
    assert "Conversations in flight.  [default: 50; x>=1]" in help_of("score", "--help-all")
    assert "Where the run is kept, or none.  [default: .simeval/simeval.db]" in help_of("score", "--help-all")


def test_the_commands_fit_a_screen_in_groups() -> None:
    lines = CliRunner().invoke(main, ["--help"], terminal_width=80).output.splitlines()

    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert "begin    demo" in "\n".join(lines)
    assert CliRunner().invoke(main, []).output.splitlines() == lines


def test_each_command_is_in_a_group_with_its_line() -> None:
    context, whole = click.Context(main), CliRunner().invoke(main, ["--help-all"]).output

    assert all(main.get_command(context, name) for name in main.list_commands(context))
    assert all(f" {name:<11}{line}\n" in whole for name, line in SUMMARIES.items())


@pytest.mark.parametrize("older", ["agree", "feedback", "label", "probe"])
def test_a_command_is_found_by_its_older_name(older: str) -> None:
    assert help_of(older).startswith(f"Usage: main {older} ")
    assert older not in main.list_commands(click.Context(main))


@pytest.mark.parametrize("group", ["people", "persona"])
def test_no_summary_of_a_command_is_cut(group: str) -> None:
    listed = CliRunner().invoke(main, [group, "--help"], terminal_width=80).stdout.partition("Commands:")[2]

    assert listed.count(".\n") > 2
    assert "..." not in listed


@pytest.mark.parametrize(
    ("in_files", "flag", "value"),
    [
        ("--sample-size", "--samples", "9"),
        ("--significance-level", "--alpha", "0.1"),
        ("--user-simulator-model", "--user-model", "offline/user"),
        ("--requests-per-minute", "--rpm", "9"),
        ("--max-cost-usd", "--max-cost", "9"),
    ],
)
def test_an_option_is_found_by_the_name_of_its_setting(in_files: str, flag: str, value: str) -> None:
    command = main.get_command(click.Context(main), "run")
    assert command is not None

    one, other = (
        command.make_context("run", ["suite.yaml", each, value], token_normalize_func=option_named)
        for each in (in_files, flag)
    )

    assert one.params == other.params
    assert overrides(one) == overrides(other)
    assert flag in written_flags(one).values()


@pytest.mark.parametrize("command", ["attack", "run", "score", "select"])
def test_help_shows_twenty_options_and_help_all_the_rest(command: str) -> None:
    whole = help_of(command, "--help-all")

    assert 10 < help_of(command).count("\n  -") <= 20
    assert whole.count("\n  -") > 20
    assert "--help-all" in help_of(command)


@pytest.mark.parametrize(
    ("written", "read"),
    [(["--aa", "suite.yaml"], 10), (["--aa", "3", "suite.yaml"], 3), (["suite.yaml", "--aa"], 10)],
)
def test_a_file_behind_an_option_without_its_value_is_the_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: list[str], read: int
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("suite.yaml").touch()
    command = commands.commands["run"]

    context = command.make_context("run", written)

    assert context.params["aa"] == read
    assert "suite.yaml" in str(context.params["suite"])
