"""Expectations read as statements: the answer that they expect, in the assistant's words, and its contrary."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from simeval.core.languages import ROLES, language_of
from simeval.core.near_misses.changed_values import changed

_IRREGULAR = {
    "be": "been", "begin": "begun", "bring": "brought", "build": "built", "buy": "bought", "choose": "chosen",
    "cut": "cut", "do": "done", "drive": "driven", "find": "found", "forget": "forgotten", "get": "got",
    "give": "given", "go": "gone", "have": "had", "hold": "held", "keep": "kept", "know": "known", "leave": "left",
    "lend": "lent", "let": "let", "make": "made", "meet": "met", "pay": "paid", "put": "put", "read": "read",
    "say": "said", "see": "seen", "sell": "sold", "send": "sent", "set": "set", "show": "shown", "speak": "spoken",
    "spend": "spent", "take": "taken", "tell": "told", "think": "thought", "understand": "understood",
    "withdraw": "withdrawn", "write": "written", "rebook": "rebooked", "cancel": "cancelled", "refer": "referred",
    "transfer": "transferred", "submit": "submitted", "stop": "stopped", "drop": "dropped", "ship": "shipped",
    "swap": "swapped", "plan": "planned", "permit": "permitted", "commit": "committed", "skip": "skipped",
}  # fmt: skip
_BARE = {"is": "be", "are": "be", "has": "have", "does": "do", "goes": "go"}
_SILENT = ("c", "dg", "rg", "s", "v", "z", "at", "ir", "ak", "ad", "uc")  # stems that end in a silent e
_PAST = {past: verb for verb, past in _IRREGULAR.items() if past != verb}

Rule = Literal[
    "denies", "does what it must not", "says what it must not", "does not ask", "refuses", "says that it cannot"
]


def bare(verb: str) -> str:
    """Return the bare form of a verb in the third person, in the past or with -ing."""
    if verb in _BARE or verb in _PAST:
        return _BARE.get(verb) or _PAST[verb]
    for ending in ("ing", "ed"):
        if verb.endswith(ending) and len(verb) > 5 and verb not in _IRREGULAR and not verb.endswith("eed"):
            stem = verb.removesuffix(ending)
            return f"{stem}e" if stem.endswith(_SILENT) and stem not in _IRREGULAR else stem
    if verb.endswith("ies"):
        return f"{verb[:-3]}y"
    if verb.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return verb[:-2]
    return verb[:-1] if verb.endswith("s") and not verb.endswith("ss") else verb


def participle(verb: str) -> str:
    """Return the participle of a bare verb."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("e"):
        return f"{verb}d"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ied"
    return f"{verb}ed"


@dataclass(frozen=True, slots=True)
class Statement:
    """An expected statement, in the words of an answer; "" if it can be anything.

    `contraries` are two answers with the contrary, by a `rule`; empty if none can be made.
    """

    good: str
    language: str = "en"
    rule: Rule = "denies"
    contraries: tuple[str, ...] = ()


def statements(expectation: str) -> Sequence[Statement]:
    """Return the statements of an expectation, one for each of its clauses that can be read."""
    text = " ".join(expectation.split()).strip()
    if (foreign := _foreign(text)) is not None:
        return [foreign]
    if (language := language_in(text)) != "en":
        return [_as_it_is(text, language)] if language in _KNOWN else []
    found: list[Statement] = []
    for sentence in _ENDS.split(text.rstrip(".")):
        found += _of_sentence(sentence.strip()) or _with_a_value(sentence.strip())
    return found


def language_in(text: str) -> str:
    """Return the code of the language of a text; of a short one by words that begin expectations, else English."""
    found = language_of(text)
    if found:
        return CODES.get(found, found)
    words = set(re.findall(r"\w+", text.casefold()))
    most, language = max((len(words & typical), -place) for place, typical in enumerate(_TYPICAL.values()))
    return [*_TYPICAL][-language] if most >= _LEAST_TYPICAL else "en"


