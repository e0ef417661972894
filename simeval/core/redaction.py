"""Secrets are taken out of every text that could reach a log, a journal or a report.

It knows the values of secret options and of the environment's keys, tokens and passwords; it also masks matches of the
user's own patterns, and texts in the shape of a key.

Of an address the user, the password and the values of its query are secret, of a command line the arguments that look
like keys. A place that is filled in later, such as ${KEY} or {session}, is none. A plain word in a query, as in
mode=customer, is masked in the address alone: conversations need the word.
"""

import json
import os
import re
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from hashlib import pbkdf2_hmac
from html import escape
from traceback import format_exception
from typing import Any, SupportsFloat
from urllib.parse import quote, unquote, unquote_plus

from simeval.core.conversation import Conversation, Message
from simeval.core.serialization import nested, plain
from simeval.errors import DefinitionError

MASK = "[secret]"
CUT = "…"  # at the end of a partial quotation
SHORTEST = 8  # characters; shorter values would mask ordinary words
SHORTEST_LEARNT = 6  # of a known secret

_BEGINS = r"(?:(?<![A-Z])|(?-i:(?<=[a-z])(?=[A-Z])))"  # a word of a name: DB_PASS and dbPass, but not COMPASS
_NAMES = re.compile(
    r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|(?<=[_-])PWD|"
    rf"{_BEGINS}(?:PASS|PAT|AUTH|JWT|DSN|BEARER|COOKIE|LICEN[CS]E))(?:_?\d+)?$",
    re.IGNORECASE,
)
_OFTEN_WORDS = re.compile(r"(?:AUTH|LICEN[CS]E|COOKIE)(?:_?\d+)?$", re.IGNORECASE)  # whose values are
_WORDS = re.compile(r"[A-Za-z]+(?:[ _-][A-Za-z]+)*")
_WORD_IN_URLS = re.compile(r"[A-Za-z][a-z]{0,12}")
_DIGIT = re.compile(r"\d")
_HEADERS = ("headers", "extra_headers", "default_headers")
_QUERIES = ("extra_query", "default_query")  # options with values that an address is sent, too
_OPEN_HEADERS = frozenset(
    {"accept", "accept-encoding", "accept-language", "cache-control", "connection", "content-type", "http-referer"}
    | {"origin", "referer", "user-agent", "x-title"}
)
_BASES = re.compile(r"BASE(?:_URL)?$|_ENDPOINT$", re.IGNORECASE)  # variables with the address of a model
_SENT = "_HEADERS"  # variables with headers: OTEL_EXPORTER_OTLP_HEADERS
_PASSWORD = re.compile(r"://[^\s/:@]{0,100}:([^\s/@]+)@")
_KEPT_IN_URLS = ("", "/", "?/:@-._~!$'()*,")  # characters that clients leave as they are in a query
_NAMED_VALUE = re.compile(r"=\s*\"?([^\";,\s]+)")  # in a header: of a cookie, for instance
# Texts that people use when a key is asked for and none is needed, and passwords in examples: as secrets they would
# mask the words of every conversation.
_PLACEHOLDERS = frozenset(
    {"anything", "changeme", "development", "disabled", "localhost", "not-needed", "password", "placeholder"}
    | {"postgres", "undefined"}
)

# A key begins a word, or follows the escape of a line break in a quoted text. Whatever repeats is bounded, or starts
# once a word, so that no text takes more than linear time.
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
_PARTS = r"(?:[A-Za-z0-9]{1,40}+[-_]){0,6}?"
_MIXED = r"(?=[A-Za-z]{0,64}\d)(?=\d{0,64}[A-Za-z])[A-Za-z0-9]{12,}[\w-]*"  # hyphenated words have no such part
_PEM_ENDS = r"(?:[^-]|-(?!----))*+-----END [A-Z ]{0,40}-----"
_PEM_CUT = r"(?:\s|\\[nr])*+[A-Za-z0-9+/=]{30,}[A-Za-z0-9+/=\s\\]*"
_SCHEME = r"(?:bearer|basic|token|digest|negotiate|api-?key)"

