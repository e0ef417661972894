"""The JSON schema of suite files: published as it is made, and open to every suite there is."""

import json
from pathlib import Path

import pytest

from simeval.cli.init import SUITE
from simeval.suites.described import EVALUATORS
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


@pytest.mark.parametrize(
    "text", [SUITE, *((ROOT / "scenarios" / f"{name}.yaml").read_text() for name in ("support", "alice"))]
)
def test_suites_that_are_read_fit_it(text: str) -> None:
    import yaml

    schema = suite_schema()

    assert fits(yaml.safe_load(text), schema, schema["$defs"])


def fits(value: object, form: dict[str, object], definitions: dict[str, dict[str, object]]) -> bool:
    """Return whether a value has a form, by the few words that this schema uses."""
    match form:
        case {"$ref": str(name)}:
            return fits(value, definitions[name.rsplit("/", 1)[-1]], definitions)
        case {"anyOf": list(ways)}:
            return any(fits(value, way, definitions) for way in ways)
        case {"enum": list(known)}:
            return value in known
        case {"type": "object", "properties": dict(fields)}:
            required = form.get("required", [])
            assert isinstance(required, list)
            return (
                isinstance(value, dict)
                and set(required) <= set(value)
                and (form.get("additionalProperties", True) is not False or set(value) <= set(fields))
                and all(fits(each, fields[key], definitions) for key, each in value.items() if key in fields)
            )
        case {"type": "array", "items": dict(inner)}:
            return isinstance(value, list) and all(fits(each, inner, definitions) for each in value)
        case {"type": str(kind)}:
            kinds = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}
            return isinstance(value, kinds.get(kind, object))  # type: ignore[arg-type]
    return True
