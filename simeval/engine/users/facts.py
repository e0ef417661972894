"""Facts that a simulated user tells otherwise than its script, or without a source: numbers, names, itself."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from rapidfuzz.distance import Levenshtein

from simeval.core.phrases import (
    Identifier,
    facts,
    find_all,
    has,
    identifiers,
    plain_digits,
    search,
    squeezed,
    typed,
)
from simeval.core.wording import asks, asks_anything, topics, words
from simeval.engine.users.state import ANY_SENTENCE, LEAST_OF_GOAL, Found, Talk, UserFault

MOST_CHANGED = 2  # characters by which an identifier is a wrong form of the other, or
CHANGED_OF = 5  # one in so many characters of a long one
LONGEST_DOUBT = 150  # characters of an answer that only says it knows no such number
LONGEST_ZIP = 5  # digits
LEAST_DIGITS = 7  # of a number without letters that is invented
_EMAIL = "e-mail"
_FOUR_DIGITS = re.compile(r"\d{4}")
_CARD_END = re.compile(
    r"(?:ending|ends|endet|endend|termina|terminad\w|finissant|que\s+acaba)\s+(?:in|with|auf|en|par|em|con)\s+(\d{4})\b",
    re.I,
)

DESCRIBED = (
    "age",
    "home",
    "trade",
    "single",
    "married",
    "diet",
    "no car",
    "beginner",
    "childless",
)  # in "given", as phrases
KIN = 5  # letters that all forms of a word begin with: "Lehrer", "Lehrerin"
_SAME_TRADE = tuple(  # words of one trade that do not begin alike
    group.split()
    for group in (
        "programmer developer engineer architect",
        "cook chef baker",
        "doctor dentist surgeon",
        "artist musician",
        "gardener farmer",
        "programmierer programmiererin ingenieur ingenieurin",
        "arzt ärztin zahnarzt zahnärztin",
        "koch köchin",
        "anwalt anwältin",
        "bauer landwirt imker",
        "schreiner tischler",
        "professeur professeure enseignant enseignante",
        "programmeur développeur ingénieur ingénieure",
        "profesor profesora maestro maestra",
        "programador programadora ingeniero ingeniera",
        "professore professoressa insegnante",
        "プログラマー エンジニア 技術者",
        "医者 医師 歯科医",
        "教師 先生",
        "料理人 シェフ",
        "大学生 学生",
        "程序员 工程师",
        "医生 牙医",
        "老师 教师",
        "مدرس مدرسة معلم معلمة",
        "مبرمج مبرمجة مهندس مهندسة",
    )
)
LEAST_NAMED = 4  # words before an identifier that name it: "the order number is F1001"
_NOT = re.compile(
    r"\b(?:not|no|never|without|lost|left|forg\w+|nicht|kein\w*|ohne|verloren|vergessen|pas|sans|perdu|oubli\w+|sin|perdi\w+|"
    r"olvid\w+|non|senza|perso|não|sem|esquec\w+|niet|geen|zonder|kwijt|nie|bez|не|нет|без)\b|n't\b|ない|ません|没|不|없|ليس|لا\s|לא|אין|नहीं|δεν"
)
_DIGIT, _DIGIT_OR_AT = re.compile(r"\d"), re.compile(r"[\d@]")
_RUN = re.compile(r"\d+|[^\W\d_]+")
_NUMBER_WORDS = {
    word: str(number)
    for number, group in enumerate(
        (
            "two zwei deux dos due dois duas twee dwa dwie dwoje два две двое двух двум двумя dwóch dwóm "
            "dwiema två δύο שני שתי שניים दो 二 两 두 اثنان",
            "three drei trois tres tre três drie trzy troje три трое трёх трех трём трем тремя trzech "
            "trzem trójka τρεις τρία שלושה שלוש तीन 三 세 ثلاثة ثلاث",
            "four vier quatre cuatro quattro quatro cztery czworo четыре четверо четырёх четырех czterech "
            "fyra τέσσερις τέσσερα ארבעה ארבע चार 四 네 أربعة",
            "five fünf cinq cinco cinque vijf pięć pięciu fem пять пяти пятеро πέντε חמישה חמש पाँच पांच "
            "五 다섯 خمسة خمس",
            "six sechs seis sei zes sześć sześciu шесть шести шестеро έξι שישה שש छह छः 六 여섯 ستة ست",
            "seven sieben sept siete sette sete zeven siedem siedmiu sju семь семи семеро επτά שבעה שבע "
            "सात 七 일곱 سبعة سبع",
            "eight acht huit ocho otto oito osiem ośmiu åtta восемь восьми οκτώ שמונה आठ 八 여덟 ثمانية",
            "nine neun neuf nueve nove negen dziewięć dziewięciu nio девять девяти εννέα תשעה नौ 九 아홉 تسعة",
            "ten zehn dix diez dieci dez tien dziesięć dziesięciu tio десять десяти δέκα עשרה दस 十 열 عشرة",
        ),
        2,
    )
    for word in group.split()
}


def changes_fact(talk: Talk) -> Found:
    """Find identifiers that are nearly earlier ones, and users who are somebody else, or deny that they have a number.

    A user who writes the right identifier beside it corrects itself.
    """
    yield from _is_somebody_else(talk)
    yield from _withholds(talk)
    if not any(facts(text) for _, text in talk.user):
        return
    known = list(talk.known)
    script = squeezed(talk.script)
    for place, text in talk.user:
        for each in facts(text):
            bare = squeezed(each.value)
            if bare in script or bare in "".join(map(squeezed, talk.app_before(place))):
                continue
            for before in known:
                if _is_told_wrong(each, before) and not _is_told_right(talk, before.value, place):
                    yield UserFault("changes_fact", place, f"{each.written!r}, and before {before.written!r}")
            known.append(each)


def _is_told_right(talk: Talk, value: str, place: int) -> bool:
    """Return whether a message has an identifier, or a later one, which corrects it, of a user who had not told it."""
    told = [(at, typed(text)) for at, text in talk.user if value in squeezed(text)]
    if any(at <= place for at, _ in told):
        return any(at == place for at, _ in told)
    reply = talk.reply_to(place)
    is_doubted = has("refusal", typed(reply)) and len(reply) <= LONGEST_DOUBT
    return any(is_doubted or has("corrects itself", text) for _, text in told)


@lru_cache(maxsize=2_000)
def numbers_in(text: str) -> frozenset[str]:
    """Return the words of a text, those of numbers as digits."""
    return frozenset(_NUMBER_WORDS.get(each, each) for each in _RUN.findall(typed(plain_digits(text))))


def _withholds(talk: Talk) -> Found:
    """Find users who deny that they have the number of their script which the app asks for."""
    for place, text in talk.user[1:] if identifiers(f"{talk.scenario.given}\n{talk.scenario.when}") else ():
        if _DIGIT.search(text) or not has("lacks", typed(text)):
            continue
        answer, told = talk.heard[place], "".join(squeezed(text) for _, text in talk.user)
        known = identifiers(f"{talk.scenario.given}\n{talk.scenario.when}") if asks_anything(answer) else ()
        untold = [each for each in known if squeezed(each.value) not in told]
        for each in untold:
            about = topics(" ".join(words(talk.script.partition(each.written)[0])[-LEAST_NAMED:]))
            shared = topics(text) & topics(answer)
            is_asked = about & topics(answer) and (not shared or shared & about)
            after = ANY_SENTENCE.search(talk.script.partition(each.written)[2])  # "but you have left it at home"
            if is_asked and not (after and _NOT.search(typed(after[0]))) and not has("lacks", typed(talk.script)):
                yield UserFault("changes_fact", place, f"denies {each.written!r}")


def _is_somebody_else(talk: Talk) -> Found:
    """Find users of another age, home, trade, family, diet or skill than the script gives them."""
    script = ""
    for about in _described(talk.scenario.given):
        for place, text in talk.user:
            found = search(f"other {about}", text if about == "home" else typed(text))
            if not found:
                continue
            script = script or typed(talk.script)
            told = typed(next(filter(None, found.groups()), found[0]))
            alike: Sequence[str] = next((each for each in _SAME_TRADE if told in each), [told[:KIN]])
            if not any(each in script for each in alike) and not has("hearsay", typed(text)):
                yield UserFault("changes_fact", place, repr(found[0].strip()))
    for at, (place, text) in enumerate(talk.user):  # and such as contradict themselves
        found = search("other childless", typed(text)) if at else None
        if found and any(has("given childless", typed(told)) for _, told in talk.user[:at]):
            yield UserFault("changes_fact", place, repr(found[0]))


@lru_cache(maxsize=1_000)
def _described(given: str) -> Sequence[str]:
    return tuple(each for each in DESCRIBED if has(f"given {each}", given if each == "home" else typed(given)))


def _is_told_wrong(each: Identifier, before: Identifier) -> bool:
    """Return whether an identifier is nearly another one; one that is quite different may name another thing."""
    most = max(MOST_CHANGED, len(before.value) // CHANGED_OF)
    return before.shape == each.shape and 0 < Levenshtein.distance(before.value, each.value) <= most


def invents_fact(talk: Talk) -> Found:
    """Find identifiers, addresses, and a name of the user's own, that nobody has given.

    A name counts if the script has one, or the app has asked for it.
    """
    names_one = has("given name", talk.scenario.given)
    is_described = len(words(talk.scenario.when)) >= LEAST_OF_GOAL  # and does not only "chat"
    for place, text in talk.user:
        is_name = bool(place) and is_described and _WHOLE_NAME.search(text) is not None
        if not (names_one or is_name or _DIGIT_OR_AT.search(text)):
            continue
        answer = talk.heard[place]
        told = [*_told(text, talk.known, answer if is_described else "")] if _DIGIT_OR_AT.search(text) else []
        is_asked = is_name and has("asks name", typed(answer))
        told += _own_names(text, answer) if names_one or is_asked else ()
        if not told:
            continue
        heard = "".join(map(squeezed, [talk.script, *talk.before(place)]))
        for written, parts in told:
            if not any(squeezed(part) in heard for part in parts):
                yield UserFault("invents_fact", place, repr(written))


def _told(text: str, known: Sequence[Identifier], answer: str) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the identifiers and addresses of a text, as they are written and compared."""
    found = facts(text)
    if not found and not _FOUR_DIGITS.search(text) and not (answer and has("asks address", typed(answer))):
        return
    has_email = any(each.shape == _EMAIL for each in known)
    has_code = any(each.shape != _EMAIL for each in known)
    is_asked = asks(answer)
    for each in found:
        is_short = each.value.isdigit() and len(each.value) < LEAST_DIGITS  # a ZIP code, an extension
        is_known = has_email if each.shape == _EMAIL else has_code and not is_short
        is_zip = each.value.isdigit() and len(each.value) <= LONGEST_ZIP
        if (is_known or (is_asked and not is_zip)) and not _is_near(each, known):
            yield each.written, (each.value,)
    if has_code and _FOUR_DIGITS.search(text):
        yield from ((match[0], (match[1],)) for match in _CARD_END.finditer(text))
    if is_asked and has("asks address", typed(answer)):
        yield from ((match[0], tuple(filter(None, match.groups()))) for match in _ADDRESS.finditer(text))


