"""The preview of a run: a line on its work, and its foreseeable weaknesses."""

from collections.abc import Sequence
from datetime import UTC, datetime
from math import prod

from simeval.core.counted import counted_of
from simeval.core.settings import Settings
from simeval.core.usage import total
from simeval.engine.plans.budget import show_dollars
from simeval.engine.plans.cost_forecast import CostForecast
from simeval.engine.plans.rounding import about
from simeval.engine.plans.scenario_plan import PlanWarning, RunPlan, ScenarioPlan
from simeval.evaluators.not_worse import NotWorseEvaluator
from simeval.suites.planning import plan_suite, show_chance

MOST_NAMED = 3  # titles in a warning
WORTH_SAYING = 0.95  # of the maximum: an expectation beyond it is as good as all


def preview(plans: Sequence[ScenarioPlan], settings: Settings, entrants: int, foreseen: CostForecast) -> str:
    """Describe in a line how many conversations there will be, their possible cost, and whether a good app would pass.

    With `entrants`, apps to find the best of, nothing passes.
    """
    if entrants:
        return _among(plans, entrants, foreseen)
    size, most, expected = len(plans), foreseen.trials_at_most, foreseen.trials_expected
    each = foreseen.conversations
    typically = (
        "" if expected is None or expected >= most * WORTH_SAYING else f" (about {about(each * expected)} expected)"
    )
    cost = total(foreseen.typical).cost_usd
    return "; ".join(
        [
            f"{counted_of(size, 'scenario')}, up to {each * most:,} conversations{typically}",
            *([] if cost is None else [f"about {show_dollars(cost)}"]),
            *_chance(plans, settings),
        ]
    )


def _among(plans: Sequence[ScenarioPlan], apps: int, foreseen: CostForecast) -> str:
    """Say how many conversations it takes at most to find the best app; its scenarios are there once for each."""
    size, cost = len(plans) // apps, total(foreseen.typical).cost_usd
    conversations = f"up to {foreseen.conversations * foreseen.trials_at_most:,} conversations"
    asked = f"{apps} apps, asked in rounds, {counted_of(size, 'scenario')}, {conversations}"
    spent = [] if cost is None else [f"about {show_dollars(cost)}, if none is dropped"]
    return "; ".join([asked, *spent, "an app that is proven not to be the best is dropped"])


def _chance(plans: Sequence[ScenarioPlan], settings: Settings) -> list[str]:
    today = datetime.now(UTC).date()
    deciding = [plan for plan in plans if not (plan.scenario.quarantine and plan.scenario.quarantine.holds(today))]
    evaluators = [each for plan in deciding for measure in plan.measures for each in measure.evaluators]
    if any(isinstance(each, NotWorseEvaluator) for each in evaluators):
        return []  # it depends on how the other app does
    found = plan_suite([plan.scenario for plan in deciding], settings).forecasts
    chances = [each.prob_pass for each in found if each.can_pass]
    known = [chance for chance in chances if chance is not None]
    if not chances:
        return ["no requirement can pass with so few trials"]
    unknown, cannot = len(chances) - len(known), len(found) - len(chances)
    few = f"; {cannot} of {len(found)} requirements cannot pass with so few trials, so the suite cannot"
    last = few if cannot else ""
    if not known:
        return [f"the chance of a pass cannot be told beforehand{last}"]
    best = "100%" if all(each.prefers_high for each in evaluators) else "what is best"
    good = f"if the app is good (half-way from each bar to {best})"
    least, most = (show_chance(each) for each in (min(known), max(known)))
    last = f"; of {'one' if unknown == 1 else unknown} more it cannot be told beforehand{last}" if unknown else last
    if len(known) == 1:
        which = "it" if len(found) == 1 else f"the one {'whose chance is known' if unknown else 'that can pass'}"
        return [f"{good}, {which} passes with a chance of {least}{last}"]
    each = least if least == most else f"{least} to {most}"
    who, together = "each requirement passes", "all together"
    if unknown or cannot:
        which = "whose chance is known passes" if unknown else "that can pass does so"
        who, together = f"each of the {len(known)} requirements {which}", "all of them"
    return [f"{good}, {who} with a chance of {each}, and {together} with {show_chance(prod(known))}{last}"]


def warnings_of(plans: Sequence[RunPlan], *, noted: bool = False) -> list[str]:
    """Return the warnings of all plans; one that concerns several is given once.

    With `noted` only those to repeat with the result, because no verdict contains them.
    """
    found: dict[str, list[PlanWarning]] = {}
    for plan in plans:
        for each in plan.warnings():
            if not (noted and each.needed is not None):
                found.setdefault(each.said, []).append(each)
    return [f"{_named(alike)}: {said}{_needed(alike)}" for said, alike in found.items()]


def _named(alike: Sequence[PlanWarning]) -> str:
    titles = list(dict.fromkeys(each.about for each in alike))
    if len(alike) == 1 and alike[0].label:
        return f"{titles[0]}, {alike[0].label!r}"
    more = f" and {len(titles) - MOST_NAMED} more" if len(titles) > MOST_NAMED else ""
    return f"{', '.join(titles[:MOST_NAMED])}{more}"


def _needed(alike: Sequence[PlanWarning]) -> str:
    """Say how many trials it takes; of several requirements the least and the most."""
    needed = sorted({each.needed for each in alike if each.needed is not None})
    if not needed:
        return ""
    return f"; at least {needed[0]}{f' to {needed[-1]}' if len(needed) > 1 else ''} are needed"
