"""Worlds as suite files write them, and probes."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from scenarios.telecom import Telecom
from simeval.core.world import NamedWorld, Unmeasured, made_world, name_of_world, world_record
from simeval.errors import DefinitionError
from simeval.suites.worlds import Probes, read_world
from tests.support.serving import serving
from tests.support.suite_files import load, mistake, suite

STATE = "      state: {line.suspended: false}\n"
RULE = "{type: proportion, min_proportion: 0.9}"


@pytest.fixture
async def address() -> AsyncIterator[str]:
    async def orders(_: web.Request) -> web.Response:
        return web.json_response({"F1001": {"status": "refunded"}})

    async def broken(_: web.Request) -> web.Response:
        return web.Response(status=503, text="down")

    application = web.Application()
    application.router.add_get("/orders", orders)
    application.router.add_get("/broken", broken)
    async with serving(application) as found:
        yield found


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ("scenarios.telecom:Telecom", {}),
        ("{type: 'scenarios.telecom:Telecom', is_suspended: true}", {"is_suspended": True}),
    ],
)
def test_a_world_is_named_with_its_arguments(tmp_path: Path, written: str, arguments: dict[str, object]) -> None:
    (scenario,) = load(tmp_path / "suite.yaml", suite(scenario=f"    world: {written}\n", then=STATE, evaluator=RULE))

    assert scenario.world == NamedWorld("scenarios.telecom:Telecom", Telecom, arguments)
    assert made_world(scenario.world, seed=1) == Telecom(**arguments)  # type: ignore[arg-type]


def test_a_world_may_be_the_default_of_a_file(tmp_path: Path) -> None:
    (scenario,) = load(
        tmp_path / "suite.yaml", suite(top="world: scenarios.telecom:Telecom\n", then=STATE, evaluator=RULE)
    )

    assert scenario.world is not None
    assert name_of_world(scenario.world) == "scenarios.telecom:Telecom"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("", "found a state to be and no world that has one; give the scenario a world"),
        ("    world: scenarios.telecom:Nothing\n", "scenarios.telecom has no 'Nothing'"),
        ("    world: 7\n", "name a class as MODULE:CLASS"),
        ("    world: builtins:dict\n", "give it __aenter__ and __aexit__"),
        ("    world: {type: 'scenarios.telecom:Telecom', plan: basic}\n", "unexpected keyword argument 'plan'"),
        ("    world: probes\n", "world: found 'no probe'"),
        ("    world: {type: probes, orders: {uri: x}}\n", "give each probe {url: ...}"),
        ("    world: {type: probes, orders: {command: no-such-program}}\n", "on the PATH"),
    ],
)
def test_a_world_that_cannot_be_used_is_told_with_its_line(tmp_path: Path, written: str, said: str) -> None:
    assert said in str(mistake(tmp_path / "suite.yaml", suite(scenario=written, then=STATE, evaluator=RULE)))


@pytest.mark.anyio
async def test_probes_give_a_state_and_what_fails_asserts_nothing(address: str) -> None:
    probes = Probes(
        orders={"url": f"{address}/orders"},
        broken={"url": f"{address}/broken"},
        away={"url": "http://127.0.0.1:9/"},
        files={"command": f"{sys.executable} -c 'print([1, 2])'"},
        failing={"command": f"{sys.executable} -c 'raise SystemExit(3)'"},
    )

    async with probes as world:
        record = world_record(await world.state())

    assert record["state"]["orders"] == {"F1001": {"status": "refunded"}}
    assert record["state"]["files"] == [1, 2]
    assert sorted(record["unmeasured"]) == ["away", "broken", "failing"]
    assert record["unmeasured"]["broken"] == "HTTP 503: down"


@pytest.mark.parametrize(
    ("state", "record"),
    [
        ({"a": {"b": Unmeasured("off")}, "c": 1}, {"state": {"a": {"b": None}, "c": 1}, "unmeasured": {"a.b": "off"}}),
        (Unmeasured("off"), {"state": {}, "unmeasured": {"": "off"}}),
        ([1], {"state": {}, "unmeasured": {"": "state() returned list; it must return a mapping"}}),
    ],
)
def test_a_record_says_what_of_a_state_is_not_known(state: object, record: dict[str, object]) -> None:
    assert world_record(state) == record


def test_a_world_is_not_taken_for_another_one() -> None:
    named = [read_world({"type": "scenarios.telecom:Telecom", "bill": bill}) for bill in (1, 2)]

    assert len({name_of_world(each) for each in named}) == 2


def test_a_probe_with_a_variable_that_is_not_set_is_refused() -> None:
    with pytest.raises(DefinitionError, match="SIMEVAL_NOT_SET is not set"):
        Probes(orders={"url": "http://127.0.0.1/${SIMEVAL_NOT_SET}"})


@pytest.mark.anyio
async def test_secrets_that_a_probe_was_given_are_not_in_what_it_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_CODE", "a-long-secret-code")

    state = await Probes(said={"command": "echo {} ${SHOP_CODE}"}).state()

    assert state == {"said": "{} ${SHOP_CODE}"}


@pytest.mark.parametrize(
    ("world", "says"),
    [
        ({"type": "scenarios.telecom:Telecom", "seed": 3}, "each trial gives its own"),
        ({"type": "tests.unit.suites.test_worlds:Needing"}, "plan"),
    ],
)
def test_arguments_that_a_world_cannot_take_or_lacks_are_told_at_once(world: object, says: str) -> None:
    with pytest.raises(DefinitionError, match=says):
        read_world(world)


class Needing(Telecom):
    """A world with an argument that must be given."""

    def __init__(self, plan: str) -> None:
        super().__init__()
        self.plan = plan
