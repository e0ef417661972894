"""Images and other data in messages: as a person and a judge are shown them, such as [image/png, 300 kB]."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

SHORT = 1_000  # characters; shorter texts hold no data that is worth a name
LONG_WORD = 60  # characters; data has no shorter lines
KINDS = ("image", "audio", "video", "file", "document")  # words in the type of a part that is no text
PARTS = "content_parts"  # in a message's metadata: its content in parts, if some are no text
_TYPES = ("mediaType", "media_type", "mimeType", "mime_type")
_WORD = r"[A-Za-z0-9+/_-]"
_LONG = re.compile(rf"{_WORD}{{{LONG_WORD}}}")
_DATA = re.compile(
    rf"data:(?P<type>[\w.+-]+/[\w.+-]+)?(?:;[\w.=+-]+)*,(?P<data>[^\s\"'<>()\[\]]{{100,}})"
    rf"|(?<!{_WORD})(?P<bare>{_WORD}{{500,}}={{0,2}}|(?:{_WORD}{{60,76}}\r?\n){{8,}}{_WORD}*={{0,2}})"
)
_BEGINNINGS: Mapping[str, str] = {  # of data in base 64
    "iVBORw0KGgo": "image/png",
    "/9j/": "image/jpeg",
    "R0lGOD": "image/gif",
    "UklGR": "image/webp",
    "JVBERi0": "application/pdf",
    "SUQz": "audio/mpeg",
}


def shown(text: str) -> str:
    """Return a text with data, such as an image in base 64, replaced by its kind and size."""
    if len(text) < SHORT or max(map(len, text.split()), default=0) < LONG_WORD:
        return text  # twenty times as quick as to search
    if "data:" not in text and _LONG.search(text) is None:
        return text  # seven times as quick
    return _DATA.sub(_named, text)


def part_name(part: Mapping[str, Any]) -> str | None:
    """Return the name of a part of a message that is no text, in whichever form it is written; None for another."""
    told = " ".join([str(part.get("type") or ""), *map(str, part)]).lower()
    kind = next((each for each in KINDS if each in told), None)
    data_keys = {"inlineData", "inline_data", "fileData", "file_data"} & part.keys()
    if (kind is None and not data_keys) or isinstance(part.get("text"), str):
        return None
    inside = list(_texts(part))
    named = next((value for key, value in inside if key in _TYPES), None)
    data = max((value for _, value in inside), key=len, default="")
    uri = _DATA.fullmatch(data)
    if uri is not None and uri["type"]:
        return _name(named or uri["type"], data)
    is_data = len(data) >= 24 and re.fullmatch(rf"{_WORD}+={{0,2}}", data) is not None
    return _name(named or _type_of(data, kind or "file"), data) if is_data else f"[{named or kind or 'file'}]"


def has_parts(content: object) -> bool:
    """Return whether the content of a message has a part that is no text."""
    return isinstance(content, list) and any(isinstance(each, Mapping) and part_name(each) for each in content)


def content_text(content: object) -> str:
    """Return the text of a message's content, its other parts by their names."""
    if isinstance(content, str):
        return content
    found = []
    for part in content if isinstance(content, list) else ():
        text = part.get("text") or part_name(part) if isinstance(part, Mapping) else part
        found += [str(text)] if text else []
    return "\n".join(found)


def _texts(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield the texts in a part, each with its key."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from _texts(each, str(name))


def _named(found: re.Match[str]) -> str:
    if found["data"] is not None:
        return _name(found["type"] or "data", found[0])
    bare = found["bare"]
    is_mixed = all(any(map(test, bare)) for test in (str.isupper, str.islower, str.isdigit))
    return _name(_type_of(bare, "base64"), bare) if is_mixed else bare


def _type_of(data: str, otherwise: str) -> str:
    return next((kind for begin, kind in _BEGINNINGS.items() if data.startswith(begin)), otherwise)


def _name(kind: str, data: str) -> str:
    """Return the name of data, with its size: of base 64 three bytes in four characters."""
    payload = data.partition(",")[2] if data.startswith("data:") else data
    size = len(payload) * 3 // 4 if not data.startswith("data:") or ";base64," in data[:200] else len(payload)
    shown_size = f"{size} bytes" if size < 1000 else f"{size / 1e3:.0f} kB" if size < 1e6 else f"{size / 1e6:.1f} MB"
    return f"[{kind}, {shown_size}]"
