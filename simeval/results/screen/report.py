"""The screen after a run: the outcome in a line, the first failure, the reasons, and the cost."""

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from math import isinf, isnan
from operator import itemgetter

from simeval.core.conversation import SLOW_SECONDS, Conversation, transcript_lines
from simeval.core.setting_field import PERSONA
from simeval.core.terminal import (
    PLAIN,
    Style,
    Terminal,
    counted_of,
    one_line,
    say_p,
    show_number,
    show_share,
    show_shares,
)
from simeval.core.trial import Bar, Failure, Outcome, Score, TrialResult, first_answer
from simeval.results.document import (
    Document,
    ExpectationDocument,
    Requirement,
    RunDocument,
    ScenarioDocument,
    told_kinds,
)
from simeval.results.guarantee import ENDINGS, show_conduct
from simeval.results.text import (
    MARKS,
    MOST_CAUSES,
    gates_told,
    kind_of,
    meets_gate,
    show_composite,
    show_malformed,
    show_spent,
)

COLOURS: dict[Outcome, Style] = {"pass": "green", "fail": "red", "inconclusive": "yellow", "error": "red"}
SIGNS: dict[Outcome, str] = {"pass": "✓", "fail": "✗", "inconclusive": "?", "error": "!"}
PICTURE, SMALL, RANGE = 24, 14, 19  # cells of a picture, of one where lines are short, and of the numbers beside it
SHORT = 60  # cells; shorter lines are short
GAP = 2
BESIDE = 116  # the least cells for a picture beside the sentence
MARGIN = "  "

MOST_MESSAGES = 6  # of a conversation in the screen after a run

WORST_FIRST: tuple[Outcome, ...] = ("error", "fail", "inconclusive", "pass")
MOST_SHOWN = 20  # scenarios of one outcome that are shown with their requirements; of the others the titles are
MOST_PASSES = 8
MOST_TITLES = 10
MOST_TOLD = 5  # conversations that are shown
SAME = "for the reason above"
_NUMBER = re.compile(r"(?<!turn )\b\d[\d.,]*")
REPEATED = "repeatability: "  # begins a sentence that is shown with the guarantee
DOES: dict[str, tuple[str, str]] = {
    "error": ("could not be judged", "could not be judged"),
    "fail": ("fails", "fail"),
    "inconclusive": ("is inconclusive", "are inconclusive"),
    "pass": ("passes", "pass"),
    "undecided": ("is not decided", "are not decided"),
}


def requirement_lines(
    verdict: Requirement, terminal: Terminal, *, pictured: bool, detailed: bool, known: str = ""
) -> list[str]:
    """Return the lines of one requirement; if `pictured`, also with a picture that has no room beside them.

    The reason why it is no pass is left out if `known`.
    """
    colour = COLOURS[verdict.outcome]
    first = f"{MARGIN}{terminal.paint(SIGNS[verdict.outcome], colour)} "
    rest = MARGIN + "  "
    picture = interval_picture(verdict, terminal)
    if picture and terminal.columns >= BESIDE:
        room = terminal.columns - PICTURE - RANGE - GAP
        said = terminal.wrap(one_line(verdict.said), first=first, rest=rest, width=room)
        lines = terminal.beside(said, [picture], at=room + GAP)
    else:
        lines = terminal.wrap(one_line(verdict.said), first=first, rest=rest)
        lines += [rest + picture] if picture and pictured else []
    if verdict.why and verdict.why != known:
        lines += terminal.wrap(one_line(verdict.why), first=rest)
    if detailed:
        lines += [terminal.paint(line, "dim") for line in terminal.wrap(_details(verdict), first=rest)]
    return lines


def interval_picture(verdict: Requirement, terminal: Terminal) -> str:
    """Draw the interval of the true value, against the bar; empty if it is unknown or has no scale."""
    bar, interval = verdict.bar, verdict.interval
    if bar is None or interval is None or verdict.estimate is None:
        return ""
    colour = COLOURS[verdict.outcome]
    size = PICTURE if terminal.columns >= SHORT else SMALL
    low, high = (bar.low if isinf(interval[0]) else interval[0], bar.high if isinf(interval[1]) else interval[1])
    cells: list[tuple[str, Style]] = [("·", "dim")] * size
    for place in range(_cell(low, bar, size), _cell(high, bar, size) + 1):
        cells[place] = "━", colour
    cells[_cell(verdict.estimate, bar, size)] = "●", colour
    cells.insert(_edge(bar, size), ("┃", "bold"))
    drawn = [
        terminal.paint("".join(each for each, _ in same), style) for style, same in groupby(cells, key=itemgetter(1))
    ]
    return f"{''.join(drawn)}  {terminal.paint(verdict.range, 'dim')}"


