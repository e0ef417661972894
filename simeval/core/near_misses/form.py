"""Near misses of form: answers in another form than is asked for, in English.

They are put in the courtesy of other near misses, but those in another language (`WHOLE`).
"""

import re
from collections.abc import Iterator, Sequence

_NOT = r"\b(?:(?:does|do|is|should|must|may|will)? ?(?:not|never)|no|without|avoids?|refrains? from|free of|lacks?)\b"
_DENIED = re.compile(rf"^.*?{_NOT} ?(?:any |using |the use of )?", re.IGNORECASE)
_NUMBERS = {
    word: number
    for number, word in enumerate(["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], 1)
}
_LIMIT = re.compile(
    r"(?<!at least )(?<!minimum of )(?<!(?<!no )(?<!not )more than )\b(?P<many>\d+|a single|single|"
    + "|".join(_NUMBERS)
    + r") (?:short |simple )?(?P<unit>words?|sentences?|paragraphs?|lines?|characters?|questions?)\b",
    re.IGNORECASE,
)
_BEYOND = re.compile(r"(?:more than|exceed\w*|over|above|beyond|longer than) $", re.IGNORECASE)
_OR_MORE = re.compile(r"^ (?:or (?:more|longer)|at (?:the )?(?:very )?least|minimum)\b", re.IGNORECASE)
_NEW_PART = re.compile(r",|\b(?:and|but)\b")
_IN_PART = re.compile(  # denied, it leaves a part of a feature allowed, or asks for it
    r"\b(?:more|than|too|many|long|fewer|less|exceed\w*|over|without|leav\w+|omit\w*|forget\w*|skip\w*|drop\w*|fails?)\b",
    re.IGNORECASE,
)
_AT_MOST = re.compile(r"\b(?:up to|at most|no more than|(?:fewer|less) than|maximum)\b", re.IGNORECASE)
_AT_WILL = re.compile(
    r"\b(?:sparing\w*|if|only (?:when|where|for)|(?:when|where) (?:needed|necessary|appropriate|helpful|useful))\b",
    re.IGNORECASE,
)
_BRIEF = re.compile(r"\b(?:brief(?:ly)?|concise(?:ly)?|succinct(?:ly)?|terse(?:ly)?|short|to the point)\b", re.I)
_FEATURE = re.compile(
    r"\b(?:(?:numbered |bullet(?:ed)? |ordered )lists?|bullet points?|bullets|(?:hyper)?links?|urls?|emojis?|"
    r"headings?|code blocks?|markdown|json|bold|step[ -]by[ -]step|one by one|ends? with a question|"
    r"(?:as|in) (?:a |the form of a )?(?:list|table))\b",
    re.IGNORECASE,
)
_HAS_FORM = re.compile(
    r"^(?:\w+ly )*(?:is|are|be|uses?|(?:has|have)(?! \w+(?:ed|nt|ne|en)\b)|"
    r"contains?|includes?|answers?|repl(?:y|ies)|responds?|gives?|lists?|"
    r"shows?|ends?|formats?|presents?|writes?|explains?|keeps?|stays?|speaks?|avoids?|does|do|never|not|asks?|put|limits?|provides?|"
    r"refrains?)\b",
    re.IGNORECASE,
)
_PLAIN = (
    "As to the {what}, I thought that plain prose would serve you just as well: everything has been "
    "taken care of, and you may go ahead as you planned.",
    "Instead of the {what} I have put it into this plain text: all of it is settled, the rest follows from the page "
    "that you have seen, and you may go on from there.",
)
_LONG = (
    "As for {what}, I would rather go through the whole matter with you from its very beginning.",
    "First of all, allow me to say how much we value every single message that reaches us.",
    "Our team was founded by people who care, and that is still the spirit of all that we do today.",
    "Many customers have asked similar things over the years, each of them in their own words.",
    "There is a good deal of background to it, and I find all of it worth telling.",
    "Some of it goes back to the early days, when everything was still done on paper.",
    "Later on the paper was replaced, and with it much of what people had been used to.",
    "That, in turn, led to many changes, which I would be glad to describe one after another.",
    "Before I come to the heart of the matter, let me add a few remarks on the general situation.",
    "The general situation has been changing for a while, and it will surely go on changing.",
    "With all of that in mind, we can slowly begin to turn to what you have asked.",
    "It has been taken care of, and I hope that this overview was as interesting to read as it was to write.",
)
_LENGTHY = (" ".join(_LONG), " ".join([_LONG[0], *_LONG[:0:-1]]))
_LONG_WORDS, _LONG_CHARACTERS = 150, 800  # nearly as many as the long text has; a higher limit has no near miss
_QUESTIONS = (
    "I have a question or two, or rather several: which day suits you best? How many people will come? Is there a "
    "budget? Which colour do you prefer? Where did you hear of us? And may I have your address, please?",
    "Just one question, and a few more with it: what is your name? When were you born? Where do you live? What do you "
    "do for a living? Whom shall we call? And how would you like to pay?",
)
_UNWANTED: Sequence[tuple[re.Pattern[str], tuple[str, str]]] = (
    (
        re.compile(r"\b(?:jargon|technical (?:terms?|language|words?)|acronyms?|abbreviations?)\b", re.IGNORECASE),
        (
            "{what} first: the RMA is queued behind an idempotent L2 webhook, so the SLA of your OAuth-scoped API "
            "token depends on the TTL of the upstream CDN edge cache.",
            "{what} it is: the ACK of your PSTN ingress was load-balanced to a stateless k8s pod, whose mTLS handshake "
            "is still pending in the EDI middleware.",
        ),
    ),
    (
        re.compile(r"\bemojis?\b", re.IGNORECASE),
        ("{what} for you: 🎉😀👍 all is settled 🥳🌟🚀!", "All is settled 😀🎉, {what} included 🌈🔥💯!"),
    ),
    (
        re.compile(r"\b(?:markdown|bullet points?|bullets|(?:bullet(?:ed)? |numbered )?lists?|headings?|bold)\b", re.I),
        (
            "## {what}\n- **First**: all is settled.\n- **Second**: you may go ahead.\n1. Read it.\n2. Enjoy it.",
            "# {what}\n1. **All is settled.**\n2. **You may go ahead.**\n- one more bullet\n- and another one",
        ),
    ),
    (
        re.compile(r"\b(?:slang|colloquial\w*|casual\w*|informal\w*)\b", re.IGNORECASE),
        (
            "Yo dude, thanks a bunch! {what}? Whatever, bro: it's all sorted, no cap, so gimme a shout, ya feel me?",
            "Heya buddy, lemme tell ya: {what} is for suckers. Stuff's sorted, wanna chill now? Laters, mate!",
        ),
    ),
    (
        re.compile(r"\bexclamation (?:marks?|points?)\b", re.IGNORECASE),
        ("{what}: here you are! All is settled! Enjoy it!", "All is settled! {what} or anything else! Enjoy it!"),
    ),
)
_FORMAL = re.compile(r"\b(?:formal(?:ly)?|formality)\b", re.IGNORECASE)
_SIMPLE = re.compile(r"\b(?:plain|simple|easy|everyday|lay\w*) (?:language|words|terms|english)\b", re.IGNORECASE)
_OTHER_LANGUAGE = re.compile(
    r"\b(?:the|same|their|your|his|her) (?:\w+ )?language\b|\blanguage of the\b|\bin (?P<name>English|German|Spanish|"
    r"French|Italian|Portuguese|Dutch|Japanese|Chinese|Arabic|Polish|Turkish|Russian)\b",
    re.IGNORECASE,
)
_FINNISH = (
    "Kiitos viestistäsi, autan oikein mielelläni! ({what}, please?) Kaikki on nyt hoidettu ja asia on kunnossa, joten "
    "voit jatkaa aivan kuten suunnittelit.",
    "Hauskaa, että kirjoitit meille! ({what}, thank you.) Asia on selvitetty ja kaikki muukin on valmista, joten "
    "sinun on turha huolehtia siitä enää.",
)
_ENGLISH = (
    "Thank you for writing, and I am glad to help. As to {what}, English has to do: all is settled, and you may go on.",
    "It is a pleasure to help you, in English and {what} aside: please go on, as all is settled and nothing is open.",
)


_WANTED = ((_FEATURE, _PLAIN), (_BRIEF, _LENGTHY), (_FORMAL, _UNWANTED[3][1]), (_SIMPLE, _UNWANTED[0][1]))
_FEATURES = {
    "ends with a question": "question",
    "one by one": "single steps",
    "brief": "brief answer",
    "short": "short answer",
}


def contraries_of_form(clause: str) -> tuple[str, ...]:
    """Return two answers in another form than an English clause asks for; none if it is not on form."""
    return next(_of_form(clause), ()) if _HAS_FORM.match(clause) else ()


def bounds_form(clause: str) -> bool:
    """Return whether a clause limits or forbids a form: its answers cannot be changed as others are."""
    is_denied = re.search(_NOT, clause, re.IGNORECASE) and any(each.search(clause) for each, _ in _UNWANTED)
    return bool(_HAS_FORM.match(clause) and (is_denied or _LIMIT.search(clause)))


_AT_LEAST = re.compile(
    r"\b(?:at least|minimum of|(?<!no )(?<!not )more than) (?P<many>\d+) "
    r"(?P<unit>words|sentences|paragraphs|characters)\b",
    re.IGNORECASE,
)
_SHORT = (
    "You asked for {what}, and I would rather keep it short: all is settled.",
    "As to {what}, a short line has to do: please go ahead as planned.",
)
_SHORT_OF = {"words": 80, "sentences": 6, "paragraphs": 2, "characters": 400}  # more than a short answer has


def _of_form(clause: str) -> Iterator[tuple[str, ...]]:
    """Yield pairs of answers in another form than a clause asks for."""
    if (least := _AT_LEAST.search(clause)) and int(least["many"]) >= _SHORT_OF[least["unit"].lower()]:
        yield _filled(_SHORT, least[0].lower())
    if limit := _LIMIT.search(clause):
        if _is_upper(limit):
            yield _beyond(limit)
        return
    denial, formal = re.search(_NOT, clause, re.IGNORECASE), _FORMAL.search(clause)
    if denial and not (formal and formal.start() < denial.start()):
        denied = _DENIED.sub("", clause)
        unwanted = ((each.search(denied), texts) for each, texts in _UNWANTED)
        yield from (_filled(texts, at[0]) for at, texts in unwanted if at and not _IN_PART.search(denied[: at.start()]))
        return
    for asked, texts in _WANTED:
        if (found := asked.search(clause)) and not _is_at_will(found):
            yield _filled(texts, _FEATURES.get(found[0].lower(), found[0]))
    if found := _OTHER_LANGUAGE.search(clause):
        is_foreign = found["name"] and found["name"].casefold() != "english"
        yield _filled(_ENGLISH if is_foreign else _FINNISH, found[0])


def _is_upper(limit: re.Match[str]) -> bool:
    """Return whether a limit is one that answers are not to exceed."""
    before = limit.string[: limit.start()]
    is_denied = re.search(_NOT, _NEW_PART.split(before)[-1], re.IGNORECASE)
    is_least = before.endswith("minimum ") or _OR_MORE.match(limit.string[limit.end() :])
    return not is_least and bool(is_denied) == bool(_BEYOND.search(before))


def _is_at_will(found: re.Match[str]) -> bool:
    """Return whether answers without a feature are allowed, too."""
    return bool(_AT_WILL.search(found.string) or _AT_MOST.search(found.string[: found.start()]))


def _beyond(limit: re.Match[str]) -> tuple[str, ...]:
    """Return two answers that exceed a limit; none if they would be too long."""
    unit, many = limit["unit"].rstrip("s").lower(), limit["many"].lower()
    most = int(many) if many.isdigit() else _NUMBERS.get(many, 1)
    if unit == "question":
        return _filled(_QUESTIONS, "") if most < _QUESTIONS[0].count("?") else ()
    if most >= {"word": _LONG_WORDS, "character": _LONG_CHARACTERS}.get(unit, len(_LONG)):
        return ()
    texts = _filled(_LENGTHY, limit[0].lower())
    return tuple(text.replace(". ", ".\n\n") for text in texts) if unit in ("line", "paragraph") else texts


def _filled(texts: Sequence[str], what: str) -> tuple[str, ...]:
    filled = (each.format(what=what) for each in texts)
    return tuple(f"{each[:1].upper()}{each[1:]}" for each in filled)


WHOLE = tuple(text.split("!")[0] for text in _FINNISH)  # how answers begin that are shown as they are
