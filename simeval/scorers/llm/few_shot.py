"""Rows that people labelled, as examples for a graded scorer: drawn from a dataset, and left out of its validation."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any

from simeval.core import seeds
from simeval.core.validation import require_whole
from simeval.datasets.dataset import Dataset, Example
from simeval.errors import DefinitionError
from simeval.scorers.responses import conversation_columns
from simeval.scorers.values import canonical

LABEL = "label"  # of an example: the label people gave it


def draw_examples(
    dataset: Dataset, *, label: str, number: int = 4, seed: int = 0
) -> tuple[list[Mapping[str, Any]], Dataset]:
    """Return rows for a scorer's `examples`, drawn at random with every label by turns, and the dataset without them.

    `label` names the column with people's labels, also by a path with dots, such as "feedback.helpful.score". The
    dataset must have recorded answers. Raises DefinitionError if it has none, if no row has a label, or if none would
    be left to validate the scorer on.
    """
    require_whole(number, "draw_examples: number")
    if not dataset.recorded:
        do = "give recorded conversations: what people said of an answer is of that answer alone"
        raise DefinitionError(f"dataset {dataset.name!r}", found="it has no recorded answers", do=do)
    by_label: defaultdict[str, list[Example]] = defaultdict(list)
    for example in dataset:
        if (said := _at(example.columns(), label)) not in (None, ""):
            by_label[canonical(said)].append(example)
    if not by_label:
        do = f"name a column there is: {', '.join(dataset.columns)}"
        raise DefinitionError(f"dataset {dataset.name!r}", found=f"no row has a label in {label!r}", do=do)
    chance = seeds.generator(seed, "examples")
    groups = [chance.sample(by_label[said], len(by_label[said])) for said in sorted(by_label)]
    in_turn = chain.from_iterable(zip_longest(*groups))
    drawn = [example for example in in_turn if example is not None][:number]
    rest = dataset.only(_other_than(drawn), "validation, beside the examples")
    return [_row(example, label) for example in drawn], rest


def _other_than(drawn: list[Example]) -> Callable[[Example], bool]:
    """Return a predicate for examples with another conversation: a drawn one may occur again with new labels."""
    shown = {_said(example) for example in drawn}
    return lambda example: _said(example) not in shown


def _said(example: Example) -> Sequence[tuple[str, str]]:
    messages = example.conversation.messages if example.conversation else ()
    return tuple((message.role, " ".join(message.content.split())) for message in messages)


def _row(example: Example, label: str) -> Mapping[str, Any]:
    columns = example.columns()
    said = conversation_columns(example.conversation) if example.conversation else {}
    return {**said, **columns, LABEL: _at(columns, label)}


def _at(columns: Mapping[str, Any], path: str) -> Any:
    found: Any = columns
    for part in [path] if path in columns else path.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found