def _edge(bar: Bar, size: int) -> int:
    """Return the cell after the bar: at least one is on either side."""
    return min(max(round(size * (bar.value - bar.low) / (bar.high - bar.low)), 1), size - 1)


def _cell(value: float, bar: Bar, size: int) -> int:
    """Return the cell of a value, on the same side of the bar as the value; one at the bar meets it."""
    place = min(max(int(size * (value - bar.low) / (bar.high - bar.low)), 0), size - 1)
    is_above = value >= bar.value if bar.is_lower_bound else value > bar.value
    return max(place, _edge(bar, size)) if is_above else min(place, _edge(bar, size) - 1)


def _details(verdict: Requirement) -> str:
    """Return the test of the conclusion."""
    p = verdict.p_value_fail if verdict.outcome == "fail" else verdict.p_value
    proof = "" if p is None else f"{say_p(p)} at the level {verdict.significance_level:g}"
    return "; ".join(each for each in (verdict.evaluator, verdict.method, proof) if each)


def worst_lines(scenario: ScenarioDocument, terminal: Terminal, *, known: str = "") -> list[str]:
    """Return the worst conversation of the first expectation that did not pass; [] without one.

    Its error is left out if it is `known`, or shown with a requirement.
    """
    found = (each for each in scenario.expectations if each.outcome == scenario.outcome and each.worst is not None)
    verdicts = [verdict for each in scenario.expectations for verdict in each.verdicts]
    known = " ".join([known, *(one_line(verdict.why) for verdict in verdicts if verdict.why)])
    trials = scenario.by_index()
    for expectation in found:
        trial = trials.get(-1 if expectation.worst is None else expectation.worst)
        if trial is not None and (trial.conversation.responses or scenario.outcome != "error"):
            return _worst(trial, scenario.scores(trial).get(expectation.label), terminal, known)
    return []


def is_known(failure: str, known: str) -> bool:
    """Return whether the cause of a failure, which follows its source and time, is among the `known` texts."""
    cause = failure.partition(": ")[2]
    return bool(cause) and cause in known


def _worst(trial: TrialResult, found: Score | None, terminal: Terminal, known: str) -> list[str]:
    if found is None:
        failures = [failure.error for failure in trial.failures if not is_known(failure.error, known)]
        said = f": {one_line('; '.join(failures))}" if failures else ""
    else:
        reasoning = f": {one_line(found.reasoning)}" if found.reasoning else ""
        said = f", score {show_number(found.value)}{reasoning}"
    head = terminal.wrap(f"worst conversation (trial {trial.trial.index}){said}", first="    ", rest="      ")
    answer = first_answer(found.details) if found else None
    return [*head, *transcript_lines(trial.conversation, terminal, margin=" " * 6, most=MOST_MESSAGES, answer=answer)]


def chosen(
    page: RunDocument, *, trial: int | None, failed: bool, title: str | None
) -> list[tuple[ScenarioDocument, TrialResult]]:
    """Return the conversations of a run that were asked for, in the order dealt."""
    return [
        (scenario, each)
        for scenario in page.scenarios
        if title is None or title.casefold() in scenario.title.casefold()
        for index, each in sorted(scenario.by_index().items())
        if trial is None or index == trial
        if not failed or has_failed(scenario, each)
    ]


def has_failed(scenario: ScenarioDocument, trial: TrialResult) -> bool:
    """Return whether a conversation is evidence against a requirement, or failed; not one that was cut."""
    scores = scenario.scores(trial)
    scored = [(each, scores[each.label].value) for each in scenario.expectations if each.label in scores]
    if trial.conversation.ended == "cut":
        return False
    return bool(trial.failures) or any(not each.is_met_by(score) for each, score in scored)


