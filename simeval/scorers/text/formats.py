"""Formats: whether an answer is JSON, XML, or fits a pydantic model.

Each gives {"valid": bool, "reason": str}, the reason being empty if the answer is valid. An answer that is empty or no
text at all is invalid: the app failed its user, nothing is missing.
"""

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args
from xml.parsers import expat

from simeval.core.direction import UNIT
from simeval.core.validation import require_one_of
from simeval.errors import DefinitionError
from simeval.scorers.base import ColumnScorer
from simeval.scorers.values import canonical, given, is_array, read_json, same, shown

if TYPE_CHECKING:
    from pydantic import BaseModel

FENCE = "```"

Order = Literal["ordered", "same", "superset", "subset"]


@dataclass(kw_only=True, eq=False)
class FormatScorer(ColumnScorer, ABC):
    """The base of scorers of a format. With `fenced` an answer may also be in one Markdown fence, and only there."""

    fenced: bool = False

    default_score = "valid"
    paths = ("valid",)
    bounds = UNIT
    direction = "higher"
    quick = True  # the parsers hold Python's lock anyway; 1 MB takes 5 to 20 ms
    language: ClassVar[str] = ""

    def score(self, output: Any) -> Mapping[str, Any]:
        """Return whether the output is valid, and why not."""
        problem = self.problem(self._unfenced(output) if self.fenced and isinstance(output, str) else output)
        return {"valid": not problem, "reason": problem}

    @abstractmethod
    def problem(self, output: Any) -> str:
        """Return the error of an output; empty if it has none."""

    def _unfenced(self, text: str) -> str:
        opening, _, rest = text.strip().partition("\n")
        if not opening.startswith(FENCE) or opening.strip("`").strip().lower() not in ("", self.language):
            return text
        return rest.removesuffix(FENCE) if rest.endswith(FENCE) else text


@dataclass(kw_only=True, eq=False)
class ValidJSON(FormatScorer):
    """Whether the output is a JSON object or array.

    As text it must parse, strictly: a bare number, text or null is not valid, nor are NaN and Infinity anywhere. An
    output that already is a dict or a list must be possible to write as JSON.
    """

    language = "json"

    def problem(self, output: Any) -> str:
        if isinstance(output, (dict, list)):
            return _unwritable(output)
        found, problem = _parsed(output)
        if problem or isinstance(found, (dict, list)):
            return problem
        return f"{_kind_of(found)}, neither an object nor an array"


@dataclass(kw_only=True, eq=False)
class ValidXML(FormatScorer):
    """Whether the output is one well-formed XML document, but for space around it.

    One that declares entities is refused, so that none can grow without bounds; nothing is ever fetched.
    """

    language = "xml"

    def problem(self, output: Any) -> str:
        if not isinstance(output, str) or not output.strip():
            return _no_text(output)
        parser = expat.ParserCreate()
        parser.EntityDeclHandler = _refuse_entities
        try:
            parser.Parse(output.strip(), True)
        except (expat.ExpatError, ValueError) as error:  # ValueError also for half a pair of surrogates
            return str(error)
        return ""


@dataclass(kw_only=True, eq=False)
class PydanticScorer(FormatScorer):
    """Whether the output fits a pydantic model: an instance of it, a dict, or JSON text.

    `strict` allows no conversion ("1" is then no integer). The reason names the place of the first mistake. Raises
    DefinitionError for anything but a pydantic model.
    """

    gives_ratings = False
    model: "type[BaseModel]" = field(kw_only=False)
    strict: bool = False

    language = "json"

    def __post_init__(self) -> None:
        super().__post_init__()
        from pydantic import BaseModel  # slow to import

        if not (isinstance(self.model, type) and issubclass(self.model, BaseModel)):
            do = "give a class that inherits pydantic.BaseModel"
            raise DefinitionError("PydanticScorer.model", found=f"found {self.model!r}", do=do)

    def problem(self, output: Any) -> str:
        from pydantic import ValidationError

        problem = _parsed(output)[1] if isinstance(output, str) else ""
        if problem:
            return problem
        read = self.model.model_validate_json if isinstance(output, str) else self.model.model_validate
        try:
            read(output, strict=self.strict)
        except ValidationError as error:
            return _first_mistake(error.errors(include_url=False, include_context=False, include_input=False))
        return ""


def _parsed(output: object) -> tuple[object, str]:
    """Return the value of a JSON text, and its error."""
    if not isinstance(output, str) or not output.strip():
        return None, _no_text(output)
    try:
        output.encode()  # half a pair of surrogates can be written nowhere
        return read_json(output), ""
    except ValueError as error:
        return None, str(error)


