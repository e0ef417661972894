"""The support bot of a made-up shop, Fernhill Outdoor: rules and tables, no model, no network.

Known defects, kept on purpose so that a suite has something to find:

- It starts a return at once, without asking whether that is the right order.
- It knows orders only by the words in its table: "where is my stuff" is not recognised.
- With a question open, any "no" in a message is taken as the answer no: "Yes, I have no time" declines.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from simeval import AppResponse

State = dict[str, object]


@dataclass(frozen=True, slots=True)
class Order:
    item: str
    status: str
    delivery: str


@dataclass(frozen=True, slots=True)
class Product:
    name: str
    price: str
    sizes: str
    material: str
    availability: str


ORDERS: Mapping[str, Order] = {
    "F1001": Order("Ridge rain jacket", "shipped", "expected on Thursday, 12 June"),
    "F1002": Order("Tarn trail shoes", "delivered", "made on Monday, 2 June"),
    "F1003": Order("Bothy two-person tent", "packed", "expected on Wednesday, 18 June"),
    "F1004": Order("Moss fleece", "cancelled", "not planned any more"),
}

PRODUCTS: Mapping[str, Product] = {
    "jacket": Product("Ridge rain jacket", "149 euros", "S to XXL", "recycled nylon", "in stock"),
    "shoes": Product("Tarn trail shoes", "119 euros", "36 to 47", "suede and mesh", "in stock"),
    "tent": Product("Bothy two-person tent", "289 euros", "two persons", "ripstop polyester", "back in stock in July"),
    "fleece": Product("Moss fleece", "69 euros", "XS to XL", "merino wool", "in stock"),
}

ABILITIES = "track orders, start returns, answer product questions and hand you over to a colleague"
ANOTHER_NUMBER = "Please check the order number: it is an F with four digits, such as F1001."
WHICH_ORDER = "Which order is this about? The order number is an F with four digits."

ORDER_NUMBER = re.compile(r"\bF\d{4}\b", re.IGNORECASE)
NO = re.compile(r"\b(?:no|nope|don'?t)\b", re.IGNORECASE)
YES = re.compile(r"\b(?:yes|yeah|sure|ok|okay|go ahead)\b", re.IGNORECASE)
WHEN = re.compile(r"\bwhen\b|\b(?:which|what) day\b|\bdelivery date\b", re.IGNORECASE)

# The first intent with a match is taken, so the order of the rows matters.
INTENTS: Mapping[str, re.Pattern[str]] = {
    intent: re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    for intent, words in {
        "person": "person|human|colleague|agent|representative|someone",
        "abilities": "can (?:you|this bot|the bot) (?:do|help)|help with|how (?:can|do) you help|capabilities",
        "policy": "return policy|how long|how many days|send (?:something|things|it) back|returns? cost",
        "return": "return|refund|money back",
        "order": "order|delivery|deliver|delivered|parcel|package|shipment|tracking",
        "product": "jackets?|shoes?|tents?|fleeces?|price|size|sizes|material|stock",
        "thanks": "thanks|thank you|bye|goodbye|that is all",
        "small_talk": "how are you|who are you|are you a (?:bot|robot)|joke",
        "greeting": "hello|hi|hey|good (?:day|morning|evening)",
    }.items()
}


async def handle(message: str, state: State) -> AppResponse:
    """Answer one message; the state holds the order number spoken of last and the open question."""
    state = dict(state)
    number = ORDER_NUMBER.search(message)
    if number:
        state["order"] = number[0].upper()
    pending = state.pop("pending", None)
    if pending == "person" and (answer := _answer_to_hand_over(message)):
        return AppResponse(answer, state)
    intent = _intent(message)
    if pending == "reason" and not number and intent not in ("person", "thanks"):
        return AppResponse("Thank you for telling me. I have noted the reason with your return.", state)
    if number and pending == "return":
        intent = "return"
    elif number and intent not in ("return", "person"):
        intent = "order"
    return AppResponse(REPLIES[intent](message, state), state)


def _intent(message: str) -> str:
    return next((intent for intent, words in INTENTS.items() if words.search(message)), "unknown")


def _answer_to_hand_over(message: str) -> str:
    """Read the answer to "shall I connect you?"; empty where the message is about something else."""
    if NO.search(message):
        return "All right, I will stay with you. What else is there?"
    if YES.search(message):
        return "I am connecting you with a colleague. The waiting time is about five minutes."
    return ""


def _order(message: str, state: State) -> str:
    number = str(state.get("order", ""))
    if not number:
        return WHICH_ORDER
    order = ORDERS.get(number)
    if order is None:
        return f"I cannot find {number}. {ANOTHER_NUMBER}"
    if WHEN.search(message):
        return f"Delivery of {number} is {order.delivery}."
    return f"The status of your order {number} ({order.item}): it is {order.status}. Delivery is {order.delivery}."


def _return(_message: str, state: State) -> str:
    number = str(state.get("order", ""))
    if not number:
        state["pending"] = "return"
        return f"I can start a return for you. {WHICH_ORDER}"
    order = ORDERS.get(number)
    if order is None:
        return f"I cannot find {number}. {ANOTHER_NUMBER}"
    if order.status != "delivered":
        return f"{number} is {order.status}. A return can be started once it is delivered."
    state["pending"] = "reason"
    return (
        f"I have started the return of {number} ({order.item}). A prepaid label is on its way by e-mail; "
        "stick it on the box and drop it at any post office. The refund follows within five days. "
        "What is the reason for the return?"
    )


def _policy(_message: str, _state: State) -> str:
    return (
        "Returns are free and accepted within 30 days of delivery, as long as the item is unused. "
        "Give me an order number and I start one for you."
    )


def _product(message: str, _state: State) -> str:
    product = next((found for word, found in PRODUCTS.items() if word.removesuffix("s") in message.lower()), None)
    if product is None:
        return f"Which product do you mean? We have {', '.join(each.name for each in PRODUCTS.values())}."
    return (
        f"{product.name}: the price is {product.price}. Sizes: {product.sizes}. "
        f"Material: {product.material}. It is {product.availability}."
    )


def _person(_message: str, state: State) -> str:
    state["pending"] = "person"
    return "I can hand you over to a colleague. Shall I connect you now?"


def _abilities(_message: str, _state: State) -> str:
    return f"I am the bot of Fernhill Outdoor. I can {ABILITIES}."


def _greeting(_message: str, _state: State) -> str:
    return "Hello, and welcome to Fernhill Outdoor. How can I help you?"


def _small_talk(_message: str, _state: State) -> str:
    return "I am a bot that likes the rain. What can I do for you?"


def _thanks(_message: str, _state: State) -> str:
    return "You are welcome. Enjoy the hills!"


def _unknown(_message: str, _state: State) -> str:
    return f"I am sorry, I cannot help with that. I can {ABILITIES}."


REPLIES: Mapping[str, Callable[[str, State], str]] = {
    "order": _order,
    "return": _return,
    "policy": _policy,
    "product": _product,
    "person": _person,
    "abilities": _abilities,
    "greeting": _greeting,
    "small_talk": _small_talk,
    "thanks": _thanks,
    "unknown": _unknown,
}
