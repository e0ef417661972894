"""Error rates through the whole engine, in a small form of `benchmarks.statistics.at_the_bar`."""

import pytest

from benchmarks.statistics.at_the_bar import Counted, measure, shown
from benchmarks.statistics.at_the_bar_cells import CELLS, Cell

SCENARIOS = 12
MOST_WRONG = 3  # where each is wrong with a chance of 5%: more in one of 450 such tests, which have seeds
ONE_OF_EACH = {cell.group: cell for cell in reversed(CELLS) if cell.promises}  # the first of each kind


@pytest.mark.parametrize("cell", ONE_OF_EACH.values(), ids=ONE_OF_EACH)
def test_an_app_at_its_bar_is_seldom_passed_or_failed(cell: Cell) -> None:
    found = measure(cell, SCENARIOS)

    wrong = {"pass": found.passes, "fail": found.fails}
    assert found.of == SCENARIOS
    assert all(wrong[side] <= MOST_WRONG for side in cell.promises)


def test_excluding_crashes_says_nothing_of_an_app_that_crashes() -> None:
    [cell] = [each for each in CELLS if not each.promises]

    found = measure(cell, SCENARIOS)

    assert found.passes >= 3  # of all its trials it is good in as many as the bar asks for, and more pass than promised


def test_a_rate_whose_interval_is_above_what_is_promised_is_a_finding() -> None:
    above, below = Counted(of=100, passes=20, fails=5), Counted(of=100, passes=9, fails=0)

    assert above.findings == ["pass"]
    assert not below.findings
    assert shown("kind", "run", above).endswith("ABOVE: pass")
