"""YAML files of definitions, read strictly; a mistake in one is reported with file, line and field."""

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from simeval.core.validation import ONE_OF, WORDS_READ, UnknownField, own_name, parts_of, plain
from simeval.errors import DefinitionError, SuiteFileError

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

LARGEST_EXPANSION = 100_000  # values that references may add to those of a file
LONGEST_SHOWN = 80  # characters of a value that are shown

_PROBLEMS = {
    "mapping values are not allowed": "put a text that has a colon in quotes, or begin the line in the right column",
    "could not find expected ':'": "put a text that has a colon in quotes, or indent what belongs to the line above",
    "cannot start any token": "use spaces in place of tabs, and quotes around a text that begins with a sign",
    "expected <block end>": "let what belongs together begin in the same column",
    "expected ',' or '}'": "put a comma between the fields, and a } behind the last",
    "expected ',' or ']'": "put a comma between the parts, and a ] behind the last",
    "unknown escape": "put the text in single quotes, in which a backslash stands for itself",
    "unhashable key": 'put a text that has braces in quotes; a place is in single ones, such as "{message}"',
    "undefined alias": "put a text that begins with * in quotes",
    "written twice": "leave one of the two out",
    "no space behind the colon": "write it as NAME: VALUE",
    "a comma ends a value": "write numbers with a point, such as 0.9",
}
_UNSPACED = re.compile(r"\s*(- +)?\w+:[^\s:]")  # a name, a colon, and a value without a space between them
_PLAIN_FIELD = re.compile(r"\s*(- +)?\w+:( [^:]*| +[{\[\"'].*)?$")  # it cannot be the wrong line itself
_QUOTED = re.compile(r"\s*(- +)?(\w+: +)?['\"].*['\"].*\w")  # a text in quotes, and more behind it
_NO_COLON = re.compile(r"\s*(- +)?\w+( [^:=]*)?$")
_FORM = "write it as NAME: VALUE"
_SLIPS = (
    (_UNSPACED, "there is no space behind the colon", _FORM),
    (re.compile(r"\s*-\w+: "), "there is no space behind the dash", "write it as - NAME: VALUE"),
    (re.compile(r"\s*(- +)?\w+ ?= ?\S[^:]*$"), "there is a = where a colon stands", _FORM),
)
_FLOW = {"sequence": "]", "mapping": "}"}  # the end of a value written in one line
_CLOSING = re.compile(r"found '([\]}])'")
_WORDS = f"{WORDS_READ}: put such a word in quotes"
COMPARED = ("where", "state", "facts", "reference", "expected", "metadata", "cases")  # their values have any type
_AS_READ = re.compile(r"-?(0|[1-9]\d*)?(\.\d*)?([eE][-+]?\d+)?|-?\.(inf|nan)", re.IGNORECASE)
_NUMBER_ELSEWHERE = re.compile(r"[-+]?\d[\d.]*[eE]\d+|0o[0-7]+")  # in YAML 1.2 a number, and here a text
_HALF = re.compile("[\ud800-\udfff]")
_TAGS = "tag:yaml.org,2002:"
_LISTED = f"{ONE_OF} those listed above"


class _Loader(yaml.SafeLoader):
    """Refuses a key that is written twice; YAML would keep the last and drop the other in silence.

    Refuses also a file that references to its other parts make too large to read.
    """

    def get_single_node(self) -> yaml.Node | None:
        node: yaml.Node | None = super().get_single_node()
        if node is not None:
            _require_readable(node, {})
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep=deep)
        except ValueError as error:  # of a date that does not exist
            raise yaml.constructor.ConstructorError(problem=str(error), problem_mark=node.start_mark) from error

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    problem = f"the field {key.value!r} is written twice"
                    raise yaml.constructor.ConstructorError(problem=problem, problem_mark=key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep=deep)

    def compose_scalar_node(self, anchor: Any) -> yaml.ScalarNode:
        node = super().compose_scalar_node(anchor)
        if _HALF.search(node.value):  # JSON writes an emoji as two halves
            node.value = node.value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        return node

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        super().flatten_mapping(node)
        node.value = [(_as_written(key), value) for key, value in node.value]


def _as_written(key: yaml.Node) -> yaml.Node:
    """Return a name as a text, whatever YAML takes it for: a field that is called "on" is not True."""
    if not isinstance(key, yaml.ScalarNode) or not key.tag.startswith(_TAGS):
        return key
    return yaml.ScalarNode(f"{_TAGS}str", key.value, key.start_mark, key.end_mark, key.style)


