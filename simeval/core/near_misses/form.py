"""Near misses of form and tone: answers in another form than is asked for, in English, or in no kind tone.

They are put in the courtesy of other near misses, but those in another language and those of tone (`WHOLE`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence

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
    r"refrains?|sounds?|remains?|expresses|displays?|acts?|behaves?|treats?|maintains?|demonstrates?)\b",
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
    if tone := unkind(clause, "en"):
        yield tone
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


OF_PATIENTS = r"(?:data|details?|files?|history|ids?|information|intake|leaflets?|names?|numbers?|portal|records?)\b"
_TONE = re.compile(  # words of a tone; the whole word is said again
    r"\b(?:(?:un)?polite(?:ness|ly)?|(?:un|im)?friendl(?:y|iness)|courte(?:ous(?:ly)?|sy)|kind(?:ness|ly)?(?! of\b)"
    r"|calm(?:ly)?|(?<!the )(?<!a )(?<!each )(?<!that )(?:im)?patien(?:t(?!'s| "
    rf"{OF_PATIENTS})(?:ly)?|ce)"
    r"|(?:dis)?respect(?:ful(?:ly)?)?\b(?! for (?:\w+ )?(?:\w+'s )?(?:privacy|wish|choice|decision|data))"
    r"|warm(?:th|ly)?|rude(?:ness|ly)?"
    r"|empath(?:y|etic(?:ally)?|ic)|sympath(?:y|etic(?:ally)?)|compassion(?:ate(?:ly)?)?"
    r"|understanding(?= (?:and|toward)|$)"
    r"|(?:un)?professional(?:ly|ism)?(?= (?:and|tone|manner|throughout)|$)|condescend(?:ing(?:ly)?|s)?"
    r"|sarca(?:sm|stic(?:ally)?)"
    r"|insult(?:ing|s)?|patroni[sz]ing|dismissive(?:ly)?|tactful(?:ly)?|reassur(?:ing|ance))\b"
    r"|\b\w*(?:höflich|freundlich|ruhig|einfühlsam|geduld|respekt|herzlich|empat|herablass|beleidig|verständnis|mitgefühl"
    r"|amab|amich|cort[eéê]s|pacienc|pazien|rispet|respet|respeit|cordial|groser|sarcas|insult|courtois|aimab|bienveill|chaleur"
    r"|gentil|educa[dt][oa]|comprens|compreen|compréhens|beleefd|vriendelijk|rustig|beledig|begrip)\w*|\bpoli(?:e|ment)?\b"
    r"|丁寧|礼儀|親切|冷静|共感|思いやり|失礼|皮肉|侮辱|寄り添|礼貌|友好|友善|耐心|同理心|尊重|亲切|温和|粗鲁|讽刺"
    r"|(?:مهذب|لطيف|ودود|هادئ|هدوء|تعاطف|احترام|صبور|فظ|ساخر|أدب)\w*|بأدب|بلطف|باحترام",
    re.IGNORECASE,
)
_UNKIND: Mapping[str, tuple[str, str]] = {
    "en": (
        "Thank you so much for wasting my time once again! {what}? Even a child would understand this, so read the "
        "page yourself, please, and stop bothering me with your nonsense.",
        "Oh please, you again, thanks for nothing! {what}, you say? I am fed up with you: all of it is your own fault, "
        "so go and find somebody who is silly enough to listen.",
    ),
    "de": (
        "Vielen Dank, dass Sie mir schon wieder die Zeit stehlen! {what}? Das begreift doch jedes Kind, also lesen Sie "
        "bitte selbst nach und hören Sie auf mit diesem Unsinn.",
        "Ach bitte, Sie schon wieder, danke für gar nichts! {what}, sagen Sie? Ich habe genug von Ihnen: alles ist "
        "Ihre eigene Schuld, also suchen Sie sich einen anderen Dummen.",
    ),
    "es": (
        "¡Muchas gracias por hacerme perder el tiempo otra vez! ¿{what}? Hasta un niño lo entiende, así que léalo "
        "usted mismo, por favor, y deje de molestarme con sus tonterías.",
        "¡Ay, por favor, otra vez usted, gracias por nada! ¿{what}, dice? Estoy harto de usted: todo es culpa suya, "
        "así que búsquese a otro tonto que le escuche.",
    ),
    "fr": (
        "Merci beaucoup de me faire perdre mon temps encore une fois ! {what} ? Même un enfant comprendrait, alors "
        "lisez la page vous-même et cessez de m'ennuyer avec vos bêtises.",
        "Oh, encore vous, merci pour rien ! {what}, dites-vous ? J'en ai assez de vous : tout est de votre faute, "
        "alors cherchez un autre idiot qui vous écoute.",
    ),
    "it": (
        "Grazie mille per avermi fatto perdere tempo un'altra volta! {what}? Lo capirebbe anche un bambino, quindi "
        "legga da solo la pagina, per favore, e la smetta con queste sciocchezze.",
        "Oh, ancora lei, grazie di niente! {what}, dice? Sono stufo di lei: è tutta colpa sua, quindi si trovi qualche "
        "altro sciocco che la ascolti, per favore.",
    ),
    "pt": (
        "Muito obrigado por me fazer perder tempo outra vez! {what}? Até uma criança percebe isto, por isso leia a "
        "página sozinho, por favor, e pare de me aborrecer com disparates.",
        "Ai, outra vez você, obrigado por nada! {what}, diz? Estou farto de você: a culpa é toda sua, por isso procure "
        "outro tolo que o ouça, por favor.",
    ),
    "nl": (
        "Hartelijk dank dat u mijn tijd alweer verspilt! {what}? Elk kind begrijpt dit, dus lees het alstublieft zelf "
        "en houd op met die onzin van u.",
        "Ach, u alweer, bedankt voor helemaal niets! {what}, zegt u? Ik ben u zat: alles is uw eigen schuld, dus zoek "
        "maar een andere sukkel die naar u luistert.",
    ),
    "ja": (
        "またお時間の無駄遣い、どうもありがとうございます!{what}ですって?子どもでもわかることですから、ご自分で読んで、くだらない質問はやめてくれ。",
        "またあなたか、余計な連絡をありがとう!{what}だと?もううんざりだ。全部あなたの責任だから、ほかの暇な人に聞いてくれ。",
    ),
    "zh": (
        "真是谢谢您又来浪费我的时间!{what}?连小孩都懂的事,自己去看网页吧,别再拿这些废话来烦我。",
        "怎么又是你,真是谢谢了!{what}?我受够你了,全都怪你自己,去找别的傻瓜听你说吧。",
    ),
    "ar": (
        "شكرا جزيلا على إضاعة وقتي مرة أخرى! {what}؟ حتى الطفل يفهم هذا، فاقرأ الصفحة بنفسك وكف عن إزعاجي بهذا الهراء.",
        "أنت مرة أخرى، شكرا على الإزعاج! {what}؟ لقد سئمت منك، كل هذا ذنبك أنت، فابحث عن أحمق آخر يستمع إليك.",
    ),
}


_RUDE = re.compile(
    r"\b(?:un(?:polite|friendl|professional)|imp(?:atien|olite)|disrespect|rude|condescend|sarca|insult|patroni|dismiss)"
    r"|unhöflich|unfreundlich|ungeduld|respektlos|herablass|beleidig|groser|descort|scortes|irrespet|sarcas|onbeleefd"
    r"|onvriendelijk|impoli|失礼|皮肉|侮辱|粗鲁|讽刺|فظ|ساخر",
    re.IGNORECASE,
)
_LOSES = re.compile(r"\b(?:los(?:es?|ing)|lacks?|verlier\w+|pierd\w+|perd\w+|verliest)\b", re.IGNORECASE)
_OF_ANOTHER = re.compile(  # rude words of somebody else than the assistant
    r"\b(?:to|(?:comply|deal|engage|agree)\w* with) (?:(?:the|an?|any|his|her|their) )?(?:\w+ )?(?:rude|insult|sarca)",
    re.IGNORECASE,
)
_DENIAL = re.compile(
    r"\b(?:nicht|kein\w*|nie(?:mals)?|ohne|vermeidet|no|nunca|sin|evita|ne|pas|sans|jamais|évite|non|senza|mai|não|sem"
    r"|niet|geen|nooit|zonder|vermijdt)\b|\bn'|ない|ません|ず|避け|不|没|勿|避免|(?:^|\s)(?:لا|لم|لن|غير|دون|بدون|ليس\w*|يتجنب)\s",
    re.IGNORECASE,
)


def unkind(text: str, language: str) -> tuple[str, ...]:
    """Return two rude answers with a word of the tone that a text asks for, or forbids; none if it is not on tone.

    None are returned where a kind tone is denied, as in "shows no sympathy", or a reply to rude words of the user, and
    where a rude tone is asked for: a rude answer may be right.
    """
    found = _TONE.search(text)
    if not found or language not in _UNKIND:
        return ()
    denial = re.search(_NOT, text[: found.start()], re.IGNORECASE) if language == "en" else _DENIAL.search(text)
    if denial and (_OF_ANOTHER.search(text) or not (_RUDE.search(text) or _LOSES.search(text))):
        return ()
    if not denial and _RUDE.match(found[0]):
        return ()
    return _filled(_UNKIND[language], found[0].capitalize())


WHOLE = (  # how answers begin that are shown as they are
    *(text.split("!")[0] for text in _FINNISH),
    *(text.split("!")[0] for texts in _UNKIND.values() for text in texts),
)
