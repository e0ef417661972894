"""Scorers by their names, as the command line and suite files write them."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any, cast

from simeval.direction import Direction, direction_at
from simeval.errors import DefinitionError
from simeval.scorers.metrics import BOUNDED_NAME, METRICS, TurnsWithin
from simeval.scorers.scorer import Scorer


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerOptions:
    """What scorers by name may be made with: each takes what it knows, None is its own default."""

    persona: str | None = None
    traits: str | None = None
    encoder: str | None = None
    sentiment_model: str | None = None


_Named = tuple[str, str, Mapping[str, str]]  # module, class, and its argument for an option

VOICE = {"persona": "persona", "traits": "traits", "encoder": "encoder"}
NAMED: Mapping[str, _Named] = {
    "valid_json": ("formats", "ValidJSON", {}),
    "valid_xml": ("formats", "ValidXML", {}),
    "exact_match": ("texts", "ExactMatch", {}),
    "contains": ("texts", "Contains", {}),
    "levenshtein_similarity": ("texts", "LevenshteinSimilarity", {}),
    "token_f1": ("texts", "TokenF1", {}),
    "rouge_l": ("texts", "RougeL", {}),
    "json_match": ("objects", "JSONMatch", {}),
    "tool_call_match": ("trajectories", "ToolCallMatch", {}),
    "classification": ("classification", "Classification", {}),
    "readability": ("readability", "Readability", {}),
    "language": ("language", "Language", {}),
    "personal_data": ("personal_data", "PersonalData", {}),
    "sentiment": ("sentiment", "SentimentScorer", {"model": "sentiment_model"}),
    "toxicity": ("toxicity", "ToxicityScorer", {}),
    "bias": ("bias", "BiasScorer", {}),
    "authenticity": ("authenticity", "Authenticity", VOICE),
    "safety": ("safety", "Safety", {"persona": "persona"}),
    "stability": ("stability", "Stability", {"encoder": "encoder"}),
    "alignment": ("brand", "Alignment", VOICE),
    "hallucination_free": ("graded", "HallucinationFree", {}),
    "correctness": ("graded", "Correctness", {}),
    "helpfulness": ("graded", "Helpfulness", {}),
    "faithfulness": ("graded", "Faithfulness", {}),
    "moderation": ("moderation", "Moderation", {}),
}
NEEDED: Mapping[str, tuple[str, ...]] = {"authenticity": ("persona",), "alignment": ("persona",)}
NAMES = (*METRICS, *NAMED)
CLASSES: Mapping[str, str] = {  # the module of each scorer of simeval's own, by its class
    **{kind: module for module, kind, _ in NAMED.values()},
    "BiasConsistency": "bias",
    "BiasMatch": "bias",
    "ContextEntityRecall": "rag",
    "ContextRelevancy": "graded",
    "Criteria": "graded",
    "DocumentRelevance": "graded",
    "EmbeddingSimilarity": "embeddings",
    "FactualAccuracy": "graded",
    "Preference": "preference",
    "PydanticScorer": "formats",
    "RegexMatch": "texts",
    "SentimentConsistency": "sentiment",
    "SentimentMatch": "sentiment",
    "Summarization": "summarization",
    "ToxicityConsistency": "toxicity",
    "ToxicityMatch": "toxicity",
}


def named_scorer(name: str, options: ScorerOptions | None = None) -> Scorer:
    """Give the scorer of a name, called by it. Raises DefinitionError where there is none, or it lacks an option."""
    if name in METRICS:
        return METRICS[name]
    if name not in NAMED:
        raise DefinitionError("scorer", found=f"found {name!r}", do=f"use one of {', '.join(NAMES)}")
    given = asdict(options or ScorerOptions())
    missing = [option for option in NEEDED.get(name, ()) if given[option] is None]
    if missing:
        raise DefinitionError(f"scorer {name}", found=f"no {' and '.join(missing)}", do=f"give it with --{missing[0]}")
    module, kind, arguments = NAMED[name]
    values: dict[str, Any] = {
        argument: given[option] for argument, option in arguments.items() if given[option] is not None
    }
    make = getattr(import_module(f"simeval.scorers.{module}"), kind)
    return cast("Scorer", make(name=name, **values))


def direction_by_name(name: str, path: str) -> Direction | None:
    """Return which way a value of a scorer is better that is known by its name alone; None where that is not known.

    The name is one of those here or a class, perhaps with a number: what results of older versions hold.
    """
    plain = cast("re.Match[str]", re.fullmatch(r"(.*?)( \(\d+\))?", name))[1]
    if plain in METRICS:
        return METRICS[plain].direction_of(path)
    if re.fullmatch(BOUNDED_NAME, plain):
        return direction_at(TurnsWithin.direction, path)
    kind = NAMED[plain][1] if plain in NAMED else plain
    if kind not in CLASSES:
        return None
    return direction_at(getattr(import_module(f"simeval.scorers.{CLASSES[kind]}"), kind).direction, path)
