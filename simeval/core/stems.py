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


GENERIC = content_stems(
    "want wants need needs ask asks asking try tries know like help find out question questions information make made "
    "go goes going look looking learn new wonder wonders thing things service support chat conversation first interact "
    "interacted"
)

_AKIN = tuple(
    content_stems(group)
    for group in (
        "arrive come comes coming deliver delivered delivery reach reaches receive due here land expect expected eta",
        "cost costs price prices charge fee fees pay paid free rate total expensive cheap much",
        "cancel cancellation cancelled call",
        "return send back refund money reimburse reimbursement repay",
        "change switch swap move reschedule modify update exchange replace",
        "open opens opening hours closed close closes",
        "buy order purchase book booking reserve reservation",
        "size sizes fit fits fitting small large big",
        "warranty guarantee guaranteed covered",
        "track tracking where location whereabouts parcel package shipment",
        "invoice receipt bill",
        "insured insurance insure",
        "luggage bag bags baggage suitcase",
        "discount voucher coupon code deal reduction off",
    )
)


def kin(stems: frozenset[str]) -> frozenset[str]:
    """Return stems with those of words of like meaning, such as "cost" and "price"."""
    return stems.union(*(group for group in _AKIN if group & stems))


def is_akin(one: str, other: str) -> bool:
    """Return whether two stems begin alike, as words of one family do."""
    return len(one) >= 5 and one[:5] == other[:5]
