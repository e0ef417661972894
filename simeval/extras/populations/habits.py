"""How the user of one conversation writes: read off the messages by rules, without a model.

Length, typing and the number of messages are measured in any language; courtesy, tone and formality by the commonest
words of seven languages, English best; without any of them a user counts as neutral, direct and without courtesy.

Slips are found by the logs themselves, so in any language whose words have spaces. A word that hardly anybody writes,
and which is a common word of the same logs but for a letter that is missing or too many within it, or for two that
changed places, is taken for a slip of that. A rare word may be so by mistake.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from rapidfuzz import process
from rapidfuzz.distance import DamerauLevenshtein

from simeval.core.conversation import Conversation
from simeval.core.languages import called, language_of
from simeval.core.phrases import stem
from simeval.core.wording import words
from simeval.extras.populations.axes import AXES, CHATS, LENGTHS, LONGEST_CHAT, UNKNOWN

RARE = 2  # of a word in all logs, at most
COMMON = 20  # of a word in all logs, at least
LEAST_LETTERS = 5  # shorter words are near to too many others
LEAST_WITH_ALL = 6  # letters of a word that may lack one
_BARE = re.compile(  # English words that lost their apostrophe
    r"(?:do|does|did|ca|could|would|should|is|was|are|wo)nt|im|ive|thats|whats|youre|theyre"
)

_OFTEN = 1 / 3  # of the messages, the least share for a habit
_MANY_SLIPS = 1 / 30  # of the words
_LEAST_CAPITALS = 10  # letters of a message that are capitals on purpose
GREETING = re.compile(
    r"\A\W*(?:hi|hello|hey+|hiya|greetings|good\s+(?:morning|day|afternoon|evening)|dear|hallo|guten\s+(?:tag|morgen|abend)"
    r"|moin|servus|bonjour|salut|bonsoir|hola|buen[oa]s|ciao|buongiorno|salve|ol[aá]|bom\s+dia|boa\s+tarde|goedendag)\b"
)
_THANKS = re.compile(r"\b(?:thank\w*|thx|tks|cheers|danke|merci|gracias|grazie|obrigad[oa]|bedankt|dank\s+je)\b")
_POLITE = re.compile(
    r"\b(?:please|pls|plz|(?:could|would|may|might)\s+(?:you|i)|appreciate|sorry|excuse\s+me|kindly|bitte|s'il\s+vous"
    r"|por\s+favor|per\s+favore|graag|alstublieft)\b"
)
_ANNOYED = re.compile(
    r"\b(?:ridiculous|unacceptable|terribl[ey]|awful|horrible|worst|useless|frustrat\w+|annoy\w+|angry|furious|pathetic"
    r"|disappointed|disgusting|wtf|stupid|nonsense|shame|wast(?:e|ing)|sick\s+of|fed\s+up|unverschämt|ärgerlich)\b|[!?]{2,}"
)
_WARM = re.compile(
    r"!|\b(?:wonderful|awesome|fantastic|amazing|excited|love|lovely|super|perfect)\b|[😀-😎🙂😊🥰👍🎉❤]"
)
_SLANG = re.compile(
    r"\b(?:u|ur|r|thx|pls|plz|lol|lmao|yeah|yep|yup|nope|nah|gonna|wanna|gotta|kinda|btw|omg|idk|tbh|asap|cuz|coz|haha\w*"
    r"|dude|bro|cool|yo|sup|hmm+|wow|wtf)\b|[\U0001F300-\U0001FAFF☀-➿]|(?<!\w)[:;]-?[)(DP](?!\w)"
)
_FORMAL = re.compile(
    r"\b(?:sir|madam|kindly|regarding|regards|sincerely|hereby|furthermore|therefore|concerning|would\s+(?:you|it)\s+be"
    r"|i\s+would\s+(?:like|appreciate)|could\s+you\s+please|may\s+i|i\s+am\s+writing|assistance|sehr\s+geehrte\w*|veuillez"
    r"|cordialement|estimad[oa]s?|atentamente|ihnen|vous|usted)\b"
)
_LETTER = re.compile(r"\b(?:dear|sir|madam|regards|sincerely|hereby|sehr\s+geehrte\w*|cordialement|atentamente)\b")
_CONTRACTED = re.compile(r"\b\w+'(?:s|m|re|ve|ll|d|t)\b")
_ENDS = (".", "!", "?", "…", "。", "！", "？", "؟", ":")


def slips_in(texts: Iterable[str]) -> frozenset[str]:
    """Return the slips that there are in the texts of some logs."""
    counts = Counter(word for text in texts for word in words(text))
    common = [word for word, count in counts.items() if count >= COMMON and _is_looked_at(word)]
    rare = [word for word, count in counts.items() if count <= RARE and _is_looked_at(word)]
    return frozenset(word for word in rare if _is_slip(word, common))


def _is_looked_at(word: str) -> bool:
    return len(word) >= LEAST_LETTERS and word.isalpha()


def _is_slip(word: str, common: list[str]) -> bool:
    """Return whether a common word is meant; another form of the word itself is none."""
    near = process.extract(word, common, scorer=DamerauLevenshtein.distance, score_cutoff=1, limit=None)
    return any(_is_meant(word, meant) and stem(meant) != stem(word) for meant, *_ in near)


def _is_meant(word: str, meant: str) -> bool:
    """Return whether the letters of a word that is near were swapped, or one within is missing or too many."""
    if len(word) == len(meant):
        return sorted(word) == sorted(meant)
    return len(meant) >= LEAST_WITH_ALL and (word[0], word[-1]) == (meant[0], meant[-1])


@dataclass(frozen=True, slots=True)
class Habits:
    """The traits of one user, a word for each axis, with its median words a message and its number of messages."""

    traits: tuple[str, ...]
    words: float
    messages: int


def habits_of(conversation: Conversation, known_slips: Collection[str]) -> Habits | None:
    """Return how the user of a conversation writes; None if the user wrote no word."""
    said = [message.content for message in conversation.messages if message.role == "user" and words(message.content)]
    if not said:
        return None
    typed = [text.replace("’", "'").lower() for text in said]
    length = median(len(words(text)) for text in said)
    found: Mapping[str, str] = {
        "language": called(language_of("\n".join(said))) or UNKNOWN,
        "verbosity": next((word for word, most in LENGTHS.items() if length <= most), "rambling"),
        "chat": next((word for word, most in CHATS.items() if len(said) <= most), LONGEST_CHAT),
        "formality": _formality(typed),
        "tone": _tone(typed),
        "typing": _typing(said),
        "proficiency": _proficiency(typed, known_slips),
        "courtesy": _courtesy(typed),
    }
    return Habits(tuple(found[axis.name] for axis in AXES), length, len(said))


def _share(pattern: re.Pattern[str], typed: Sequence[str]) -> float:
    return sum(bool(pattern.search(text)) for text in typed) / len(typed)


def _formality(typed: Sequence[str]) -> str:
    slang, formal, contracted = (_share(each, typed) for each in (_SLANG, _FORMAL, _CONTRACTED))
    if slang >= _OFTEN:
        return "slangy"
    if formal >= _OFTEN and not slang:
        return "very formal" if _share(_LETTER, typed) >= _OFTEN else "formal"
    return "casual" if slang or contracted >= 2 * _OFTEN else "neutral"


def _tone(typed: Sequence[str]) -> str:
    for tone, pattern in (("annoyed", _ANNOYED), ("warm", _WARM), ("polite", _POLITE)):
        if _share(pattern, typed) >= _OFTEN:
            return tone
    return "direct"


def _typing(said: Sequence[str]) -> str:
    if any(_is_shouted(text) for text in said) and 2 * sum(map(_is_shouted, said)) >= len(said):
        return "capitals"
    first = [next((letter for letter in text if letter.isalpha()), "") for text in said]
    is_small = 2 * sum(letter.islower() for letter in first) > len(said)
    is_ended = 2 * sum(text.rstrip().endswith(_ENDS) for text in said) >= len(said)
    if is_small:
        return "small letters" if is_ended else "bare"
    return "as in print" if is_ended else "no full stops"


def _is_shouted(text: str) -> bool:
    letters = [letter for letter in text if letter.isalpha() and letter.upper() != letter.lower()]
    return len(letters) >= _LEAST_CAPITALS and all(letter.isupper() for letter in letters)


def _proficiency(typed: Sequence[str], known_slips: Collection[str]) -> str:
    written = [word for text in typed for word in words(text)]
    slips = sum(word in known_slips or _BARE.fullmatch(word) is not None for word in written)
    if not slips:
        return "correct"
    return "many slips" if slips >= _MANY_SLIPS * len(written) and slips > 1 else "few slips"


def _courtesy(typed: Sequence[str]) -> str:
    greets, thanks = bool(GREETING.search(typed[0])), any(_THANKS.search(text) for text in typed)
    return {(0, 0): "no courtesy", (1, 0): "greets", (0, 1): "thanks", (1, 1): "greets and thanks"}[greets, thanks]
