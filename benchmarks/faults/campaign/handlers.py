"""Rows: the app under test does what an app must not do."""

from collections.abc import Mapping
from functools import partial

from benchmarks.faults.campaign.campaign import Campaign, Row, ending
from benchmarks.faults.campaign.cases import Report
from benchmarks.faults.campaign.work import BLOCKED_SECONDS


def misbehaves(campaign: Campaign, app: str, *, like: str = "", app_seconds: float = 2) -> Report:
    """Run the suite against an app of the campaign's.

    Its verdicts are held against those of an app that answers `like` it, or of a second run. `app_seconds` is the
    time it has for a turn.
    """
    campaign.begin_whole(app=like or app)
    case = campaign.case(app=app)
    case.app_seconds = app_seconds
    attempt = case.start()
    status = attempt.wait()
    whole = campaign.whole(app=like or app)
    return case.report(attempt, same_as=whole, ended=ending(status), seconds=attempt.seconds)


ROWS: Mapping[str, tuple[str, Row]] = {
    "app-raises": ("app: raises in 5% of turns", partial(misbehaves, app="raises")),
    "app-hangs": ("app: hangs in 1% of turns", partial(misbehaves, app="hangs")),
    "app-blocks": (
        f"app: blocks the event loop for {BLOCKED_SECONDS:g} s",
        partial(misbehaves, app="blocks", like="handle", app_seconds=30),
    ),
    "app-leaks-tasks": (
        "app: leaves a task behind at every turn",
        partial(misbehaves, app="leaks_tasks", like="handle"),
    ),
    "app-leaks-threads": (
        "app: leaves a thread behind in 10% of turns",
        partial(misbehaves, app="leaks_threads", like="handle"),
    ),
    "app-exits": ("app: calls sys.exit in 5% of turns", partial(misbehaves, app="exits")),
    "app-cancels": ("app: cancels its own task in 5% of turns", partial(misbehaves, app="cancels")),
    "app-ends": ("app: raises GeneratorExit or a group of others in 5% of turns", partial(misbehaves, app="ends")),
    "app-leaves": ("app: changes the folder of the process", partial(misbehaves, app="leaves", like="handle")),
    "app-keeps": ("app: keeps a task group that it never leaves", partial(misbehaves, app="keeps", like="handle")),
    "app-swallows": ("app: swallows its end in 1% of turns", partial(misbehaves, app="swallows")),
    "app-talks": ("app: answers 10 MB in 2% of turns", partial(misbehaves, app="talks")),
}