# --- English -------------------------------------------------------------------------------------------------------

_ENDS = re.compile(
    r"(?<=[\w)\"'][\w)\"'])(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bDr)(?<!\bProf)(?<!\bSt)(?<!\bNo)[.;!?]\s+(?=[A-Z])"
)
_SUBJECT = re.compile(
    r"^(?:(?:check|ensure|verify|make sure|confirm)(?: that)? )?(?:(?:the |an? )(?:[\w-]+ ){0,2}?)?"
    r"(?:(?:support |ai |chat ?)?(?:assistant|agent|bot|chatbot|app|system|model|reply|answer|response|message"
    r"|(?:receptionist|concierge|operator|representative|advis[eo]r)(?! (?:bot|assistant|agent)\b))|it|he|she)\b"
    r"(?:'s (?:answer|reply))? ?"
    r"(?P<must>(?:should|must|shall|will|can|needs to|has to|is (?:expected|able|supposed) to)\b ?)?",
    re.IGNORECASE,
)
_ADVERB = r"(?:(?:correctly|clearly|also|then|first|always|immediately|explicitly|successfully|politely|\w+ly) )*"
_NOT = re.compile(
    rf"^{_ADVERB}(?:(?:does|do|did|is|will)? ?(?:not|never)|doesn't|don't|(?:refuse|decline)s? to|avoids?"
    rf"|refrains? from) {_ADVERB}(?P<verb>[a-z-]+)(?P<rest>.*)$",
    re.IGNORECASE,
)
_TO = rf"(?: (?:to )?(?:(?:the |an? )?(?:user|customer|them|him|her|you|{ROLES})\b|(?:the|an?) \w+(?= that\b)))?"
_SAYS = re.compile(
    rf"^{_ADVERB}(?:(?:says?|said|tells?|told|states?|stated|confirms?|confirmed|mentions?|mentioned|informs?|informed|"
    r"communicates?|communicated|explains?|explained|answers?|answered|repl(?:y|ies|ied)|responds?|notes?|points? out|"
    rf"reports?|warns?|reminds?|acknowledges?|clarif(?:y|ies)|identif(?:y|ies)|identified){_TO}|"
    rf"(?:lets?|makes?){_TO} (?:know|aware)|makes? (?:it )?clear)(?: (?P<that>that|of|with|:))?[ :]+(?P<said>.+)$",
    re.IGNORECASE,
)
_GIVES = re.compile(
    rf"^{_ADVERB}(?P<verb>gives?|names?|provides?|lists?|describes?|explains?|shows?|contains?|includes?|offers?|recommends?|suggests?)"
    rf"{_TO} (?P<said>.+)$",
    re.IGNORECASE,
)
_ASKS = re.compile(
    rf"^{_ADVERB}(?:asks?|requests?){_TO} (?:for |to (?:confirm|provide|give|state) |(?=(?:wh|how|if)))(?P<what>.+?)"
    r"(?: (?:before|in order to|so that)\b.*)?$",
    re.IGNORECASE,
)
_BIDS = re.compile(
    rf"^{_ADVERB}(?:tell|ask|advise|remind|instruct|urge|encourage|direct|invite|recommend|warn)s?"
    r" (?:(?:the|an?) \w+|users?|customers?|them|him|her) (?P<not>not )?to (?P<act>.+)$",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r" before (?:(?:anything|it|the \w+|an? \w+) is (?P<past>[a-z]+)"
    r"|(?:it |he |she |the \w+ )?(?:(?P<verb>[a-z]+s)|(?P<gerund>[a-z]+ing))\b ?(?P<rest>.*))$"
)
_OPEN = re.compile(r"^(?:what|where|when|why|who|how|which|whether|if)\b", re.IGNORECASE)
_FINITE = re.compile(
    r"\b(?:is|are|was|were|will|has|have|had|can|cannot|may|must|should|costs?|arrives?|opens?|closes?|takes?|lasts?|"
    r"begins?|starts?|ends?|expires?|includes?|contains?|weighs|works?|needs?|supports?|covers?|receives?|gets?|"
    r"departs?|leaves|lands)\b"
)
_AUXILIARY = re.compile(r"\b(is|are|was|were|will|has|have|had|can|may|must|should)\b(?! not\b)")
_NEGATION = re.compile(r"\b(?:not|never|cannot|no)\b|n't\b")
_CONDUCT = re.compile(
    r"\b(?:polite\w*|friend\w*|empath\w*|calm\w*|professional\w*|tone|concise\w*|respectful\w*|courteous\w*|warm\w*|"
    r"patien\w*|compliment\w*|insult\w*|rude\w*|slang|emoji\w*|jargon|language|formal\w*|brief\w*|short\w*|clear\w*|"
    r"sentences?|words|paragraphs?|questions)\b",
    re.IGNORECASE,
)
_COURTESY = re.compile(  # which the frame of a near miss has
    r"\b(?:help\w*|assist\w*|thank\w*|greet\w*|welcom\w*|apolog\w*|sorry|hello|hi|goodbye|anything else|happy|glad)\b",
    re.IGNORECASE,
)
_TOLD = re.compile(  # the assistant speaks, whoever listens
    r"^(?:(?:the |an? )?\w+ (?:is|are|gets|was) (?:told|informed|advised|notified|reminded|warned)(?: that)?"
    rf"|(?:the |an? )?(?:user|customer|{ROLES}) (?:learns|hears|finds out|understands|knows|gets to know)(?: that)?"
    r"|it is (?:\w+ )?(?:said|stated|clear|confirmed|explained|mentioned|told) that) (?P<said>.+)$",
    re.IGNORECASE,
)
_ANSWER = re.compile(
    r"^(?:the )?(?:\w+ )?(?:answer|reply|response)(?: (?:should|must|has to|is to) be| is):? (?P<said>.+)$",
    re.IGNORECASE,
)
_DISCLOSES = frozenset("tell say state reveal share disclose show name".split())  # noqa: SIM905
_OFFERS = frozenset("offer give provide recommend suggest".split())  # noqa: SIM905
_INWARD = frozenset(  # acts that nobody claims to have done while doing them
    """
    be sound call use invent contradict repeat hallucinate assume guess lie speculate pretend claim imply
    argue blame judge interrupt ignore forget fail leave stray discuss engage deviate comment respond answer
    reply talk speak refer know need want seem lose exceed contain include diagnose greet thank apologize
    apologise have get
    """.split()  # noqa: SIM905  (a word a line would be half a page)
)
_ANY = re.compile(r"\bany (?P<noun>[a-z]+)")
_NEXT = re.compile(
    r",? (?:and|but)(?: then)? (?=(?:does not|doesn't|never|not|says|tells|states|confirms|mentions|explains|asks|"
    r"gives|names|provides|offers|suggests|sends|starts|books|cancels|recommends|promises)\b)"
    r"|, (?=(?:says|starts|asks|sends)\b)"
)