def conversations_text(found: Iterable[tuple[ScenarioDocument, TrialResult]], terminal: Terminal = PLAIN) -> str:
    """Write conversations with their scores, each under its scenario and number."""
    lines = [line for scenario, trial in found for line in [*trial_lines(scenario, trial, terminal), ""]]
    return terminal.finished(lines[:-1])


def trial_lines(scenario: ScenarioDocument, trial: TrialResult, terminal: Terminal) -> list[str]:
    """Return a conversation, its result, and its judgement."""
    title = terminal.paint(one_line(scenario.title), "bold")
    head = terminal.wrap(f"trial {trial.trial.index} of {title}")
    said = transcript_lines(trial.conversation, terminal, margin="  ")
    return [*head, *said, *judged_lines(scenario, trial, terminal)]


def judged_lines(scenario: ScenarioDocument, trial: TrialResult, terminal: Terminal) -> list[str]:
    """Return how a conversation ended, and which scores it got, with the reasons."""
    return [*_end(trial.conversation, terminal), *_judged(scenario, trial, terminal)]


def _end(conversation: Conversation, terminal: Terminal) -> list[str]:
    seconds = [each.seconds for each in conversation.responses if not isnan(each.seconds)]
    drawn = {**(conversation.writing_style or {})}
    persona = drawn.pop(PERSONA, "")
    style = ", ".join(f"{name} {value.rstrip('.')}" for name, value in drawn.items())
    parts = [
        f"ended: {ENDINGS.get(conversation.ended, conversation.ended)}",
        *([f"slowest answer {max(seconds):.1f} s"] if max(seconds, default=0) >= SLOW_SECONDS else []),
        *([f"persona {one_line(persona)}"] if persona else []),
        *([f"the user's style: {one_line(style)}"] if style else []),
    ]
    return [terminal.paint(line, "dim") for line in terminal.wrap("; ".join(parts), first="  ")]


def _judged(scenario: ScenarioDocument, trial: TrialResult, terminal: Terminal) -> Iterator[str]:
    scores = scenario.scores(trial)
    for expectation in scenario.expectations:
        found = scores.get(expectation.label)
        if found is None:
            continue
        is_met = expectation.is_met_by(found.value)
        sign = terminal.paint("✓" if is_met else "✗", "green" if is_met else "red")
        reasoning = f": {one_line(found.reasoning)}" if found.reasoning else ""
        said = f"{one_line(expectation.label)}, score {show_number(found.value)}{reasoning}"
        yield from terminal.wrap(said, first=f"  {sign} ", rest="    ")
    for failure in trial.failures:
        yield from terminal.wrap(one_line(failure.error), first=f"  {terminal.paint('!', 'red')} ", rest="    ")


def run_text(
    page: RunDocument,
    terminal: Terminal = PLAIN,
    *,
    detailed: bool = False,
    brief: bool = False,
    told: Sequence[str] = (),
) -> str:
    """Write a run for a terminal: `detailed` with everything, `brief` with the outcome alone.

    Notes `told` before are left out.
    """
    head = headline(page, terminal)
    if brief:
        return terminal.finished(head)
    blocks = [
        head,
        *(scenario_blocks(page, terminal, detailed=detailed) if was_measured(page) else ()),
        warning_lines(page, terminal),
        _against_baseline(page, terminal),
        failure_lines(page, terminal),
        note_lines(page, terminal, told),
        foot_lines(page, terminal, detailed=detailed),
    ]
    return terminal.finished([line for block in blocks if block for line in [*block, ""]][:-1])


def headline(page: RunDocument, terminal: Terminal) -> list[str]:
    """Return a line with the number of scenarios of each outcome, the worst first; or why nothing was concluded."""
    mark = terminal.paint(MARKS[page.outcome], "bold", COLOURS[page.outcome])
    first, *more = told_of(page)
    return [
        *terminal.wrap(one_line(first), first=f"{mark}  "),
        *(line for each in more for line in terminal.wrap(each)),
    ]


