"""A file with one mistake is told that one, and nothing else, wherever it stands."""

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from simeval.errors import SuiteFileError
from simeval.suites import load_suite

GONE = object()  # in the place of a value: the field is left out
RATE = {"type": "success_rate", "min_proportion": 0.9}
SHARE = {"type": "proportion", "min_proportion": 0.9}
SUITE: Mapping[str, Any] = {
    "app": "offline/app",
    "max_turns": 5,
    "settings": {"concurrency": 4, "seed": 1},
    "scenarios": [
        {
            "title": "A",
            "given": "someone",
            "when": "they ask",
            "tags": ["x"],
            "sample_size": 10,
            "script": [{"user": "hello"}, {"simulate": 2}],
            "then": [
                {"scorer": {"type": "contains", "texts": ["a"]}, "label": "first", "evaluator": dict(SHARE)},
                {
                    "scorer": "response_latency",
                    "score": "max",
                    "evaluator": [
                        {"type": "quantile", "quantile": 0.9, "at_most": 3},
                        {"type": "quantile", "at_most": 5},
                    ],
                },
                {"tools": {"required": ["a"]}, "label": "third", "evaluator": dict(SHARE)},
                {"scorer": {"type": "regex_match", "pattern": "a"}, "label": "fourth", "evaluator": dict(SHARE)},
                {"scorer": "turn_count", "evaluator": {"type": "quantile", "at_most": 5}},
                {"scorer": "valid_json", "evaluator": dict(SHARE)},
            ],
        },
        {
            "title": "B",
            "given": "someone",
            "when": "they ask",
            "world": "contextlib:nullcontext",
            "then": [
                {"state": {"a": 1}, "evaluator": dict(SHARE)},
                {"expected_behavior": "it is kind", "rubric": ["bad", "good"], "evaluator": dict(RATE)},
                {"expected_behavior": "it is brief", "evaluator": {"type": "pass_hat_k", "k": 2, "at_least": 0.8}},
            ],
        },
        {
            "title": "C",
            "given": "someone",
            "when": "they ask",
            "users": {"mix": [{"persona": "angry", "share": 0.5}, {"persona": "calm", "share": 0.5}]},
            "then": {
                "criteria": ["be kind"],
                "evaluator": {"type": "rating_proportion", "min_rating": 7, "min_proportion": 0.8},
            },
        },
    ],
}
A, B, C = (("scenarios", place) for place in range(3))
THEN_A, THEN_B = (*A, "then"), (*B, "then")
MISTAKES: list[tuple[tuple[str | int, ...], Any, str]] = [
    (("app",), 3, "app: found 3"),
    (("aap",), "x", "no field 'aap'"),
    (("max_turns",), 0, "field max_turns: found 0"),
    (("settings", "concurrency"), "lots", "settings.concurrency: found 'lots'"),
    (("settings", "seed"), "x", "settings.seed: found 'x'"),
    (("settings", "order"), "random", "settings.order: found 'random'"),
    (("settings", "prompts"), {"usr": "x"}, "there is no prompt 'usr'"),
    ((*A, "title"), "B", "another scenario with the title 'B'"),
    ((*A, "given"), GONE, "0.given: the field is missing"),
    ((*A, "when"), "", "0.when: found ''"),
    ((*A, "wehn"), "x", "no field 'wehn'"),
    ((*A, "tags"), [""], "0.tags.0: found ''"),
    ((*A, "sample_size"), 0, "0.sample_size: found 0"),
    ((*A, "allowed_user_faults"), ["bad"], "0.allowed_user_faults.0: found 'bad'"),
    ((*A, "script"), [{"app": "hello"}], "found an answer to nothing"),
    ((*THEN_A, 0, "scorer", "texts"), [], "0.then.0.scorer.texts: found []"),
    ((*THEN_A, 0, "scorer", "txts"), ["a"], "no field 'txts'"),
    ((*THEN_A, 0, "evaluator", "type"), "success_rate", "is yes or no; use proportion"),
    ((*THEN_A, 0, "evaluator", "min_trials"), 0, "0.then.0.evaluator.min_trials: found 0"),
    ((*THEN_A, 0, "label"), 3, "0.then.0.label: found 3"),
    ((*THEN_A, 0, "score"), "foo", "contains gives yes or no, and no 'foo'"),
    ((*THEN_A, 4, "scorer"), "turn_cuont", "did you mean 'turn_count'?"),
    ((*THEN_A, 1, "score"), "most", "response_latency gives no 'most'"),
    ((*THEN_A, 1, "evaluator", 0, "quantile"), 9, "evaluator.0.quantile: found 9"),
    ((*THEN_A, 1, "evaluator", 0, "at_least"), 1, "found both at_least and at_most"),
    ((*THEN_A, 1, "evaluator", 1, "significance_level"), 7, "evaluator.1.significance_level: found 7"),
    ((*THEN_A, 2, "tools", "required"), 7, "0.then.2.tools.required: found 7"),
    ((*THEN_A, 2, "tools", "requird"), ["a"], "no field 'requird'"),
    ((*THEN_A, 2, "label"), "fourth", "two expectations with the label 'fourth'"),
    ((*THEN_A, 2, "evaluator", "min_proportion"), 90, "0.then.2.evaluator.min_proportion: found 90"),
    ((*THEN_A, 3, "scorer", "pattern"), "(", "0.then.3.scorer.pattern: found '('"),
    ((*THEN_A, 3, "expected_behavior"), "well", "found expected_behavior and scorer"),
    ((*THEN_A, 5, "evaluator", "threshold"), 5, "every score from 0 to 1 misses it (valid_json)"),
    ((*B, "world"), "builtins:Nothing", "builtins has no 'Nothing'"),
    ((*B, "sample_size"), "many", "1.sample_size: found 'many'"),
    ((*THEN_B, 0, "evaluator", "min_proporton"), 0.9, "no field 'min_proporton'"),
    ((*THEN_B, 1, "rubric"), 7, "1.then.1.rubric: found 7"),
    ((*THEN_B, 1, "expected_behavior"), "", "1.then.1.expected_behavior: found ''"),
    ((*THEN_B, 1, "evaluator", "min_proportion"), GONE, "1.then.1.evaluator.min_proportion: the field is missing"),
    ((*THEN_B, 1, "score"), "a", "a rating is one number"),
    ((*THEN_B, 2, "evaluator", "k"), 0, "1.then.2.evaluator.k: found 0"),
    ((*THEN_B, 2, "evaluator", "at_least"), 90, "1.then.2.evaluator.at_least: found 90"),
    ((*THEN_B, 2, "evaluator", "threshold"), 60, "every score from 1 to 10 misses it"),
    ((*C, "users", "mix", 0, "share"), 0.9, "the shares add up to 1.4"),
    ((*C, "users", "mix", 1, "persona"), "", "2.users.mix.1.persona: found ''"),
    ((*C, "then", "criteria"), [], "2.then.criteria: found []"),
    ((*C, "then", "evaluator", "min_rating"), 11, "2.then.evaluator.min_rating: found 11"),
    ((*C, "then", "evaluator", "min_proportion"), "most", "2.then.evaluator.min_proportion: found 'most'"),
]


def told(path: Path, *mistakes: tuple[tuple[str | int, ...], Any, str]) -> list[str]:
    """Return what is told of a suite with these mistakes."""
    suite = deepcopy(dict(SUITE))
    for place, value, _ in mistakes:
        inner: Any = suite
        for step in place[:-1]:
            inner = inner[step]
        if value is GONE:
            del inner[place[-1]]
        else:
            inner[place[-1]] = value
    path.write_text(yaml.safe_dump(suite, sort_keys=False))
    try:
        load_suite(str(path))
    except SuiteFileError as error:
        return str(error).splitlines()
    return []


def test_the_suite_is_right_without_a_mistake(tmp_path: Path) -> None:
    assert told(tmp_path / "suite.yaml") == []


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_one_mistake_is_told_once(tmp_path: Path, number: int) -> None:
    [line] = told(tmp_path / "suite.yaml", MISTAKES[number])

    assert MISTAKES[number][2] in line