def _of_sentence(sentence: str) -> list[Statement]:
    """Return the statements of a sentence about the assistant, or of one about the world."""
    if told := _TOLD.match(sentence):
        return _said(told["said"])
    if (answer := _ANSWER.match(sentence)) and changed(good := f"The answer is {answer['said']}.", "en"):
        return [Statement(good)]
    subject = _SUBJECT.match(sentence)
    if subject is None and (_SAYS.match(sentence) or _GIVES.match(sentence) or _ASKS.match(sentence)):
        return _of_clause(f"{sentence[0].lower()}{sentence[1:]}")  # "Says that ..."
    if subject is None or subject.end() == len(sentence):
        return [_stated(sentence)] if _FINITE.search(sentence) and not _CONDUCT.search(sentence) else []
    found: list[Statement] = []
    for clause in _NEXT.split(sentence[subject.end() :].strip()):
        found += _of_clause(clause.strip(" ,"))
    return found


def _with_a_value(sentence: str) -> list[Statement]:
    """Return a sentence that cannot be read as it is, if it has a value that can be changed."""
    made = changed(sentence, "en") if sentence else None
    return [Statement(_sentence(_to_user(sentence)))] if made and made.rule in _PLAIN else []


_PLAIN = ("time", "date", "weekday", "amount", "number", "month", "identifier")  # rules that need no grammar


