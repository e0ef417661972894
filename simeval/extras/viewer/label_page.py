"""The pages for blind labelling: the queue of the terminal, and at its end the conclusions from the labels.

Until a person has been through their queue no rating of a judge is among the answers.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, StrictBool, ValidationError

from simeval.analysis.agreement_report import disagreements, encode_agreement
from simeval.analysis.judge_agreement import agreement, people_labels
from simeval.analysis.label_queue import (
    LabelItem,
    LabelQueue,
    label_items,
    require_yes_or_no,
    until_look,
    user_of_machine,
)
from simeval.analysis.labels import drawable_in, labels_of, skipped_in
from simeval.analysis.people_standard import has_looks
from simeval.analysis.saved_run import read_suite
from simeval.cli.options import level_of_project
from simeval.core.conversation import encode_message, named_data
from simeval.core.feedback import PERSON
from simeval.core.serialization import Json, plain
from simeval.core.terminal import counted_of
from simeval.errors import DefinitionError
from simeval.extras.viewer.run_page import Recent
from simeval.extras.viewer.site import HOME, Answer, as_answer
from simeval.results.document import RunDocument
from simeval.results.html.page import app_page
from simeval.store.database import Database
from simeval.store.feedback import FeedbackBook
from simeval.store.overview import Overview
from simeval.store.runs import Runs

PATH = re.compile("label/([^/]+)/(queue.json|result.json|)")
SHOWN = ("role", "content", "tool_calls")  # of a message

Form = TypeVar("Form", bound=BaseModel)


class Asked(BaseModel):
    """The labeller and the queue: the choices with which a page asks for its queue."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    by: str = Field(min_length=1, max_length=200)
    label: str | None = None
    sample: int = Field(default=60, ge=1, le=100_000)
    overlap: int | None = Field(default=None, ge=1)
    ratings: bool = False
    stratified: bool = False
    seed: int | None = None


