"""The face of simeval.stats: every module by its name, and nothing heavy on the way."""

import subprocess
import sys
from pathlib import Path

import pytest

from simeval import stats

MODULES = {path.stem for path in Path(stats.__file__).parent.glob("*.py")} - {"__init__"}


def test_every_module_is_there_by_its_name() -> None:
    assert set(dir(stats)) == MODULES
    assert stats.binomial.clopper_pearson(30, 30, 0.05)[0] == pytest.approx(0.05 ** (1 / 30))


def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(AttributeError, match="bootstrap"):
        _ = stats.bootstrap  # type: ignore[attr-defined]


def test_importing_all_of_it_loads_no_scipy_stats() -> None:
    code = (
        "import sys, simeval.stats as stats\n"
        "[getattr(stats, name) for name in stats.__all__]\n"
        "heavy = {'scipy.stats', 'scipy.optimize', 'pandas', 'statsmodels'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
