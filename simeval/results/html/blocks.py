"""The data of a report: blocks of compressed JSON, the conversations of one scenario in each, within a budget."""

import json
import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from math import isfinite
from typing import Any

from simeval.core.serialization import Json, plain
from simeval.results.document import ExpectationDocument, Requirement, ScenarioDocument
from simeval.results.html.charts import Node, histogram, region_chart, region_key
from simeval.results.html.heads import picture_of
from simeval.results.html.sentences import way
from simeval.results.html.source import Rubrics, Source
from simeval.results.html.trials import report_trial, required_of, worst_first

MOST_BYTES = 13_000_000  # of all conversations together, as text in the file
AT_A_TIME = 100  # conversations that are read from a store together
LEAST_KEPT = 3  # conversations of a scenario, however long they are


@dataclass(frozen=True, slots=True)
class Block:
    """The data of one scenario, as text for the file; `kept` of its conversations are in it."""

    scenario: int
    text: str
    kept: int


def scenario_blocks(source: Source, most_bytes: int = MOST_BYTES) -> Iterator[Block]:
    """Return the block of each scenario, those that passed first: the rest of their budget is for the others."""
    scenarios = source.document.scenarios
    order = sorted(range(len(scenarios)), key=lambda place: scenarios[place].outcome != "pass")
    left = most_bytes
    for done, place in enumerate(order):
        block = _block(source, place, scenarios[place], left // (len(order) - done))
        left = max(0, left - len(block.text))
        yield block


def _block(source: Source, place: int, scenario: ScenarioDocument, room: int) -> Block:
    expectations = scenario.expectations
    required = required_of(source.labels(place), expectations)
    order = worst_first(source.outlines(place), required)
    about = about_of([each.label for each in required], expectations, source.rubrics)
    return block_of(place, about, _whole(source, place, order, required), room)


def block_of(place: int, about: Json, trials: Iterable[Json], room: int) -> Block:
    """Return the block of a scenario: its data, and as many trials as there is room for."""
    writer = _Writer()
    writer.write(as_text(about)[:-1] + ', "trials": [')
    kept = 0
    for trial in trials:
        writer.write((", " if kept else "") + as_text(trial))
        kept += 1
        if writer.size >= room and kept >= LEAST_KEPT:
            break
    writer.write("]}")
    return Block(place, writer.text(), kept)


def _whole(source: Source, place: int, order: Sequence[int], required: Any) -> Iterator[Json]:
    for start in range(0, len(order), AT_A_TIME):
        wanted = order[start : start + AT_A_TIME]
        found = {each.trial.index: each for each in source.read(place, wanted)}
        yield from (report_trial(found[index], required) for index in wanted if index in found)


def about_of(
    labels: Sequence[str], expectations: Sequence[ExpectationDocument] = (), rubrics: Rubrics | None = None
) -> Json:
    """Return the data of an open scenario besides its trials: each verdict's pictures, and its rubrics."""
    keys = [(each.rubric or {}).get("key", "") for each in expectations]
    return {
        "labels": labels,
        "charts": [
            [_chart(each, verdict, with_scores=not place) for place, verdict in enumerate(each.verdicts)]
            for each in expectations
        ],
        "rubrics": [(rubrics or {}).get(key, {}) for key in keys],
    }


def _chart(expectation: ExpectationDocument, verdict: Requirement, *, with_scores: bool) -> Json:
    """Draw the interval of a verdict, the way to it, and how the scores it is of are spread."""
    chart = None if verdict.against else verdict.chart  # of pairs, misses alone are uninformative
    said = way(chart, verdict) if chart else ""
    is_measured = chart is not None and any(each is not None for each in chart.met)
    region: Node | None = region_chart(chart, label=said) if chart and is_measured else None
    scores = [each for each in expectation.scores if each is not None and isfinite(each)]
    spread = (
        histogram(scores, verdict.is_met_by, label=f"{len(scores)} scores of {expectation.label}")
        if with_scores and len(set(scores)) > 1
        else None
    )
    key = region_key(chart, region) if chart and region else []
    interval = picture_of(expectation.label, verdict)
    return {"interval": interval, "region": region, "key": key, "said": said if region else "", "scores": spread}


class _Writer:
    """Compresses text piece by piece, and knows how much room it takes in the file by now."""

    def __init__(self) -> None:
        self._compress = zlib.compressobj(6)
        self._pieces: list[bytes] = []
        self.size = 0

    def write(self, text: str) -> None:
        self._keep(self._compress.compress(text.encode("ascii")))

    def text(self) -> str:
        self._keep(self._compress.flush())
        return b64encode(b"".join(self._pieces)).decode("ascii")

    def _keep(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self.size += len(piece) * 4 // 3


def packed(value: object) -> str:
    """Return a value as compressed JSON, in letters that end no element of a page."""
    writer = _Writer()
    writer.write(as_text(value))
    return writer.text()


def as_text(value: object) -> str:
    """Write records as JSON. Their content is in its form already, but for non-finite numbers: these are null."""
    try:
        return json.dumps(value, default=_opened, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value))


def _opened(value: Any) -> object:
    """Return a value without a form in JSON as one with a form."""
    if is_dataclass(value):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, Iterable) else plain(value)


def _finite(value: object) -> object:
    if value is None or isinstance(value, (str, int, float)):
        return plain(value)
    if isinstance(value, (list, tuple)):
        return list(map(_finite, value))
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    return _finite(_opened(value))
