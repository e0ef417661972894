"""Closings: messages in which a user only gives thanks and says goodbye, so that no answer can be right or wrong.

A message is one if known phrases cover it whole, clause by clause, and one of them thanks or says goodbye. A word that
is not known, a question mark or a number makes it a question like any other.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product

from simeval.core.wording import asks, promises, words

LONGEST = 300  # characters of a closing

_FIRST = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_CLAUSE = re.compile(r"[^.,!;:…\n()。．，！、；：；؛،।~–—]+")
_ARABIC_MARKS = re.compile("[\u064b-\u0652\u0640]")
_ASKED = ("?", "？", "؟", "¿", "\u037e")

# A user who writes one of these leaves, even if the app waits for an answer.
_FAREWELLS = """
bye | byee | goodbye | good bye | see you | see ya | take care | farewell | cya | ttyl | talk to you later
talk later
that's all | thats all | that is all | that'll be all | that will be all | that would be all | that was all
that's it
that is it | that's everything | that is everything | that will be it | that'll be it | that was everything
nothing else | nothing more | nothing further | no more questions | no other questions | no further questions
i'm done | im done | we're done | i'm all set | im all set | we're all set | all set | all done | i have to go
i've got to go
i gotta go | gotta go | i must go | have a good one | have a great one | have a nice one | good night | you too
same to you
that settles it | that answers my question | that answers everything | everything is clear | i have everything i need
dann ist alles geklärt | damit ist alles geklärt | alles geklärt | dann weiß ich bescheid | dann ist alles klar
tout est clair | tout est réglé | c'est réglé | todo aclarado | queda todo claro | todo claro | ya está todo
tutto chiaro | tutto risolto | è tutto chiaro | tudo certo | tudo resolvido | tudo esclarecido | dan is alles duidelijk
解決しました | よく分かりました | 都清楚了 | 问题解决了 | كل شيء واضح
rest of your day | rest of your evening | best regards | kind regards | regards | best wishes | all the best
signing off
tschüss | tschüß | tschüssi | tschau | auf wiedersehen | auf wiederhören | bis bald | bis dann | bis später
bis zum nächsten mal | schönen tag | schönen abend | schöne woche | schönes wochenende | gute nacht | mach's gut
machs gut
das war's | das wars | das wär's | das wärs | das war alles | das ist alles | das wäre alles | mehr brauche ich nicht
liebe grüße | viele grüße | mit freundlichen grüßen
au revoir | à bientôt | a bientôt | à plus | à plus tard | à la prochaine | bonne journée | bonne soirée | bonne nuit
bonne fin de journée | bonne continuation | c'est tout | ce sera tout | rien d'autre | salut | adieu
adiós | adios | hasta luego | hasta pronto | hasta la vista | hasta mañana | chao | chau | nos vemos | buen día
buenas noches | feliz día | linda tarde | eso es todo | eso sería todo | es todo | nada más
arrivederci | ciao | a presto | alla prossima | buona giornata | buona serata | buona notte | è tutto | questo è tutto
nient'altro | basta così | a posto così
tchau | adeus | até logo | até mais | até breve | até a próxima | até à próxima | bom dia | boa tarde | boa noite
é só isso | era só isso | só isso | isso é tudo | é tudo | nada mais
doei | dag | tot ziens | tot later | tot snel | fijne dag | fijne avond | prettige dag | dat was alles | dat is alles
dat was het | dat was 't
do widzenia | pa | na razie | do zobaczenia | miłego dnia | miłego wieczoru | to wszystko | dobranoc
hej då | hejdå | adjö | ha en bra dag | ha en trevlig dag | ha en fin dag | det var allt | det är allt
farvel | hav en god dag | det var det hele | det var alt | ha det | ha det bra | ha en god dag
näkemiin | hei hei | heippa | moikka | hyvää päivänjatkoa | siinä kaikki | se oli siinä
na shledanou | nashledanou | dovidenia | hezký den | pěkný den | to je vše | to je všechno
hoşça kal | hoşça kalın | hoşçakal | hoşçakalın | güle güle | görüşürüz | iyi günler | iyi akşamlar | iyi geceler
hepsi bu
hepsi bu kadar | bu kadar
la revedere | o zi bună | asta e tot | asta a fost tot | viszontlátásra | viszlát | szép napot | ennyi volt
ennyi lenne
αντίο | γεια | γεια σας | γεια σου | καλή μέρα | καλή σας μέρα | καληνύχτα | αυτό ήταν | αυτό ήταν όλο
до свидания | до встречи | пока | всего доброго | всего хорошего | хорошего дня | хорошего вечера | удачи | это все
это всё
вот и все | вот и всё | больше ничего | больше вопросов нет | до побачення | гарного дня | це все | бувайте
довиждане
مع السلامة | وداعا | إلى اللقاء | هذا كل شيء | هذا كل ما أحتاجه | هذا كل ما أردت | يومك سعيد | في أمان الله
خداحافظ | همین بود | להתראות | ביי | שלום | יום טוב | לילה טוב | זה הכל
अलविदा | नमस्ते | फिर मिलेंगे | बस इतना ही | यही सब | शुभ रात्रि
再见 | 再見 | 拜拜 | 回头见 | 下次见 | 就这些 | 就這些 | 就这样 | 就這樣 | 没有别的了 | 没有其他问题了 | 没有问题了
没别的了 | 没事了
祝您愉快 | 祝你愉快 | 祝您生活愉快 | 祝你生活愉快 | 晚安
さようなら | さよなら | 失礼します | 失礼いたします | またね | 以上です | それだけです | これで大丈夫です
これで結構です | おやすみなさい
안녕히 계세요 | 안녕히 가세요 | 안녕 | 수고하세요 | 다음에 봐요 | 좋은 하루 보내세요 | 좋은 하루 되세요 | 그게 다예요
이게 다예요
이상입니다 | 이게 전부예요
ลาก่อน | แค่นี้ | เท่านี้ | บาย
tạm biệt | hẹn gặp lại | thế thôi | vậy thôi | chỉ thế thôi | chỉ vậy thôi
sampai jumpa | selamat tinggal | selamat malam | itu saja | dadah
"""
_THANKS = """
thanks | thank you | thankyou | thank u | thx | thnx | tnx | ty | tysm | cheers | much appreciated | many thanks
i appreciate it | i appreciate that | i appreciate your help | i appreciate the help | i really appreciate it
i really appreciate your help | i really appreciate that | appreciate it | appreciated
danke | dankeschön | danke schön | danke sehr | vielen dank | vielen lieben dank | besten dank | herzlichen dank
merci | mille mercis | je vous remercie | je te remercie
gracias | muchas gracias | muchísimas gracias | mil gracias | te lo agradezco | se lo agradezco
grazie | grazie mille | ti ringrazio | la ringrazio | obrigado | obrigada | agradeço | valeu
dank je | dank u | dank je wel | dank u wel | dankjewel | dankuwel | bedankt | hartelijk dank | hartelijk bedankt
dziękuję | dziekuje | dzięki | tack | tusen tack | tak | mange tak | tusind tak | takk | tusen takk | mange takk
kiitos | kiitti | děkuji | děkuju | díky | ďakujem
teşekkürler | teşekkür ederim | sağol | sağ ol | sağ olun | sağolun
mulțumesc | multumesc | mersi | köszönöm | köszi | ευχαριστώ | ευχαριστω
спасибо | благодарю | дякую | благодаря
شكرا | شكرا جزيلا | شكرا لك | شكرا لكم | ألف شكر | ممنون | متشکرم | مرسی | תודה | תודה רבה
धन्यवाद | शुक्रिया | 谢谢 | 謝謝 | 感谢 | 感謝 | 多谢 | 多謝
ありがとう | ありがとうございます | ありがとうございました | 有難うございます | 有難うございました | 助かりました
감사합니다 | 감사해요 | 고맙습니다 | 고마워요 | 고마워 | ขอบคุณ | cảm ơn | cám ơn | terima kasih | terimakasih
makasih
"""
_COURTESIES = """
ok | okay | k | oh | ah | alright | all right | right | great | good | nice | fine | perfect | awesome | excellent
wonderful
fantastic | amazing | brilliant | lovely | cool | super | sweet | no | nope | nah | well | so | and | then | now
again | indeed
really | very | very much | so much | a lot | lots | a ton | a bunch | a million | much | everyone | all good
i'm good | im good
for now | for today | for everything | all | then | from me | from my side | today | anyway | have a | have an
enjoy your | enjoy the | i see
got it | understood | i understand | makes sense | that makes sense | noted | that's clear | that is clear
that helps | that helped
that's very helpful | that's really helpful
that's helpful | that is helpful | that was helpful | that was very helpful | very helpful | helpful
you've been very helpful
you've been helpful | you've been great | you've been a great help | you have been very helpful | you are very helpful
you're very helpful | you were very helpful | very kind | that clears it up | that clears everything up
that clears things up
that answers my question | that answers my questions | that answers everything | that answered my question
that's what i needed | that's exactly what i needed | exactly what i needed | just what i needed | what i needed
i needed | i need | i wanted | i needed to know | i need to know | i wanted to know | i needed to hear | i had
i have
i'll try that | i'll try it | i'll do that | i'll do so | i'll give that a try | i'll give it a try
i'll keep that in mind
not now | not right now | not today | not just now | not at the moment | not at this time | nothing | for me | i think
i guess
right now | at the moment | at this time | i don't need anything | i do not need anything | i don't need anything else
i do not need anything else | i don't need any more help | i don't need any further help | i'm grateful | i'm thankful
i am grateful
i appreciate your assistance | i appreciate your time | you've been such a help | that's a great help
that's a big help | been
will do | bro | man | mate | sir | ma'am | madam | your help was great | great help | big help | wishing you
wish you | a | ahead | too
there | and have a | you | guys | dear | haha | lol
gut | sehr gut | prima | toll | perfekt | klasse | alles klar | verstanden | sehr | nein | schön | wunderbar | dann
also | und
noch | noch einen | einen | ihnen | dir | euch | das hilft | das hilft mir | das hilft mir sehr | das hat mir geholfen
für heute | erstmal
mir | hilft | geholfen | nein danke | für alles
beaucoup | bien | infiniment | mille fois | à vous | à toi | d'accord | parfait | génial | très bien | non | et
alors | entendu
compris | c'est noté | c'est parfait | c'est bon | c'est clair | encore | et bonne journée | pour aujourd'hui
très gentil | pour tout
de nuevo | perfecto | genial | vale | muy bien | entendido | de acuerdo | estupendo | excelente | claro | y | entonces
muy amable | que tenga un | que tengas un | que tenga | que tengas | que pase | que pases | un | por ahora | por hoy
por todo
mille | tante | infinite | ancora | perfetto | ottimo | va bene | bene | capito | d'accordo | benissimo | fantastico
molto
molto gentile | e | per ora | per tutto | a lei
muito | mesmo | perfeito | ótimo | certo | tudo bem | tudo certo | entendi | beleza | legal | não | tenha um
tenha uma | por enquanto
goed | oké | top | mooi | fijn | nee | duidelijk | begrepen | heel erg | heel | hoor | en | nog een | nog | een
hartstikke | voor alles
świetnie | dobrze | bardzo | rozumiem | jasne | nie | wielkie | za wszystko | okej | bra | toppen | jättebra
så mycket | mycket
fint | godt | nej | nei | perfekt | paljon | selvä | hyvä | hienoa | moc | dobře | skvělé | szépen | nagyon | foarte
mult
çok | tamam | harika | süper | peki | anladım | πολύ | εντάξει | τέλεια | ωραία
большое | огромное | вам | вас | тебе | отлично | хорошо | понятно | понял | поняла | ясно | ок | окей | нет | супер
прекрасно
очень | дуже | добре | чудово | зрозуміло | не нужно | за всё | за все | на этом
حسنا | تمام | ممتاز | رائع | جيد | لا | جدا | جزيلا | لك | מעולה | אוקיי | טוב | בסדר | לך
बहुत | ठीक है | अच्छा | आपका | जी | बहुत बहुत
非常 | 十分 | 您 | 你 | 了 | 啦 | 好的 | 好 | 嗯 | 明白 | 明白了 | 知道了 | 了解了 | 了解 | 太好了 | 太棒了 | 不用了
没有了 | 那 | 吧
您的帮助 | 你的帮助 | 的帮助 | 您的幫助
どうも | 本当に | 誠に | とても | はい | いいえ | わかりました | 分かりました | 了解です | 了解しました | なるほど
承知しました | では | それでは
じゃあ | じゃ | 大丈夫です | ね | 教えてくれて | 教えていただき
정말 | 대단히 | 너무 | 네 | 예 | 알겠습니다 | 알겠어요 | 좋아요 | 아니요 | 괜찮아요 | 그럼
มาก | ครับ | ค่ะ | คะ | นะ | นะคะ | นะครับ | โอเค | ดี | เลย
bạn | anh | chị | nhiều | rất | rất nhiều | vâng | được | tốt | rồi | dạ | banyak | baik | oke | bagus | siap
"""
_AGREEMENTS = """
yes | yeah | yep | yup | sure | sounds good | that works | that sounds good | works for me | ja | oui | sí | si | sì
sim | tak
да | так | نعم | כן | हाँ | evet | はい | 네 | 예 | 是的 | 可以 | 行
"""
# After thanks a clause goes on with their reason, after "that's all" with its object.
_FOR = frozenset(["for", "für", "pour", "por", "per", "pela", "pelo", "de", "voor", "za", "för", "за", "pro", "to"])
_OF_ALL = frozenset(["i", "we", "about"])
NONE: frozenset[str] = frozenset()
_MORE = re.compile(
    r"\b(?:please|but|however|though|still|can\s+you|could\s+you|would\s+you|bitte|aber|mais|pero|por\s+favor|però|porém|maar"
    r"|alstublieft|proszę|но|пожалуйста)\b"
)
_AND = re.compile(
    r"\band\s+(?!(?:your|the|all|for|help|time|patience|support)\b)|\b(?:und|et|y|e|en|och|og|oraz|и|та)\b"
)


@lru_cache(maxsize=2_000)
def takes_leave(text: str, *, after: str = "") -> bool:
    """Return whether a message only gives thanks and says goodbye.

    If the message that it comes `after` asks or promises something, thanks alone are an answer, or wait for one; a
    goodbye is still a closing. "Yes, thanks" is an answer, unless the question was whether that is all.
    """
    first = _FIRST.match(text)
    is_other = first is not None and first[0].isascii() and first[0].replace("’", "'").lower() not in _BY_FIRST
    if is_other or len(text) > LONGEST or any(mark in text for mark in _ASKED):
        return False
    read = unicodedata.normalize("NFKC", _ARABIC_MARKS.sub("", text)).replace("’", "'").replace("İ", "I").lower()
    kinds: set[str] = set()
    for clause in _CLAUSE.findall(read):
        found = _kinds_in(words(clause))
        if found is None:
            return False
        kinds |= found
    if _MORE.search(read) or not kinds & {"farewell", "thanks"}:
        return False
    if "farewell" in kinds:
        return True
    is_courtesy = any(mark in after for mark in _ASKED)  # if it asks nothing: "anything else?"
    return not asks(after) and not promises(after) and ("agreement" not in kinds or is_courtesy)


def _kinds_in(clause: Sequence[str]) -> set[str] | None:
    """Return the kinds of the phrases that cover a clause; None if none cover it."""
    found: set[str] = set()
    place = 0
    while place < len(clause):
        known = _BY_FIRST.get(clause[place], ())
        matching = (each for each in known if clause[place : place + len(each[0])] == each[0])
        phrase, kind = next(matching, ((), ""))
        if not phrase:
            return None
        found.add(kind)
        place += len(phrase)
        goes_on = (_FOR if "thanks" in found else NONE) | (_OF_ALL if kind == "farewell" else NONE)
        if place < len(clause) and clause[place] in goes_on:
            return None if _AND.search(" ".join(clause[place:])) else found
    return found


def _read(phrases: str) -> Iterator[tuple[str, ...]]:
    return (words(phrase) for line in phrases.strip().splitlines() for phrase in line.split("|"))


_UNTIL = {  # "see you on Saturday"
    ("see", "you"): "tomorrow monday tuesday wednesday thursday friday saturday sunday",
    ("see", "you", "on"): "monday tuesday wednesday thursday friday saturday sunday",
    ("bis",): "morgen montag dienstag mittwoch donnerstag freitag samstag sonntag",
    ("à",): "demain lundi mardi mercredi jeudi vendredi samedi dimanche",
    ("hasta", "el"): "lunes martes miércoles jueves viernes sábado domingo",
    ("a",): "domani lunedì martedì mercoledì giovedì venerdì sabato domenica",
    ("até",): "amanhã segunda terça quarta quinta sexta sábado domingo",
    ("tot",): "morgen maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
}


def _by_first() -> Mapping[str, Sequence[tuple[tuple[str, ...], str]]]:
    """Return all phrases, each with its kind, by their first word, the longest first."""
    listed = {"courtesy": _COURTESIES, "agreement": _AGREEMENTS, "thanks": _THANKS, "farewell": _FAREWELLS}
    kinds = {phrase: kind for kind, phrases in listed.items() for phrase in _read(phrases)}
    kinds |= dict.fromkeys(product(_FINE, _TIMES), "farewell")
    kinds |= dict.fromkeys(((*start, day) for start, days in _UNTIL.items() for day in days.split()), "farewell")
    kinds |= dict.fromkeys(((*start, fine) for start, fine in product(_THAT_IS, _FINE)), "courtesy")
    found: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for phrase, kind in sorted(kinds.items(), key=lambda each: -len(each[0])):
        found.setdefault(phrase[0], []).append((phrase, kind))
    return found


_FINE = (
    *("nice", "good", "great", "lovely", "wonderful", "pleasant", "fantastic", "amazing", "blessed", "beautiful"),
    *("perfect", "excellent", "fine", "ok", "okay"),
)
_THAT_IS = (("that's",), ("that", "is"), ("it's",), ("this", "is"))
_TIMES = ["day", "evening", "night", "weekend", "week", "morning", "afternoon", "one", "time"]
_BY_FIRST = _by_first()
