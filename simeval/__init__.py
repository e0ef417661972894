"""simeval: find out whether a conversational AI app is good enough, with a stated error rate."""

from importlib import import_module
from typing import TYPE_CHECKING

from simeval.version import __version__

if TYPE_CHECKING:
    from simeval.comparing import compare
    from simeval.conversation import AppResponse, Conversation, Message
    from simeval.engine import Engine
    from simeval.evaluators import (
        MeanEvaluator,
        ProportionEvaluator,
        QuantileEvaluator,
    )
    from simeval.judging import agreement
    from simeval.logs import configure_logging
    from simeval.models.lite import LiteLLMModel
    from simeval.outcome import Failure, Score, Verdict
    from simeval.planning import plan
    from simeval.ratings import (
        RatingAverageEvaluator,
        RatingProportionEvaluator,
        SuccessRateEvaluator,
    )
    from simeval.results import EvaluationResult, SuiteResult
    from simeval.scenario import Expectation, ScenarioTest
    from simeval.scorers.scorer import Scorer, scorer
    from simeval.settings import RetryConfig, WritingStyleAxes, WritingStyleConfig

_HOME = {
    "AppResponse": "conversation",
    "Conversation": "conversation",
    "Engine": "engine",
    "EvaluationResult": "results",
    "Expectation": "scenario",
    "Failure": "outcome",
    "LiteLLMModel": "models.lite",
    "MeanEvaluator": "evaluators",
    "Message": "conversation",
    "ProportionEvaluator": "evaluators",
    "QuantileEvaluator": "evaluators",
    "RatingAverageEvaluator": "ratings",
    "RatingProportionEvaluator": "ratings",
    "RetryConfig": "settings",
    "ScenarioTest": "scenario",
    "Score": "outcome",
    "Scorer": "scorers.scorer",
    "SuccessRateEvaluator": "ratings",
    "SuiteResult": "results",
    "Verdict": "outcome",
    "WritingStyleAxes": "settings",
    "WritingStyleConfig": "settings",
    "agreement": "judging",
    "compare": "comparing",
    "configure_logging": "logs",
    "plan": "planning",
    "scorer": "scorers.scorer",
}

__all__ = [
    "AppResponse",
    "Conversation",
    "Engine",
    "EvaluationResult",
    "Expectation",
    "Failure",
    "LiteLLMModel",
    "MeanEvaluator",
    "Message",
    "ProportionEvaluator",
    "QuantileEvaluator",
    "RatingAverageEvaluator",
    "RatingProportionEvaluator",
    "RetryConfig",
    "ScenarioTest",
    "Score",
    "Scorer",
    "SuccessRateEvaluator",
    "SuiteResult",
    "Verdict",
    "WritingStyleAxes",
    "WritingStyleConfig",
    "__version__",
    "agreement",
    "compare",
    "configure_logging",
    "plan",
    "scorer",
]


def __getattr__(name: str) -> object:
    """Load a public name from its module at first use, so that importing simeval costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module 'simeval' has no attribute {name!r}")
    return getattr(import_module(f"simeval.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
