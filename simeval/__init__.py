"""simeval: find out whether a conversational AI app is good enough, with a stated error rate."""

from importlib import import_module
from typing import TYPE_CHECKING

from simeval.core.version import __version__

if TYPE_CHECKING:
    from simeval.analysis.experiment_comparison import compare_experiments
    from simeval.analysis.judge_agreement import agreement
    from simeval.analysis.suite_comparison import compare
    from simeval.core.conversation import AppResponse, Conversation, Message
    from simeval.core.feedback import Feedback
    from simeval.core.logs import configure_logging
    from simeval.core.settings import RetryConfig, Settings, WritingStyleAxes, WritingStyleConfig
    from simeval.core.trial import Estimate, Failure, Score, Scored, Verdict
    from simeval.datasets.dataset import Dataset, Example
    from simeval.datasets.files import dataset_of, read_dataset, write_dataset
    from simeval.datasets.importers.registry import ImportedLog, import_log
    from simeval.engine.engine import Engine
    from simeval.engine.online.evaluator import OnlineEvaluator
    from simeval.evaluators.ratings import RatingAverageEvaluator, RatingProportionEvaluator, SuccessRateEvaluator
    from simeval.evaluators.scores import MeanEvaluator, ProportionEvaluator, QuantileEvaluator
    from simeval.models.local.service import LocalClassifier, LocalEncoder
    from simeval.models.providers.embedding import Embedding
    from simeval.models.providers.litellm_model import LiteLLMModel
    from simeval.results.experiment import ExperimentResult
    from simeval.results.suite import EvaluationResult, SuiteResult
    from simeval.scorers.base import ColumnScorer, Scorer, scorer
    from simeval.scorers.brand.alignment import Alignment, letter_grade
    from simeval.scorers.brand.authenticity import Authenticity
    from simeval.scorers.brand.persona import Persona, Policy, load_persona
    from simeval.scorers.brand.safety import Safety
    from simeval.scorers.brand.stability import Stability
    from simeval.scorers.brand.traits import TraitsModel, load_traits
    from simeval.scorers.classifiers.bias import BiasConsistency, BiasMatch, BiasScorer
    from simeval.scorers.classifiers.sentiment import SentimentConsistency, SentimentMatch, SentimentScorer
    from simeval.scorers.classifiers.toxicity import ToxicityConsistency, ToxicityMatch, ToxicityScorer
    from simeval.scorers.llm.base import ModelScorer
    from simeval.scorers.llm.embeddings import EmbeddingSimilarity
    from simeval.scorers.llm.graded import (
        ContextRelevancy,
        Correctness,
        Criteria,
        DocumentRelevance,
        FactualAccuracy,
        Faithfulness,
        HallucinationFree,
        Helpfulness,
    )
    from simeval.scorers.llm.moderation import Moderation
    from simeval.scorers.llm.preference import Preference
    from simeval.scorers.llm.rag import ContextEntityRecall
    from simeval.scorers.llm.summarization import Summarization
    from simeval.scorers.text.classification import Classification
    from simeval.scorers.text.formats import PydanticScorer, ValidJSON, ValidXML
    from simeval.scorers.text.json_match import JSONMatch
    from simeval.scorers.text.language import Language
    from simeval.scorers.text.personal_data import PersonalData
    from simeval.scorers.text.readability import Readability
    from simeval.scorers.text.similarity import Contains, ExactMatch, LevenshteinSimilarity, RegexMatch, RougeL, TokenF1
    from simeval.scorers.text.tool_calls import ToolCallMatch
    from simeval.store.datasets import Datasets
    from simeval.store.feedback import FeedbackBook
    from simeval.store.opening import open_database
    from simeval.suites.planning import plan
    from simeval.suites.scenario import Expectation, ScenarioTest

