"""A run held against another one, through the whole engine: its pairs, where it ends, and how it goes on."""

import re
from collections.abc import Callable, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import anyio
import pytest

from simeval import Engine, Expectation, ProportionEvaluator, ScenarioTest, SuiteResult, compare
from simeval.analysis import against, merge
from simeval.errors import DefinitionError
from simeval.results.encoding import encode_document
from simeval.results.suite import encode_suite
from simeval.scorers.base import as_scorer
from simeval.store.database import Database
from simeval.store.runs import Runs
from tests.support.early_stopping import SeededApp, engine, is_good, is_said, scenario

pytestmark = pytest.mark.anyio

SUITE = [scenario(title=f"s{number}") for number in range(3)]
BASELINES: dict[float, SuiteResult] = {}


async def baseline(quality: float = 0.9) -> SuiteResult:
    """Return what an app came to on whole samples, of one run for all tests."""
    if quality not in BASELINES:
        BASELINES[quality] = await engine(early_stopping=False).evaluate(SUITE, SeededApp(quality))
    return BASELINES[quality]


class Worse(SeededApp):
    """Fails where the app of this quality does, and in some of the other trials, too."""

    def __init__(self, quality: float, loss: float) -> None:
        super().__init__(quality)
        self.loss = loss

    async def __call__(self, message: str, state: dict[str, Any]) -> str:
        answer = await super().__call__(message, state)
        return "bad" if Random(f"{message}!").random() < self.loss else answer


def ends(result: SuiteResult) -> list[tuple[str, int]]:
    return [(each.outcome, each.verdicts[0].n) for each in result]


@pytest.mark.parametrize("concurrency", [1, 16, 64])
async def test_the_same_app_passes_by_one_conversation_for_each_pair(concurrency: int) -> None:
    before, app = await baseline(), SeededApp(0.9)

    result = await engine(concurrency=concurrency).evaluate(against(SUITE, before), app)

    assert ends(result) == [("pass", 75)] * 3
    assert app.started == sum(each.trials for each in result) == 225
    assert {each.verdicts[0].against for each in result} == {before.run.run_id}


async def test_a_worse_app_fails_after_few_pairs_the_same_at_any_concurrency() -> None:
    before, found = await baseline(), []

    for concurrency in (1, 7, 64):
        made = engine(concurrency=concurrency)
        found.append(await made.evaluate(against(SUITE, before), Worse(0.9, 0.3)))

    assert found[0].outcome == "fail"
    assert ends(found[0]) == ends(found[1]) == ends(found[2])
    assert max(trials for _, trials in ends(found[0])) <= 50


@pytest.mark.parametrize("concurrency", [1, 16, 64])
async def test_where_neither_can_be_proven_from_the_start_it_ends_at_the_first_look(concurrency: int) -> None:
    suite, app = [scenario(sample_size=40)], SeededApp(0.9)
    before = await engine(early_stopping=False, max_calls=10).evaluate(suite, SeededApp(0.9))

    result = await engine(concurrency=concurrency).evaluate(against(suite, before), app)

    assert before[0].verdicts[0].missing >= 30
    assert (ends(result), app.started) == ([("inconclusive", 5)], 5)


async def test_it_finds_what_a_comparison_of_whole_samples_does() -> None:
    before = await baseline()
    app = Worse(0.9, 0.3)

    now = await engine(early_stopping=False).evaluate(against(SUITE, before), app)
    whole = compare(before, await engine(early_stopping=False).evaluate(SUITE, app))

    for result, change in zip(now, whole.changes, strict=True):
        assert result.verdicts[0].estimate == pytest.approx(change.difference)
        assert result.verdicts[0].failed == (change.finding == "worse")


@pytest.mark.parametrize("turn", [1, 20, 90])
async def test_a_resumed_run_concludes_as_an_uninterrupted_one_would(tmp_path: Path, turn: int) -> None:
    before, store = await baseline(), tmp_path / "runs.db"
    suite = against(SUITE, before)
    whole = await engine().evaluate(suite, Worse(0.9, 0.1))
    app = Worse(0.9, 0.1)
    made = engine(store=store)

    async def stopping(message: str, state: dict[str, Any]) -> str:
        if app.started == turn:
            made.stop()
        return await app(message, state)

    stopped = await made.evaluate(suite, stopping)
    resumed = await engine(store=store, resume="last", accept_changes=True).evaluate(suite, Worse(0.9, 0.1))

    assert stopped.run.stopped
    assert ends(resumed) == ends(whole)
    assert [each.verdicts for each in resumed] == [each.verdicts for each in whole]


