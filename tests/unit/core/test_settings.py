"""Settings: defaults, bounds, writing styles."""

from collections import Counter
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields
from math import nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.core.settings import RetryConfig, Settings, WritingStyleAxes, WritingStyleConfig
from simeval.core.validation import require
from simeval.errors import DefinitionError


def test_the_defaults_are_usable() -> None:
    settings = Settings()

    assert (settings.sample_size, settings.significance_level, settings.max_error_rate) == (30, 0.05, 0.1)
    assert (settings.on_app_error, settings.seed) == ("fail", None)
    assert settings.retry.enabled
    assert settings.writing_style.enabled


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Settings().sample_size = 5  # type: ignore[misc]


@pytest.mark.parametrize("name", ["sample_size", "concurrency", "model_concurrency", "app_concurrency"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "3", True])
def test_numbers_of_things_are_whole_and_positive(name: str, value: Any) -> None:
    with pytest.raises(DefinitionError, match=rf"^{name}: found .* use a whole number of 1 or more\.$"):
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
        ("max_error_rate", 1.1),
        ("on_app_error", "ignore"),
        ("seed", 1.5),
        ("seed", "7"),
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