def read_yaml(path: Path, *, renamed: Mapping[str, str] = {}) -> tuple[yaml.Node | None, Any]:
    """Return the nodes of a YAML file, which know their lines, and its contents; None if it is empty.

    `renamed` gives the new names of keys, wherever they occur. Raises SuiteFileError.
    """
    text = ""
    try:
        text = path.read_text(encoding="utf-8")
        node, data = _read(text, renamed)
    except OSError as error:
        raise SuiteFileError(
            str(path), line=1, field="", found=f"it cannot be read ({error.strerror})", do="name another file"
        ) from error
    except UnicodeDecodeError as error:
        found = f"it is not UTF-8 (byte {error.start + 1} of the file)"
        raise SuiteFileError(str(path), line=1, field="", found=found, do="save it as UTF-8") from error
    except (yaml.YAMLError, ValueError, AttributeError, LookupError, RecursionError) as error:
        problem, mark = getattr(error, "problem", None), getattr(error, "problem_mark", None)
        line, found, do = mark.line if mark else 0, problem or str(error), _way_out(problem or "")
        if slip := _slip(error, text.splitlines()):
            line, found, do = slip
        raise SuiteFileError(str(path), line=line + 1, field="", found=f"this is not YAML ({found})", do=do) from error
    if misread := [*_misread(path, node)]:
        raise all_of(misread)
    return node, data


