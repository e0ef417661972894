"""The schema of a suite file, from the classes it describes: scenarios, evaluators and scorers with their arguments."""

from collections.abc import Callable, Mapping
from dataclasses import Field as DataclassField
from dataclasses import fields
from datetime import date
from functools import lru_cache, partial
from inspect import isabstract, signature
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    StrictInt,
    StrictStr,
    Tag,
    TypeAdapter,
    ValidationError,
    WrapValidator,
)
from pydantic_core import InitErrorDetails

from simeval.core.faces import Registry, is_there, load
from simeval.core.judging import placed_levels
from simeval.core.setting_field import about_of, check, other_names
from simeval.core.settings import Settings
from simeval.core.validation import (
    MOST_LISTED,
    UnknownField,
    meant_for,
    nearest,
    require_whole,
)
from simeval.core.yaml_records import HERE, Form, Forms, as_list, mapping, mistake, one_or_more
from simeval.errors import DefinitionError
from simeval.evaluators.base import Evaluator
from simeval.evaluators.not_worse import NotWorseEvaluator
from simeval.scorers.base import Scorer, as_scorer
from simeval.scorers.metrics import BOUNDED, LISTED, METRICS, SCORERS, TURN_METRICS, find_metric
from simeval.scorers.text.tool_calls import ToolRules
from simeval.suites.apps.before import Before
from simeval.suites.apps.http_app import HttpApp
from simeval.suites.apps.named import load_object
from simeval.suites.apps.socket_app import SocketApp
from simeval.suites.cases import read_cases
from simeval.suites.scenario import Expectation, ScenarioTest
from simeval.suites.script import Check, Step, UserMix, UserPersona
from simeval.suites.tool_faults import ToolFaults

EVALUATORS = Registry(
    "simeval.evaluators",
    lambda kind: issubclass(kind, Evaluator) and not isabstract(kind) and kind is not NotWorseEvaluator,
    suffix="Evaluator",
)

_OF_PEERS = {  # scorers by the names of other tools
    **dict.fromkeys(("llm-rubric", "llm_rubric", "g-eval", "geval", "model-graded-closedqa"), "criteria"),
    "answer-relevance": "response_relevancy",
    "context-faithfulness": "faithfulness",
    "equals": "exact_match",
    "factuality": "factual_accuracy",
    "is-json": "valid_json",
    "is-xml": "valid_xml",
    "levenshtein": "levenshtein_similarity",
    "regex": "regex_match",
    "similar": "embedding_similarity",
}
_VALUES: Mapping[str, Callable[[Any], Mapping[str, Any]]] = {  # the arguments here of the `value` in promptfoo
    "contains": lambda value: {"texts": as_list(value)},
    "criteria": lambda value: {"criteria": {"value": value}},
    "regex_match": lambda value: {"pattern": value},
}
_MEANT_EVALUATORS = {"average": "mean", "avg": "mean", "median": "quantile"}

TEXTS = ConfigDict(str_strip_whitespace=True, str_min_length=1)
WHEN_READ = ConfigDict(defer_build=True)  # 20 ms each, and a command reads one or two


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
    name = _OF_PEERS.get(name, name)
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
    name = found["type"]
    if registry is SCORERS and isinstance(name, str):
        name = _OF_PEERS.get(name, name)
    arguments = {key: value for key, value in found.items() if key != "type"}
    if registry is SCORERS and "value" in arguments and (of_peer := _VALUES.get(str(name))):
        arguments |= of_peer(arguments.pop("value"))
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


def _form_of(setting: "DataclassField[Any]") -> Form:
    """Return the form of a setting, which refuses what the setting refuses, and in a suite also settings of a run."""

    def refused(_: object) -> None:
        raise DefinitionError(setting.name, found="it belongs to a run, not to a suite", do=_to_the_run(setting))

    if not about_of(setting).is_of_a_suite:
        return Annotated[Any, PlainValidator(refused)]
    return Annotated[FORMS.of(setting.type), _checked_by(partial(check, setting))]


def _checked_by(check: Callable[[Any], object]) -> AfterValidator:
    """Return a validator that lets a value pass as it is if `check` raises nothing."""

    def checked(found: Any) -> Any:
        check(found)
        return found

    return AfterValidator(checked)


def _place_of(setting: "DataclassField[Any]", of_a_suite: str) -> str:
    return of_a_suite if about_of(setting).is_of_a_suite else _to_the_run(setting)


def _to_the_run(setting: "DataclassField[Any]") -> str:
    """Describe where a setting belongs that no suite has."""
    flag = about_of(setting).flag
    return f"give it to the run ({flag})" if flag else "give it to Engine"


def _as_written(found: Any, check: Callable[[Any], Any]) -> Any:
    """Return the value as written, once it is known to be right: it is read with each scenario."""
    check(found)
    return found


def _rows(found: Any) -> Any:
    """Return the rows of a table of cases; its file is read here, so that a mistake has its line."""
    return list(read_cases(found, HERE))


