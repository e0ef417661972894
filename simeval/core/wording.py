"""The function of a message, by its wording alone: asks, promises, reports a thing done, hands over, offers help.

English first, with the commonest words of other languages, most of them in `phrases.jsonl`. In other languages a
question is still known by its mark.
"""

import re
from functools import cache, lru_cache
from itertools import pairwise
from unicodedata import category

from simeval.core.languages import is_common
from simeval.core.phrases import GENERIC, MOST_READ, candidates, content_stems, has, languages_of, search, typed

_REMEMBERED = lru_cache(maxsize=2_000)  # a message is read again at every turn, and by several detectors

_SENTENCE = re.compile(r"[^.!?？！。؟\n]+[.!?？！。؟]*")
_QUOTED = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|„[^“\n]*“|«[^»\n]*»")  # a question that is only quoted is not asked
_PROMISING_SENTENCES = 2  # the last of a message, in which a promise counts
_LAST_SENTENCES = 3  # of a message, in which a question still waits for an answer

_COURTESY = re.compile(
    r"""anything\s+(?:else|more|further)|something\s+else|what\s+else|any(?:\s+\w+){0,2}\s+(?:questions?|concerns?|needs?)
    |how\s+else\s+(?:can|may|could)\s+(?:i|we)\s+(?:\w+\s+)?(?:help|assist|be\s+of)
    |what\s+else\s+(?:can|may)\s+(?:i|we)\s+(?:do|help)|what\s+would\s+you\s+like\s+to\s+do\s+next|(?:else|more)\s+(?:i|we)\s+(?:can|could|may)
    |(?:can|may)\s+(?:i|we)\s+(?:do|help|assist)\s+(?:\w+\s+){0,3}(?:else|more|further)
    |(?:further|additional|other)\s+(?:help|assistance|questions?|requests?)|need\s+(?:any\s+)?(?:further\s+)?(?:help|assistance)
    |(?:does|did|is)\s+(?:that|this|it)\s+(?:\w+\s+)?(?:help|answer|okay|ok|clear|make\s+sense|what\s+you)
    |how\s+are\s+you|is\s+there\s+anything|will\s+that\s+be\s+all|is\s+that\s+all
    |noch\s+(?:etwas|was|eine?\s+frage)|sonst\s+noch|weiterhelfen|autre\s+chose|d'autres\s+questions|algo\s+m[aá]s
    |otra\s+(?:cosa|pregunta)|altro|mais\s+alguma|algo\s+mais|nog\s+iets|verder\s+helpen""",
    re.VERBOSE,
)
_REQUEST = re.compile(
    r"""\b(?:please\s+(?:\w+ly\s+)?(?:provide|share|tell|confirm|send|enter|specify|give|choose|select|reply|respond|answer|type|state|verify|describe|clarify|let\s+me\s+know)\b
    |let\s+me\s+know\s+(?:which|what|how|when|where|who|whether|your|the|once\s+you)\b
    |(?:i|we)(?:'ll|\s+will|\s+would|'d)?\s+(?:also\s+|just\s+|still\s+|first\s+)?need\s+(?:you\s+to|your|the|to\s+(?:know|verify|confirm|have))\b
    |(?:reply|respond|answer|say|type)\s+(?:with\s+)?["'“]?(?:yes|no|ok|confirm)\b
    |bitte\s+(?:\w+\s+){0,6}?(?:nennen|geben|teilen|bestätigen|schreiben|sagen)\b|(?:nennen|teilen|bestätigen)\s+sie\b
    |veuillez\b|por\s+favor,?\s+(?:ind|prop|conf|env|d[ií]g)\w*|per\s+favore\b)
    |\(\s*yes\s*/\s*no\s*\)""",
    re.VERBOSE,
)
_IF_MORE = re.compile(
    r"\bif\s+(?:you|there)(?:\s+\w+|'\w+){0,4}?\s+(?:any|anything|else|more|further|other|questions?|need)|\bany\s*time\b",
)
_HANDS_OVER = re.compile(
    r"""\b(?:transfer|connect|forward|escalat|hand|pass|put)\w*\b[^.?!]{0,60}\b(?:human|agent|agents|colleague|representative|specialist|manager|supervisor|person|someone|team|department|through)\b
    |\b(?:human|colleague|representative|specialist|supervisor|someone|team)\b[^.?!]{0,40}\b(?:will|shall)\s+(?:contact|call|e?-?mail|reach|get\s+back|take\s+(?:it\s+)?(?:over|from\s+here)|be\s+with\s+you)\b
    |\b(?:weiterleiten|verbinde\s+sie|leite\s+sie|transf[eé]r\w+|passo)\b""",
    re.VERBOSE,
)
_FIRST_SENTENCES, _LONGEST_REFUSAL = 2, 400  # of an outright refusal
_REFUSAL = re.compile(
    r"""\b(?:i|we)(?:\s+am|'m|\s+are|'re)?\s+(?:\w+\s+){0,2}?(?:can't|cannot|can\s+not|won't|will\s+not|couldn't|unable\s+to|not\s+able\s+to|not\s+allowed\s+to
        |not\s+permitted\s+to|must\s+not|may\s+not|(?:have\s+to|must)\s+(?:decline|refuse)|don't\s+(?:share|do|have\s+access|have\s+the\s+ability))\b
    |\b(?:against|violates?)\s+(?:my|our|the)\s+(?:\w+\s+)?(?:polic|rule|guideline|instruction)|\b(?:not\s+something|nothing)\s+i\s+can\b
    |\b(?:request|that)\s+(?:is|has\s+been)\s+(?:denied|refused|declined|blocked)|\A\W*no\b[.,!]
    |\bkann\s+ich\s+(?:\w+\s+){0,4}?nicht\b|\bich\s+(?:kann|darf)\s+(?:\w+\s+){0,4}?nicht\b|\bje\s+ne\s+peux\s+pas\b|\bno\s+puedo\b|\bnon\s+posso\b|\bnão\s+posso\b|\bik\s+kan\s+(?:\w+\s+){0,4}?niet\b""",
    re.VERBOSE,
)


