"""The best of several apps, through the whole engine: who is dropped, what it costs, and how it goes on."""

import logging
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from simeval import Expectation, MeanEvaluator, ScenarioTest, scorer
from simeval.errors import DefinitionError
from tests.support.early_stopping import AT_90, SeededApp, engine, is_good, scenario

pytestmark = pytest.mark.anyio

SUITE = [scenario(title=f"s{number}", sample_size=200) for number in range(2)]


class Named(SeededApp):
    """An app with a name and a quality; its outcomes are its own in a share of trials."""

    def __init__(self, name: str, quality: float, own: float = 0.1) -> None:
        super().__init__(quality)
        self.__qualname__, self.own = name, own
        self.__module__ = "app"

    async def __call__(self, message: str, state: dict[str, Any]) -> str:
        self.started += 1
        draws = Random(message)
        shared, mine = draws.random(), Random(f"{message}{self.__qualname__}")
        return "good" if (mine.random() if mine.random() < self.own else shared) < self.quality else "bad"


def apps(*qualities: float) -> list[Named]:
    return [Named(f"q{place}", quality) for place, quality in enumerate(qualities)]


def shown(found: Any) -> Sequence[tuple[Any, ...]]:
    return [(each.app, each.rounds, each.outdone_by) for each in found.candidates]


@pytest.mark.parametrize("concurrency", [1, 16, 64])
async def test_the_best_is_found_and_the_others_are_asked_no_more(concurrency: int) -> None:
    entrants = apps(0.5, 0.95, 0.7)

    found = await engine(concurrency=concurrency).select(SUITE, entrants)

    assert found.best == "app:q1"
    assert [each.is_left for each in found.candidates] == [False, True, False]
    assert found.candidates[0].outdone_by == "app:q1"
    assert found.conversations < 0.5 * 3 * 400
    assert entrants[0].started < entrants[2].started
    low, high = found.candidates[1].interval
    assert low < 0.95 < high


async def test_it_finds_the_same_however_many_are_in_flight() -> None:
    found = [await engine(concurrency=each).select(SUITE, apps(0.8, 0.9, 0.6)) for each in (1, 7, 64)]

    assert shown(found[0]) == shown(found[1]) == shown(found[2])


async def test_apps_that_are_the_same_cannot_be_told_apart() -> None:
    found = await engine().select([scenario(sample_size=40)], [Named("a", 0.9, own=0), Named("b", 0.9, own=0)])

    assert found.best is None
    assert [each.rounds for each in found.candidates] == [40, 40]
    assert "cannot tell app:a from app:b (80 conversations of 80)" in str(found)


async def test_it_says_what_it_does_and_fits_its_terminal(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with caplog.at_level(logging.INFO, logger="simeval"):
        found = await engine().select(scenario(sample_size=40), [Named("a", 0.9, own=0), Named("b", 0.9, own=0)])
    monkeypatch.setenv("COLUMNS", "50")

    [said] = [each.getMessage() for each in caplog.records if "asked in rounds" in each.getMessage()]
    assert said == (
        "2 apps, asked in rounds, 1 scenario, up to 80 conversations; an app that is proven not to be the best is "
        "dropped"
    )
    assert max(map(len, str(found).splitlines())) <= 50
    assert "intervals: 90% each" in " ".join(found.text().split())


async def test_a_selection_that_was_stopped_goes_on_and_finds_the_same(tmp_path: Path) -> None:
    store, whole = tmp_path / "runs.db", await engine().select(SUITE, apps(0.8, 0.95, 0.6))
    made, entrants = engine(store=store, max_calls=100), apps(0.8, 0.95, 0.6)
    stopped = await made.select(SUITE, entrants)

    resumed = await engine(store=store, resume="last").select(SUITE, entrants)

    assert "max_calls of 100 is reached" in stopped.run.run.stopped
    assert "the run stopped" in str(stopped)
    assert shown(resumed) == shown(whole)
    assert resumed.run.run.run_id == stopped.run.run.run_id


async def test_conversations_are_in_the_run_under_the_names_of_apps() -> None:
    found = await engine().select(SUITE, apps(0.5, 0.95))

    assert [each.title for each in found.run] == ["s0 [app:q0]", "s1 [app:q0]", "s0 [app:q1]", "s1 [app:q1]"]
    seeds = [[judgement.trial.seed for judgement in each.judgements[:10]] for each in found.run]
    assert seeds[0] == seeds[2]
    assert seeds[0] != seeds[1]


async def test_a_crash_of_an_app_counts_against_it() -> None:
    async def crashing(message: str, state: dict[str, Any]) -> str:
        raise RuntimeError("down")

    found = await engine().select([scenario()], [Named("q", 0.8), crashing])

    assert found.best == "app:q"


async def test_a_mean_that_cannot_be_measured_does_not_count() -> None:
    @scorer
    def unmeasured(output: str) -> float:
        raise ValueError(output)

    mean = Expectation(scorer=unmeasured, evaluator=MeanEvaluator(at_least=0.5), label="mean")
    share = Expectation(scorer=is_good, evaluator=AT_90, label="share")

    alone, beside = [await engine().select([scenario(*then)], apps(0.3, 0.95)) for then in ([share], [share, mean])]

    assert shown(beside) == shown(alone)
    assert (beside.best, [each.share for each in beside.candidates]) == (
        "app:q1",
        [each.share for each in alone.candidates],
    )


async def test_scores_that_are_lost_end_it_for_all_and_nobody_is_called_the_best() -> None:
    @scorer
    def broken(output: str) -> bool:
        raise ValueError("no connection")

    entrants = apps(0.95, 0.4)
    suite = [scenario(title="sound", sample_size=200), scenario(Expectation(scorer=broken, evaluator=AT_90))]

    found = await engine(concurrency=4).select(suite, entrants)

    assert (found.best, [each.is_left for each in found.candidates]) == (None, [True, True])
    assert [each.outcome for each in found.run if each.title.startswith("s [")] == ["error", "error"]
    assert sum(each.started for each in entrants) < 60
    assert "it ended early: s [app:q0]: " in str(found)
    assert "no connection" in found.unmeasured


async def test_what_cannot_be_selected_from_is_refused_before_an_app_is_asked(tmp_path: Path) -> None:
    one, other = apps(0.9, 0.9)
    mean: ScenarioTest = scenario(Expectation(scorer=is_good, evaluator=MeanEvaluator(at_least=0.5, bounds=(0, 1))))

    with pytest.raises(DefinitionError, match="two or more"):
        await engine().select(SUITE, [one])
    with pytest.raises(DefinitionError, match="a name of its own"):
        await engine().select(SUITE, [one, one])
    with pytest.raises(DefinitionError, match="select: shard: found '1/2'; leave it out"):
        await engine(shard="1/2").select(SUITE, [one, other])
    with pytest.raises(DefinitionError, match="select: executor: found 'ray'; leave it out"):
        await engine(executor="ray", store=tmp_path / "runs.db").select(SUITE, [one, other])
    with pytest.raises(DefinitionError, match="yes or no"):
        await engine().select([mean], [one, other])
    assert one.started == other.started == 0


async def test_one_that_never_answered_is_told_from_one_that_is_worse() -> None:
    async def down(message: str, state: dict[str, Any]) -> str:
        raise ConnectionError("nobody is there")

    found = await engine().select(SUITE, [*apps(0.95, 0.4), down])

    assert [each.has_answered for each in found.candidates] == [True, True, False]
    assert str(found).count("never answered") == 1
