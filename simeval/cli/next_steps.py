"""The next steps after a run, as commands that can be copied."""

import shlex
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import click

from simeval.core.redaction import shown
from simeval.core.settings import DEFAULTS, Settings
from simeval.core.terminal import Terminal
from simeval.core.trial import TITLE
from simeval.evaluators.verdicts import trials_to_prove
from simeval.results.document import Requirement, RunDocument, ScenarioDocument
from simeval.results.suite import RunRecord
from simeval.results.text import names_line

MOST_ADVISED = 2_000  # trials of a scenario; more are no advice
OPEN = (
    "budget_exhausted",
    "pass_unreachable",
    "pass_unlikely",
    "never_possible",
    "scenario_settled",
)  # reasons that more trials may do away with
ATTACK = "attack"  # the command
MOST_CHOSEN = 3  # scenarios that a command names


def next_steps(
    page: RunDocument, settings: Settings, terminal: Terminal, clean: Callable[[str], str], *, is_mute: bool = False
) -> list[str]:
    """Return the next steps: read the failures, run more trials; try an app that is mute."""
    steps = []
    if is_mute and (trying := _trying()):
        steps.append(("hold one conversation, and see what the app does", clean(trying)))
        if any(names_line(verdict.why) for verdict in page.verdicts):
            again = command_again("--log-level", "debug", without=("--resume", "--log-level"))
            steps.append(("run it again with the traceback", clean(again)))
    elif is_kept(settings) and page.outcome != "pass" and any(map(_has_failed, page.scenarios)):
        command = shlex.join(["simeval", "show", page.run_id, "--failed", *store_flag(settings)])
        steps.append(("read the conversations that speak against the app", clean(command)))
    steps += [(step, clean(command)) for step, command in (*_with_more_trials(page, settings), *_to_a_fail(page))]
    if not steps:
        return []
    lines = ["", "next:"]
    for what, command in steps:
        lines += [*terminal.wrap(what, first="  "), f"    {terminal.paint(command, 'cyan')}"]
    return lines


def _trying() -> str:
    """Return the command that tries the suite of this one, with the options that both take; empty if it has none."""
    context = click.get_current_context(silent=True)
    suite = None if context is None else context.params.get("suite")
    commands = context.find_root().command if context else None
    if context is None or suite is None or not isinstance(commands, click.Group):
        return ""
    command = commands.get_command(context, "try")
    options = command.get_params(context) if command else []
    flags = [flag for each in options if isinstance(each, click.Option) and not each.is_flag for flag in each.opts]
    return shlex.join(["simeval", "try", str(suite), *map(shown, _written(flags))])


def _written(flags: Collection[str]) -> Iterator[str]:
    """Yield those of these options that were written, with their values."""
    arguments = iter(sys.argv[1:])
    for argument in arguments:
        name, sign, _ = argument.partition("=")
        if name in flags:
            yield argument
            if not sign:
                yield next(arguments, "")


def _has_failed(scenario: ScenarioDocument) -> bool:
    return bool(scenario.errors) or any(each.worst is not None for each in scenario.expectations)


def command_again(*added: str, without: Sequence[str] = ("--resume",)) -> str:
    """Return the command that was written, with other options: those of `without` are left out, with their values."""
    kept, arguments = [], iter(sys.argv[1:])
    for argument in arguments:
        if argument == "--accept-changes":
            continue
        if argument in without:
            next(arguments, None)
        elif argument.partition("=")[0] not in without:
            kept.append(argument)
    return shlex.join(["simeval", *map(shown, kept), *added])


def how_to_go_on(settings: Settings, clean: Callable[[str], str], run: RunRecord | None = None) -> str:
    """Return where that is kept which a run has finished, and how to go on with it, as the end of a sentence."""
    if not is_kept(settings):
        return "" if settings.store is None else f"; what was finished is in {settings.store}"
    if "://" not in str(settings.store) and not Path(str(settings.store)).is_file():
        return f"\nnothing is kept: there is no {settings.store} any more"
    if run is None:
        return f"; `{shlex.join(['simeval', 'runs', *store_flag(settings)])}` lists what is kept"
    how = "to go on with it, raise that limit in" if run.stopped.startswith("max_") else "to go on with it"
    return f"\nwhat was finished is kept; {how}:\n  {clean(command_again('--resume', run.run_id))}"


