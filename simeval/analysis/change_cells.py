"""The cells of a change between two runs, as tables of comparisons have them."""

from simeval.analysis.changes import Change, Finding, Side
from simeval.core.counted import show_p, show_share
from simeval.core.terminal import PLAIN, Style, Terminal

COLOURS: dict[Finding, Style] = {
    "worse": "red",
    "unclear": "yellow",
    "better": "green",
    "not worse": "green",
    "changed": "dim",
    "unchanged": "dim",
}


def change_headers(*, paired: bool) -> list[str]:
    """Return the headers of the cells of a change."""
    counted = "pairs" if paired else "trials"
    return ["finding", "before", "now", "change", "interval", counted, "better", "worse", "p"]


def change_cells(change: Change, terminal: Terminal = PLAIN) -> list[str]:
    """Return the cells of a change, but for its name."""
    signed = show_points if change.kind == "share" else "{:+.3g}".format
    points = " pts" if change.kind == "share" else ""
    turned = [len(change.improved), len(change.regressed)] if change.pairs is not None and change.has_direction else []
    return [
        terminal.paint(change_mark(change), COLOURS[change.finding]) + (" ~" if change.approximate else ""),
        show_side(change.baseline, change),
        show_side(change.candidate, change),
        "-" if change.difference is None else f"{signed(change.difference)}{points}",
        "-" if change.interval is None else f"[{', '.join(map(signed, change.interval))}]",
        _show_pairs(change),
        *(map(str, turned) if turned else ("-", "-")),
        "-" if change.p_value is None else show_p(change.p_value),
    ]


def change_mark(change: Change) -> str:
    """Return the finding as a table has it."""
    return change.finding.upper() if change.has_direction else change.finding


def show_side(side: Side, change: Change) -> str:
    """Write the figures of one run."""
    if side.met is not None:
        return f"{side.met} of {side.n}"
    if side.value is None:
        return "-"
    return show_share(side.value) if change.kind == "share" else f"{side.value:.3g}"


def _show_pairs(change: Change) -> str:
    before, now = change.baseline, change.candidate
    lost = before.missing + now.missing
    counted = f"{before.size}, {now.size}" if change.pairs is None else str(now.size)
    return f"{counted} ({lost} missing)" if lost else counted


def show_points(share: float) -> str:
    """Write a difference of shares in percentage points, without the unit."""
    shown = f"{100 * share:+.3g}"
    return "0" if float(shown) == 0 else shown
