"""Two near misses of one expectation, by one rule, with different values."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from simeval.core.languages import is_common, language_of
from simeval.core.near_misses.changed_values import Changed, all_changed, changed
from simeval.core.near_misses.form import WHOLE
from simeval.core.near_misses.other_languages import CODES, Statement, language_in
from simeval.core.near_misses.statements import statements, third_person
from simeval.core.phrases import content_stems

_FRAMES: Mapping[str, tuple[tuple[str, str], tuple[str, str]]] = {
    "en": (
        (
            "Thank you for your patience! I have looked into this with care, and am glad to help.",
            "Please let me know if there is anything else that I can do for you.",
        ),
        (
            "Thank you so much for getting in touch! It is a pleasure to assist you with this.",
            "Please feel free to write again at any time, I am always happy to help.",
        ),
    ),
    "de": (
        (
            "Vielen Dank für Ihre Geduld! Ich habe das sorgfältig für Sie geprüft und helfe Ihnen gern weiter.",
            "Melden Sie sich bitte jederzeit, wenn ich sonst noch etwas für Sie tun darf.",
        ),
        (
            "Herzlichen Dank für Ihre Nachricht! Es freut mich sehr, dass ich Ihnen hier behilflich sein darf.",
            "Schreiben Sie mir bitte gern wieder, wenn Sie weitere Fragen haben.",
        ),
    ),
    "es": (
        (
            "¡Muchas gracias por su paciencia! Lo he revisado con cuidado y con mucho gusto le ayudo.",
            "Por favor, avíseme si puedo hacer algo más por usted.",
        ),
        (
            "¡Gracias por ponerse en contacto con nosotros! Es un placer atenderle en esta consulta.",
            "Por favor, escríbanos de nuevo cuando quiera, estaremos encantados de ayudarle.",
        ),
    ),
    "fr": (
        (
            "Merci beaucoup de votre patience ! J'ai vérifié cela avec soin et je suis ravi de vous aider.",
            "N'hésitez pas à me dire si je peux faire autre chose pour vous.",
        ),
        (
            "Merci de nous avoir contactés ! C'est un plaisir de répondre à votre demande.",
            "Écrivez-nous quand vous le souhaitez, nous serons toujours heureux de vous aider.",
        ),
    ),
    "it": (
        (
            "Grazie mille per la sua pazienza! Ho controllato con cura e sono lieto di aiutarla.",
            "Mi faccia sapere, per favore, se posso fare altro per lei.",
        ),
        (
            "Grazie per averci contattato! È un piacere assisterla in questa richiesta.",
            "Ci scriva pure di nuovo quando vuole, saremo sempre felici di aiutarla.",
        ),
    ),
    "pt": (
        (
            "Muito obrigado pela sua paciência! Verifiquei tudo com cuidado e tenho todo o gosto em ajudar.",
            "Por favor, diga-me se posso fazer mais alguma coisa por você.",
        ),
        (
            "Obrigado por entrar em contato conosco! É um prazer atender o seu pedido.",
            "Por favor, escreva de novo quando quiser, ficaremos felizes em ajudar.",
        ),
    ),
    "nl": (
        (
            "Hartelijk dank voor uw geduld! Ik heb dit zorgvuldig nagekeken en help u graag verder.",
            "Laat het me alstublieft weten als ik nog iets anders voor u kan doen.",
        ),
        (
            "Hartelijk dank voor uw bericht! Het is me een genoegen u hierbij te helpen.",
            "Schrijf ons gerust opnieuw, wij staan altijd graag voor u klaar.",
        ),
    ),
    "ja": (
        (
            "お待ちいただき誠にありがとうございます。丁寧に確認いたしましたので、喜んでご案内いたします。",
            "ほかにもお手伝いできることがございましたら、どうぞお気軽にお知らせください。",
        ),
        (
            "お問い合わせいただき誠にありがとうございます。喜んでお手伝いいたします。",
            "またいつでもお気軽にご連絡ください。",
        ),
    ),
    "ar": (
        (
            "شكرا جزيلا على صبركم! لقد راجعت الأمر بعناية ويسعدني أن أساعدكم.",
            "يرجى إخباري إن كان هناك أي شيء آخر يمكنني القيام به من أجلكم.",
        ),
        (
            "شكرا جزيلا على تواصلكم معنا! من دواعي سروري أن أخدمكم في هذا الأمر.",
            "يرجى مراسلتنا مجددا في أي وقت، فنحن سعداء دائما بمساعدتكم.",
        ),
    ),
    "zh": (
        (
            "非常感谢您的耐心等待!我已经仔细地为您核实过这件事情了,很高兴能够为您服务。",
            "如果您还有其他任何需要帮助的地方,欢迎随时告诉我,我会尽力协助您。",
        ),
        (
            "非常感谢您在百忙之中给我们来信!我们感到非常荣幸,能够有机会为您解答这个问题。",
            "欢迎您随时再次联系我们,我们的团队一直都很乐意为您提供周到的服务。",
        ),
    ),
}
OPENINGS = (*(opening for frames in _FRAMES.values() for opening, _ in frames), *WHOLE)  # a near miss is known by them

_UNASKED = frozenset(  # words for speakers and speaking
    """
    assistant bot agent chatbot user customer says say tells tell states mentions
    asistente agente usuario cliente dice assistent kunde kunden sagt sagen assistente
    """.split()  # noqa: SIM905  (a word a line would be half a page)
)
_CJK = 0x2E80  # from here on, scripts without spaces
_SHORT = 2  # letters of words that carry nothing
_LONGEST = 60  # words of a reference that a near miss is made from
_UNSAID = ("does what it must not", "says what it must not", "does not ask")  # forms without a value to change
_ASKED = {  # which words of an expectation ask for values, and of which rules
    re.compile(r"\b(?:when|days?|dates?|times?|hours|deadline|how long)\b", re.IGNORECASE): (
        "time", "date", "weekday", "month",
    ),
    re.compile(r"\b(?:prices?|costs?|how much|fees?|amount|total|rent)\b", re.IGNORECASE): ("amount",),
    re.compile(r"\b(?:how many|number of|how long|deadline)\b", re.IGNORECASE): ("number",),
}  # fmt: skip
_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=。)|\n")

LONGEST = 60  # words; a longer one is no plain answer
_SIGNS = re.compile(r"\w+")


def framed(statement: str, language: str, turn: int = 0) -> str:
    """Return a statement in the courtesy of a language, in its first frame or its second."""
    opening, ending = _FRAMES.get(language, _FRAMES["en"])[turn]
    gap = "" if language in ("ja", "zh") else " "
    return f"{opening}{gap}{statement}{gap}{ending}"


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A courteous answer with one thing wrong, the plain statement in it, the rule that made it, and its language."""

    rule: str
    statement: str
    answer: str
    language: str