class Said(BaseModel):
    """A person's action, and the trial they look at."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    asked: Asked
    do: Literal["label", "skip", "undo"]
    scenario: str = ""
    index: int = -1
    value: StrictBool | float | None = None
    reason: str = Field(default="", max_length=2_000)


class LabelPages:
    """Answers for the pages of labels, and stores people's labels."""

    def __init__(self, database: Database) -> None:
        self._runs, self._overview, self._book = Runs(database), Overview(database), FeedbackBook(database)
        self._drawn = Recent[tuple[Sequence[LabelItem], RunDocument | None]]()

    def answer(self, path: str, query: Mapping[str, str]) -> Answer:
        """Return a page, the state of a queue, or the conclusions from its labels. Raises DefinitionError."""
        run_id, what = _parts(path)
        if not what:
            return Answer("html", self._page(run_id))
        asked = _read(Asked, query)
        return as_answer(self._state(run_id, asked) if what == "queue.json" else self._result(run_id, asked))

    def change(self, path: str, given: Any) -> Answer:
        """Do a person's action, and return the state of their queue after it. Raises DefinitionError."""
        run_id, what = _parts(path)
        if what != "queue.json":
            raise DefinitionError("label", found="nothing can be changed there", do="label trials")
        said = _read(Said, given)
        queue, item = self._queue(run_id, said.asked), None
        if said.do == "undo":
            queue.undo()
        else:
            item = queue.current
            if item is None or item.key != (said.scenario, said.index):
                raise DefinitionError("label", found="another trial is next by now", do="look at that one")
        if item is not None and said.do == "label":
            queue.label(_value(said))
        elif item is not None:
            queue.skip(said.reason)
        return as_answer(self._state(run_id, said.asked))

    def _page(self, run_id: str) -> str:
        run = read_suite(self._runs.document(run_id), "run")
        labels = list(dict.fromkeys(name for names in drawable_in(run).values() for name in names))
        links = [HOME, (f"Run {run_id}", f"../../run/{quote(run_id, safe='')}/")]
        counts = {"trials": len(drawable_in(run)), "labels": labels}
        data = {"run": run_id, **counts, "by": user_of_machine(), "links": links}
        return app_page(f"Labels · {run_id} · simeval", "label.js", data)

    def _queue(self, run_id: str, asked: Asked) -> LabelQueue:
        require_yes_or_no(ratings=asked.ratings, stratified=asked.stratified)
        drawn = asked.model_dump(include={"label", "sample", "stratified", "seed"})
        key = (run_id, self._overview.stamp(run_id), *drawn.values())
        items, run = self._drawn.get(key, lambda: self._draw(run_id, asked))
        given = self._book.of_run(run_id)
        if run is not None:
            items = until_look(items, run, people_labels(run, labels_of(given), skipped_in(given)))
        return LabelQueue(items, self._book, rater=asked.by, given=given, overlap=asked.overlap)

    def _draw(self, run_id: str, asked: Asked) -> tuple[Sequence[LabelItem], RunDocument | None]:
        """Return the items, and the run if its labels are looked at before all are given."""
        run, rubrics = read_suite(self._runs.document(run_id), "run"), self._runs.rubrics(run_id)
        items = label_items(
            run, rubrics, label=asked.label, size=asked.sample, stratified=asked.stratified, seed=asked.seed
        )
        return items, run if has_looks(run) else None

    def _state(self, run_id: str, asked: Asked) -> Json:
        queue = self._queue(run_id, asked)
        item = queue.current
        labels = [each for each in self._book.of_run(run_id) if each.labeller == PERSON and each.score is not None]
        return {
            "labelled": queue.labelled,
            "skipped": queue.skipped,
            "left": queue.left,
            "people": Counter(each.source for each in labels),
            "item": None if item is None else _shown(item),
        }

    def _result(self, run_id: str, asked: Asked) -> Json:
        queue = self._queue(run_id, asked)
        if queue.current is not None:
            do = "label or skip the others first: what the judge said would sway you"
            raise DefinitionError("label", found=f"{counted_of(queue.left, 'trial')} still to come", do=do)
        run = read_suite(self._runs.document(run_id), "run")
        said = self._book.of_run(run_id)
        labels = labels_of(said, queue.expectation)
        if not labels:
            return {"report": None, "text": "", "disagreements": [], "skipped": queue.skipped}
        report = agreement(run, labels, alpha=level_of_project(), skipped=skipped_in(said))
        places = {title: place for place, title in enumerate(each.title for each in run.scenarios)}
        found = [{**asdict(each), "place": places.get(each.scenario, 0)} for each in disagreements(run, labels)]
        return {
            "report": encode_agreement(report),
            "text": str(report),
            "disagreements": plain(found),
            "skipped": queue.skipped,
        }


def _parts(path: str) -> tuple[str, str]:
    found = PATH.fullmatch(path)
    if found is None:
        raise DefinitionError("view", found=f"there is no page {path!r}", do="begin at the first page")
    return found[1], found[2]


def _read(form: type[Form], given: Any) -> Form:
    try:
        return form.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "label"
        raise DefinitionError(where, found=first["msg"], do="choose again at the top of the page") from error


def _value(said: Said) -> bool | float:
    is_rating = isinstance(said.value, float) and 1 <= said.value <= 10
    if not (is_rating if said.asked.ratings else isinstance(said.value, bool)):
        do = "give a rating from 1 to 10" if said.asked.ratings else "give true or false"
        raise DefinitionError("label", found=f"found {json.dumps(said.value)}", do=do)
    assert said.value is not None
    return said.value


def _shown(item: LabelItem) -> Json:
    """Return the visible part of a trial: not how it was drawn either, which may give the judge away."""
    turns = [encode_message(each) for each in item.conversation.messages]
    return {
        "scenario": item.scenario,
        "index": item.index,
        "expectation": item.expectation,
        "expected_behavior": item.expected_behavior,
        "given": item.given,
        "when": item.when,
        "guideline": dict(item.guideline),
        "turns": [
            {name: each[name] for name in SHOWN if name in each} | {"content": named_data(each["content"])}
            for each in turns
        ],
        "crashed": item.conversation.ended == "app_error",
    }
