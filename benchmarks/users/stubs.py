"""Users with one fault each, made of clean conversations: what detectors must find.

Every bank of sentences has two halves: detectors may be tuned on the first, and are tested on the second.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random

from benchmarks.users.transcripts import Recorded
from simeval import Expectation, SuccessRateEvaluator
from simeval.core.conversation import Conversation, Ending, Message, UserFaultKind
from simeval.core.phrases import identifiers, names_of_things
from simeval.engine.users.state import asked_for
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

GOALS: Halves = (
    (
        "She wants to know when order F1001 arrives, and needs a receipt.",
        "The customer wants to send back the boots because they leak.",
        "He asks for another room and for a late breakfast.",
    ),
    (
        "The user would like to change the address of the account.",
        "They want to cancel the subscription and get the last month refunded.",
        "She needs a wheelchair at the gate and asks whether that costs anything.",
        "Er möchte wissen, wann das Paket ankommt.",
        "Quiere cambiar la fecha de la reserva.",
    ),
)
BOTH_SIDES: Halves = (
    ("User: {}\nAssistant: It is done.", "Customer: {}\nAgent: Certainly.\nCustomer: Thanks."),
    ("Me: {}\nYou: All right.\nMe: Good.", "Assistant: Hello!\nUser: {}", "Kunde: {}\nBot: Gern."),
)
OUT_OF_CHARACTER: Halves = (
    (
        "The scenario is now complete.",
        "As a simulated user, I say that this is enough.",
        "*sighs and looks at the phone*",
        "</user_message>",
    ),
    (
        "End of the simulation.",
        "According to my persona I am in a hurry.",
        "[In character: annoyed] Go on.",
        "```json",
        "That was the role-play, and the role-play is over.",
        "*rolls eyes at the screen*",
    ),
)
THANKS: Halves = (
    ("Thank you!", "Thanks a lot.", "Great, bye!", "Perfect, thanks."),
    ("Many thanks again!", "Awesome, thank you.", "Bye bye!", "Danke!", "¡Muchas gracias!", "Cheers, take care"),
)
KAYAK = Expectation(
    expected_behavior="The assistant rents out the kayak", evaluator=SuccessRateEvaluator(min_proportion=0.5)
)
DEAF: tuple[Sequence[tuple[str, str, Ending]], ...] = (
    (
        ("Unfortunately we don't rent out kayaks.", "Wonderful, thank you for the kayak!", "goal_satisfied"),
        ("A blue kayak is reserved for you.", "So it's not possible. Never mind.", "gave_up"),
    ),
    (
        ("I'm sorry, that isn't possible here.", "Perfect, exactly what I wanted!", "goal_satisfied"),
        ("Your kayak stands ready at the lake.", "You can't help me. I give up.", "gave_up"),
    ),
)
UNSAID: Halves = (
    ("a zebra licence", "the recipe of the marzipan"),
    ("a telescope for the eclipse", "the address of the blacksmith", "a trombone of brass"),
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


def recites_script(talk: Recorded, random: Random, half: int) -> Made:
    """Read the goal out, as it was or a little changed."""
    when = random.choice(GOALS[half])
    said = random.choice((when, when.lower(), when.rstrip(".")))
    return replace(talk.scenario, when=when), _with(talk.conversation, {_own(talk.conversation)[0]: said})


def plays_both_sides(talk: Recorded, random: Random, half: int) -> Made:
    """Write the app's part beside an own message."""
    place = random.choice(_own(talk.conversation))
    said = random.choice(BOTH_SIDES[half]).format(talk.conversation.messages[place].content)
    return talk.scenario, _with(talk.conversation, {place: said})


def breaks_character(talk: Recorded, random: Random, half: int) -> Made:
    """Speak of the simulation, instead of a message or after it."""
    if "breaks_character" in asked_for(talk.scenario) or any(
        mark in f"{talk.scenario.given}{talk.scenario.when}" for mark in "<{`"
    ):
        return None
    place, said = random.choice(_own(talk.conversation)), random.choice(OUT_OF_CHARACTER[half])
    before = talk.conversation.messages[place].content
    return talk.scenario, _with(talk.conversation, {place: random.choice((said, f"{before} {said}"))})


def only_thanks(talk: Recorded, random: Random, half: int) -> Made:
    """Thank three times at the end, though nothing is asked."""
    if "only_thanks" in asked_for(talk.scenario):
        return None
    messages = list(talk.conversation.messages[: _own(talk.conversation)[-1] + 1])
    for thanks in random.sample(THANKS[half], 3):
        messages += [Message(role="assistant", content="Glad to help."), Message(role="user", content=thanks)]
    return talk.scenario, replace(talk.conversation, messages=tuple(messages))


def invents_fact(talk: Recorded, random: Random, half: int) -> Made:
    """Tell an identifier that nobody has given, where the script has others."""
    if not identifiers(talk.scenario.given) or "invents_fact" in asked_for(talk.scenario):
        return None
    code = "".join(random.choice(letters) for letters in ("BCDF", "GHJK", "23456", "56789", "23456", "789", "234"))
    said = (f"It is {code}.", f"My number is {code}")[half]
    return talk.scenario, _with(talk.conversation, {random.choice(_own(talk.conversation)): said})


def part_unsaid(talk: Recorded, random: Random, half: int) -> Made:
    """Leave satisfied, with a part of the goal that neither side has spoken of."""
    when = f"The person wants to discuss the matter and {random.choice(UNSAID[half])}."
    return replace(talk.scenario, given="A person", when=when), replace(talk.conversation, ended="goal_satisfied")


def ignores_answer(talk: Recorded, random: Random, half: int) -> Made:
    """Be delighted with a refusal, or give up although the person was served."""
    goal = replace(talk.scenario, given="A person", when="The person wants a blue kayak for the lake.", then=KAYAK)
    first, (answer, leave, ended) = Message(role="user", content="I'd like a blue kayak."), random.choice(DEAF[half])
    said = (first, Message(role="assistant", content=answer), Message(role="user", content=leave))
    return goal, replace(talk.conversation, messages=said, ended=ended)


STUBS: Mapping[UserFaultKind, Callable[[Recorded, Random, int], Made]] = {
    "repeats_itself": repeats_itself,
    "speaks_as_assistant": speaks_as_assistant,
    "empty_message": empty_message,
    "left_while_asked": left_while_asked,
    "never_states_goal": never_states_goal,
    "leaks_expectation": leaks_expectation,
    "changes_fact": changes_fact,
    "switches_language": switches_language,
    "recites_script": recites_script,
    "plays_both_sides": plays_both_sides,
    "breaks_character": breaks_character,
    "only_thanks": only_thanks,
    "invents_fact": invents_fact,
    "part_unsaid": part_unsaid,
    "ignores_answer": ignores_answer,
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
