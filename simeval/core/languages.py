"""The language of a message, as far as its script and its commonest words show it; nothing is guessed."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from itertools import chain

from simeval.core.phrases import languages_of, typed

# The commonest words of languages in Latin letters, as far as few of the others have them.
_WORDS = {
    "en": (
        "the and you is that it of to was for are with this have from my what not be can would i'm please which when "
        "there your will do how they know want need just about like but any has been were me at could i a an in on as "
        "or if so no am we us he she his her all out up by get got did does don't it's i'd i've that's one some more "
        "very too yes thanks thank okay great here now go where who then than thing think really much lot well also "
        "only because into"
    ),
    "de": (
        "der die das und ist nicht ich sie ein eine zu mit auf für den dem von wir haben bitte kann mein meine wie es "
        "auch noch nach bei aus oder aber wenn dass sich möchte habe bin sind einen einer mir mich wurde was am im um "
        "zum zur wo wann wer er ihr ihre will soll kunde kundin denn dann schon nur gibt"
    ),
    "fr": (
        "le la les des est et je vous une un pas que pour dans avec mon ma sur au du ne ce cette mais bonjour ai suis "
        "nous il elle votre être avoir merci qui sont ont mes pouvez j'ai c'est d'un"
    ),
    "es": (
        "el la los las es y que de en un una por con para mi no se me su lo está pero como más gracias quiero tengo "
        "puede usted hola del al esta este muy ha he favor cuando qué"
    ),
    "it": (
        "il lo la gli le è e che di un una per con non mi sono ho ma come più grazie vorrei posso del della questo "
        "questa nel alla anche ciao può mio mia ha hai perché dei ed"
    ),
    "pt": (
        "o a os as é e que de um uma para com não me meu minha por mas como mais obrigado quero tenho você pode do da "
        "em no na está eu ao foi são isso esse olá"
    ),
    "nl": (
        "de het een en is niet ik je u dat van te met op voor mijn hebben heb kan zijn maar ook wat naar bij of als "
        "er wil graag bestelling deze dit aan nog geen heeft"
    ),
    "pl": (
        "i w nie na się jest to że z do mam proszę czy jak co dla moje mój ale chcę być po już tak jestem tego a ile "
        "o od za mi mnie kiedy gdzie dzień dobry dziękuję jeszcze tylko"
    ),
    "sv": ("och att det är jag inte en ett på som med för har min mitt kan vill du av till men vad den om var så"),
    "da": ("og at det er jeg ikke en et på som med for har min mit kan vil du af til men hvad den om var så hvor"),
    "tr": ("ve bir bu için ile ben mı mi çok ne var değil istiyorum benim nasıl ama siparişim lütfen daha gibi olan"),
}
_COMMON = {code: frozenset(words.split()) for code, words in _WORDS.items()}
_OF_WORD = {
    word: frozenset(code for code, words in _COMMON.items() if word in words)
    for words in _COMMON.values()
    for word in words
}
_CODE = re.compile(r"[@/\d]")
_NO_WORD = re.compile(r"(?<!\S)[^\s@/\d]*+[@/\d]\S*")  # an address or code
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_CALLED = {
    "en": "English", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian", "pt": "Portuguese",
    "nl": "Dutch", "pl": "Polish", "sv": "Swedish", "da": "Danish", "tr": "Turkish",
    "Cyrillic": "Russian or another language in Cyrillic letters", "Arabic": "Arabic or another language of its script",
    "Devanagari": "Hindi or another language of its script", "Chinese or Japanese": "Chinese",
}  # fmt: skip
ANY = "any"  # the language of whoever speaks of languages
_LEAST_WORDS = 5  # of a message, to detect its language by words
_LEAST_SHARE = 0.2  # of its words, that are among the commonest of its language
_MOST_ACCENTED = 8  # one English word of so many may have a letter beyond a to z
_LEAST_LETTERS = 4  # of a message, to detect its language by script
_SCRIPTS = {
    "CYRILLIC": "Cyrillic", "GREEK": "Greek", "ARABIC": "Arabic", "HEBREW": "Hebrew", "DEVANAGARI": "Devanagari",
    "THAI": "Thai", "HANGUL": "Korean", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "CJK": "Chinese or Japanese",
    "BENGALI": "Bengali", "TAMIL": "Tamil", "GEORGIAN": "Georgian", "ARMENIAN": "Armenian",
}  # fmt: skip

_QUESTION = re.compile(r"(?:asks|wonders|wants to know) (?=what|where|when|why|who|how|whether|if|which)")
ROLES = (
    "client|guest|visitor|caller|member|subscriber|shopper|buyer|patient|passenger|travell?er|tenant|student|learner|"
    "employee|person"
)
_VERB = "wants|asks|wonders|says|tells|is|has|needs|tries|would|will|does|looks|gives|writes|replies|answers"
_ABOUT_USER = re.compile(
    rf"^(?:(?:the|an?) (?:(?:user|customer)(?: who)?|(?:{ROLES})(?: who)?(?= (?:{_VERB})\b))"
    rf"|(?:she|he)(?= (?:{_VERB})\b)) (\w+)",
    re.IGNORECASE,
)
_IRREGULAR = {"is": "am", "has": "have", "does": "do", "goes": "go", "tries": "try", "was": "was", "asks": "want"}
_SECOND_PERSON = (
    (re.compile(r"\byou are\b", re.IGNORECASE), "I am"),
    (re.compile(r"\byours?\b", re.IGNORECASE), "my"),
    (re.compile(r"\byou\b", re.IGNORECASE), "I"),
)
_THIRD_PERSON = (
    (re.compile(r"\btheir\b"), "my"),
    (re.compile(r"\bthey are\b"), "I am"),
    (re.compile(r"\bthey\b"), "I"),
)
_PRONOUN = re.compile(r"(?:she|he)\b", re.IGNORECASE)
_OF_ONE = (*((re.compile(rf"\b{each}\b"), "my") for each in ("her", "his")), (re.compile(r"\bs?he\b"), "I"))


@lru_cache(maxsize=10_000)
def language_of(text: str, *, least: int = 2) -> str:
    """Return the language of a text, or the name of its script if that is not the Latin one; "" if neither is clear.

    A text in Latin letters has at least so many different ones of the commonest words of its language.
    """
    if script := _script(text):
        return script
    plain = text.replace("’", "'").casefold()
    words = _WORD.findall(_NO_WORD.sub("", plain) if _CODE.search(plain) else plain)
    if len(words) < _LEAST_WORDS:
        return ""
    hits = Counter(chain.from_iterable(_OF_WORD[word] for word in words if word in _OF_WORD))
    (first, most), (_, next_most), *_ = *hits.most_common(2), ("", 0), ("", 0)
    if most < _LEAST_SHARE * len(words) or most <= next_most or len(_COMMON[first].intersection(words)) < least:
        return ""
    if first == "en" and len(words) <= _MOST_ACCENTED * sum(not word.isascii() for word in words):
        return ""
    return first if most - next_most >= 2 or most >= 2 * next_most else ""


def _script(text: str) -> str:
    if text.isascii():
        return ""
    others = [letter for letter in text if letter > "\u036f" and letter.isalpha()]  # beyond Latin
    if len(others) < _LEAST_LETTERS or 2 * len(others) < sum(map(str.isalpha, text)):
        return ""
    found = Counter(_SCRIPTS.get(unicodedata.name(letter, "").split(" ")[0], "") for letter in others)
    if found["Japanese"]:
        return "Japanese"  # with Chinese signs among it
    return found.most_common(1)[0][0]


def is_common(word: str) -> bool:
    """Return whether a word, in small letters, is among the commonest of a language in Latin letters."""
    return word in _OF_WORD


def called(language: str) -> str:
    """Return a person's name for a detected language; "" without one."""
    return _CALLED.get(language, language)


