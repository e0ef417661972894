"""Shards of a suite, merged, come to what one process comes to."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

import simeval
from simeval import (
    AppResponse,
    Expectation,
    MeanEvaluator,
    ProportionEvaluator,
    QuantileEvaluator,
    RatingAverageEvaluator,
    ScenarioTest,
    SuccessRateEvaluator,
    SuiteResult,
)
from simeval.analysis.merging import merge
from simeval.errors import DefinitionError
from simeval.results.encoding import encode_document
from simeval.results.junit import junit_xml
from simeval.store.database import Database
from simeval.store.runs import Runs
from tests.support.stores import run_sql

pytestmark = pytest.mark.anyio
OF_THE_MOMENT = {"started", "seconds", "run_id", "usage", "notes", "extras"}
ALSO_UNNEEDED = {"scores", "reliability", "worst"}  # they hold what came after an expectation was settled, too


def words(output: str, seed: int) -> int:
    """Measure something that differs from trial to trial."""
    if crc32(f"{seed}".encode()) % 17 == 0:
        raise ValueError("no such words")
    return 20 + crc32(f"{output}{seed}".encode()) % 60


def _scenario(number: int) -> ScenarioTest:
    has_cases = number % 3 == 1
    return ScenarioTest(
        title=f"scenario {number}",
        given=f"A user, number {number}" + ", in {city}" * has_cases,
        cases=[{"city": "Rome"}, {"city": "Oslo"}] * has_cases or (),
        when="The user asks what the app can do",
        sample_size=10 + 5 * (number % 4),
        max_turns=3,
        then=[
            Expectation(
                expected_behavior="Bot tracks orders, starts returns",
                evaluator=[
                    SuccessRateEvaluator(min_proportion=(0.5, 0.75, 0.9)[number % 3]),
                    RatingAverageEvaluator(min_median_rating=5),
                ],
            ),
            Expectation(scorer=words, label="words", evaluator=_OTHERS[number % len(_OTHERS)]),
        ],
    )


_OTHERS = [
    MeanEvaluator(at_least=30, bounds=(0, 100)),
    QuantileEvaluator(0.3, at_least=30),
    ProportionEvaluator(25, min_proportion=0.5),
]
SUITE = [_scenario(number) for number in range(8)]


async def app(message: str) -> AppResponse:
    if crc32(message.encode()) % 10 == 0:
        raise RuntimeError("the app broke")
    return AppResponse("I can track orders and start returns.")


def engine(store: Path | None, **options: Any) -> simeval.Engine:
    return simeval.Engine(store=store, seed=5, display="none", **options)


async def run_shards(folder: Path, of: int, **options: Any) -> list[Path]:
    """Run every shard into a store of its own."""
    stores = [folder / f"shard-{number}.db" for number in range(1, of + 1)]
    for number, store in enumerate(stores, 1):
        await engine(store, shard=f"{number}/{of}", **options).evaluate(SUITE, app)
    return stores


def merged(stores: Sequence[Path], into: Path, *, allow_missing: bool = False) -> SuiteResult:
    databases = [Database(store) for store in stores]
    target = Database(into)
    try:
        found = [(each, Runs(each).find("last")) for each in databases]
        return merge(found, target, allow_missing=allow_missing)
    finally:
        for each in (*databases, target):
            each.close()


def document(store: Path) -> Mapping[str, Any]:
    database = Database(store)
    try:
        runs = Runs(database)
        return encode_document(runs.document(runs.find("last")))
    finally:
        database.close()


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: timeless(inner) for name, inner in value.items() if name not in OF_THE_MOMENT | ALSO_UNNEEDED}
    return [timeless(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("options", [{}, {"joint": True}, {"gate": "not_fail"}, {"on_app_error": "exclude"}])
async def test_merged_shards_are_what_one_process_finds(tmp_path: Path, options: Mapping[str, Any]) -> None:
    whole = await engine(tmp_path / "whole.db", **options).evaluate(SUITE, app)
    stores = await run_shards(tmp_path, 3, **options)

    found = merged(stores, tmp_path / "merged.db")

    assert found.outcome == whole.outcome
    assert found.guarantee == whole.guarantee
    assert timeless(document(tmp_path / "merged.db")) == timeless(document(tmp_path / "whole.db"))
    assert found.run.definition == whole.run.definition
    assert [each.verdicts for each in found] == [each.verdicts for each in whole]


async def test_the_report_and_junit_of_merged_shards_say_what_those_of_one_process_say(tmp_path: Path) -> None:
    whole = await engine(tmp_path / "whole.db").evaluate(SUITE, app)

    found = merged(await run_shards(tmp_path, 3), tmp_path / "merged.db")

    assert _told(str(found)) == _told(str(whole))
    assert _cases(found) == _cases(whole)


def _told(report: str) -> list[str]:
    """Return the report without its notes, which name shards, and what it says of calls, seconds and the run."""
    return report[: report.index("\nnote: ")].splitlines()


def _cases(result: SuiteResult) -> list[str]:
    """Return the test cases without their times."""
    return [
        re.sub(' time="[^"]*"', "", line)
        for line in junit_xml(result.results, result.run).splitlines()
        if "<testcase" in line
    ]


async def test_a_merged_run_is_resumed_as_one_of_one_process(tmp_path: Path) -> None:
    found = merged(await run_shards(tmp_path, 2), tmp_path / "merged.db")

    again = await engine(tmp_path / "merged.db", resume="last").evaluate(SUITE, app)

    assert again.run.run_id == found.run.run_id
    assert [each.verdicts for each in again] == [each.verdicts for each in found]
    assert not again.run.stopped


async def test_a_missing_shard_is_refused_unless_that_is_allowed(tmp_path: Path) -> None:
    stores = await run_shards(tmp_path, 3)

    with pytest.raises(DefinitionError, match="merge: shard 2/3 is missing; give their runs too, or merge without"):
        merged([stores[0], stores[2]], tmp_path / "merged.db")
    found = merged([stores[0], stores[2]], tmp_path / "merged.db", allow_missing=True)

    assert len(found) == len(SUITE)
    assert not found.passed
    assert found.run.stopped == "shard 2/3 is missing"


async def test_one_shard_twice_is_refused(tmp_path: Path) -> None:
    stores = await run_shards(tmp_path, 2)

    with pytest.raises(DefinitionError, match="2 runs are shard 1/2"):
        merged([stores[0], stores[0], stores[1]], tmp_path / "merged.db")


async def test_shards_of_other_seeds_are_refused(tmp_path: Path) -> None:
    await engine(tmp_path / "a.db", shard="1/2").evaluate(SUITE, app)
    other = simeval.Engine(store=tmp_path / "b.db", seed=6, display="none", shard="2/2")
    await other.evaluate(SUITE, app)

    with pytest.raises(DefinitionError, match="are shards of different runs \\(with the seeds 5 and 6\\)"):
        merged([tmp_path / "a.db", tmp_path / "b.db"], tmp_path / "merged.db")


async def test_a_run_that_is_no_shard_is_refused(tmp_path: Path) -> None:
    await engine(tmp_path / "a.db").evaluate(SUITE[:1], app)

    with pytest.raises(DefinitionError, match="is no shard; give runs of --shard"):
        merged([tmp_path / "a.db"], tmp_path / "merged.db")


async def test_a_shard_needs_a_seed_that_all_share(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="each shard would draw a seed of its own; give all shards the same seed"):
        await simeval.Engine(store=None, shard="1/2").evaluate(SUITE, app)


async def test_more_shards_than_scenarios_are_refused() -> None:
    with pytest.raises(DefinitionError, match="shard: found 9 shards for 8 scenarios"):
        await engine(None, shard="1/9").evaluate(SUITE, app)


async def test_a_stopped_shard_makes_a_stopped_merge(tmp_path: Path) -> None:
    await engine(tmp_path / "a.db", shard="1/2").evaluate(SUITE, app)
    await engine(tmp_path / "b.db", shard="2/2", max_seconds=1e-9).evaluate(SUITE, app)

    found = merged([tmp_path / "a.db", tmp_path / "b.db"], tmp_path / "merged.db")

    assert found.run.stopped.startswith("shard 2/2: max_seconds of 1e-09 is reached")


class OwnMean(MeanEvaluator):
    """An evaluator of the user's own."""


async def test_evaluators_of_ones_own_are_found_again(tmp_path: Path) -> None:
    suite = [
        ScenarioTest(
            title=title,
            given="A user",
            when="The user asks",
            sample_size=5,
            then=Expectation(scorer=words, evaluator=OwnMean(at_least=30, bounds=(0, 100))),
        )
        for title in "ab"
    ]
    for number in (1, 2):
        await engine(tmp_path / f"{number}.db", shard=f"{number}/2").evaluate(suite, app)

    found = merged([tmp_path / "1.db", tmp_path / "2.db"], tmp_path / "merged.db")

    assert {type(each).__name__ for result in found for one in result.expectations for each in one.evaluators} == {
        "OwnMean"
    }


async def test_an_evaluator_that_this_version_does_not_have_is_named(tmp_path: Path) -> None:
    stores = await run_shards(tmp_path, of=2)
    database = Database(stores[1])
    run_sql(database, "UPDATE runs SET definition = replace(definition, 'SuccessRateEvaluator', 'FutureEvaluator')")
    database.close()

    with pytest.raises(
        DefinitionError, match="evaluator: there is none named 'FutureEvaluator'; merge with the version"
    ):
        merged(stores, tmp_path / "merged.db")
