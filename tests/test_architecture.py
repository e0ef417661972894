"""What holds of every module; what each may import is said in pyproject.toml, and held by `lint-imports`."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import simeval

ROOT = Path(simeval.__file__).parent
MOST_LINES = 400
HEAVY = ("litellm", "torch", "transformers", "scipy", "sqlalchemy", "numpy", "pydantic", "aiohttp")


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


@pytest.mark.parametrize("name", sorted(modules()))
def test_no_module_is_too_long_to_read(name: str) -> None:
    lines = modules()[name].read_text(encoding="utf-8").splitlines()

    assert len(lines) <= MOST_LINES


def test_every_module_opens_with_a_sentence() -> None:
    silent = [name for name, path in modules().items() if not ast.get_docstring(ast.parse(path.read_text("utf-8")))]

    assert not silent


def test_the_face_is_what_it_lists() -> None:
    assert sorted(simeval.__all__) == sorted([*simeval._HOME, "__version__"])
    assert all(getattr(simeval, name).__name__ == name for name in simeval.__all__ if name[0].isupper())


@pytest.mark.parametrize(
    "command", ["import simeval", "from simeval.cli.main import main; main(['--help'], standalone_mode=False)"]
)
def test_starting_loads_nothing_heavy(command: str) -> None:
    code = f"import sys\n{command}\nprint([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stderr.strip() == "[]"


def test_exception_is_caught_in_one_place_of_the_engine() -> None:
    broad = {
        name
        for name, path in modules().items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler) and isinstance(node.type, ast.Name) and node.type.id == "Exception"
    }

    # LiteLLM and a module of the user's raise whatever they like while called and imported: there it is translated
    # whatever else reaches the command line ends with a status of its own
    assert broad == {"core.capture", "models.providers.litellm_model", "suites.objects", "cli.run"}
