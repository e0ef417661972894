"""The form of a suite file as a JSON schema, for completion and checks in editors."""

from collections.abc import Mapping
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from simeval.core.validation import SAME
from simeval.core.yaml_records import as_list
from simeval.scorers.metrics import METRICS, SCORERS
from simeval.suites.definitions import EVALUATORS, FILE, SCENARIOS

DRAFT = "https://json-schema.org/draft/2020-12/schema"
EVALUATOR = {
    "type": "object",
    "properties": {"type": {"anyOf": [{"enum": EVALUATORS.names}, {"type": "string", "pattern": ":"}]}},
    "required": ["type"],
}
SCORER = {
    "anyOf": [
        {"enum": [*METRICS, *SCORERS.names]},
        {"type": "string"},
        {"type": "object", "properties": {"type": {"type": "string"}}, "required": ["type"]},
    ]
}
WORLD = {
    "anyOf": [
        {"type": "string", "pattern": ":"},
        {"type": "object", "properties": {"type": {"type": "string"}}, "required": ["type"]},
    ]
}


class _Open(GenerateJsonSchema):
    """Accepts any value that a function of ours reads: that is checked when the file is."""

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        found = super().typed_dict_schema(schema)
        named = found["properties"]
        others = {other: named[name] for other, name in SAME.items() if name in named and other not in named}
        return {**found, "properties": {**named, **others}, "additionalProperties": False}

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        found = super().tagged_union_schema(schema)
        return {"anyOf": found["oneOf"]}  # by an app's fields alone it may be of several kinds: its address decides

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> JsonSchemaValue:
        found = super().function_before_schema(schema)
        is_list = schema["function"]["function"] is as_list
        return {"anyOf": [found["items"], found]} if is_list else found

    def function_plain_schema(self, schema: core_schema.PlainValidatorFunctionSchema) -> JsonSchemaValue:
        function: Any = schema["function"]["function"]
        known: Mapping[str, JsonSchemaValue] = {"read_evaluator": EVALUATOR, "read_scorer": SCORER, "read_world": WORLD}
        return known.get(getattr(function, "__name__", ""), {})


def suite_schema() -> dict[str, Any]:
    """Return the JSON schema of a suite file: a mapping, or a list of scenarios alone."""
    file = FILE.json_schema(schema_generator=_Open, ref_template="#/$defs/{model}")
    inner = SCENARIOS.json_schema(schema_generator=_Open, ref_template="#/$defs/{model}")
    scenarios = {"$ref": "#/$defs/scenarios"}
    definitions = {**file.pop("$defs", {}), **inner.pop("$defs", {}), "scenarios": inner["properties"]["scenarios"]}
    file["properties"]["scenarios"] = scenarios
    return {
        "$schema": DRAFT,
        "title": "A suite of simeval",
        "anyOf": [file, {**file, "required": ["attack"]}, scenarios],
        "$defs": definitions,
    }
