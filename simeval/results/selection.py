"""The best of several apps: the remaining ones, the dropped ones with their rounds and winners, and their rates."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from simeval.core.serialization import Json
from simeval.core.setting_field import OnAppError
from simeval.core.terminal import indent, line_of, printed_room, render_table
from simeval.core.trial import Failure, Score
from simeval.evaluators.base import Evaluator
from simeval.results.suite import ScenarioResult, SuiteResult
from simeval.stats.betting import lower_bound, upper_bound
from simeval.stats.elimination import Elimination

UNKNOWN = (0.0, 1.0)
Range = tuple[float, float]  # the bounds of an unknown number


def range_of(
    results: Sequence[Score | Failure], evaluators: Sequence[Sequence[Evaluator]], on_app_error: OnAppError
) -> Range:
    """Return whether a trial met all requirements that have a yes or no for each: 1, 0 or, where missing, either."""
    found = []
    for result, each in zip(results, evaluators, strict=True):
        if isinstance(result, Score):
            found += [(float(one.meets(result.value)),) * 2 for one in each if one.has_outcomes]
        elif any(one.has_outcomes for one in each):
            found.append((0.0, 0.0) if result.is_miss(leaves_out_crashes=on_app_error == "exclude") else UNKNOWN)
    return min((low for low, _ in found), default=0.0), min((high for _, high in found), default=1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One app: its number of rounds, and the share of conversations that met all requirements.

    `interval` is valid however the rounds ended. For a dropped one `outdone_by` names the app with the greatest lead.
    One that never `has_answered` may not have been reached.
    """

    app: str
    rounds: int
    conversations: int
    share: float
    interval: tuple[float, float]
    outdone_by: str = ""
    has_answered: bool = True

    @property
    def is_left(self) -> bool:
        """Whether it may be the best."""
        return not self.outdone_by


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The result of a selection; `run` has all conversations, with the candidate's name after the titles."""

    candidates: tuple[Candidate, ...]
    alpha: float
    rounds_at_most: int
    run: SuiteResult

    @property
    def best(self) -> str | None:
        """The remaining app; None if there are several."""
        left = [each.app for each in self.candidates if each.is_left]
        return left[0] if len(left) == 1 else None

    @property
    def conversations(self) -> int:
        """How many conversations it took."""
        return sum(each.conversations for each in self.candidates)

    @property
    def unmeasured(self) -> str:
        """The missing measurement that ended it before its rounds were used up; empty if nothing did."""
        verdicts = [(each.title, verdict) for each in self.run for verdict in each.verdicts]
        lost = [f"{title}: {verdict.explanation}" for title, verdict in verdicts if verdict.reason == "errors"]
        has_rounds = all(each.rounds < self.rounds_at_most for each in self.candidates)
        return lost[0] if lost and has_rounds and self.best is None else ""

    def __str__(self) -> str:
        return self.text(printed_room())

    def text(self, room: int | None = None) -> str:
        """Return the result; a table if lines have `room` for it."""
        left = [each.app for each in self.candidates if each.is_left]
        used = f"{self.conversations:,} conversations of {self.rounds_at_most * len(self.run):,}"
        said = f"the best is {left[0]}" if self.best else f"cannot tell {' from '.join(left)}"
        stopped = f"; the run stopped: {self.run.run.stopped}" if self.run.run.stopped else ""
        stopped += f"; it ended early: {self.unmeasured}" if self.unmeasured else ""
        rows = [_row(each) for each in sorted(self.candidates, key=lambda each: (not each.is_left, -each.share))]
        head = ("app", "all met", "interval", "rounds", "")
        return "\n".join(
            [
                indent(f"{said} ({used}){stopped}", 0, width=line_of(room)),
                render_table(head, rows, widths=(40,), room=room),
                indent(
                    f"the best of them is dropped with a chance of at most {self.alpha:g} (of equally good ones, each "
                    f"by itself); intervals: {1 - 2 * self.alpha:.0%} each, however the rounds ended",
                    0,
                    width=line_of(room),
                ),
            ]
        )

    def encoded(self) -> Json:
        """Return it in the form JSON has."""
        return {
            "best": self.best,
            "run_id": self.run.run.run_id,
            "stopped": self.run.run.stopped,
            "unmeasured": self.unmeasured or None,
            "significance_level": self.alpha,
            "rounds_at_most": self.rounds_at_most,
            "conversations": self.conversations,
            "candidates": [
                {
                    "app": each.app,
                    "left": each.is_left,
                    "rounds": each.rounds,
                    "conversations": each.conversations,
                    "share": each.share,
                    "interval": list(each.interval),
                    "outdone_by": each.outdone_by or None,
                    "has_answered": each.has_answered,
                }
                for each in self.candidates
            ],
        }


