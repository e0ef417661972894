"""Rows: the process is killed, told to end, or not alone."""

import signal
from collections.abc import Mapping
from dataclasses import replace
from time import sleep

from benchmarks.faults.campaign.campaign import SEED, Campaign, NotRun, Row, ending
from benchmarks.faults.campaign.cases import CONCLUDED, Case, Report, RunAttempt

STARTING = 0.2  # share of the kills that fall before the run has begun
STARTING_SECONDS = 0.3
MOST_SITTINGS = 60  # of one run
AN_HOUR = 3600
BETWEEN_SECONDS = 0.3  # of two signals at once the system gives one
IN_FLIGHT, MOST_SECONDS = 8, 2.0  # so that a run, of about 3 seconds, lasts for some kills


def kill_sqlite(campaign: Campaign) -> Report:
    return _killed(campaign, "runs.db")


def kill_postgres(campaign: Campaign) -> Report:
    if campaign.postgres is None:
        raise NotRun("needs PostgreSQL")
    return _killed(campaign, campaign.postgres)


def _killed(campaign: Campaign, store: str) -> Report:
    """Kill a run at random moments until it is through, then one of another seed, until there were enough kills."""
    total, kills, seed = Report(same=True), 0, SEED
    while kills < campaign.kills and not total.problem:
        seed += 1
        more, report = _kill_until_done(
            campaign, campaign.case(store=store, seed=seed, in_flight=IN_FLIGHT), campaign.kills - kills
        )
        kills += more
        total = added(total, report)
    return replace(total, ended=f"{kills} kills, {seed - SEED} run{'s'[: seed - SEED - 1]}")


def _kill_until_done(campaign: Campaign, case: Case, most: int) -> tuple[int, Report]:
    kills, lost = 0, 0
    campaign.begin_whole(case.seed)
    for _ in range(MOST_SITTINGS):
        attempt = case.start(resume=case.notes.run_id)
        if kills < most and _kill_at_random(campaign, case, attempt):
            kills += 1
            lost += case.lost()
            continue
        status = attempt.wait()
        report = case.report(attempt, same_as=campaign.whole(case.seed), seconds=attempt.seconds)
        problem = "" if status in CONCLUDED else f"a resumed run ended with status {status}: {attempt.message}"
        return kills, replace(report, lost=report.lost + lost, problem=problem)
    return kills, Report(lost=lost, problem=f"the run was not through after {MOST_SITTINGS} attempts")


def _kill_at_random(campaign: Campaign, case: Case, attempt: RunAttempt) -> bool:
    """Kill an attempt at a random moment, if it is still there then."""
    random = campaign.random
    if random.random() < STARTING:
        moment = random.uniform(0, STARTING_SECONDS)
    else:
        case.begun(attempt)
        moment = random.uniform(0, MOST_SECONDS)
    sleep(moment)
    attempt.kill()
    return attempt.process.exitcode == -signal.SIGKILL


def added(total: Report, report: Report) -> Report:
    """Return what came of attempts so far, with one more."""
    return Report(
        finished=total.finished + report.finished,
        lost=total.lost + report.lost,
        repeated=total.repeated + report.repeated,
        seconds=max(total.seconds, report.seconds),
        same=total.same and report.same,
        missing=total.missing + report.missing,
        set_aside=total.set_aside + report.set_aside,
        message=report.message or total.message,
        problem=total.problem or report.problem,
    )


def interrupt(campaign: Campaign) -> Report:
    return _told_to_end(campaign, signal.SIGINT)


def terminate(campaign: Campaign) -> Report:
    return _told_to_end(campaign, signal.SIGTERM)


def hang_up(campaign: Campaign) -> Report:
    return _told_to_end(campaign, signal.SIGHUP)


def interrupt_thrice(campaign: Campaign) -> Report:
    """Interrupt a run until it leaves, though its app never ends and has an hour for each turn."""
    case = campaign.case(app="sticks")
    case.app_seconds = AN_HOUR
    attempt = case.start(is_stuck=True)
    case.begun(attempt, scores=100)
    before = attempt.seconds
    for _ in range(3):
        attempt.send(signal.SIGINT)
        sleep(BETWEEN_SECONDS)
    status = attempt.wait()
    return campaign.resumed(case, attempt, ended=ending(status), seconds=attempt.seconds - before)


def _told_to_end(campaign: Campaign, number: signal.Signals) -> Report:
    case = campaign.case()
    attempt = case.start()
    case.begun(attempt, scores=100)
    before = attempt.seconds
    attempt.send(number)
    status = attempt.wait()
    return campaign.resumed(case, attempt, ended=ending(status), seconds=attempt.seconds - before)


def two_at_once(campaign: Campaign) -> Report:
    """Resume a run that was killed in two processes at once: one of them is refused."""
    case = campaign.case(in_flight=4)
    run = case.cut(scores=40)
    names = ("one.json", "other.json")
    attempts = [case.start(resume=run, json_to=name) for name in names]
    statuses = [attempt.wait() for attempt in attempts]
    through = [status in CONCLUDED for status in statuses]
    problem = "" if through.count(True) == 1 else f"the two ended with {statuses}"
    winner = through.index(True) if any(through) else 0
    found = case.folder / names[winner]
    if found.exists():
        found.rename(case.folder / "result.json")
    refused = attempts[1 - winner]
    return case.report(
        refused,
        same_as=campaign.whole(),
        ended=f"one {ending(statuses[winner])}, the other {ending(statuses[1 - winner])}",
        seconds=attempts[winner].seconds,
        problem=problem,
    )


ROWS: Mapping[str, tuple[str, Row]] = {
    "kill-sqlite": ("kill -9 at random moments, SQLite", kill_sqlite),
    "kill-postgres": ("kill -9 at random moments, PostgreSQL", kill_postgres),
    "sigterm": ("SIGTERM", terminate),
    "sighup": ("SIGHUP", hang_up),
    "sigint": ("Ctrl-C", interrupt),
    "sigint-thrice": ("Ctrl-C three times, the app swallows its end in 1% of turns", interrupt_thrice),
    "two-at-once": ("two processes resume one run at once", two_at_once),
}
