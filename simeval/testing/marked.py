"""Tests marked with @pytest.mark.simeval: evaluate their scenarios together, and keep the results."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any, TypedDict

import anyio
import pytest

from simeval.core.run_records import merged, total
from simeval.core.settings import DEFAULTS, Settings
from simeval.core.terminal import counted_of
from simeval.core.trial import Verdict
from simeval.engine.engine import Engine
from simeval.errors import DefinitionError, SimevalError
from simeval.results.document import RunDocument, told_kinds
from simeval.results.screen.report import WORST_FIRST
from simeval.results.suite import SuiteResult
from simeval.results.text import meets_gate
from simeval.suites.apps.named import app_of
from simeval.suites.cast import MODELS, ROLES, Cast
from simeval.suites.files import Suite, load_suite
from simeval.suites.project import Project, read_project
from simeval.suites.scenario import ScenarioTest

# a test leaves no files behind, unless asked to, and writes no progress between the lines of pytest
IN_TESTS = DEFAULTS.overridden({"store": None, "display": "none"})
MARKED = "@pytest.mark.simeval"
OPEN = "neither a pass nor a fail is proven"
DO = "write simeval(SCENARIO, app=HANDLER), with a ScenarioTest, a list of them, or the path of a suite file"


@dataclass(frozen=True, slots=True)
class VerdictReport:
    """The report of a sub-test on one verdict."""

    name: str
    text: str
    fails: bool
    skips: bool


@dataclass(frozen=True, slots=True)
class _Asked:
    """The request of one test; its app is the one of the cast, or another."""

    suite: Suite
    app: object
    is_cast: bool
    cast: Cast
    settings: Settings


class GivenOptions(TypedDict):
    """The command line's options for all evaluations of a session; None for one that is not given."""

    samples: int | None
    seed: int | None
    store: str | None
    gate: str | None


@dataclass(slots=True)
class MarkedTests:
    """The marked tests of a session: each is evaluated once, and tests given together run at once."""

    project: Project
    samples: int | None
    overrides: Mapping[str, Any]
    _engines: list[tuple[Cast, Settings, Engine]] = field(default_factory=list, init=False)
    _found: dict[str, SuiteResult | SimevalError] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, folder: Path, given: GivenOptions) -> "MarkedTests":
        """Return the marked tests of a project, with the options of the command line. Raises pytest.UsageError."""
        overrides = {name: given[name] for name in ("seed", "store", "gate") if given[name] is not None}
        try:
            return cls(read_project(folder, base=IN_TESTS), given["samples"], overrides)
        except DefinitionError as error:
            raise pytest.UsageError(str(error)) from error

    def engine(self) -> Engine:
        """Return the engine of tests that evaluate by themselves."""
        return self._engine(self.project.cast, self._settled(self.project.settings))

    def result_of(self, item: pytest.Item, others: Sequence[pytest.Item]) -> SuiteResult:
        """Return the result of a test's scenarios; the others are evaluated at the same time, if they have not been.

        Fails the test if it asks for something that cannot be evaluated, or the evaluation broke.
        """
        if item.nodeid not in self._found:
            together = {each.nodeid: each for each in (item, *others) if each.nodeid not in self._found}
            anyio.run(self._evaluate, list(together.values()))
        found = self._found[item.nodeid]
        if isinstance(found, SimevalError):
            pytest.fail(str(found), pytrace=False)
        return found

    def reports(self, run: RunDocument) -> Iterator[VerdictReport]:
        """Return a report for each verdict of a run, the worst first."""
        found = [
            (scenario, place, expectation, verdict)
            for scenario in run.scenarios
            for place, expectation in enumerate(scenario.expectations)
            for verdict in expectation.verdicts
        ]
        for scenario, place, expectation, verdict in sorted(found, key=lambda each: WORST_FIRST.index(each[3].outcome)):
            fails = scenario.decides and not meets_gate(verdict.outcome, run.gate)
            worst = scenario.shown_worst(place) if fails else ""
            within = f"; the true value is within {verdict.range}" if verdict.range else ""
            said = f"{OPEN}: {verdict.said}" if verdict.outcome == "inconclusive" else verdict.said
            kinds = told_kinds(expectation.kinds) if fails else []
            text = "\n".join(part for part in (said + within, verdict.explanation, *kinds, worst) if part)
            name = f"{scenario.title}: {expectation.label}: {verdict.evaluator}"
            yield VerdictReport(name, text, fails, skips=not fails and not verdict.passed)

    def properties(self, run: RunDocument) -> Iterator[tuple[str, str]]:
        """Return the properties of a test's report: a line for each scenario, and the figures of its verdicts."""
        cost = total(run.usage).cost_usd
        spent = f", ${cost:.2f}" if cost and len(run.scenarios) == 1 else ""  # it is that of the whole run
        kept = "" if self._settled(self.project.settings).store is None else f", run {run.run_id}"
        for scenario in sorted(run.scenarios, key=lambda each: WORST_FIRST.index(each.outcome)):
            held = counted_of(scenario.trials, "conversation")
            outcome = f"{scenario.outcome}, {OPEN}" if scenario.outcome == "inconclusive" else scenario.outcome
            yield "simeval", f"{scenario.title}: {outcome} ({held}{spent}{kept})"
            for expectation in scenario.expectations:
                for verdict in expectation.verdicts:
                    yield f"{scenario.title}: {expectation.label}", _figures(verdict)

    def write_html(self, path: Path) -> None:
        """Write one report of everything evaluated; none if there was nothing. Raises StoreError."""
        found = list({id(each): each for each in self._found.values() if isinstance(each, SuiteResult)}.values())
        if found:
            _joined(found).to_html(path)

    async def _evaluate(self, items: Sequence[pytest.Item]) -> None:
        async with anyio.create_task_group() as evaluating:
            for item in items:
                evaluating.start_soon(self._evaluate_one, item)

    async def _evaluate_one(self, item: pytest.Item) -> None:
        try:
            asked = self._asked(item)
            roles = ROLES if asked.is_cast else MODELS
            with asked.cast.placed(*roles):
                engine = self._engine(asked.cast, asked.settings)
                self._found[item.nodeid] = await engine.evaluate(asked.suite, app_of(asked.app))
        except SimevalError as error:
            self._found[item.nodeid] = error

    def _asked(self, item: pytest.Item) -> _Asked:
        marker = item.get_closest_marker("simeval")
        assert marker is not None
        unknown = ", ".join(sorted(set(marker.kwargs) - {"app"}))
        _require(not unknown, f"it takes no {unknown}")
        _require(marker.args, "no scenario is given")
        base = self.project.settings
        suites = [_suite_of(each, item.path.parent, base) for each in marker.args]
        settings = suites[0].settings
        _require(all(suite.settings == settings for suite in suites), "suite files with different settings")
        cast = suites[0].cast.over(self.project.cast)
        app = marker.kwargs.get("app", cast.app)
        _require(app is not None, "no app is given")
        scenarios = tuple(scenario for suite in suites for scenario in suite)
        return _Asked(
            Suite(scenarios, title=next((each.title for each in suites if each.title), "")).sized(self.samples),
            app,
            "app" not in marker.kwargs,
            cast,
            self._settled(settings),
        )

    def _settled(self, settings: Settings) -> Settings:
        return settings.overridden(self.overrides)

    def _engine(self, cast: Cast, settings: Settings) -> Engine:
        """Return the engine of these settings, so that tests that agree in them share its limits."""
        for known, like, engine in self._engines:
            if known == cast and like == settings:
                return engine
        engine = Engine(list(cast.judge_model) or None, cast.user_model, settings=settings)
        self._engines.append((cast, settings, engine))
        return engine


