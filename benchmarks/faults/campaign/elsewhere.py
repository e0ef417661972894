"""Rows: trials are held elsewhere, and those who hold them are killed."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from time import sleep

import psutil

from benchmarks.faults.campaign.campaign import SEED, Campaign, NotRun, Row, ending
from benchmarks.faults.campaign.cases import CONCLUDED, Case, Report, RunAttempt, agrees, agrees_but_for_lost
from benchmarks.faults.campaign.kills import added

WORKERS, IN_FLIGHT = 3, 4  # of each
MOST_KILLS = 20
MOST_OF_A_RUN = 7  # so that most of its trials are not lost
PAUSES = (0.1, 0.8)  # seconds between two kills


def kill_actors(campaign: Campaign) -> Report:
    """Kill the processes of Ray actors of one run after another at random moments, until there were enough kills."""
    if find_spec("ray") is None:
        raise NotRun("needs Ray")
    total, kills, seed = Report(same=True), 0, SEED
    wanted = min(MOST_KILLS, campaign.kills)
    while kills < wanted and not total.problem:
        seed += 1
        campaign.begin_whole(seed)
        case = campaign.case(store="runs.db", seed=seed, in_flight=WORKERS * IN_FLIGHT, executor="ray")
        more, report = _strike_until_done(campaign, case, min(MOST_OF_A_RUN, wanted - kills))
        kills, total = kills + more, added(total, report)
    runs = seed - SEED
    return replace(total, ended=f"{kills} kills, {runs} run{'s'[: runs - 1]}")


def _strike_actor(campaign: Campaign, attempt: RunAttempt) -> bool:
    """Kill one of the processes of actors that belong to a run's own cluster."""
    assert attempt.process.pid is not None
    with suppress(psutil.Error):
        below = psutil.Process(attempt.process.pid).children(recursive=True)
        actors = [each for each in below if any("TrialActor" in part for part in each.cmdline())]
        if actors:
            struck = campaign.random.choice(actors)
            struck.kill()
            return True
    return False


def _strike_until_done(campaign: Campaign, case: Case, most: int) -> tuple[int, Report]:
    attempt, kills = case.start(), 0
    case.begun(attempt, scores=20)
    while kills < most and attempt.is_running:
        kills += _strike_actor(campaign, attempt)
        sleep(campaign.random.uniform(*PAUSES))
    status = attempt.wait()
    whole, result = campaign.whole(case.seed), case.result()
    same = result is not None and agrees_but_for_lost(result, whole)
    lost = [error for each in (result or {"scenarios": ()})["scenarios"] for error in each["errors"]]
    missing = sum(error["stage"] == "run" for error in lost)
    problem = "" if status in CONCLUDED else f"the run ended with status {status}: {attempt.message}"
    return kills, case.report(attempt, same=same, missing=missing, seconds=attempt.seconds, problem=problem)


def kill_conductor_of_actors(campaign: Campaign) -> Report:
    """Kill the process that conducts a run, with which its own cluster goes, and resume it."""
    if find_spec("ray") is None:
        raise NotRun("needs Ray")
    return _resumed(campaign, campaign.case(in_flight=WORKERS * IN_FLIGHT, executor="ray"))


def _resumed(campaign: Campaign, case: Case) -> Report:
    campaign.begin_whole()
    attempt = case.start()
    case.begun(attempt, scores=100)
    attempt.kill()
    lost = case.lost()
    again = case.start(resume=case.notes.run_id)
    status = again.wait()
    result = case.result()
    same = result is not None and agrees(result, campaign.whole())
    report = case.report(attempt, same=same, ended=ending(attempt.process.exitcode), seconds=again.seconds)
    problem = report.problem if status in CONCLUDED else f"the resumed run ended with status {status}: {again.message}"
    return replace(report, lost=report.lost + lost, problem=problem)


ROWS: Mapping[str, tuple[str, Row]] = {
    "kill-actors": ("kill -9 of Ray actors at random moments", kill_actors),
    "kill-conductor-of-actors": ("kill -9 of the run's process on Ray", kill_conductor_of_actors),
}
