"""What an app is called: by the name that tells it from others, which is what was written."""

import sys
from functools import partial
from typing import Any

import pytest

from simeval.suites.apps.named import name_of

HERE = __name__


class Bot:
    """An app with two versions."""

    def __call__(self, message: str) -> str:
        return message

    def answer(self, message: str) -> str:
        return message


def made() -> Any:
    """Return an app that is made in a function."""

    def handler(message: str) -> str:
        return message

    return handler


def plain(message: str) -> str:
    return message


old, new, inner, short = Bot(), Bot(), made(), partial(plain)
nameless = lambda message: message  # noqa: E731


@pytest.mark.parametrize(
    ("app", "name"),
    [
        (old, "old"),
        (new, "new"),
        (inner, "inner"),
        (short, "short"),
        (nameless, "nameless"),
        (plain, "plain"),
        (new.answer, "new.answer"),
        (Bot(), "Bot"),
        (Bot().answer, "Bot.answer"),
        (made(), "made.<locals>.handler"),
    ],
)
def test_an_app_has_the_name_under_which_its_module_keeps_it(app: Any, name: str) -> None:
    assert name_of(app) == f"{HERE}:{name}"


def test_the_name_does_not_depend_on_who_imports_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["__main__"], "theirs", old, raising=False)

    assert name_of(old) == f"{HERE}:old"