def told_of(page: RunDocument) -> list[str]:
    """Return a run's outcome in a sentence, then why it ended early and which gates it meets, if that matters."""
    if reason := shared_reason(page):
        return [reason]
    if not was_measured(page):
        return [f"nothing was measured: {one_line(page.stopped)}"]
    deciding = [scenario for scenario in page.scenarios if scenario.decides]
    verdicts = [verdict for each in deciding for one in each.expectations for verdict in one.verdicts]
    sides = held_against([(each.against, each.shares, each.n) for each in verdicts])
    counted = count_outcomes([scenario.shown_outcome for scenario in deciding], sides)
    accepted = f" (accepted by the gate {page.gate})" if page.outcome != "pass" and page.gate_met else ""
    quarantines = [scenario.quarantine_told for scenario in page.scenarios]
    judges = {judge: None for each in page.scenarios for one in each.expectations for judge in one.distrusted}
    ended = [f"the run ended early: {one_line(page.stopped)}"] if page.stopped else []
    wrong = [f"{' and '.join(judges)} failed the controls, so its ratings prove no pass"] if judges else []
    gates = [] if page.baseline is None else [gates_told(meets_gate(page.outcome, page.gate), page.baseline)]
    return [f"{counted}{accepted}", *wrong, *ended, *gates, *filter(None, quarantines)]


def was_measured(page: Document) -> bool:
    """Return whether there is anything to show of scenarios: a run that was stopped may have no conversation."""
    return not page.stopped or any(scenario.trials for scenario in page.scenarios)


def shared_reason(page: Document) -> str:
    """Return why nothing could be concluded, if that is one reason for all; else ""."""
    reasons = {verdict.why for verdict in page.verdicts if verdict.outcome == "error"}
    return reasons.pop() if len(reasons) == 1 and all(each.outcome == "error" for each in page.verdicts) else ""


def held_against(verdicts: Sequence[tuple[str | None, Sequence[float] | None, int]]) -> tuple[str, str]:
    """Return the one run or app that all verdicts are compared with, and how often both sides met the requirements.

    Each verdict has its other side, both shares and the number of its pairs. If there is not one side, or the shares
    are unknown, that is empty.
    """
    sides = {against or "" for against, _, _ in verdicts}
    if len(sides) != 1 or "" in sides:
        return "", ""
    known = [(shares, n) for _, shares, n in verdicts if shares is not None and n]
    pairs = sum(n for _, n in known)
    both = [sum(shares[place] * n for shares, n in known) / pairs for place in (0, 1)] if pairs else []
    return sides.pop(), f" (met: {show_shares(both)})" if both else ""


def count_outcomes(outcomes: Sequence[str], sides: tuple[str, str] = ("", ""), *, of: str = "scenario") -> str:
    """Return the number of scenarios of each outcome, the worst first; in a comparison, that they are not worse."""
    side, shares = sides
    return f"{_counted(outcomes, {**DOES, **_compared(side)} if side else DOES, of)}{shares}"


def _compared(side: str) -> dict[str, tuple[str, str]]:
    not_worse, worse = f"not worse than {side}", f"worse than {side}"
    return {"pass": (f"is {not_worse}", f"are {not_worse}"), "fail": (f"is {worse}", f"are {worse}")}


def _counted(outcomes: Sequence[str], does: Mapping[str, tuple[str, str]], of: str) -> str:
    found, size = Counter(outcomes), len(outcomes)
    listed = [(outcome, found[outcome]) for outcome in does if found[outcome]]
    if not listed:
        return f"there is no {of} that decides"
    (worst, count), *others = listed
    if not others:
        all_of_them = {1: f"the {of}", 2: f"both {of}s"}.get(size, f"all {size} {of}s")
        return f"{all_of_them} {does[worst][size > 1]}"
    said = [f"{count} of {size} {of}s {does[worst][count > 1]}"]
    return ", ".join([*said, *(f"{count} {does[outcome][count > 1]}" for outcome, count in others)])


def scenario_blocks(page: Document, terminal: Terminal, *, detailed: bool) -> Iterator[list[str]]:
    """Return the scenarios in blocks, the worst first; of many with one outcome some by their titles alone."""
    told, reason = 0, shared_reason(page)
    whys: list[str] = []
    for outcome in WORST_FIRST:
        found = [scenario for scenario in page.scenarios if scenario.outcome == outcome]
        found.sort(key=_is_undecided)
        decided = len(found) - sum(map(_is_undecided, found))
        most = len(found) if detailed else MOST_PASSES if outcome == "pass" else min(MOST_SHOWN, decided)
        folded = found if (outcome == "pass" and len(found) > most) or (reason and len(found) > 1) else found[most:]
        shown = found[: len(found) - len(folded)]
        block: list[str] = []
        for scenario in shown:
            lines = _scenario_lines(scenario, terminal, detailed=detailed, known=reason, whys=whys)
            if outcome != "pass" and told < MOST_TOLD:
                worst = worst_lines(scenario, terminal, known=reason)
                told += bool(worst)
                lines += worst
            block += lines
            if outcome != "pass":
                yield block
                block = []
        if folded:
            block += _folded(folded, terminal, among=bool(shown))
        yield block


