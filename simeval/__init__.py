"""simeval: find out whether a conversational AI app is good enough, with a stated error rate."""

from importlib import import_module
from typing import TYPE_CHECKING

from simeval.version import __version__

if TYPE_CHECKING:
    from simeval.comparing import compare
    from simeval.conversation import AppResponse, Conversation, Message
    from simeval.dataset import Dataset, Example
    from simeval.dataset_files import dataset_of, read_dataset, write_dataset
    from simeval.engine import Engine
    from simeval.evaluators import (
        MeanEvaluator,
        ProportionEvaluator,
        QuantileEvaluator,
    )
    from simeval.experiment_results import ExperimentResult
    from simeval.feedback import Feedback
    from simeval.importers.logs import ImportedLog, import_log
    from simeval.judging import agreement
    from simeval.logs import configure_logging
    from simeval.models.embedding import Embedding
    from simeval.models.lite import LiteLLMModel
    from simeval.models.local import LocalClassifier, LocalEncoder
    from simeval.online import OnlineEvaluator
    from simeval.outcome import Estimate, Failure, Score, Scored, Verdict
    from simeval.persona import Persona, Policy, load_persona
    from simeval.planning import plan
    from simeval.ratings import (
        RatingAverageEvaluator,
        RatingProportionEvaluator,
        SuccessRateEvaluator,
    )
    from simeval.results import EvaluationResult, SuiteResult
    from simeval.scenario import Expectation, ScenarioTest
    from simeval.scorers.asking import ModelScorer
    from simeval.scorers.authenticity import Authenticity
    from simeval.scorers.bias import BiasConsistency, BiasMatch, BiasScorer
    from simeval.scorers.brand import Alignment, letter_grade
    from simeval.scorers.classification import Classification
    from simeval.scorers.embeddings import EmbeddingSimilarity
    from simeval.scorers.formats import PydanticScorer, ValidJSON, ValidXML
    from simeval.scorers.graded import (
        ContextRelevancy,
        Correctness,
        Criteria,
        DocumentRelevance,
        FactualAccuracy,
        Faithfulness,
        HallucinationFree,
        Helpfulness,
    )
    from simeval.scorers.language import Language
    from simeval.scorers.moderation import Moderation
    from simeval.scorers.objects import JSONMatch
    from simeval.scorers.personal_data import PersonalData
    from simeval.scorers.preference import Preference
    from simeval.scorers.rag import ContextEntityRecall
    from simeval.scorers.readability import Readability
    from simeval.scorers.safety import Safety
    from simeval.scorers.scorer import ColumnScorer, Scorer, scorer
    from simeval.scorers.sentiment import SentimentConsistency, SentimentMatch, SentimentScorer
    from simeval.scorers.stability import Stability
    from simeval.scorers.summarization import Summarization
    from simeval.scorers.texts import Contains, ExactMatch, LevenshteinSimilarity, RegexMatch, RougeL, TokenF1
    from simeval.scorers.toxicity import ToxicityConsistency, ToxicityMatch, ToxicityScorer
    from simeval.scorers.traits import TraitsModel, load_traits
    from simeval.scorers.trajectories import ToolCallMatch
    from simeval.settings import RetryConfig, WritingStyleAxes, WritingStyleConfig
    from simeval.store.datasets import Datasets
    from simeval.store.feedback import FeedbackBook
    from simeval.store.opening import open_database

_HOME = {
    "Alignment": "scorers.brand",
    "AppResponse": "conversation",
    "Authenticity": "scorers.authenticity",
    "BiasConsistency": "scorers.bias",
    "BiasMatch": "scorers.bias",
    "BiasScorer": "scorers.bias",
    "Classification": "scorers.classification",
    "ColumnScorer": "scorers.scorer",
    "Contains": "scorers.texts",
    "ContextEntityRecall": "scorers.rag",
    "ContextRelevancy": "scorers.graded",
    "Conversation": "conversation",
    "Correctness": "scorers.graded",
    "Criteria": "scorers.graded",
    "Dataset": "dataset",
    "Datasets": "store.datasets",
    "DocumentRelevance": "scorers.graded",
    "Embedding": "models.embedding",
    "EmbeddingSimilarity": "scorers.embeddings",
    "Engine": "engine",
    "Estimate": "outcome",
    "EvaluationResult": "results",
    "ExactMatch": "scorers.texts",
    "Example": "dataset",
    "Expectation": "scenario",
    "ExperimentResult": "experiment_results",
    "FactualAccuracy": "scorers.graded",
    "Failure": "outcome",
    "Faithfulness": "scorers.graded",
    "Feedback": "feedback",
    "FeedbackBook": "store.feedback",
    "HallucinationFree": "scorers.graded",
    "Helpfulness": "scorers.graded",
    "ImportedLog": "importers.logs",
    "JSONMatch": "scorers.objects",
    "Language": "scorers.language",
    "LevenshteinSimilarity": "scorers.texts",
    "LiteLLMModel": "models.lite",
    "LocalClassifier": "models.local",
    "LocalEncoder": "models.local",
    "MeanEvaluator": "evaluators",
    "Message": "conversation",
    "ModelScorer": "scorers.asking",
    "Moderation": "scorers.moderation",
    "OnlineEvaluator": "online",
    "Persona": "persona",
    "PersonalData": "scorers.personal_data",
    "Policy": "persona",
    "Preference": "scorers.preference",
    "ProportionEvaluator": "evaluators",
    "PydanticScorer": "scorers.formats",
    "QuantileEvaluator": "evaluators",
    "RatingAverageEvaluator": "ratings",
    "RatingProportionEvaluator": "ratings",
    "Readability": "scorers.readability",
    "RegexMatch": "scorers.texts",
    "RetryConfig": "settings",
    "RougeL": "scorers.texts",
    "Safety": "scorers.safety",
    "ScenarioTest": "scenario",
    "Score": "outcome",
    "Scored": "outcome",
    "Scorer": "scorers.scorer",
    "SentimentConsistency": "scorers.sentiment",
    "SentimentMatch": "scorers.sentiment",
    "SentimentScorer": "scorers.sentiment",
    "Stability": "scorers.stability",
    "SuccessRateEvaluator": "ratings",
    "SuiteResult": "results",
    "Summarization": "scorers.summarization",
    "TokenF1": "scorers.texts",
    "ToolCallMatch": "scorers.trajectories",
    "ToxicityConsistency": "scorers.toxicity",
    "ToxicityMatch": "scorers.toxicity",
    "ToxicityScorer": "scorers.toxicity",
    "TraitsModel": "scorers.traits",
    "ValidJSON": "scorers.formats",
    "ValidXML": "scorers.formats",
    "Verdict": "outcome",
    "WritingStyleAxes": "settings",
    "WritingStyleConfig": "settings",
    "agreement": "judging",
    "compare": "comparing",
    "configure_logging": "logs",
    "dataset_of": "dataset_files",
    "import_log": "importers.logs",
    "letter_grade": "scorers.brand",
    "load_persona": "persona",
    "load_traits": "scorers.traits",
    "open_database": "store.opening",
    "plan": "planning",
    "read_dataset": "dataset_files",
    "scorer": "scorers.scorer",
    "write_dataset": "dataset_files",
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