def _no_text(found: Any) -> Any:
    """Return the parts of an expectation. Raises DefinitionError for a text: it does not define how to prove it."""
    if isinstance(found, str):
        do = "give a mapping: {expected_behavior: TEXT, evaluator: {type: success_rate, min_proportion: 0.9}}"
        raise DefinitionError(HERE, found=f"found the text {found!r:.80}", do=do)
    return found


def _surrounding(setting: "DataclassField[Any]") -> Form:
    """Return the form of a setting of a project, including settings that surround a run."""
    return (
        _form_of(setting) if about_of(setting).is_of_a_suite else Annotated[Any, _checked_by(partial(check, setting))]
    )


_TEXT = Annotated[StrictStr, Field(min_length=1, pattern=r"\S")]
_BEFORE = {"before": one_or_more(FORMS.record(Before))}
_HTTP_APP = FORMS.record(HttpApp, _BEFORE)
_SOCKET_APP = FORMS.record(SocketApp, _BEFORE)


def _kind_of_app(found: Any) -> str:
    if not isinstance(found, Mapping):
        return "name"
    return "socket" if str(found.get("url")).startswith("ws") else "http"


_APP = Annotated[
    Annotated[_TEXT, Tag("name")]
    | Annotated[_HTTP_APP, Tag("http")]  # type: ignore[valid-type]
    | Annotated[_SOCKET_APP, Tag("socket")],  # type: ignore[valid-type]
    Discriminator(_kind_of_app),
]
_CAST: Mapping[str, Form] = {
    "app": _APP | None,
    "judge_model": one_or_more(_TEXT),
    "user_model": _TEXT | None,
}
_SETTINGS = {each.name: _form_of(each) for each in fields(Settings)}


def _required(found: Any) -> Any:
    """Return the rules of tools; of a list, or a name, that each is called."""
    return {"required": as_list(found)} if isinstance(found, (str, list)) else found


_TOOLS: Form = Annotated[FORMS.record(ToolRules), BeforeValidator(_required)]


def _expectation(scorer: Form) -> Form:
    """Return the form of an expectation, with this form of a scorer."""
    given = {
        "expected_behavior": _TEXT | list[_TEXT] | None,
        "evaluator": one_or_more(FORMS.known[Evaluator]),
        "scorer": scorer | None,
        "rubric": Annotated[Any, _checked_by(partial(placed_levels, where="rubric"))] | None,
        "tools": _TOOLS | None,
    }
    return Annotated[FORMS.record(Expectation, given, TEXTS), BeforeValidator(_no_text)]


_SCORER = Annotated[Any, PlainValidator(read_scorer)]
_CHECK = FORMS.record(Check, {"tools": _TOOLS | None})


def _kind_of_check(found: Any) -> str:
    return "rule" if isinstance(found, Mapping) else "sentence"


def _said(found: Any) -> Any:
    """Return a step of a script; a text is what the user says."""
    return {"user": found} if isinstance(found, str) else found


_STEP: Form = Annotated[
    FORMS.record(
        Step,
        {
            "simulate": StrictInt | Literal["to_end"] | None,
            "check": Annotated[
                Annotated[_TEXT, Tag("sentence")] | Annotated[_CHECK, Tag("rule")],
                Discriminator(_kind_of_check),
            ]
            | None,
        },
    ),
    BeforeValidator(_said),
]
_PERSONA = FORMS.record(UserPersona, {"scripts": list[list[_STEP]]})
_USERS: Form = FORMS.record(UserMix, {"mix": list[_PERSONA]}) | None  # type: ignore[valid-type]


def read_world(found: object) -> Any:
    """Return the world that a suite names. Raises DefinitionError."""
    from simeval.suites import worlds  # a suite without any does without

    return worlds.read_world(found)


_WORLD = Annotated[Any, PlainValidator(read_world)] | None
_FAULTS = one_or_more(FORMS.record(ToolFaults))
_OF_SCENARIO: Mapping[str, Form] = {
    "then": one_or_more(
        _expectation(Annotated[_SCORER, _checked_by(lambda found: as_scorer(found, "scorer").check())])
    ),
    "world": _WORLD,
    "faults": _FAULTS,
    "script": list[_STEP],
    "users": _USERS,
    "cases": Annotated[list[dict[str, Any]] | _TEXT, AfterValidator(_rows)],
}
_NOT_OF_SCENARIO = {  # fields that users may write in a scenario, and what to do about them
    name: do
    for name, do in (
        *((each.name, _place_of(each, "put it under `settings`, at the top of the file")) for each in fields(Settings)),
        *((each.name, "put it under `then`") for each in fields(Expectation)),
        *((name, "put it at the top of the file") for name in (*_CAST, "judge", "settings")),
        *((name, "did you mean 'then'?") for name in ("expect", "expected", "expectations", "assert", "checks")),
    )
    if name not in {each.name for each in fields(ScenarioTest)}
}
_SCENARIO: Form = FORMS.record(ScenarioTest, _OF_SCENARIO, TEXTS, elsewhere=_NOT_OF_SCENARIO)
FIELDS_OF_SETTINGS = [*_SETTINGS]
FIELDS_OF_SCENARIOS = [each.name for each in fields(ScenarioTest)]
DEFAULTS_OF_SCENARIOS: Mapping[str, Form] = {
    "sample_size": _SETTINGS["sample_size"] | None,
    "significance_level": _SETTINGS["significance_level"] | None,
    "max_turns": Annotated[StrictInt | None, _checked_by(partial(require_whole, where="max_turns", optional=True))],
    "users": Annotated[_USERS, WrapValidator(_as_written)],
    "world": _WORLD,
    "faults": Annotated[_FAULTS, WrapValidator(_as_written)],
}
_ESCALATE = mapping(
    "escalate",
    {"to": _TEXT, "when": _SETTINGS["escalate"], "audit": _SETTINGS["escalation_audit"]},
    required=["to", "when"],
)