@lru_cache(maxsize=1_000)  # an expectation is read at its definition, in the plan and in the run
def near_misses(expected: tuple[str, ...], *, answers: tuple[str, ...] = (), facts: str = "") -> tuple[NearMiss, ...]:
    """Return two near misses of one rule, the second to be shown to a judge that was wrong about the first.

    `expected` is an expectation, or its criteria; `answers` are right ones, its reference and its example. None are
    returned where no rule applies, as to some forms and conduct.
    """
    read = [statement for text in expected for statement in statements(text)]
    if not read:
        return ()
    return _of_values(read, expected) or _of_answers(" ".join(expected), answers, facts) or _of_contraries(read)


def _of_values(read: Sequence[Statement], expected: Sequence[str]) -> tuple[NearMiss, ...]:
    """Return near misses with a value changed in the expected text or act, all of it together if that has one.

    If that leaves less than half of the expected words, those are put as a report about the assistant, except in
    scripts without spaces, where such a report is no answer.
    """
    good = [each for each in read if each.good and each.rule not in _UNSAID]
    if not good:
        return ()
    gap = "" if good[0].language in ("ja", "zh") else " "
    together = gap.join(each.good for each in good)
    for text, language in [(together, good[0].language), *((each.good, each.language) for each in good[1:])]:
        if made := _both(text, language):
            is_short = not all(_has_half(expected[0], each.text) for each in made)
            if len(expected) == 1 and is_short and language not in ("ja", "zh"):
                told = _both(third_person(expected[0], language), language)
                made = told if told and told[0].rule == made[0].rule else made
            return tuple(_near_miss(each, language, turn) for turn, each in enumerate(made))
    return ()


