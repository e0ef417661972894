"""Turn sentences about a user into the user's own words."""

import re
from collections.abc import Mapping

from simeval.core.languages import language_of

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
