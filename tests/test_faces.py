"""What is public: the names that a package lists in its `__init__.pyi`, and nothing else."""

import ast
import inspect
import re
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import GenericAlias, ModuleType
from typing import Any, get_args, get_type_hints

import aiohttp
import numpy
import pytest
from numpy.typing import NDArray
from pydantic import BaseModel

import simeval
from simeval.core.run_records import Journal
from simeval.evaluators.base import Evaluator
from simeval.models.caller import Caller
from simeval.results.document import Document
from simeval.results.experiment import ExperimentResult
from simeval.results.rows import Row
from simeval.results.selection import Selection
from simeval.results.suite import RunRecord, ScenarioResult
from simeval.store.database import Database
from simeval.store.journal import Entry, RunResult
from simeval.suites.apps.http_app import HttpApp
from simeval.suites.apps.socket_app import SocketApp
from simeval.suites.scenario import ScenarioTest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "simeval"
STUBS = sorted(PACKAGE.rglob("__init__.pyi"))
FACES = [".".join(path.parent.relative_to(ROOT).parts) for path in STUBS]
PRIVATE = {"cli", "core", "extras"}  # packages without a list: nothing of them is public but what others list
INNER = re.compile(r"\b(?:from|import) (simeval\.\w+\.[\w.]+)")
# what type checkers alone import, in the modules of those whose hints are read here
CHECKED = {
    "BaseModel": BaseModel,
    "Document": Document,
    "NDArray": NDArray,
    "aiohttp": aiohttp,
    "np": numpy,
    "Caller": Caller,
    "Database": Database,
    "Journal": Journal,
    "Evaluator": Evaluator,
    "ScenarioResult": ScenarioResult,
    "ExperimentResult": ExperimentResult,
    "RunRecord": RunRecord,
    "Entry": Entry,
    "Row": Row,
    "RunResult": RunResult,
    "HttpApp": HttpApp,
    "SocketApp": SocketApp,
    "ScenarioTest": ScenarioTest,
    "Selection": Selection,
}
# only the engine makes what these are of
OLDER_NAMES = {
    "EvaluationResult": "ScenarioResult",
    "Judgement": "TrialResult",
    "SavedRun": "RunDocument",
    "SavedScenario": "ScenarioDocument",
    "SavedExperiment": "ExperimentDocument",
    "SavedTrial": "TrialResult",
}
NOT_OF_USERS = {
    "CanaryFinding",
    "ExpectationControls",
    "JudgeLicence",
    "LabelledExample",
    "Ledger",
    "OtherApp",
    "Place",
    "Redactor",
    "ReplyCache",
    "RubricTemplate",
    "Waits",
}


def listed(stub: Path) -> list[str]:
    """Return the names a stub lists; it holds imports alone, and neither names of `import *` nor dunders are listed."""
    body = ast.parse(stub.read_text(encoding="utf-8")).body
    assert all(isinstance(node, ast.ImportFrom) for node in body)
    names = [alias for node in body if isinstance(node, ast.ImportFrom) for alias in node.names]
    return [alias.asname or "" for alias in names if alias.name != "*" and alias.name[0] != "_"]


def public() -> Iterator[tuple[str, str, Any]]:
    """Yield each public name that is no module: the face, the name, the object."""
    for face in [*FACES, "simeval.errors"]:
        module = import_module(face)
        names = ((name, getattr(module, name)) for name in module.__all__)
        yield from ((face, name, value) for name, value in names if not isinstance(value, ModuleType))
    for name in import_module("simeval.stats").__all__:
        module = import_module(f"simeval.stats.{name}")
        yield from ((module.__name__, each, value) for each, value in own(module))


