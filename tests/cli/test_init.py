"""What `simeval init` writes for an app, named by an option or by who answers on a terminal."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio.to_thread
import pytest

from simeval.cli.init import write_starter
from simeval.suites.apps.http_app import HttpApp
from simeval.suites.apps.named import app_of
from simeval.suites.files import load_suite
from simeval.suites.planning import plan_suite
from tests.support.command_line import simeval
from tests.support.protocol_apps import AT, address_of
from tests.support.protocol_server import ProtocolServer, protocol_server
from tests.support.suites import Engine
from tests.support.terminals import in_terminal

AGENT = """
class Agent:
    name = "Shop"

Agent.__module__ = "agents.agent"
agent = Agent()
"""


@pytest.fixture
async def server() -> AsyncIterator[ProtocolServer]:
    """A server of every protocol."""
    async with protocol_server() as served:
        yield served


@pytest.mark.anyio
@pytest.mark.parametrize("protocol", AT)
async def test_a_starter_for_an_app_of_any_protocol_runs_with_it(
    protocol: str, server: ProtocolServer, tmp_path: Path
) -> None:
    status = await anyio.to_thread.run_sync(write_starter, tmp_path, address_of(protocol, "good", server))
    starter = tmp_path / "suite.yaml"
    starter.write_text(starter.read_text().replace("# until: {type: done}", "until: $.done"))  # where there is a socket
    suite = load_suite(str(starter))
    results = await Engine(sample_size=1).evaluate([suite[0]], app_of(suite.cast.app))

    assert status == 0
    assert not (tmp_path / "app.py").exists()
    assert len(results[0].conversations[0].responses) > 0
    assert not results[0].failures


def test_a_starter_for_an_agent_names_it_and_imports_nothing(tmp_path: Path) -> None:
    written = simeval(tmp_path, "init", "--app", "shop:agent")
    (tmp_path / "shop.py").write_text(AGENT)
    probed = simeval(tmp_path, "probe", "suite.yaml")

    assert (written.returncode, written.stderr) == (0, "")
    assert written.stdout.splitlines() == [
        "wrote suite.yaml",
        "there is no module shop here yet: write it first",
        "now run: simeval run suite.yaml",
    ]
    assert probed.returncode == 3
    assert "app         openai-agents:Shop" in probed.stdout
    assert "no answer   ModuleNotFoundError: No module named 'agents'" in probed.stdout


def test_an_address_in_the_place_of_a_folder_is_the_app(tmp_path: Path) -> None:
    done = simeval(tmp_path, "init", "http://127.0.0.1:9/chat")

    assert done.returncode == 0
    assert [each.name for each in tmp_path.iterdir()] == ["suite.yaml"]
    assert load_suite(str(tmp_path / "suite.yaml")).cast.app == HttpApp(url="http://127.0.0.1:9/chat")


def test_a_good_app_most_likely_passes_the_starter(tmp_path: Path) -> None:
    write_starter(tmp_path, "http://127.0.0.1:9/chat")
    suite = load_suite(str(tmp_path / "suite.yaml"))

    half_way, good = (plan_suite(list(suite), suite.settings, true_rate=rate).prob_pass for rate in (None, 0.95))

    assert half_way is not None
    assert half_way >= 0.8
    assert good is not None
    assert good >= 0.99


def test_what_can_be_no_app_is_refused_and_nothing_written(tmp_path: Path) -> None:
    done = simeval(tmp_path, "init", "--app", "mcp:http://localhost:8000/mcp")

    assert done.returncode == 2
    assert "write mcp:URL#TOOL" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("number", "wrong", "complaint", "right", "written"),
    [
        (2, "agent", "name it as MODULE:OBJECT", "shop:agent", 'app: "shop:agent"'),
        (3, "localhost:80/chat", "one that begins with http://", "http://localhost/", 'url: "http://localhost/"'),
        (6, "localhost", "write a2a:URL", "http://localhost:9999", 'app: "a2a:http://localhost:9999"'),
        (9, "http://localhost", "one that begins with ws://", "ws://localhost/", 'url: "ws://localhost/"'),
    ],
)
def test_on_a_terminal_it_is_asked_what_the_app_is_until_it_is_known(
    number: int, wrong: str, complaint: str, right: str, written: str, tmp_path: Path
) -> None:
    with in_terminal(tmp_path, "init", rows=40) as session:
        session.until("Its number [1]:")
        session.type(f"{number}\n")
        session.until("Name it, such as ")
        session.type(f"{wrong}\n")
        session.until(complaint)
        session.type(f"{right}\n")
        status = session.ended()

    assert status == 0
    assert written in (tmp_path / "suite.yaml").read_text()
    assert ("simeval try --probe suite.yaml" in session.text) == (number != 2)


def test_on_a_terminal_the_starters_own_function_is_the_default(tmp_path: Path) -> None:
    with in_terminal(tmp_path, "init", rows=40) as session:
        session.until("Its number [1]:")
        session.type("\n")
        status = session.ended()

    assert status == 0
    assert (tmp_path / "app.py").exists()


def test_an_app_of_a_module_beside_is_run_from_here_and_looked_at(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("def handle(message): return 'ok'\n")

    written = simeval(tmp_path, "init", "new", "--app", "shop:handle")
    wrong = simeval(tmp_path, "init", "other", "--app", "shop:handel")
    run = simeval(tmp_path, "run", "new/suite.yaml", "--samples", "1", "--store", "none")

    assert written.stdout.splitlines()[-1] == "now run: simeval run new/suite.yaml"
    assert run.returncode == 1, run.stderr
    assert "did you mean 'handle'?" in wrong.stderr
    assert not (tmp_path / "other").exists()