def is_kept(settings: Settings) -> bool:
    """Return whether a store has the results, so that they can be read back."""
    return settings.store is not None and not str(settings.store).endswith(".jsonl")


def store_flag(settings: Settings) -> list[str]:
    """Return the option that names the store to other commands, if it is not the default."""
    return [] if str(settings.store) == str(DEFAULTS.store) else ["--store", str(settings.store)]


def _with_more_trials(page: RunDocument, settings: Settings) -> list[tuple[str, str]]:
    if page.stopped:
        return []
    found = [(each, *_wanted(each)) for each in page.scenarios if each.outcome == "inconclusive"]
    wanted = [(each, trials, enough) for each, trials, enough in found if each.sample_size < trials <= MOST_ADVISED]
    if not wanted:
        return []
    most = max(trials for _, trials, _ in wanted)
    many = "enough" if all(enough for _, _, enough in wanted) else "more"
    what = repr(wanted[0][0].title) if len(wanted) == 1 else f"{len(wanted)} inconclusive scenarios"
    chosen = _chosen([each.title for each, _, _ in wanted])
    others = ("--resume", "--samples", "--seed", *(["--only", "--rerun", "--families"] if chosen else []))
    step = f"take {many} new trials of {what}"
    return [(step, command_again(*chosen, "--samples", str(most), *_other_seed(settings), without=others))]


def _to_a_fail(page: RunDocument) -> list[tuple[str, str]]:
    """Return the command that goes on to a fail, where a run has stopped because it would not pass."""
    given_up = [each for each in page.verdicts if each.reason in ("pass_unlikely", "pass_unreachable")]
    is_open = any(_trials(each) == 0 for each in given_up)
    if not is_open or page.stopped:
        return []
    return [("go on until a fail is proven", command_again("--stop", "verdict", without=("--resume", "--stop")))]


def _other_seed(settings: Settings) -> list[str]:
    """Return the option for another seed if one is set: with the same seed, the same trials are dealt again.

    In a comparison with a run, that run's seed is used.
    """
    is_held = any(each.partition("=")[0] == "--against" for each in sys.argv)
    return [] if settings.seed is None or is_held else ["--seed", str(settings.seed + 1)]


def _chosen(titles: Sequence[str]) -> list[str]:
    """Return the options that choose scenarios, or families where an attack was commanded; none for many scenarios."""
    if sys.argv[1:2] == [ATTACK]:
        return ["--families", ",".join(title.removeprefix(TITLE) for title in titles)]
    return [part for title in titles for part in ("--only", title)] if len(titles) <= MOST_CHOSEN else []


def _wanted(scenario: ScenarioDocument) -> tuple[int, bool]:
    """Return how many trials prove the open part of a scenario, if its rates are the true ones, and if that is known.

    If it is no share that is unknown: twice as many may do, or the least that can. If no number does, it is 0.
    """
    verdicts = scenario.verdicts
    trials = [_trials(verdict) for verdict in verdicts if verdict.reason in OPEN]
    known = [each for each in trials if each is not None]
    if not trials or 0 in known:
        return 0, False
    is_known = len(known) == len(trials)
    may_do = [] if is_known else [2 * scenario.sample_size, *(verdict.least for verdict in verdicts)]
    return max([*known, *may_do]), is_known


def _trials(verdict: Requirement) -> int | None:
    """Return how many trials prove a requirement; 0 if none do, None if unknown."""
    if verdict.met is None:
        bar, estimate = verdict.bar, verdict.estimate
        is_below = (
            bar and estimate is not None and (estimate < bar.value if bar.is_lower_bound else estimate > bar.value)
        )
        return 0 if is_below else None
    observed, required = verdict.met
    return trials_to_prove(required, observed, alpha=verdict.significance_level) or 0