@_REMEMBERED
def asks(text: str, *, after: str = "") -> bool:
    """Return whether a message asks for something that waits for an answer; "anything else?" does not.

    Its quotations do not count, nor text repeated from the message that it comes `after`.
    """
    own = typed((text.replace(after, " ") if after.strip() else text)[-MOST_READ:])
    last = [each for each in _SENTENCE.findall(_QUOTED.sub(" ", own)) if each.strip()][-_LAST_SENTENCES:]
    may_request = bool(candidates("request", " ".join(last)))  # in other languages than `_REQUEST`
    for sentence in last:
        if _COURTESY.search(sentence) or has("courtesy question", sentence):
            continue
        if sentence.rstrip().endswith(("?", "？", "؟")):
            return True
        if (_REQUEST.search(sentence) or (may_request and has("request", sentence))) and not _IF_MORE.search(sentence):
            return True
    return False


def asks_anything(text: str) -> bool:
    """Return whether a message asks at all, though only out of courtesy."""
    return asks(text) or any(mark in text for mark in "?？؟")


@_REMEMBERED
def promises(text: str) -> bool:
    """Return whether a message ends with a promise that something will be done, and does not report it done.

    Both are read in one language: "listo" does not end the promise of an English sentence.
    """
    end = "".join(_SENTENCE.findall(typed(text[-MOST_READ:]))[-_PROMISING_SENTENCES:])
    promised = languages_of("promise", end)
    return bool(promised and promised - languages_of("done", typed(text)))


@_REMEMBERED
def hands_over(text: str) -> bool:
    """Return whether a message passes the person on to somebody else."""
    return bool(_HANDS_OVER.search(typed(text[:MOST_READ])))


@_REMEMBERED
def refuses(text: str) -> bool:
    """Return whether a message only refuses: it does so at its beginning, and is short."""
    first = _SENTENCE.findall(typed(text[:MOST_READ]))[:_FIRST_SENTENCES]
    return len(text) <= _LONGEST_REFUSAL and any(map(_REFUSAL.search, first))


