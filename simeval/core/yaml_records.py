"""Mappings of a YAML file as what they describe: pydantic types made from the arguments of classes.

So an argument is named, typed and checked in its class alone: what a file says of it is handed to the constructor, and
what that refuses is a mistake at its place in the file.
"""

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from functools import partial, reduce
from operator import or_
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    PlainValidator,
    StrictInt,
    ValidationError,
    WrapValidator,
)
from pydantic_core import ErrorDetails, InitErrorDetails
from typing_extensions import TypedDict

from simeval.core.setting_field import choices
from simeval.core.validation import WORDS_READ, NeedsField, UnknownField, closest, meant_for, nearest, parts_of
from simeval.errors import DefinitionError

NO_CONFIG = ConfigDict()
NOWHERE: Mapping[str, str] = {}
HERE = ""  # in an error, the value that is read
Form = Any  # a pydantic type: what a value may be in a file, and what becomes of it

_make_typed_dict: Any = TypedDict  # type checkers know it by name, and want its fields written out
_LISTS = (list, set, frozenset, Sequence, Collection)
_VARIADIC = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)


def mistake(name: str, value: object, *, found: str, do: str) -> ValidationError:
    """Return the error of a field of the mapping that is read, which may be missing from it."""
    return mistakes([(name, value, DefinitionError(name, found=found, do=do))])


def mistakes(found: Iterable[tuple[str, object, DefinitionError]]) -> ValidationError:
    """Return the error of several fields of the mapping that is read, each with its value."""
    return error_of(
        InitErrorDetails(type="value_error", loc=(name,), input=value, ctx={"error": cause})
        for name, value, cause in found
    )


def error_of(details: Iterable[InitErrorDetails]) -> ValidationError:
    """Return the error of several details about the mapping that is read."""
    return ValidationError.from_exception_data("mapping", list(details))


def joined(*errors: ValidationError) -> ValidationError:
    """Return errors about the mapping that is read as one."""
    return error_of(detail_of(each) for error in errors for each in error.errors())


def detail_of(each: ErrorDetails, loc: tuple[int | str, ...] | None = None) -> InitErrorDetails:
    """Return a detail of an error as one to make another of, at its place or another one."""
    place = each["loc"] if loc is None else loc
    return InitErrorDetails(type=each["type"], loc=place, input=each["input"], ctx=each.get("ctx", {}))


def _few(names: Sequence[str], most: int = 16) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _require_known(found: Any, names: Sequence[str], elsewhere: Mapping[str, str]) -> None:
    """Raise ValidationError for names of a mapping beside these, and DefinitionError for what is no mapping.

    Of some it is known where `elsewhere` they belong.
    """
    if not isinstance(found, Mapping):
        shown = "nothing" if found is None else f"{found!r:.80}"
        raise DefinitionError(HERE, found=f"found {shown}", do=f"give a mapping with {_few(names)}")
    unknown = [key for key in found if key not in names]
    if unknown:
        raise mistakes((key, found[key], _unknown(key, names, elsewhere)) for key in unknown)


def _unknown(key: str, names: Sequence[str], elsewhere: Mapping[str, str]) -> UnknownField:
    """Return the error of a name that a mapping cannot have, with what to do about it."""
    do = elsewhere.get(key) or elsewhere.get(meant_for(key, names) or "")
    if not do and not closest(key, names) and (meant := meant_for(key, list(elsewhere))):
        do = elsewhere[meant] if elsewhere[meant].endswith("?") else f"did you mean {meant!r}? {elsewhere[meant]}"
    found = f"there is no field {key!r}" + (" here" if key in elsewhere else "")
    return UnknownField(key, found=found, do=do or nearest(key, names, see="`simeval schema` has them"))


def mapping(
    name: str,
    forms: Mapping[str, Form],
    *,
    required: Collection[str] = (),
    config: ConfigDict = NO_CONFIG,
    elsewhere: Mapping[str, str] = NOWHERE,
) -> Form:
    """Return the form of a mapping with these fields and no other, which becomes a dict of those that were written.

    `elsewhere` says of names that are no fields of it, but of another mapping, what to do; and of fields that are
    refused there, what to do about a name that is likely meant for one.
    """
    fields = {key: (Required if key in required else NotRequired)[form] for key, form in forms.items()}
    made = _make_typed_dict(name, fields)
    made.__pydantic_config__ = config
    return Annotated[made, WrapValidator(partial(validated, names=list(forms), elsewhere=elsewhere))]


def validated(
    found: Any, validate: Callable[[Any], Any], *, names: Sequence[str], elsewhere: Mapping[str, str] = NOWHERE
) -> Any:
    """Return what a mapping becomes. Raises ValidationError for all that is wrong in it, unknown names among it.

    A name that one which is unknown may have been meant for is not told to be missing.
    """
    try:
        _require_known(found, names, elsewhere)
    except ValidationError as unknown:
        meant = _meant(found, names, elsewhere)
        try:
            validate({meant.get(key, key): value for key, value in found.items() if meant.get(key, key) in names})
        except ValidationError as error:
            raise _both(unknown, error, {name: key for key, name in meant.items()}) from error
        raise
    return validate(found)


