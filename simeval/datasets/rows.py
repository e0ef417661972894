"""Rows of files and tables as examples: simeval's own form, LangSmith's, fine-tuning's messages, and flat columns.

A dataset is curated: a row that does not fit is an error here, which names its place and the field.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from difflib import get_close_matches
from functools import partial
from math import isinf, isnan, log10
from pathlib import PurePath
from typing import Any
from uuid import UUID

from simeval.core.conversation import Conversation, Message
from simeval.core.serialization import nested
from simeval.core.validation import closest, require
from simeval.datasets.dataset import REFERENCE, Example, Kind, as_answer, decode_example, is_chat, text_of, written
from simeval.datasets.messages import ROLES, TurnColumns, has_right_answer, is_reference, references_in
from simeval.errors import DefinitionError

Row = Mapping[str, Any]

OWN = ("id", "inputs", "outputs", "metadata", "conversation", "split", "tags")
MARKS = ("id", "split", "tags")
SIDES = ("inputs", "outputs", "metadata")
CHAT_ROLES = ("user", "assistant", "system", "developer", "tool", "function")
ASKING = ("user", "system", "developer")  # roles that must have a text
KNOWN_OUTPUTS = ("output", REFERENCE)
LANGSMITH_SPLIT = "dataset_split"
DEEPEST = 64  # levels of a value
MOST_DIGITS = 4_300  # of a whole number: Python writes and reads none with more
MOST_BITS = int(MOST_DIGITS / log10(2))
NEARLY = 0.8  # the similarity of two names at which one is taken for a slip

_WRITTEN_AS_TEXT = (date, datetime, time, timedelta, UUID, PurePath)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """Which columns of flat rows are inputs, which reference outputs, and which recorded answers.

    None means not given. Naming inputs or outputs declares the rows flat. `of_csv` reads an empty reference as none.
    """

    kind: Kind | None = None
    inputs: tuple[str, ...] | None = None
    outputs: tuple[str, ...] | None = None
    recorded: str | None = None
    of_csv: bool = False

    @property
    def are_flat(self) -> bool:
        """Whether the rows are declared flat."""
        return self.inputs is not None or self.outputs is not None

    @property
    def named(self) -> tuple[str, ...]:
        """All columns that are named."""
        return (*(self.inputs or ()), *(self.outputs or ()), *((self.recorded,) if self.recorded is not None else ()))


def fields_of(
    kind: Kind | None, inputs: str | Sequence[str] | None, outputs: str | Sequence[str] | None, recorded: str | None
) -> Fields:
    """Return the columns as they were named. Raises DefinitionError if one is named twice."""
    require(isinstance(recorded, str | None), "recorded", found=recorded, do="name one column")
    fields = Fields(kind=kind, inputs=_names(inputs), outputs=_names(outputs), recorded=recorded)
    twice = sorted({name for name in fields.named if fields.named.count(name) > 1})
    if twice:
        do = "let a column be one of inputs, outputs and recorded"
        raise DefinitionError("dataset columns", found=f"{', '.join(twice)} named twice", do=do)
    return fields


def example_of(row: object, fields: Fields, where: str) -> Example:
    """Return a row as an example, its values in the form JSON can hold. Raises DefinitionError naming the field."""
    if isinstance(row, Example):
        return _recorded_inside(_chosen_inputs(_plain_sides(row, where), fields), fields, where)
    if not isinstance(row, Mapping):
        do = "give a mapping of column names to values, or an Example"
        raise DefinitionError(where, found=f"found {row!r:.80}", do=do)
    strange = [name for name in row if not isinstance(name, str)]
    if strange:
        raise DefinitionError(where, found=f"a column is named {strange[0]!r}", do="name columns by texts")
    told = {**row, fields.recorded: written(row[fields.recorded])} if fields.recorded in row else row
    found = {name: json_value(value, f"{where}, field {name}") for name, value in told.items()}
    if _is_nested(found) and (not fields.are_flat or _has_inside(found, fields)):
        return _recorded_inside(_chosen_inputs(_nested(found, where), fields), fields, where)
    if not fields.are_flat and isinstance(found.get("messages"), list):
        return _fine_tuning(found, fields, where)
    return _flat(found, fields, where)


def are_turns(row: object, fields: Fields, where: str) -> bool:
    """Return whether the rows are turns of conversations, by the first of them, and no fields were named.

    Raises DefinitionError if their columns may mean several things.
    """
    if fields.named or fields.kind in ("kv", "llm") or not isinstance(row, Mapping) or _is_nested(row):
        return False
    names = {name: value for name, value in row.items() if isinstance(name, str)}
    return TurnColumns.of(names, where) is not None


def json_value(value: object, where: str) -> Any:
    """Return a value in the form JSON can hold: NaN as null, dates as text, arrays as lists.

    Raises DefinitionError for a value without such a form, so that a dataset is the same wherever it is read.
    """
    try:
        return nested(value, partial(_json_leaf, where=where), levels=DEEPEST)
    except RecursionError as error:
        found = f"it is nested more than {DEEPEST} levels deep"
        raise DefinitionError(where, found=found, do="give it as a text") from error


def _json_leaf(value: object, *, where: str) -> Any:
    match value:
        case None | bool() | str():
            return value
        case int():
            return _whole(value, where)
        case float() if not isinf(value):
            return None if isnan(value) else value
        case Decimal() if value.is_finite() and value.adjusted() < MOST_DIGITS:
            return int(value) if value == value.to_integral_value() else float(value)
        case _ if isinstance(value, _WRITTEN_AS_TEXT):
            return str(value)
        case _ if callable(listed := getattr(value, "tolist", None)):  # arrays and numbers of numpy
            return json_value(listed(), where)
        case _:
            do = "give texts, numbers, lists or mappings, or leave the column out"
            raise DefinitionError(where, found=f"found {value!r:.80} ({type(value).__name__})", do=do)


def _whole(value: int, where: str) -> int:
    """Return a whole number. Raises DefinitionError if it is too long to be written."""
    if value.bit_length() > MOST_BITS:
        found = f"found a whole number of more than {MOST_DIGITS:,} digits"
        raise DefinitionError(where, found=found, do="give it as a text")
    return value


def _names(given: str | Sequence[str] | None) -> tuple[str, ...] | None:
    return None if given is None else (given,) if isinstance(given, str) else tuple(given)


def _plain_sides(example: Example, where: str) -> Example:
    sides = {side: getattr(example, side) for side in SIDES}
    if not all(isinstance(found, Mapping) for found in sides.values()):
        return example  # which the check of the dataset names
    return replace(example, **{side: json_value(found, f"{where}, {side}") for side, found in sides.items()})


def _is_nested(row: Row) -> bool:
    conversation = row.get("conversation")
    return isinstance(row.get("inputs"), Mapping) or (isinstance(conversation, Mapping) and "turns" in conversation)


def _has_inside(row: Row, fields: Fields) -> bool:
    """Return whether the inputs that are named are among those of a nested row, and no columns of a flat one."""
    inside = row.get("inputs")
    return fields.inputs is not None and isinstance(inside, Mapping) and all(each in inside for each in fields.inputs)


def _chosen_inputs(example: Example, fields: Fields) -> Example:
    """Return an example with only the named inputs, if any are named; the others become metadata."""
    chosen = fields.inputs or ()
    if not chosen or not isinstance(example.inputs, Mapping) or not all(name in example.inputs for name in chosen):
        return example
    others = {name: value for name, value in example.inputs.items() if name not in chosen}
    inputs = {name: example.inputs[name] for name in chosen}
    return replace(example, inputs=inputs, metadata={**others, **example.metadata})


def _nested(row: Row, where: str) -> Example:
    """Read simeval's own form, and LangSmith's; other keys are metadata."""
    for side in SIDES:
        if not isinstance(row.get(side), Mapping | None):
            do = f"give {side} as a mapping of column names to values"
            raise DefinitionError(f"{where}, field {side}", found=f"found {row[side]!r:.80}", do=do)
    others = {name: value for name, value in row.items() if name not in OWN}
    for name in others:
        close = get_close_matches(name, OWN, 1, NEARLY)
        if close:
            do = f"call it {close[0]}, or put it into metadata"
            found = f"this is almost {close[0]}, which has a meaning of its own"
            raise DefinitionError(f"{where}, field {name}", found=found, do=do)
    metadata = {**others, **(row.get("metadata") or {})}
    marks = _marks({**row, **_langsmith_split(row, metadata)}, MARKS, where)
    inner = {name: row.get(name) for name in ("inputs", "outputs", "conversation")}
    try:
        return replace(decode_example({**inner, "metadata": metadata}), **marks)
    except (KeyError, TypeError, ValueError) as error:
        do = 'give {"turns": [{"role": "user", "content": "..."}, ...]}'
        raise DefinitionError(f"{where}, field conversation", found=f"it cannot be used ({error})", do=do) from error


def _langsmith_split(row: Row, metadata: dict[str, Any]) -> dict[str, Any]:
    """Take the splits that LangSmith keeps in the metadata: the first is the split, all of several are tags."""
    if row.get("split") or LANGSMITH_SPLIT not in metadata:
        return {}
    found = metadata.pop(LANGSMITH_SPLIT)
    names = [str(name) for name in (found if isinstance(found, list) else [found]) if name]
    if not names:
        return {}
    return {"split": names[0], **({"tags": [*(row.get("tags") or ()), *names]} if len(names) > 1 else {})}


def _fine_tuning(row: Row, fields: Fields, where: str) -> Example:
    """Read a row of messages: if the assistant has the last word, that is the reference."""
    messages = [
        {"content": each.get("parts"), **each} if isinstance(each, Mapping) else each for each in row["messages"]
    ]
    if not is_chat(messages):
        bad = next((number for number, each in enumerate(messages) if not is_chat([each])), 0)
        found = f"found {messages[bad]!r:.80}" if messages else "it is empty"
        do = "give messages with role and content"
        raise DefinitionError(f"{where}, field messages[{bad}]", found=found, do=do)
    for number, each in enumerate(messages):
        _require_usable(each, f"{where}, field messages[{number}]")
    answered = messages[-1]["role"] == "assistant"
    asked = messages[:-1] if answered else messages
    if not asked:
        do = "let something be said before the answer"
        raise DefinitionError(f"{where}, field messages", found="no message before the answer", do=do)
    others = {name: value for name, value in row.items() if name not in (*MARKS, "messages")}
    inner = others.get("metadata")
    if isinstance(inner, Mapping):
        others = {**_without(others, "metadata"), **inner}
    example = Example(
        inputs={"input": asked},
        outputs={"output": [messages[-1]]} if answered else {},
        metadata=others,
        **_marks(row, MARKS, where),
    )
    return _recorded_inside(example, fields, where)


def _require_usable(message: Row, where: str) -> None:
    """Raise DefinitionError for a message of an unknown role, and for an empty one of a person."""
    role = message["role"]
    if role not in CHAT_ROLES:
        *others, last = map(repr, CHAT_ROLES)
        meant = f"write {ROLES[role.lower()]!r}" if role.lower() in ROLES else closest(role, CHAT_ROLES)
        do = meant or f"use {', '.join(others)} or {last}"
        raise DefinitionError(f"{where}.role", found=f"found {role!r}", do=do)
    if message.get("content") is None and role in ASKING:
        raise DefinitionError(where, found=f"found {message!r:.80}, without content", do="give role and content")


def _flat(row: Row, fields: Fields, where: str) -> Example:
    """Read a row of columns: some are inputs, some outputs, and some describe the example."""
    own = [name for name in MARKS if name not in fields.named]
    is_one = fields.kind in ("llm", "chat")  # the only input is "input", the only output "output"
    outputs = fields.outputs
    apps: Sequence[str] = ()
    if outputs is None:  # without a right answer beside it, a column called output is the reference
        free = [name for name in row if name not in fields.named]
        apps = KNOWN_OUTPUTS[:1] if not is_one and has_right_answer(free) else ()
        known = KNOWN_OUTPUTS[:1] if is_one else (*KNOWN_OUTPUTS, *references_in(free))
        outputs = tuple(dict.fromkeys(name for name in known if name in free and name not in apps))
    inputs = fields.inputs
    if inputs is None:  # an app never sees the references
        taken = {*outputs, *apps, *own, fields.recorded}
        inputs = ("input",) if is_one else tuple(name for name in row if name not in taken and not is_reference(name))
    wanted = dict.fromkeys((*inputs, *outputs, *fields.named))
    missing = [name for name in wanted if name not in row]
    if missing or not inputs:
        found = f"it has no column {', '.join(missing)}" if missing else "no column is left for the inputs"
        name_it = "" if missing else "; name the input: --input COLUMN (in Python inputs=)"
        raise DefinitionError(where, found=found, do=f"the columns are {', '.join(row) or 'none'}{name_it}")
    example = Example(
        inputs={name: row[name] for name in inputs},
        outputs={
            name: None if fields.of_csv and name != "output" and not row[name].strip() else row[name]
            for name in outputs
        },
        metadata={name: value for name, value in row.items() if name not in (*inputs, *outputs, *own, fields.recorded)},
        **_marks(row, own, where),
    )
    if fields.recorded is None:
        return example
    return _with_answer(example, row[fields.recorded], f"{where}, field {fields.recorded}")


def _marks(row: Row, names: Sequence[str], where: str) -> dict[str, Any]:
    """Return id, split and tags, those of `names` that the row has."""
    found: dict[str, Any] = {}
    for name, field in (("id", "example_id"), ("split", "split")):
        value = row.get(name) if name in names else None
        if isinstance(value, (list, Mapping)):
            raise DefinitionError(f"{where}, field {name}", found=f"found {value!r:.80}", do="give a text")
        found[field] = "" if value is None else str(value)
    tags = row.get("tags") if "tags" in names else None
    listed = tags.split(",") if isinstance(tags, str) else tags or []
    if not isinstance(listed, list) or not all(isinstance(tag, str) for tag in listed):
        do = "give a list of texts, or a text with commas between them"
        raise DefinitionError(f"{where}, field tags", found=f"found {tags!r:.80}", do=do)
    return {**found, "tags": tuple(dict.fromkeys(tag.strip() for tag in listed if tag.strip()))}


def _recorded_inside(example: Example, fields: Fields, where: str) -> Example:
    """Move the recorded answer out of the outputs or the metadata of an example, if its column is named."""
    name = fields.recorded
    if name is None:
        return example
    at = f"{where}, field {name}"
    if name in example.outputs:
        return _with_answer(replace(example, outputs=_without(example.outputs, name)), example.outputs[name], at)
    if name in example.metadata:
        return _with_answer(replace(example, metadata=_without(example.metadata, name)), example.metadata[name], at)
    there = ", ".join([*example.outputs, *example.metadata]) or "none"
    do = f"the outputs and metadata are {there}"
    raise DefinitionError(where, found=f"it has no column {name}", do=do)


def _without(row: Row, name: str) -> dict[str, Any]:
    return {column: value for column, value in row.items() if column != name}


def _with_answer(example: Example, answer: object, where: str) -> Example:
    """Add a recorded answer as the end of a conversation that begins with the example's inputs."""
    if answer is None:
        do = "give what the app answered, or leave the row out"
        raise DefinitionError(where, found="nothing was recorded", do=do)
    metadata: dict[str, Any] = {}
    if isinstance(answer, str):
        content = answer
    elif is_chat(answer):
        content = text_of(answer[-1])
    else:
        content, metadata = as_answer(answer)
    said = (*_asked(example), Message(role="assistant", content=content, metadata=metadata))
    return replace(example, conversation=Conversation(messages=said, ended="recorded"))


def _asked(example: Example) -> tuple[Message, ...]:
    chat = example.inputs.get("input")
    if not is_chat(chat):
        return (Message(role="user", content=example.text),)
    return tuple(
        Message(role=message["role"], content=text_of(message))
        for message in chat
        if message["role"] in ("user", "assistant")
    )
