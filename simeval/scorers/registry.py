"""Scorers by their names, as the command line and suite files write them."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any, cast

from simeval.core.direction import Direction, direction_at
from simeval.errors import DefinitionError
from simeval.scorers.base import Scorer
from simeval.scorers.metrics import BOUNDED_NAME, METRICS, TurnsWithin


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
    "valid_json": ("text.formats", "ValidJSON", {}),
    "valid_xml": ("text.formats", "ValidXML", {}),
    "exact_match": ("text.similarity", "ExactMatch", {}),
    "contains": ("text.similarity", "Contains", {}),
    "levenshtein_similarity": ("text.similarity", "LevenshteinSimilarity", {}),
    "token_f1": ("text.similarity", "TokenF1", {}),
    "rouge_l": ("text.similarity", "RougeL", {}),
    "json_match": ("text.json_match", "JSONMatch", {}),
    "tool_call_match": ("text.tool_calls", "ToolCallMatch", {}),
    "classification": ("text.classification", "Classification", {}),
    "readability": ("text.readability", "Readability", {}),
    "language": ("text.language", "Language", {}),
    "personal_data": ("text.personal_data", "PersonalData", {}),
    "sentiment": ("classifiers.sentiment", "SentimentScorer", {"model": "sentiment_model"}),
    "toxicity": ("classifiers.toxicity", "ToxicityScorer", {}),
    "bias": ("classifiers.bias", "BiasScorer", {}),
    "authenticity": ("brand.authenticity", "Authenticity", VOICE),
    "safety": ("brand.safety", "Safety", {"persona": "persona"}),
    "stability": ("brand.stability", "Stability", {"encoder": "encoder"}),
    "alignment": ("brand.alignment", "Alignment", VOICE),
    "hallucination_free": ("llm.graded", "HallucinationFree", {}),
    "correctness": ("llm.graded", "Correctness", {}),
    "helpfulness": ("llm.graded", "Helpfulness", {}),
    "faithfulness": ("llm.graded", "Faithfulness", {}),
    "moderation": ("llm.moderation", "Moderation", {}),
}
NEEDED: Mapping[str, tuple[str, ...]] = {"authenticity": ("persona",), "alignment": ("persona",)}
NAMES = (*METRICS, *NAMED)
CLASSES: Mapping[str, str] = {  # the module of each scorer of simeval's own, by its class
    **{kind: module for module, kind, _ in NAMED.values()},
    "BiasConsistency": "classifiers.bias",
    "BiasMatch": "classifiers.bias",
    "ContextEntityRecall": "llm.rag",
    "ContextRelevancy": "llm.graded",
    "Criteria": "llm.graded",
    "DocumentRelevance": "llm.graded",
    "EmbeddingSimilarity": "llm.embeddings",
    "FactualAccuracy": "llm.graded",
    "Preference": "llm.preference",
    "PydanticScorer": "text.formats",
    "RegexMatch": "text.similarity",
    "SentimentConsistency": "classifiers.sentiment",
    "SentimentMatch": "classifiers.sentiment",
    "Summarization": "llm.summarization",
    "ToxicityConsistency": "classifiers.toxicity",
    "ToxicityMatch": "classifiers.toxicity",
}


def named_scorer(name: str, options: ScorerOptions | None = None) -> Scorer:
    """Return the scorer of a name, called by it. Raises DefinitionError where there is none, or it lacks an option."""
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