def _meant(found: Mapping[Any, Any], names: Sequence[str], elsewhere: Mapping[str, str]) -> Mapping[str, str]:
    """Return which fields that are not there the unknown names of a mapping are likely meant for, by those names."""
    unknown = [key for key in found if key not in names and key not in elsewhere]
    meant = {key: name for key in unknown if (name := meant_for(key, names)) and name not in found}
    return {key: name for key, name in meant.items() if list(meant.values()).count(name) == 1}


def _both(unknown: ValidationError, other: ValidationError, written: Mapping[str, str]) -> ValidationError:
    """Return two errors of one mapping as one; `written` are names of it as they are misspelt there."""
    told = {str(each["loc"][0]): each["ctx"]["error"].do for each in unknown.errors()}
    others = [each for each in other.errors() if not _may_be_meant(each, told)]
    placed = [detail_of(each, (written.get(str(each["loc"][0]), each["loc"][0]), *each["loc"][1:])) for each in others]
    return error_of([*map(detail_of, unknown.errors()), *placed])


def _may_be_meant(detail: ErrorDetails, told: Mapping[str, str]) -> bool:
    """Return whether a field is missing that a name which is none, of which this is told, may have been meant for."""
    if detail["type"] != "missing" or len(detail["loc"]) != 1:
        return False
    missing = str(detail["loc"][0])
    return any(meant_for(name, [missing]) or do == f"use {missing}" for name, do in told.items())


def one_or_more(form: Form) -> Form:
    """Return the form of a list, of which a single element may also stand alone."""
    return Annotated[list[form], BeforeValidator(as_list)]


def as_list(found: Any) -> list[Any]:
    """Return a list as it is, and anything else as a list of one."""
    return found if isinstance(found, list) else [found]


@dataclass(frozen=True, slots=True)
class Forms:
    """The forms of values in files, by the types Python knows them by.

    `known` gives the form of a class and of all below it; `otherwise` is that of what no file can hold as it is.
    """

    known: Mapping[type, Form] = field(default_factory=dict)
    otherwise: Form | None = None

    def record(
        self,
        kind: Callable[..., Any],
        given: Mapping[str, Form] = {},
        config: ConfigDict = NO_CONFIG,
        usable: Mapping[str, Any] = {},
        elsewhere: Mapping[str, str] = NOWHERE,
    ) -> Form:
        """Return the form of a mapping of the arguments of a class, which becomes an object of it.

        `given` are the forms of arguments for which it is not the one of their types; `usable` are values that stand
        for those that are wrong or missing, where the class is asked what else is; `elsewhere` is as of `mapping`.
        """
        arguments = [each for each in inspect.signature(kind).parameters.values() if each.kind not in _VARIADIC]
        hints = _hints(kind)
        forms = {each.name: given.get(each.name) or self.of(hints.get(each.name, Any)) for each in arguments}
        forms = {name: self.otherwise if form is None else form for name, form in forms.items()}
        written = mapping(
            getattr(kind, "__name__", "record"),
            {name: form for name, form in forms.items() if form is not None},
            required=[each.name for each in arguments if each.default is each.empty],
            config=config,
            elsewhere=elsewhere,
        )
        usable = {name: value for name, value in usable.items() if name in forms}
        required = [each.name for each in arguments if each.default is each.empty]
        told = partial(_with_all_mistakes, usable=usable, required=required)
        return Annotated[written, AfterValidator(partial(_made, kind)), WrapValidator(told)]

    def of(self, hint: Any) -> Form | None:
        """Return the form of a type; None where no file can hold it. A number is whole where the type is int."""
        origin, inner = get_origin(hint), get_args(hint)
        if hint is int:
            return StrictInt
        if hint is float:
            return Annotated[float, BeforeValidator(_no_word)]
        if hint in (str, float, bool, NoneType, Any) or origin in (Literal, Annotated):
            return hint
        if origin in (Union, UnionType):
            return self._of_union(hint)
        if origin in _LISTS:
            element = self.of(inner[0])
            return element and list[element]  # type: ignore[valid-type]
        if origin is tuple:
            return hint
        if origin is not None and issubclass(origin, Mapping):
            value = self.of(inner[1])
            return value and dict[str, value]  # type: ignore[valid-type]
        return self._of_class(hint) if isinstance(hint, type) else None

    def _of_union(self, hint: Any) -> Form | None:
        if few := choices(hint):
            return Annotated[Any, PlainValidator(partial(_one_of, few=few))]
        forms = [form for form in map(self.of, get_args(hint)) if form is not None]
        if all(form is NoneType for form in forms):
            return None if self.otherwise is None else self.otherwise | None
        return reduce(or_, forms)

    def _of_class(self, kind: type) -> Form | None:
        if kind is object:
            return Any
        known = next((form for base, form in self.known.items() if issubclass(kind, base)), None)
        return self.record(kind) if known is None and is_dataclass(kind) else known


