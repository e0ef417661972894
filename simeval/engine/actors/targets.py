"""The target of a dataset: an app's handler, or a function of an example's inputs."""

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from simeval.core.conversation import AppResponse
from simeval.core.serialization import not_json, opened
from simeval.datasets.dataset import Dataset, as_answer
from simeval.engine.actors.app import App
from simeval.engine.actors.handler import Handler, ObjectMaker, is_async, named
from simeval.errors import DefinitionError
from simeval.suites.apps.remote_app import AppFailure

OWN_COLUMNS = ("inputs", "seed")  # beside the inputs, for a function of columns

_TALKS = ("message", "messages")
_ASKING = {"instruction", "instructions", "question", "prompt", "query"}  # beside an "input" a part of the question


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The target of an evaluation: its actor and its name in reports.

    `model` is its name if it is a model; `takes_columns` is whether it is a function of columns.
    """

    app: App
    name: str
    model: str | None = None
    takes_columns: bool = False


def takes_columns(target: Callable[..., Any], dataset: Dataset) -> bool:
    """Return whether a target is a function of columns, and not an app's handler of messages or no function.

    It is one if each parameter that it requires is an input, or "inputs", all of them, or "seed"; references and
    metadata are not for the app. Raises DefinitionError if it is neither.
    """
    if not callable(target):
        return False
    names, required = _parameters(target)
    unnamed = [each for each in _signature(target).parameters.values() if each.kind is each.POSITIONAL_ONLY]
    columns = (*next(iter(dataset)).app_inputs(), *OWN_COLUMNS)
    talks = names[:1] and names[0] in _TALKS and not (len(names) > 1 and {*names} <= {*columns})
    if talks or (unnamed and dataset.kind != "kv"):
        return False
    if not unnamed and (required or _takes_any(target)) and all(name in columns for name in required):
        return True
    if dataset.kind != "kv":
        return False
    raise DefinitionError(
        "app handler",
        found=f"it takes {', '.join(names) or 'nothing'}",
        do=f"let it take inputs of the dataset by their names ({', '.join(columns)}), or message, or messages",
    )


def require_one_input(dataset: Dataset) -> None:
    """Raise DefinitionError if an app that takes one text could be given several columns of a dataset."""
    inputs = next(iter(dataset)).inputs
    if len(inputs) < 2 or ("input" in inputs and _ASKING.isdisjoint(map(str.lower, inputs))):
        return
    found = f"the app takes one text, and {len(inputs)} columns may be it: {', '.join(inputs)}"
    first = next(iter(inputs))
    do = f"name it: --input {first} (in Python inputs={first!r}, where the dataset is made)"
    raise DefinitionError(f"dataset {dataset.name!r}", found=found, do=do)


def require_texts(dataset: Dataset, app: App) -> None:
    """Raise DefinitionError where users show images or the like to an app that is given texts alone."""
    if app.handler.takes_parts or dataset.kind != "chat":
        return
    number = next((number for number, example in enumerate(dataset, 1) if example.has_media), None)
    if number is not None:
        where, found = f"dataset {dataset.name!r}, example {number}", "its user shows an image or a file"
        do = "the app takes texts alone: let it take messages (at a URL {messages}), or leave such examples out"
        raise DefinitionError(where, found=found, do=do)


def column_handler(target: Callable[..., Any]) -> Handler:
    """Return a handler of one turn whose state is the inputs of an example, by their names."""
    names, _ = _parameters(target)
    takes_any, who = _takes_any(target), named(target)

    def chosen(columns: Mapping[str, Any]) -> dict[str, Any]:
        return dict(columns) if takes_any else {name: columns[name] for name in names if name in columns}

    maker = ObjectMaker.of(target)

    def answer(state: Mapping[str, Any]) -> Any:
        return (maker.called_of(maker.make()) if maker else target)(**chosen(state))

    if is_async(maker.called if maker else target):

        async def handle(message: str, state: Mapping[str, Any]) -> Any:  # noqa: ARG001
            return as_response(await answer(state), who)

        return Handler.of(handle)

    def handle_in_thread(message: str, state: Mapping[str, Any]) -> Any:  # noqa: ARG001
        returned = answer(state)
        return _awaited(returned, who) if inspect.isawaitable(returned) else as_response(returned, who)

    return Handler.of(handle_in_thread)


async def _awaited(returned: Any, who: str) -> Any:
    return as_response(await returned, who)


def as_response(returned: object, who: str) -> Any:
    """Return the result of a function of columns as an app's response, with values that are no texts also as JSON.

    Dataclasses and pydantic models are objects of JSON. Raises AppFailure, naming `who` returned it, for nothing and
    for anything but a text or JSON.
    """
    if isinstance(returned, AppResponse):
        return returned
    if returned is None:
        raise AppFailure(f"{who} returned None; it must return a text, or what JSON has, such as a dict")
    if isinstance(returned, str):
        return AppResponse(returned)
    found = returned if isinstance(returned, (set, frozenset)) else opened(returned)
    if strange := not_json(found):
        raise AppFailure(f"{who} returned what is no text and no JSON ({strange}); it must return a text or a dict")
    text, metadata = as_answer(found)
    return AppResponse(text, metadata=metadata)


def _signature(target: Callable[..., Any]) -> inspect.Signature:
    maker = ObjectMaker.of(target)
    return maker.signature if maker else inspect.signature(target)


def _takes_any(target: Callable[..., Any]) -> bool:
    return any(each.kind is each.VAR_KEYWORD for each in _signature(target).parameters.values())


def _parameters(target: Callable[..., Any]) -> tuple[list[str], Collection[str]]:
    variadic = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    found = [each for each in _signature(target).parameters.values() if each.kind not in variadic]
    return [each.name for each in found], [each.name for each in found if each.default is each.empty]
