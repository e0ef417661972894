"""The files of `simeval init`, a suite for an app and perhaps a handler to start from, and the schema of suites."""

import json
from pathlib import Path

from simeval.cli.output import BAD_INPUT, exit_status, say, show
from simeval.cli.starter_apps import HANDLER, SUITE, app_section, asked_app, is_reached, lies_in
from simeval.core.terminal import printed
from simeval.suites.apps.named import names_object

APP = '''\
"""The app under test: replace what `handle` does with a call to your own app."""

from typing import Any

from simeval import AppResponse


async def handle(message: str, state: dict[str, Any]) -> AppResponse:
    """Answer one message of the user. `state` is yours: empty at first, then what you returned last."""
    text = message.lower()
    for order, day in {"A123": "Friday", "B456": "Monday"}.items():
        if order.lower() in text:
            return AppResponse(f"Order {order} is on its way and arrives on {day}.", state)
    if "help" in text or "can" in text:
        return AppResponse("I can track your orders and start returns. What do you need?", state)
    return AppResponse("I am not sure I understand. Could you say it differently?", state)
'''


@exit_status
def write_starter(folder: Path, app: str | None) -> int:
    """Write a suite for an app into a folder, with an app.py if none is named; return the exit status.

    That is 2 if a file exists already, or cannot be written, and for an app that cannot be one.
    """
    return _write(folder, asked_app(app))


def _write(folder: Path, app: str) -> int:
    is_ours = app == HANDLER
    files = {folder / "suite.yaml": SUITE.read_text("utf-8") if is_ours else suite_of(app)}
    if is_ours:
        files[folder / "app.py"] = APP
    try:
        taken = [str(path) for path in files if path.exists()]
        if taken:
            yours = "name your app with --app, or " if is_ours and len(taken) < len(files) else ""
            return say(f"already there: {', '.join(taken)}; {yours}name another folder.", BAD_INPUT)
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            path.write_text(text, encoding="utf-8")
            show(f"wrote {path}", None)
    except OSError as error:
        why = "it is not a folder" if isinstance(error, FileExistsError) else error.strerror
        return say(f"cannot write into {folder} ({why}); name another folder.", BAD_INPUT)
    is_elsewhere = names_object(app) and not is_ours and not lies_in(folder, app)
    where = "" if folder == Path() or is_elsewhere else f"cd {folder} && "
    suite = folder / "suite.yaml" if is_elsewhere else "suite.yaml"
    from simeval.cli.probe import first_look  # of an app that is reached

    if is_reached(app) and (problem := first_look(app)):
        show("\n".join(printed().wrap(f"your app gives no answer yet: {problem}")), None)
        show(f"once it does, see what is understood of it: {where}simeval try --probe {suite}", None)
    if is_elsewhere and not lies_in(Path(), app):
        nor = "" if folder == Path() else f", nor in {folder}"
        show(f"there is no module {app.partition(':')[0]} here yet{nor}: write it first", None)
    show(f"now run: {where}simeval run {suite}{' --app app:handle' if is_ours else ''}", None)
    return 0


def suite_of(app: str) -> str:
    """Return the starter suite for an app that it names."""
    suite = SUITE.read_text("utf-8")
    return suite.replace(" --app app:handle", "").replace("\nscenarios:", f"\n{app_section(app)}\nscenarios:", 1)


@exit_status
def show_schema() -> int:
    """Print the JSON schema of suite files; give 0."""
    from simeval.suites.schema import suite_schema

    show(json.dumps(suite_schema(), indent=1), None)
    return 0