def _is_undecided(scenario: ScenarioDocument) -> bool:
    return scenario.shown_outcome == "undecided"


def _scenario_lines(
    scenario: ScenarioDocument, terminal: Terminal, *, detailed: bool, known: str, whys: list[str]
) -> list[str]:
    """Return the lines of a scenario; a reason equal to the last of the `whys` is not repeated."""
    mark = terminal.paint(MARKS[scenario.outcome], "bold", COLOURS[scenario.outcome])
    lines = terminal.wrap(one_line(scenario.title), first=f"{mark}  ", rest="      ")
    for expectation in sorted(scenario.expectations, key=lambda each: WORST_FIRST.index(each.outcome)):
        for found in expectation.verdicts:
            is_open = found.outcome in ("error", "inconclusive")
            is_repeated = is_open and [found.why] == whys[-1:] and not known
            verdict = replace(found, why=SAME) if is_repeated else found
            whys += [found.why] * bool(found.why)
            pictured = scenario.outcome != "pass" or detailed
            lines += requirement_lines(verdict, terminal, pictured=pictured, detailed=detailed, known=known)
        for said in expectation.described:
            lines += terminal.wrap(one_line(said), first="    ")
        if expectation.outcome != "pass" or detailed:
            lines += _kind_lines(expectation, terminal)
    return lines


def _kind_lines(expectation: ExpectationDocument, terminal: Terminal) -> Iterator[str]:
    """Yield the kinds of misses of an expectation."""
    for place, said in enumerate(told_kinds(expectation.kinds)):
        yield from terminal.wrap(one_line(said), first=" " * (6 if place else 4), rest=" " * (8 if place else 4))


def _folded(scenarios: Sequence[ScenarioDocument], terminal: Terminal, *, among: bool) -> list[str]:
    outcome = scenarios[0].outcome
    mark = terminal.paint(MARKS[outcome], "bold", COLOURS[outcome])
    count = counted_of(len(scenarios), "more scenario" if among else "scenario")
    if all(map(_is_undecided, scenarios)):
        whys = [verdict.why for each in scenarios for one in each.expectations for verdict in one.verdicts]
        count += f" without a verdict: {one_line(whys[0].partition(': ')[2])}"
    titles = [line for each in scenarios[:MOST_TITLES] for line in terminal.wrap(one_line(each.title), first="    ")]
    rest = len(scenarios) - MOST_TITLES
    more = [f"    … and {rest} more; -v shows them all"] if rest > 0 else []
    return [f"{mark}  {count}", *titles, *more]


def warnings_of(page: Document) -> list[str]:
    """Say why judges may not be worth their ratings, each reason once, with the expectations it holds for."""
    about: dict[str, list[str]] = {}
    for scenario in page.scenarios:
        for each in scenario.expectations:
            for said in each.warnings:
                about.setdefault(said, []).append(each.label)
    return [
        f"{repr(labels[0]) if len(labels) == 1 else counted_of(len(labels), 'expectation')}: {one_line(said)}"
        for said, labels in about.items()
    ]


def warning_lines(page: Document, terminal: Terminal) -> list[str]:
    """Return the reasons why judges may not be worth their ratings."""
    first = terminal.paint("warning: ", "yellow")
    return [line for said in warnings_of(page) for line in terminal.wrap(said, first=first, rest="  ")]


def _against_baseline(page: RunDocument, terminal: Terminal) -> list[str]:
    against = page.baseline.against if page.baseline else ()
    return [line for said in against for line in terminal.wrap(one_line(said), rest="  ")]


