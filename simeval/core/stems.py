"""The words of an English text that carry meaning, without their endings."""

import re
from functools import lru_cache

_WORD = re.compile(r"[a-z0-9]+(?:['’][a-z]+)?")
_STOP = frozenset(
    """
    a about after all also am an and any app are as assistant at be been before being bot both but by can
    chatbot could customer did do does doing done during each every few for from further get gets give given
    gives had has have having he her here him his how i if in into is it its just may me might more most must
    my no nor not of off on once one only or other our out own person please same say says she should so some
    such system tell tells than that the their them then there these they this those to too under until up us
    use user user's users very was we were what when where which while who whom why will with would you your
    """.split()  # noqa: SIM905  (a word a line would be two pages)
)


@lru_cache(maxsize=2_000)
def content_stems(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that carry meaning."""
    return frozenset(stem(word) for word in _WORD.findall(text.lower()) if word not in _STOP)


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Cut the commonest English endings off a lower-case word."""
    word = word.split("'")[0].split("’")[0]
    for ending in ("ations", "ation", "ings", "ing", "ies", "ied", "ed", "es", "s", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word.rstrip("ey") if len(word) > 3 else word
