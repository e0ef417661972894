"""What is wrong with a scenario of a file beside what shows at once: no mistake hides another.

Whether an evaluator fits, or a path of a score exists, shows where all else can be used. So what cannot be is replaced
by what can, of the same kind as far as that is known, and it is read again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails

from simeval.core.validation import is_number
from simeval.core.yaml_records import HERE, as_list, detail_of, error_of, needed_by
from simeval.errors import DefinitionError
from simeval.evaluators.ratings import RatingEvaluator
from simeval.scorers.base import FunctionScorer, Scorer, as_scorer
from simeval.scorers.registry import SCORERS
from simeval.suites.described import EVALUATORS, kind_of, read_scorer, usable_evaluator
from simeval.suites.scenario import WAYS, Expectation, ScenarioTest

Read = Callable[[Any], Any]
Details = Iterable[InitErrorDetails]

_USABLE: Mapping[str, Any] = {
    "expected_behavior": "it",
    "criteria": ["it"],
    "tools": {"required": ["it"]},
    "state": {"it": 1},
}
_EVALUATOR = {"type": "success_rate", "min_proportion": 0.5}
_ANY_SCORER = "response_latency"
_EXPECTATION = {"expected_behavior": "it", "evaluator": _EVALUATOR}
_TEXTS = ("title", "given", "when")
_OF_EXPECTATION = {each.name for each in fields(Expectation)}
_OF_SCENARIO = {each.name for each in fields(ScenarioTest)}
_OF_ALL = ("bounds", "direction", "gives_ratings", "paths")  # what is known of a kind of scorers


def with_hidden(found: Any, read: Read, hidden: Callable[[Mapping[str, Any], Read, set[str]], Details]) -> Any:
    """Return what a mapping is read as. Raises ValidationError for all that is wrong in it, what is hidden, too."""
    try:
        return read(found)
    except ValidationError as error:
        told = error.errors()
        is_reached = any(not each["loc"] for each in told)  # what the class says of the whole is told already
        wrong = {str(each["loc"][0]) for each in told if each["loc"]}
        more = [] if is_reached or not isinstance(found, Mapping) else list(hidden(found, read, wrong))
        known = [said for said in map(_said_in, more) if said]
        kept = [each for each in told if _said_in(each) not in known and not _is_of_one_way(each, found)]
        raise error_of([*map(detail_of, kept), *more]) from error


def _is_of_one_way(detail: ErrorDetails, found: object) -> bool:
    """Return whether a mistake says that an evaluator does not fit, where it is not known what it is to fit."""
    ways = [way for way in WAYS if isinstance(found, Mapping) and found.get(way) is not None]
    return len(ways) > 1 and detail["loc"] == ("evaluator",) and _said_in(detail) is not None


def _said_in(detail: ErrorDetails | InitErrorDetails) -> tuple[str, str] | None:
    """Return what a mistake of a class says was found, and what to do, wherever it stands; None of another mistake."""
    cause = detail.get("ctx", {}).get("error")
    return (cause.found, cause.do) if isinstance(cause, DefinitionError) else None


def of_expectation(found: Mapping[str, Any], read: Read, wrong: set[str]) -> Details:
    """Yield what else is wrong with an expectation, of which these fields are known to be."""
    ways = [way for way in WAYS if found.get(way) is not None]
    if not ways and not wrong <= _OF_EXPECTATION:  # a way may be misspelt
        return
    asked = {name: value for name, value in found.items() if name not in wrong}
    asked |= {way: usable for way, usable in _USABLE.items() if way in ways and way in wrong}
    is_known_way = len(ways) == 1
    if "scorer" in ways and "scorer" in wrong:
        like = _usable_scorer(found["scorer"])
        asked["scorer"], is_known_way = like or _ANY_SCORER, is_known_way and like is not None
    for place, each in enumerate(as_list(found.get("evaluator"))):
        usable, kind = usable_evaluator(each), kind_of(each, EVALUATORS)
        is_known = is_known_way and (usable is not None or (kind is not None and issubclass(kind, RatingEvaluator)))
        for name, detail in _said_of({**asked, "evaluator": usable or _EVALUATOR}, read):
            said = _said_in(detail)
            if name not in ("evaluator", "score", *wrong) or (name == "score" and is_known_way):
                yield detail_of(detail)
            elif name == "evaluator" and is_known and said:
                misfit = DefinitionError(HERE, found=said[0], do=said[1])
                at = ("evaluator", place)
                yield InitErrorDetails(type="value_error", loc=at, input=each, ctx={"error": misfit})


def of_scenario(found: Mapping[str, Any], read: Read, wrong: set[str]) -> Details:
    """Yield what else is wrong with a scenario, of which these fields are known to be."""
    if not wrong & {*_TEXTS, "then"}:
        return
    is_unsure = not wrong <= _OF_SCENARIO  # a field may be misspelt
    asked = {name: value for name, value in found.items() if name not in wrong}
    labelled = [_usable_expectation(each) for each in as_list(found.get("then"))]
    for then in (labelled, [_EXPECTATION]):
        for name, detail in _said_of({**dict.fromkeys(_TEXTS, "it"), **asked, "then": then}, read):
            needed = needed_by(detail)
            if (name not in wrong or name == "then") and (needed is None or (needed not in found and not is_unsure)):
                yield detail_of(detail)


def of_mix(found: Mapping[str, Any], read: Read, wrong: set[str]) -> Details:
    """Yield what else is wrong with a mix of users, of which these fields are known to be."""
    mix = as_list(found.get("mix"))
    shares = [each.get("share") if isinstance(each, Mapping) else None for each in mix]
    if "mix" in wrong and all(is_number(share) for share in shares):
        usable = [{"persona": f"user {number}", "share": share} for number, share in enumerate(shares)]
        for _, detail in _said_of({"mix": usable}, read):
            if not detail["loc"]:
                yield detail_of(detail)


def _said_of(asked: Mapping[str, Any], read: Read) -> Iterator[tuple[str, ErrorDetails]]:
    """Yield what is wrong with a mapping, each with the name of its field; of the whole, with none."""
    try:
        read(asked)
    except ValidationError as error:
        for each in error.errors():
            yield str(each["loc"][0]) if each["loc"] else "", each


def _usable_expectation(found: object) -> Mapping[str, Any]:
    """Return an expectation with the label of one, and of a state where that one is."""
    written = found if isinstance(found, Mapping) else {}
    label = {"label": written["label"]} if written.get("label") and isinstance(written["label"], str) else {}
    way = "state" if isinstance(written.get("state"), Mapping) else "expected_behavior"
    evaluator = {"type": "proportion", "min_proportion": 0.5} if way == "state" else _EVALUATOR
    return {way: _USABLE[way], "evaluator": evaluator, **label}


def _usable_scorer(found: object) -> Scorer | None:
    """Return a scorer of which is known what is of all of its kind; None where nothing is."""
    kind: type[Scorer] | None = kind_of(found, SCORERS)
    function: Any = getattr(kind, "score", None)
    name = str(found.get("type") if isinstance(found, Mapping) else found).strip()
    if kind is None:
        try:
            scorer = as_scorer(read_scorer(found))
        except (ValidationError, DefinitionError):
            return None
        kind, function, name = type(scorer), scorer.function, scorer.name
    known = {each: getattr(kind, each) for each in _OF_ALL}
    made = type(name, (FunctionScorer,), {**known, "check": lambda _self: None, "__module__": kind.__module__})
    usable: Scorer = made(function, name, bounds=kind.bounds)
    return usable