def own(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield the functions and classes that a module defines for others."""
    for name, value in vars(module).items():
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__:
            yield name, value


def test_each_package_has_a_list_or_is_private() -> None:
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}

    assert {face.removeprefix("simeval.") for face in FACES} - {"simeval"} == packages - PRIVATE


@pytest.mark.parametrize("stub", STUBS, ids=FACES)
def test_a_face_is_what_it_lists(stub: Path) -> None:
    face = import_module(".".join(stub.parent.relative_to(ROOT).parts))
    names = listed(stub)

    assert sorted(names) == dir(face) == sorted(face.__all__)
    assert len(set(names)) == len(names)
    for name in names:
        value = getattr(face, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__name__ == OLDER_NAMES.get(name, name)


@pytest.mark.parametrize("stub", STUBS, ids=FACES)
def test_no_public_name_hides_a_module(stub: Path) -> None:
    beside = {path.stem for path in stub.parent.glob("*") if path.suffix in ("", ".py")}
    face = import_module(".".join(stub.parent.relative_to(ROOT).parts))

    hiding = [name for name in beside & set(listed(stub)) if not isinstance(getattr(face, name), ModuleType)]

    assert not hiding


def test_the_first_hour_has_at_most_thirty_names() -> None:
    assert len(dir(simeval)) <= 30
    assert {"Engine", "ScenarioTest", "SuccessRateEvaluator", "scorer", "suites"} <= set(dir(simeval))


@pytest.mark.parametrize("face", sorted(set(FACES) - {"simeval", "simeval.stats", "simeval.testing"}))
def test_each_name_of_a_package_can_be_imported_from_simeval(face: str) -> None:
    module = import_module(face)

    assert [getattr(simeval, name) for name in dir(module)] == [getattr(module, name) for name in dir(module)]


def test_a_name_that_is_not_listed_is_refused() -> None:
    with pytest.raises(ImportError, match="cannot import name 'Enginer'"):
        exec("from simeval import Enginer")


def test_every_public_name_says_what_it_is() -> None:
    silent = []
    for face, name, value in public():
        if not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        text = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
        made_by_dataclass = (text or "").startswith(f"{name}(")
        if not re.match(r"(?!Gives? )[A-Z`].*?[.:](\s|$)", text or "", re.DOTALL) or made_by_dataclass:
            silent.append(f"{face}.{name}")

    assert not silent


def test_no_public_class_has_the_name_of_another() -> None:
    found: dict[str, set[type]] = defaultdict(set)
    for _, name, value in public():
        if inspect.isclass(value):
            found[name].add(value)

    assert not {name: classes for name, classes in found.items() if len(classes) > 1}


def test_what_public_signatures_name_is_public() -> None:
    known = {value for _, _, value in public() if inspect.isclass(value)}
    named = {cls: where for _, name, value in public() for cls, where in classes_named(value, name)}

    hidden = {cls.__name__: where for cls, where in named.items() if cls not in known and cls.__name__[0] != "_"}

    assert set(hidden) == NOT_OF_USERS


def classes_named(value: Any, where: str) -> Iterator[tuple[type, str]]:
    """Yield the classes of simeval that the fields and methods of a class, or a function, have in their hints."""
    parts = [(value, where)] if inspect.isclass(value) or inspect.isfunction(value) else []
    if inspect.isclass(value):
        public_parts = [name for name in dir(value) if not name.startswith("_") or name == "__init__"]
        parts += [(function_of(inspect.getattr_static(value, name)), f"{where}.{name}") for name in public_parts]
    for part, place in parts:
        if getattr(part, "__module__", "").startswith("simeval"):
            hints = get_type_hints(part, localns=CHECKED)
            yield from ((cls, place) for name, hint in hints.items() if name[0] != "_" for cls in classes_in(hint))


def function_of(value: Any) -> Any:
    """Return the function behind a method or a property; None of anything else."""
    value = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
    return value if inspect.isfunction(value) else None


def classes_in(hint: Any) -> Iterator[type]:
    """Yield the classes of simeval in a type, however deep."""
    if isinstance(hint, type) and not isinstance(hint, GenericAlias) and hint.__module__.startswith("simeval"):
        yield hint
    for part in hint if isinstance(hint, list) else get_args(hint):
        yield from classes_in(part)


def test_documents_and_examples_import_from_faces_only() -> None:
    shown = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "scenarios").glob("*.py")]
    inner = {
        f"{path.name}: {module}"
        for path in shown
        for module in INNER.findall(path.read_text(encoding="utf-8"))
        if not re.match(r"simeval\.(stats\.\w+|errors)$", module)
    }

    assert shown
    assert not inner


def test_simeval_itself_imports_from_the_modules_that_define() -> None:
    lazy = {
        f"{path.relative_to(ROOT)}: {node.module}"
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module in FACES
        if not all((PACKAGE.parent / node.module.replace(".", "/") / f"{each.name}.py").exists() for each in node.names)
    }

    assert not lazy


def test_no_docstring_begins_with_give() -> None:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    begun = [
        f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, kinds) and re.match(r"Gives?\b", ast.get_docstring(node) or "")
    ]

    assert not begun