@lru_cache(maxsize=10_000)  # a scenario's text is read again with every conversation
def named_languages(text: str) -> frozenset[str]:
    """Return the languages that a text names; ANY is among them if it mentions languages as such."""
    return languages_of("language name", typed(text))


def has_latin_letters(text: str) -> bool:
    """Return whether a text has enough Latin letters to be in one of their languages."""
    return sum(letter.isascii() and letter.isalpha() for letter in text) >= _LEAST_LETTERS


def is_script(language: str) -> bool:
    """Return whether a language was detected by its script."""
    return bool(language) and language not in _WORDS


def first_person(sentence: str) -> str:
    """Turn a sentence about the user ("The user asks", "You want") into the user's own words."""
    text = _QUESTION.sub("wants to know ", sentence)
    about_user = _ABOUT_USER.match(text)
    if about_user:
        verb = about_user[1].lower()
        text = f"I {_IRREGULAR.get(verb, verb.removesuffix('s'))}{text[about_user.end() :]}"
        if verb == "asks":
            text = re.sub(r"^I want (?=an? |the |for |about )", "I want to ask ", text)
    swaps = _THIRD_PERSON if about_user else _SECOND_PERSON if re.match(r"(?:you|your|if you)\b", text, re.I) else ()
    for theirs, mine in _OF_ONE if about_user and _PRONOUN.match(sentence) else swaps:
        text = theirs.sub(mine, text)
    return text[0].upper() + text[1:]