_HOME = {
    "Alignment": "scorers.brand.alignment",
    "AppResponse": "core.conversation",
    "Authenticity": "scorers.brand.authenticity",
    "BiasConsistency": "scorers.classifiers.bias",
    "BiasMatch": "scorers.classifiers.bias",
    "BiasScorer": "scorers.classifiers.bias",
    "Classification": "scorers.text.classification",
    "ColumnScorer": "scorers.base",
    "Contains": "scorers.text.similarity",
    "ContextEntityRecall": "scorers.llm.rag",
    "ContextRelevancy": "scorers.llm.graded",
    "Conversation": "core.conversation",
    "Correctness": "scorers.llm.graded",
    "Criteria": "scorers.llm.graded",
    "Dataset": "datasets.dataset",
    "Datasets": "store.datasets",
    "DocumentRelevance": "scorers.llm.graded",
    "Embedding": "models.providers.embedding",
    "EmbeddingSimilarity": "scorers.llm.embeddings",
    "Engine": "engine.engine",
    "Estimate": "core.trial",
    "EvaluationResult": "results.suite",
    "ExactMatch": "scorers.text.similarity",
    "Example": "datasets.dataset",
    "Expectation": "suites.scenario",
    "ExperimentResult": "results.experiment",
    "FactualAccuracy": "scorers.llm.graded",
    "Failure": "core.trial",
    "Faithfulness": "scorers.llm.graded",
    "Feedback": "core.feedback",
    "FeedbackBook": "store.feedback",
    "HallucinationFree": "scorers.llm.graded",
    "Helpfulness": "scorers.llm.graded",
    "ImportedLog": "datasets.importers.registry",
    "JSONMatch": "scorers.text.json_match",
    "Language": "scorers.text.language",
    "LevenshteinSimilarity": "scorers.text.similarity",
    "LiteLLMModel": "models.providers.litellm_model",
    "LocalClassifier": "models.local.service",
    "LocalEncoder": "models.local.service",
    "MeanEvaluator": "evaluators.scores",
    "Message": "core.conversation",
    "ModelScorer": "scorers.llm.base",
    "Moderation": "scorers.llm.moderation",
    "OnlineEvaluator": "engine.online.evaluator",
    "Persona": "scorers.brand.persona",
    "PersonalData": "scorers.text.personal_data",
    "Policy": "scorers.brand.persona",
    "Preference": "scorers.llm.preference",
    "ProportionEvaluator": "evaluators.scores",
    "PydanticScorer": "scorers.text.formats",
    "QuantileEvaluator": "evaluators.scores",
    "RatingAverageEvaluator": "evaluators.ratings",
    "RatingProportionEvaluator": "evaluators.ratings",
    "Readability": "scorers.text.readability",
    "RegexMatch": "scorers.text.similarity",
    "RetryConfig": "core.settings",
    "RougeL": "scorers.text.similarity",
    "Safety": "scorers.brand.safety",
    "ScenarioTest": "suites.scenario",
    "Score": "core.trial",
    "Scored": "core.trial",
    "Scorer": "scorers.base",
    "SentimentConsistency": "scorers.classifiers.sentiment",
    "SentimentMatch": "scorers.classifiers.sentiment",
    "SentimentScorer": "scorers.classifiers.sentiment",
    "Settings": "core.settings",
    "Stability": "scorers.brand.stability",
    "SuccessRateEvaluator": "evaluators.ratings",
    "SuiteResult": "results.suite",
    "Summarization": "scorers.llm.summarization",
    "TokenF1": "scorers.text.similarity",
    "ToolCallMatch": "scorers.text.tool_calls",
    "ToxicityConsistency": "scorers.classifiers.toxicity",
    "ToxicityMatch": "scorers.classifiers.toxicity",
    "ToxicityScorer": "scorers.classifiers.toxicity",
    "TraitsModel": "scorers.brand.traits",
    "ValidJSON": "scorers.text.formats",
    "ValidXML": "scorers.text.formats",
    "Verdict": "core.trial",
    "WritingStyleAxes": "core.settings",
    "WritingStyleConfig": "core.settings",
    "agreement": "analysis.judge_agreement",
    "compare": "analysis.suite_comparison",
    "compare_experiments": "analysis.experiment_comparison",
    "configure_logging": "core.logs",
    "dataset_of": "datasets.files",
    "import_log": "datasets.importers.registry",
    "letter_grade": "scorers.brand.alignment",
    "load_persona": "scorers.brand.persona",
    "load_traits": "scorers.brand.traits",
    "open_database": "store.opening",
    "plan": "suites.planning",
    "read_dataset": "datasets.files",
    "scorer": "scorers.base",
    "write_dataset": "datasets.files",
}

__all__ = [
    "Alignment",
    "AppResponse",
    "Authenticity",
    "BiasConsistency",
    "BiasMatch",
    "BiasScorer",
    "Classification",
    "ColumnScorer",
    "Contains",
    "ContextEntityRecall",
    "ContextRelevancy",
    "Conversation",
    "Correctness",
    "Criteria",
    "Dataset",
    "Datasets",
    "DocumentRelevance",
    "Embedding",
    "EmbeddingSimilarity",
    "Engine",
    "Estimate",
    "EvaluationResult",
    "ExactMatch",
    "Example",
    "Expectation",
    "ExperimentResult",
    "FactualAccuracy",
    "Failure",
    "Faithfulness",
    "Feedback",
    "FeedbackBook",
    "HallucinationFree",
    "Helpfulness",
    "ImportedLog",
    "JSONMatch",
    "Language",
    "LevenshteinSimilarity",
    "LiteLLMModel",
    "LocalClassifier",
    "LocalEncoder",
    "MeanEvaluator",
    "Message",
    "ModelScorer",
    "Moderation",
    "OnlineEvaluator",
    "Persona",
    "PersonalData",
    "Policy",
    "Preference",
    "ProportionEvaluator",
    "PydanticScorer",
    "QuantileEvaluator",
    "RatingAverageEvaluator",
    "RatingProportionEvaluator",
    "Readability",
    "RegexMatch",
    "RetryConfig",
    "RougeL",
    "Safety",
    "ScenarioTest",
    "Score",
    "Scored",
    "Scorer",
    "SentimentConsistency",
    "SentimentMatch",
    "SentimentScorer",
    "Settings",
    "Stability",
    "SuccessRateEvaluator",
    "SuiteResult",
    "Summarization",
    "TokenF1",
    "ToolCallMatch",
    "ToxicityConsistency",
    "ToxicityMatch",
    "ToxicityScorer",
    "TraitsModel",
    "ValidJSON",
    "ValidXML",
    "Verdict",
    "WritingStyleAxes",
    "WritingStyleConfig",
    "__version__",
    "agreement",
    "compare",
    "compare_experiments",
    "configure_logging",
    "dataset_of",
    "import_log",
    "letter_grade",
    "load_persona",
    "load_traits",
    "open_database",
    "plan",
    "read_dataset",
    "scorer",
    "write_dataset",
]


def __getattr__(name: str) -> object:
    """Load a public name from its module at first use, so that importing simeval costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module 'simeval' has no attribute {name!r}")
    return getattr(import_module(f"simeval.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
