"""Trials that are held outside a run's own line, through the executor protocol: they come to what one process does."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

import simeval
from scenarios import telecom
from simeval import Expectation, MeanEvaluator, ProportionEvaluator, ScenarioTest, SuccessRateEvaluator, SuiteResult
from simeval.core.conversation import WORLD
from simeval.core.settings import Settings
from simeval.core.trial import UNNEEDED, Trial, TrialConversation
from simeval.engine.executors import Assignment, Delivery, TrialLost, Workers
from simeval.engine.run_context import RemoteRun
from simeval.errors import DefinitionError
from simeval.extras.cluster.ray_actor import TrialWorker
from simeval.extras.cluster.ray_workers import RayAllowances
from simeval.suites import Check, Step
from simeval.suites.files import load_file
from tests.support.ending_early import findings
from tests.support.stores import SlowJournal

pytestmark = pytest.mark.anyio
TELECOM = load_file(Path(telecom.__file__).with_suffix(".yaml")).scenarios
SCRIPTED = ScenarioTest(
    title="Given and simulated turns in a world",
    given="A customer whose phone shows no mobile data",
    when="The customer wants mobile data to work again.",
    world=telecom.Telecom,
    script=[
        Step(user="No data since this morning."),
        Step(check="Bot says that data was added"),
        Step(check=Check(state={"line.data_left_gb": 2})),
        Step(simulate=1),
    ],
    then=Expectation(state={"line.bill": 4}, evaluator=ProportionEvaluator(min_proportion=0.5)),
    sample_size=12,
)


def words(output: str, seed: int) -> float:
    if crc32(f"{seed}".encode()) % 23 == 0:
        raise ValueError("no such words")
    return 20 + crc32(f"{output}{seed}".encode()) % 60 / 3


def _scenario(number: int) -> ScenarioTest:
    return ScenarioTest(
        title=f"scenario {number}",
        given=f"A user, number {number}",
        when="The user asks what the app can do",
        sample_size=12,
        max_turns=3,
        then=[
            Expectation(
                expected_behavior="Bot tracks orders, starts returns",
                evaluator=SuccessRateEvaluator(min_proportion=(0.5, 0.75)[number % 2]),
            ),
            Expectation(scorer=words, label="words", evaluator=MeanEvaluator(at_least=25, bounds=(0, 100))),
        ],
    )


SUITE = [_scenario(number) for number in range(4)]


async def app(message: str) -> str:
    if crc32(message.encode()) % 10 == 0:
        raise RuntimeError("the app broke")
    return "I can track orders and start returns."


def engine(**options: Any) -> simeval.Engine:
    usual: dict[str, Any] = {
        "store": None,
        "seed": 5,
        "display": "none",
        "early_stopping": False,
        "rubric_folder": None,
    }
    return simeval.Engine(**{**usual, "rubric_folder": None, **options})


def worker_of(resources: Any, suite: Sequence[ScenarioTest], handler: Any, run: Any) -> TrialWorker:
    """Return a worker for a run, whose definition comes to it as text."""
    definition = json.loads(json.dumps(run.definition))
    return TrialWorker.of(resources, suite, handler, run_id=run.run_id, seed=run.seed, definition=definition)


@dataclass(slots=True)
class Crew:
    """A worker with an engine of its own, who loses the trials in the places of `lost`."""

    options: dict[str, Any] = field(default_factory=dict)
    lost: frozenset[tuple[int, int]] = frozenset()
    limits: RayAllowances = field(default_factory=RayAllowances)
    worker: TrialWorker | None = None

    def check(self, settings: Settings) -> None:
        pass

    @asynccontextmanager
    async def open(self, run: RemoteRun) -> AsyncIterator[Workers]:
        resources = engine(**self.options)._engine_resources
        with worker_of(resources, run.suite, run.app_handler, run.record) as self.worker:
            yield self

    async def do(self, assignment: Assignment) -> Delivery:
        trial: Trial = assignment.trial
        if (trial.scenario, trial.index) in self.lost:
            raise TrialLost
        assert self.worker is not None
        return await self.worker.do(assignment)


async def elsewhere(
    suite: Sequence[ScenarioTest], handler: Any, crew: Crew | None = None, **options: Any
) -> SuiteResult:
    """Run a suite whose trials a crew holds."""
    made = engine(**options)
    crew = crew or Crew({**options, "shard": None})
    made._engine_resources = replace(made._engine_resources, elsewhere=crew)
    return await made.evaluate(suite, handler)


def worlds(result: SuiteResult) -> list[Any]:
    """Return what each world was at the end of its trial, and what was done in it."""
    talks = [talk for each in result for talk in each.conversations]
    return [[(said.tool_calls, said.metadata.get(WORLD)) for said in talk.messages] for talk in talks]


@pytest.mark.parametrize("options", [{}, {"early_stopping": True}, {"shard": "2/3"}])
async def test_workers_come_to_what_one_process_comes_to(options: dict[str, Any]) -> None:
    whole = await engine(**options).evaluate(SUITE, app)

    found = await elsewhere(SUITE, app, **options)

    assert [each.verdicts for each in found] == [each.verdicts for each in whole]
    assert [[c.as_chat() for c in each.conversations] for each in found] == [
        [c.as_chat() for c in each.conversations] for each in whole
    ]
    if not options:
        assert findings(found) == findings(whole)
        assert found.run.usage == whole.run.usage
    assert found.run.definition == whole.run.definition


async def test_no_worker_is_asked_before_it_is_kept_that_the_trial_has_begun() -> None:
    journal = SlowJournal()
    unkept: list[Trial] = []

    class Witness(Crew):
        async def do(self, assignment: Assignment) -> Delivery:
            if assignment.trial not in journal.begun:
                unkept.append(assignment.trial)
            return await super().do(assignment)

    found = await elsewhere(SUITE[:1], app, Witness({"shard": None}), store=journal)

    assert found[0].trials == 12
    assert unkept == []


async def test_cases_elsewhere_are_those_that_they_are_here() -> None:
    test = replace(SUITE[0], given="A user of {number}", cases=[{"number": number} for number in range(5)])
    here = await engine().evaluate([test], app)

    found = await elsewhere([test], app)

    assert findings(found) == findings(here)
    assert [each.columns for each in found[0].judgements] == [each.columns for each in here[0].judgements]
    assert {each.columns["inputs"]["number"] for each in found[0].judgements} == {*range(5)}  # type: ignore[index]


@pytest.mark.parametrize("handler", [telecom.helper, telecom.claimer])
async def test_worlds_elsewhere_come_to_what_they_come_to_here(handler: Any) -> None:
    here = await engine().evaluate(TELECOM, handler)

    found = await elsewhere(TELECOM, handler)

    assert (findings(found), worlds(found)) == (findings(here), worlds(here))
    assert found[0].claims == here[0].claims
    assert found.passed is (handler is telecom.helper)


@pytest.mark.parametrize(("handler", "ended"), [(telecom.helper, "script_over"), (telecom.claimer, "check_failed")])
async def test_checks_in_a_world_are_made_elsewhere(handler: Any, ended: str) -> None:
    here = await engine().evaluate([SCRIPTED], handler)

    found = await elsewhere([SCRIPTED], handler)

    assert (findings(found), worlds(found)) == (findings(here), worlds(here))
    assert {each.ended for each in found[0].conversations} == {ended}


async def test_a_trial_whose_worker_is_lost_is_missing_and_no_other() -> None:
    found = await elsewhere(SUITE, app, Crew(lost=frozenset({(0, 3), (1, 0), (1, 7)})))

    lost = [failure for each in found for _, failure in each.failures if failure.cause == "cut_off"]
    assert {failure.error for failure in lost} == {"the worker was lost in this trial"}
    assert [verdict.missing for each in found for verdict in each.verdicts[:1]] == [1, 2, 0, 0]
    assert all(len(each.judgements) == 12 for each in found)


async def test_a_worker_with_another_suite_refuses_the_run() -> None:
    whole = await engine().evaluate(SUITE, app)
    other = [*SUITE[:3], ScenarioTest(title="scenario 3", given="x", when="y", then=SUITE[3].then)]

    with pytest.raises(DefinitionError, match="scenario 'scenario 3': given was"):
        worker_of(engine()._engine_resources, other, app, whole.run)


async def test_a_run_with_others_before_it_in_its_store_is_held_elsewhere(tmp_path: Path) -> None:
    kept = {"store": tmp_path / "runs.db"}
    await elsewhere(SUITE, app, Crew(), **kept)

    again = await elsewhere(SUITE, app, Crew(), **kept)

    assert all(len(each.judgements) == 12 for each in again)


async def test_a_dataset_is_not_run_elsewhere() -> None:
    dataset = simeval.dataset_of([{"inputs": {"question": "hi"}, "outputs": {"answer": "yes"}}], name="d")

    with pytest.raises(DefinitionError, match="executor: found 'ray'; use \"local\""):
        await engine(executor="ray").experiment(dataset, app, scorers=[words])
    with pytest.raises(DefinitionError, match="shard: found 'd'; leave it out"):
        await engine(shard="1/2").experiment(dataset, app, scorers=[words])


async def test_what_is_known_of_one_trial_is_not_measured_again_and_of_the_next_all_is() -> None:
    async def steady(message: str) -> str:
        return "I can track orders and start returns."

    whole = await engine().evaluate(SUITE, steady)
    first, second, *_ = whole[0].judgements
    with worker_of(engine()._engine_resources, SUITE, steady, whole.run) as worker:
        held = TrialConversation(first.trial, first.conversation)
        again = await worker.do(Assignment(trial=first.trial, held=held, known=frozenset({0})))
        fresh = await worker.do(Assignment(trial=second.trial))

    assert again.judgement is not None
    assert fresh.judgement is not None
    assert again.judgement.results == (UNNEEDED, first.results[1])
    assert fresh.judgement.results == second.results