# Each kind of key: a text that it contains, in lower case, or several, one of which it contains; and its pattern, whose
# groups, if any, are kept.
_KINDS: Sequence[tuple[Sequence[str], str]] = (
    (["private key"], rf"-----BEGIN [A-Z ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----(?:{_PEM_ENDS}|{_PEM_CUT})"),
    (["://"], r"(://[^\s/:@'\"<>]{0,100}:)(?!\$\{\w{1,100}\}@)[^\s/'\"<>]{1,200}(?=@)"),
    (["authorization"], rf"(?i:(\bauthorization[\"']?\s{{0,4}}[:=]\s{{0,4}}[\"']?{_SCHEME}\s+))[^\s\"',;]{{8,}}"),
    (["bearer"], r"(?i:(\bbearer\s{1,4}))(?=[^\s\d]{0,200}\d)[A-Za-z0-9._~+/\-]{8,}=*"),
    (
        ["api", "_", "-token"],
        r"(?i:((?:api[-_ ]?|access_|secret_)key|[-_]token|client_secret)([\"']?\s{0,3}[:=]\s{0,3}[\"']?))"
        r"(?=[^\s\d\"',;&]{0,200}\d)[A-Za-z0-9._~+/\-]{16,}=*",
    ),
    (
        ["="],  # in the query of an address
        r"(?i:([?&;](?:[\w-]{0,40}[_-])?(?:(?:api)?key|token|secret|password|sig|signature)=))"
        r"(?:(?=[^\s\d&]{0,200}\d)[^\s&;#\"'<>\\)]{6}|(?<![?&;]key=)[^\s&;#\"'<>\\)]{10})[^\s&;#\"'<>\\)]*",
    ),
    (
        [f"{word}{sign}" for word in ("password", "secret", "_token") for sign in "\"'\\="],  # of JSON, an argument
        r"(?i:((?:password|secret|(?:access|refresh|id|auth|session|bearer)_?token)"
        r"(?:\\{0,3}[\"']\s{0,3}[:=]\s{0,3}|=)\\{0,3}[\"']))(?!(?i:required|invalid|missing|incorrect|expired|undefined))"
        r"[^\s\"'\\<>{}\[\]]{6,200}(?=\\{0,3}[\"'])",
    ),
    (["sk-", "xox", "xapp-", "glpat-", "nvapi-"], rf"{_START}(?:sk|xox[a-z]|xapp|glpat|nvapi)-{_PARTS}{_MIXED}"),
    (["_"], rf"{_START}[prs]k_(?:live|test)_[A-Za-z0-9]{{16,}}"),
    (["akia", "asia"], rf"{_START}(?:AKIA|ASIA)[A-Z0-9]{{16}}(?![A-Za-z0-9])"),
    (
        ["_", "xai-", "pplx-", "key-"],
        rf"{_START}(?:gh[oprsu]_|github_pat_|hf_|gsk_|npm_|xai-|pplx-|key-)[A-Za-z0-9]{{20,}}[\w-]*",
    ),
    (["aiza"], rf"{_START}AIza[\w-]{{30,}}"),
    (["ya29."], rf"{_START}ya29\.[\w-]{{20,}}"),
    (["eyj"], r"(?:(?<![\w-])|(?<=\\[nrt]))eyJ[\w-]{8,}+\.[\w-]{8,}+(?:\.[\w-]*)?"),
)


_BY_RARITY = " etaoinshrdlcumwfgypbv.kjxqz-:29/_=\"'\\"  # the characters of these texts, the commonest first


