"""Faces of packages: public names that are imported at first use."""

import sys
from pathlib import Path

import pytest

STUB = """
from . import inner as inner
from .inner import Near as Near
from ..elsewhere.module import Far as Far
"""


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("house_of_faces/room", "house_of_faces/elsewhere"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "__init__.py").write_text("")
    (tmp_path / "house_of_faces/__init__.py").write_text("")
    attached = "from simeval.core.faces import attach\n__getattr__, __dir__, __all__ = attach(__name__, __file__)\n"
    (tmp_path / "house_of_faces/room/__init__.py").write_text(attached)
    (tmp_path / "house_of_faces/room/__init__.pyi").write_text(STUB)
    (tmp_path / "house_of_faces/room/inner.py").write_text("class Near: ...\n")
    (tmp_path / "house_of_faces/elsewhere/module.py").write_text("class Far: ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.startswith("house_of_faces")]:
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.usefixtures("house")
def test_a_face_lists_the_names_of_its_stub() -> None:
    from house_of_faces import room  # type: ignore[import-not-found]

    assert room.__all__ == ["Far", "Near", "inner"]
    assert dir(room) == room.__all__


@pytest.mark.usefixtures("house")
def test_a_module_is_imported_at_the_first_use_of_its_name() -> None:
    from house_of_faces import room

    loaded_before = "house_of_faces.elsewhere.module" in sys.modules

    assert room.Far.__module__ == "house_of_faces.elsewhere.module"
    assert room.inner.Near is room.Near
    assert not loaded_before


@pytest.mark.usefixtures("house")
def test_a_face_has_no_name_that_its_stub_does_not_list() -> None:
    from house_of_faces import room

    with pytest.raises(AttributeError, match=r"No house_of_faces\.room attribute Other"):
        _ = room.Other
