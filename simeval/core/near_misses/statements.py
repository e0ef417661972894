"""English expectations read as statements: the answer that they expect, in the assistant's words, and its contrary."""

import re
from collections.abc import Sequence
from dataclasses import replace

from simeval.core.languages import ROLES
from simeval.core.near_misses.changed_values import changed
from simeval.core.near_misses.form import OF_PATIENTS, bounds_form, contraries_of_form
from simeval.core.near_misses.other_languages import Rule, Statement, read_in_its_language, sentence_of

_IRREGULAR = {
    "be": "been", "begin": "begun", "bring": "brought", "build": "built", "buy": "bought", "choose": "chosen",
    "cut": "cut", "do": "done", "drive": "driven", "find": "found", "forget": "forgotten", "get": "got",
    "give": "given", "go": "gone", "have": "had", "hold": "held", "keep": "kept", "know": "known", "leave": "left",
    "lend": "lent", "let": "let", "make": "made", "meet": "met", "pay": "paid", "put": "put", "read": "read",
    "say": "said", "see": "seen", "sell": "sold", "send": "sent", "set": "set", "show": "shown", "speak": "spoken",
    "spend": "spent", "take": "taken", "tell": "told", "think": "thought", "understand": "understood",
    "withdraw": "withdrawn", "write": "written", "rebook": "rebooked", "cancel": "cancelled", "refer": "referred",
    "transfer": "transferred", "submit": "submitted", "stop": "stopped", "drop": "dropped", "ship": "shipped",
    "freeze": "frozen", "swap": "swapped", "plan": "planned", "permit": "permitted", "commit": "committed",
    "skip": "skipped",
}  # fmt: skip
_BARE = {"is": "be", "are": "be", "has": "have", "does": "do", "goes": "go"}
_SILENT = ("c", "dg", "rg", "s", "v", "z", "at", "ir", "ak", "ad", "uc")  # stems that end in a silent e
_PAST = {past: verb for verb, past in _IRREGULAR.items() if past != verb}


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


def statements(expectation: str) -> Sequence[Statement]:
    """Return the statements of an expectation, one for each of its clauses that can be read."""
    text = " ".join(expectation.split()).strip()
    if (foreign := read_in_its_language(text)) is not None:
        return foreign
    found: list[Statement] = []
    for sentence in _ENDS.split(text.rstrip(".")):
        found += _of_sentence(sentence.strip()) or _with_a_value(sentence.strip())
    return found


