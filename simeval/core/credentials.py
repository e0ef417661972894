"""The secrets of an address or a command line: how a name with them is shown, and their values.

Secret are the user and the password of an address, the values of its query, and the arguments of a command that look
like keys. A place that is filled in later, such as ${KEY} or {session}, is none.
"""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from functools import lru_cache
from hashlib import pbkdf2_hmac
from urllib.parse import unquote, unquote_plus

from simeval.core.redaction import MASK, SHORTEST, Redactor

MARK = 6  # hexadecimal digits that distinguish names shown alike
_ROUNDS = 100_000  # so that a short password cannot be guessed from the mark at any speed
_WORD = r"(?:key|token|secret|passw(?:or)?d|passphrase|pass|pwd|auth|bearer|jwt|cookie|credentials?|signature|sig|code)"
_SECRET_NAME = re.compile(rf"{_WORD}$", re.IGNORECASE)
_PLACES = re.compile(r"(?:\$?\{\w+\}|:)*|\[secret\]")
_USER = re.compile(r"(?<=//)([^\s/?#\"'<>]*|[^\s/?#@:\"'<>]*:(?!\d+(?:[/?#]|$))[^\s@\"'<>]*)@")
_QUERY = re.compile(r"(?<=[?&;#])([^\s=&;#?\"'<>]*=)?([^\s&;#\"'<>]+)")
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//[^\s\"'<>]+", re.IGNORECASE)
_VALUE = r"(\"[^\"]*\"|'[^']*'|[^\s\"'](?:(?!#\w+\Z)\S)*)"
_ARGUMENTS = (  # of a command: the beginning of a secret value, and the value
    re.compile(rf"(?i:((?<!\S)-{{1,2}}[\w-]*{_WORD}(?:=|\s+)){_VALUE})"),
    re.compile(rf"(?i:((?<!\S)[\w-]*{_WORD}=){_VALUE})"),
    re.compile(r"(?i:((?:(?<!\S)-H\s*|--header(?:=|\s+))[\"']?[\w-]+:\s*)([^\"']+))"),
    re.compile(r"((?:(?<!\S)-u\s+|--user(?:=|\s+))[\"']?[^\s:\"']*:)([^\s\"']+)"),
    re.compile(r"((?<!\S))((?=\S{16})[\w-]*?(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{12,}[\w-]*(?!\S))"),
)
_SHAPES = Redactor()


def shown_name(name: str) -> str:
    """Return a name without its secrets; a mark distinguishes names that differ only in these."""
    masked, _ = _read(name)
    return name if masked == name else f"{masked} ({mark_of(name)})"


def shown(text: str) -> str:
    """Return an address or a command line without its secrets."""
    return _read(text)[0]


def secrets_in(text: str) -> list[str]:
    """Return the secret values of an address or a command line, as they are written there and as they are sent."""
    return _read(text)[1]


def logs_in(url: str) -> bool:
    """Return whether an address contains credentials: a user's name or a password."""
    return _USER.search(url) is not None


@lru_cache(maxsize=1_000)
def mark_of(text: str) -> str:
    """Return a mark of a text with secrets: the same for the same text, and no help in guessing them."""
    return pbkdf2_hmac("sha256", text.encode("utf-8", "surrogatepass"), b"simeval", _ROUNDS).hex()[:MARK]


def secrets_among(given: object) -> Iterator[str]:
    """Yield the secrets of the addresses among given values, however deep."""
    if isinstance(given, str):
        yield from secrets_in(given) if "://" in given else ()
    elif isinstance(given, Mapping):
        for each in given.values():
            yield from secrets_among(each)


def _read(text: str) -> tuple[str, list[str]]:
    """Return a text with its secrets masked, and these."""
    found: list[str] = []
    masked = _URL.sub(lambda url: _address(url[0], found), text)
    if re.match(r"(?:cmd|mcp):(?!\w+://)", text):
        for pattern in _ARGUMENTS:
            masked = pattern.sub(lambda each: _argument(each, found), masked)
    return _SHAPES.clean(masked), found


def _address(url: str, found: list[str]) -> str:
    def user(each: re.Match[str]) -> str:
        if _PLACES.fullmatch(each[1]):
            return each[0]
        name, _, password = each[1].partition(":")
        found.extend({password or name, unquote(password or name)})
        found.append(b64encode(f"{unquote(name)}:{unquote(password)}".encode("utf-8", "replace")).decode())
        return f"{MASK}@"

    def value(each: re.Match[str]) -> str:
        name, said = each[1] or "", each[2]
        is_tool = not name and each.string[each.start() - 1] == "#"  # URL#TOOL, URL#MODEL
        if is_tool or _PLACES.fullmatch(said):
            return each[0]
        if len(said) >= SHORTEST or _SECRET_NAME.search(name.removesuffix("=")):
            found.extend({said, unquote_plus(said)})
        return f"{name}{MASK}"

    return _QUERY.sub(value, _USER.sub(user, url))


def _argument(each: re.Match[str], found: list[str]) -> str:
    said = each[2].strip("\"'")
    if not said or MASK in said or _PLACES.fullmatch(said):
        return each[0]
    found.extend({said, said.split()[-1]})  # also the key behind a header's scheme
    return each[0].replace(said, MASK) if not each[1] else f"{each[1]}{each[2].replace(said, MASK)}"