@cache
def _shapes() -> Sequence[tuple[str, str, re.Pattern[str], str]]:
    """Return a row for each text that occurs in a kind of key, with its rarest character.

    To find the text is twenty times as quick as the pattern, and to find a character up to fifty times as the text.
    """
    compiled = [(markers, re.compile(pattern, re.ASCII)) for markers, pattern in _KINDS]
    return tuple(
        (
            max(marker, key=_BY_RARITY.index),
            marker,
            pattern,
            "".join(rf"\{n + 1}" for n in range(pattern.groups)) + MASK,
        )
        for markers, pattern in compiled
        for marker in markers
    )


@dataclass(slots=True)
class Redactor:
    """Masks known secrets, matches of the user's patterns, and texts that look like a key or a password.

    It may learn more of them: everything that shares it masks these, too, from then on.
    """

    secrets: tuple[str, ...] = field(default=(), repr=False)
    patterns: tuple[re.Pattern[str], ...] = ()

    @classmethod
    def of(cls, values: Iterable[object], *, patterns: Sequence[str | re.Pattern[str]] = ()) -> "Redactor":
        """Know `values` (the options of a model) and the environment's keys, tokens, secrets and passwords.

        `patterns` are regular expressions of further secrets. Raises DefinitionError for an invalid pattern.
        """
        values = list(values)
        environment = [value for name, value in os.environ.items() if _NAMES.search(name) and not _is_word(name, value)]
        environment += [part for value in os.environ.values() if "://" in value for part in _PASSWORD.findall(value)]
        environment += [part for name, value in os.environ.items() if _BASES.search(name) for part in secrets_in(value)]
        sent = [each for name, value in os.environ.items() if name.endswith(_SENT) for each in value.split(",")]
        headers = secret_headers({each.partition("=")[0]: unquote(each.partition("=")[2]) for each in sent})
        known = {str(value) for value in (*values, *environment, *headers) if value}
        given = {str(value) for value in values if len(str(value)) >= SHORTEST_LEARNT and _DIGIT.search(str(value))}
        found = {form for value in known if value in given or _is_secret(value) for form in _forms(value)}
        return cls(tuple(sorted(found, key=len, reverse=True)), tuple(_compiled(pattern) for pattern in patterns))

    def learn(self, values: Iterable[object]) -> None:
        """Know further secrets: those of an app, which is not known when a run is made ready."""
        known = {str(value) for value in values}
        found = {form for value in known if _is_secret(value, SHORTEST_LEARNT) for form in _forms(value)}
        self.secrets = tuple(sorted({*self.secrets, *found}, key=len, reverse=True))

    def clean(self, text: str) -> str:
        """Return the text with every secret masked."""
        for secret in self.secrets:
            text = text.replace(secret, MASK)
        if CUT in text and self.secrets:
            text = self._without_beginnings(text)
        for pattern in self.patterns:
            text = pattern.sub(_mask, text)
        lowered = text.lower()
        for rarest, marker, shape, masked in _shapes():
            if rarest in lowered and marker in lowered:
                text = shape.sub(masked, text)
        return text

    def name(self, name: str) -> str:
        """Return a name with every secret masked; a mark distinguishes names that differ only in these."""
        return _marked(name, self.clean(name))

    def _without_beginnings(self, text: str) -> str:
        """Return a text that masks the beginnings of secrets quoted up to a cut."""
        begins = re.compile("|".join({re.escape(secret[:SHORTEST_LEARNT]) for secret in self.secrets}))
        for found in reversed([*begins.finditer(text)]):
            end = text.find(CUT, found.end())
            if end > 0 and any(secret.startswith(text[found.start() : end]) for secret in self.secrets):
                text = f"{text[: found.start()]}{MASK}{text[end:]}"
        return text


def clean_values(value: object, clean: Callable[[str], str]) -> Any:
    """Return a value with `clean` applied to every text in it, however deep; any other object becomes its text."""

    def leaf(found: object) -> Any:
        if isinstance(found, str):
            return clean(found)
        is_number = found is None or isinstance(found, (int, float, SupportsFloat))  # also a number of numpy's
        return found if is_number else clean(str(found))

    return nested(value, leaf, name=lambda key, taken: unused_name(clean(str(key)), taken))


