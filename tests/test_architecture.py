"""What holds of every module and test file; what a module may import is held by `lint-imports`, from pyproject.toml."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import simeval
from benchmarks.structure import longest_chain

ROOT = Path(simeval.__file__).parent
MOST_LINES = 600
LONGEST_CHAIN = 15  # modules each of which imports the next one when it is loaded
TESTS = Path(__file__).parent
HEAVY = (
    "litellm",
    "torch",
    "transformers",
    "scipy",
    "sqlalchemy",
    "numpy",
    "pydantic",
    "aiohttp",
    "simeval.results.html",
)
ENGINE = {  # which only runs need
    *("aiohttp", "numpy", "scipy", "psycopg", "rich", "tqdm", "sqlalchemy.dialects.postgresql"),
    *("simeval.engine", "simeval.evaluators.base", "simeval.suites.definitions", "simeval.suites.scenario"),
}
NOT_OF_EVERY_RUN = {
    *("aiohttp", "litellm", "psycopg", "rich", "scipy.stats", "sqlalchemy", "simeval.datasets.files"),
    *("simeval.core.near_misses", "simeval.engine.experiment_run"),
    *("simeval.results.html", "simeval.results.junit", "simeval.results.selection"),
}
RESULTS = {"simeval.models", "simeval.results.experiment", "simeval.results.suite", "simeval.store.lifecycle"}


def modules() -> dict[str, Path]:
    names = {path: path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".") for path in ROOT.rglob("*.py")}
    return {name.removesuffix("__init__").rstrip("."): path for path, name in names.items()}


def test_packages_hold_no_code_of_their_own() -> None:
    holding = {
        name
        for name, path in modules().items()
        if path.name == "__init__.py"
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("__")
    }

    assert not holding


@pytest.mark.parametrize("folder", [ROOT, TESTS], ids=["package", "tests"])
def test_no_module_is_too_long_to_read(folder: Path) -> None:
    lines = {path: len(path.read_text("utf-8").splitlines()) for path in folder.rglob("*.py")}
    long = {path.relative_to(folder).as_posix(): count for path, count in lines.items() if count > MOST_LINES}

    assert not long


def test_unit_tests_lie_in_folders_named_as_packages() -> None:
    packages = {path.parent.relative_to(ROOT).as_posix() for path in ROOT.rglob("__init__.py")}
    folders = {path.parent.relative_to(TESTS / "unit").as_posix() for path in (TESTS / "unit").rglob("test_*.py")}

    assert folders <= packages


def test_no_helper_lies_among_tests() -> None:
    elsewhere = {path for place in ("support", "data", "wheel") for path in (TESTS / place).rglob("*.py")}
    helpers = {path.relative_to(TESTS).as_posix() for path in {*TESTS.rglob("*.py")} - elsewhere}

    assert not {path for path in helpers if not Path(path).match("test_*.py") and not path.endswith("conftest.py")}


def test_no_chain_of_imports_is_long() -> None:
    chain = longest_chain()

    assert len(chain) <= LONGEST_CHAIN, chain


def test_every_module_opens_with_a_sentence() -> None:
    silent = [name for name, path in modules().items() if not ast.get_docstring(ast.parse(path.read_text("utf-8")))]

    assert not silent


@pytest.mark.parametrize(
    "command", ["import simeval", "from simeval.cli.main import main; main(['--help'], standalone_mode=False)"]
)
def test_starting_loads_nothing_heavy(command: str) -> None:
    code = f"import sys\n{command}\nprint([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize(
    ("command", "needless"),
    [
        ("runs --store gates.db", ENGINE | RESULTS | {"pydantic", "simeval.results.document"}),
        ("show last --store gates.db", ENGINE | RESULTS),
        ("doctor --store none", ENGINE),
        ("demo", NOT_OF_EVERY_RUN),
        (
            "plan order_line.yaml",
            {"aiohttp", "scipy.special", "sqlalchemy", "numpy.ma", "numpy.random", "simeval.engine"},
        ),
        (
            "plan --bar .9 --rate .97",
            {"asyncio", "pydantic", "sqlalchemy", "scipy.special", *ENGINE}
            - {"numpy", "scipy", "simeval.evaluators.base"},
        ),
    ],
)
def test_a_command_loads_only_its_needs(command: str, needless: set[str], tmp_path: Path) -> None:
    shutil.copy(TESTS / "data" / "stores" / "gates.db", tmp_path)
    shutil.copy(TESTS.parent / "scenarios" / "order_line.yaml", tmp_path)
    code = (
        "import atexit, sys; from simeval.cli.main import main\n"
        f"atexit.register(lambda: print(sorted({needless!r} & {{*sys.modules}}), file=sys.stderr))\n"
        f"main({command.split()})"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)

    assert done.stderr.splitlines()[-1] == "[]"
    assert len(done.stdout.splitlines()) > 2


@pytest.mark.parametrize("module", ["simeval.cli.runs", "simeval.results.suite", "simeval.evaluators.base"])
def test_scipy_special_is_loaded_only_to_compute(module: str) -> None:
    code = f"import sys, {module}\nprint('scipy.special' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"


def test_exception_is_caught_in_one_place_of_the_engine() -> None:
    broad = {
        name
        for name, path in modules().items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler) and isinstance(node.type, ast.Name) and node.type.id == "Exception"
    }

    # LiteLLM and a module of the user's raise whatever they like while called and imported: there it is translated
    # whatever else reaches the command line ends with a status of its own
    assert broad == {"core.capture", "models.providers.litellm_model", "suites.apps.named", "cli.run"}