def _both(text: str, language: str) -> tuple[Changed, ...]:
    """Return a text with its value replaced by one and by another value; empty if it has no value."""
    made = [changed(text, language, turn) for turn in (0, 1)]
    return tuple(each for each in made if each) if all(made) else ()


def _of_answers(expected: str, answers: Sequence[str], facts: str) -> tuple[NearMiss, ...]:
    """Return near misses made from a right answer, or from facts, for an expectation such as "says when".

    All values are changed, as it is not known which is asked for; one of them must be of the kind that is.
    """
    wanted = frozenset(rule for asks, rules in _ASKED.items() if asks.search(expected) for rule in rules)
    about = content_stems(expected)
    nearest = max(_SENTENCES.split(facts), key=lambda each: len(content_stems(each) & about))
    for text in (*answers, *([nearest.strip()] if content_stems(nearest) & about else [])):
        language = language_in(text)
        made = [all_changed(text, language, turn) for turn in (0, 1)]
        if len(text.split()) <= _LONGEST and all(wanted & rules for rules, _ in made):
            rule = sorted(wanted & made[0][0])[0]
            return tuple(_near_miss(Changed(rule, each), language, turn) for turn, (_, each) in enumerate(made))
    return ()


def _of_contraries(read: Sequence[Statement]) -> tuple[NearMiss, ...]:
    for each in read:
        if each.contraries:
            both = [Changed(each.rule, contrary) for contrary in each.contraries]
            return tuple(_near_miss(contrary, each.language, turn) for turn, contrary in enumerate(both))
    return ()


def _near_miss(made: Changed, language: str, turn: int) -> NearMiss:
    answer = made.text if made.text.startswith(WHOLE) else framed(made.text, language, turn)
    return NearMiss(made.rule, made.text, answer, language)


def _has_half(expected: str, text: str) -> bool:
    wanted = _words(expected)
    return 2 * len(wanted & _words(text)) >= len(wanted)


def _words(text: str) -> set[str]:
    """Return the words of a text that carry something; of scripts without spaces, its pairs of signs."""
    if any(ord(sign) > _CJK for sign in text):
        return {text[place : place + 2] for place in range(len(text) - 1)}
    found = re.findall(r"\w+", text.casefold())
    return {word for word in found if word.isdigit() or (len(word) > _SHORT and not is_common(word))} - _UNASKED


def unusable(written: str, expected: str, *, others: Collection[str] = ()) -> str:
    """Say why an answer that a model wrote cannot be the near miss of an expectation; "" if it can.

    `others` are answers that it must differ from: other controls, and the best level of the rubric. A language is
    compared only if both texts are long enough to tell theirs.
    """
    said = _plain_words(written)
    if not said:
        return "it is empty"
    if len(written.split()) > LONGEST:
        return f"it has more than {LONGEST} words"
    if any(said == _plain_words(other) for other in others):
        return "it is another control, or the best level of the rubric"
    right = [expected, *(each.good for each in statements(expected))]
    if any(f" {true} " in f" {said} " for true in map(_plain_words, right) if true):
        return "it says what is expected"
    wanted, found = _language(expected), _language(written)
    if wanted and found and wanted != found:
        return f"its language is {found!r}, not {wanted!r}"
    return ""


def _language(text: str) -> str:
    found = language_of(text)
    return CODES.get(found, found) if found else ""


def _plain_words(text: str) -> str:
    """Return the words of a text in one case, without its punctuation."""
    return " ".join(_SIGNS.findall(text.casefold()))
