"""Conversations on a screen: the messages, their scores, and the reasons."""

from collections.abc import Iterable, Iterator
from math import isnan

from simeval.core.breaches import first_answer
from simeval.core.conversation import SLOW_SECONDS, Conversation, transcript_lines
from simeval.core.terminal import PLAIN, Terminal, one_line, show_number
from simeval.core.trial import Score, TrialResult
from simeval.core.writing_style import PERSONA
from simeval.results.document import ExpectationDocument, RunDocument, ScenarioDocument
from simeval.results.users import ENDINGS

MOST_MESSAGES = 6  # of a conversation in the screen after a run


def worst_lines(scenario: ScenarioDocument, terminal: Terminal, *, known: str = "") -> list[str]:
    """Return the worst conversation of the first expectation that did not pass; [] without one.

    Its error is left out if it is `known`, or shown with a requirement.
    """
    found = (each for each in scenario.expectations if each.outcome == scenario.outcome and each.worst is not None)
    known = " ".join([known, *(one_line(why) for each in scenario.expectations for why in _whys(each))])
    trials = scenario.by_index()
    for expectation in found:
        trial = trials.get(-1 if expectation.worst is None else expectation.worst)
        if trial is not None and (trial.conversation.responses or scenario.outcome != "error"):
            return _worst(trial, scenario.scores(trial).get(expectation.label), terminal, known)
    return []


def _whys(expectation: ExpectationDocument) -> Iterator[str]:
    return (verdict.why for verdict in expectation.verdicts if verdict.why)


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
