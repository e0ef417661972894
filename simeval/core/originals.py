"""Names of the tools that simeval replaces, and their names here; `simeval help originals` has more."""

import sys
from collections.abc import Callable, Mapping
from typing import Any

from simeval.core.faces import PAGE, attach

NAMES: Mapping[str, str] = {
    # SigmaEval
    "SigmaEval": "Engine",
    "BehavioralTest": "ScenarioTest",
    "RatingMeanEvaluator": "MeanEvaluator, or better RatingMedianEvaluator",
    "MedianRatingEvaluator": "RatingMedianEvaluator",
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
    **dict.fromkeys(("ValidXMLScorer", "XMLScorer"), "ValidXML"),
    **dict.fromkeys(("LLMScorer", "InstructorLLMScorer"), "ModelScorer, or Criteria"),
    "ContextEntityRecallScorer": "ContextEntityRecall",
    "ContextRelevancyScorer": "ContextRelevancy",
    "StringMatchScorer": "Contains",
    "LevenshteinScorer": "LevenshteinSimilarity",
    "MultiTaskBinaryClassificationF1": "Classification",
    "LLMAsAJudgeScorer": "Criteria",
    **dict.fromkeys(("Evaluation", "Evaluations"), "Engine.experiment"),
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
_MODEL = "Engine(judge_model=...), a LiteLLM name or a Model object"
OF_ENGINES: Mapping[str, str] = {
    **dict.fromkeys(
        ("client", "llm_client", "model_id", "judge_llm"), "judge_model=, a LiteLLM name or a Model object"
    ),
    **dict.fromkeys(("scorers", "metrics"), "Engine.experiment(dataset, app, scorers=...)"),
    "evaluators": "Engine.experiment(dataset, app, scorers=...), or ScenarioTest(then=...)",
    **dict.fromkeys(("dataset", "data"), "Engine.experiment(dataset, app)"),
    **dict.fromkeys(("num_repetitions", "repetitions"), "Engine.experiment(dataset, app, repetitions=...)"),
    **dict.fromkeys(("max_concurrency", "max_workers", "num_threads"), "concurrency="),
    **dict.fromkeys(("evaluation_name", "experiment_prefix", "name"), "Engine.experiment(dataset, app, metadata=...)"),
    "target_column": 'a scorer\'s column_map={"reference": COLUMN}',
}
OF_EVALUATORS: Mapping[str, str] = {
    **dict.fromkeys(("proportion", "min_success_rate", "success_rate"), "min_proportion="),
    "min_score": "threshold=, or min_rating= of RatingProportionEvaluator",
    **dict.fromkeys(("min_mean", "min_mean_rating"), "RatingMedianEvaluator(min_median_rating=...)"),
    **dict.fromkeys(
        ("min_median", "min_average_rating", "median"), "min_median_rating=, or QuantileEvaluator(at_least=...)"
    ),
    "alpha": "significance_level=",
    "confidence_level": "significance_level=, 1 less that",
    **dict.fromkeys(("sample_size", "num_of_samples"), "ScenarioTest(sample_size=...)"),
    **dict.fromkeys(("client", "llm_client", "model_id", "model", "judge_model"), _MODEL),
    "target_column": 'a scorer\'s column_map={"reference": COLUMN}',
}
OF_EXPECTATIONS: Mapping[str, str] = {
    **dict.fromkeys(("metric", "metrics"), "scorer="),
    "scorers": "scorer=, one for each Expectation",
    "evaluators": "evaluator=, which may be a list",
    **dict.fromkeys(("behavior", "expect_behavior"), "expected_behavior="),
    **dict.fromkeys(("client", "model_id", "model", "judge_model"), _MODEL),
}
_THEN = "then=Expectation(...), or a list of them"
OF_SCENARIOS: Mapping[str, str] = {
    **dict.fromkeys(
        ("expect_behavior", "expect_metric", "expected_behavior", "expectations", "expect", "evaluator"), _THEN
    ),
    **dict.fromkeys(("evaluators", "scorer", "scorers", "metric", "metrics", "criteria"), _THEN),
    "name": "title=",
    **dict.fromkeys(("client", "model_id", "model", "judge_model"), _MODEL),
}


def attach_names(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return __getattr__, __dir__ and __all__ of a package by its stub; an original's name gives its name here.

    Raises AttributeError for an unknown name, and ImportError with that sentence if one is imported.
    """
    found, listed, names = attach(package, file)

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