def _two_judges(found: Any) -> Any:
    if isinstance(found, str):
        do = f"name one judge as judge_model: {found}; two of them as first and escalate"
        raise DefinitionError(HERE, found=f"found {found!r:.80}", do=do)
    return found


_JUDGE = mapping("judge", {"first": _TEXT, "escalate": _ESCALATE}, required=["first", "escalate"])


def composite(file: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the judges and settings that a file's `judge` means; empty if it has none."""
    if (found := file.get("judge")) is None:
        return {}
    escalate = found["escalate"]
    audit = {"escalation_audit": escalate["audit"]} if "audit" in escalate else {}
    return {"judge_model": [found["first"], escalate["to"]], "escalate": escalate["when"], **audit}


_MEANT_SETTINGS = {
    name: f"did you mean {meant!r}?"
    for name, meant in other_names(fields(Settings)).items()
    if name not in _SETTINGS and meant in _SETTINGS
}
_NOT_SETTINGS = {  # fields that users may write under `settings`, and what to do about them
    **{each.name: "put it with a scenario" for each in fields(ScenarioTest) if each.name not in _SETTINGS},
    **_MEANT_SETTINGS,
    **dict.fromkeys([*_CAST, "judge"], "put it at the top of the file"),
    **{
        each.name: f"{each.name} belongs to a run: {_to_the_run(each)}"
        for each in fields(Settings)
        if not about_of(each).is_of_a_suite
    },
}
ATTACKS = "simeval.extras.attacks.attack"
_OF_EXTRAS = {  # sections that features read which attach from outside, by the class of each
    name: place for name, place in {"attack": f"{ATTACKS}:Attack"}.items() if is_there(place)
}
_OF_FILE: Mapping[str, Form] = {
    "title": Annotated[str, Field(min_length=1)],
    "judge": Annotated[_JUDGE, BeforeValidator(_two_judges)],
    "scenarios": Annotated[list[Any], Field(min_length=1)],
    **{name: FORMS.record(load(place), {"world": _WORLD}, TEXTS) for name, place in _OF_EXTRAS.items()},
    "settings": mapping("settings", _SETTINGS, elsewhere=_NOT_SETTINGS),
    **_CAST,
    **DEFAULTS_OF_SCENARIOS,
}
FIELDS_OF_FILES = [*_OF_FILE]
_UNDER_SETTINGS = {each.name: _place_of(each, "put it under `settings`") for each in fields(Settings)}
FILE: TypeAdapter[dict[str, Any]] = TypeAdapter(
    mapping("suite", _OF_FILE, required=["scenarios"], elsewhere=_UNDER_SETTINGS, config=WHEN_READ)
)


def form_of_file(written: object) -> TypeAdapter[dict[str, Any]]:
    """Return the form of a file for the fields `written` in it: to build the form of all takes 25 ms."""
    given = written if isinstance(written, Mapping) else {}
    required = "attack" if "attack" in given else "scenarios"
    return _form_of_fields(tuple(name for name in _OF_FILE if name in given or name == required), required)


@lru_cache  # the files of a folder are alike
def _form_of_fields(names: tuple[str, ...], required: str) -> TypeAdapter[dict[str, Any]]:
    forms = {name: _OF_FILE[name] for name in names}
    return TypeAdapter(
        mapping("suite", forms, required=[required], names=FIELDS_OF_FILES, elsewhere=_UNDER_SETTINGS, config=WHEN_READ)
    )


_NOT_OF_PROJECT = {
    **_MEANT_SETTINGS,
    **{name: "put it in the file of a suite" for name in DEFAULTS_OF_SCENARIOS if name not in _SETTINGS},
}
PROJECT: TypeAdapter[dict[str, Any]] = TypeAdapter(
    mapping(
        "tool.simeval",
        {**_CAST, **{each.name: _surrounding(each) for each in fields(Settings)}},
        elsewhere=_NOT_OF_PROJECT,
        config=WHEN_READ,
    )
)
SCENARIOS: TypeAdapter[dict[str, list[ScenarioTest]]] = TypeAdapter(
    mapping("scenarios", {"scenarios": list[_SCENARIO]}, required=["scenarios"], config=WHEN_READ)
)
EXPECTATIONS: TypeAdapter[dict[str, list[Expectation]]] = TypeAdapter(
    mapping("then", {"then": one_or_more(_expectation(_SCORER))}, required=["then"], config=WHEN_READ)
)
