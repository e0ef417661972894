"""The pages of a store and their data, by path: the same for a server and for a folder of files."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal
from urllib.parse import quote

from simeval.analysis.comparison import compare
from simeval.analysis.comparison_html import comparison_page
from simeval.core.serialization import Json
from simeval.errors import DefinitionError
from simeval.extras.viewer.listing import Listing
from simeval.extras.viewer.run_page import AT_ONCE, RunPages
from simeval.results.html.blocks import as_text
from simeval.results.html.page import app_page
from simeval.store.database import Database
from simeval.store.runs import Runs

Kind = Literal["html", "json"]
HOME = ("All runs", "../../")
NUMBERS = ("scenario", "part", "trial")  # parts of a path


@dataclass(frozen=True, slots=True)
class Answer:
    """The content at a path."""

    kind: Kind
    text: str


class Site:
    """The pages of a store; with `has_labels` they link to those for labelling, and a server searches."""

    def __init__(self, database: Database, name: str, *, has_labels: bool) -> None:
        self._runs, self._has_labels = Runs(database), has_labels
        self._listing, self._run_pages = Listing(database, name), RunPages(database, finds=has_labels)
        run, compared, number = "(?P<run>[^/]+)", "(?P<baseline>[^/]+)/(?P<candidate>[^/]+)", "[0-9]{1,9}"
        self._made: Mapping[re.Pattern[str], Callable[..., str | Json]] = {
            re.compile(""): lambda: app_page("simeval", "list.js", self._listed()),
            re.compile("list.json"): self._listed,
            re.compile(f"run/{run}/"): self._run,
            re.compile(f"run/{run}/head.json"): self._run_pages.head,
            re.compile(f"run/{run}/(?P<scenario>{number}).json"): self._run_pages.block,
            re.compile(f"run/{run}/(?P<scenario>{number})-(?P<part>{number}).json"): self._run_pages.part,
            re.compile(f"run/{run}/(?P<scenario>{number})-calls-(?P<trial>{number}).json"): self._run_pages.calls,
            re.compile(f"run/{run}/find/(?P<text>.+)", re.DOTALL): self._run_pages.find,
            re.compile(f"compare/{compared}/"): self._compared,
        }

    def answer(self, path: str) -> Answer:
        """Return the content at a path. Raises DefinitionError if there is nothing."""
        for pattern, make in self._made.items():
            if found := pattern.fullmatch(path):
                parts = found.groupdict().items()
                made = make(*(int(part) if name in NUMBERS else part for name, part in parts))
                return Answer("html", made) if isinstance(made, str) else as_answer(made)
        raise DefinitionError("view", found=f"there is no page {path!r}", do="begin at the first page")

    def paths(self) -> Iterator[str]:
        """Return every path, of comparisons those of a run with the one before it."""
        yield from ("", "list.json")
        for group in self._listing.groups():
            ended = [each.run_id for each in group.runs if each.status in ("finished", "stopped")]
            for run in group.runs:
                yield from self._paths_of(run.run_id)
            for newer, older in pairwise(ended):
                yield f"compare/{quote(older, safe='')}/{quote(newer, safe='')}/"

    def _paths_of(self, run_id: str) -> Iterator[str]:
        start = f"run/{quote(run_id, safe='')}/"
        yield from (start, f"{start}head.json")
        for scenario, trials in self._run_pages.parts(run_id):
            yield f"{start}{scenario}.json"
            yield from (f"{start}{scenario}-{part}.json" for part in range(-(-trials // AT_ONCE)))

    def _listed(self) -> Json:
        return {**self._listing.data(), "has_labels": self._has_labels}

    def _run(self, run_id: str) -> str:
        can_label = self._has_labels and self._run_pages.is_judged(run_id)
        label = [("Label conversations", f"../../label/{quote(run_id, safe='')}/")] * can_label
        return self._run_pages.page(run_id, [HOME, *label])

    def _compared(self, *found: str) -> str:
        documents = [self._runs.document(each) for each in found]
        links = [("All runs", "../../../"), *((f"Run {each}", f"../../../run/{each}/") for each in found)]
        return comparison_page(compare(*documents), documents[0], documents[1], links)


def as_answer(data: object) -> Answer:
    """Return data as a page asks for it."""
    return Answer("json", as_text(data))
