"""Settings: defaults, bounds, writing styles."""

from collections import Counter
from collections.abc import Callable
from dataclasses import Field, FrozenInstanceError, fields, replace
from math import nan
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.core.run_records import Journal
from simeval.core.setting_field import (
    BUDGET,
    LIMITS,
    SURROUNDINGS,
    VERDICTS,
    WritingStyleAxes,
    WritingStyleConfig,
    about_of,
    choices,
)
from simeval.core.setting_overrides import SettingOverrides
from simeval.core.settings import RetryConfig, Settings
from simeval.core.validation import SAME, require
from simeval.engine.engine import Engine
from simeval.errors import DefinitionError

COUNTS = (
    "sample_size",
    "concurrency",
    "model_concurrency",
    "app_concurrency",
    "judge_repeats",
    "judge_context_tokens",
    "requests_per_minute",
    "tokens_per_minute",
    "max_calls",
    "max_tokens",
)


def test_the_defaults_are_usable() -> None:
    settings = Settings()

    assert (settings.sample_size, settings.significance_level, settings.max_error_rate) == (30, 0.05, 0.1)
    assert (settings.on_app_error, settings.seed) == ("fail", None)
    assert settings.retry.enabled
    assert settings.writing_style.enabled


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Settings().sample_size = 5  # type: ignore[misc]


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("value", [0, -1, 1.5, "3", True])
def test_numbers_of_things_are_whole_and_positive(name: str, value: Any) -> None:
    with pytest.raises(DefinitionError, match=rf"^{name}: found .* use a whole number of 1 or more\.$"):
        Settings(**{name: value})


@pytest.mark.parametrize("name", ["max_cost_usd", "max_seconds"])
@pytest.mark.parametrize("value", [0, -1, True, "10", nan])
def test_a_limit_is_above_nothing(name: str, value: Any) -> None:
    with pytest.raises(DefinitionError, match=rf"^{name}: "):
        Settings(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model_timeout_seconds", 0),
        ("app_timeout_seconds", -1.0),
        ("app_timeout_seconds", nan),
        ("significance_level", 0.0),
        ("significance_level", 0.5),
        ("significance_level", nan),
        ("max_error_rate", -0.1),
        ("escalation_audit", 1.1),
        ("max_error_rate", 1.1),
        ("on_app_error", "ignore"),
        ("seed", 1.5),
        ("seed", "7"),
        ("joint", "yes"),
        ("cache", 1),
        ("display", "no"),
        ("retry_config", 3),
        ("writing_style_config", True),
    ],
)
def test_a_setting_out_of_its_bounds_is_named(name: str, value: Any) -> None:
    with pytest.raises(DefinitionError) as raised:
        Settings(**{name: value})

    assert raised.value.where == name


@pytest.mark.parametrize(
    "name", ["model_timeout_seconds", "app_timeout_seconds", "significance_level", "max_error_rate"]
)
def test_a_setting_of_a_wrong_type_is_named(name: str) -> None:
    wrong: dict[str, Any] = {name: "1"}

    with pytest.raises(DefinitionError) as raised:
        Settings(**wrong)

    assert raised.value.where == name


