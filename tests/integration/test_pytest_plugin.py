"""Scenarios as tests: what pytest shows of each outcome, and what is run."""

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

import simeval.testing.marked  # noqa: F401  # pytester forgets modules loaded in its tests; numpy cannot load twice

SUITE = """
sample_size: 20
scenarios:
  - title: Bot tracks a parcel
    given: A customer
    when: They ask where their parcel is
    then:
      expected_behavior: Bot says where the parcel is
      label: tracks
      evaluator: {type: success_rate, min_proportion: 0.5}
"""
APPS = """
from pathlib import Path

import pytest
from simeval import Expectation, ProportionEvaluator, ScenarioTest
from simeval.suites.files import load_suite

TRACKS = load_suite("suite.yaml")


def tracks(message: str, state: dict) -> str:
    return "Your parcel is on its way, it arrives on Tuesday."


def refuses(message: str, state: dict) -> str:
    return "No."


def breaks(message: str, state: dict) -> str:
    raise RuntimeError("the database is away")


def must_not_run(message: str, state: dict) -> str:
    with open("it_ran", "w"):
        return "It ran."
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder with a suite, and the apps of these tests."""
    pytester.makefile(".yaml", suite=SUITE)
    pytester.makepyfile(apps=APPS)
    monkeypatch.delitem(sys.modules, "apps", raising=False)
    return pytester


def write_tests(project: pytest.Pytester, text: str) -> None:
    """Write the file of tests that pytest is run on."""
    project.makepyfile(test_bot=f"import pytest\nfrom apps import *\n{text}")


def test_a_test_passes_or_fails_as_its_verdicts_do(project: pytest.Pytester) -> None:
    write_tests(
        project,
        """
@pytest.mark.simeval("suite.yaml", app=tracks)
def test_tracks(): ...

@pytest.mark.simeval(TRACKS, app=refuses)
def test_refuses(): ...
""",
    )

    result = project.runpytest("-v")

    result.assert_outcomes(passed=1, failed=2)  # the sub-test that fails, and its test
    text = result.stdout.str()
    assert "SUBPASSED[Bot tracks a parcel: tracks:" in text
    assert "SUBFAILED[Bot tracks a parcel: tracks:" in text
    assert "0 of 10 conversations" in text
    assert "the true value is within" in text
    assert "worst conversation (trial" in text
    result.stdout.fnmatch_lines(
        [
            "*= simeval =*",
            "test_bot.py::test_tracks: Bot tracks a parcel: pass (10 conversations)",
            "test_bot.py::test_refuses: Bot tracks a parcel: fail (10 conversations)",
        ]
    )


def test_an_inconclusive_verdict_fails_its_test_unless_the_gate_lets_it_through(project: pytest.Pytester) -> None:
    write_tests(project, "@pytest.mark.simeval(TRACKS, app=tracks)\ndef test_too_few(): ...\n")

    strict = project.runpytest("--simeval-samples", "2")
    lenient = project.runpytest("-v", "--simeval-samples", "2", "--simeval-gate", "not_fail")

    strict.assert_outcomes(failed=2)
    assert "neither a pass nor a fail is proven: tracks in 2 of 2 conversations" in strict.stdout.str()
    assert lenient.ret == 0
    lenient.stdout.fnmatch_lines(["*SUBSKIPPED[[]Bot tracks a parcel: tracks: *"])


def test_what_is_broken_is_an_error(project: pytest.Pytester) -> None:
    write_tests(
        project,
        """
@pytest.mark.simeval(TRACKS, app=breaks)
def test_breaks(): ...

@pytest.mark.simeval(TRACKS)
def test_no_app(): ...

@pytest.mark.simeval(app=tracks)
def test_no_scenario(): ...

@pytest.mark.simeval("missing.yaml", app=tracks)
def test_no_file(): ...

@pytest.mark.simeval(3, app=tracks)
def test_no_suite(): ...

@pytest.mark.simeval(TRACKS, app=tracks, samples=3)
def test_unknown(): ...
""",
    )

    result = project.runpytest()

    result.assert_outcomes(errors=6)
    result.stdout.fnmatch_lines_random(
        [
            "*never answered*the database is away*",
            "@pytest.mark.simeval: no app is given; write simeval(SCENARIO, app=HANDLER), with *",
            "@pytest.mark.simeval: no scenario is given; *",
            "*missing.yaml*",
            "@pytest.mark.simeval: 3 is no scenario; *",
            "@pytest.mark.simeval: it takes no samples; *",
        ]
    )


def test_a_test_sees_the_result_and_may_ask_for_more(project: pytest.Pytester) -> None:
    write_tests(
        project,
        """
@pytest.mark.simeval(TRACKS, app=tracks)
def test_more(simeval_result):
    assert simeval_result[0].trials == 0

def test_own(simeval):
    simeval.evaluate_sync(TRACKS, tracks).assert_passed()

def test_unmarked(simeval_result): ...
""",
    )

    result = project.runpytest()

    result.assert_outcomes(passed=1, failed=1, errors=1)
    result.stdout.fnmatch_lines(["*assert 10 == 0*"])


def test_only_what_is_chosen_and_not_skipped_is_run(project: pytest.Pytester) -> None:
    write_tests(
        project,
        """
@pytest.mark.simeval(TRACKS, app=tracks)
def test_chosen(): ...

@pytest.mark.simeval(TRACKS, app=must_not_run)
def test_left(): ...

@pytest.mark.skipif(True, reason="not now")
@pytest.mark.simeval(TRACKS, app=must_not_run)
def test_chosen_but_skipped(): ...
""",
    )

    result = project.runpytest("-k", "chosen")

    result.assert_outcomes(passed=1, skipped=1, deselected=1)
    assert not (project.path / "it_ran").exists()


