"""The help desk of a made-up shop, Fernhill Outdoor, that answers from documents: it retrieves, then quotes. No model.

Known defect, kept on purpose so that a suite has something to find: asked about a repair, it adds a promise that stands
in none of its documents.
"""

from collections.abc import Mapping, Sequence

from simeval import AppResponse

DOCUMENTS: Sequence[str] = (
    "Tents: the Bothy tent sleeps two persons. The Bothy tent weighs 1.9 kilograms. It is made of ripstop polyester.",
    "Washing: wash jackets at thirty degrees with liquid soap. Never use fabric softener on jackets.",
    "Repairs: the workshop mends torn jackets and broken zips. A repair costs twenty euros.",
    "Returns: goods can be sent back within thirty days. The return label is free of charge.",
)
PROMISE = "Every repair is finished overnight by our flagship laboratory."
MOST_RETRIEVED = 2
SHORTEST = 4  # letters of a word that is looked for


def retrieve(question: str) -> list[str]:
    """Return the documents that share most words with a question, the best first; none that shares none."""
    shared = {text: len(_words(question) & _words(text)) for text in DOCUMENTS}
    ranked = sorted((text for text in DOCUMENTS if shared[text]), key=lambda text: -shared[text])
    return ranked[:MOST_RETRIEVED]


async def handle(message: str, state: Mapping[str, object]) -> AppResponse:
    """Answer with the sentences of the best document, and say what was retrieved."""
    context = retrieve(message)
    if not context:
        return AppResponse("What would you like to know about tents, washing, repairs or returns?", state)
    topic, _, answer = context[0].partition(": ")
    said = f"{answer} {PROMISE}" if topic == "Repairs" else answer
    return AppResponse(said, state, context=context, metadata={"topic": topic})


def _words(text: str) -> frozenset[str]:
    return frozenset(word.strip(".,:?!").removesuffix("s") for word in text.lower().split() if len(word) >= SHORTEST)