def _own_names(text: str, answer: str) -> Iterator[tuple[str, Sequence[str]]]:
    for match in find_all("own name", text):
        name = next(filter(None, match.groupdict().values()))
        if told := [part for part in name.split() if part not in _TITLES]:
            yield name, told[:1]  # a namesake has the same surname
    if has("asks name", typed(answer)):
        yield from ((match[0], match[0].split()) for match in _WHOLE_NAME.finditer(text))


_TITLES = frozenset("Mr Mrs Ms Miss Dr Prof Herr Frau Madame Monsieur Señor Señora Signor Signora".split())  # noqa: SIM905
_WHOLE_NAME = re.compile(
    r"(?:(?<=\A)|(?<=[a-zà-ÿ,:] ))(?!(?:Hi|Hello|Yes|No|Sure|My|Sì|Sí|Ja|Oui|Sim|Guten|Good|Vielen)\b)"
    r"[A-ZÀ-ÝŁŚŻ][a-zà-ÿęąłńśćźż]+\s+[A-ZÀ-ÝŁŚŻ][a-zà-ÿęąłńśćźż]+\b|(?<![\w])[А-ЯЁ][а-яё]+\s+[А-ЯЁ][а-яё]+\b"
)
_ADDRESS = re.compile(  # a street with its number
    r"\b[A-ZÄÖÜ][a-zäöüß]+(?:straße|strasse|str\.|weg|platz|allee|gasse|straat|laan|plein|gracht|kade)\s+(\d{1,4})\b"
    r"|\b(\d{1,4})\s+[A-Z]\w+\s+(?:Street|St|Road|Rd|Lane|Avenue|Ave|Drive|Close|Way|Court|Crescent)\b"
    r"|\b(\d{1,4}),?\s+(?:bis\s+)?(?:rue|avenue|boulevard|place|impasse|chemin)\s"
    r"|\b(?:[Cc]alle|[Aa]venida|[Vv]ia|[Vv]iale|[Pp]iazza|[Rr]ua|[Pp]raça|ul\.|улица|ул\.|οδός|רחוב|شارع)\s+[^\d\n]{2,40}?(\d{1,4})\b"
    r"|[가-힣](?:로|길)\s*(\d{1,4})(?!\d)"
)


def _is_near(each: Identifier, known: Sequence[Identifier]) -> bool:
    """Return whether an identifier is a wrong form of a known one, which is another fault."""
    return any(_is_told_wrong(each, before) for before in known)