def selection_of(run: SuiteResult, apps: Sequence[str], *, alpha: float, on_app_error: OnAppError) -> Selection:
    """Return the selection of a run with each scenario put to each app; those of one app are side by side."""
    size = len(run) // len(apps)
    asked = [run[place * size : (place + 1) * size] for place in range(len(apps))]
    values = [list(_rounds(each, on_app_error)) for each in asked]
    most = min(each.sample_size for each in run)
    contest, dropped = Elimination(len(apps), most, alpha=alpha), dict[int, tuple[int, int]]()
    while not contest.is_over[0]:
        left = [place for place in range(len(apps)) if contest.left[0, place]]
        if any(len(values[place]) <= contest.rounds for place in left):
            break
        low, high = np.zeros((1, len(apps))), np.ones((1, len(apps)))
        for place in left:
            low[0, place], high[0, place] = values[place][contest.rounds]
        out = contest.push(low, high)
        dropped |= {int(place): (contest.rounds, contest.outdone_by(int(place))) for place in np.flatnonzero(out[0])}
    rounds = [dropped[place][0] if place in dropped else contest.rounds for place in range(len(apps))]
    return Selection(
        candidates=tuple(
            _candidate(app, asked[place], values[place][: rounds[place]], alpha, most, _by(apps, dropped.get(place)))
            for place, app in enumerate(apps)
        ),
        alpha=alpha,
        rounds_at_most=most,
        run=run,
    )


def _by(apps: Sequence[str], dropped: tuple[int, int] | None) -> str:
    return apps[dropped[1]] if dropped else ""


def _rounds(results: Sequence[ScenarioResult], on_app_error: OnAppError) -> Iterator[Range]:
    """Return the result of each round: the mean over scenarios."""
    for number in range(min(each.trials for each in results)):
        found = [
            range_of(each.judgements[number].results, [one.evaluators for one in each.expectations], on_app_error)
            for each in results
        ]
        yield sum(low for low, _ in found) / len(found), sum(high for _, high in found) / len(found)


def _candidate(
    app: str, results: Sequence[ScenarioResult], values: Sequence[Range], alpha: float, most: int, outdone_by: str
) -> Candidate:
    low, high = [low for low, _ in values], [high for _, high in values]
    known = [low for low, high in values if low == high]
    return Candidate(
        app=app,
        rounds=len(values),
        conversations=sum(each.trials + each.finished_extras for each in results),
        share=sum(known) / len(known) if known else 0.0,
        interval=(
            lower_bound(low, alpha, bounds=(0, 1), n_max=most),
            upper_bound(high, alpha, bounds=(0, 1), n_max=most),
        ),
        outdone_by=outdone_by,
        has_answered=any(each.conversation.responses for result in results for each in result.judgements),
    )


def _row(each: Candidate) -> tuple[str, ...]:
    low, high = each.interval
    said = "left" if each.is_left else f"dropped: outdone by {each.outdone_by}"
    said += "" if each.has_answered else ", never answered"
    return each.app, f"{each.share:.1%}", f"[{low:.1%}, {high:.1%}]", str(each.rounds), said
