"""Evaluators and scorers as a suite file describes them: by a name, or by a type with its arguments."""

from collections.abc import Callable, Mapping
from datetime import date
from functools import lru_cache
from inspect import isabstract, signature
from typing import Annotated, Any

from pydantic import PlainValidator, TypeAdapter, ValidationError
from pydantic_core import InitErrorDetails

from simeval.core.registry import Registry
from simeval.core.validation import MOST_LISTED, UnknownField, meant_for, nearest
from simeval.core.yaml_records import HERE, Forms, mistake
from simeval.errors import DefinitionError
from simeval.evaluators.base import Evaluator
from simeval.evaluators.not_worse import NotWorseEvaluator
from simeval.scorers.base import Scorer, as_scorer
from simeval.scorers.metrics import BOUNDED, LISTED, METRICS, SCORERS, TURN_METRICS, find_metric
from simeval.suites.objects import load_object

EVALUATORS = Registry(
    "simeval.evaluators",
    lambda kind: issubclass(kind, Evaluator) and not isabstract(kind) and kind is not NotWorseEvaluator,
    suffix="Evaluator",
)

_MEANT_EVALUATORS = {"average": "mean", "avg": "mean", "median": "quantile"}


def read_evaluator(found: object) -> Evaluator:
    """Return the evaluator that a mapping with its type and arguments describes.

    Raises ValidationError, and DefinitionError for anything but such a mapping.
    """
    if not isinstance(found, Mapping):
        do = "give a mapping, such as {type: success_rate, min_proportion: 0.9}"
        shown = "nothing" if found is None else f"{found!r:.80}"
        raise DefinitionError("evaluator", found=f"found {shown}", do=do)
    made: Evaluator = _described(found, EVALUATORS, Evaluator)
    return made


def read_scorer(found: object) -> Any:
    """Return the scorer of a name, of MODULE:OBJECT, or of a mapping with its type and arguments; a scorer as it is.

    Raises ValidationError, and DefinitionError for anything else.
    """
    if isinstance(found, Scorer):
        return found
    if isinstance(found, Mapping):
        return _described(found, SCORERS, Scorer)
    name = found.strip() if isinstance(found, str) else ""
    if (metric := find_metric(name)) is not None:
        return metric
    if SCORERS.find(name) is not None:
        return _described({"type": name}, SCORERS, Scorer)
    if ":" in name:
        named = load_object(name, what="scorer")
        as_scorer(named, "scorer")
        return named
    more = f", or {BOUNDED} (for {TURN_METRICS}), or a scorer of yours as MODULE:OBJECT"
    do = nearest(str(found), [*METRICS, *SCORERS.names], more=more, see=LISTED)
    raise DefinitionError("scorer", found=f"found {found!r:.80}", do=do)


def _described(found: Mapping[str, Any], registry: Registry, base: type) -> Any:
    """Return the object that a mapping with a type describes; simeval's own scorers keep their name."""
    what = base.__name__.lower()
    if "type" not in found:
        missing = mistake("type", found, found="the field is missing", do=_which_type(found, registry))
        if (key := next((key for key in found if meant_for(key, ["type"])), None)) is None:
            raise missing
        raise mistake(key, found[key], found=f"there is no field {key!r}", do="did you mean 'type'?")
    name, arguments = found["type"], {key: value for key, value in found.items() if key != "type"}
    kind = registry.find(name) if isinstance(name, str) else None
    if kind is not None and issubclass(kind, Scorer):
        arguments = {"name": name, **arguments}
    if kind is None and isinstance(name, str) and ":" in name:
        kind = load_object(name, what=what)
        if not (isinstance(kind, type) and issubclass(kind, base)):
            do = f"name a class that inherits {base.__name__}"
            raise mistake("type", name, found=f"{name!r} is no {what}", do=do)
    if kind is None:
        more, see = ", or a class of yours as MODULE:CLASS", LISTED if registry is SCORERS else ""
        meant = _MEANT_EVALUATORS.get(str(name)) if registry is EVALUATORS else None
        do = f"did you mean {meant!r}?" if meant else nearest(str(name), registry.names, more=more, see=see)
        raise mistake("type", name, found=f"found the type {name!r:.80}", do=do)
    try:
        return _reader(kind).validate_python(arguments)
    except ValidationError as error:
        raise _with_owners(error, registry) from error


def _which_type(found: Mapping[str, Any], registry: Registry) -> str:
    """Return which type to add to a description: one that has all its fields, or is named in one."""
    kinds = {name: registry.find(name) for name in registry.names}
    owners = [name for name, kind in kinds.items() if kind and found.keys() <= signature(kind).parameters.keys()]
    texts = [each for each in found.values() if isinstance(each, str)]
    if not owners and registry is SCORERS and (metric := next(filter(find_metric, texts), None)):
        return f"write a metric by its name alone: scorer: {metric}"
    named = [each for each in texts if each in kinds]
    if len(names := named or owners or registry.names) > MOST_LISTED:
        return f"add it: one of {len(names)} types; {LISTED}"
    return f"add it: {'' if len(names) == 1 else 'one of '}{', '.join(names)}"


def _with_owners(error: ValidationError, registry: Registry) -> ValidationError:
    """Return an error that names, for each unknown field, another type that has it."""
    details = []
    for each in error.errors():
        cause, context = each.get("ctx", {}).get("error"), each.get("ctx", {})
        kinds = [(name, registry.find(name)) for name in registry.names]
        owners = [
            name for name, kind in kinds if kind and each["loc"][-1:] and each["loc"][-1] in signature(kind).parameters
        ]
        if isinstance(cause, UnknownField) and owners:
            do = f"leave it out, or use the type {' or '.join(owners[:2])}, which has it"
            context = {"error": UnknownField(cause.where, found=cause.found, do=do)}
        details.append(InitErrorDetails(type=each["type"], loc=each["loc"], input=each["input"], ctx=context))
    return ValidationError.from_exception_data(error.title, details)


def _referred(found: object) -> Any:
    """Return the object of a text MODULE:OBJECT, where no value of a file is possible."""
    if not isinstance(found, str):
        raise DefinitionError(HERE, found=f"found {found!r:.80}", do="name an object as MODULE:OBJECT")
    return load_object(found, what="object")


FORMS = Forms(
    known={
        Evaluator: Annotated[Any, PlainValidator(read_evaluator)],
        Scorer: Annotated[Any, PlainValidator(read_scorer)],
        date: date,
    },
    otherwise=Annotated[Any, PlainValidator(_referred)],
)


@lru_cache
def _reader(kind: Callable[..., Any]) -> TypeAdapter[Any]:
    return TypeAdapter(FORMS.record(kind))