def _misread(
    path: Path, node: yaml.Node | None, place: tuple[int | str, ...] = (), *, compared: bool = False
) -> Iterator[SuiteFileError]:
    """Yield the values, among those that are compared with an app's results, that YAML reads as others."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            name = str(key.value)
            yield from _misread(path, value, (*place, name), compared=compared or name in COMPARED)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            yield from _misread(path, value, (*place, number), compared=compared)
    elif isinstance(node, yaml.ScalarNode) and compared and node.style is None and _is_misread(node):
        meant = yaml.safe_load(node.value)
        shown = str(meant).lower() if isinstance(meant, bool) else str(meant)
        yield SuiteFileError(
            str(path),
            line=node.start_mark.line + 1,
            field=".".join(map(str, place)),
            found=f"YAML reads {node.value} as {f'the text {meant!r}' if meant == node.value else shown}",
            do=f'put it in quotes, "{node.value}", or write {shown if meant != node.value else "the number in full"}',
        )


def _is_misread(node: yaml.ScalarNode) -> bool:
    """Return whether a value without quotes becomes another number, true, false, a time, or a text."""
    kind = node.tag.removeprefix(_TAGS)
    if kind == "bool":
        return node.value.lower() not in ("true", "false")
    if kind == "timestamp":
        return ":" in node.value  # a day alone is written as it is read
    if kind == "str":
        return bool(_NUMBER_ELSEWHERE.fullmatch(node.value))
    return kind in ("int", "float") and not _AS_READ.fullmatch(node.value)


def _slip(error: Exception, lines: Sequence[str]) -> tuple[int, str, str] | None:
    """Return the line from 0, the cause and the remedy of slips that YAML reports at a later place."""
    problem, context = (getattr(error, name, None) or "" for name in ("problem", "context"))
    mark, context_mark = (getattr(error, name, None) for name in ("problem_mark", "context_mark"))
    if "quoted scalar" in context and "unexpected end" in problem and context_mark:
        return context_mark.line, "a quote that begins here is not closed", "close it"
    if mark is None or not lines:
        return None
    closing = _FLOW.get(context.partition("while parsing a flow ")[2])
    if closing and context_mark and ("stream end" in problem or context_mark.line < mark.line):
        opening = lines[context_mark.line][context_mark.column : context_mark.column + 1]
        comma = "" if "stream end" in problem else ", or lacks a comma"
        return context_mark.line, f"a {opening} that begins here is not closed{comma}", f"close it with {closing}"
    here, before = lines[min(mark.line, len(lines) - 1)], max(mark.line - 1, 0)
    if "expected <block end>" in problem and _QUOTED.match(here):
        return mark.line, "a text goes on behind its quote", "put the whole text in quotes, and double one inside it"
    if "expected <block end>" in problem and (extra := _CLOSING.search(problem)):
        return mark.line, f"there is a {extra[1]} too many", "leave it out"
    if "mapping values" in problem and _UNSPACED.match(here):
        return mark.line, "there is no space behind the colon", _FORM
    if ("mapping values" in problem or "expected ':'" in problem) and _PLAIN_FIELD.match(here):
        return _slip_at(before, lines)
    return None


def _slip_at(place: int, lines: Sequence[str]) -> tuple[int, str, str] | None:
    """Return the slip on a line, before which all was well, and behind which nothing is."""
    line = lines[place]
    for pattern, found, do in _SLIPS:
        if pattern.match(line):
            return place, found, do
    if _NO_COLON.match(line) and (place == 0 or _indent(line) <= _indent(lines[place - 1])):
        return place, "there is no colon behind the name", _FORM
    return None


def _indent(line: str) -> int:
    """Return where the text of a line begins, a dash before it left out."""
    return len(line) - len(line.lstrip(" -"))


def located(path: Path, node: yaml.Node | None, error: "ValidationError", *, skip: int = 0) -> SuiteFileError:
    """Name the line and field of every mistake that a validation found, in the order of the file.

    Of several at one place, as for each of the types that a value may have, only the deepest is named. `skip` are the
    steps of a place that are not in the file.
    """
    found = [(_place(node, each["loc"][skip:]), each) for each in error.errors()]
    places = {_own_place(place, each) for place, each in found}
    deepest: dict[tuple[int | str, ...], ErrorDetails] = {}
    for place, each in found:
        own = _own_place(place, each)
        is_told = isinstance(each.get("ctx", {}).get("error"), DefinitionError)
        if is_told or not any(other[: len(own)] == own and len(other) > len(own) for other in places):
            deepest.setdefault(own, each)
    mistakes: dict[str, SuiteFileError] = {}
    for each in sorted(deepest.values(), key=lambda each: _position(node, _place(node, each["loc"][skip:]))):
        made = _located(path, node, each, skip)
        mistakes.setdefault(str(made), made)
    return all_of(mistakes.values())


def all_of(found: Iterable[SuiteFileError]) -> SuiteFileError:
    """Return the mistakes of a file as one error, in the order of its lines."""
    first, *others = _listed_once(sorted(found, key=lambda each: each.line))
    return first.with_others(others)


def _listed_once(mistakes: Iterable[SuiteFileError]) -> Iterator[SuiteFileError]:
    """Yield the mistakes of a file; one with the same list of names as an earlier one refers to that."""
    listed = set()
    for each in mistakes:
        if (each.file, each.do) in listed:
            yield SuiteFileError(each.file, line=each.line, field=each.field, found=each.found, do=_LISTED)
        else:
            yield each
        if each.do.startswith(ONE_OF):
            listed.add((each.file, each.do))


def _own_place(place: tuple[int | str, ...], error: "ErrorDetails") -> tuple[int | str, ...]:
    """Return the place of a mistake; of a field that is missing, with its name."""
    return (*place, error["loc"][-1]) if error["type"] == "missing" else place


def _located(path: Path, node: yaml.Node | None, first: "ErrorDetails", skip: int) -> SuiteFileError:
    place, last = _place(node, first["loc"][skip:]), first["loc"][-1] if first["loc"] else ""
    cause = first.get("ctx", {}).get("error")
    found, do = f"found {_shown(first['input'])}", plain(first["type"], first["msg"], first["input"])
    if isinstance(cause, DefinitionError):
        place, found = _refined(node, place, last, cause)
        do = cause.do
    elif first["type"] == "missing":
        place, found, do = (*place, last), "the field is missing", "add it"
    elif isinstance(first["input"], bool):
        do = _WORDS if first["type"] == "string_type" else f"{do}: {WORDS_READ}"
    line = (_line_of_name if isinstance(cause, UnknownField) else line_at)(node, place)
    return SuiteFileError(str(path), line=line, field=".".join(map(str, place)), found=found, do=do)


def _way_out(problem: str) -> str:
    """Return the remedy for a problem that the reader of YAML found."""
    return next((do for said, do in _PROBLEMS.items() if said in problem), "correct it")


def mistake_at(
    path: Path, node: yaml.Node | None, place: tuple[int | str, ...], *, found: str, do: str
) -> SuiteFileError:
    """Return the error of a place in a file."""
    return SuiteFileError(str(path), line=line_at(node, place), field=".".join(map(str, place)), found=found, do=do)


def _refined(
    node: yaml.Node | None, place: tuple[int | str, ...], last: int | str, cause: DefinitionError
) -> tuple[tuple[int | str, ...], str]:
    """Return the place of an error's name, if it is a field of the mapping there, and the value found."""
    names = parts_of(cause.where)
    if names[-1] == "" or any(name in place[-1:] for name in names):
        return place, cause.found
    if names[-1] == last:
        return (*place, last), cause.found
    for name in reversed(names):
        if _child(_at(node, place), name) is not None:
            return (*place, name), cause.found
    return place, f"{cause.where}: {cause.found}"