def _hints(kind: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the types of a class's arguments; one that is written as a text that means nothing here stays one."""
    try:
        return get_type_hints(kind if is_dataclass(kind) else getattr(kind, "__init__", kind), include_extras=True)
    except NameError:
        return {each.name: each.annotation for each in inspect.signature(kind).parameters.values()}


def _with_all_mistakes(
    found: Any, validate: Callable[[Any], Any], usable: Mapping[str, Any], required: Collection[str]
) -> Any:
    """Return what a mapping becomes. Raises ValidationError for all that is wrong in one of its fields.

    What a class says of its arguments is one mistake at a time, and nothing where one has a wrong type or is missing:
    it is asked again without those that are known to be wrong, or with what is usable, and what it then says of others
    that were written is one more.
    """
    try:
        return validate(found)
    except ValidationError as error:
        details, asked, wrong = _details_of(error, found), found, _blamed(error, found)
        known = set(wrong)
        while wrong or (asked is found and _lacks(error) and isinstance(found, Mapping)):
            asked = {name: value for name, value in asked.items() if name not in wrong}
            filled = {name: value for name, value in usable.items() if name in known or name in required}
            try:
                validate({**filled, **asked})
            except ValidationError as further:
                more, wrong = _details_of(further, asked), _blamed(further, asked)
                is_whole = known <= filled.keys()  # so what is said of the whole does not follow from a lack
                more = [each for each in more if (each["loc"][0] in wrong if each["loc"] else is_whole)]
                details += [each for each in more if not _follows(each, details, found)]
                known |= wrong
            else:
                break
        raise error_of(details) from error


def _lacks(error: ValidationError) -> bool:
    """Return whether a field of the mapping itself is missing."""
    return any(each["type"] == "missing" and len(each["loc"]) == 1 for each in error.errors())


def _follows(detail: InitErrorDetails, told: Sequence[InitErrorDetails], found: Any) -> bool:
    """Return whether a mistake may only follow from others: what it needs is there but wrong, or perhaps misspelt."""
    is_misspelt = any(isinstance(each.get("ctx", {}).get("error"), UnknownField) for each in told)
    needed = needed_by(detail)
    return needed is not None and (needed in found or is_misspelt)


def needed_by(detail: ErrorDetails | InitErrorDetails) -> str | None:
    """Return the field that a mistake says is missing to another; None where it says no such thing."""
    cause = detail.get("ctx", {}).get("error")
    return cause.needs if isinstance(cause, NeedsField) else None


def _details_of(error: ValidationError, found: Any) -> list[InitErrorDetails]:
    """Return the mistakes of an error; one that a class found has the name of its argument as its place."""
    return [detail_of(each, _place_of(each, found)) for each in error.errors()]


def _blamed(error: ValidationError, found: Any) -> set[str]:
    """Return the names of a mapping that an error is about."""
    names = set(found) if isinstance(found, Mapping) else set()
    return names & {str(name) for each in error.errors() for name in _place_of(each, found)[:1]}


def _place_of(detail: Any, found: Any) -> tuple[int | str, ...]:
    """Return the place of a mistake in a mapping; one that a class found is at its argument, if that is there."""
    cause = detail.get("ctx", {}).get("error")
    names = parts_of(cause.where) if isinstance(cause, DefinitionError) and not detail["loc"] else []
    there = [name for name in names if isinstance(found, Mapping) and name in found]
    return (there[-1],) if there else detail["loc"]


def _made(kind: Callable[..., Any], found: Mapping[str, Any]) -> Any:
    try:
        return kind(**found)
    except TypeError as error:  # a class of the user's own may check its arguments as it likes
        raise DefinitionError(
            getattr(kind, "__name__", "record"), found=str(error), do="correct its arguments"
        ) from error


def _no_word(found: Any) -> Any:
    """Return what a number is made of. Raises DefinitionError for true and false, which pydantic takes for 1 and 0."""
    if isinstance(found, bool):
        raise DefinitionError(HERE, found=f"found {found}", do=f"use a number, such as 0.9: {WORDS_READ}")
    return found


def _one_of(found: object, few: Sequence[object]) -> object:
    if any(found is each or (isinstance(each, str) and found == each) for each in few):
        return found
    words = [str(each).lower() if isinstance(each, bool) else each for each in few if each is not None]
    do = f"use {', '.join(map(str, words[:-1]))} or {words[-1]}"
    raise DefinitionError(HERE, found=f"found {found!r:.80}", do=do)
