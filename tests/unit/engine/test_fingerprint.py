"""A definition says what a run's results depend on, and where two of them differ."""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from simeval.engine.plans.definition_changes import changes
from simeval.engine.plans.fingerprint import answer_options
from simeval.suites.apps.http_app import HttpApp
from simeval.suites.apps.named import code_of

BOT = """
def handle(message, shop=""):
    return "Yes."

class Bot:
    def __call__(self, message):
        return "Yes."

"""


def test_equal_definitions_have_no_changes() -> None:
    assert changes({"seed": 1, "scenarios": [{"title": "a"}]}, {"seed": 1, "scenarios": [{"title": "a"}]}) == []


def test_a_change_is_named_by_its_way_to_it() -> None:
    before = {"scenarios": [{"title": "a", "then": [{"title": "x", "score": None}]}]}
    now = {"scenarios": [{"title": "a", "then": [{"title": "x", "score": "length"}]}]}

    assert changes(before, now) == ["scenario 'a': then: 'x': score was not set and is 'length'"]


def test_one_version_of_all_prompts_is_held_against_that_of_each_that_is_read() -> None:
    assert changes({"prompts": "2"}, {"prompts": {"user": "2", "judge": "2"}}) == []
    assert changes({"prompts": "2"}, {"prompts": {}}) == []
    assert changes({"prompts": "2"}, {"prompts": {"user": "3", "judge": "2"}}) == [
        "prompts: user was '2' and is '3' (--prompt)"
    ]


def test_scenarios_are_told_apart_by_title_and_number() -> None:
    before = {"scenarios": [{"title": "a", "when": "1"}, {"title": "a", "when": "2"}]}
    now = {"scenarios": [{"title": "a", "when": "1"}, {"title": "a", "when": "3"}, {"title": "b"}]}

    assert changes(before, now) == [
        "scenario 'a' (2): when was '2' and is '3'",
        "scenario 'b' is new (--only)",
    ]


def test_what_several_scenarios_share_is_said_once_with_its_option() -> None:
    before, now = ({"scenarios": [{"title": name, "sample_size": size} for name in "abc"]} for size in (30, 60))

    assert changes(before, now) == ["each of 3 scenarios: sample_size was 30 and is 60 (--samples)"]


def test_of_long_texts_it_is_shown_where_they_part() -> None:
    said = "The bot says that the order is on its way, and that it arrives "
    before, now = ({"scenarios": [{"title": "a", "when": f"{said}{day}"}]} for day in ("today", "on Monday"))

    assert changes(before, now) == ["scenario 'a': when was '…hat it arrives today' and is '…hat it arrives on Monday'"]


def test_of_evaluators_it_is_shown_where_they_differ() -> None:
    def changed(before: list[str], now: list[str]) -> list[str]:
        sides = (
            {"scenarios": [{"title": "a", "then": [{"title": "x", "evaluators": each}]}]} for each in (before, now)
        )
        return changes(*sides)

    where = "scenario 'a': then: 'x': evaluators"
    assert changed(["Rate(alpha=0.05, bar=0.9)"], ["Rate(alpha=0.05, bar=0.8)"]) == [
        f"{where}: Rate: bar was 0.9 and is 0.8"
    ]
    assert changed(["Rate(bar=0.9)"], ["NotWorse(requirement=Rate(bar=0.9), margin=0.05)"]) == [
        f"{where}: Rate is gone",
        f"{where}: NotWorse is new",
    ]
    assert changed(["Rate(bar=0.9)", "Mean()"], ["Mean()", "Rate(bar=0.9)"]) == [
        f"{where} was Rate(bar=0.9), Mean() and is Mean(), Rate(bar=0.9)"
    ]
    assert changed(["<an own one>"], ["Mean()"]) == [f"{where} was <an own one> and is Mean()"]


def test_addresses_and_keys_are_not_of_the_answer() -> None:
    assert answer_options({"api_base": "http://x", "api_key": "k", "temperature": 1}) == {"temperature": 1}


def test_what_several_places_share_is_said_once() -> None:
    def suite(*titles: str, bar: float) -> dict[str, Any]:
        then = [{"title": "x", "evaluators": [f"Rate(bar={bar})"]}]
        return {"scenarios": [{"title": title, "then": then} for title in titles]}

    assert changes(suite("a", "b", "c", bar=0.9), suite("a", bar=0.9)) == ["2 scenarios are gone (--only)"]
    assert changes(suite("a", "b", bar=0.9), suite("a", "b", bar=0.8)) == [
        "each of 2 expectations ('x'): evaluators: Rate: bar was 0.9 and is 0.8"
    ]


def test_of_experiments_the_dataset_differs_and_no_option_is_named() -> None:
    before, now = ({"scenarios": [{"title": f"log, version {each}, 1 times", "then": []}]} for each in ("4f", "3e"))

    assert changes(before, now) == ["the dataset was log, version 4f and is log, version 3e"]


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ({"app's code": "a"}, {"app's code": "b"}, ["the code of the app bot:handle is another"]),
        ({"app's code": "a"}, {"app's code": "a"}, []),
        ({}, {"app's code": "b"}, []),  # of an older run
        ({"app's code": "a"}, {}, []),
        ({"app": "a:b", "app's code": "a"}, {"app's code": "b"}, ["app was 'a:b' and is 'bot:handle' (--app)"]),
    ],
)
def test_an_app_with_other_code_is_another(before: dict[str, str], now: dict[str, str], told: list[str]) -> None:
    assert changes({"app": "bot:handle", **before}, {"app": "bot:handle", **now}) == told


@pytest.mark.parametrize(
    "named",
    ["handle", "partial(handle, shop='x')", "Bot()", "Bot", "Bot().__call__", "wraps(handle)(lambda message: '')"],
)
def test_the_code_of_an_app_is_that_of_the_users_own_module(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a_bot.py"
    file.write_text(f"from functools import partial, wraps\n{BOT}app = {named}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "a_bot", raising=False)
    app = importlib.import_module("a_bot").app

    before = code_of(app)
    file.write_text(f"{file.read_text(encoding='utf-8')}# changed", encoding="utf-8")
    after = code_of(app)
    file.unlink()

    assert before
    assert before != after
    assert not code_of(app)


@pytest.mark.parametrize("line", ["from simeval import Engine", "from simeval import ScenarioTest"])
def test_a_module_that_has_runs_too_may_change_their_limits(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a_test.py").write_text(f"{line}\n{BOT}app = handle\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "a_test", raising=False)

    assert not code_of(importlib.import_module("a_test").app)


@pytest.mark.parametrize("app", [json.dumps, pytest.fail, HttpApp(url="http://127.0.0.1:9/chat")])
def test_an_app_of_a_package_has_no_code_of_the_user(app: object) -> None:
    assert not code_of(app)
