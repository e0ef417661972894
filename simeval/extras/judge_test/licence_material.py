"""The material of a judge's licence: right answers, and near misses made from the expectation.

All of it was written for this; with any change raise `material.VERSION`. Each situation gives two right answers, one
plain and one in courtesy, and two near misses by one rule.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from simeval.core import seeds
from simeval.core.near_misses import framed, near_misses
from simeval.extras.judge_test.material import SITUATIONS

_MORE = (  # the user, the question, the expectation, a right answer
    (
        "A caller at a dental practice.",
        "Which day is my appointment?",
        "The assistant says that the appointment is on Tuesday.",
        "Your appointment is on Tuesday.",
    ),
    (
        "A customer of a phone company.",
        "What does the basic plan cost a month?",
        "The assistant says that the basic plan costs $24 a month.",
        "The basic plan is $24 each month.",
    ),
    (
        "A guest of a hotel.",
        "Until when can I check out?",
        "The assistant says that check-out is possible until 11 am.",
        "You can check out until 11 am.",
    ),
    (
        "A traveller at a station.",
        "Which platform does the train to Leeds leave from?",
        "The assistant says that the train leaves from platform 7.",
        "It leaves from platform 7.",
    ),
    (
        "A buyer of a washing machine.",
        "How long is the warranty?",
        "The assistant says that the warranty lasts three years.",
        "You have a warranty of three years.",
    ),
    (
        "A visitor of a museum.",
        "Is the museum open on Mondays?",
        "The assistant says that the museum is closed on Mondays.",
        "No, on Mondays we are closed.",
    ),
    (
        "A passenger of an airline.",
        "How heavy may my suitcase be?",
        "The assistant says that a suitcase may weigh 23 kg.",
        "It may weigh up to 23 kg.",
    ),
    (
        "A client of an insurer.",
        "Who looks after my claim?",
        "The assistant says that the claim is handled by Anna Keller.",
        "Anna Keller takes care of your claim.",
    ),
    (
        "A customer of an online shop.",
        "Where do I send the return?",
        "The assistant says that returns are sent to Bristol.",
        "Please send it to our warehouse in Bristol.",
    ),
    (
        "A student at a university.",
        "When is the essay due?",
        "The assistant says that the essay is due on 14 March.",
        "Hand it in by 14 March.",
    ),
    (
        "A user of a note-taking app.",
        "Is the export included in the free plan?",
        "The assistant says that the export is included in the free plan.",
        "Yes, the free plan includes it.",
    ),
    (
        "A tenant of a flat.",
        "How much notice do I have to give?",
        "The assistant says that the notice period is 3 months.",
        "You have to give 3 months of notice.",
    ),
    (
        "A member of a gym.",
        "From when is the sauna open?",
        "The assistant says that the sauna opens at 16:30.",
        "From 16:30 on.",
    ),
    (
        "A cook who follows a recipe.",
        "How hot must the oven be?",
        "The assistant says that the oven must be at 180 degrees.",
        "Heat it to 180 degrees.",
    ),
    (
        "A customer of a bank.",
        "What does a transfer abroad cost?",
        "The assistant says that a transfer abroad costs 5 euros.",
        "We charge 5 euros for it.",
    ),
    (
        "A parent who books a swimming course.",
        "From which age can my child take part?",
        "The assistant says that children can take part from six years on.",
        "Children may join from six years on.",
    ),
    (
        "A customer of a furniture shop.",
        "Which colour is left?",
        "The assistant says that the sofa is available in green.",
        "There is one left in green.",
    ),
    (
        "A driver with a rented car.",
        "Which fuel does it need?",
        "The assistant says that the tank holds 45 litres of diesel.",
        "Diesel, and 45 litres of it fit in.",
    ),
    (
        "A shopper with a voucher.",
        "What is the code of my voucher?",
        "The assistant says that the code of the voucher is SPRING72.",
        "Your code is SPRING72.",
    ),
    (
        "A patient of a clinic.",
        "How often do I take the drops?",
        "The assistant says that the drops are taken four times a day.",
        "Take them four times a day.",
    ),
    (
        "A customer of a power company.",
        "When is the meter read?",
        "The assistant says that the meter is read in October.",
        "Somebody comes in October to read it.",
    ),
    (
        "A guest of a restaurant.",
        "Until how many people do you take bookings?",
        "The assistant says that bookings are taken for up to 12 people.",
        "We take bookings for up to 12 people.",
    ),
    (
        "A reader of a newspaper.",
        "By when can I cancel?",
        "The assistant says that the subscription can be cancelled within 14 days.",
        "You can cancel it within 14 days.",
    ),
    (
        "A buyer of a concert ticket.",
        "Where is my seat?",
        "The assistant says that the seat is in row 18.",
        "You sit in row 18.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LicenceCase:
    """An answer in a situation, and whether it is right."""

    given: str
    question: str
    expected: str
    answer: str
    is_right: bool

    @property
    def when(self) -> str:
        """Return the user's goal."""
        return f"They ask: {self.question}"


@lru_cache(maxsize=1)
def _cases() -> Sequence[LicenceCase]:
    told = [(each.given, each.talk.question, each.expected, each.talk.good) for each in SITUATIONS]
    return [
        LicenceCase(given=given, question=question, expected=expected, answer=answer, is_right=is_right)
        for given, question, expected, good in (*told, *_MORE)
        for is_right, answer in (
            *((True, answer) for answer in (good, framed(good, "en"))),
            *((False, each.answer) for each in near_misses((expected,))),
        )
    ]


def licence_cases(seed: int, *, right: bool) -> Sequence[LicenceCase]:
    """Return the right answers, or the near misses, in an order by the seed."""
    found = [each for each in _cases() if each.is_right == right]
    seeds.generator(seed, "licence", int(right)).shuffle(found)
    return found
