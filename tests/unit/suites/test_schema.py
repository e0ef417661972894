"""The JSON schema of suite files: published as it is made, and open to every suite there is."""

import json
import re
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator, ValidationError

from simeval.cli.init import suite_of
from simeval.cli.starter_apps import SUITE
from simeval.suites.definitions import EVALUATORS
from simeval.suites.schema import suite_schema

ROOT = Path(__file__).parents[3]


def test_the_published_schema_is_the_one_that_is_made() -> None:
    published = json.loads((ROOT / "docs/reference/suite.schema.json").read_text(encoding="utf-8"))

    assert published == suite_schema(), "write it anew: simeval schema > docs/reference/suite.schema.json"


def test_it_names_every_field_and_every_evaluator() -> None:
    schema = suite_schema()

    scenario, expectation = (schema["$defs"][name] for name in ("ScenarioTest", "Expectation"))
    assert {"title", "given", "when", "then", "tags", "facts"} <= set(scenario["properties"])
    assert {"expected_behavior", "scorer", "evaluator", "label"} <= set(expectation["properties"])
    assert all(name in json.dumps(expectation) for name in EVALUATORS.names)
    assert scenario["additionalProperties"] is False


def suites_of(page: str) -> list[str]:
    """Return the whole suites that a page of the documentation shows."""
    blocks = re.findall(r"```yaml[^\n]*\n(.*?)```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.DOTALL)
    return [block for block in blocks if re.search(r"^scenarios:", block, re.MULTILINE)]


PAGES = ("guides/apps.md", "guides/suites.md", "tutorials/http.md")
READ = {
    "init": SUITE.read_text(),
    "init of an address": suite_of("http://127.0.0.1:8080/chat"),
    "init of a socket": suite_of("wss://127.0.0.1:8080/chat"),
    **{path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "scenarios").glob("*.yaml"))},
    **{f"{page} {place}": text for page in PAGES for place, text in enumerate(suites_of(page))},
}


def test_pages_show_whole_suites() -> None:
    assert all(map(suites_of, PAGES))


@pytest.mark.parametrize("name", READ)
def test_suites_that_are_read_fit_it(name: str) -> None:
    Draft202012Validator(suite_schema()).validate(yaml.safe_load(READ[name]))


@pytest.mark.parametrize(
    ("written", "other"),
    [
        ("sample_size:", "samples:"),
        ("scenarios:", "alpha: 0.1\nscenarios:"),
        ("scenarios:", "settings: {rpm: 60, max_cost: 2}\nscenarios:"),
        ("scenarios:", "user_simulator_model: offline/user\nscenarios:"),
    ],
)
def test_other_names_that_are_read_fit_it(written: str, other: str) -> None:
    Draft202012Validator(suite_schema()).validate(yaml.safe_load(SUITE.read_text().replace(written, other, 1)))


def test_a_suite_with_a_field_that_there_is_not_does_not_fit() -> None:
    with pytest.raises(ValidationError):
        Draft202012Validator(suite_schema()).validate(yaml.safe_load(SUITE.read_text().replace("given:", "givn:")))
