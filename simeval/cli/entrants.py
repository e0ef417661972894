"""A suite and who plays in it, as commands read them: all mistakes of a file are told at once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio

from simeval.core.app_handler import ExampleHandler
from simeval.core.settings import Settings
from simeval.core.yaml_files import all_of
from simeval.engine.actors.app import Handler
from simeval.errors import SuiteFileError
from simeval.models.registry import Models
from simeval.suites.apps.named import app_of
from simeval.suites.cast import MODELS, Cast
from simeval.suites.files import Suite, load_around, load_suite
from simeval.suites.project import read_project

SuiteMaker = Callable[[Settings], Suite]  # makes one of the settings of a project


def read_suite(
    suite: str | SuiteMaker,
    given: Cast,
    only_named: Sequence[str] = (),
    samples: int | None = None,
    overrides: Mapping[str, Any] = {},
) -> tuple[Suite, Cast]:
    """Return a suite, and who plays in it: as given, else as the suite or the project says.

    Raises DefinitionError; for a file that has mistakes, with those of whom it names for the app and the models, which
    `overrides`, the settings that are given, may make usable.
    """
    project = read_project(Path())
    try:
        found = load_suite(suite, base=project.settings) if isinstance(suite, str) else suite(project.settings)
    except SuiteFileError as error:
        around = load_around(Path(error.file), base=project.settings)
        settings = around.settings.overridden(overrides)
        raise all_of([error, *_wrong_in(given.over(around.cast), ("app", *MODELS), settings)]) from error
    loaded = found.only(only_named).sized(samples)
    return loaded, given.over(loaded.cast).over(project.cast)


def handler_of(cast: Cast, settings: Settings) -> ExampleHandler:
    """Return the app of a cast.

    Raises DefinitionError for what can be none, with the place where it is named; with the models of that file which
    cannot be used, too.
    """
    with placed(cast, settings):
        return _handler_of(cast)


@contextmanager
def placed(cast: Cast, settings: Settings, *roles: str) -> Iterator[None]:
    """Let an error about one of these roles say where it stands in a file, and what is wrong with the models there."""
    try:
        with cast.placed(*roles):
            yield
    except SuiteFileError as error:
        others = (each for each in _wrong_in(cast, MODELS, settings) if str(each) != str(error))
        raise all_of([error, *others]) from error


def _handler_of(cast: Cast) -> ExampleHandler:
    with cast.placed("app"):
        app = app_of(cast.app)
        if callable(app):
            Handler.of(app)
    return app


def _wrong_in(cast: Cast, roles: Sequence[str], settings: Settings) -> Iterator[SuiteFileError]:
    """Yield what is wrong with these roles, of those that stand in a file."""
    for role in (role for role in roles if role in cast.places):
        try:
            if role == "app":
                _handler_of(cast)
            else:
                _require_models(cast, role, settings)
        except SuiteFileError as error:
            yield error


def _require_models(cast: Cast, role: str, settings: Settings) -> None:
    """Raise SuiteFileError for a name of a role that means no model. No key is looked for: it is in no file."""
    with cast.placed(role):
        models = Models(settings)
        if role == "judge_model":
            models.panel(cast.judge_model)
        elif cast.user_model:
            models.get(cast.user_model, "user")
        anyio.run(lambda: models.check(keys=False))
