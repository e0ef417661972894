"""What many callers ask of one model is answered in batches: each its own result, or its own error."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Event, Thread
from traceback import extract_tb
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.extras.local import batching
from simeval.extras.local.batching import IN_FLIGHT, Batches, Limits, batches
from tests.support.waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.anyio


@dataclass(slots=True)
class Shouting:
    """Returns texts in capitals. It waits where it is told to, and fails for a text that says so."""

    limits: Limits = field(default_factory=lambda: Limits(items=4, tokens=100, wait_seconds=0.001))
    free: Event = field(default_factory=Event)
    began: Event = field(default_factory=Event)
    ran: list[list[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.free.set()

    def prepare(self, items: Sequence[str]) -> list[str]:
        if "unreadable" in items:
            raise TypeError("unreadable")
        return list(items)

    def run(self, prepared: Sequence[Any]) -> list[str]:
        self.ran.append(list(prepared))
        self.began.set()
        assert self.free.wait(PATIENCE_SECONDS)
        if "poison" in prepared:
            raise RuntimeError("poison")
        return [text.upper() for text in prepared][: 0 if "lost" in prepared else None]


@pytest.fixture
def network() -> Iterator[Shouting]:
    made = Shouting()
    yield made
    made.free.set()


@pytest.fixture
def model(network: Shouting) -> Batches[str, str]:
    return Batches(lambda: network)


async def asked(model: Batches[str, str], texts: Sequence[str]) -> list[str | Exception]:
    """Ask each text in a task of its own, all at once."""
    found: dict[int, str | Exception] = {}

    async def ask(place: int) -> None:
        try:
            found[place] = await model.ask(texts[place])
        except (TypeError, RuntimeError, ValueError) as error:
            found[place] = error

    with anyio.fail_after(PATIENCE_SECONDS):
        async with anyio.create_task_group() as tasks:
            for place in range(len(texts)):
                tasks.start_soon(ask, place)
    return [found[place] for place in range(len(texts))]


async def test_what_waits_while_the_model_is_busy_is_answered_in_batches_of_like_length(
    network: Shouting, model: Batches[str, str]
) -> None:
    texts = [letter * length for length in (1, 5) for letter in "abcd"]
    network.free.clear()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(model.ask, "first")
        await until(network.began.is_set)
        tasks.start_soon(asked, model, texts[::2] + texts[1::2])
        await until(lambda: len(model._waiting) == len(texts))
        network.free.set()

    assert [sorted(batch) for batch in network.ran] == [["first"], texts[4:], texts[:4]]


async def test_each_caller_gets_its_own_result(model: Batches[str, str]) -> None:
    texts = [f"{'x' * (number % 7)}{number}" for number in range(100)]

    assert await asked(model, texts) == [text.upper() for text in texts]


@pytest.mark.parametrize("bad", ["unreadable", "poison"])
async def test_an_item_that_fails_fails_alone(bad: str, model: Batches[str, str]) -> None:
    texts = ["a", "b", bad, "c", "d", "e"]

    found = await asked(model, texts)

    assert str(found[2]) == bad
    assert [each for each in found if isinstance(each, str)] == ["A", "B", "C", "D", "E"]


class Panic(BaseException):
    """As a library in Rust raises it."""


@pytest.mark.parametrize("where", ["prepare", "run"])
@pytest.mark.parametrize("kind", [Panic, SystemExit])
async def test_what_is_no_exception_costs_only_its_own_item(
    where: str, kind: type[BaseException], network: Shouting, model: Batches[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = getattr(Shouting, where)

    def panicking(self: Shouting, items: Sequence[str]) -> Any:
        if "panic" in items:
            raise kind("panicked")
        return whole(self, items)

    monkeypatch.setattr(Shouting, where, panicking)

    found = await asked(model, ["a", "panic", "b"])

    assert [str(each) for each in found] == ["A", f"{kind.__name__}: panicked", "B"]
    assert await asked(model, ["c"]) == ["C"]


async def test_a_window_that_cannot_be_sorted_is_refused_and_the_next_is_answered(
    network: Shouting, model: Batches[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(Shouting, "prepare", lambda _, items: [3 for _ in items])
        found = await asked(model, ["a"])

    assert str(found[0]) == "object of type 'int' has no len()"
    assert await asked(model, ["b"]) == ["B"]


async def test_a_load_that_panics_is_told_to_who_waits() -> None:
    def load() -> Shouting:
        raise Panic("panicked")

    model: Batches[str, str] = Batches(load)

    assert str((await asked(model, ["a"]))[0]) == "Panic: panicked"
    with pytest.raises(RuntimeError, match="Panic: panicked"):
        await model.ready()


async def test_who_waits_for_a_model_takes_no_thread_of_the_pool_and_may_be_cancelled_alone() -> None:
    loading, loads, found = Event(), [], []

    def load() -> Shouting:
        loads.append(threading.get_ident())
        assert loading.wait(PATIENCE_SECONDS)
        return Shouting()

    waited: Batches[str, str] = Batches(load)

    async def wait() -> None:
        found.append(await waited.ready())

    async with anyio.create_task_group() as tasks:
        async with anyio.create_task_group() as impatient:
            for _ in range(100):
                tasks.start_soon(wait)
            impatient.start_soon(wait)
            await until(lambda: len(loads) > 0)
            impatient.cancel_scope.cancel()
        taken = anyio.to_thread.current_default_thread_limiter().borrowed_tokens
        loading.set()

    assert taken == 0
    assert len(loads) == 1
    assert found == [waited.loaded] * 100


async def test_a_remembered_failure_does_not_grow_with_those_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "SLOW_SECONDS", -1.0)

    def load() -> Shouting:
        raise ValueError("the hub does not answer")

    model: Batches[str, str] = Batches(load)
    depths = []
    for _ in range(20):
        try:
            await model.ask("a")
        except ValueError as error:
            depths.append(len(extract_tb(error.__traceback__)))

    assert len(depths) == 20
    assert max(depths[1:]) == min(depths[1:])


async def test_a_model_that_loses_a_result_has_failed(model: Batches[str, str]) -> None:
    (found,) = await asked(model, ["lost"])

    assert str(found) == "the model gave 0 results for 1 items"


async def test_a_cancelled_request_is_not_run_and_the_others_are_answered(
    network: Shouting, model: Batches[str, str]
) -> None:
    network.free.clear()
    found: list[str | Exception] = []

    async with anyio.create_task_group() as others:
        others.start_soon(model.ask, "first")
        await until(network.began.is_set)
        async with anyio.create_task_group() as cancelled:
            cancelled.start_soon(model.ask, "unwanted")
            await until(lambda: len(model._waiting) == 1)
            cancelled.cancel_scope.cancel()
        network.free.set()
        found += await asked(model, ["a", "b"])

    assert found == ["A", "B"]
    assert not any("unwanted" in batch for batch in network.ran)


async def test_a_request_cancelled_in_its_batch_does_not_disturb_that_batch(
    network: Shouting, model: Batches[str, str]
) -> None:
    network.free.clear()
    network.limits = Limits(items=4, wait_seconds=PATIENCE_SECONDS)  # so that all four are one batch
    model.network()
    found: list[str | Exception] = []

    async def others() -> None:
        found.extend(await asked(model, ["a", "b", "c"]))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(others)
        async with anyio.create_task_group() as impatient:
            impatient.start_soon(model.ask, "unwanted")
            await until(network.began.is_set)
            impatient.cancel_scope.cancel()
        network.free.set()

    assert found == ["A", "B", "C"]
    assert "unwanted" in network.ran[0]


async def test_a_list_is_answered_in_its_order(model: Batches[str, str]) -> None:
    texts = ["x" * (number * 37 % 50) for number in range(2 * IN_FLIGHT)]

    assert await model.ask_all(texts) == [text.upper() for text in texts]


async def test_of_a_long_list_only_a_part_is_under_way(network: Shouting, model: Batches[str, str]) -> None:
    network.free.clear()
    taken = 0

    def texts() -> Iterator[str]:
        nonlocal taken
        for _ in range(5 * IN_FLIGHT):
            taken += 1
            yield "x"

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(model.ask_all, texts())
        await until(network.began.is_set)
        under_way = taken
        network.free.set()

    assert under_way <= IN_FLIGHT
    assert taken == 5 * IN_FLIGHT


async def test_a_list_with_an_item_that_fails_raises_that_and_takes_the_rest_back(
    network: Shouting, model: Batches[str, str]
) -> None:
    with pytest.raises(RuntimeError, match="poison"):
        await model.ask_all(["poison" * (number == 0) or "later" for number in range(IN_FLIGHT)])
    ran = len(network.ran)
    await until(lambda: not model._at_work)

    assert len(network.ran) - ran < IN_FLIGHT / network.limits.items


async def test_a_model_is_loaded_once_with_its_first_item_and_not_on_the_event_loop() -> None:
    loading, turns, loads, threads = Event(), 0, 0, set()

    def load() -> Shouting:
        nonlocal loads
        loads += 1
        threads.add(threading.get_ident())
        assert loading.wait(PATIENCE_SECONDS)
        return Shouting()

    model = Batches(load)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(asked, model, ["a", "b", "c"])
        tasks.start_soon(anyio.to_thread.run_sync, model.network)
        await until(lambda: loads > 0)
        for _ in range(10):
            await anyio.lowlevel.checkpoint()
            turns += 1
        loading.set()
    await model.ask("d")

    assert (loads, turns) == (1, 10)
    assert threading.get_ident() not in threads


async def test_who_waits_for_a_model_that_cannot_be_loaded_is_told_and_it_is_tried_again() -> None:
    loads: list[Callable[[], Shouting]] = [Shouting]

    def load() -> Shouting:
        if len(loads) == 1:
            loads.append(Shouting)
            raise ValueError("no such model")
        return loads[0]()

    model = Batches(load)
    found = await asked(model, ["a"])
    again = await model.ask("a")

    assert str(found[0]) == "no such model"
    assert again == "A"


def test_one_model_serves_several_event_loops_at_once(network: Shouting, model: Batches[str, str]) -> None:
    found: list[list[str | Exception]] = []

    def loop() -> None:
        found.append(anyio.run(asked, model, ["a", "poison", "c"] * 4))

    threads = [Thread(target=loop) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)

    assert [[str(each) for each in part] for part in found] == [["A", "poison", "C"] * 4] * 3


def test_a_model_serves_one_event_loop_after_another(model: Batches[str, str]) -> None:
    found = [anyio.run(model.ask, text) for text in ("a", "b")]

    assert found == ["A", "B"]


async def test_an_idle_model_keeps_no_thread(model: Batches[str, str]) -> None:
    await asked(model, ["a", "b"])

    await until(lambda: all(thread.name != "simeval model" for thread in threading.enumerate()))


@given(st.lists(st.text(max_size=40), max_size=60), st.integers(1, 10), st.integers(1, 120))
def test_batches_hold_every_item_once_the_largest_first_and_keep_both_limits(
    texts: list[str], items: int, tokens: int
) -> None:
    limits = Limits(items=items, tokens=tokens)

    found = list(batches(texts, limits, size=len))

    assert sorted(text for batch in found for text in batch) == sorted(texts)
    assert [len(text) for batch in found for text in batch] == sorted(map(len, texts), reverse=True)
    assert all(len(batch) <= items for batch in found)
    assert all(len(batch) == 1 or max(map(len, batch)) * len(batch) <= tokens for batch in found)
