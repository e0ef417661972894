"""The work of `simeval view`: show a store in a browser, or write its pages into a folder."""

import secrets
import webbrowser
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote

from simeval.cli.output import exit_status, show
from simeval.core.drafts import write_whole
from simeval.core.terminal import counted_of
from simeval.errors import DefinitionError, StoreError
from simeval.extras.viewer.label_page import LabelPages
from simeval.extras.viewer.site import Site
from simeval.store.database import Database
from simeval.store.opening import open_database
from simeval.store.runs import Runs

INDEX = "index.html"


@exit_status
def view_store(*, store: str, run: str | None, port: int, opens: bool, bundle: Path | None) -> None:
    """Show a store until Ctrl-C, or write its pages; give the exit status."""
    with closing(open_database(store, must_exist=True)) as database:
        page = f"run/{Runs(database).find(run)}/" if run else ""
        if bundle is not None:
            _write(Site(database, database.name, has_labels=False), bundle)
        else:
            _serve(database, page, port, opens=opens)


def _write(site: Site, folder: Path) -> None:
    written, left_out = write_bundle(site, folder)
    for said in left_out:
        show(f"left out: {said}", None)
    show(
        f"{counted_of(written, 'file')} in {folder}: put them on any server of files, such as python -m http.server",
        None,
    )


def _serve(database: Database, page: str, port: int, *, opens: bool) -> None:
    from simeval.extras.viewer.server import HOST, listening, serve  # aiohttp takes its time

    listener, token = listening(port), secrets.token_urlsafe(24)
    address = f"http://{HOST}:{listener.getsockname()[1]}/{token}/{page}"
    show(f"{database.name} is shown at {address} (Ctrl-C ends it)", None)
    if opens:
        webbrowser.open(address)
    serve(Site(database, database.name, has_labels=True), LabelPages(database), listener, token)


def write_bundle(site: Site, folder: Path) -> tuple[int, list[str]]:
    """Write every page of a store into a folder; return how many files, and the pages that failed.

    Raises DefinitionError if the folder holds anything, so that nothing is overwritten, and StoreError.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DefinitionError("--bundle", found=f"{str(folder)!r} is not empty", do="name a new folder")
    written, left_out = 0, []
    for path in site.paths():
        try:
            answer = site.answer(unquote(path))
        except DefinitionError as error:  # of two runs that cannot be compared
            left_out.append(f"{path}: {error}")
            continue
        file = folder / (f"{path}{INDEX}" if path.endswith("/") or not path else path)
        try:
            write_whole(file, answer.text, errors="backslashreplace")
        except OSError as error:
            raise StoreError(str(file), problem=str(error.strerror)) from error
        written += 1
    return written, left_out
