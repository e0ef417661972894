"""Faults of simulated users in the facts of their messages: changed, or made up."""

import re
from collections.abc import Iterator, Sequence

from rapidfuzz.distance import Levenshtein

from simeval.core.identifiers import Identifier, identifiers, squeezed
from simeval.core.phrases import find_all
from simeval.engine.users.talk import Found, Talk, UserFault

MOST_CHANGED = 2  # characters by which an identifier is a wrong form of the other, or
CHANGED_OF = 5  # one in so many characters of a long one
LEAST_DIGITS = 7  # of a number without letters that is invented
_EMAIL = "e-mail"
_FOUR_DIGITS = re.compile(r"\d{4}")
_CARD_END = re.compile(
    r"(?:ending|ends|endet|endend|termina|terminad\w|finissant|que\s+acaba)\s+(?:in|with|auf|en|par|em|con)\s+(\d{4})\b",
    re.I,
)


def changes_fact(talk: Talk) -> Found:
    """Find identifiers that are nearly earlier ones; a user who writes the right one beside it corrects itself."""
    if not any(identifiers(text) for _, text in talk.user):
        return
    known = list(identifiers(talk.script))
    script = squeezed(talk.script)
    for place, text in talk.user:
        for each in identifiers(text):
            bare = squeezed(each.value)
            if bare in script or bare in "".join(map(squeezed, talk.app_before(place))):
                continue
            for before in known:
                if _is_told_wrong(each, before) and before.value not in squeezed(text):
                    yield UserFault("changes_fact", place, f"{each.written!r}, and before {before.written!r}")
            known.append(each)


def _is_told_wrong(each: Identifier, before: Identifier) -> bool:
    """Return whether an identifier is nearly another one; one that is quite different may name another thing."""
    most = max(MOST_CHANGED, len(before.value) // CHANGED_OF)
    return before.shape == each.shape and 0 < Levenshtein.distance(before.value, each.value) <= most


def invents_fact(talk: Talk) -> Found:
    """Find identifiers, and a name of the user's own, that nobody has given; only if the script has such a one."""
    tells_one = any(identifiers(text) or _FOUR_DIGITS.search(text) for _, text in talk.user)
    known = identifiers(talk.script) if tells_one else ()
    names_one = any(find_all("given name", talk.scenario.given))
    for place, text in talk.user:
        told = [*_told(text, known), *(_own_names(text) if names_one else ())]
        if not told:
            continue
        heard = "".join(map(squeezed, [talk.script, *talk.before(place)]))
        for written, parts in told:
            if not any(squeezed(part) in heard for part in parts):
                yield UserFault("invents_fact", place, repr(written))


def _told(text: str, known: Sequence[Identifier]) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the identifiers of a text, as they are written and compared, of sorts that are known."""
    has_email = any(each.shape == _EMAIL for each in known)
    has_code = any(each.shape != _EMAIL for each in known)
    for each in identifiers(text):
        is_short = each.value.isdigit() and len(each.value) < LEAST_DIGITS  # a ZIP code, an extension
        if (has_email if each.shape == _EMAIL else has_code) and not is_short and not _is_near(each, known):
            yield each.written, (each.value,)
    if has_code and _FOUR_DIGITS.search(text):
        yield from ((match[0], (match[1],)) for match in _CARD_END.finditer(text))


def _own_names(text: str) -> Iterator[tuple[str, Sequence[str]]]:
    for match in find_all("own name", text):
        name = next(filter(None, match.groupdict().values()))
        yield name, name.split()


def _is_near(each: Identifier, known: Sequence[Identifier]) -> bool:
    """Return whether an identifier is a wrong form of a known one, which is another fault."""
    return any(_is_told_wrong(each, before) for before in known)