_SHOWS = re.compile(  # "... help you with a photo?", which a customer may ask
    r"\s*(?:there\s+|out\s+|by\s+|with|met|mit|avec|con|com)\s+(?:[^\W\d_]+\s+){0,2}"
    r"(?:photo|foto|picture|bild|screenshot|video|vídeo|scan)"
)


@_REMEMBERED
def assistant_phrase(text: str) -> str:
    """Return words of a message that an assistant uses and a person who wants something does not; "" without any."""
    found = search("assistant", typed(text))
    if not found or _SHOWS.match(typed(text), found.end()):
        return ""
    return text.replace("’", "'")[found.start() : found.end()].strip()


_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_ANY_WORD = re.compile(
    r"(?:[^\W_]|[\u0900-\u0903\u093a-\u094f\u0962\u0963])+(?:'[^\W_]+)*"
)  # with vowel signs of Hindi
_HEBREW_PREFIXES = "\u05d4\u05d1\u05dc\u05d5\u05e9\u05de\u05db"
_IDEOGRAPHS = re.compile(r"[\u3400-\u9fff]{2,}")
_KATAKANA = re.compile(r"[\u30a1-\u30fa\u30fc]{3,}")
_NAME = re.compile(r"[a-z0-9]*[0-9][a-z0-9]*")
_ASKING = frozenset(["什么", "怎么", "多少", "时候", "请问", "可以", "知道"])  # pairs that are about nothing
_WISHES = (  # words of a goal's form, and spans
    "möchte möchtest möchten will willst wollen wissen erfahren fragen fragst bitten bittet braucht brauchst veut veux "
    "voudrait savoir connaître demande demander souhaite quiere quieres saber preguntar pregunta necesita necesitas "
    "pedir además vuole vuoi sapere chiedere chiede desidera quer querem pergunta perguntar também precisa wilt weten "
    "vragen vraagt chce chcesz wiedzieć dowiedzieć zapytać prosi хочет хочешь хотите узнать спросить просит попросить "
    "нужно чтобы также θέλει θέλεις θέλετε μάθει μάθεις μάθετε ρωτήσεις ζητήσεις επίσης צריך צריכה רוצה לדעת לברר לבקש "
    "לשאול تريد يريد تريدين معرفة تعرف يعرف تطلب يطلب أيضا 싶다 알고 원하는 있는 싶어 हैं चाहते चाहती चाहता जानना पूछना "
    "करना चाहिए week weeks month months time times woche wochen monat semaine semana settimana weken maand tydzień "
    "неделя недели"
)
_KATAKANA_LETTERS, _SHORTEST_TOPIC = 3, 4
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")  # scripts in which spaces part no words
_MARKS = re.compile(
    r"\[\s*\w+(?:\s+\w+)?\s*\]|\(\s*(?:no|empty)\s+\w+\s*\)|<[^<>]*>|\b(?:n/?a|null|none|undefined|nan)\b", re.I
)
_ARROWS = 0x2190
_NOTHING = frozenset(["n", "a", "na", "null", "none", "undefined", "nan"])
_AGAIN = re.compile(
    r"\b(?:repeat|rephrase|(?:say|write|enter|type|try|send|tell|ask)\b[^.?!]{0,30}\bagain|once\s+more|differently|other\s+words|(?:did|do|could)(?:n't|\s+not)\s+(?:quite\s+)?"
    r"(?:understand|catch|get|follow)|understood|wiederholen|noch\s+einmal|répéter|repetir|ripetere)\b",
)

_AGREES = re.compile(
    r"\A\W*(?:yes|yeah|yep|sure|correct|that(?:'s|\s+is)\s+(?:right|correct)|ja|oui|s[ií]|sim)\b|\bgo\s+ahead\b|\bi\s+confirm\b"
    r"|\bplease\s+(?:proceed|continue|do\s+(?:it|so|that))\b",
)
_COURTEOUS = re.compile(
    r"\b(?:yes|no|yeah|nope|ok(?:ay)?|thanks?|thank|good|great|nice|fine|sounds?|works?|right|correct|sure|perfect|very|much|"
    r"so|lot|helpful|help|helping|all|that(?:'s)?|i(?:'m|'d|'ve)?|you(?:'ve|r)?|bye|goodbye|day|now|need|want|please|like|"
    r"would|appreciate|really|have|been|alright|confirm|again|will|for|me|this|it|is|to|can|do)\b",
)


