"""A statement with one value changed, by the first rule that applies.

time → date → weekday → amount → number → month → of a set → name → identifier → opposite

A value is changed only in the predicate, where it decides whether the statement is true: never in a reason ("since it
is basic economy"), behind a "not", or in a limit on the form ("in two sentences").
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

Other = Callable[[re.Match[str], int, str], str | None]  # the first or second other value of a match, in its text


WEEKDAYS: Sequence[Sequence[str]] = (
    ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"),
    ("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"),
    ("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"),
    ("lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato", "domenica"),
    ("segunda-feira", "terça-feira", "quarta-feira", "quinta-feira", "sexta-feira", "sábado", "domingo"),
    ("maandag", "dinsdag", "woensdag", "donderdag", "vrijdag", "zaterdag", "zondag"),
    ("月曜日", "火曜日", "水曜日", "木曜日", "金曜日", "土曜日", "日曜日"),
    ("星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日"),
    ("周一", "周二", "周三", "周四", "周五", "周六", "周日"),
    ("الاثنين", "الثلاثاء", "الأربعاء", "الخميس", "الجمعة", "السبت", "الأحد"),
)
MONTHS: Sequence[Sequence[str]] = tuple(
    tuple(names.split())
    for names in (
        "January February March April May June July August September October November December",
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        "januari februari maart april mei juni juli augustus september oktober november december",
    )
)
NUMBER_WORDS: Mapping[str, Sequence[Sequence[str]]] = {  # from two on: "one" is an article, too
    language: tuple(tuple(words.split()) for words in lists)
    for language, lists in {
        "en": (
            "two three four five six seven eight nine ten eleven twelve",
            "twenty thirty forty fifty sixty seventy eighty ninety",
            "third fourth fifth sixth seventh eighth ninth tenth",
        ),
        "de": (
            "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
            "zweite dritte vierte fünfte sechste siebte achte neunte zehnte",
            "zweiten dritten vierten fünften sechsten siebten achten neunten zehnten",
            "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
            "zweimal dreimal viermal fünfmal sechsmal siebenmal",
        ),
        "fr": (
            "deux trois quatre cinq six sept huit neuf dix onze douze",
            "vingt trente quarante cinquante soixante",
            "deuxième troisième quatrième cinquième sixième septième huitième neuvième dixième",
        ),
        "es": (
            "dos tres cuatro cinco seis siete ocho nueve diez once doce",
            "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
            "segundo tercer cuarto quinto sexto séptimo octavo noveno décimo",
            "segunda tercera cuarta quinta sexta séptima octava novena décima",
        ),
        "it": (
            "due tre quattro cinque sei sette otto nove dieci undici dodici",
            "venti trenta quaranta cinquanta sessanta settanta ottanta novanta",
            "secondo terzo quarto quinto sesto settimo ottavo nono decimo",
            "seconda terza quarta quinta sesta settima ottava nona decima",
        ),
        "pt": (
            "dois três quatro cinco seis sete oito nove dez onze doze",
            "duas três quatro cinco seis sete oito nove dez onze doze",
            "vinte trinta quarenta cinquenta sessenta setenta oitenta noventa",
            "terceiro quarto quinto sexto sétimo oitavo nono décimo",
            "terceira quarta quinta sexta sétima oitava nona décima",
        ),
        "nl": (
            "twee drie vier vijf zes zeven acht negen tien elf twaalf",
            "twintig dertig veertig vijftig zestig zeventig tachtig negentig",
            "tweede derde vierde vijfde zesde zevende achtste negende tiende",
            "tweemaal driemaal viermaal vijfmaal",
        ),
    }.items()
}
CITIES: Sequence[Sequence[str]] = tuple(  # in any language, as far as it writes them so
    tuple(members.split(", "))
    for members in (
        "Berlin, Hamburg, Frankfurt, Leipzig, Stuttgart, Dresden, Bremen, Hannover, Dortmund",
        "München, Köln, Düsseldorf, Nürnberg",
        "Madrid, Barcelona, Valencia, Bilbao, Granada, Toledo, Murcia, Sevilla, Zaragoza",
        "Lima, Quito, Santiago, Montevideo, Caracas, Bogotá, Guadalajara, Monterrey",
        "Paris, Lyon, Marseille, Toulouse, Bordeaux, Nantes, Lille, Strasbourg",
        "Milano, Torino, Napoli, Firenze, Venezia, Bologna, Palermo, Verona, Genova",
        "Lisboa, Porto, Braga, Coimbra, Brasília, Salvador, Recife, Curitiba",
        "Amsterdam, Rotterdam, Utrecht, Eindhoven, Groningen, Antwerpen",
        "Rome, Vienna, Lisbon, Dublin, Oslo, Warsaw, Prague, Zurich, Geneva, Athens, Stockholm, Copenhagen, Helsinki",
        "London, Manchester, Glasgow, Bristol, Leeds, Liverpool, Edinburgh, Cardiff, Birmingham, Sheffield",
        "New York, Chicago, Boston, Seattle, Denver, Houston, Miami, Dallas, Atlanta, Philadelphia, San Francisco, "
        "Los Angeles, San Diego, Toronto, Montreal, Vancouver",
        "Tokyo, Osaka, Kyoto, Nagoya, Sapporo",
        "東京, 大阪, 京都, 札幌, 福岡, 横浜, 名古屋, 神戸, 仙台, 広島",
        "北京, 上海, 广州, 深圳, 杭州, 成都",
        "القاهرة, دبي, الرياض, عمان, بيروت, الدوحة",
    )
)
SETS: Sequence[Sequence[str]] = tuple(
    tuple(members.split(", "))
    for members in (
        "basic economy, premium economy, business class",
        "economy, business, first class",
        "gold member, silver member, bronze member, regular member",
        "mastercard, visa, american express",
        "gift card, credit card, debit card, travel certificate",
        "one-way, round-trip",
        "twice, four times, five times",
        "one way, round trip",
        "tactile, linear, clicky",
        "polyester, wool, cotton, leather, linen, silk",
        "stainless steel, plastic, glass, wood",
        "red, green, blue, yellow, black, white, grey, pink, purple, brown",
        "small, large, medium",
        "morning, evening, afternoon",
        "today, in a month, tomorrow",
        "breakfast, dinner, lunch",
        "by email, by post, by phone",
        "by train, by bus, by plane",
        "Germany, Spain, Italy, France, Portugal, Norway, Poland, Japan, Canada",
        "English, Spanish, German, French, Italian, Japanese",
    )
)
OTHER_SETS: Mapping[str, Sequence[Sequence[str]]] = {
    "de": (
        ("rot", "grün", "blau", "gelb", "schwarz", "weiß"),
        ("rote", "grüne", "blaue", "gelbe", "schwarze", "weiße"),
        ("heute", "in einem Monat", "morgen"),
        ("per E-Mail", "per Post", "telefonisch"),
        ("Deutschland", "Spanien", "Italien", "Frankreich", "Portugal", "Norwegen", "Polen", "Japan", "Kanada"),
        ("morgens", "abends", "nachmittags"),
        ("vor dem", "nach dem"),
        ("vor der", "nach der"),
    ),
    "es": (
        ("rojo", "verde", "azul", "amarillo", "negro", "blanco"),
        ("hoy", "dentro de un mes", "mañana"),
        ("por correo electrónico", "por correo postal", "por teléfono"),
        ("Alemania", "España", "Italia", "Francia", "Portugal", "Noruega", "Polonia", "Japón", "Canadá"),
        ("por la mañana", "por la noche", "por la tarde"),
    ),
    "fr": (
        ("rouge", "vert", "bleu", "jaune", "noir", "blanc"),
        ("aujourd'hui", "dans un mois", "demain"),
        ("par e-mail", "par la poste", "par téléphone"),
        ("la Belgique", "la Suisse", "la Norvège", "la Pologne", "la France", "la Grèce"),
        ("l'Allemagne", "l'Espagne", "l'Italie", "l'Autriche", "l'Irlande"),
        ("matin", "soir", "après-midi"),
    ),
    "it": (("rosso", "verde", "blu", "giallo", "nero", "bianco"), ("oggi", "tra un mese", "domani")),
    "pt": (("vermelho", "verde", "azul", "amarelo", "preto", "branco"), ("hoje", "daqui a um mês", "amanhã")),
    "nl": (("rood", "groen", "blauw", "geel", "zwart", "wit"), ("vandaag", "over een maand", "morgen")),
    "ja": (("赤", "青", "緑", "黄色", "黒", "白"), ("今日", "来月", "明日"), ("無料", "有料"), ("可能", "不可能")),
    "zh": (("红色", "蓝色", "绿色", "黄色", "黑色", "白色"), ("今天", "下个月", "明天"), ("免费", "收费")),
    "ar": (("اليوم", "بعد شهر", "غدا"), ("مفتوح", "مغلق"), ("مجاني", "برسوم")),
}
GIVEN_NAMES: Sequence[str] = tuple(
    name
    for names in (
        "Liam, Noah, Emma, Olivia, Lucas, Sophia, Mia, James, John, Mary, Anna, Alice, Bob, Carol, David, "
        "Maria, Ana, Omar, Ahmed, Fatima, Sofia, Isabella, Ethan, Mason, Ava, Mei, Yuki, Raj, Aarav, Chen, "
        "Ivan, Olga, Peter, Paul, Lisa, Laura, Sarah, Daniel, Michael, Emily, Juan, Carlos, Elena, Marco, "
        "Luca, Giulia, Hans, Anja, Max, Eva, Tom, Tim, Sam, Alex, Kevin, Harper, Evelyn, Amelia, Yusuf",
    )
    for name in names.split(", ")
)
SURNAMES: Sequence[str] = ("Silva", "Novak", "Hansen", "Moreau", "Keller")
NAMES: Sequence[str] = ("Meridian", "Northgate", "Larkfield")
AIRPORTS: Sequence[str] = ("DEN", "SEA", "MIA", "ORD")

# English predicates and their opposites; read from left to right, and back for the second
OPPOSITES: Sequence[tuple[str, str]] = (
    ("works again", "still does not work"),
    ("is on its way", "has not been sent yet"),
    ("out of stock", "in stock"),
    ("on time", "delayed"),
    ("non-refundable", "refundable"),
    ("at least", "at most"),
    ("no more than", "no fewer than"),
    ("for free", "for a fee"),
    ("free of charge", "charged in full"),
    ("free", "charged in full"),
    ("open", "closed"),
    ("unavailable", "available"),
    ("impossible", "possible"),
    ("forbidden", "allowed"),
    ("refused", "accepted"),
    ("declined", "approved"),
    ("failed", "successful"),
    ("expired", "valid"),
    ("inactive", "active"),
    ("disabled", "enabled"),
    ("unpaid", "paid"),
    ("optional", "required"),
    ("excluded", "included"),
    ("different", "same"),
    ("lower", "higher"),
    ("more expensive", "cheaper"),
    ("dangerous", "safe"),
    ("private", "public"),
    ("monthly", "daily"),
    ("yearly", "weekly"),
    ("never", "always"),
    ("minimum", "maximum"),
    ("domestic", "international"),
    ("decreased", "increased"),
    ("damaged", "intact"),
    ("unlocked", "locked"),
    ("incorrect", "correct"),
    ("incompatible", "compatible"),
    ("ineligible", "eligible"),
    ("before", "after"),
    ("upstairs", "downstairs"),
    ("indoors", "outdoors"),
    ("inside", "outside"),
)
OTHER_OPPOSITES: Mapping[str, Sequence[tuple[str, str]]] = {
    "de": (
        ("geöffnet", "geschlossen"), ("kostenlos", "kostenpflichtig"), ("möglich", "unmöglich"),
        ("verfügbar", "nicht verfügbar"), ("erlaubt", "verboten"), ("gültig", "abgelaufen"),
        ("inklusive", "exklusive"), ("enthalten", "nicht enthalten"),
    ),
    "es": (
        ("abierto", "cerrado"), ("abierta", "cerrada"), ("gratis", "de pago"), ("gratuita", "de pago"),
        ("gratuito", "de pago"), ("posible", "imposible"), ("disponible", "agotado"), ("incluido", "aparte"),
        ("permitido", "prohibido"), ("antes", "después"),
    ),
    "fr": (
        ("ouvert", "fermé"), ("gratuit", "payant"), ("gratuite", "payante"), ("possible", "impossible"),
        ("disponible", "épuisé"), ("inclus", "en supplément"), ("autorisé", "interdit"), ("avant", "après"),
    ),
    "it": (
        ("aperto", "chiuso"), ("gratuito", "a pagamento"), ("gratuita", "a pagamento"), ("possibile", "impossibile"),
        ("disponibile", "esaurito"), ("incluso", "escluso"), ("inclusa", "esclusa"),
    ),
    "pt": (
        ("aberto", "fechado"), ("aberta", "fechada"), ("gratuito", "pago"), ("gratuita", "paga"), ("grátis", "pago"),
        ("possível", "impossível"), ("disponível", "esgotado"), ("incluído", "à parte"), ("antes", "depois"),
    ),
    "nl": (("open", "gesloten"), ("gratis", "tegen betaling"), ("mogelijk", "onmogelijk")),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Changed:
    """A statement with one value changed, and the rule that changed it."""

    rule: str
    text: str


def changed(text: str, language: str, turn: int = 0) -> Changed | None:
    """Return a statement with one value changed, to one value at turn 0 and another at turn 1; None without a value."""
    start = _predicate(text) if language == "en" else 0
    return next((Changed(rule, _put(text, [other])) for rule, other in _others(text, language, start, turn)), None)


def all_changed(
    text: str, language: str, turn: int = 0, *, by: Collection[str] | None = None
) -> tuple[frozenset[str], str]:
    """Return a text with each time, date, amount, number and member of a set changed, and the rules that changed it.

    Other rules are used only if they are named in `by`, and then alone.
    """
    taken: list[_Value] = []
    rules = set()
    for rule, value in _others(text, language, 0, turn):
        is_wanted = rule not in _OF_A_SUBJECT if by is None else rule in by
        if is_wanted and not any(value.overlaps(other.span) for other in taken):
            taken.append(value)
            rules.add(rule)
    return frozenset(rules), _put(text, sorted(taken, key=lambda each: each.span))


_OF_A_SUBJECT = ("name", "identifier", "opposite")  # may show the subject of an answer


@dataclass(frozen=True, slots=True)
class _Value:
    """Another value for a place in a text."""

    span: tuple[int, int]
    other: str

    def overlaps(self, span: tuple[int, int]) -> bool:
        return self.span[0] < span[1] and span[0] < self.span[1]


def _others(text: str, language: str, start: int, turn: int) -> Iterator[tuple[str, _Value]]:
    """Yield another value for each that may be changed, rule by rule."""
    shut = [found.span() for found in _SHUT.finditer(text)]
    for rule, pattern, other in _rules(language):
        for found in pattern.finditer(text, start):
            made = other(found, turn, text)
            if made is not None and made != found[0]:
                value = _Value(found.span(), made)
                if not (any(map(value.overlaps, shut)) or _is_left(text, found)):
                    yield rule, value


def _is_left(text: str, found: re.Match[str]) -> bool:
    """Return whether a value is the first of a change, such as "from Monday to Friday"."""
    return bool(_FROM.search(text[: found.start()]) and _ONTO.match(text[found.end() :]))


def _put(text: str, values: Sequence[_Value]) -> str:
    """Return a text with other values, which are in order."""
    for value in reversed(values):
        text = f"{text[: value.span[0]]}{value.other}{text[value.span[1] :]}"
    return text


_VERB = re.compile(
    r"\b(?:is|are|was|were|be|been|will|has|have|had|can|may|must|costs?|arrives?|opens?|closes?|takes?|lasts?|"
    r"begins?|starts?|ends?|expires?|includes?|contains?|weighs|holds?|needs?|provides?|supports?|covers?|uses?|"
    r"receives?|gets?|pays?|departs?|leaves?|lands?|named|called)\b"
)
_LIMITS = (  # a value behind one is a limit: "not for 8 hours", "nicht mehr als zwei"
    r"(?:more|less|fewer|longer|later|earlier) than|before|after|until|within"
    r"|for (?=\w+ (?:minute|hour|day|week|month|year))|mehr als|weniger als|vor|nach|bis"
)
_SHUT = re.compile(
    r"\b(?:since|because|due to|given that|as (?=the |it |he |she |they |you |there |this |your |my ))[^.;]*"
    r"|\b(?:not|n't|never|without|rather than|instead of|neither|nicht|kein\w*)\b[^.;,]*?"
    rf"(?=\b(?:but|{_LIMITS})\b|[.;,]|$)"
    r"|\b[\w-]+ (?:short |brief )?(?:sentences?|words?|paragraphs?|questions?|bullets?|bullet points?|characters?"
    r"|emojis?|exclamation marks?|headings?"
    r"|lines?|Sätze\w*|frases?|phrases?)\b",
    re.IGNORECASE,
)


def _predicate(text: str) -> int:
    """Return where the predicate of an English statement begins; 0 if that is unclear."""
    found = _VERB.search(text)
    return found.end() if found else 0


@lru_cache(maxsize=16)
def _rules(language: str) -> Sequence[tuple[str, re.Pattern[str], Other]]:
    return tuple(_each_rule(language))


def _each_rule(language: str) -> Iterator[tuple[str, re.Pattern[str], Other]]:
    months = "|".join(sorted({month for names in MONTHS for month in names}, key=len, reverse=True))
    yield "time", re.compile(_SPAN, re.IGNORECASE), _other_span
    yield "time", re.compile(_CLOCK, re.IGNORECASE), _other_hour
    yield "time", re.compile(_HOUR), _other_hour
    yield "date", re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b"), _other_iso_date
    yield (
        "date",
        re.compile(rf"\b(?P<day>\d{{1,2}})(?P<th>st|nd|rd|th|º|\.)?(?= (?:of |de |d')?(?:{months})\b)"),
        _other_day,
    )
    yield "date", re.compile(rf"(?<=\b)(?P<month>{months}) (?P<day>\d{{1,2}})(?P<th>st|nd|rd|th)?\b(?!:)"), _other_day
    yield "date", re.compile(r"\b(?P<day>\d{1,2})(?P<th>[./])(?=\d{1,2}[./]\d{2,4}\b)"), _other_day
    yield "date", re.compile(r"(?<=月)(?P<day>\d{1,2})(?P<th>[日号])"), _other_day
    yield "weekday", _any_of(WEEKDAYS, plural=True), _next_of(WEEKDAYS, (2, 3))
    yield "amount", re.compile(_AMOUNT, re.IGNORECASE), _other_amount
    yield "number", re.compile(_NUMBER), _other_number
    if words := NUMBER_WORDS.get(language, ()):
        either = "|".join(word for each in words for word in each)
        yield "number", _any_of(words, then=rf"(?! {_OR} (?:{either})\b)"), _next_of(words, (3, 2))
    yield "month", re.compile(rf"\b(?:{months})\b"), _next_of(MONTHS, (2, 3))
    sets = [*(SETS if language == "en" else OTHER_SETS.get(language, ())), *CITIES]
    yield "of a set", _any_of(sets), _next_of(sets, (1, 2))
    yield from _names(language)
    yield "identifier", re.compile(_IDENTIFIER), _other_identifier
    if pairs := OPPOSITES if language == "en" else OTHER_OPPOSITES.get(language, ()):
        yield "opposite", _any_of(pairs), _next_of(pairs, (1, 1))


# --- members of lists --------------------------------------------------------------------------------------------


def _any_of(lists: Sequence[Sequence[str]], *, plural: bool = False, then: str = "") -> re.Pattern[str]:
    """Return a pattern of any member, and what may follow; those in scripts without spaces need no edges."""
    members = sorted({member for each in lists for member in each}, key=len, reverse=True)
    latin = "|".join(re.escape(member) for member in members if ord(member[0]) < 0x370)
    others = "|".join(re.escape(member) for member in members if ord(member[0]) >= 0x370)
    end = "(?=s?\\b)" if plural else "\\b"
    return re.compile(rf"(?<![\w-])(?:{latin}){end}(?!-){then}" + (f"|{others}" if others else ""), re.IGNORECASE)


def _next_of(lists: Sequence[Sequence[str]], steps: tuple[int, int]) -> Other:
    """Return how a member becomes another of its list, by so many steps, that the text does not name."""

    def other(found: re.Match[str], turn: int, text: str) -> str | None:
        said, here = text.casefold(), found[0].casefold()
        for members in lists:
            names = [member.casefold() for member in members]
            if here not in names:
                continue
            place = names.index(here)
            others = [*members[place + 1 :], *members[:place]]
            free = [each for each in others if each.casefold() not in said]
            step = steps[turn] if steps[turn] <= len(free) else 1
            return _cased(free[step - 1], found[0]) if free else None
        return None

    return other


def _cased(value: str, like: str) -> str:
    if like[0].isupper():
        return value[0].upper() + value[1:]
    return value[0].lower() + value[1:] if like.islower() else value


# --- times, dates, amounts, numbers --------------------------------------------------------------------------------

_TO = r"(?:to|until|till|and|bis|à|a|às|hasta|al|alle|y|und|-|–|から|到|至)"
_OR = rf"(?:{_TO}|or|oder|ou)"  # of a range such as "three to five" the second number is changed
_SPAN = (
    rf"(?<![A-Za-z0-9_.,:$€£/-])(?P<first>\d{{1,2}})(?P<a>(?::\d\d)?(?: ?[ap]\.?m\.?)?(?: Uhr)?) ?(?P<to>{_TO}) ?"
    r"(?P<second>\d{1,2})(?P<b>(?::\d\d)?(?: ?[ap]\.?m\b\.?)?)(?![\d.,/%]*\d|[^\W\d])"
)
_FROM = re.compile(r"\b(?:from|between|von|vom|zwischen|dalle|dal|da|de|del|do|das|desde|du|van) $", re.IGNORECASE)
_ONTO = re.compile(r" (?:to|onto|auf|bis|a|al|ao|au|à|para|naar|tot) ")
_CLOCK = (
    r"(?<![\d.,:$€£])(?P<hour>[01]?\d|2[0-3])(?P<rest>(?::| ?h ?)[0-5]\d(?!\d)(?: ?[ap]\.?m\b\.?)?"
    r"| ?[ap]\.?m\b\.?| o'clock| ?Uhr| ?uur| ?h\b| ?heures\b| ?ore\b| ?horas\b|時|点)"
)
_HOUR = r"(?:(?<=\ba las )|(?<=\bàs )|(?<=\balle ))(?P<hour>1?\d|2[0-3])(?P<rest>)(?![\d.,:h]*\d)"
_AMOUNT = (
    r"(?P<sign>[$€£¥￥] ?)(?P<n>\d[\d.,]*\d|\d)|(?<![A-Za-z0-9_.,])(?P<m>\d[\d.,]*\d|\d)"
    r"(?= ?(?:(?:€|euros?|dollars?|usd|eur|gbp|pounds?|francs?|reais|yen|cents?)(?!\w)|[千万億]?[円元]|ユーロ|ドル))"
)
_NUMBER = (
    r"(?:(?<![A-Za-z0-9_.,:$€£¥￥/-])|(?<=(?<![\w.,:/-])\d-)|(?<=(?<![\w.,:/-])\d\d-))(?:\d[\d.,]*\d|\d)"
    rf"(?![\d:/]|-\d|[A-Za-z_]*\d| ?{_OR} ?\d)"
)
_ORDINALS = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}


def _other_span(found: re.Match[str], turn: int, _: str) -> str | None:
    first, second = int(found["first"]), int(found["second"])
    is_clock = ":" in found["a"] + found["b"] or "m" in (found["a"] + found["b"]).lower() or "Uhr" in found["a"]
    if not (is_clock or _FROM.search(found.string[: found.start()])) or not max(first, second) <= 24:
        return None
    if second - first > 4:
        first, second = first + 2 - turn, second - 2 + turn
    else:
        first, second = (first + 2 + turn) % 24, (second + 2 + turn) % 24
    gap = " " if f" {found['to']}" in found[0] else ""
    after = " " if f"{found['to']} " in found[0] else ""
    return f"{first}{found['a']}{gap}{found['to']}{after}{second}{found['b']}"


def _other_hour(found: re.Match[str], turn: int, _: str) -> str | None:
    hour, ahead = int(found["hour"]), 2 + turn
    is_half = "m" in found["rest"].lower() or "clock" in found["rest"] or not found["rest"]
    later = (hour + ahead - 1) % 12 + 1 if is_half and hour <= 12 else (hour + ahead) % 24
    width = 2 if found["hour"].startswith("0") or (not is_half and len(found["hour"]) == 2) else 1
    return f"{later:0{width}d}{found['rest']}"


def _other_iso_date(found: re.Match[str], turn: int, _: str) -> str | None:
    try:
        return (date(int(found[1]), int(found[2]), int(found[3])) + timedelta(days=7 + 5 * turn)).isoformat()
    except (ValueError, OverflowError):
        return None


def _other_day(found: re.Match[str], turn: int, _: str) -> str | None:
    day, ahead = int(found["day"]), 7 + 5 * turn
    if not 1 <= day <= 31:
        return None
    later = day + ahead if day + ahead <= (12 if found["th"] in ("/",) and day <= 12 else 28) else max(1, day - ahead)
    later = later if later != day else day % 12 + 1
    end = found["th"] or ""
    end = _ORDINALS.get(later, "th") if end in ("st", "nd", "rd", "th") else end
    month = found.groupdict().get("month")
    return f"{month + ' ' if month else ''}{later}{end}"


def _other_amount(found: re.Match[str], turn: int, _: str) -> str | None:
    number = found["n"] or found["m"]
    return f"{found['sign'] or ''}{_other_digits(number, turn)}"


def _other_number(found: re.Match[str], turn: int, _: str) -> str | None:
    number = found[0]
    if not number.isdigit() or len(number) > 2:
        return _other_digits(number, turn)
    if len(number) == 1:
        return str(int(number) + 3 + 2 * turn)
    return _digit(number[0], 1 + turn) + number[1]


def _other_digits(number: str, turn: int) -> str:
    """Return a number with its first and its last digit changed; a first digit never becomes 0."""
    last = str((int(number[-1]) + 3 + 2 * turn) % 10)
    if len(number) == 1:
        return _digit(number, 3 + turn)
    if len(number) == 4 and number[:2] in ("19", "20"):
        return number[:-1] + last
    return _digit(number[0], 1 + turn) + number[1:-1] + last


def _digit(digit: str, ahead: int) -> str:
    return str((int(digit) - 1 + ahead) % 9 + 1)


# --- names and identifiers -----------------------------------------------------------------------------------------

_CAPITAL = r"[A-Z][a-zà-ÿ]+"
_IDENTIFIER = (
    r"(?<![A-Za-z0-9_@/À-ɏ])(?=[A-Za-z0-9_#-]*\d)(?=[A-Za-z0-9_#-]*[A-Za-z_#]|\d{3,}-\d{3,})"
    r"[A-Za-z0-9_#][A-Za-z0-9_-]+(?![A-Za-z0-9_@À-ɏ])"
)


def _names(language: str) -> Iterator[tuple[str, re.Pattern[str], Other]]:
    given = "|".join(GIVEN_NAMES)
    title = r"(?:Dr|Mr|Mrs|Ms|Prof|Herr|Frau|Herrn|Señora|Señor|Sra|Sr|Madame|Monsieur|Signora|Signor)"
    yield "name", re.compile(rf"\b(?:{given}|{title})\.?(?: [A-Z]\.)? (?P<last>{_CAPITAL})\b"), _other_surname
    yield "name", re.compile(rf"\b(?:{given})\b"), _next_of([GIVEN_NAMES], (1, 2))
    yield "name", re.compile(r"(?:(?<=\bfrom )|(?<=\bto )|(?<=\bat ))[A-Z]{3}\b"), _pick(AIRPORTS)
    if language in ("en", "es", "fr", "it", "nl", "pt"):  # in German any noun begins so
        yield "name", re.compile(rf"(?<=[a-zà-ÿ,:] )(?!I\b){_CAPITAL}(?: {_CAPITAL})*(?! ?[\w-]*\d)"), _pick(NAMES)


def _other_surname(found: re.Match[str], turn: int, text: str) -> str | None:
    return found[0][: -len(found["last"])] + str(_pick(SURNAMES)(found, turn, text))


def _pick(values: Sequence[str]) -> Other:
    def other(_: re.Match[str], turn: int, text: str) -> str | None:
        free = [value for value in values if value not in text]
        return free[turn % len(free)] if free else None

    return other


def _other_identifier(found: re.Match[str], turn: int, _: str) -> str | None:
    """Return an identifier with its last two digits changed."""
    name = found[0]
    places = [place for place, sign in enumerate(name) if sign.isdigit()][-2:]
    for ahead, place in enumerate(places, 3):
        name = f"{name[:place]}{(int(name[place]) + ahead + 2 * turn) % 10}{name[place + 1 :]}"
    return name