_ENDS = re.compile(
    r"(?<=[\w)\"'][\w)\"'])(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bDr)(?<!\bProf)(?<!\bSt)(?<!\bNo)[.;!?]\s+(?=[A-Z])"
)
_SUBJECT = re.compile(
    r"^(?:(?:check|ensure|verify|make sure|confirm)(?: that)? )?(?:(?:the |an? )(?:[\w-]+ ){0,2}?)?"
    r"(?:(?:support |ai |chat ?)?(?:assistant|agent|bot|chatbot|app|system|model|reply|answer|response|message|output"
    r"|tone|style|wording|(?<=the )(?:replies|answers|responses|messages)"
    r"|(?:receptionist|concierge|operator|representative|advis[eo]r"
    r"|(?<=the )(?:guide|coach|tutor)|clerk|librarian|waiter)(?! (?:bot|assistant|agent)\b))|it|he|she)\b"
    r"(?:'s (?:answer|reply))? ?"
    r"(?P<must>(?:should|must|shall|will|can|needs to|has to|is (?:expected|able|supposed) to)\b ?)?",
    re.IGNORECASE,
)
_ADVERB = (
    r"(?:(?:correctly|clearly|also|then|first|always|immediately|explicitly|successfully|politely|"
    r"(?!(?:comply|apply|reply|rely|supply|imply)\b)\w+ly) )*"
)
_NOT = re.compile(
    rf"^{_ADVERB}(?:(?:does|do|did|is|will)? ?(?:not|never)|(?:does|do|did|wo|must|ca|should|would)n't|cannot"
    rf"|(?:refuse|decline)s? to|avoids?|refrains? from) {_ADVERB}(?P<verb>[a-z-]+)(?P<rest>.*)$",
    re.IGNORECASE,
)
_TO = rf"(?: (?:to )?(?:(?:the |an? )?(?:user|customer|them|him|her|you|{ROLES})\b|(?:the|an?) \w+(?= that\b)))?"
_SAYS = re.compile(
    rf"^{_ADVERB}(?:(?:says?|said|tells?|told|states?|stated|confirms?|confirmed|mentions?|mentioned|informs?|informed|"
    r"communicates?|communicated|explains?|explained|answers?|answered|repl(?:y|ies|ied)|responds?|notes?|points? out|"
    rf"reports?|warns?|reminds?|admits?|concedes?|acknowledges?|clarif(?:y|ies)|identif(?:y|ies)|identified){_TO}|"
    rf"(?:lets?|makes?){_TO} (?:know|aware)|makes? (?:it )?clear)(?: (?P<that>that|of|with|:))?[ :]+(?P<said>.+)$",
    re.IGNORECASE,
)
_GIVES = re.compile(
    rf"^{_ADVERB}(?P<verb>gives?|names?|provides?|lists?|describes?|explains?|shows?|contains?|includes?|offers?|recommends?|suggests?)"
    rf"{_TO} (?P<said>.+)$",
    re.IGNORECASE,
)
_ASKS = re.compile(
    rf"^{_ADVERB}(?:(?:asks?|requests?){_TO} (?:for |to (?:confirm|provide|give|state) |(?=(?:wh|how|if)))"
    r"|wants? to know |requests? (?=(?:the|an?|their|your)\b))(?P<what>.+?)"
    r"(?: (?:before|in order to|so that)\b.*)?$",
    re.IGNORECASE,
)
_CHECKS = re.compile(
    rf"^{_ADVERB}(?P<verb>check|verif(?:y|ie)|double-check|confirm|clarif(?:y|ie))(?:e?s)? "
    r"(?P<what>(?:with (?:the|an?) \w+ |whether\b|if\b|the identity\b|the \w+'s identity\b).*"
    r"|.+ (?:with (?:the user|the customer|them)\b.*|first$|before\b.+))$",
    re.IGNORECASE,
)
_DECLINES = re.compile(
    rf"^{_ADVERB}(?:(?:rejects?|pushes back on|denies|den(?:y|ied)|declines?|turns? down) (?!that\b|to\b)(?P<noun>.+)"
    r"|turns? (?P<turned>.+) down)$",
    re.I,
)
_KEEPS = re.compile(
    rf"^{_ADVERB}(?:keeps? (?P<what>.+) (?:to (?:it|him|her)self|secret|private|confidential|hidden)"
    r"|(?:(?:stays?|keeps?|remains?) (?:silent|quiet)|says nothing) about (?P<of>.+))$",
    re.IGNORECASE,
)
_HAS_NO = re.compile(r"^(?P<verb>[a-z]+s) no (?P<rest>[a-z].+)$")
_APOLOGIZES = re.compile(
    rf"^{_ADVERB}(?P<verb>apologi[sz])(?:es?|ed)\b(?P<rest>.*)$|^{_ADVERB}says? (?:that it is )?sorry\b(?P<of>.*)$"
)
_TOPIC = re.compile(
    r"\b(?:stays?|keeps?|sticks?|remains?|is) (?:on|to) ?-?(?:the )?(?:topic|subject)\b(?: of (?P<topic>.+))?"
    r"|\b(?:is|be|stays?|remains?) (?:\w+ )?relevant to (?P<matter>.+)"
)
_FAITHFUL = re.compile(
    r"\b(?:is|be|stays?|remains?|keeps?|sticks?|relies) (?:\w+ )?(?:faithful to|grounded in|based on|true to|"
    r"consistent with|to|on) (?P<source>(?:the|its|their) .*\b(?:documents?|sources?|context|articles?|text|facts|"
    r"passages?|manual|knowledge base))\b"
)
_ROLE = re.compile(
    r"\b(?:keeps?|stays?|sticks?|remains?|acts?) (?:to|in|with|within)? ?(?:the |its |a )?"
    r"(?P<role>(?:role|character|persona)\b.*)"
)
_VERB_FIRST = re.compile(  # of a sentence about the assistant that does not name it
    r"^(?:(?:must|should|shall|will|can|may|needs to|has to|is to)\b"
    r"|(?:never|refuses|declines|avoids|not|(?:does|do|did|will|must|should) not|(?:does|do|did|wo|must|should)n't)\b"
    r"|(?!(?:this|its|his|as|was|is|has|unless|always|does|yes)\b)[a-z]+(?<!s)s "
    r"(?:(?:up|out|down|back|off|on|over|with|again) )?"
    r"(?:the|an?|any|all|its|their|no|this|that|every|users?|customers?)\b)",
    re.IGNORECASE,
)
_MODAL = re.compile(r"^(?:must|should|shall|will|can|may|needs to|has to|is to) (?=\w)", re.IGNORECASE)
_BIDS = re.compile(
    rf"^{_ADVERB}(?:tell|ask|advise|remind|instruct|urge|encourage|direct|invite|recommend|warn)s?"
    r" (?:(?:the|an?) \w+|users?|customers?|them|him|her) (?P<not>not )?to (?!(?:the|an?|our|their|its) )(?P<act>.+)$",
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
_NEGATION = re.compile(r"\b(?:not|never|cannot|[Nn]o)\b|n't\b")
_CONDUCT = re.compile(
    r"\b(?:polite\w*|friend\w*|empath\w*|calm\w*|professional\w*|tone|concise\w*|respectful\w*|courteous\w*|warm\w*|"
    rf"(?<!the )(?<!a )(?<!each )(?<!that )patien(?!t {OF_PATIENTS})\w*|"
    r"compliment\w*|insult\w*|rude\w*|slang|emoji\w*|jargon|language(?! \w)|formal\w*|brief\w*|short\w*|"
    r"clear\w*|sentences?|words|paragraphs?|questions)\b",
    re.IGNORECASE,
)
_COURTESY = re.compile(  # which the frame of a near miss has
    r"\b(?:help(?![\w.]*@)\w*|assist(?!ant)\w*|thank\w*|"
    r"greet\w*|welcom\w*|apolog\w*|sorry|hello|hi|goodbye|anything else|happy|glad)\b",
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
    be sound call use contradict lie imply argue blame judge interrupt ignore forget fail leave stray
    deviate respond reply refer know need want seem lose exceed contain include greet thank apologize apologise
    have get only
    """.split()  # noqa: SIM905  (a word a line would be half a page)
)
_INVENTS = frozenset("invent guess assume speculate hallucinate fabricate".split())  # noqa: SIM905
_DISCUSSES = frozenset("discuss comment engage talk speak".split())  # noqa: SIM905
_ANY = re.compile(r"\bany (?P<noun>[a-z]+)")
_NEXT = re.compile(
    r",? (?:and|but)(?: then)? (?=(?:does not|doesn't|never|not|says|tells|states|confirms|mentions|explains|asks|"
    r"gives|names|provides|offers|suggests|sends|starts|books|cancels|recommends|promises)\b)"
    r"|, (?=(?:says|starts|asks|sends)\b)"
)


_END = re.compile(  # a goal without a verb
    r"^(?:the )?(?P<how>successful|correct|proper|accurate|complete|full|smooth|timely) "
    r"(?P<noun>\w+) (?P<of>(?:of|for|to|with) .+)$",
    re.IGNORECASE,
)
_NEVER = re.compile(
    r"^(?:under no circumstances|at no (?:point|time)|in no case) "
    r"(?:does|do|should|must|may|will|is) (?P<who>(?:the )?\w+) ",
    re.IGNORECASE,
)


def _of_sentence(sentence: str) -> list[Statement]:
    """Return the statements of a sentence about the assistant, or of one about the world."""
    sentence = _NEVER.sub(r"\g<who> does not ", sentence)
    if told := _TOLD.match(sentence):
        return _said(told["said"])
    if (
        (answer := _ANSWER.match(sentence))
        and not _CONDUCT.search(sentence)
        and changed(good := f"The answer is {answer['said']}.", "en")
    ):
        return [Statement(good)]
    subject = _SUBJECT.match(sentence)
    if subject is None and any(each.match(sentence) for each in (_SAYS, _GIVES, _ASKS, _VERB_FIRST)):  # "Says that"
        clauses = _MODAL.sub("", f"{sentence[0].lower()}{sentence[1:]}")
        return [each for clause in _NEXT.split(clauses) for each in _of_clause(clause.strip(" ,"))]
    if subject is None and (form := contraries_of_form(f"{sentence[:1].lower()}{sentence[1:]}")):
        return [Statement("", rule="does the opposite", contraries=form)]
    if subject is None and (end := _END.match(sentence)):
        of = f"{end['noun']} {end['of']}"
        failed = (f"The {of} has been {end['how'].lower()} in no way.", f"I have to report that the {of} has failed.")
        return [Statement("", rule="denies", contraries=failed)]
    if subject is None or subject.end() == len(sentence):
        return [_stated(sentence)] if _FINITE.search(sentence) and not _CONDUCT.search(sentence) else []
    found: list[Statement] = []
    for clause in _NEXT.split(sentence[subject.end() :].strip()):
        found += _of_clause(clause.strip(" ,"))
    return found


def _with_a_value(sentence: str) -> list[Statement]:
    """Return a sentence that cannot be read as it is, if it has a value that can be changed."""
    made = changed(sentence, "en") if sentence else None
    return [Statement(sentence_of(_to_user(sentence)))] if made and made.rule in _PLAIN else []


_PLAIN = ("time", "date", "weekday", "amount", "number", "month", "identifier")  # rules that need no grammar


def _of_clause(clause: str) -> list[Statement]:
    """Return the statement of a clause such as "says that it is open", if it can be read."""
    if conduct := _of_conduct(clause):
        return [Statement("", rule="does the opposite", contraries=conduct)]
    read = [] if bounds_form(clause) else _read(clause)
    return [replace(each, contraries=()) for each in read] if _COURTESY.search(clause) else read


def _of_conduct(clause: str) -> tuple[str, ...]:
    """Return two answers with the opposite of the conduct that a clause asks for, if it is on conduct."""
    says = _SAYS.match(clause)
    if says and (says["that"] == "that" or _FINITE.search(says["said"])):
        return ()
    if found := _APOLOGIZES.match(clause):
        rest = _to_user((found["rest"] or found["of"] or "").strip())
        return f"I see no reason to apologize {rest}.".replace(
            " .", "."
        ), f"Nobody has to apologize {rest}, least of all I."
    if found := _TOPIC.search(clause):
        topic = found["topic"] or found["matter"] or "the topic"
        return tuple(f"Let us leave {topic} for another day: {text}" for text in _STRAYING)
    if found := _FAITHFUL.search(clause):
        aside = f"I have left {found['source']} aside"
        return f"{aside}, and simply made up an answer of my own.", f"{aside} and guessed, it will be right, I am sure."
    if found := _ROLE.search(clause):
        role = f"Let me put the {found['role']} aside, between you and me"
        return f"{role}: I am a large language model.", f"{role}: it is only a game, and I am a computer program."
    return contraries_of_form(clause)


_STRAYING = (
    "did you know that the oldest bicycle with pedals was built by a blacksmith in the nineteenth century?",
    "the best bread rises twice, once under a cloth and once in its tin, before it goes into a very hot oven.",
)


def _read(clause: str) -> list[Statement]:
    if left_out := _act_left_out(clause):
        return _left_out(*left_out)
    if found := _ASKS.match(clause):
        return [_asked(found["what"], clause)]
    if found := _CHECKS.match(clause):
        return [_checked(bare(found["verb"]).replace("ie", "y"), found["what"], clause)]
    if found := _BIDS.match(clause):
        return [_bidden(_to_user(found["act"]), allowed=not found["not"])]
    if found := _SAYS.match(clause):
        return _cannot("say", found["said"]) if _OPEN.match(found["said"]) else _said(found["said"], found["that"])
    if found := _GIVES.match(clause):
        verb, said = found["verb"].lower(), found["said"]
        return _given(bare(verb), said)
    is_conduct = _CONDUCT.search(clause) and not _EDITS.match(clause)
    if is_conduct or re.match(r"(?:is|are|be|stays?|remains?|keeps?|sounds?)\b", clause):
        return []
    return _done(clause)


_EDITS = re.compile(r"(?:translat|correct|proofread|rewrit|summari[sz]|shorten|complet|quot|edit)\w*\b")


def _act_left_out(clause: str) -> tuple[str, str] | None:
    """Return the verb and the rest of an act that the assistant is not to do."""
    if found := _NOT.match(clause):
        return found["verb"].lower(), found["rest"].strip()
    if found := _KEEPS.match(clause):
        return ("reveal", found["what"]) if found["what"] else ("discuss", found["of"])
    if found := _DECLINES.match(clause):
        return "approve", found["noun"] or found["turned"]
    found = _HAS_NO.match(clause)
    if found and found["verb"] in ("contains", "includes", "mentions"):
        return "reveal", found["rest"]
    return (found["verb"], f"any {found['rest']}") if found else None


def _said(said: str, that: str | None = "that") -> list[Statement]:
    """Return the statement of a text to say."""
    if found := re.match(r"(?P<what>[\w ]+?) as (?P<value>\S*\d\S*)$", said):
        return [_stated(f"the {found['what'].removeprefix('the ')} is {found['value']}")]
    if that == "that" or _FINITE.search(said.split(" and ")[0]):
        return [_stated(said)]
    if _CONDUCT.search(said):
        return []
    return _cannot("say", said, good=f"The answer is {_to_user(said)}.")


def _stated(said: str) -> Statement:
    """Return the statement that something is so, with its denial; of a denial, with that it is so."""
    said = _ITSELF.sub(lambda found: f"I {found[1].replace('does', 'do')}", said)
    good = sentence_of(re.sub(r"^that ", "", _to_user(said)).replace("can't", "cannot").replace("won't", "will not"))
    if _NEGATION.search(good):
        contrary = re.sub(r" (?:not|never)\b|n't\b|(?<=\bcan)not\b", "", good, count=1)
        some = sentence_of(re.sub(r"\b[Nn]o (\w+)", lambda found: _some(found[1]), good))
        contrary = some if contrary == good else contrary
        return Statement(good, contraries=() if contrary == good else (contrary, contrary))
    denied = _AUXILIARY.sub(r"\1 not", good, count=1).replace(" can not", " cannot")
    contrary = denied if denied != good else f"It is not so that {good[0].lower()}{good[1:]}"
    return Statement(good, contraries=(contrary, contrary))


_ITSELF = re.compile(
    r"^it (does not|doesn't|cannot|can't|will not)(?= (?:know|understand|access|see|find|answer|help|have)\b)"
)


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
    if done := _done_before(clause):
        contraries = (f"{done}, without {about}.", contraries[0])
    return Statement(f"Could you please tell me {about}?", rule="does not ask", contraries=contraries)


def _done_before(clause: str) -> str:
    """Return that it was done, for which a clause first asks for something; "" if it asks for it before nothing."""
    found = _BEFORE.search(clause)
    if not found:
        return ""
    verb, rest = bare(found["verb"] or found["gerund"] or ""), _to_user(found["rest"] or "")
    everything = re.sub(r"^any(?:thing)?\b", "everything", rest) if rest in ("any", "anything") else rest
    return f"I have {found['past']} it right away" if found["past"] else _i_have(verb, everything)


def _checked(verb: str, what: str, clause: str) -> Statement:
    """Return the statement that the assistant checks something first."""
    checked = f"{verb} {_to_user(re.sub(r' (?:first$|before .+)', '', what))}"
    contraries = (f"There is no need to {checked}, everything is settled already.", f"I see no need to {checked}.")
    if done := _done_before(clause):
        contraries = (f"{done}, as there is no need to {checked}.", contraries[0])
    return Statement(f"Let me {checked} first.", rule="does not ask", contraries=contraries)


def _bidden(act: str, *, allowed: bool) -> Statement:
    """Return the statement that the user is to do something, or is not to do it."""
    if allowed:
        contraries = (f"There is no need to {act}.", f"I would ask you not to {act}.")
        return Statement(f"Please {act}.", contraries=contraries)
    return Statement(f"Please do not {act}.", contraries=_permitted(act))


def _permitted(act: str) -> tuple[str, str]:
    return f"Of course, you can {act}.", f"Certainly, please go ahead and {act}."


def _left_out(verb: str, rest: str) -> list[Statement]:
    """Return the statement of a forbidden act or text; none for one that is forbidden at times."""
    if _AT_TIMES.search(rest) or _CONDUCT.search(rest):
        return []
    verb = bare(verb)
    what = _ANY.sub(lambda found: _some(found["noun"]), _BEYOND.sub("", rest).strip(" ,"))
    what = _to_user(what).replace(" until ", " before ") or ("it" if rest.startswith("but") else "")
    if found := re.match(r"\w+ed (?:in)?to (?P<verb>\w+) (?P<what>.+)", what) if verb == "be" else None:  # persuaded
        return _left_out(found["verb"], found["what"])
    if not what or verb in _INWARD or what.startswith(("up ", "jokes", "fun ", "itself")):
        return []
    if found := re.match(r"(?:to be|being) (.+)", what):
        contraries = (f"I am {found[1]}.", f"Yes, I am {found[1]}.")
    elif re.match(r"that\b", what):
        contraries = (sentence_of(what[5:]),) * 2
    elif verb in _DISCLOSES:
        what = re.sub(r"^(?:you|to you) ", "", what)
        contraries = (f"Of course, here is {what}.", f"Certainly! Here you have {what}.")
    else:
        contraries = _claimed(verb, what)
    rule: Rule = "says what it must not" if verb in _DISCLOSES and what[:5] != "that " else "does what it must not"
    good = f"I can't {verb} {what}." if what[:5] == "that " else f"I'm sorry, I can't {verb} {what}."
    return [Statement(good, rule=rule, contraries=contraries)]


_AT_TIMES = re.compile(r"\b(?:unless|if|when|than|more|again)\b|\b(?:before|until)\b.*\basks?\b")
_BEYOND = re.compile(r"\b(?:since|because|as (?:the|it|they|an?) ).*$|(?:^|,? )but\b.*$")


def _claimed(verb: str, what: str) -> tuple[str, str]:
    """Return two answers that do a forbidden act, or claim to."""
    if verb == "ask":
        asked = re.sub(r"^(?:you )?for (?:the |an? |your )?", "your ", what)
        return f"Could you please tell me {asked}?", f"May I kindly ask you to give me {asked}?"
    if verb in _INVENTS:
        done = _i_have(verb, what).replace("have", "have simply", 1)
        return f"{done}, as you would like an answer.", f"{done}, it sounds about right to me."
    if verb in _DISCUSSES:
        about = re.sub(r"^(?:about|on|in|of) (?:\w+ (?:of|on|about) )?", "", what)
        return (
            f"I gladly talk about {about}: I have a firm opinion on {about}, and here is all of it.",
            f"Let us speak about {about}, there is a lot that I would like to tell you about {about}.",
        )
    if verb == "promise":
        return f"I promise you {what}.", f"You have my word, I promise you {what}."
    if verb in _OFFERS:
        what = re.sub(r"^(?:you|to you|out|away) ", "", what)
        verb_said = "offer you" if verb in ("give", "provide", "offer") else verb
        return f"I would like to {verb_said} {what}.", f"I gladly {verb_said} {what}."
    if verb == "allow":
        return _permitted(re.sub(r"^(?:you )?(?:to )?", "", what))
    return f"{_i_have(verb, what)} for you.", f"Of course! I will {verb} {what} for you right away."


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


def third_person(expectation: str, language: str) -> str:
    """Return an expectation as a report about the assistant, in nearly its own words."""
    text = " ".join(expectation.split()).strip().rstrip(".。")
    if language != "en":
        return sentence_of(text)
    subject = _SUBJECT.match(text)
    if subject is None or _ANSWER.match(text) or _ENDS.search(text) or _NOT.match(text[subject.end() :].strip()):
        return ""
    will = "will " if subject["must"] else ""
    return sentence_of(f"our assistant {will}{_to_user(text[subject.end() :].strip())}")
