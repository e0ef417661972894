"""What the verdicts of a suite guarantee together, in words."""

from collections.abc import Sequence

from simeval.core.setting_choices import Gate
from simeval.core.trial import Verdict
from simeval.evaluators.verdicts import show_share


def guarantee(verdicts: Sequence[Verdict], *, gate: Gate, joint: bool) -> str:
    """Say the error bound of the passes or, at a gate that only a fail blocks, of being blocked; else nothing."""
    levels = [verdict.significance_level for verdict in verdicts]
    count, most, together = len(levels), show_share(max(levels, default=0.0)), show_share(min(1.0, sum(levels)))
    each = f" (each of the {count} requirements is tested at {max(levels, default=0.0):.3g})" if joint else ""
    compared = any(verdict.against for verdict in verdicts)
    if gate == "not_fail":
        good, all_good = ("is no worse", "is worse in none") if compared else ("meets a bar", f"meets all {count}")
        fails = f"an app that {good} fails it with a chance of at most {most}"
        return f"{fails}; one that {all_good} is blocked with at most {together}{each}." if count > 1 else f"{fails}."
    if not any(verdict.passed for verdict in verdicts):
        return ""
    if joint:
        bad = "worse by more than the margin in some requirements" if compared else "below some of its bars"
        return f"if the app is {bad}, the chance that it passes any of these is at most {together}{each}."
    bad = "that is worse by more than the margin in a requirement" if compared else "below a bar"
    below = f"an app {bad} passes it with a chance of at most {most}"
    able = [verdict.significance_level for verdict in verdicts if verdict.reason != "never_possible"]
    if count == 1 or compared:
        return f"{below}."
    whole = f"{below}, and the whole suite with no more than that"
    if len(able) < 2:
        return f"{whole}."
    which = f"{count} requirements" if len(able) == count else f"the {len(able)} requirements that can pass,"
    return f"{whole}; of {which} exactly at their bars, {sum(able):.2g} would pass by chance on average."
