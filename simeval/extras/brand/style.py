"""The style of an English text, in counts: the basis of its formality, tone and length."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simeval.scorers.text.phrases import typed

_SLANG = frozenset(
    """
    ain't aight ain asap bae bestie bet bro bruh btw cuz dang dm dms dope dude epic fam fomo fr fyi gimme gonna gotta
    guys haha hahaha hella hey hype idk ikr imma imo iykyk kinda kk lemme lit lmao lmk lol lowkey meh nah nope ngl nvm
    obvs oof omg ooh ouch pls plz pov sassy slay sorta sup tbh tbqh thanx tho thx u ugh ur vibe vibes wanna wassup
    whatcha woah wow wtf y'all ya yall yay yeah yep yikes yo yolo yup
    """.split()  # noqa: SIM905
)
_FORMAL = frozenset(
    """
    accordingly additionally aforementioned apologise apologize appreciate approximately ascertain assist assistance
    commence consequently correspondence endeavour endeavor ensure facilitate forthwith furthermore hence hereby herein
    henceforth inconvenience inform inquire inquiry kindly moreover nevertheless notwithstanding obtain per pertaining
    prior pursuant regarding regret regrettably request require respectfully shall sincerely subsequently therefore
    thereof thus unfortunately upon utilise utilize whereas whereby
    """.split()  # noqa: SIM905
)
_WARM = frozenset(
    """
    absolutely awesome appreciate brilliant cheers congrats congratulations delighted enjoy excited fantastic friend
    friends glad great happy hello hey hi hope hugs kind love lovely nice perfect pleased pleasure sorry sweet thank
    thanks welcome wonderful yay
    """.split()  # noqa: SIM905
)
_TECHNICAL = frozenset(
    """
    algorithm api architecture backend baseline benchmark binary boolean cache calibration cli client cluster code
    commit compile config configuration container cpu csv database dataset debug dependency deploy deployment docker
    encryption endpoint engine framework frontend function git gpu hash http https implementation index install
    instance integration interface iteration json kernel latency library log metadata metric metrics module network
    null parameter parse pipeline protocol python query regression repository request runtime schema script sdk
    server signal sql ssl stack statistical string syntax tcp terminal thread threshold throughput token url
    validation variable variance vector version webhook workflow yaml
    """.split()  # noqa: SIM905
)

_SLANG_PHRASES = re.compile(r"\b(?:no cap|no worries|my bad|hits different|for real|what's up|you guys)\b")
_FORMAL_PHRASES = re.compile(
    r"\b(?:at this time|at your earliest convenience|please be advised|rest assured|we strive|with respect to|dear sir"
    r"|dear madam|in accordance with|on behalf of|thank you for your|valued customer)\b"
)
_WARM_PHRASES = re.compile(r"\b(?:of course|no problem|you got this|well done|take care|happy to help)\b")

_WORD = re.compile(r"\w+(?:'\w+)*")
_BEGINNING = re.compile(r"(?:^|[.!?…]\s|\n)[^\w.!?…]*+(\w?)")  # finds nothing too: it goes over no gap twice
_CONTRACTION = re.compile(
    r"\b\w+(?:n't|'(?:m|re|ve|ll|d))\b|\b(?:it|that|there|here|what|who|let|he|she|how|where)'s\b"
)
_EMOJI = re.compile(r"[\U0001f000-\U0001faff☀-➿⌀-⏿⬀-⯿]|(?<!\w)[:;]-?[)(DPp](?!\w)|<3")
_ELONGATED = re.compile(r"([a-z])\1\1")
_SHOUTED = re.compile(r"\b[A-Z]{4,}\b")
_SECOND_PERSON = frozenset({"you", "your", "yours", "yourself", "u", "ur"})
_CODE = re.compile(
    r"`[^`]+`|\w_\w|\b[a-z]+[A-Z]|\w\(\)|(?<!\w)--\w|\b\d+(?:\.\d+){2,}\b|\d\s?(?:%|ms|[kKMG]B|GHz)(?!\w)"
)


@dataclass(frozen=True, slots=True)
class Style:
    """Counts in a text; `lowered` is the share of its sentences that begin with a small letter."""

    words: int
    sentences: int
    letters_per_word: float
    contractions: int
    slang: int
    emoji: int
    elongated: int
    shouted: int
    exclamations: int
    questions: int
    lowered: float
    formal: int
    warm: int
    technical: int
    second_person: int

    def rates(self) -> Mapping[str, float]:
        """Return measures independent of a text's length: shares of words and sentences, and mean lengths."""
        words, sentences = max(self.words, 1), max(self.sentences, 1)
        counted = ("contractions", "slang", "emoji", "elongated", "shouted", "formal", "warm", "second_person")
        return {
            **{name: getattr(self, name) / words for name in counted},
            "exclamations": self.exclamations / sentences,
            "questions": self.questions / sentences,
            "lowered": self.lowered,
            "letters_per_word": self.letters_per_word,
            "words_per_sentence": self.words / sentences,
        }


def style_of(text: str) -> Style:
    """Count the features of a text's style. Words are known for English only."""
    text = typed(text)
    lowered = text.lower()
    words = _WORD.findall(lowered)
    begun = [letter for letter in _BEGINNING.findall(text) if letter]
    return Style(
        words=len(words),
        sentences=len(begun),
        letters_per_word=sum(map(len, words)) / max(len(words), 1),
        contractions=len(_CONTRACTION.findall(lowered)),
        slang=_known(words, _SLANG) + len(_SLANG_PHRASES.findall(lowered)),
        emoji=len(_EMOJI.findall(text)),
        elongated=len(_ELONGATED.findall(lowered)),
        shouted=len(_SHOUTED.findall(text)),
        exclamations=text.count("!"),
        questions=text.count("?"),
        lowered=sum(letter.islower() for letter in begun) / max(len(begun), 1),
        formal=_known(words, _FORMAL) + len(_FORMAL_PHRASES.findall(lowered)),
        warm=_known(words, _WARM) + len(_WARM_PHRASES.findall(lowered)),
        technical=_known(words, _TECHNICAL) + len(_CODE.findall(text)),
        second_person=_known(words, _SECOND_PERSON),
    )


def _known(words: Sequence[str], known: frozenset[str]) -> int:
    return sum(word in known for word in words)