def test_what_failed_last_is_run_again_alone_and_x_ends_at_the_first_failure(project: pytest.Pytester) -> None:
    write_tests(
        project,
        """
@pytest.mark.simeval(TRACKS, app=refuses)
def test_first(): ...

@pytest.mark.simeval(TRACKS, app=tracks)
def test_second(): ...
""",
    )

    first = project.runpytest("-x")
    again = project.runpytest("--lf")

    first.assert_outcomes(failed=2)
    assert "test_second" not in first.stdout.str()
    again.assert_outcomes(failed=2, deselected=0)
    assert "test_second" not in again.stdout.str()


def test_all_marked_tests_are_in_flight_together(project: pytest.Pytester) -> None:
    write_tests(
        project,
        """
import anyio

BOTH = anyio.Event()
SEEN = set()

def app_of(name):
    async def app(message: str, state: dict) -> str:
        SEEN.add(name)
        if SEEN == {"one", "two"}:
            BOTH.set()
        await BOTH.wait()
        return tracks(message, state)
    return app

@pytest.mark.simeval(TRACKS, app=app_of("one"))
def test_one(): ...

@pytest.mark.simeval(TRACKS, app=app_of("two"))
def test_two(): ...
""",
    )

    project.runpytest().assert_outcomes(passed=2)


def test_a_test_whose_fixture_starts_the_app_waits_for_its_turn(project: pytest.Pytester) -> None:
    write_tests(
        project,
        """
STARTED = []

@pytest.fixture
def server():
    STARTED.append(True)

def started(message: str, state: dict) -> str:
    return tracks(message, state) if STARTED else breaks(message, state)

@pytest.mark.simeval(TRACKS, app=tracks)
def test_first(): ...

@pytest.mark.simeval(TRACKS, app=started)
def test_second(server): ...

@pytest.mark.xfail(run=False)
@pytest.mark.simeval(TRACKS, app=must_not_run)
def test_third(): ...
""",
    )

    project.runpytest().assert_outcomes(passed=2, xfailed=1)
    assert not (project.path / "it_ran").exists()


@pytest.mark.parametrize("dist", ["load", "loadgroup"])
def test_workers_of_xdist_share_the_tests_and_evaluate_each_once(
    project: pytest.Pytester, dist: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # three processes would load them: half of the time
    plugins = ("-p", "xdist.plugin", "-p", "simeval.testing.pytest_plugin")
    write_tests(
        project,
        """
@pytest.mark.parametrize("number", range(4))
@pytest.mark.simeval(TRACKS, app=tracks)
def test_tracks(number): ...

def test_other(): ...
""",
    )

    result = project.runpytest_subprocess(*plugins, "-n", "2", "--dist", dist, "--simeval-store", "kept.db")

    result.assert_outcomes(passed=5)
    with closing(sqlite3.connect(project.path / "kept.db")) as kept:
        assert kept.execute("SELECT count(*) FROM runs").fetchone() == (4,)
    assert all(f"test_tracks[{number}]" in result.stdout.str() for number in range(4))


def test_settings_come_from_the_project_and_the_command_line(project: pytest.Pytester) -> None:
    project.makepyprojecttoml('[tool.simeval]\nseed = 5\ngate = "not_fail"\napp = "apps:tracks"\n')
    write_tests(
        project,
        """
@pytest.mark.simeval("suite.yaml")
def test_project(simeval_result):
    assert (simeval_result.run.seed, simeval_result.run.gate) == (int(Path("seed").read_text()), "not_fail")
""",
    )
    (project.path / "seed").write_text("5")

    project.runpytest().assert_outcomes(passed=1)
    assert not (project.path / ".simeval").exists()
    (project.path / "seed").write_text("7")
    result = project.runpytest("--simeval-seed", "7", "--simeval-store", "kept.db")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*test_project: Bot tracks a parcel: pass (10 conversations, run *)"])
    assert (project.path / "kept.db").is_file()


def test_the_figures_are_in_the_junit_file(project: pytest.Pytester) -> None:
    write_tests(project, "@pytest.mark.simeval(TRACKS, app=tracks)\ndef test_tracks(): ...\n")

    project.runpytest("--junit-xml", "junit.xml").assert_outcomes(passed=1)

    text = Path(project.path / "junit.xml").read_text()
    assert 'name="Bot tracks a parcel: tracks" value="pass n=10 estimate=1 low=' in text


def test_where_no_test_asks_nothing_is_loaded_or_printed(project: pytest.Pytester) -> None:
    tests = "import sys\n\ndef test_nothing():\n    assert 'simeval.engine' not in sys.modules\n"
    project.makepyfile(test_plain=tests)

    result = project.runpytest_subprocess("test_plain.py")

    result.assert_outcomes(passed=1)
    assert "simeval" not in result.stdout.str().partition("collected")[2]


def test_one_report_shows_all_marked_tests(project: pytest.Pytester) -> None:
    write_tests(
        project,
        """
@pytest.mark.simeval("suite.yaml", app=tracks)
def test_tracks(): ...

@pytest.mark.simeval(TRACKS, app=refuses)
def test_refuses(): ...
""",
    )

    project.runpytest("--simeval-html", "report.html")
    refused = project.runpytest("--simeval-html", "nowhere/report.html")

    report = (project.path / "report.html").read_text("utf-8")
    assert "1 of 2 scenarios fails" in report
    assert report.count("<td>PASS</td>") == report.count("<td>FAIL</td>") == 1
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["*--simeval-html: there is no folder 'nowhere'"])


def test_no_report_is_written_where_nothing_is_marked(project: pytest.Pytester) -> None:
    write_tests(project, "def test_plain(): ...")

    project.runpytest("--simeval-html", "report.html").assert_outcomes(passed=1)

    assert not (project.path / "report.html").exists()