async def test_another_run_to_be_held_against_is_a_change_of_the_definition(tmp_path: Path) -> None:
    before, other = await baseline(), await baseline(0.5)
    store = tmp_path / "runs.db"
    await engine(store=store).evaluate(against(SUITE, before), SeededApp(0.9))

    with pytest.raises(DefinitionError, match=before.run.run_id):
        await engine(store=store, resume="last").evaluate(against(SUITE, other), SeededApp(0.9))


async def test_each_requirement_ends_at_its_own_pair() -> None:
    test = scenario(
        Expectation(scorer=is_good, evaluator=ProportionEvaluator(min_proportion=0.5), label="good"),
        Expectation(scorer=is_said, evaluator=ProportionEvaluator(min_proportion=0.5), label="said"),
    )
    before = await engine(early_stopping=False).evaluate(test, SeededApp(0.9))

    [result] = await engine(stop="verdict").evaluate(against([test], before), Worse(0.9, 0.3))

    good, said = result.verdicts
    assert (good.outcome, said.outcome) == ("fail", "pass")
    assert good.n < said.n == result.trials


async def test_another_seed_is_refused_before_the_app_is_asked() -> None:
    suite, app = against(SUITE, await baseline()), SeededApp(0.9)

    with pytest.raises(DefinitionError, match="its seed is 3, not 4"):
        await engine(seed=4).evaluate(suite, app)
    assert app.started == 0


async def test_other_models_and_what_is_missing_are_named_in_the_run() -> None:
    short: list[ScenarioTest] = [scenario(title="s0", sample_size=40)]
    before = await engine(early_stopping=False).evaluate(short, SeededApp(0.9))
    document = encode_suite(before.results, before.run, version="1")
    document["models"]["user"] = "another/user"

    result = await engine().evaluate(against([scenario(title="s0")], document), SeededApp(0.9))

    notes = " ".join(result.run.notes)
    assert "not the app alone has changed: user was 'another/user' and is 'scripted/" in notes
    assert "has 40 of 100 trials, so there are at most 40 pairs" in notes
    assert "cannot be proven" not in notes  # its verdict says it
    assert result[0].expectations[0].verdicts[0].why.startswith("40 pairs cannot")
    assert result[0].trials <= 40


def held_otherwise(path: tuple[str | int, ...], value: object) -> Callable[[dict[str, Any]], None]:
    """Return what changes a result in one place."""

    def change(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (held_otherwise(("models", "judge"), "another/judge"), "judge was 'another/judge' and is 'offline/judge'"),
        (held_otherwise(("conditions", "scenarios", 0, "then", 0, "rubric"), {"1": "bad"}), "rubric is gone"),
        (held_otherwise(("conditions", "scenarios", 0, "then", 0, "scorer"), "another"), "scorer was 'another'"),
    ],
)
async def test_a_run_that_was_measured_otherwise_is_refused_before_the_app_is_asked(
    change: Callable[[dict[str, Any]], None], said: str
) -> None:
    before, app = await baseline(), SeededApp(0.9)
    document = deepcopy(encode_suite(before.results, before.run, version="1"))
    change(document)

    with pytest.raises(DefinitionError, match=f"it was measured otherwise: .*{said}"):
        await engine().evaluate(against(SUITE, document), app)
    assert app.started == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (held_otherwise(("conditions", "prompts", "judge"), "7"), "prompts: judge was '7'"),
        (held_otherwise(("conditions", "judge repeats"), 3), "judge repeats was 3 and is 1"),
        (held_otherwise(("conditions", "scenarios", 0, "users"), [["Ann", "kind", 1.0, {}]]), "scenario 's0': users"),
        (held_otherwise(("conditions", "scenarios", 0, "max_turns"), 3), "scenario 's0': max_turns was 3"),
    ],
)
async def test_what_else_has_changed_is_named_in_one_line(change: Callable[[dict[str, Any]], None], said: str) -> None:
    before = await baseline()
    document = deepcopy(encode_suite(before.results, before.run, version="1"))
    change(document)

    result = await engine().evaluate(against(SUITE, document), SeededApp(0.9))

    [note] = [note for note in result.run.notes if "not the app alone has changed" in note]
    assert said in note


