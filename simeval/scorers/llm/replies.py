"""The replies of models to graded scorers: JSON objects with the reasons first, so that they precede the verdict."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from simeval.models.protocol.replies import Reasoning, Reply, Text

MOST_CLAIMS = 1000

Flag = Annotated[bool, Field(strict=True)]


def _object(**properties: Mapping[str, Any]) -> Mapping[str, Any]:
    listed = list(properties)
    return {"type": "object", "properties": properties, "required": listed, "additionalProperties": False}


def _list(item: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"type": "array", "items": item}


_TEXT: Mapping[str, Any] = {"type": "string"}
_FLAG: Mapping[str, Any] = {"type": "boolean"}


class Ruling(Reply):
    """Whether one criterion is met."""

    reasoning: Reasoning
    met: Flag
    json_schema: ClassVar[Mapping[str, Any]] = _object(reasoning=_TEXT, met=_FLAG)


class Rulings(Reply):
    """Whether each of several criteria is met, by its name; made for given names by `rulings_of`."""

    rulings: Mapping[str, Ruling]
    names: ClassVar[frozenset[str]] = frozenset()
    json_schema: ClassVar[Mapping[str, Any]] = _object(rulings=_object())

    @field_validator("rulings")
    @classmethod
    def _each(cls, rulings: Mapping[str, Ruling]) -> Mapping[str, Ruling]:
        if rulings.keys() != cls.names:
            raise ValueError(f"rulings must be exactly on {', '.join(sorted(cls.names))}")
        return rulings


def rulings_of(asked: Sequence[str]) -> type[Rulings]:
    """Return the reply that holds a ruling for each of these names, and for no other."""

    class RulingsOfNames(Rulings):
        names = frozenset(asked)
        json_schema = _object(rulings=_object(**dict.fromkeys(asked, Ruling.json_schema)))

    return RulingsOfNames


class Claim(Reply):
    """One claim that a text makes, and whether its source supports it."""

    claim: Text
    reasoning: Reasoning
    supported: Flag
    json_schema: ClassVar[Mapping[str, Any]] = _object(claim=_TEXT, reasoning=_TEXT, supported=_FLAG)


class Claims(Reply):
    """All claims of a text; empty if it makes none."""

    claims: Annotated[tuple[Claim, ...], Field(max_length=MOST_CLAIMS)]
    json_schema: ClassVar[Mapping[str, Any]] = _object(claims=_list(Claim.json_schema))


class Share(Reply):
    """How much of something, from 0 to 1."""

    reasoning: Reasoning
    score: Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
    json_schema: ClassVar[Mapping[str, Any]] = _object(
        reasoning=_TEXT, score={"type": "number", "minimum": 0, "maximum": 1}
    )


class OneToFive(Reply):
    """A rating on a scale of five."""

    reasoning: Reasoning
    score: Annotated[int, Field(strict=True, ge=1, le=5)]
    json_schema: ClassVar[Mapping[str, Any]] = _object(
        reasoning=_TEXT, score={"type": "integer", "minimum": 1, "maximum": 5}
    )


class Questions(Reply):
    """Questions that a text would answer, and whether it answers nothing."""

    noncommittal: Flag
    questions: Annotated[tuple[Text, ...], Field(min_length=1, max_length=MOST_CLAIMS)]
    json_schema: ClassVar[Mapping[str, Any]] = _object(noncommittal=_FLAG, questions=_list(_TEXT))


class Quality(Reply):
    """The quality of a summary."""

    reasoning: Reasoning
    grade: Literal["poor", "ok", "excellent"]
    json_schema: ClassVar[Mapping[str, Any]] = _object(
        reasoning=_TEXT, grade={"type": "string", "enum": ["poor", "ok", "excellent"]}
    )


class Entities(Reply):
    """The named entities of a text."""

    entities: tuple[Annotated[str, Field(strict=True)], ...]
    json_schema: ClassVar[Mapping[str, Any]] = _object(entities=_list(_TEXT))