def failure_lines(page: RunDocument, terminal: Terminal) -> list[str]:
    """Return the errors of single trials, each cause once with its count, even if all passed.

    If the headline has it all already, the result is empty.
    """
    failures = [failure for scenario in page.scenarios for _, failure in scenario.errors]
    counted = Counter(_folded_causes(failures))
    known = shared_reason(page)
    if all(is_known(failure.error, known) for failure in failures):
        return []
    trials = sum(len({index for index, _ in scenario.errors}) for scenario in page.scenarios)
    lines = [f"{counted_of(trials, 'conversation')} went wrong:"]
    for text, count in counted.most_common(MOST_CAUSES):
        lines += terminal.wrap(f"{count} x {text}", first="  ", rest="    ")
    more = len(counted) - MOST_CAUSES
    return [*lines, f"  … and {counted_of(more, 'more cause')}; --json has them all"] if more > 0 else lines


def _folded_causes(failures: Sequence[Failure]) -> list[str]:
    """Return the text of each failure; the first of those that differ in numbers, or of many that share a line."""
    kinds = [f"{failure.stage}: {kind_of(failure.error)}" for failure in failures]
    texts = [one_line(_cause(failure)) for failure in failures]
    alike = [(kind, _NUMBER.sub("", text)) for kind, text in zip(kinds, texts, strict=True)]
    return _first_of(kinds, _first_of(alike, texts, 1, "other number"), MOST_CAUSES, "other text")


def _first_of(keys: Sequence[Hashable], texts: Sequence[str], most: int, other: str) -> list[str]:
    """Return the texts; for more than so many different ones with the same key, the first of them."""
    groups: dict[Hashable, dict[str, None]] = {}
    for key, text in zip(keys, texts, strict=True):
        groups.setdefault(key, {})[text] = None
    folded = {
        key: f"{next(iter(found))} (and with {counted_of(len(found) - 1, other)})"
        for key, found in groups.items()
        if len(found) > most
    }
    return [folded.get(key, text) for key, text in zip(keys, texts, strict=True)]


def _cause(failure: Failure) -> str:
    return failure.error if failure.stage == "app" else f"{failure.stage}: {failure.error}"


def note_lines(page: Document, terminal: Terminal, told: Sequence[str] = ()) -> list[str]:
    """Return the notes on a run, its users and its models, without those `told` before."""
    lines = [line for note in page.notes if note not in told for line in terminal.wrap(one_line(note), first="note: ")]
    conducts = show_conduct([(one_line(each.title), each.users) for each in page.scenarios if each.users])
    conducts += [f"{one_line(each.title)}: {said}" for each in page.scenarios for said in each.described]
    conducts += [said for said in page.described if not said.startswith(REPEATED)]
    lines += [line for said in conducts for line in terminal.wrap(said, rest="  ")]
    return [*lines, *(line for line in terminal.wrap(show_malformed(page.usage)) if line)]


def foot_lines(page: Document, terminal: Terminal, *, detailed: bool) -> list[str]:
    """Return how to read the pictures, if there are any, the guarantee, and the cost."""
    alphas = {verdict.significance_level for verdict in page.verdicts}
    sure = f"with {show_share(1 - 2 * alphas.pop())} confidence" if len(alphas) == 1 else "by its interval"
    all_pictured = detailed or terminal.columns >= BESIDE
    expected = [one for each in page.scenarios if all_pictured or each.outcome != "pass" for one in each.expectations]
    pictured = [verdict for one in expected for verdict in one.verdicts if verdict.bar and verdict.interval]
    is_drawn = was_measured(page) and bool(pictured)
    key = [f"━ where the true value lies {sure}   ● observed   ┃ required"] if is_drawn else []
    lines = [line for text in [*key, *cost_of(page)] for line in terminal.wrap(text, rest="  ")]
    return [terminal.paint(line, "dim") for line in lines]


def cost_of(page: Document) -> list[str]:
    """Return the guarantee, the cost of the run, and its identity."""
    trials = sum(scenario.trials for scenario in page.scenarios)
    spent = f"{counted_of(trials, 'conversation')}, {show_spent(page.usage, page.seconds)}"
    who = f"run {page.run_id}, seed {page.seed}, {', '.join(map(one_line, page.roles))}"
    repeated = next((said for said in page.described if said.startswith(REPEATED)), "")
    found = (page.guarantee, repeated, spent, show_composite(page.usage), who)
    return [each for each in found if each]