async def test_of_an_older_result_that_did_not_keep_its_users_it_is_said_that_they_are_not_known() -> None:
    before = await baseline()
    document = deepcopy(encode_suite(before.results, before.run, version="1"))
    del document["conditions"]

    result = await engine().evaluate(against(SUITE, document), SeededApp(0.9))

    said = f"run {before.run.run_id} was made by an older simeval, which did not keep its users, scripts, worlds"
    assert said in " ".join(result.run.notes)


async def test_where_nothing_has_changed_but_the_app_and_the_sizes_nothing_is_said() -> None:
    before = await baseline()

    result = await engine(gate="not_fail").evaluate(against(SUITE[:2], before), SeededApp(0.5))

    notes = " ".join(result.run.notes)
    assert not [said for said in ("not the app alone", "did not keep") if said in notes]


async def test_a_run_can_be_held_against_one_that_was_held_against_another() -> None:
    first = await engine().evaluate(against(SUITE, await baseline()), SeededApp(0.9))

    second = against(SUITE, first)

    assert [each.title for each in second] == ["s0", "s1", "s2"]


@dataclass(frozen=True)
class OwnShare(ProportionEvaluator):
    """A requirement of somebody's own."""


@pytest.mark.parametrize("rule", [ProportionEvaluator, OwnShare])
async def test_merged_shards_are_what_one_process_finds(tmp_path: Path, rule: type[ProportionEvaluator]) -> None:
    then = Expectation(scorer=is_good, evaluator=rule(min_proportion=0.9))
    tests = [scenario(then, title=f"s{number}") for number in range(3)]
    before = await engine(early_stopping=False).evaluate(tests, SeededApp(0.9))
    suite = against(tests, before)
    whole = await engine().evaluate(suite, Worse(0.9, 0.1))
    stores = [Database(tmp_path / f"{number}.db") for number in (1, 2, 0)]
    try:
        for number in (1, 2):
            await engine(store=tmp_path / f"{number}.db", shard=f"{number}/2").evaluate(suite, Worse(0.9, 0.1))
        found = merge([(each, Runs(each).find("last")) for each in stores[:2]], stores[2])
    finally:
        for each in stores:
            each.close()

    assert ends(found) == ends(whole)
    assert found.run.definition == {**whole.run.definition, "seed": found.run.seed}


async def test_the_run_of_the_other_app_is_named_where_it_is_kept(tmp_path: Path) -> None:
    suite = against([scenario(sample_size=20)], SeededApp(0.9))

    kept = await engine(store=tmp_path / "runs.db").evaluate(suite, SeededApp(0.9))
    gone = await engine().evaluate(suite, SeededApp(0.9))

    assert [" has them" in " ".join(each.run.notes) for each in (kept, gone)] == [True, False]
    assert all("was asked in the same trials" in " ".join(each.run.notes) for each in (kept, gone))


GOOD, SAID = as_scorer(is_good), as_scorer(is_said)
HALF = [scenario(Expectation(scorer=is_good, evaluator=ProportionEvaluator(min_proportion=0.5)), title="s0")]


class Ending(SeededApp):
    """Ends the run at once in a turn, and answers well in half of the others."""

    def __init__(self, made: Engine, turn: int) -> None:
        super().__init__(0.5)
        self.made, self.turn = made, turn

    async def __call__(self, message: str, state: dict[str, Any]) -> str:
        if self.started == self.turn:
            self.made.end()
            await anyio.sleep_forever()
        return await super().__call__(message, state)


async def cut_and_resumed(store: Path, suite: Sequence[ScenarioTest], turn: int, **options: Any) -> SuiteResult:
    """Return a run that was ended at once in the middle of a trial, with others under way, and gone on with."""
    made = engine(store=store, concurrency=4, **options)
    ended = await made.evaluate(suite, Ending(made, turn))
    assert ended.run.stopped
    return await engine(store=store, resume="last", **options).evaluate(suite, Ending(made, -1))


def cut_in(result: SuiteResult) -> int:
    """Return the trial that a run was cut off in."""
    [index] = [index for index, failure in result[0].failures if failure.is_cut]
    return index


