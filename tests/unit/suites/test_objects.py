"""Objects by MODULE:OBJECT."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from simeval.errors import DefinitionError
from simeval.suites.apps.named import load_object, name_there

THING = object()


@pytest.mark.parametrize(
    "reference",
    [
        "nowhere_at_all:x",
        ":x",
        "math:",
        "math",
        "math:no_such",
        "math:pi.no_such",
        ".relative:x",
        "..:x",
        "a b:c",
        "\0:x",
    ],
)
def test_an_object_that_cannot_be_imported_is_refused_with_its_name(reference: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        load_object(reference, what="app")

    assert raised.value.where == f"app {reference!r}"


@pytest.mark.parametrize("code", ["def broken(:\n", "1 / 0\n", "raise SystemExit(3)\n"])
def test_a_module_that_fails_while_it_is_imported_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    (tmp_path / "failing_module_of_a_test.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(DefinitionError, match="failing_module_of_a_test"):
        load_object("failing_module_of_a_test:x", what="app")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        pytest.param("raise SystemExit(3)\n", "SystemExit: 3 (ends_a_test.py:1 in <module>)", id="an end"),
        pytest.param("def broken(:\n", "SyntaxError: invalid syntax (ends_a_test.py, line 1)", id="syntax"),
    ],
)
def test_what_kept_it_from_being_imported_is_said_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, said: str
) -> None:
    (tmp_path / "ends_a_test.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(DefinitionError) as raised:
        load_object("ends_a_test:x", what="app")

    assert raised.value.found == f"importing it failed ({said})"


class _Importing(ModuleType):
    """A module that imports another whenever its file is asked for, as one that is loaded lazily may."""

    def __getattr__(self, name: str) -> Any:
        sys.modules[f"came_in_between_{len(sys.modules)}"] = ModuleType("came_in_between")
        raise AttributeError(name)


def test_a_name_is_found_though_modules_are_imported_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "imports_others", _Importing("imports_others"))
    try:
        found = name_there(THING, __name__)
    finally:
        came = [name for name in sys.modules.copy() if name.startswith("came_in_between_")]
        for name in came:
            del sys.modules[name]

    assert came
    assert found == f"{__name__}:THING"