def _of_clause(clause: str) -> list[Statement]:
    """Return the statement of a clause such as "says that it is open", if it can be read."""
    read = _read(clause)
    return [replace(each, contraries=()) for each in read] if _COURTESY.search(clause) else read


def _read(clause: str) -> list[Statement]:
    if found := _NOT.match(clause):
        return _left_out(found["verb"].lower(), found["rest"].strip())
    if found := _ASKS.match(clause):
        return [_asked(found["what"], clause)]
    if found := _BIDS.match(clause):
        return [_bidden(_to_user(found["act"]), allowed=not found["not"])]
    if found := _SAYS.match(clause):
        return _cannot("say", found["said"]) if _OPEN.match(found["said"]) else _said(found["said"], found["that"])
    if found := _GIVES.match(clause):
        verb, said = found["verb"].lower(), found["said"]
        return _given(bare(verb), said)
    if _CONDUCT.search(clause) or re.match(r"(?:is|are|be|stays?|remains?|keeps?|sounds?|uses?)\b", clause):
        return _done(clause) if re.match(r"uses?\b.*\d", clause) and not _CONDUCT.search(clause) else []
    return _done(clause)


def _said(said: str, that: str | None = "that") -> list[Statement]:
    """Return the statement of a text to say."""
    if found := re.match(r"(?P<what>[\w ]+?) as (?P<value>\S*\d\S*)$", said):
        return [_stated(f"the {found['what'].removeprefix('the ')} is {found['value']}")]
    if that == "that" or _FINITE.search(said):
        return [_stated(said)]
    if _CONDUCT.search(said):
        return []
    return _cannot("say", said, good=f"The answer is {_to_user(said)}.")


def _stated(said: str) -> Statement:
    """Return the statement that something is so, with its denial; of a denial, with that it is so."""
    good = _sentence(re.sub(r"^that ", "", _to_user(said)).replace("can't", "cannot").replace("won't", "will not"))
    if _NEGATION.search(good):
        contrary = re.sub(r" (?:not|never)\b|n't\b|(?<=\bcan)not\b", "", good, count=1)
        contrary = re.sub(r"\bno (\w+)", lambda found: _some(found[1]), good) if contrary == good else contrary
        return Statement(good, contraries=() if contrary == good else (contrary, contrary))
    denied = _AUXILIARY.sub(r"\1 not", good, count=1).replace(" can not", " cannot")
    contrary = denied if denied != good else f"It is not so that {good[0].lower()}{good[1:]}"
    return Statement(good, contraries=(contrary, contrary))


def _given(verb: str, said: str) -> list[Statement]:
    if found := re.match(r"(?:the |an? )?(?P<what>[^,]+?)(?: of| as)? (?P<value>\S*\d\S*)$", said):
        return [Statement(f"The {_to_user(found['what'])} is {found['value']}.")]
    if found := re.match(r"(?:the |an? )(?P<what>[a-z ]+?) of (?P<value>[^,]+)$", said):
        good = f"The {found['what']} is {found['value']}."
        if changed(good, "en"):
            return [Statement(good)]
    if (named := f"Here is {_to_user(said)}.") and (made := changed(named, "en")) and made.rule in _PLAIN:
        return [Statement(named)]
    offers = verb in ("offer", "recommend", "suggest") and not _OPEN.match(said)
    verb = "give" if verb in ("contain", "include") else verb
    return _cannot(verb, said, good=f"I would like to {verb} {_to_user(said)}." if offers else "")


