"""The default of a setting stands once, in the settings."""

import ast
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path

import simeval
from simeval.core.settings import DEFAULTS, MARGIN, POWER, Settings

ROOT = Path(simeval.__file__).parent
OTHER_NAMES = {"alpha": "significance_level", "retry": "retry_config", "writing_style": "writing_style_config"}
VALUES = {each.name: getattr(DEFAULTS, each.name) for each in fields(Settings)} | {"margin": MARGIN, "power": POWER}
OF_STATISTICS = "stats/"  # a library of its own, which knows no settings


@cache
def sources() -> dict[str, ast.Module]:
    """Return the parsed modules of the package by their paths."""
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text("utf-8")) for path in ROOT.rglob("*.py")}


def stated(tree: ast.AST) -> Iterator[tuple[str, object]]:
    """Yield the names of parameters and fields with the constants that are their defaults."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            positional, keyword = [*node.args.posonlyargs, *node.args.args], node.args.kwonlyargs
            defaults = node.args.defaults
            pairs = [*zip(positional[len(positional) - len(defaults) :], defaults, strict=True)]
            pairs += [(each, default) for each, default in zip(keyword, node.args.kw_defaults, strict=True) if default]
            yield from ((each.arg, default.value) for each, default in pairs if isinstance(default, ast.Constant))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Constant):
            yield ast.unparse(node.target), node.value.value


def test_no_parameter_or_field_states_the_default_of_a_setting_again() -> None:
    again = [
        f"{path}: {name} = {value!r}"
        for path, tree in sources().items()
        if path != "core/settings.py" and not path.startswith(OF_STATISTICS)
        for name, value in stated(tree)
        if value not in (None, True, False) and value == VALUES.get(OTHER_NAMES.get(name, name), ...)
    ]

    assert not again


def test_commands_state_no_default_of_a_setting() -> None:
    settings = {(type(value), value) for value in VALUES.values() if isinstance(value, (int, float))} - {(int, 1)}
    options = {
        f"{path}, line {node.lineno}: {keyword.value.value!r}"
        for path, tree in sources().items()
        if path.startswith("cli/")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "default" and isinstance(keyword.value, ast.Constant)
        if (type(keyword.value.value), keyword.value.value) in settings - {(bool, True), (bool, False)}
    }

    assert not options


def test_the_places_of_stores_and_rubrics_are_stated_once() -> None:
    places = [str(DEFAULTS.store), str(DEFAULTS.rubric_folder)]

    found = {
        (path, node.value)
        for path, tree in sources().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in places
    }

    assert found == {("core/settings.py", place) for place in places}