def _joined(results: Sequence[SuiteResult]) -> SuiteResult:
    """Return the results of several runs as one, for a report of them."""
    runs = [each.run for each in results]
    whole = replace(
        runs[0],
        run_id=", ".join(each.run_id for each in runs),
        app=", ".join(dict.fromkeys(each.app for each in runs)),
        judge_model=", ".join(dict.fromkeys(each.judge_model for each in runs)),
        user_model=", ".join(dict.fromkeys(each.user_model for each in runs)),
        seconds=max(each.seconds for each in runs),
        usage=reduce(merged, (each.usage for each in runs)),
        stopped="; ".join(dict.fromkeys(each.stopped for each in runs if each.stopped)),
    )
    return SuiteResult(tuple(scenario for each in results for scenario in each), whole)


def _suite_of(given: object, folder: Path, base: Settings) -> Suite:
    """Return the scenarios that a marker's argument means: one, several, or a suite file beside the test."""
    if isinstance(given, ScenarioTest):
        return Suite((given,), base)
    if isinstance(given, (str, Path)):
        return load_suite(str(folder / given), base=base)
    if isinstance(given, Sequence) and given and all(isinstance(each, ScenarioTest) for each in given):
        return given if isinstance(given, Suite) else Suite(tuple(given), base)
    raise DefinitionError(MARKED, found=f"{given!r:.80} is no scenario", do=DO)


def _require(condition: object, found: str) -> None:
    if not condition:
        raise DefinitionError(MARKED, found=found, do=DO)


def _figures(verdict: Verdict) -> str:
    """Return a verdict in numbers, as `name=value` parts."""
    low, high = verdict.confidence_interval or (None, None)
    figures = {"n": verdict.n, "estimate": verdict.estimate, "low": low, "high": high, "p": verdict.p_value}
    known = [f"{name}={value:.6g}" for name, value in figures.items() if value is not None]
    return " ".join([verdict.outcome, *known])
