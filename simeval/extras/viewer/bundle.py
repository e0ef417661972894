"""The viewer as a folder of files, for any server of files: the same pages, without the parts that need a program."""

from pathlib import Path
from urllib.parse import unquote

from simeval.core.drafts import write_whole
from simeval.errors import DefinitionError, StoreError
from simeval.extras.viewer.site import Site

INDEX = "index.html"


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
