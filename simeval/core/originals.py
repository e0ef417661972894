"""Names of the tools that simeval stands for, and what they are called here; docs/reference/originals.md tells more."""

import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any

import lazy_loader  # type: ignore[import-untyped]

PAGE = "docs/reference/originals.md"
NAMES: Mapping[str, str] = {
    # SigmaEval
    "SigmaEval": "Engine",
    "BehavioralTest": "ScenarioTest",
    "RatingMeanEvaluator": "MeanEvaluator, or better RatingAverageEvaluator",
    "assertions": "ProportionEvaluator, or QuantileEvaluator",
    "metrics": "scorers, such as response_latency and turn_count",
    # audacia-llm-evaluation
    "RunSentimentEvaluatorAgainstExpectedScore": "SentimentMatch",
    "RunSentimentEvaluatorAgainstReferences": "SentimentConsistency",
    "RunToxicityEvaluatorAgainstExpectedScore": "ToxicityMatch",
    "RunToxicityEvaluatorAgainstReferences": "ToxicityConsistency",
    "RunBiasEvaluatorAgainstExpectedScore": "BiasMatch",
    "RunBiasEvaluatorAgainstReferences": "BiasConsistency",
    "RunSimilarityEvaluator": "AnswerSimilarity",
    "RunSemanticSimilarity": "EmbeddingSimilarity",
    "RunMeteorScoreEvaluator": "Meteor",
    "RunBleuScoreEvaluator": "Bleu",
    "RunGleuScoreEvaluator": "Gleu",
    "RunRougeScoreEvaluator": "RougeL or RougeN",
    "RunF1ScoreEvaluator": "TokenF1",
    "RunNonLLMStringSimilarity": "LevenshteinSimilarity",
    "RunStringPresenceEvaluator": "Contains",
    "RunExactMatchEvaluator": "ExactMatch",
    "RunLLMContextPrecisionWithReferenceEvaluator": "ContextPrecision",
    "RunLLMContextRecallEvaluator": "Faithfulness",
    "RunNonLLMContextPrecisionWithReferenceEvaluator": "ContextMatch",
    "RunNonLLMContextRecallEvaluator": "ContextMatch",
    "RunFaithfulnessEvaluator": "Faithfulness",
    "RunResponseRelevancyEvaluator": "ResponseRelevancy",
    "RunJsonResponseEvaluator": "ValidJSON",
    "RunCustomResponseEvaluator": "PydanticScorer, or scorer",
    # W&B Weave
    "HallucinationFreeScorer": "HallucinationFree",
    "SummarizationScorer": "Summarization",
    "OpenAIModerationScorer": "Moderation",
    "EmbeddingSimilarityScorer": "EmbeddingSimilarity",
    "ValidJSONScorer": "ValidJSON",
    "ValidXMLScorer": "ValidXML",
    "ContextEntityRecallScorer": "ContextEntityRecall",
    "ContextRelevancyScorer": "ContextRelevancy",
    "StringMatchScorer": "Contains",
    "LevenshteinScorer": "LevenshteinSimilarity",
    "MultiTaskBinaryClassificationF1": "Classification",
    "LLMAsAJudgeScorer": "Criteria",
    "Evaluation": "Engine.experiment",
    "op": "scorer, or nothing: a plain function is a scorer",
    "apply_scorer": "OnlineEvaluator",
    "auto_summarize": "MetricResult",
    # LangSmith
    "evaluate": "Engine.experiment",
    "aevaluate": "Engine.experiment",
    "evaluate_comparative": "Preference",
    "run_evaluator": "scorer",
    "create_llm_as_judge": "Criteria",
    "create_json_match_evaluator": "JSONMatch",
    "create_trajectory_match_evaluator": "ToolCallMatch",
    "create_embedding_similarity_evaluator": "EmbeddingSimilarity",
    "exact_match": "ExactMatch",
    "levenshtein_distance": "LevenshteinSimilarity",
    "run_multiturn_simulation": "ScenarioTest",
    "create_llm_simulated_user": "ScenarioTest",
    # Alignmenter
    "AuthenticityScorer": "Authenticity",
    "SafetyScorer": "Safety",
    "StabilityScorer": "Stability",
}
ARGUMENTS: Mapping[str, str] = {  # of scorers
    "client": "model=, a LiteLLM name or a Model object",
    "llm_client": "model=, a LiteLLM name or a Model object",
    "model_id": "model=",
    "judge": "model=",
    "judge_model": "model=",
    "target_column": 'column_map={"reference": COLUMN}',
    "model_output": "output, which every scorer is given",
    "temperature": "model=, a Model object with its options",
    "max_tokens": "model=, a Model object with its options",
    "allowed_uncertainty": "uncertainty=",
    "expected_score": "expected=",
    "scale_uncertainty": "scale=",
}


def attach_names(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return __getattr__, __dir__ and __all__ of a package by its stub; an original's name says what it is called here.

    Raises AttributeError for a name that there is not, and ImportError with that sentence where one is imported.
    """
    found, listed, names = lazy_loader.attach_stub(package, file)

    def get(name: str) -> Any:
        if name not in NAMES or name in names:
            return found(name)
        told = f"{package}.{name}: in simeval it is {NAMES[name]} ({PAGE})"
        if (
            sys._getframe(1).f_code.co_name == "_handle_fromlist"
        ):  # of `from package import name`, which keeps no reason
            raise ImportError(told, name=package)
        raise AttributeError(told, name=name)

    return get, listed, names


def require_own_arguments(made: str, given: Collection[str], own: Collection[str]) -> None:
    """Raise TypeError where an argument is an original's, and not one of its own."""
    strange = [name for name in given if name in ARGUMENTS and name not in own]
    if strange:
        told = "; ".join(f"{name}=: in simeval it is {ARGUMENTS[name]}" for name in strange)
        raise TypeError(f"{made}() takes no argument {told} ({PAGE})")
