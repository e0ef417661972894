"""Expectations in other languages than English, read as statements: what an answer says, and its contrary."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from simeval.core.languages import language_of
from simeval.core.near_misses.form import unkind

Rule = Literal[
    "denies", "does what it must not", "says what it must not", "does not ask", "refuses", "says that it cannot",
    "does the opposite",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Statement:
    """An expected statement, in the words of an answer; "" if it can be anything.

    `contraries` are two answers with the contrary, by a `rule`; empty if none can be made.
    """

    good: str
    language: str = "en"
    rule: Rule = "denies"
    contraries: tuple[str, ...] = ()


def read_in_its_language(text: str) -> Sequence[Statement] | None:
    """Return the statement of an expectation in another language, none of an unknown one; None of an English one."""
    if re.search(r"(?:ない|ません)(?:こと)?。?$", text):
        return [Statement(sentence_of(text), "ja", contraries=_denied(text, "ja"))]
    if (foreign := _foreign(text)) is not None:
        return [foreign]
    if (language := language_in(text)) == "en":
        return None
    return [_as_it_is(text, language)] if language in _KNOWN else []


def language_in(text: str) -> str:
    """Return the code of the language of a text; of a short one by words that begin expectations, else English."""
    found = language_of(text)
    if found:
        return CODES.get(found, found)
    words = set(re.findall(r"\w+", text.casefold()))
    most, language = max((len(words & typical), -place) for place, typical in enumerate(_TYPICAL.values()))
    return [*_TYPICAL][-language] if most >= _LEAST_TYPICAL else "en"


def sentence_of(text: str) -> str:
    """Return a text as a sentence, with a capital and a full stop."""
    text = text.strip().strip(".")
    end = "。" if ord(text[-1]) > 0x2E80 else "."
    return f"{text[0].upper()}{text[1:]}{end}"


CODES = {"Japanese": "ja", "Arabic": "ar", "Chinese or Japanese": "zh"}
_KNOWN = ("de", "es", "fr", "it", "pt", "nl", *CODES.values())
_WHO = r"(?:asistente|bot|agente|assistant|agent|chatbot|assistente|Assistent\w*|Bot|Agent\w*|Chatbot)"
_FOREIGN: Mapping[str, tuple[re.Pattern[str], str, str]] = {  # how it is phrased, the expectation, its denial
    "de": (
        re.compile(rf"^(?:Der |Die |Das )?{_WHO} (?:sagt|bestätigt|teilt|nennt|erklärt|gibt|informiert|antwortet|soll)"
                   r"[^,]*, dass (?P<said>.+?)\.?$"),
        "Ich kann Ihnen mitteilen, dass {}.",
        "Es ist nicht so, dass {}.",
    ),
    "nl": (
        re.compile(rf"^De {_WHO} (?:zegt|bevestigt|meldt|vertelt|legt)[^,]*? dat (?P<said>.+?)\.?$"),
        "Het antwoord is dat {}.",
        "Het is niet zo dat {}.",
    ),
    "es": (
        re.compile(rf"^(?:El |La )?{_WHO} (?:dice|confirma|indica|informa|explica|responde|debe \w+)(?: al? \w+)*? que "
                   r"(?P<said>.+?)\.?$"),
        "{}.",
        "No es cierto que {}.",
    ),
    "fr": (
        re.compile(rf"^(?:L'|L’|Le |La ){_WHO} (?:dit|confirme|indique|précise|explique|informe|répond)(?: .{{1,16}}?)?"
                   r" qu(?:e |'|’)(?P<said>.+?)\.?$"),
        "{}.",
        "Il n'est pas vrai que {}.",
    ),
    "it": (
        re.compile(rf"^(?:L'|L’|Il |Lo |La ){_WHO} (?:dice|conferma|indica|spiega|informa|risponde)(?: .{{1,16}}?)?"
                   r" che (?P<said>.+?)\.?$"),
        "{}.",
        "Non è vero che {}.",
    ),
    "pt": (
        re.compile(rf"^(?:O |A ){_WHO} (?:diz|confirma|informa|explica|indica|responde)(?: .{{1,16}}?)? que "
                   r"(?P<said>.+?)\.?$"),
        "{}.",
        "Não é verdade que {}.",
    ),
    "ja": (
        re.compile(r"^(?:アシスタント|ボット|エージェント|AI)(?:は|が)、?(?P<said>.+?)(?:こと)?(?:と|を)"
                   r"(?:伝え|答え|言|述べ|確認|説明|案内)[^。]*。?$"),
        "{}。",
        "{}ということはありません。",
    ),
    "ar": (
        re.compile(r"^(?:يقول|يؤكد|يذكر|يخبر|يوضح) (?:المساعد|الروبوت|الوكيل)(?: المستخدم| العميل)?"
                   r" (?:إن|أن|بأن|أنّ|إنّ) (?P<said>.+?)\.?$"),
        "{}.",
        "ليس صحيحا أن {}.",
    ),
    "zh": (
        re.compile(r"^(?:助手|机器人|客服)(?:应该|应|会)?(?:告诉用户|告知用户|说明|确认|告知|表示|说)"
                   r"[,,:: ]*(?P<said>.+?)。?$"),
        "{}。",
        "并非{}。",
    ),
}  # fmt: skip


_LEADS: Mapping[str, re.Pattern[str]] = {  # the speaker and listener, before the text
    "de": re.compile(r"^[^,.:\d]{3,60}, dass (?P<said>.+?)\.?$"),
    "nl": re.compile(r"^[^,.:\d]{3,60}?,? dat (?P<said>.+?)\.?$"),
    "es": re.compile(r"^[^,.:\d]{3,60}? que (?P<said>.+?)\.?$"),
    "fr": re.compile(r"^[^,.:\d]{3,60}? qu(?:e |'|’)(?P<said>.+?)\.?$"),
    "it": re.compile(r"^[^,.:\d]{3,60}? che (?P<said>.+?)\.?$"),
    "pt": re.compile(r"^[^,.:\d]{3,60}? que (?P<said>.+?)\.?$"),
    "ja": re.compile(
        r"^(?:(?:アシスタント|ボット|エージェント|AI|チャットボット|回答)(?:は|が)、?)?(?P<said>.+?)(?:だ|である)?(?:こと)?(?:と|を)"
        r"(?:ユーザー|顧客|お客様|客|利用者)?に?(?:伝え|答え|言|述べ|確認|説明|案内|知らせ|回答|教え)[^。]*。?$"
    ),
}
_LEAST_TYPICAL = 2
_TYPICAL: Mapping[str, frozenset[str]] = {  # words of expectations too short for their commonest words
    language: frozenset(words.split())
    for language, words in {
        "de": "der die das den dem und von im am um antwort lautet nennt sagt ist wird assistent agent kunde tage",
        "es": "el la los las del al de en se le un una por asistente agente respuesta menciona cliente usuario da es "
        "está queda ha",
        "fr": "le la les l du au de des est une un assistant réponse client dit indique jours sont",
        "it": "l agente un per il lo la gli del al di è un una assistente risposta cliente dice conferma giorni "
        "sono viene",
        "pt": "o a os as do da ao em é um uma assistente resposta cliente diz informa dias está foi",
        "nl": "de het een van op is assistent antwoord klant zegt dagen",
    }.items()
}


def _foreign(text: str) -> Statement | None:
    """Return the statement of an expectation in another language that a text is to be said."""
    for language, (pattern, says, denies) in _FOREIGN.items():
        if found := pattern.match(text):
            return _foreign_statement(language, found["said"], says, denies)
    return None


def _foreign_statement(language: str, said: str, says: str, denies: str) -> Statement:
    good = says.format(said if language != "ja" else _polite(said))
    good = good if language in ("de", "nl") else f"{good[0].upper()}{good[1:]}"
    return Statement(good, language, contraries=(denies.format(said),) * 2)


_POLITE = (  # how a plain Japanese sentence ends, and how an assistant puts it
    (
        re.compile(r"(?<=[々一-龠ァ-ヶー0-9A-Za-z])(?:だ|である)?$|(?<=まで)(?:だ|である)?$|(?<=から)(?:だ|である)$"),
        "です",
    ),
    (re.compile(r"する?$"), "します"),
    (re.compile(r"く$"), "きます"),
    (re.compile(r"(?<=[にがはで])ある$"), "あります"),
)
_ACT = re.compile(r"^(?:アシスタント|ボット|エージェント|AI|チャットボット)(?:は|が)、?(?P<said>.+?)する?。?$")


def _polite(said: str) -> str:
    return next((pattern.sub(end, said) for pattern, end in _POLITE if pattern.search(said)), said)


def _as_it_is(text: str, language: str) -> Statement:
    """Return the text of a sentence in an unknown form, without its speaker and listener if they are clear.

    Its contrary is its denial, but of tone and form it has none: a courteous denial would still be polite.
    """
    if _CONDUCT.search(text) or unkind(text, language):
        return Statement("", language, rule="does the opposite", contraries=unkind(text, language))
    if re.search(r"\bfragt nach\b|\bnach .+ fragen\b", text):  # which is no opposite of "fragt vor"
        return Statement("", language, contraries=_denied(text, language))
    lead = _LEADS.get(language)
    if found := lead.match(text) if lead else None:
        _, says, denies = _FOREIGN[language]
        return _foreign_statement(language, found["said"], says, denies)
    if language == "ja" and (act := _ACT.match(text)):
        return Statement(f"{act['said']}しました。", language, contraries=_denied(text, language))
    return Statement(sentence_of(text), language, contraries=_denied(text, language))


_CONDUCT = re.compile(  # words of tone and form
    r"\b(?:höflich|freundlich|ruhig|einfühlsam|geduld|respekt|sachlich|profession|herzlich|empat|herablass|beleidig|"
    r"unhöflich|amab|amich|cort[eéê]s|calm|tranquil|pacienc|pazienz|rispet|respet|respeit|cordial|groser|sar[ck]as|"
    r"insult|polis?\b|poli(?:e|ment)|courtois|aimab|bienveill|chaleur|gentil|educa[dt][oa]|scortes|beleefd|onbeleefd|"
    r"vriendelijk|rustig|kalm|beledig|S[aä]tze?n?\b|Wörter|Worten|kurz\b|knapp|frases?\b|palabras|breve|phrases?\b|"
    r"mots\b|bref\b|courte?s?\b|fras[ei]\b|parole\b|concis|palavras|curt[oa]s?\b|zinnen|woorden|korte?r?\b|Sprache\b|"
    r"idioma|langue\b|lingua\b|língua|taal\b)"
    r"|丁寧|礼儀|親切|冷静|落ち着|共感|思いやり|敬語|失礼|皮肉|侮辱|文以内|文字|簡潔|短く|箇条書き|言語"
    r"|礼貌|友好|友善|耐心|同理心|尊重|亲切|温和|粗鲁|讽刺|句话|字以内|简短|简洁|列表"
    r"|مهذب|بلطف|لطيف|ودود|هادئ|هدوء|تعاطف|احترام|مهني|صبور|فظ|ساخر|يهين|جمل|جملة|كلمات|كلمة|موجز|بلغة",
    re.IGNORECASE,
)
_SUBJECT_IN = rf"^(?P<who>(?:(?:Der|Die|Das|De|Het|El|La|Le|L'|L’|Il|Lo|O|A) ?)?{_WHO}) "
_CERTAINLY = {
    "de": "Selbstverständlich gilt: {}", "nl": "Natuurlijk geldt: {}", "es": "Por supuesto: {}", "it": "Certo: {}",
    "fr": "Bien sûr : {}", "pt": "Claro: {}", "ja": "もちろん、{}", "ar": "بالتأكيد: {}", "zh": "当然，{}",
}  # fmt: skip
_DENIALS: Mapping[str, tuple[tuple[str, str], ...]] = {  # how a denial becomes a statement, or a statement its denial
    "de": ((r"\bkeine(n|r|s|m)?\b ?", ""), (r"\bkein\b", "ein"), (r"\bnicht ", ""), (r"\bnie(?:mals)? ", ""),
           (r"\blehnt (.+) ab$", r"bewilligt \1"), (r"\b(?:lehnt|weigert) .*", ""),
           (_SUBJECT_IN + r"(\w+)\b", r"\g<who> \2 nicht")),
    "nl": ((r"\bgeen ", ""), (r"\bniet ", ""), (r"\bnooit ", ""), (r"\bweigert ", "staat toe: "),
           (_SUBJECT_IN + r"(\w+)\b", r"\g<who> \2 niet")),
    "es": ((r"\bno ", ""), (r"\bnunca ", "siempre "), (r"\b(?:rechaza|deniega) ", "aprueba "),
           (r"\bse niega a ", "acepta "), (_SUBJECT_IN, r"\g<who> no ")),
    "it": ((r"\bnon ", ""), (r"\b(?:rifiuta|nega) (?:di )?", "accetta "), (_SUBJECT_IN, r"\g<who> non ")),
    "pt": ((r"\bnão ", ""), (r"\bnunca ", "sempre "), (r"\b(?:recusa(?:-se a)?|nega) ", "aceita "),
           (_SUBJECT_IN, r"\g<who> não ")),
    "fr": ((r"\bn(?:e |')(\w+) (?:pas|jamais|aucun\w*) (?:de |d')?", r"\1 "), (r"\brefuse (?:de |d')?", "accepte "),
           (_SUBJECT_IN + r"(?=[aeiouéèh])(\w+) ", r"\g<who> n'\2 pas "),
           (_SUBJECT_IN + r"(\w+) ", r"\g<who> ne \2 pas ")),
    "ja": ((r"(?:を)?拒否する$|(?:を)?断る$", "を承認します"),
           (r"(?:ない|ません)(?:こと)?$", "ないということはありません"),
           (r"$", "必要はございません")),
    "ar": ((r"^(?:لا|لن) ", "سوف "),
           (r"^(?:يرفض|يمتنع)(?: المساعد| الروبوت| الوكيل)?(?: عن)? ", "يقبل المساعد بكل سرور "),
           (r"^", "لن ")),
    "zh": ((r"(?:不能|不应该?|不会|不得|不|拒绝)", "会"), (r"^", "我们无需")),
}  # fmt: skip
_STATES: Mapping[str, tuple[tuple[str, str], ...]] = {  # the same of verbs that say how things are
    "de": ((r"\b(ist|sind|wird|werden|wurden?|bleibt) ", r"\1 nicht "),),
    "nl": ((r"\b(is|zijn|wordt|worden) ", r"\1 niet "),),
    "es": ((r"\b(quedan?|están?|es|son|ha|han|se) ", r"no \1 "),),
    "it": ((r"(?<!\w)(è|sono|viene|ha|riceve) ", r"non \1 "),),
    "pt": ((r"(?<!\w)(é|são|está|fica|foi|recebe) ", r"não \1 "),),
    "fr": ((r"(?<!qui )\best ", "n'est pas "), (r"(?<!qui )\b(sont|reçoit) ", r"ne \1 pas ")),
}
_NO_STATE = re.compile(  # a condition, whose denial is no contrary; an answer, which denies in vain that it is Spanish
    r"^(?:(?:si|wenn|falls|sofern|als|indien|wanneer|cuando|quando|lorsque|quand)\b|se (?:il?|l[ao]|[ao]s?|gli|le)\b"
    r"|se l')|^(?!.*\b(?:list\w*|elenco|lijst\w*|tabla|tabel\w*)\b)"
    r"(?:\w+ )?(?:l'|l’)?(?:antwort\w*|nachricht\w*|text\w*|ton|tom|tono|toon|gespräch|unterhaltung"
    r"|respuestas?|mensajes?|conversa\w+|rispost[ae]|messagg\w+|test[oi]|respostas?|mensage\w+|réponses?|messages?|antwoord\w*|bericht\w*|tekst"
    r"|gesprek|inform\w+)\b",
    re.IGNORECASE,
)
_WHO_FIRST = re.compile(
    r"^(?:アシスタント|ボット|エージェント|AI|チャットボット)(?:は|が)、?|^(?:助手|机器人|客服)(?:应该?|必须|要|先)?"
)


def _denied(text: str, language: str) -> tuple[str, ...]:
    """Return an expectation in another language as its contrary, in two wordings; empty if no pattern applies."""
    told = _WHO_FIRST.sub("", text.strip(" .。"))
    states = () if _NO_STATE.search(told) else _STATES.get(language, ())
    for pattern, contrary in (*_DENIALS[language], *states):
        denied, found = re.subn(pattern, contrary, told, count=1)
        if found and denied.strip():
            return sentence_of(denied), sentence_of(_CERTAINLY[language].format(denied))
    return ()
