"""Objects from the mappings of a YAML file: pydantic types made from the arguments of classes.

So an argument is named, typed and checked in its class alone: the value in a file is passed to the constructor, and a
refusal is a mistake at its place in the file.
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
from simeval.core.validation import WORDS_READ, UnknownField, closest, first_of, meant_for, nearest, own_name, parts_of
from simeval.errors import DefinitionError

NO_CONFIG = ConfigDict()
NOWHERE: Mapping[str, str] = {}
HERE = ""  # in an error, the value that is read
Form = Any  # a pydantic type: the values allowed in a file, and their conversion

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


def detail_of(each: ErrorDetails) -> InitErrorDetails:
    """Return a detail of an error as one to make another of."""
    return InitErrorDetails(type=each["type"], loc=each["loc"], input=each["input"], ctx=each.get("ctx", {}))


def _require_known(found: Any, names: Sequence[str], elsewhere: Mapping[str, str]) -> None:
    """Raise ValidationError for other names in a mapping, and DefinitionError for anything but a mapping.

    For some it is known where `elsewhere` they belong.
    """
    if not isinstance(found, Mapping):
        shown = "nothing" if found is None else f"{found!r:.80}"
        raise DefinitionError(HERE, found=f"found {shown}", do=f"give a mapping with {first_of(names, 16)}")
    unknown = [key for key in found if key not in names]
    if unknown:
        raise mistakes((key, found[key], _unknown(key, names, elsewhere)) for key in unknown)


def _unknown(key: str, names: Sequence[str], elsewhere: Mapping[str, str]) -> UnknownField:
    """Return the error of a name that a mapping cannot have, with its remedy."""
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
    names: Sequence[str] = (),
    config: ConfigDict = NO_CONFIG,
    elsewhere: Mapping[str, str] = NOWHERE,
) -> Form:
    """Return the form of a mapping with these fields and no other, which becomes a dict of those that were written.

    Mistakes in a name are compared with `names`, by default these.
    `elsewhere` has the remedy for names that are fields of another mapping, and, for fields that are refused there, for
    a name that is likely meant for one.
    """
    fields = {key: (Required if key in required else NotRequired)[form] for key, form in forms.items()}
    made = _make_typed_dict(name, fields)
    made.__pydantic_config__ = config
    return Annotated[made, WrapValidator(partial(validated, names=names or list(forms), elsewhere=elsewhere))]


def by_own_names(found: Any, names: Sequence[str]) -> Any:
    """Return a mapping by the names of its fields, which may be written as options are, or in camel case."""
    if not isinstance(found, Mapping):
        return found
    own = [own_name(key, names) for key in found]
    return dict(zip(own, found.values(), strict=True)) if own != [*found] and len({*own}) == len(own) else found


def validated(
    found: Any, validate: Callable[[Any], Any], *, names: Sequence[str], elsewhere: Mapping[str, str] = NOWHERE
) -> Any:
    """Return the object made from a mapping.

    Raises ValidationError for all that is wrong in it, unknown names among it.

    A missing field is not reported if a name is unknown, which may be meant for it.
    """
    found = by_own_names(found, names)
    try:
        _require_known(found, names, elsewhere)
    except ValidationError as unknown:
        try:
            validate({key: value for key, value in found.items() if key in names})
        except ValidationError as error:
            others = [detail_of(each) for each in error.errors() if each["type"] != "missing" or len(each["loc"]) > 1]
            raise error_of([*map(detail_of, unknown.errors()), *others]) from error
        raise
    return validate(found)


def one_or_more(form: Form) -> Form:
    """Return the form of a list that a single element may replace."""
    return Annotated[list[form], BeforeValidator(as_list)]


def as_list(found: Any) -> list[Any]:
    """Return a list as it is, and anything else as a list of one."""
    return found if isinstance(found, list) else [found]


@dataclass(frozen=True, slots=True)
class Forms:
    """The forms of values in files, by the types Python knows them by.

    `known` gives the form of a class and of all below it; `otherwise` is that of types that no file can hold as they
    are.
    """

    known: Mapping[type, Form] = field(default_factory=dict)
    otherwise: Form | None = None

    def record(
        self,
        kind: Callable[..., Any],
        given: Mapping[str, Form] = {},
        config: ConfigDict = NO_CONFIG,
        elsewhere: Mapping[str, str] = NOWHERE,
    ) -> Form:
        """Return the form of a mapping of the arguments of a class, which becomes an object of it.

        `given` are forms of arguments that replace the ones of their types; `elsewhere` is as for `mapping`.
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
        return Annotated[written, AfterValidator(partial(_made, kind))]

    def of(self, hint: Any) -> Form | None:
        """Return the form of a type; None if no file can hold it. A number is whole if the type is int."""
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
    """Return the types of a class's arguments; a text that has no meaning here as a type stays a text."""
    try:
        return get_type_hints(kind if is_dataclass(kind) else getattr(kind, "__init__", kind), include_extras=True)
    except NameError:
        return {each.name: each.annotation for each in inspect.signature(kind).parameters.values()}


def _made(kind: Callable[..., Any], found: Mapping[str, Any]) -> Any:
    """Return an object of a class. Raises ValidationError at the argument that the class refuses."""
    try:
        return kind(**found)
    except DefinitionError as error:
        parts = parts_of(error.where)
        if named := [place for place, name in enumerate(parts) if name in found]:
            name, *below = parts[named[-1] :]
            place = (name, *(int(each) if each.isdecimal() else each for each in below))
            detail = InitErrorDetails(type="value_error", loc=place, input=found[name], ctx={"error": error})
            raise error_of([detail]) from error
        raise
    except TypeError as error:  # a class of the user's own may check its arguments as it likes
        raise DefinitionError(
            getattr(kind, "__name__", "record"), found=str(error), do="correct its arguments"
        ) from error


def _no_word(found: Any) -> Any:
    """Return the value of a number. Raises DefinitionError for true and false, which pydantic takes for 1 and 0."""
    if isinstance(found, bool):
        raise DefinitionError(HERE, found=f"found {found}", do=f"use a number, such as 0.9: {WORDS_READ}")
    return found


def _one_of(found: object, few: Sequence[object]) -> object:
    if any(found is each or (isinstance(each, str) and found == each) for each in few):
        return found
    words = [str(each).lower() if isinstance(each, bool) else each for each in few if each is not None]
    do = f"use {', '.join(map(str, words[:-1]))} or {words[-1]}"
    raise DefinitionError(HERE, found=f"found {found!r:.80}", do=do)
