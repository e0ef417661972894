"""The pytest plugin: scenarios as tests, and each verdict a sub-test.

    a marked test ──► all of the session at once ──► its result ──► the test's own lines ──► a sub-test each verdict

Every pytest run of an environment with simeval loads this module, so it imports nothing of simeval before a test asks.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from simeval.engine.engine import Engine
    from simeval.results.suite import SuiteResult
    from simeval.testing.marked import MarkedTests

MARKER = "simeval"
SAID = "simeval"  # the property of a test with its lines in the summary
SAMPLES, SEED, STORE, GATE = "--simeval-samples", "--simeval-seed", "--simeval-store", "--simeval-gate"
HTML = "--simeval-html"
COLOURS = {"pass": "green", "inconclusive": "yellow"}  # of a scenario's line by its outcome; others are red
_OWN = {"subtests", "simeval_result", "request"}
_ALONE = ("skip", "skipif")  # a test with one of these runs only if it is not skipped


_MARKED = pytest.StashKey["MarkedTests"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the options of a session."""
    group = parser.getgroup("simeval", "simeval: scenarios as tests")
    group.addoption(SAMPLES, type=int, metavar="N", help="hold so many conversations for each scenario")
    group.addoption(SEED, type=int, metavar="N", help="draw users and writing styles by this seed")
    group.addoption(STORE, metavar="STORE", help="keep conversations and verdicts here, as `simeval run --store` does")
    group.addoption(
        GATE,
        choices=("pass", "not_fail"),
        help="pass: an inconclusive verdict fails its test (the default); not_fail: it is skipped",
    )
    group.addoption(HTML, metavar="PATH", help="write a report of all marked tests, to be opened in a browser")


def pytest_configure(config: pytest.Config) -> None:
    """Name the marker, and see that a report can be written."""
    path = config.getoption(HTML)
    if path and not Path(path).absolute().parent.is_dir():
        raise pytest.UsageError(f"{HTML}: there is no folder {str(Path(path).parent)!r}")
    config.addinivalue_line(
        "markers",
        "simeval(scenarios, ..., app=None): evaluate these scenarios, or suite files, against an app; the test passes "
        "where every verdict does",
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: Sequence[pytest.Item]) -> Iterator[None]:
    """Add sub-tests to marked tests, and keep them in one worker of pytest-xdist, before that looks at them."""
    for item in filter(_is_marked, items):
        if config.pluginmanager.hasplugin("subtests"):
            item.fixturenames.append("subtests")  # type: ignore[attr-defined]
        if config.pluginmanager.hasplugin("xdist"):
            item.add_marker(pytest.mark.xdist_group(MARKER))
    yield


@pytest.hookimpl(trylast=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Evaluate the scenarios of a marked test and of all after it; a broken one is an error."""
    if not _is_marked(item):
        return
    run = _result_of(item).document("none")
    broken = [verdict.explanation for verdict in run.verdicts if verdict.outcome == "error"]
    item.user_properties.extend(_marked_tests(item.config).properties(run))
    if broken:
        pytest.fail("\n".join(broken), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Report each verdict after the test's own lines."""
    yield
    if not _is_marked(item):
        return
    found = _marked_tests(item.config).reports(_result_of(item).document("worst"))
    subtests: Any = getattr(item, "funcargs", {}).get("subtests")
    if subtests is None:
        said = [each.text for each in found if each.fails]
        if said:
            pytest.fail("\n\n".join(said), pytrace=False)
        return
    for each in found:
        with subtests.test(each.name):
            if each.skips:
                pytest.skip(each.text)
            if each.fails:
                pytest.fail(each.text, pytrace=False)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the report of everything evaluated here; a worker of pytest-xdist writes one of its own."""
    path, config = session.config.getoption(HTML), session.config
    if not path or _MARKED not in config.stash:
        return
    worker = getattr(config, "workerinput", {}).get("workerid", "")
    file = Path(path)
    config.stash[_MARKED].write_html(file.with_name(f"{file.stem}-{worker}{file.suffix}") if worker else file)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print a line with the result of each scenario."""
    said = {
        (report.nodeid, text): text
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, text in getattr(report, "user_properties", ())
        if name == SAID
    }
    if said:
        terminalreporter.section("simeval")
    for (nodeid, _), text in said.items():
        outcome = text.rpartition(" (")[0].rpartition(": ")[2].partition(",")[0]
        terminalreporter.write_line(f"{nodeid}: {text}", **{COLOURS.get(outcome, "red"): True})


@pytest.fixture
def simeval(request: pytest.FixtureRequest) -> "Engine":
    """Return an engine with the settings of the project and the command line."""
    return _marked_tests(request.config).engine()


@pytest.fixture
def simeval_result(request: pytest.FixtureRequest) -> "SuiteResult":
    """Return the results of a marked test's scenarios."""
    if not _is_marked(request.node):
        pytest.fail("simeval_result: this test is not marked with @pytest.mark.simeval(...)", pytrace=False)
    return _result_of(request.node)


def _is_marked(item: pytest.Item) -> bool:
    return item.get_closest_marker(MARKER) is not None


def _marked_tests(config: pytest.Config) -> "MarkedTests":
    if _MARKED not in config.stash:
        from simeval.testing.marked import GivenOptions, MarkedTests

        given = GivenOptions(
            samples=config.getoption(SAMPLES),
            seed=config.getoption(SEED),
            store=config.getoption(STORE),
            gate=config.getoption(GATE),
        )
        config.stash[_MARKED] = MarkedTests.of(config.rootpath, given)
    return config.stash[_MARKED]


def _result_of(item: pytest.Item) -> "SuiteResult":
    marked = _marked_tests(item.config)
    is_grouped = item.nodeid.endswith(f"@{MARKER}")  # as by `--dist loadgroup`: all are this worker's
    are_here = is_grouped or not hasattr(item.config, "workerinput")
    others = filter(_is_marked, item.session.items) if are_here and not _is_alone(item) else ()
    at_hand = _fixtures_of(item)
    return marked.result_of(item, [each for each in others if not _is_alone(each) and _fixtures_of(each) <= at_hand])


def _is_alone(item: pytest.Item) -> bool:
    """Return whether it is not known before its turn that a test is run."""
    expected = item.get_closest_marker("xfail")
    is_not_run = expected is not None and not expected.kwargs.get("run", True)
    return is_not_run or any(map(item.get_closest_marker, _ALONE))


def _fixtures_of(item: pytest.Item) -> set[str]:
    """Return the fixtures to set up for a test: its app may need them."""
    return set(getattr(item, "fixturenames", ())) - _OWN
