"""A run as Markdown, for a pull request or the summary of a CI job: a table, and the worst conversations folded."""

from collections.abc import Iterator, Mapping, Sequence

from simeval.core.markdown import LONGEST_TEXT, Part, escaped, fenced, fitted, folded, table_head, table_row
from simeval.core.terminal import PLAIN
from simeval.core.trial import Outcome, TrialResult
from simeval.results.document import RunDocument, ScenarioDocument, told_kinds
from simeval.results.screen.report import (
    WORST_FIRST,
    conversations_text,
    cost_of,
    failure_lines,
    note_lines,
    told_of,
    warnings_of,
    was_measured,
)
from simeval.results.text import MARKS

SYMBOLS: Mapping[Outcome, str] = {"pass": "✅", "fail": "❌", "inconclusive": "❔", "error": "⚠️"}
HEADERS = ("", "scenario", "what was found", "the true value", "trials")
OF_THE_TABLE = 0.5  # of the room that is left


def run_markdown(page: RunDocument, *, more: Sequence[Part] = ()) -> str:
    """Write a run as a page of bounded size; `more` comes between its table and its conversations."""
    head = f"## simeval: {SYMBOLS[page.outcome]} {MARKS[page.outcome]}"
    if page.baseline is not None and not page.baseline.met:
        head += f", {SYMBOLS['fail']} not proven to be no worse than the baseline"
    said = "\n".join(
        [
            *map(escaped, told_of(page)),
            *(f"- warning: {escaped(each)}" for each in warnings_of(page)[:10]),
            *(f"- {escaped(each)}" for each in _tables(page)[:10]),
        ]
    )
    parts = [_table(page), *more, _kinds(page), _conversations(page), _remarks(page)]
    foot = "  \n".join(f"<sub>{escaped(each, 2 * LONGEST_TEXT)}</sub>" for each in cost_of(page))
    return fitted(f"{head}\n\n{said}", parts, foot, whole=f"`simeval show {page.run_id}` shows it.")


def _tables(page: RunDocument) -> list[str]:
    """Say how the rows of tables of cases fared."""
    found = ((each.title, one.sentence("cases")) for each in page.scenarios for one in each.expectations)
    return [f"{title}: cases: {said}" for title, said in found if said]


def _worst_first(page: RunDocument) -> list[ScenarioDocument]:
    return sorted(page.scenarios, key=lambda each: WORST_FIRST.index(each.outcome)) if was_measured(page) else []


def _table(page: RunDocument) -> Part:
    rows = [row for scenario in _worst_first(page) for row in _rows(scenario)]
    return Part(noun="requirement", blocks=rows, head=table_head(HEADERS), is_table=True, share=OF_THE_TABLE)


def _rows(scenario: ScenarioDocument) -> Iterator[str]:
    title = escaped(scenario.title) + ("" if scenario.decides else "<br><em>in quarantine</em>")
    for expectation in sorted(scenario.expectations, key=lambda each: WORST_FIRST.index(each.outcome)):
        for verdict in expectation.verdicts:
            mark = f"{SYMBOLS[verdict.outcome]} {MARKS[verdict.outcome]}"
            why = f"<br><em>{escaped(verdict.why)}</em>" if verdict.why else ""
            yield table_row([mark, title, escaped(verdict.said) + why, escaped(verdict.range), str(verdict.n)])
            title = ""


def _kinds(page: RunDocument) -> Part:
    """Return the kinds of misses of requirements that did not pass."""
    blocks = []
    for scenario in _worst_first(page):
        for each in scenario.expectations:
            if each.outcome != "pass" and (told := told_kinds(each.kinds)):
                head, *kinds = map(escaped, told)
                blocks.append("\n".join([f"{escaped(each.label)}: {head}", *(f"- {kind}" for kind in kinds)]))
    return Part(noun="requirement", blocks=blocks, head="**Kinds of misses**")


def _conversations(page: RunDocument) -> Part:
    """Return the worst conversations of requirements that did not pass, each folded."""
    blocks = []
    for scenario in _worst_first(page):
        against = [each.worst for each in scenario.expectations if each.outcome != "pass" and each.worst is not None]
        trials = scenario.by_index()
        found = [trials[index] for index in dict.fromkeys(against) if index in trials]
        blocks += [conversation_block(scenario, trial) for trial in found]
    return Part(noun="conversation", blocks=blocks, head="**Worst conversations**")


def conversation_block(scenario: ScenarioDocument, trial: TrialResult) -> str:
    """Return a conversation with its scores, folded under its scenario and number."""
    inner = fenced(conversations_text([(scenario, trial)], PLAIN))
    return folded(f"{escaped(scenario.title)}, trial {trial.trial.index}", inner)


def _remarks(page: RunDocument) -> Part:
    lines = [line for block in (failure_lines(page, PLAIN), note_lines(page, PLAIN)) for line in block]
    return Part(noun="note block", blocks=[folded("Notes", fenced("\n".join(lines)))] if lines else [])