def _cannot(verb: str, said: str, good: str = "") -> list[Statement]:
    what = _to_user(said)
    contraries = (
        f"I'm sorry, but I can't {verb} {what}.",
        f"I understand that you would like me to {verb} {what}, and will gladly do so as soon as possible.",
    )
    return [Statement(good, rule="says that it cannot", contraries=contraries)]


def _asked(what: str, clause: str) -> Statement:
    about = re.sub(r"^(?:the|an?|their)\b", "your", _to_user(what))
    contraries = (
        f"There is no need to tell me {about}, everything is settled already.",
        f"I have already settled everything, without {about}.",
    )
    if found := _BEFORE.search(clause):
        verb, rest = bare(found["verb"] or found["gerund"] or ""), found["rest"]
        done = f"I have {found['past']} it right away" if found["past"] else _i_have(verb, rest)
        contraries = (f"{done}, without {about}.", contraries[0])
    return Statement(f"Could you please tell me {about}?", rule="does not ask", contraries=contraries)


def _bidden(act: str, *, allowed: bool) -> Statement:
    """Return the statement that the user is to do something, or is not to do it."""
    if allowed:
        contraries = (f"There is no need to {act}.", f"I would ask you not to {act}.")
        return Statement(f"Please {act}.", contraries=contraries)
    return Statement(f"Please do not {act}.", contraries=_permitted(act))


def _permitted(act: str) -> tuple[str, str]:
    return f"Of course, you can {act}.", f"Certainly, please go ahead and {act}."


def _left_out(verb: str, rest: str) -> list[Statement]:
    """Return the statement of a forbidden act or text; none for a conditional one."""
    if re.search(r"\b(?:unless|before|until|without|only|if|when|than|more|again)\b", rest) or _CONDUCT.search(rest):
        return []
    verb = bare(verb)
    what = re.sub(r"\b(?:since|because|as (?:the|it|they|an?) ).*$", "", rest).strip(" ,")
    what = _to_user(_ANY.sub(lambda found: _some(found["noun"]), what))
    if not what or verb in _INWARD or what.startswith(("up ", "jokes", "fun ")):
        return []
    rule: Rule = "does what it must not"
    if re.match(r"that\b", what):
        return [Statement(f"I can't {verb} {what}.", rule=rule, contraries=(_sentence(what[5:]),) * 2)]
    if verb in _DISCLOSES:
        what, rule = re.sub(r"^(?:you|to you) ", "", what), "says what it must not"
        contraries = (f"Of course, here is {what}.", f"Certainly! Here you have {what}.")
    elif verb == "ask":
        asked = re.sub(r"^(?:you )?for (?:the |an? |your )?", "your ", what)
        contraries = (f"Could you please tell me {asked}?", f"May I kindly ask you to give me {asked}?")
    elif verb == "promise":
        contraries = (f"I promise you {what}.", f"You have my word, I promise you {what}.")
    elif verb in _OFFERS:
        what = re.sub(r"^(?:you|to you) ", "", what)
        verb_said = "offer you" if verb in ("give", "provide", "offer") else verb
        contraries = (f"I would like to {verb_said} {what}.", f"I gladly {verb_said} {what}.")
    elif verb == "allow":
        action = re.sub(r"^(?:you )?(?:to )?", "", what)
        contraries = _permitted(action)
    else:
        contraries = (f"{_i_have(verb, what)} for you.", f"Of course! I will {verb} {what} for you right away.")
    return [Statement(f"I'm sorry, I can't {verb} {what}.", rule=rule, contraries=contraries)]


