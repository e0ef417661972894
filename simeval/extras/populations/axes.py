"""The axes on which users differ, each with its traits: a word for reports, and the prompt of a user who has it."""

from collections.abc import Mapping
from dataclasses import dataclass

from simeval.core.setting_field import WritingStyleAxes

_STYLE = WritingStyleAxes()
UNKNOWN = "unknown"  # the language of a user who wrote too little to detect it


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis; `weight` is how far apart its traits are, and if it `is_ordered` neighbours are nearer.

    One without traits of its own takes any word, as languages are.
    """

    name: str
    traits: Mapping[str, str]
    is_ordered: bool = False
    weight: float = 1.0

    def told(self, word: str) -> str:
        """Return the prompt of a user who has a trait; empty for an unknown one."""
        return "" if word == UNKNOWN else self.traits.get(word, f"Writes in {word}.")

    def distance(self, one: str, other: str) -> float:
        """Return how far apart two traits are, at most the axis' weight."""
        if one == other:
            return 0.0
        if not self.is_ordered:
            return self.weight
        order = list(self.traits)
        return self.weight * abs(order.index(one) - order.index(other)) / (len(order) - 1)


LENGTHS = {"terse": 5, "short": 15, "medium": 40, "detailed": 100}  # words of a message, at most; else rambling
CHATS = {"1-2 messages": 2, "3-5 messages": 5, "6-10 messages": 10}  # of the user in a chat, at most; else more
LONGEST_CHAT = "many messages"

AXES = (
    Axis("language", {}, weight=4.0),
    Axis("verbosity", dict(zip((*LENGTHS, "rambling"), _STYLE.verbosity, strict=True)), is_ordered=True),
    Axis(
        "chat",
        {
            "1-2 messages": "Says all in one or two messages.",
            "3-5 messages": "Spreads what there is to say over three to five messages.",
            "6-10 messages": "Spreads what there is to say over six to ten messages.",
            LONGEST_CHAT: "Goes on for more than ten messages.",
        },
        is_ordered=True,
    ),
    Axis(
        "formality",
        dict(zip(("very formal", "formal", "neutral", "casual", "slangy"), _STYLE.formality, strict=True)),
        is_ordered=True,
    ),
    Axis(
        "tone",
        {
            "warm": "Warm and enthusiastic.",
            "polite": "Polite.",
            "direct": "Neutral and direct.",
            "annoyed": "Annoyed.",
        },
    ),
    Axis(
        "typing",
        {
            "as in print": "With capitals and full stops, as in print.",
            "no full stops": "Begins messages with a capital, and leaves the full stop out.",
            "small letters": "Begins messages with a small letter, and ends them with a full stop or a question mark.",
            "bare": "Small letters, no full stops.",
            "capitals": "ALL IN CAPITALS.",
        },
    ),
    Axis(
        "proficiency",
        {
            "correct": "Writes correct, everyday language.",
            "few slips": "Writes clearly, with a few small mistakes.",
            "many slips": "Makes frequent spelling and grammar mistakes.",
        },
        is_ordered=True,
    ),
    Axis(
        "courtesy",
        {
            "no courtesy": "Neither greets nor thanks.",
            "greets": "Begins with a greeting, and does not thank.",
            "thanks": "Does not greet, and says thanks.",
            "greets and thanks": "Begins with a greeting, and says thanks.",
        },
    ),
)
