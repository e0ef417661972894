"""Which of the names there are one may have been meant for."""

import pytest

from simeval.core.validation import MOST_LISTED, closest, nearest

COMMANDS = ("run", "runs", "show", "view", "import", "judge-test")
SCORERS = ("valid_json", "json_match", "response_latency", "authenticity", "exact_match")
SETTINGS = ("concurrency", "app_concurrency", "max_cost_usd", "max_calls", "user_simulator_model", "judge_model")


@pytest.mark.parametrize(
    ("name", "known", "asked"),
    [
        ("rnu", COMMANDS, "did you mean 'run'?"),
        ("report", COMMANDS, ""),
        ("test", COMMANDS, "did you mean 'judge-test'?"),
        ("latency", SCORERS, "did you mean 'response_latency'?"),
        ("exact", SCORERS, "did you mean 'exact_match'?"),
        ("json", SCORERS, "did you mean 'valid_json' or 'json_match'?"),
        ("concurency", SETTINGS, "did you mean 'concurrency'?"),
        ("max_cost", SETTINGS, "did you mean 'max_cost_usd'?"),
        ("temperature", SETTINGS, ""),
    ],
)
def test_a_name_is_asked_for_that_is_alike_in_letters_or_words(name: str, known: tuple[str, ...], asked: str) -> None:
    assert closest(name, known) == asked


def test_a_few_names_are_all_told_where_none_is_alike() -> None:
    assert nearest("xyz", ["one", "two words"], more=", or another") == "use one of one, 'two words', or another"


def test_of_many_names_those_most_alike_are_told_and_who_tells_the_others() -> None:
    many = [f"name{chr(97 + number)}" for number in range(MOST_LISTED)] + ["wxyz"]

    told = nearest("xyv", many, see="a page lists them")

    assert told.startswith(f"use one of {len(many)}, such as wxyz, name")
    assert told.endswith("; a page lists them")
    assert told.count("name") == 2