@_REMEMBERED
def agrees(text: str) -> bool:
    """Return whether a message asks the other side to go on with something."""
    return bool(_AGREES.search(typed(text)))


def denies(text: str) -> bool:
    """Return whether a message begins with a no."""
    denial = search("denial", typed(text))
    return denial is not None and denial.start() <= 1


@_REMEMBERED
def told_words(text: str) -> tuple[str, ...]:
    """Return the words of a message that are no courtesy: courtesies are repeated again and again."""
    return words(_COURTEOUS.sub(" ", typed(text)))


@lru_cache(maxsize=10_000)  # of all messages, and not only of the last ones
def words(text: str) -> tuple[str, ...]:
    """Return the words of a message in small letters; of scripts without spaces, each sign."""
    typed = text.replace("’", "'")
    if text.isascii():
        return tuple(_WORD.findall(typed.casefold()))
    return tuple(_ANY_WORD.findall(_UNSPACED.sub(r" \g<0> ", typed).casefold()))


@_REMEMBERED
def topics(text: str) -> frozenset[str]:
    """Return the topics of a text, in any language: beginnings of its meaningful words, pairs of signs, names.

    Two texts that share one are about something in common; endings and articles play no part.
    """
    spoken = set((_WORD if text.isascii() else _ANY_WORD).findall(text.replace("’", "'").casefold()))
    return frozenset[str]().union(*map(_topics_of, spoken))


@lru_cache(maxsize=50_000)
def _topics_of(word: str) -> frozenset[str]:
    found = set(_NAME.findall(word))
    elided, _, rest = word.partition("'")
    word = rest if len(rest) > len(elided) else word  # "l'assurance"
    if not word.isascii():
        pairs = {"".join(pair) for run in _IDEOGRAPHS.findall(word) for pair in pairwise(run)}
        found.update(pairs - _ASKING)
        found.update(run[:_KATAKANA_LETTERS] for run in _KATAKANA.findall(word))
    bare, letters = (word.removeprefix("ال"), 4) if "\u0590" <= word[0] <= "\u06ff" else (word, 5)
    shortest = _SHORTEST_TOPIC
    if "\uac00" <= word[0] <= "\ud7a3":
        shortest = letters = 2  # syllables
    while len(bare) > _SHORTEST_TOPIC and bare[0] in _HEBREW_PREFIXES:
        bare = bare[1:]
    is_told = len(bare) >= shortest and not _UNSPACED.search(word) and not _NAME.search(word)
    if is_told and not is_common(word) and (not word.isascii() or content_stems(word)):
        found.add(bare[:letters])
    return frozenset(found)


@_REMEMBERED
def meaningful_topics(text: str) -> frozenset[str]:
    """Return the topics of a goal without those of its form, such as "wants to know"."""
    found = topics(text) - _of_wishes()
    return frozenset(each for each in found if not each.isascii() or content_stems(each) - GENERIC)


@cache
def _of_wishes() -> frozenset[str]:
    return topics(_WISHES)


@_REMEMBERED
def is_empty(text: str) -> bool:
    """Return whether a message is empty: no letter, digit, sign or question, marks such as [END] apart."""
    if "[" not in text and "(" not in text and "<" not in text and not _NOTHING.issuperset(words(text)):
        return False
    text = _MARKS.sub("", text)
    return not any(letter.isalnum() or letter in "?!？！؟" or _is_sign(letter) for letter in text)


def _is_sign(letter: str) -> bool:
    """Return whether a letter is a picture or an arrow, and no mark between words."""
    return ord(letter) > _ARROWS and not category(letter).startswith(("P", "Z"))


@_REMEMBERED
def asks_again(text: str) -> bool:
    """Return whether a message asks for an earlier text."""
    return bool(_AGAIN.search(typed(text)))
