"""What is wrong with a scenario of a file beside what shows at once: no mistake hides another.

Whether an evaluator fits, or a path of a score exists, shows where all else can be used. So what cannot be is replaced
by what can, of the same kind as far as that is known, and it is read again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails

from simeval.core.yaml_records import HERE, as_list, detail_of, error_of
from simeval.errors import DefinitionError
from simeval.evaluators.ratings import RatingEvaluator
from simeval.scorers.base import FunctionScorer, Scorer, as_scorer
from simeval.scorers.registry import SCORERS
from simeval.suites.described import EVALUATORS, kind_of, read_evaluator, read_scorer
from simeval.suites.scenario import WAYS, Expectation

Read = Callable[[Any], Any]
Details = Iterable[InitErrorDetails]

_USABLE: Mapping[str, Any] = {
    "expected_behavior": "it",
    "criteria": ["it"],
    "tools": {"required": ["it"]},
    "state": {"it": 1},
}
_EVALUATOR = {"type": "success_rate", "min_proportion": 0.5}
_EXPECTATION = {"expected_behavior": "it", "evaluator": _EVALUATOR}
_TEXTS = ("title", "given", "when")
_OF_EXPECTATION = {each.name for each in fields(Expectation)}
_OF_ALL = ("bounds", "direction", "gives_ratings", "paths")  # what is known of a kind of scorers


def with_hidden(found: Any, read: Read, hidden: Callable[[Mapping[str, Any], Read, set[str]], Details]) -> Any:
    """Return what a mapping is read as. Raises ValidationError for all that is wrong in it, what is hidden, too."""
    try:
        return read(found)
    except ValidationError as error:
        told = error.errors()
        is_reached = any(not each["loc"] for each in told)  # what the class says of the whole is told already
        wrong = {str(each["loc"][0]) for each in told if each["loc"]}
        more = [] if is_reached or not isinstance(found, Mapping) else hidden(found, read, wrong)
        raise error_of([*map(detail_of, told), *more]) from error


def of_expectation(found: Mapping[str, Any], read: Read, wrong: set[str]) -> Details:
    """Yield what else is wrong with an expectation, of which these fields are known to be."""
    ways = [way for way in WAYS if found.get(way) is not None]
    if not ways and not wrong <= _OF_EXPECTATION:  # a way may be misspelt
        return
    asked = {name: value for name, value in found.items() if name not in wrong}
    for way in (way for way in ways if way in wrong):
        asked[way] = _usable_scorer(found[way]) if way == "scorer" else _USABLE[way]
        if asked[way] is None:
            return
    for place, each in enumerate(as_list(found.get("evaluator"))):
        is_usable, kind = _is_usable(each), kind_of(each, EVALUATORS)
        is_known = is_usable or (kind is not None and issubclass(kind, RatingEvaluator))
        for name, detail in _said_of({**asked, "evaluator": each if is_usable else _EVALUATOR}, read):
            cause = detail.get("ctx", {}).get("error")
            if name not in ("evaluator", *wrong):
                yield detail_of(detail)
            elif name == "evaluator" and is_known and isinstance(cause, DefinitionError):
                misfit = DefinitionError(HERE, found=cause.found, do=cause.do)
                at = ("evaluator", place)
                yield InitErrorDetails(type="value_error", loc=at, input=each, ctx={"error": misfit})


def of_scenario(found: Mapping[str, Any], read: Read, wrong: set[str]) -> Details:
    """Yield what else is wrong with a scenario, of which these fields are known to be."""
    if not wrong & {*_TEXTS, "then"}:
        return
    asked = {name: value for name, value in found.items() if name not in wrong}
    labelled = [_usable_expectation(each, wrong) for each in as_list(found.get("then"))]
    for then in (labelled, [_EXPECTATION]):
        for name, detail in _said_of({**dict.fromkeys(_TEXTS, "it"), **asked, "then": then}, read):
            if name not in wrong or name == "then":
                yield detail_of(detail)


def _said_of(asked: Mapping[str, Any], read: Read) -> Iterator[tuple[str, ErrorDetails]]:
    """Yield what is wrong with a mapping, each with the name of its field; of the whole, with none."""
    try:
        read(asked)
    except ValidationError as error:
        for each in error.errors():
            yield str(each["loc"][0]) if each["loc"] else "", each


def _usable_expectation(found: object, wrong: set[str]) -> Mapping[str, Any]:
    """Return an expectation with the label of one, and with the state where that needs a world that is usable."""
    written = found if isinstance(found, Mapping) else {}
    label = {"label": written["label"]} if written.get("label") and isinstance(written["label"], str) else {}
    way = "state" if written.get("state") is not None and "world" not in wrong else "expected_behavior"
    evaluator = {"type": "proportion", "min_proportion": 0.5} if way == "state" else _EVALUATOR
    return {way: _USABLE[way], "evaluator": evaluator, **label}


def _is_usable(evaluator: object) -> bool:
    try:
        read_evaluator(evaluator)
    except (ValidationError, DefinitionError):
        return False
    return True


def _usable_scorer(found: object) -> Scorer | None:
    """Return a scorer of which is known what is of all of its kind; None where nothing is."""
    kind: type[Scorer] | None = kind_of(found, SCORERS)
    function: Any = getattr(kind, "score", None)
    name = str(found.get("type")) if isinstance(found, Mapping) else str(found)
    if kind is None:
        try:
            scorer = as_scorer(read_scorer(found))
        except (ValidationError, DefinitionError):
            return None
        kind, function, name = type(scorer), scorer.function, scorer.name
    known = {each: getattr(kind, each) for each in _OF_ALL}
    made = type(name, (FunctionScorer,), {**known, "check": lambda _self: None})
    usable: Scorer = made(function, name, bounds=kind.bounds)
    return usable