@pytest.mark.parametrize(
    ("define", "where"),
    [
        (lambda: RetryConfig(max_attempts=0), "RetryConfig.max_attempts"),
        (lambda: RetryConfig(backoff_multiplier=-1), "RetryConfig.backoff_multiplier"),
        (lambda: RetryConfig(max_backoff_seconds=-1), "RetryConfig.max_backoff_seconds"),
        (lambda: RetryConfig(max_backoff_seconds=nan), "RetryConfig.max_backoff_seconds"),
        (lambda: WritingStyleAxes(tone=()), "WritingStyleAxes.tone"),
        (lambda: WritingStyleAxes(tone="angry"), "WritingStyleAxes.tone"),
        (lambda: WritingStyleAxes(formality=("",)), "WritingStyleAxes.formality"),
        (lambda: WritingStyleAxes(verbosity=(3,)), "WritingStyleAxes.verbosity"),  # type: ignore[arg-type]
    ],
)
def test_a_part_of_the_settings_that_cannot_be_used_is_named(define: Callable[[], object], where: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        define()

    assert raised.value.where == where


def test_what_is_required_and_holds_is_silent_and_else_says_what_was_found() -> None:
    require(True, "x", found=1, do="do that")

    with pytest.raises(DefinitionError, match=r"^x: found 'y'; do that\.$"):
        require(False, "x", found="y", do="do that")


def test_the_keyword_arguments_of_an_engine_are_the_fields_of_the_settings_and_names_of_options() -> None:
    names = {"Journal": Journal}
    of_settings, overrides = get_type_hints(Settings, localns=names), get_type_hints(SettingOverrides, localns=names)
    others = {name: of_settings[own] for name, own in SAME.items() if own in of_settings}

    assert overrides == {**others, **of_settings}
    assert [name for name in overrides if name not in others] == [each.name for each in fields(Settings)]


def test_an_engine_takes_every_setting_by_its_name_before_its_settings() -> None:
    given = Settings(sample_size=7, concurrency=3, seed=1, store=None)

    found = Engine(settings=given, concurrency=5, max_calls=9).settings

    assert found == replace(given, concurrency=5, max_calls=9)


def test_an_engine_takes_a_setting_by_the_name_of_its_option() -> None:
    found = Engine(user_model="offline/user", alpha=0.1, samples=7, rpm=60, max_cost=2.0, store=None).settings

    assert found == Settings(
        significance_level=0.1, sample_size=7, requests_per_minute=60, max_cost_usd=2.0, store=None
    )


def test_a_setting_under_two_names_is_refused() -> None:
    with pytest.raises(DefinitionError, match="'sample_size' is given twice; leave 'samples' out"):
        Engine(sample_size=7, samples=9)


def test_other_names_of_settings_are_those_of_their_options() -> None:
    flags = {about_of(each).flag.removeprefix("--").replace("-", "_"): each.name for each in fields(Settings)}

    assert all(flags.get(name, own) == own for name, own in SAME.items())


@pytest.mark.parametrize(
    ("name", "do"),
    [
        ("concurency", "did you mean 'concurrency'?"),
        ("user_modell", "did you mean 'user_simulator_model'?"),
        ("judge_modell", "did you mean 'judge_model'?"),
        ("x", "see the fields of simeval.engine.Settings"),
    ],
)
def test_a_name_that_is_no_setting_is_told_with_the_nearest(name: str, do: str) -> None:
    unknown: dict[str, Any] = {name: 5}

    with pytest.raises(DefinitionError) as raised:
        Engine(**unknown)

    assert raised.value.found == f"there is no setting {name!r}"
    assert raised.value.do.startswith(do)


@pytest.mark.parametrize("each", fields(Settings), ids=lambda each: each.name)
def test_every_setting_says_what_it_is(each: "Field[Any]") -> None:
    said = about_of(each)

    assert said.help.endswith(".")
    assert said.group in (VERDICTS, LIMITS, BUDGET, SURROUNDINGS)
    assert said.check is not None or choices(each.type) or not said.is_of_a_suite
    assert said.flag == "" or said.flag.startswith("--")


@given(st.integers(0, 2**63 - 1))
def test_a_style_takes_one_value_from_each_axis(seed: int) -> None:
    axes = WritingStyleAxes()

    style = WritingStyleConfig(axes=axes).draw(seed)

    assert style is not None
    assert list(style) == [axis.name for axis in fields(axes)]
    assert all(value in getattr(axes, name) for name, value in style.items())
    assert style == WritingStyleConfig(axes=axes).draw(seed)


def test_styles_of_many_trials_use_every_value_of_an_axis() -> None:
    config = WritingStyleConfig()

    tones = Counter(style["tone"] for seed in range(400) if (style := config.draw(seed)))

    assert set(tones) == set(config.axes.tone)
    assert max(tones.values()) < 2 * 400 / len(tones)


def test_axes_of_ones_own_are_drawn_from() -> None:
    axes = WritingStyleAxes(tone=["Furious."], verbosity=["One word."])

    style = WritingStyleConfig(axes=axes).draw(1)

    assert style is not None
    assert (style["tone"], style["verbosity"]) == ("Furious.", "One word.")


def test_no_style_is_drawn_where_styles_are_off() -> None:
    assert WritingStyleConfig(enabled=False).draw(1) is None