def cleaned(conversation: Conversation, clean: Callable[[str], str]) -> Conversation:
    """Return a conversation clean of secrets, in the form that a journal gives back."""
    return replace(conversation, messages=tuple(_cleaned_message(message, clean) for message in conversation.messages))


def _cleaned_message(message: Message, clean: Callable[[str], str]) -> Message:
    content = clean(message.content)
    if content == message.content and not message.tool_calls and not message.metadata:
        return message  # as most are
    return replace(
        message,
        content=content,
        tool_calls=tuple(clean_values(plain(call), clean) for call in message.tool_calls),
        metadata=clean_values(plain(message.metadata), clean) if message.metadata else {},
    )


def unused_name(name: str, taken: Collection[str]) -> str:
    """Return a name that is not taken: two that are alike, or differ in a masked part, stay two."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} ({number})"
    return free


def is_secret_name(name: str) -> bool:
    """Return whether a name marks its value as secret."""
    return _NAMES.search(name) is not None


def secret_options(options: Mapping[str, object]) -> list[object]:
    """Return the values of the options with a secret name, and of all headers."""
    found: list[object] = []
    for name, value in options.items():
        if isinstance(value, Mapping):
            found += secret_headers(value) if name in _HEADERS else secret_options(value)
            found += value.values() if name in _QUERIES else ()
        elif _NAMES.search(name):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += [secret for each in value if isinstance(each, Mapping) for secret in secret_options(each)]
    return found


def secret_headers(headers: Mapping[Any, object]) -> list[object]:
    """Return the values of headers, and their parts: the key behind a scheme ("Bearer ..."), the values of cookies."""
    values = [str(value) for name, value in headers.items() if str(name).lower() not in _OPEN_HEADERS]
    parts = [part for value in values for part in (*value.split()[-1:], *_NAMED_VALUE.findall(value))]
    return [*values, *parts]


def _is_secret(value: str, shortest: int = SHORTEST) -> bool:
    return len(value) >= shortest and value.lower() not in _PLACEHOLDERS


def _is_word(name: str, value: str) -> bool:
    """Return whether a variable or an option has words as its value: LICENSE=accepted masks no conversation."""
    return _OFTEN_WORDS.search(name) is not None and _WORDS.fullmatch(value) is not None


def _forms(value: str) -> set[str]:
    """Return a secret as it is, and as JSON, URLs and pages of HTML write it."""
    in_json = {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    return {value, escape(value), *in_json, *(quote(value, safe=kept, errors="replace") for kept in _KEPT_IN_URLS)}


def _compiled(pattern: str | re.Pattern[str]) -> re.Pattern[str]:
    """Compile a pattern of the user's. Raises DefinitionError if it is invalid, or would match everywhere."""
    written = pattern.pattern if isinstance(pattern, re.Pattern) else pattern
    where, do = f"secret pattern {written!r}", "write a regular expression that matches a secret and nothing else"
    if not isinstance(written, str):
        raise DefinitionError(where, found=f"found {type(written).__name__}", do=do)
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise DefinitionError(where, found=f"it is no regular expression ({error})", do=do) from error
    if compiled.search("") is not None:
        raise DefinitionError(where, found="it matches the empty text", do=do)
    return compiled


def _mask(match: re.Match[str]) -> str:
    return MASK if match[0] else ""


