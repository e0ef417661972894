"""The page of a run: its report, whose conversations are read from the store as they are looked at."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from simeval.core.serialization import Json
from simeval.errors import DefinitionError
from simeval.extras.viewer.calls import calls_of
from simeval.results.document import ExpectationDocument, RunDocument
from simeval.results.html.blocks import about_of
from simeval.results.html.heads import head_of
from simeval.results.html.page import mark_of, served_page
from simeval.results.html.record import Report
from simeval.results.html.trials import Required, in_short, report_trial, required_of, worst_first
from simeval.store.database import Database
from simeval.store.overview import Overview
from simeval.store.reports import StoredSource
from simeval.store.runs import Runs

AT_ONCE = 20  # conversations that a page asks for together
MOST_KEPT = 12  # runs, and scenarios, that are kept as they were read

Held = TypeVar("Held")


class Recent(Generic[Held]):
    """Caches the latest values, by a key."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most, self._held = most, OrderedDict[object, Held]()

    def get(self, key: object, make: Callable[[], Held]) -> Held:
        """Return the value of a key, made if it is missing."""
        if key not in self._held:
            self._held[key] = make()
        self._held.move_to_end(key)
        while len(self._held) > self._most:
            self._held.popitem(last=False)
        return self._held[key]


@dataclass(frozen=True, slots=True)
class _Read:
    """A run as it was read, and the order of the trials of its scenarios, once they have been looked at."""

    source: StoredSource
    report: Report
    orders: Recent[tuple[Sequence[int], Json]] = field(default_factory=Recent)


class RunPages:
    """Reads the data of a run's page. Raises DefinitionError for a missing run or part."""

    def __init__(self, database: Database, *, finds: bool) -> None:
        self._database, self._runs, self._overview, self._finds = database, Runs(database), Overview(database), finds
        self._read = Recent[_Read](4)

    def page(self, run_id: str, links: Sequence[tuple[str, str]]) -> str:
        """Return the page of a run, with links to others."""
        found = self._at(run_id)
        return served_page(found.report, found.source.document, {**self.head(run_id), "links": links})

    def is_judged(self, run_id: str) -> bool:
        """Return whether a run is a suite's that has ended."""
        document = self._at(run_id).source.document
        return document.has_ended and isinstance(document, RunDocument)

    def head(self, run_id: str) -> Json:
        """Return the top of the page; for a run in progress it is requested again and again."""
        found = self._at(run_id)
        return {
            "mark": mark_of(found.report.outcome),
            "report": found.report,
            "kept": [each.trials for each in found.source.document.scenarios],
            "going": found.source.document.status == "running",
            "finds": self._finds,
        }

    def block(self, run_id: str, scenario: int) -> Json:
        """Return the trials of a scenario in outline, the worst first, with its pictures."""
        found = self._at(run_id)
        required, expectations = self._required(found, scenario)
        return {
            **about_of([each.label for each in required], expectations, found.source.rubrics),
            **self._order(found, scenario)[1],
            "at_once": AT_ONCE,
        }

    def part(self, run_id: str, scenario: int, number: int) -> Json:
        """Return some of the trials of a scenario in full: those at one place of its order."""
        found = self._at(run_id)
        required, _ = self._required(found, scenario)
        order, _ = self._order(found, scenario)
        wanted = order[number * AT_ONCE : (number + 1) * AT_ONCE]
        if not wanted:
            raise DefinitionError(f"run {run_id}", found=f"scenario {scenario} has no part {number}", do="look again")
        read = {each.trial.index: each for each in found.source.read(scenario, wanted)}
        return {"trials": [report_trial(read[index], required) for index in wanted if index in read]}

    def calls(self, run_id: str, scenario: int, index: int) -> Json:
        """Return the model calls of a trial, made again."""
        found = self._at(run_id)
        required, expectations = self._required(found, scenario)
        keys = {each.label: (each.rubric or {}).get("key", "") for each in expectations}
        levels = {each.label: found.source.rubrics.get(keys.get(each.label, ""), {}) for each in required}
        trials = list(found.source.read(scenario, [index]))
        if not trials:
            raise DefinitionError(f"run {run_id}", found=f"scenario {scenario} has no trial {index}", do="look again")
        title = found.source.document.scenarios[scenario].title
        return calls_of(trials[0], self._runs.definition(run_id), title, levels)

    def find(self, run_id: str, text: str) -> Json:
        """Return the trials of each scenario that contain a text."""
        found = self._at(run_id)
        hits = self._runs.found(run_id, text)
        return {
            "hits": [found.source.counted(place, hits.get(place, ())) for place in range(len(found.report.scenarios))]
        }

    def parts(self, run_id: str) -> Sequence[tuple[int, int]]:
        """Return how many trials each scenario has, with its place."""
        found = self._at(run_id)
        return [(place, len(self._order(found, place)[0])) for place in range(len(found.report.scenarios))]

    def _at(self, run_id: str) -> _Read:
        return self._read.get((run_id, self._overview.stamp(run_id)), lambda: self._new(run_id))

    def _new(self, run_id: str) -> _Read:
        source = StoredSource(self._database, run_id)
        return _Read(source, head_of(source.document, source.courses))

    def _required(self, found: _Read, scenario: int) -> tuple[Sequence[Required], Sequence[ExpectationDocument]]:
        scenarios = found.source.document.scenarios
        if not 0 <= scenario < len(scenarios):
            raise DefinitionError(f"run {found.report.name}", found=f"it has no scenario {scenario}", do="look again")
        expectations = scenarios[scenario].expectations
        return required_of(found.source.labels(scenario), expectations), expectations

    def _order(self, found: _Read, scenario: int) -> tuple[Sequence[int], Json]:
        def read() -> tuple[Sequence[int], Json]:
            required, _ = self._required(found, scenario)
            outlines = {each.trial.index: each for each in found.source.outlines(scenario)}
            order = worst_first(list(outlines.values()), required)
            return order, in_short([outlines[index] for index in order], required)

        return found.orders.get(scenario, read)