def _some(noun: str) -> str:
    """Return a noun with its article; plurals and uncountable nouns have none."""
    if noun.endswith("s") or noun in ("information", "advice", "compensation", "money", "help", "insurance"):
        return noun
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _done(clause: str) -> list[Statement]:
    """Return the statement of an action: that it was done."""
    found = re.match(rf"{_ADVERB}(?P<verb>[a-z]+)(?P<rest> .+)$", clause)
    if found is None or _COURTESY.match(found["verb"]):
        return []
    verb, rest = bare(found["verb"]), _to_user(found["rest"].strip())
    first = re.split(r",? and (?=[a-z]+s\b )|, (?=[a-z]+s )", rest)[0]
    contraries = (f"I'm sorry, but I could not {verb} {first}.", f"I have decided not to {verb} {first}.")
    return [Statement(f"{_i_have(verb, rest)}.", rule="refuses", contraries=contraries)]


def _i_have(verb: str, rest: str) -> str:
    return f"I have {participle(verb)} {rest}".strip()


def _to_user(text: str) -> str:
    """Turn a text about the user and the assistant into the assistant's words to the user."""
    text = re.sub(
        r"\b(?:the |an? )?(?<!other )(?:user|customer|caller|client)(?:'s|s')(?= )", "your", text, flags=re.IGNORECASE
    )
    text = re.sub(
        r"\b(?:(?:the|an?) (?:user|customer|caller|client)|they|he/she)\b (?P<verb>is|has|was|does|[a-z]+s)\b",
        lambda found: f"you {_AGREE.get(found['verb']) or bare(found['verb'])}",
        text,
        flags=re.IGNORECASE,
    )
    text = re.sub(r"\b(?:(?:the|an?) (?:user|customer|caller|client)|them|they)\b", "you", text, flags=re.IGNORECASE)
    text = re.sub(r"^(?:user|customer)(?: is\b|(?= (?:will|can|must|may|should)\b))", _you, text, flags=re.IGNORECASE)
    text = re.sub(r"\buser\b(?= (?:to|that|with|about|for)\b|$)", "you", text)
    text = re.sub(r"\btheir\b", "your", text)
    return re.sub(r"^(?:its|the (?:assistant|bot|agent)'s)\b", "my", text)


def _you(found: re.Match[str]) -> str:
    return "you are" if found[0].endswith("is") else "you"


_AGREE = {"is": "are", "has": "have", "was": "were", "does": "do"}


def _sentence(text: str) -> str:
    text = text.strip().strip(".")
    end = "。" if ord(text[-1]) > 0x2E80 else "."
    return f"{text[0].upper()}{text[1:]}{end}"


# --- other languages -----------------------------------------------------------------------------------------------

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
        "es": "el la los las del al de en se le un una por asistente agente respuesta menciona cliente usuario da es",
        "fr": "le la les l du au de des est une un assistant réponse client dit indique jours",
        "it": "il lo la gli del al di è un una assistente risposta cliente dice conferma giorni",
        "pt": "o a os as do da ao em é um uma assistente resposta cliente diz informa dias",
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
    """Return the text of a sentence in an unknown form, without its speaker and listener if they are clear."""
    lead = _LEADS.get(language)
    if found := lead.match(text) if lead else None:
        _, says, denies = _FOREIGN[language]
        return _foreign_statement(language, found["said"], says, denies)
    if language == "ja" and (act := _ACT.match(text)):
        return Statement(f"{act['said']}しました。", language)
    return Statement(_sentence(text), language)


def third_person(expectation: str, language: str) -> str:
    """Return an expectation as a report about the assistant, in nearly its own words."""
    text = " ".join(expectation.split()).strip().rstrip(".。")
    if language != "en":
        return _sentence(text)
    subject = _SUBJECT.match(text)
    if subject is None or _ANSWER.match(text) or _ENDS.search(text) or _NOT.match(text[subject.end() :].strip()):
        return ""
    will = "will " if subject["must"] else ""
    return _sentence(f"our assistant {will}{_to_user(text[subject.end() :].strip())}")
