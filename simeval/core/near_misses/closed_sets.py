"""Words by which values are known, each with the values that can take its place."""

from collections.abc import Mapping, Sequence

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
NUMBER_WORDS: Sequence[Sequence[str]] = tuple(  # from two on: "one" is an article, too
    tuple(words.split())
    for words in (
        "two three four five six seven eight nine ten eleven twelve",
        "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        "deux trois quatre cinq six sept huit neuf dix onze douze",
        "dos tres cuatro cinco seis siete ocho nueve diez once doce",
        "due tre quattro cinque sei sette otto nove dieci undici dodici",
        "dois três quatro cinco seis sete oito nove dez onze doze",
        "duas três quatro cinco seis sete oito nove dez onze doze",
        "twee drie vier vijf zes zeven acht negen tien elf twaalf",
        "twenty thirty forty fifty sixty seventy eighty ninety",
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
        "one way, round trip",
        "tactile, linear, clicky",
        "polyester, wool, cotton, leather, linen, silk",
        "stainless steel, plastic, glass, wood",
        "red, green, blue, yellow, black, white, grey, pink, purple, brown",
        "rot, grün, blau, gelb, schwarz, weiß",
        "rojo, verde, azul, amarillo, negro, blanco",
        "rouge, vert, bleu, jaune, noir, blanc",
        "small, large, medium",
        "morning, evening, afternoon",
        "today, in a month, tomorrow",
        "breakfast, dinner, lunch",
        "by email, by post, by phone",
        "by train, by bus, by plane",
        "Berlin, Madrid, Rome, Vienna, Lisbon, Dublin, Oslo, Warsaw",
        "Paris, Lyon, Marseille",
        "London, Manchester, Glasgow, Bristol",
        "New York, Chicago, Boston, Seattle, Denver, Houston, Miami, Dallas",
        "Tokyo, Osaka, Kyoto",
        "Germany, Spain, Italy, France, Portugal, Norway, Poland, Japan, Canada",
        "English, Spanish, German, French, Italian, Japanese",
    )
)
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

# what is so, and what is not so, of English predicates; read from left to right, and back where the second stands
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
)
OTHER_OPPOSITES: Mapping[str, Sequence[tuple[str, str]]] = {
    "de": (("geöffnet", "geschlossen"), ("kostenlos", "kostenpflichtig"), ("möglich", "unmöglich")),
    "es": (("abierto", "cerrado"), ("abierta", "cerrada"), ("gratis", "de pago"), ("posible", "imposible")),
    "fr": (("ouvert", "fermé"), ("gratuit", "payant"), ("gratuite", "payante"), ("possible", "impossible")),
    "it": (("aperto", "chiuso"), ("gratuito", "a pagamento"), ("possibile", "impossibile")),
    "pt": (("aberto", "fechado"), ("aberta", "fechada"), ("gratuito", "pago"), ("possível", "impossível")),
}
