"""JSON objects and arrays against a reference, member by member."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from simeval.core.bounds import UNIT
from simeval.core.validation import require_one_of
from simeval.errors import DefinitionError
from simeval.scorers.base import ColumnScorer
from simeval.scorers.values import canonical, given, is_array, read_json, same, shown

Order = Literal["ordered", "same", "superset", "subset"]


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
