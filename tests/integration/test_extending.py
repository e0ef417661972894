"""What an importer, a provider, a command or a part of a run takes: a module, and a row of one list."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from simeval import Conversation, Engine, Expectation, Message, ScenarioTest, SuccessRateEvaluator
from simeval.datasets import Example, Unreadable, import_log
from simeval.errors import DefinitionError
from simeval.models import Completion, Model, Request

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[2]
LOG = "acme|user|Where is my order?\nacme|assistant|On its way.\nwhat is this\n"
SCENARIO = ScenarioTest(
    title="Bot greets",
    given="A user",
    when="They say hello",
    sample_size=5,
    max_turns=1,
    then=Expectation(expected_behavior="Bot greets back", evaluator=SuccessRateEvaluator(min_proportion=0.5)),
)

IMPORTER = '''"""Logs of Acme: a line for each message, `acme|user|text`."""

from collections.abc import Iterator
from pathlib import Path

from simeval.datasets.dataset import Example
from simeval.datasets.conversations import example_of
from simeval.datasets.messages import Turn
from simeval.datasets.records import Opening, Unreadable, read_text

NAME = "acme"


def looks_like(opening: Opening) -> bool:
    """Return whether the first line is of Acme."""
    return opening.head.startswith(b"acme|")


def read(path: Path) -> Iterator[Example | Unreadable]:
    """Return the conversation."""
    lines = [line.split("|") for line in read_text(path).splitlines()]
    yield example_of([Turn(role="user" if line[1] == "user" else "assistant", text=line[2]) for line in lines])
'''
PROVIDER = '''"""Models of Acme, which always say the same."""

from dataclasses import dataclass

from simeval.models.protocol.model import Completion, Request


@dataclass(frozen=True, slots=True)
class AcmeModel:
    """A model of Acme."""

    name: str

    async def complete(self, request: Request) -> Completion:
        """Say the same."""
        return Completion(text=f"{self.name} hears {len(request.messages())} messages")

    async def close(self) -> None:
        """Nothing is open."""
'''
COMMAND = '''"""The command `simeval greet`."""

import click


@click.command()
@click.argument("name")
def greet(name: str) -> None:
    """Greet somebody."""
    click.echo(f"Hello, {name}")
'''
PART = '''"""A line of Acme in the record of a run."""

from collections.abc import Sequence

from simeval.engine.parts import RunPart


class AcmePart(RunPart):
    """Says that Acme was there."""

    def notes(self) -> Sequence[str]:
        """Return its line."""
        return ["Acme was there"]
'''
NOTED = """
import anyio
from simeval import Engine, Expectation, ProportionEvaluator, ScenarioTest
from simeval.scorers import turn_count

then = Expectation(scorer=turn_count, evaluator=ProportionEvaluator(1, 0.5, at_least=True))
scenario = ScenarioTest(title="t", given="A user", when="They say hello", then=then, sample_size=5, max_turns=1)
result = anyio.run(Engine(store=None, display="none").evaluate, scenario, lambda message: "Hi")
print("Acme was there" in result.run.notes)
"""
CHAT = """
import anyio
from simeval import Engine, Expectation, ProportionEvaluator, ScenarioTest
from simeval.scorers import turn_count

then = Expectation(scorer=turn_count, evaluator=ProportionEvaluator(1, 0.5, at_least=True))
scenario = ScenarioTest(title="t", given="A user", when="They say hello", then=then, sample_size=5, max_turns=1)
engine = Engine(store=None, display="none")
result = anyio.run(engine.evaluate, scenario, "acme/large")
print(result.conversations[0].output)
"""


class AcmeLog:
    """A reader of the user's own."""

    NAME = "acme"

    def read(self, path: Path) -> Iterator[Example | Unreadable]:
        messages = []
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line.startswith("acme|"):
                _, role, text = line.split("|")
                messages.append(Message(role="user" if role == "user" else "assistant", content=text))
            else:
                yield Unreadable(f"line {number}", "it is not Acme's")
        yield Example(conversation=Conversation(messages=tuple(messages), ended="recorded"))


class AcmeModel:
    """A model of the user's own."""

    name = "acme/large"

    async def complete(self, request: Request) -> Completion:
        answers = {
            "user": '{"status": "satisfied", "message": "Hello"}',
            "judge": '{"reasoning": "fine", "score": 9}',
            "control": '{"reasoning": "it evades", "score": 1}',
        }
        levels = ", ".join(f'"{level}": "level {level}"' for level in range(1, 11))
        return Completion(text=answers.get(request.role, f'{{"levels": {{{levels}}}}}'), cost_usd=0.5)

    async def close(self) -> None:
        """Nothing is open."""


