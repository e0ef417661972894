"""A comparison as Markdown: a table of changes, and the conversations that got worse, before and now, folded."""

from collections.abc import Iterator, Mapping, Sequence

from simeval.analysis.changes import WORST_FIRST, Change, Finding
from simeval.analysis.comparison_report import (
    Comparison,
    change_cells,
    change_headers,
    gate_of,
    guarantee_of,
    noun_of,
    told_of,
)
from simeval.analysis.kind_changes import told_changes
from simeval.analysis.saved_run import Saved
from simeval.core.markdown import LONGEST_TEXT, MOST_BYTES, Part, escaped, fenced, fitted, folded, table_head, table_row
from simeval.core.terminal import PLAIN
from simeval.results.document import RunDocument, ScenarioDocument
from simeval.results.screen.report import conversations_text

SYMBOLS: Mapping[Finding, str] = {"worse": "❌", "unclear": "❔", "changed": "❔", "better": "✅", "not worse": "✅"}
MOST_PAIRS = 3  # of one change that are shown
OF_THE_TABLE = 0.5  # of the room that is left


def comparison_markdown(
    comparison: Comparison, before: Saved | None = None, now: Saved | None = None, *, most: int = MOST_BYTES
) -> str:
    """Write a comparison as a page of at most `most` bytes; with the runs themselves, also the losses in them."""
    noun = noun_of(comparison)
    mark = "✅" if comparison.passed else "❌" if comparison.finding == "worse" else "❔"
    head = [f"## simeval compare: {mark} {comparison.finding.upper()}", escaped(told_of(comparison, noun))]
    head += [escaped(gate_of(comparison)), *(f"note: {escaped(each)}" for each in comparison.notes)]
    parts = [change_part(comparison), _kinds(comparison), _pairs(comparison, before, now)]
    told = [*guarantee_of(comparison, noun), f"baseline {comparison.baseline}, candidate {comparison.candidate}"]
    foot = "  \n".join(f"<sub>{escaped(each, 2 * LONGEST_TEXT)}</sub>" for each in told)
    both = f"{comparison.baseline.run_id} {comparison.candidate.run_id}"
    return fitted("\n\n".join(head), parts, foot, whole=f"`simeval compare {both}` shows it.", most=most)


def change_part(comparison: Comparison, *, title: str = "") -> Part:
    """Return the table of all changes, losses first."""
    headers = (
        "",
        *["scenario"] * (comparison.kind == "suites"),
        noun_of(comparison),
        *change_headers(paired=comparison.paired),
    )
    found = sorted(comparison.changes, key=lambda each: WORST_FIRST.index(each.finding))
    rows = [_row(change, titled=comparison.kind == "suites") for change in found]
    lead = f"{title}\n\n" if title else ""
    return Part(noun="change", blocks=rows, head=lead + table_head(headers), is_table=True, share=OF_THE_TABLE)


def _row(change: Change, *, titled: bool) -> str:
    titles = [change.title] * titled
    return table_row([SYMBOLS.get(change.finding, ""), *map(escaped, [*titles, change.name, *change_cells(change)])])


def _kinds(comparison: Comparison) -> Part:
    _, *lines = map(escaped, told_changes(comparison.kinds) or [""])
    return Part(noun="kind", blocks=[f"- {each}" for each in lines], head="**Kinds of misses** (p approximate)")


def _pairs(comparison: Comparison, before: Saved | None, now: Saved | None) -> Part:
    blocks = []
    if isinstance(before, RunDocument) and isinstance(now, RunDocument):
        blocks = list(_got_worse(comparison.changes, before, now))
    return Part(noun="conversation", blocks=blocks, head="**Conversations that got worse**")


def _got_worse(changes: Sequence[Change], before: RunDocument, now: RunDocument) -> Iterator[str]:
    """Yield pairs of conversations with a worse second one, each once, those of proven changes first."""
    sides = [{scenario.title: scenario for scenario in page.scenarios} for page in (before, now)]
    seen: set[tuple[str, int]] = set()
    for change in sorted(changes, key=lambda each: WORST_FIRST.index(each.finding)):
        for pair in change.regressed[:MOST_PAIRS]:
            held = [side[change.title] for side in sides if _has(side, change.title, pair.index)]
            if len(held) == len(sides) and (change.title, pair.index) not in seen:
                seen.add((change.title, pair.index))
                yield _pair(change.title, pair.index, held)


def _has(side: Mapping[str, ScenarioDocument], title: str, index: int) -> bool:
    return title in side and index in side[title].by_index()


def _pair(title: str, index: int, held: Sequence[ScenarioDocument]) -> str:
    said = [
        f"{when}\n{fenced(conversations_text([(scenario, scenario.by_index()[index])], PLAIN))}"
        for when, scenario in zip(("before:", "now:"), held, strict=True)
    ]
    return folded(f"{escaped(title)}, trial {index}", "\n\n".join(said))
