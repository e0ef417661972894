"""The embedded judge's answers to scorers: read from the words of the prompt, and always the same."""

import re
from collections.abc import Mapping
from typing import Any

LONG_WORD = 4  # letters: shorter ones are not compared with the context

_TAG = r"<{0}>\n(.*?)\n</{0}>"
_ITEM = re.compile(r'<item number="(\d+)">\n(.*?)\n</item>', re.DOTALL)
_CAPITALISED = re.compile(r"\b[A-Z][a-z]+\b")


def scorer_reply(system: str, user: str) -> dict[str, Any]:
    """Answer a scorer in the form that its system prompt asks for."""
    if '"entities"' in system:
        return {"entities": _CAPITALISED.findall(_content(user, "text"))}
    output, source = _content(user, "output"), _source(user)
    if '"claims"' in system:
        sentences = [each.strip() for each in output.split(".") if each.strip()]
        claims = [{"claim": s, "reasoning": "its words", "supported": _covers(source, s)} for s in sentences]
        return {"claims": claims}
    if '"preferred"' in system:
        return {"reasoning": "its words", "preferred": _better(user)}
    if '"rulings"' in system:
        return {"rulings": _rulings(user, output)}
    if '"grade"' in system:
        return {"reasoning": "its words", "grade": "excellent" if _covers(source, output) else "poor"}
    if '"questions"' in system:
        return {"noncommittal": not output.strip(), "questions": [output or "?"]}
    if "from 1 to 5" in system:
        return {"reasoning": "its words", "score": 1 + round(4 * _share(_content(user, "reference"), output))}
    if '"score"' in system:
        return {"reasoning": "its words", "score": _share(_content(user, "input"), _content(user, "context"))}
    return {"reasoning": "its words", "met": _covers(source, output)}


def _rulings(user: str, output: str) -> Mapping[str, Any]:
    """Rule on each criterion by its words in the output, or on each document by the input's words in it."""
    criteria = [text.partition(":") for _, text in _ITEM.findall(_content(user, "criteria"))]
    documents = _ITEM.findall(_content(user, "context")) or [("1", _content(user, "context"))]
    found = (
        {name: _share(text, output) > 0 for name, _, text in criteria}
        if criteria
        else {
            number: _share(_content(user, "reference") or _content(user, "input"), text) > 0
            for number, text in documents
        }
    )
    return {name: {"reasoning": "its words", "met": met} for name, met in found.items()}


def _better(user: str) -> str:
    """Prefer the answer that has more of the input's long words."""
    wanted = _content(user, "input")
    first, second = (_share(wanted, _content(user, place)) for place in ("first", "second"))
    return "tie" if first == second else "first" if first > second else "second"


def _source(user: str) -> str:
    return _content(user, "context") or _content(user, "reference") or _content(user, "input")


def _content(user: str, tag: str) -> str:
    found = re.search(_TAG.format(tag), user, re.DOTALL)
    return found[1] if found else ""


def words(text: str) -> list[str]:
    """Return the words of a text, in lower case."""
    return re.findall(r"\w+", text.lower())


def _long(text: str) -> set[str]:
    return {word for word in words(text) if len(word) >= LONG_WORD}


def _covers(source: str, text: str) -> bool:
    return _long(text) <= _long(source)


def _share(wanted: str, text: str) -> float:
    """Return the share of the long words of one text that another has."""
    words = _long(wanted)
    return len(words & _long(text)) / len(words) if words else 0.0