def test_a_reader_of_ones_own_makes_a_dataset_and_says_what_it_could_not_read(tmp_path: Path) -> None:
    path = tmp_path / "day.acme"
    path.write_text(LOG, encoding="utf-8")

    log = import_log(path, format=AcmeLog())

    assert [example.conversation.output for example in log.dataset if example.conversation] == ["On its way."]
    assert (log.format, [str(problem) for problem in log.problems]) == ("acme", ["line 3: it is not Acme's"])


class Nameless:
    read = AcmeLog.read


@pytest.mark.parametrize("format", [None, object(), Nameless()])
def test_what_reads_nothing_or_has_no_name_is_refused_as_a_format(format: object, tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="NAME and read"):
        import_log(tmp_path / "day.acme", format=format)  # type: ignore[arg-type]


async def test_a_model_of_ones_own_plays_every_role_and_says_what_it_costs() -> None:
    model: Model = AcmeModel()
    engine = Engine(model, seed=1, store=None, rubric_folder=None, display="none", early_stopping=False)

    result = await engine.evaluate(SCENARIO, lambda message, state: f"{message}!")

    assert result.passed
    assert result.run.judge_model == "acme/large"
    costs = {role: usage.cost_usd for role, usage in result.run.usage.items()}
    assert costs == {"user": 2.5, "judge": 2.5, "control": 1.0, "rubric": 0.5}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of simeval, to add to."""
    shutil.copytree(ROOT / "simeval", tmp_path / "simeval", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def add(tree: Path, module: str, text: str, listed: str, rows: dict[str, str]) -> None:
    """Add a module and, behind lines that one file has, the rows that list it: all that a new kind takes."""
    assert not (tree / module).exists()
    (tree / module).write_text(text, encoding="utf-8")
    there = (tree / listed).read_text(encoding="utf-8")
    for line, row in rows.items():
        assert there.count(f"{line}\n") == 1
        there = there.replace(f"{line}\n", f"{line}\n{row}\n")
    (tree / listed).write_text(there, encoding="utf-8")


def run(tree: Path, *command: str) -> str:
    done = subprocess.run([sys.executable, *command], cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def add_importer(tree: Path) -> None:
    rows = {"from simeval.extras.importers.formats import (": "    acme,", "    own,": "    acme,"}
    formats = "simeval/extras/importers"
    add(tree, f"{formats}/formats/acme.py", IMPORTER, f"{formats}/registry.py", rows)


def add_provider(tree: Path) -> None:
    importing = "from simeval.models.providers.offline import OfflineModel"
    row = '    Provider(prefix="acme/", model=AcmeModel, chat=lambda name, _options, _seconds: AcmeModel(name)),'
    rows = {importing: "from simeval.models.providers.acme import AcmeModel", "PROVIDERS = (": row}
    add(tree, "simeval/models/providers/acme.py", PROVIDER, "simeval/models/registry.py", rows)


@pytest.mark.parametrize("chosen", [[], ["--format", "acme"]])
def test_a_module_and_a_row_make_an_importer(tree: Path, chosen: list[str]) -> None:
    add_importer(tree)
    (tree / "day.acme").write_text("\n".join(LOG.splitlines()[:2]), encoding="utf-8")

    said = run(tree, "-m", "simeval.cli", "import", "day.acme", *chosen, "--out", "day.jsonl")

    assert "acme" in said
    assert "On its way." in (tree / "day.jsonl").read_text(encoding="utf-8")


def test_a_module_and_a_row_make_a_provider(tree: Path) -> None:
    add_provider(tree)

    assert run(tree, "-c", CHAT) == "acme/large hears 1 messages\n"


def add_command(tree: Path) -> None:
    rows = {
        '    "begin": {': '        "greet": "greet somebody",',
        "OF_EXTRAS = {  # commands of features that attach from outside, a row each": (
            '    "greet": "simeval.extras.acme:greet",'
        ),
    }
    add(tree, "simeval/extras/acme.py", COMMAND, "simeval/cli/main.py", rows)


def add_part(tree: Path) -> None:
    begun = "PARTS: tuple[tuple[Callable[[RunContext, Sequence[RunPlan]], bool], str], ...] = ("
    row = '    (lambda context, _: context.settings.display == "none", "simeval.extras.acme_part:AcmePart"),'
    add(tree, "simeval/extras/acme_part.py", PART, "simeval/engine/parts.py", {begun: row})


def test_a_module_and_its_rows_make_a_command(tree: Path) -> None:
    add_command(tree)

    assert run(tree, "-m", "simeval.cli", "greet", "Ann") == "Hello, Ann\n"
    assert "greet somebody" in run(tree, "-m", "simeval.cli", "--help")


def test_a_module_and_a_row_make_a_part_of_a_run(tree: Path) -> None:
    add_part(tree)

    assert run(tree, "-c", NOTED) == "True\n"


def test_the_contracts_hold_of_what_was_added(tree: Path) -> None:
    add_importer(tree)
    add_provider(tree)
    add_command(tree)
    add_part(tree)

    assert "0 broken" in run(tree, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()")