def _unwritable(output: object) -> str:
    try:
        json.dumps(output, allow_nan=False)
    except RecursionError:
        return "nested too deeply to be written"
    except (TypeError, ValueError) as error:
        return str(error)
    return ""


def _no_text(output: object) -> str:
    return "empty" if output is None or isinstance(output, str) else f"{_kind_of(output)}, no text"


def _kind_of(value: object) -> str:
    return {str: "a text", bool: "a boolean", int: "a number", float: "a number", type(None): "null"}.get(
        type(value), f"of type {type(value).__name__}"
    )


def _refuse_entities(*_: object) -> None:
    raise ValueError("declares an entity, which is refused")


def _first_mistake(mistakes: list[Any]) -> str:
    first = mistakes[0]
    place = ".".join(str(part) for part in first["loc"])
    more = f" (and {len(mistakes) - 1} more)" if len(mistakes) > 1 else ""
    return f"{place}: {first['msg']}{more}" if place else f"{first['msg']}{more}"


@dataclass(kw_only=True, eq=False)
class JSONMatch(ColumnScorer):
    """How many members of the output's object or array equal those of the reference's.

    Of objects the keys of either side count, but for those in `ignore`; a key that only one side has is a miss. For
    arrays `lists` sets the comparison: "ordered", element by element at its place; "same", the elements of either side
    in any order; "superset", those of the reference; "subset", those of the output. Output and reference may be JSON
    text. An output that is no JSON, or the other of the two kinds, matches nothing. 0.5 MB takes a second.
    """

    ignore: Collection[str] = ()
    lists: Order = "ordered"

    default_score = "all"
    direction = "higher"
    bounds = UNIT

    def __post_init__(self) -> None:
        super().__post_init__()
        require_one_of(self.lists, get_args(Order), "JSONMatch.lists")

    def score(self, output: Any, reference: Any) -> Mapping[str, Any]:
        """Return whether `all` members match, the `share` of them that do, and why not all; of an object, which do.

        The share is 1 if nothing counts. Raises DefinitionError for a reference that is no object or array.
        """
        wanted, found = _structure(given(reference, self.name)), _structure(output)
        if wanted is None:
            do = "give a JSON object or array"
            raise DefinitionError(f"scorer {self.name}", found=f"the reference is {reference!r:.80}", do=do)
        if found is None or isinstance(found, Mapping) != isinstance(wanted, Mapping):
            kind = "object" if isinstance(wanted, Mapping) else "array"
            return {"all": False, "share": 0.0, "reason": f"the output is no JSON {kind}"}
        return self._objects(found, wanted) if isinstance(wanted, Mapping) else self._arrays(found, wanted)

    def _objects(self, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> Mapping[str, object]:
        keys = [key for key in dict.fromkeys([*wanted, *found]) if key not in self.ignore]
        members = {key: key in found and key in wanted and same(found[key], wanted[key]) for key in keys}
        wrong = next((key for key, matches in members.items() if not matches), None)
        reason = "" if wrong is None else f"{wrong!r} {_difference(found, wanted, wrong)}"
        return {**_matched(sum(members.values()), len(members)), "members": members, "reason": reason}

    def _arrays(self, found: Sequence[Any], wanted: Sequence[Any]) -> Mapping[str, object]:
        in_found, in_wanted = [canonical(each) for each in found], [canonical(each) for each in wanted]
        if self.lists == "ordered":
            matching, counted = sum(map(str.__eq__, in_found, in_wanted)), max(len(found), len(wanted))
        else:
            matching = (Counter(in_found) & Counter(in_wanted)).total()
            either = len(found) + len(wanted) - matching
            counted = {"same": either, "superset": len(wanted), "subset": len(found)}[self.lists]
        reason = f"{matching} of {counted} elements match" if matching < counted else ""
        return {**_matched(matching, counted), "reason": reason}


def _matched(matching: int, counted: int) -> Mapping[str, object]:
    return {"all": matching == counted, "share": matching / counted if counted else 1.0}


def _difference(found: Mapping[str, Any], wanted: Mapping[str, Any], key: str) -> str:
    if key not in found:
        return "is not there"
    return f"is {shown(found[key])}, not {shown(wanted[key])}" if key in wanted else "should not be there"


def _structure(value: Any) -> Any:
    """Return the object or array that a value is, or is the JSON text of; None for another."""
    if isinstance(value, str):
        try:
            value = read_json(value)
        except ValueError:
            return None
    return value if isinstance(value, Mapping) or is_array(value) else None
