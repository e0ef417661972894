"""Checks of settings: each takes a value and a name, and raises DefinitionError."""

from collections.abc import Mapping
from pathlib import Path

from simeval.core.validation import is_number, require

NO_STORE = "none"  # means no store in places without None
_NO_STORES = (".csv", ".html", ".json", ".md", ".parquet", ".py", ".tsv", ".txt", ".xlsx", ".xml", ".yaml", ".yml")


def require_seconds(value: object, name: str) -> None:
    """Raise a DefinitionError unless a value is a number of seconds above 0."""
    require(is_number(value) and value > 0, name, found=value, do="use more than 0 seconds")


def require_amount(value: object, name: str) -> None:
    """Raise a DefinitionError unless a value is a number above 0."""
    require(is_number(value) and value > 0, name, found=value, do="use a number above 0")


def require_part(value: object, name: str) -> None:
    """Raise a DefinitionError unless a value is a share, 0 and 1 among them."""
    require(is_number(value) and 0 <= value <= 1, name, found=value, do="use a share from 0 to 1")


def require_seed(value: object, name: str) -> None:
    """Raise a DefinitionError unless a value is a whole number."""
    require(isinstance(value, int), name, found=value, do="use a whole number")


def require_prompts(value: object, name: str) -> None:
    """Raise a DefinitionError unless a value maps names to files or texts."""
    usable = isinstance(value, Mapping) and all(
        isinstance(each, str) and isinstance(given, (str, Path)) and str(given).strip() for each, given in value.items()
    )
    require(usable, name, found=value, do="give {name: file}, such as {'user': 'prompts/user.md'}")


def require_options(value: object, name: str) -> None:
    """Raise a DefinitionError unless a setting holds options of calls, by their names."""
    usable = isinstance(value, Mapping) and all(isinstance(each, str) for each in value)
    require(usable, name, found=value, do='give options by their names, such as {"temperature": 0}')


def require_place(value: object, name: str) -> None:
    """Raise a DefinitionError unless a value can name a store, or is a journal."""
    is_journal = all(callable(getattr(value, each, None)) for each in ("append", "close"))
    usable = is_journal or isinstance(value, (str, Path))
    is_none = isinstance(value, str) and value.lower() == NO_STORE
    do = f'name a file or a URL; for no store use "{NO_STORE}", in Python None'
    require(usable, name, found=value, do=do)
    require(not is_none, name, found=value, do="use None for no store")
    is_other = not is_journal and "://" not in str(value) and Path(str(value)).suffix.lower() in _NO_STORES
    is_other = is_other and not Path(str(value)).is_file()  # whoever has named one so goes on with it
    require(
        not is_other, name, found=value, do="name a SQLite file, such as runs.db, a .jsonl file or a PostgreSQL URL"
    )


def require_path(value: object, name: str) -> None:
    """Raise a DefinitionError unless a value can name a file."""
    usable = isinstance(value, (str, Path)) and bool(str(value).strip())
    require(usable, name, found=value, do="name a file")


def require_kind(value: object, name: str, *, kind: type) -> None:
    """Raise a DefinitionError unless a value is of a class."""
    require(isinstance(value, kind), name, found=value, do=f"give a {kind.__name__}")