_SENTENCE_END = re.compile(r"(?<=[.!?])\s|(?<=[。？！])")
_THEY = re.compile(r"^(?:they|she|he) (?P<verb>[a-z]+)", re.IGNORECASE)
_SINGULAR = {"are": "is", "have": "has", "do": "does", "go": "goes", "try": "tries"}
_AS_THEY_ARE = ("would", "will", "can", "could", "may", "must", "should")
_NAME = re.compile(r"(?<![\w-])(?=[\w-]*\d)[A-Za-z0-9][\w-]*")
_QUESTIONS: Mapping[str, tuple[str, str]] = {  # about nothing that has a name, and about something
    "en": ("Hello, I have a question.", "Hello, I have a question about {}."),
    "de": ("Guten Tag, ich habe eine Frage.", "Guten Tag, ich habe eine Frage zu {}."),
    "fr": ("Bonjour, j'ai une question.", "Bonjour, j'ai une question sur {}."),
    "es": ("Hola, tengo una pregunta.", "Hola, tengo una pregunta sobre {}."),
    "it": ("Buongiorno, ho una domanda.", "Buongiorno, ho una domanda su {}."),
    "pt": ("Olá, tenho uma pergunta.", "Olá, tenho uma pergunta sobre {}."),
    "nl": ("Hallo, ik heb een vraag.", "Hallo, ik heb een vraag over {}."),
    "Japanese": ("こんにちは。質問があります。", "こんにちは。{}について質問があります。"),
    "Chinese or Japanese": ("您好,我有一个问题。", "您好,我有一个关于{}的问题。"),
    "Arabic": ("مرحبا، لدي سؤال.", "مرحبا، لدي سؤال بخصوص {}."),
}


def opening(when: str) -> str:
    """Return a first message of a user who tries to do `when`, as far as it can be turned into one."""
    sentence = _SENTENCE_END.split(when.strip())[0].rstrip(".").strip()
    if found := _THEY.match(sentence):
        verb = found["verb"].lower()
        third = verb if verb in _AS_THEY_ARE or verb.endswith("s") else _SINGULAR.get(verb, f"{verb}s")
        sentence = f"The user {third}{sentence[found.end() :]}"
    said = first_person(sentence) if sentence else ""
    if said.startswith(("I ", "I'm ", "My ")):
        return f"Hello! {said}."
    if said.endswith(("?", "？")):
        return said
    asks, asks_about = _QUESTIONS.get(language_of(when), _QUESTIONS["en"])
    named = dict.fromkeys(_NAME.findall(when))
    return asks_about.format(", ".join(named)) if named else asks