def _read(text: str, renamed: Mapping[str, str]) -> tuple[yaml.Node | None, Any]:
    """Return nodes and content of a text. Raises YAMLError, and the errors it is based on."""
    nodes, loader = _Loader(text), _Loader(text)
    try:
        node, twin = nodes.get_single_node(), loader.get_single_node()  # to construct a node may change it
        _rename(node, renamed)
        _rename(twin, renamed)
        return node, None if twin is None else loader.construct_document(twin)
    finally:
        nodes.dispose()
        loader.dispose()


def _rename(node: yaml.Node | None, names: Mapping[str, str]) -> None:
    if not isinstance(node, (yaml.MappingNode, yaml.SequenceNode)) or not names:
        return
    for each in node.value:
        if isinstance(node, yaml.MappingNode):
            key, inner = each
            key.value = names.get(key.value, key.value) if isinstance(key, yaml.ScalarNode) else key.value
        else:
            inner = each
        _rename(inner, names)


def _require_readable(node: yaml.Node, sizes: dict[yaml.Node, int]) -> int:
    """Return how many values a node has, every reference written out; those in `sizes` are known.

    Raises ConstructorError for a node that holds itself, or that references make too large.
    """
    if node in sizes:
        if sizes[node] == 0:
            raise yaml.constructor.ConstructorError(problem="this refers to itself", problem_mark=node.start_mark)
        return sizes[node]
    sizes[node] = 0  # not counted to its end yet
    _require_point(node)
    inner = node.value if isinstance(node, yaml.SequenceNode) else []
    if isinstance(node, yaml.MappingNode):
        inner = [each for pair in node.value for each in pair]
    sizes[node] = 1 + sum(_require_readable(each, sizes) for each in inner)
    if sizes[node] - len(sizes) > LARGEST_EXPANSION:
        problem = f"with all it refers to this has {sizes[node]:,} values"
        raise yaml.constructor.ConstructorError(problem=problem, problem_mark=node.start_mark)
    return sizes[node]


def _require_point(node: yaml.Node) -> None:
    """Raise ConstructorError for 0,9 in braces: YAML reads a field called 9 behind the comma."""
    pairs = node.value if isinstance(node, yaml.MappingNode) and node.flow_style else []
    for key, value in pairs:
        is_empty = isinstance(value, yaml.ScalarNode) and not value.value and value.style is None
        if is_empty and isinstance(key, yaml.ScalarNode) and key.style is None and re.match(r"\w+:\S", key.value):
            problem = f"there is no space behind the colon of {key.value}"
            raise yaml.constructor.ConstructorError(problem=problem, problem_mark=key.start_mark)
        if is_empty and isinstance(key, yaml.ScalarNode) and key.value.isdigit():
            problem = f"a comma ends a value, so {key.value} is a field of its own"
            raise yaml.constructor.ConstructorError(problem=problem, problem_mark=key.start_mark)


def _shown(value: object) -> str:
    text = "nothing" if value is None else str(value) if isinstance(value, date) else repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"


def _place(node: yaml.Node | None, location: Sequence[int | str]) -> tuple[int | str, ...]:
    """Return the part of a pydantic location that exists in the file; names of union members are left out."""
    place: list[int | str] = []
    for step in location:
        inner = _child(node, step)
        if inner is not None:
            node = inner
            place.append(step)
    return tuple(place)


def _position(node: yaml.Node | None, place: Sequence[int | str]) -> tuple[int, int]:
    """Return the line and the column of a place in a file, or of the nearest part of it."""
    found = _at(node, place)
    return (found.start_mark.line, found.start_mark.column) if found is not None else (0, 0)


def line_at(node: yaml.Node | None, place: Sequence[int | str]) -> int:
    """Return the line of a place in a file, or of the nearest part of it."""
    found = _at(node, place)
    return found.start_mark.line + 1 if found is not None else 1


def _line_of_name(node: yaml.Node | None, place: Sequence[int | str]) -> int:
    """Return the line with the name of a field; its value may begin below."""
    around = _at(node, place[:-1])
    fields = around.value if isinstance(around, yaml.MappingNode) else []
    return next((key.start_mark.line + 1 for key, _ in fields if key.value == place[-1]), line_at(node, place))


def _at(node: yaml.Node | None, place: Sequence[int | str]) -> yaml.Node | None:
    """Return the node of a place, or the last one on the way to it."""
    for step in place:
        node = _child(node, step) or node
    return node


def _child(node: yaml.Node | None, step: int | str) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        named = {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}
        others = (value for key, value in named.items() if own_name(key, [str(step)]) == step)
        return named[step] if step in named else next(others, None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        found: yaml.Node = node.value[step]
        return found
    return None