def differing(result: SuiteResult) -> int:
    """Count the pairs that ended differently, of the same app: none that are pairs do."""
    [(worse, better)] = re.findall(r"pairs (\d+) got worse and (\d+) better", result[0].verdicts[0].explanation)
    return int(worse) + int(better)


async def test_a_run_that_was_cut_off_gives_pairs_by_its_seeds_but_for_the_trial_that_is_missing(
    tmp_path: Path,
) -> None:
    before = await cut_and_resumed(tmp_path / "runs.db", HALF, 30, early_stopping=False)

    now = await engine().evaluate(against(HALF, before), SeededApp(0.5))
    again = await engine().evaluate(against(HALF, now), SeededApp(0.5))

    assert cut_in(before) < 40
    assert [(each.outcome, each[0].verdicts[0].missing, differing(each)) for each in (now, again)] == [
        ("pass", 1, 0),
        ("pass", 0, 0),
    ]


@pytest.mark.parametrize("early_stopping", [True, False])
async def test_trials_dealt_anew_in_a_run_that_was_cut_off_itself_are_no_pairs(
    tmp_path: Path, early_stopping: bool
) -> None:
    before = await engine(early_stopping=False).evaluate(HALF, SeededApp(0.5))
    options: dict[str, Any] = {"early_stopping": early_stopping}

    now = await cut_and_resumed(tmp_path / "runs.db", against(HALF, before), 30, **options)

    assert (now.outcome, differing(now)) == ("inconclusive", 0)
    assert now[0].verdicts[0].missing == now[0].trials - cut_in(now)
    assert f"the other side of {100 - cut_in(now) - 1} trials is missing" in " ".join(now.run.notes)


async def test_by_betting_trials_with_other_seeds_are_pairs_too(tmp_path: Path) -> None:
    before = await engine(early_stopping=False).evaluate(HALF, SeededApp(0.5))

    now = await cut_and_resumed(tmp_path / "runs.db", against(HALF, before), 30, early_stopping="anytime")

    assert now[0].verdicts[0].missing == 1
    assert differing(now) > 0
    assert "the other side of" not in " ".join(now.run.notes)


async def test_of_an_older_result_that_does_not_say_its_seeds_what_came_after_a_cut_is_missing(tmp_path: Path) -> None:
    before = await cut_and_resumed(tmp_path / "runs.db", HALF, 30, early_stopping=False)
    document = encode_suite(before.results, before.run, version="1")
    for trial in document["scenarios"][0]["conversations"]:
        del trial["seed"]

    now = await engine().evaluate(against(HALF, document), SeededApp(0.5))

    assert differing(now) == 0
    assert now[0].verdicts[0].missing == now[0].trials - cut_in(before)


async def test_the_seeds_of_trials_are_the_same_in_the_result_and_in_what_the_store_gives(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    result = await engine(store=store).evaluate(HALF, SeededApp(0.5))

    with closing(Database(store)) as database:
        kept = encode_document(Runs(database).document(result.run.run_id))
    documents = [kept, encode_suite(result.results, result.run, version="1")]

    seeds = [[each["seed"] for each in document["scenarios"][0]["conversations"]] for document in documents]
    assert seeds[0] == seeds[1] == [str(each.trial.seed) for each in result[0].judgements]


@pytest.mark.parametrize("concurrency", [1, 4, 64])
async def test_a_requirement_that_nothing_can_be_proven_of_any_more_leaves_the_others_their_trials(
    concurrency: int,
) -> None:
    rule = ProportionEvaluator(min_proportion=0.5)
    whole = scenario(*(Expectation(scorer=each, evaluator=rule, label=each.name) for each in (GOOD, SAID)))
    before = await engine(early_stopping=False).evaluate([whole], SeededApp(0.9))
    document = encode_suite(before.results, before.run, version="1")
    lost = ("scenarios", 0, "expectations", 0, "verdicts", 0, "chart", "met")
    held_otherwise(lost, [True] * 4 + [None] * 96)(document)

    with anyio.fail_after(60):
        made = engine(stop="verdict", min_trials=10, concurrency=concurrency)
        [found] = await made.evaluate(against([whole], document), SeededApp(0.2))

    good, said = found.verdicts
    assert (good.outcome, good.n) == ("inconclusive", 10)
    assert (said.outcome, said.n, said.missing) == ("pass", 75, 0)
