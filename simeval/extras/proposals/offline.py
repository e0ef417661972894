"""The embedded judge's proposals of scenarios: one for each of the richest sentences, in the words of the source."""

import re

from simeval.core.phrases import content_stems
from simeval.extras.proposals.proposing import ProposalReply, ProposalRequest, ProposedScenario
from simeval.models.providers import offline as lexical

LEAST_STEMS = 3  # that a sentence must have to be worth a scenario
LONGEST_SENTENCE = 300  # characters: a longer one is no sentence
TITLE_WORDS = 8

_CODE = re.compile(r"^\s*```.*?(?:^\s*```|\Z)", re.MULTILINE | re.DOTALL)
_NEW_LINE = re.compile(r"\n(?=\s*(?:\n|[#>*|\-]|\d+[.)]|\w+:))")  # the text after it begins something new
_MARKUP = re.compile(r"^(?:[#>*|\-\d.)\s]+|\w+:\s+)+")
_WORDS = re.compile(r"\w[\w'’-]*")


def proposed(request: ProposalRequest) -> str:
    """Propose that the app states a sentence of the source; the richest ones come first."""
    found: dict[str, ProposedScenario] = {}
    for line in _NEW_LINE.split(_CODE.sub("", request.source)):
        for sentence in lexical.sentences(line):
            scenario = _scenario(" ".join(_MARKUP.sub("", sentence).split()))
            if scenario is not None and scenario.title not in request.known:
                found.setdefault(scenario.title, scenario)
    ranked = sorted(found.values(), key=lambda each: -len(content_stems(each.quote)))
    return ProposalReply(scenarios=tuple(ranked[: request.count])).model_dump_json()


def _scenario(told: str) -> ProposedScenario | None:
    """Return the scenario of a sentence; None if it is too short, or asks."""
    if len(content_stems(told)) < LEAST_STEMS or len(told) > LONGEST_SENTENCE or told.endswith("?"):
        return None
    words = _WORDS.findall(told)
    topic = " ".join(word for word in words if content_stems(word))
    return ProposedScenario(
        title=" ".join(words[:TITLE_WORDS]).capitalize(),
        given="A new user who has not talked to the assistant before.",
        when=f"You want to know about {topic}.",
        expected_behavior=f"The assistant says that {told[0].lower()}{told[1:].rstrip('.;!')}",
        counterexample="I cannot help with that.",
        quote=told,
    )
