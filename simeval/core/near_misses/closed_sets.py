"""Words that identify values, each with the values that can take its place."""

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
