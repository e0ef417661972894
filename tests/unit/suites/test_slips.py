"""Slips of YAML: told where they were made, and not where the reader of YAML stumbles over them."""

from pathlib import Path

import pytest

from simeval.core.yaml_files import read_yaml
from tests.support.suite_files import mistake


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "suite.yaml"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a: 1\nb: 'open\n", 2, "a quote that begins here is not closed"),
        ("a: 1\nb: 'it's fine'\n", 2, "a text goes on behind its quote"),
        ("title:A\ngiven: x\n", 1, "there is no space behind the colon"),
        ("a: 1\ngiven someone\nwhen: x\n", 2, "there is no colon behind the name"),
        ("a: 1\ngiven: note: this\n", 2, "put a text that has a colon in quotes"),
        ("tags:\n  - a word\ngiven: a: b\n", 3, "put a text that has a colon in quotes"),
        (r'a: "\d+"', 1, "put the text in single quotes"),
        ("a: {b: 1 c: 2}\n", 1, "put a comma between the fields"),
        ("a: {b: 0,9}\n", 1, "write numbers with a point"),
        ("a: 1\n when: the user doesn't pay\n", 2, "in quotes, or begin the line in the right column"),
        ("- a: 1\n b: the user doesn't pay\n", 2, "begin in the same column"),
        ("a:\n  - scorer:response_latency\n    b: {c: 1}\n", 2, "there is no space behind the colon"),
        ("a:\n  - label:day\n    b: {c: 1}\n", 2, "there is no space behind the colon"),
        ("seed: 1\nscenarios\n  - title: A\n    when: x\n", 2, "there is no colon behind the name"),
        ("- when: x\n  then\n    expected: y\n", 2, "there is no colon behind the name"),
        ("a: 1\nsample_size=40\nb: 2\n", 2, "there is a = where a colon stands"),
        ("a:\n  -title: A\n   given: x\n", 2, "there is no space behind the dash"),
        ("-title: A\n given: x\n", 1, "there is no space behind the dash"),
        ("a: {b: 1, c:2}\n", 1, "there is no space behind the colon of c:2"),
        ("a: 1\nb:{c: 2, d: 3}\n", 2, "there is no space behind the colon"),
        ("a: 1\nb: {c: 2}}\nd: 3\n", 2, "there is a } too many"),
        ("a: 1\nb: [c, d\ne: 3\n", 2, "a [ that begins here is not closed, or lacks a comma"),
        ("a: 1\nb: {c: 1\n", 2, "a { that begins here is not closed"),
        ("given: The user\n  wants a refund\n  and: more\n", 3, "put a text that has a colon in quotes"),
    ],
)
def test_a_slip_is_told_where_it_was_made(file: Path, text: str, line: int, said: str) -> None:
    error = mistake(file, text)

    assert (error.line, said in str(error)) == (line, True)


@pytest.mark.parametrize("key", ["db:find", "llama3:8b", "12:30", "http://a/c"])
def test_a_name_with_a_colon_is_a_name(file: Path, key: str) -> None:
    file.write_text(f"a: {{{key}: 0.5}}\n")

    _, found = read_yaml(file)

    assert list(found["a"].values()) == [0.5]
