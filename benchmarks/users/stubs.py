"""Users with one fault each, made of clean conversations: what detectors must find.

Every bank of sentences has two halves: detectors may be tuned on the first, and are tested on the second.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random

from benchmarks.users.transcripts import Recorded
from simeval.core.conversation import Conversation, Message, UserFaultKind
from simeval.engine.users.asked_for import asked_for
from simeval.engine.users.identifiers import identifiers, names_of_things
from simeval.suites.scenario import ScenarioTest

Halves = tuple[Sequence[str], Sequence[str]]  # for tuning, for the test
Made = tuple[ScenarioTest, Conversation] | None

LEAST_WORDS = 8  # of a message that is worth repeating

ASSISTANT: Halves = (
    (
        "Hello! How can I help you today?",
        "I'd be happy to help you with that. Could you please provide your order number?",
        "Thank you for contacting our support team. Your request has been processed.",
        "As an AI language model, I can't do that, but here are some tips.",
        "Is there anything else I can help you with?",
        "I apologize for the inconvenience. Let me look into this for you, and if you have any questions, ask me.",
        "I'm here to help! What seems to be the problem?",
        "Your booking has been cancelled and the refund will arrive within five days.",
        "You're welcome! Feel free to reach out if you need anything.",
        "Welcome to our store! How may I assist you?",
    ),
    (
        "Sure thing! How may I be of assistance today?",
        "I am happy to assist. May I have your account number, please?",
        "Thanks for choosing us! Your reservation has been successfully updated.",
        "I'm just a virtual assistant, so I have no personal opinion on this.",
        "Can I help you with something else today?",
        "We apologize for any inconvenience this may have caused you.",
        "What can I do for you today?",
        "I have processed your refund. Would you like me to send you a confirmation?",
        "You're very welcome! Don't hesitate to write again.",
        "Certainly, let me assist you with your return. Please provide your e-mail address.",
        "I understand your frustration, and I'm glad to help you with this matter.",
        "Here are some options for you: a refund, an exchange, or a voucher.",
    ),
)
EMPTY: Halves = (
    ("", "   ", "...", "[END]", "-"),
    ("\n\n", "…", "(no message)", "N/A", "\u200b", '""', "[silence]", "***"),
)
QUESTIONS: Halves = (
    (
        "Could you please give me your reservation number?",
        "This will cost $50. Do you want to go ahead (yes/no)?",
        "Which of the two flights would you like to cancel?",
        "Please provide your e-mail address so that I can find your account.",
    ),
    (
        "To continue, I need your date of birth.",
        "I can book the 9:40 for you at 120 dollars. Shall I book it?",
        "What size and colour should the new one have?",
        "Please confirm that the address above is correct.",
        "How would you like to receive the refund: to your card, or as a voucher?",
        "Before I cancel it: are you sure that you want to lose the seat?",
        "Let me know which date suits you best.",
        "Welche Bestellnummer haben Sie?",
    ),
)
OFF_TOPIC: Halves = (
    (
        "lol did you see the match yesterday, what a goal",
        "I think the moon looks so pretty tonight",
        "][",
        "my cat sleeps on the piano all afternoon, it is so funny",
        "<p class='comment'>",
        "do you believe in ghosts? my grandma did",
    ),
    (
        "pizza is better without pineapple, fight me",
        "I painted my kitchen green and my brother hates it",
        "}}}} {{ ##",
        "the guitar solo in that song gives me goosebumps",
        "have you ever seen snow? we made a snowman as kids",
        "spiders are scary but frogs are cute",
    ),
)
EXPECTATIONS: Halves = (
    (
        "The assistant politely refuses to give medical advice and names the emergency number",
        "The bot states the delivery time of two to four days and offers express shipping for a fee",
    ),
    (
        "The assistant explains that basic economy fares cannot be changed and proposes an upgrade instead",
        "The app lists three restaurants nearby with their opening hours and asks which one to book",
    ),
)
QUOTES: Halves = (
    ("{}", "I expect this: {}.", "{}, right?"),
    ("You know that {}, so do it", "So {}. Go on.", "My notes say: {}"),
)
LANGUAGES: Halves = (
    (
        "Ich möchte meine Bestellung zurückgeben, weil sie nicht passt.",
        "Je voudrais savoir pourquoi vous avez annulé ma réservation.",
        "Quiero cambiar la fecha de mi vuelo porque estoy enfermo.",
        "Я хочу вернуть деньги за этот заказ.",
        "我想知道我的订单什么时候到。",
    ),
    (
        "Können Sie mir bitte sagen, wann das Paket bei mir ankommt?",
        "Il me faut une réponse, parce que je ne peux pas attendre plus longtemps.",
        "No me han enviado el correo y no sé qué hacer con la cuenta.",
        "Vorrei sapere se è possibile cambiare la data della prenotazione.",
        "Eu não recebi o meu pedido e quero o dinheiro de volta, por favor.",
        "Ik wil graag weten waarom mijn bestelling nog niet is verzonden.",
        "Мне нужно изменить адрес доставки.",
        "注文をキャンセルしたいのですが。",
        "أريد استرداد أموالي من فضلك",
        "मुझे अपना ऑर्डर रद्द करना है।",
        "주문을 취소하고 싶어요.",
        "Nie wiem, co mam zrobić, bo moja paczka jest zagubiona i nie ma jej na poczcie.",
    ),
)


def repeats_itself(talk: Recorded, random: Random, half: int) -> Made:
    """Say an earlier message again, as it was or a little changed."""
    own = _own(talk.conversation)
    earlier = [place for place in own[:-1] if len(talk.conversation.messages[place].content.split()) >= LEAST_WORDS]
    if not earlier:
        return None
    first = random.choice(earlier)
    later = random.choice([place for place in own if place > first])
    text = talk.conversation.messages[first].content
    ways: tuple[Sequence[Callable[[str], str]], ...] = (
        (str, str.lower, lambda said: said.rstrip(".!?")),
        (str, str.upper, lambda said: said.replace(",", ""), lambda said: f"{said}!!"),
    )
    return talk.scenario, _with(talk.conversation, {later: random.choice(ways[half])(text)})


def speaks_as_assistant(talk: Recorded, random: Random, half: int) -> Made:
    """Say what an assistant says, in place of a message or after it."""
    place, said = random.choice(_own(talk.conversation)), random.choice(ASSISTANT[half])
    before = talk.conversation.messages[place].content
    return talk.scenario, _with(talk.conversation, {place: random.choice((said, f"{before} {said}"))})


def empty_message(talk: Recorded, random: Random, half: int) -> Made:
    """Say nothing at some turn."""
    return talk.scenario, _with(talk.conversation, {random.choice(_own(talk.conversation)): random.choice(EMPTY[half])})


def left_while_asked(talk: Recorded, random: Random, half: int) -> Made:
    """Leave without a word while the app asks something."""
    own = random.choice(_own(talk.conversation))
    asked = Message(role="assistant", content=random.choice(QUESTIONS[half]))
    said = [replace(message, metadata={}) for message in talk.conversation.messages[: own + 1]]
    return talk.scenario, replace(talk.conversation, messages=(*said, asked), ended="goal_satisfied")


def never_states_goal(talk: Recorded, random: Random, half: int) -> Made:
    """Talk of anything but what it came for, which is a thing with a number or a name."""
    is_concrete = bool(names_of_things(talk.scenario.when)) and "never_states_goal" not in asked_for(talk.scenario)
    if len(talk.scenario.when.split()) < LEAST_WORDS or not is_concrete:
        return None
    own = _own(talk.conversation)
    return talk.scenario, _with(talk.conversation, {place: random.choice(OFF_TOPIC[half]) for place in own})


def leaks_expectation(talk: Recorded, random: Random, half: int) -> Made:
    """Quote an expectation, whole or from some word on."""
    behaviour = random.choice(EXPECTATIONS[half])
    then = replace(talk.scenario.expectations[0], expected_behavior=behaviour)
    quoted = behaviour.split()[random.choice((0, 0, 2, 3)) :]
    place, quote = random.choice(_own(talk.conversation)), random.choice(QUOTES[half])
    said = quote.format(" ".join(quoted))
    return replace(talk.scenario, then=then), _with(talk.conversation, {place: said})


def changes_fact(talk: Recorded, random: Random, half: int) -> Made:
    """Tell an identifier that was given with one or two other digits in it."""
    given = {each.value: each for each in identifiers(f"{talk.scenario.given}\n{talk.scenario.when}")}
    places = [
        (place, each)
        for place in _own(talk.conversation)
        for each in identifiers(talk.conversation.messages[place].content)
        if each.value in given
    ]
    if not places:
        return None
    place, told = random.choice(places)
    digits = [at for at, each in enumerate(told.written) if each.isdigit()]
    if not digits:
        return None
    wrong = random.sample(digits, min(len(digits), random.choice((1, 2))))
    other = "".join(_other_digit(each, random) if at in wrong else each for at, each in enumerate(told.written))
    text = talk.conversation.messages[place].content.replace(told.written, other)
    return talk.scenario, _with(talk.conversation, {place: text})


def switches_language(talk: Recorded, random: Random, half: int) -> Made:
    """Go on in another language."""
    own = _own(talk.conversation)
    if len(own) < 2:
        return None
    return talk.scenario, _with(talk.conversation, {random.choice(own[1:]): random.choice(LANGUAGES[half])})


STUBS: Mapping[UserFaultKind, Callable[[Recorded, Random, int], Made]] = {
    "repeats_itself": repeats_itself,
    "speaks_as_assistant": speaks_as_assistant,
    "empty_message": empty_message,
    "left_while_asked": left_while_asked,
    "never_states_goal": never_states_goal,
    "leaks_expectation": leaks_expectation,
    "changes_fact": changes_fact,
    "switches_language": switches_language,
}


def _other_digit(digit: str, random: Random) -> str:
    return random.choice([each for each in "123456789" if each != digit])


def _own(conversation: Conversation) -> list[int]:
    return [place for place, message in enumerate(conversation.messages) if message.role == "user"]


def _with(conversation: Conversation, texts: Mapping[int, str]) -> Conversation:
    messages = [
        replace(message, content=texts.get(place, message.content))
        for place, message in enumerate(conversation.messages)
    ]
    return replace(conversation, messages=tuple(messages))
