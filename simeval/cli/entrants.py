"""A suite and who plays in it, as commands read them: all mistakes of a file are told at once."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from simeval.core.app_handler import ExampleHandler
from simeval.core.escalation import require_two
from simeval.core.setting_choices import ModelRole
from simeval.core.settings import Settings
from simeval.core.yaml_files import all_of
from simeval.engine.actors.handler import Handler
from simeval.errors import DefinitionError, SuiteFileError
from simeval.models.registry import Models
from simeval.suites.apps.described_app import DescribedApp
from simeval.suites.apps.named import app_of
from simeval.suites.cast import ESCALATE, MODELS, ROLES, Cast
from simeval.suites.files import SUFFIXES, Suite, files_in, load_around, load_suite
from simeval.suites.project import Project, read_project

SuiteMaker = Callable[[Settings], Suite]  # makes one of the settings of a project


def read_suite(
    suite: str | SuiteMaker,
    given: Cast,
    only_named: Sequence[str] = (),
    samples: int | None = None,
    overrides: Mapping[str, Any] = {},
    roles: Sequence[str] = (*ROLES, ESCALATE),
) -> tuple[Suite, Cast]:
    """Return a suite, and who plays in it: as given, else as the suite or the project says.

    Raises DefinitionError; for a file that has mistakes, with those of whom it names for these roles, of which
    `overrides`, the settings that are given, may make some usable.
    """
    try:
        project = read_project(Path())
    except SuiteFileError as error:
        project = read_project(Path(), lenient=True)
        raise _with_others(error, _wrong_around(suite, given, project, roles, overrides)) from error
    if not isinstance(suite, str):
        loaded = suite(project.settings)
    else:
        try:
            loaded = load_suite(suite, base=project.settings)
        except SuiteFileError as error:
            files, asked = [error.file], roles
            if Path(suite).is_dir():  # where the judges may stand in another file than what is asked of them
                files = [str(each) for each in files_in(Path(suite))]
                asked = [each for each in roles if each != ESCALATE]
            wrong = (each for file in files for each in _wrong_around(file, given, project, asked, overrides))
            raise _with_others(error, wrong) from error
    loaded = loaded.only(only_named).sized(samples)
    return loaded, given.over(loaded.cast).over(project.cast)


def handler_of(cast: Cast, settings: Settings) -> ExampleHandler:
    """Return the app of a cast.

    Raises DefinitionError for what can be none; where it is named in a file, with the models of files that mean none.
    """
    with placed(cast, settings):
        return _handler_of(cast)


@contextmanager
def placed(cast: Cast, settings: Settings, *roles: str) -> Iterator[None]:
    """Let an error about one of these roles say where it stands in a file, with the models of files that mean none."""
    try:
        with cast.placed(*roles, ESCALATE):
            yield
    except SuiteFileError as error:
        raise _with_others(error, _wrong_in(cast, (*MODELS, ESCALATE), settings)) from error


def _with_others(error: SuiteFileError, others: Iterable[SuiteFileError]) -> SuiteFileError:
    """Return an error with others, each once."""
    return all_of({str(each): each for each in (error.alone(), *error.others, *others)}.values())


def _wrong_around(
    file: object, given: Cast, project: Project, roles: Sequence[str], overrides: Mapping[str, Any]
) -> Iterator[SuiteFileError]:
    """Yield what is wrong with who plays in a file, or in the project, whatever else is wrong there."""
    is_file = isinstance(file, str) and Path(file).suffix in SUFFIXES and Path(file).is_file()
    around = Suite((), project.settings)
    try:
        if is_file:
            around = load_around(Path(str(file)), base=project.settings)
        settings = around.settings.overridden(overrides)
    except SuiteFileError as error:
        yield error
    except DefinitionError:  # of what is given: it is told once the file is right
        return
    else:
        yield from _wrong_in(given.over(around.cast).over(project.cast), roles, settings)


def _handler_of(cast: Cast) -> ExampleHandler:
    with cast.placed("app"):
        app = app_of(cast.app)
        if callable(app):
            Handler.of(app)
        if isinstance(app, DescribedApp):
            app.check()
    return app


def _wrong_in(cast: Cast, roles: Sequence[str], settings: Settings) -> Iterator[SuiteFileError]:
    """Yield what is wrong with these roles, of those that stand in a file."""
    for role in (role for role in roles if role in cast.places):
        for check in _checks_of(role, cast, settings):
            try:
                with cast.placed(role):
                    check()
            except SuiteFileError as error:
                yield error
            except DefinitionError:  # of what is given: it is told once the file is right
                continue


def _checks_of(role: str, cast: Cast, settings: Settings) -> Iterator[Callable[[], object]]:
    """Yield what raises DefinitionError for each that is wrong with a role."""
    if role == "app":
        yield partial(_handler_of, cast)
    elif role == ESCALATE:
        yield partial(require_two, cast.judge_model, settings.escalate)
    elif role == "judge_model":
        yield from (partial(_require_models, [name], "judge", settings) for name in cast.judge_model)
        if len(cast.judge_model) > 1:  # what is wrong with them together, such as one that is named twice
            yield partial(_require_models, cast.judge_model, "judge", settings)
    elif cast.user_model:
        yield partial(_require_models, [cast.user_model], "user", settings)


def _require_models(names: Sequence[str], role: ModelRole, settings: Settings) -> None:
    """Raise DefinitionError for names that mean no models, and for models that have no key."""
    models = Models(settings)
    if role == "judge":
        models.panel(names)
    else:
        models.get(names[0], role)
    anyio.run(models.check)
