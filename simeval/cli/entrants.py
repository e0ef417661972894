"""A suite and its roles, as commands read them."""

from collections.abc import Callable, Sequence
from pathlib import Path

from simeval.core.app_handler import ExampleHandler
from simeval.core.settings import Settings
from simeval.suites.apps.described_app import DescribedApp
from simeval.suites.apps.named import app_of
from simeval.suites.cast import Cast
from simeval.suites.files import Suite, load_suite
from simeval.suites.project import read_project

SuiteMaker = Callable[[Settings], Suite]  # makes one of the settings of a project


def read_suite(
    suite: str | SuiteMaker, given: Cast, only_named: Sequence[str] = (), samples: int | None = None
) -> tuple[Suite, Cast]:
    """Return a suite, and its roles: as given, else from the suite or the project. Raises DefinitionError."""
    project = read_project(Path())
    loaded = load_suite(suite, base=project.settings) if isinstance(suite, str) else suite(project.settings)
    loaded = loaded.only(only_named).sized(samples).by_case()
    return loaded, given.over(loaded.cast).over(project.cast)


def handler_of(cast: Cast) -> ExampleHandler:
    """Return the app of a cast. Raises DefinitionError for an app that cannot be one."""
    from simeval.engine.actors.handler import Handler  # a plan calls no app

    with cast.placed("app"):
        app = app_of(cast.app)
        if callable(app):
            Handler.of(app)
        if isinstance(app, DescribedApp):
            app.check()
    return app