MARK = 6  # hexadecimal digits that distinguish names shown alike
_ROUNDS = 100_000  # so that a short password cannot be guessed from the mark at any speed
_WORD = (
    r"(?:key|token|secret|passw(?:or)?d|passphrase|pass|pwd|auth|bearer|jwt|cookie|credentials?|signature|sig|code|"
    r"licen[cs]e|(?<![a-z])(?:pat|pin|otp|sas|dsn|sid|pw))"
)
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
_COMMAND = re.compile(r"(?:--?[\w-]+=)?(?:cmd|mcp):(?!\w+://)")  # an app, perhaps as an argument: --app=cmd:...
_REDACTOR = Redactor()
_LONGEST_FORM = 32
_NAMING = re.compile(r"(?<![\w-])(?!a2a:|agui:)[\w-]{1,30}:\Z")  # before an address: mcp:URL#TOOL, openai:URL#MODEL
_CODE = re.compile(
    r"^([ |]*File \".*\n)(?![ |]*File )(.*)(\n[ |]*[~^][~^ ]*$)?", re.MULTILINE
)  # of a traceback, and its carets
_TEXTS = re.compile(r"\"(?:[^\"\\]|\\.)*(?:\"|$)|'(?:[^'\\]|\\.)*(?:'|$)")


def shown_name(name: str) -> str:
    """Return a name without its secrets; a mark distinguishes names that differ only in these."""
    return _marked(name, shown(name))


def _marked(name: str, masked: str) -> str:
    return name if masked == name else f"{masked} ({mark_of(name)})"


def traceback_of(error: BaseException) -> str:
    """Return the traceback of an error whose lines of code have no texts: one of them may be a secret."""
    return _CODE.sub(_without_texts, "".join(format_exception(error)))


def _without_texts(found: re.Match[str]) -> str:
    code = _TEXTS.sub(lambda text: text[0] if len(text[0]) < SHORTEST else CUT, found[2])
    return f"{found[1]}{code}{found[3] if code == found[2] else ''}"


def shown(text: str) -> str:
    """Return an address or a command line without its secrets."""
    return _read(text)[0]


def secrets_in(text: str) -> list[str]:
    """Return the secret values of an address or a command line, as they are written there and as they are sent."""
    return _read(text)[1]


def read_address(address: str) -> tuple[str, list[str]]:
    """Return an address, perhaps a relative one, without its secrets, and these."""
    found: list[str] = []
    return _address(address, found, is_named=False), found


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
    masked = _URL.sub(lambda url: _address(url[0], found, is_named=_is_named(text, url.start())), text)
    if _COMMAND.match(text):
        for pattern in _ARGUMENTS:
            masked = pattern.sub(lambda each: _argument(each, found), masked)
    return _REDACTOR.clean(masked), found


def _is_named(text: str, start: int) -> bool:
    """Return whether the fragment of an address is a name: that of a tool or a model."""
    return _NAMING.search(text, max(0, start - _LONGEST_FORM), start) is not None


def _address(url: str, found: list[str], *, is_named: bool) -> str:
    def user(each: re.Match[str]) -> str:
        if _PLACES.fullmatch(each[1]):
            return each[0]
        name, _, password = each[1].partition(":")
        found.extend({password or name, unquote(password or name)})
        found.append(b64encode(f"{unquote(name)}:{unquote(password)}".encode("utf-8", "replace")).decode())
        return f"{MASK}@"

    def value(each: re.Match[str]) -> str:
        name, said = each[1] or "", each[2]
        names_it = is_named and not name and each.string[each.start() - 1] == "#"
        if names_it or _PLACES.fullmatch(said):
            return each[0]
        is_word = _WORD_IN_URLS.fullmatch(said) is not None  # mode=customer masks no conversation
        if (len(said) >= SHORTEST and not is_word) or _SECRET_NAME.search(name.removesuffix("=")):
            found.extend({said, unquote_plus(said)})
        return f"{name}{MASK}"

    return _QUERY.sub(value, _USER.sub(user, url))


def _argument(each: re.Match[str], found: list[str]) -> str:
    said = each[2].strip("\"'")
    if not said or MASK in said or _PLACES.fullmatch(said):
        return each[0]
    if not _is_word(each[1].rstrip(" ="), said):
        found.extend({said, said.split()[-1]})  # also the key behind a header's scheme
    return each[0].replace(said, MASK) if not each[1] else f"{each[1]}{each[2].replace(said, MASK)}"
