"""The examples of audacia-llm-evaluation's README and pages: what is changed beside the imports has a comment.

Its evaluators hold an answer and a threshold, and are called; here a scorer measures whatever answer it is given, and
`assert_result` holds it against the threshold.
"""

from collections.abc import Sequence
from typing import Any

import pytest

from simeval.scorers import (
    AnswerSimilarity,
    Bleu,
    Contains,
    ContextMatch,
    ContextPrecision,
    EmbeddingSimilarity,
    ExactMatch,
    Faithfulness,
    Gleu,
    LevenshteinSimilarity,
    Meteor,
    ResponseRelevancy,
    SentimentConsistency,
    SentimentMatch,
    SentimentScorer,
    TokenF1,
    ValidJSON,
    scorer,
)
from simeval.scorers import RougeL as RunRougeScoreEvaluator
from simeval.testing import ScriptedModel, assert_result
from tests.support.classifiers import Written, leaning

RESPONSE, REFERENCE = "Marie Curie was born in Warsaw.", "Marie Curie was birthed in Warsaw."
SCORES = {"I absolutely love this product!": 0.62, "mild": 0.52, "strong": 0.56, "a": 0.3, "b": 0.5, "c": 0.7}
# what the classifier says is written down, as tests have no network: SentimentScorer() has the original's model
SENTIMENT = SentimentScorer(Written({text: leaning(score) for text, score in SCORES.items()}))


def test_the_sentiment_example_of_the_readme() -> None:
    response = "I absolutely love this product!"
    expected_score = 0.65
    allowed_uncertainty = 0.05

    evaluator = SentimentMatch(  # RunSentimentEvaluatorAgainstExpectedScore
        by=SENTIMENT,
        expected=expected_score,  # expected_score
        uncertainty=allowed_uncertainty,  # allowed_uncertainty
    )
    result = assert_result(evaluator, output=response)  # .assert_result(); the response is given here

    assert result["sentiment_result"] == "pass"
    assert result["sentiment"] == pytest.approx(0.62)
    assert result["expected_score"] == 0.65


def test_the_border_of_the_page_on_sentiment() -> None:
    evaluator = SentimentMatch(by=SENTIMENT, expected=0.5, uncertainty=0.05)

    assert assert_result(evaluator, output="mild")["sentiment_result"] == "pass"  # 0.52
    with pytest.raises(AssertionError):
        assert_result(evaluator, output="strong")  # 0.56


def test_golden_responses_of_the_page_on_sentiment() -> None:
    evaluator = SentimentConsistency(  # RunSentimentEvaluatorAgainstReferences
        by=SENTIMENT,
        references=["a", "b", "c"],
        scale=1,  # scale_uncertainty
    )

    result = assert_result(evaluator, output="mild")

    assert result["reference_scores"] == pytest.approx([0.3, 0.5, 0.7])
    assert (result["mean_score"], result["calculated_uncertainty"]) == pytest.approx((0.5, 0.2))
    assert result["sentiment_result"] == "pass"


def test_the_rouge_example_of_the_readme() -> None:
    result = assert_result(  # await RunRougeScoreEvaluator(response, reference, threshold).assert_result()
        RunRougeScoreEvaluator(),
        output=RESPONSE,  # response
        reference=REFERENCE,
        at_least=0.3,  # threshold
    )

    assert result["f1"] == pytest.approx(5 / 6)  # rouge_f1_score


@pytest.mark.parametrize(
    ("evaluator", "threshold"),
    [
        (Meteor(), 0.8),  # RunMeteorScoreEvaluator
        (Bleu(), 0.3),  # RunBleuScoreEvaluator
        (Gleu(), 0.5),  # RunGleuScoreEvaluator
        (TokenF1(), 0.8),  # RunF1ScoreEvaluator
        (LevenshteinSimilarity(), 0.8),  # RunNonLLMStringSimilarity
    ],
)
def test_the_other_text_evaluators(evaluator: object, threshold: float) -> None:
    assert_result(evaluator, output=RESPONSE, reference=REFERENCE, at_least=threshold)
    with pytest.raises(AssertionError, match="required: at least"):
        assert_result(evaluator, output="Bread.", reference=REFERENCE, at_least=threshold)


def test_presence_and_equality() -> None:
    assert_result(Contains(), output=RESPONSE, reference="Warsaw")  # RunStringPresenceEvaluator
    assert_result(ExactMatch(), output=REFERENCE, reference=REFERENCE)  # RunExactMatchEvaluator


def test_formats() -> None:
    assert_result(ValidJSON(), output='{"a": 1}')  # RunJsonResponseEvaluator
    is_dict = scorer(lambda output: isinstance(output, dict), name="is_dict")  # RunCustomResponseEvaluator
    assert_result(is_dict, output={"a": 1})
    with pytest.raises(AssertionError):
        assert_result(is_dict, output="{}")


class Pairs:
    """Stands for an embedding model: every text has the same direction."""

    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        return [[1.0, 0.0] for _ in texts]


CONTEXTS = ["Marie Curie was born in Warsaw in 1867.", "Bread is baked."]
QUESTION = "Where was Marie Curie born?"
YES, NO = {"reasoning": "it says so", "met": True}, {"reasoning": "on bread", "met": False}
CLAIM = {"claim": "She was born in Warsaw.", "reasoning": "it says so", "supported": True}


def test_similarity_and_retrieval_by_models() -> None:
    given: dict[str, Any] = {"output": RESPONSE, "reference": REFERENCE, "context": CONTEXTS, "input": QUESTION}
    # each has the model that answers, a stand-in here; a run asks the engine's judge
    rated = AnswerSimilarity(model=ScriptedModel([{"reasoning": "the same", "score": 5}]))  # RunSimilarityEvaluator
    assert assert_result(rated, **given, at_least=4)["answer_similarity"] == 5
    near = EmbeddingSimilarity(model=Pairs(), threshold=0.8)  # RunSemanticSimilarity
    assert_result(near, output=RESPONSE, reference=REFERENCE, at_least=0.8)
    ranked = ContextPrecision(model=ScriptedModel([{"rulings": {"1": YES, "2": NO}}]))
    assert_result(ranked, **given, at_least=0.9)  # RunLLMContextPrecisionWithReferenceEvaluator
    claims = ScriptedModel([{"claims": [CLAIM]}])
    assert_result(Faithfulness(model=claims), **given, at_least=0.9)  # RunFaithfulnessEvaluator
    recall = Faithfulness(model=claims, column_map={"output": "reference"})  # RunLLMContextRecallEvaluator
    assert_result(recall, **given, at_least=0.9)
    asked = ScriptedModel([{"noncommittal": False, "questions": ["Where was she born?"]}])
    relevancy = ResponseRelevancy(model=asked, encoder=Pairs())  # RunResponseRelevancyEvaluator
    assert_result(relevancy, **given, at_least=0.9)


def test_retrieval_without_a_model() -> None:
    found = assert_result(  # RunNonLLMContextPrecisionWithReferenceEvaluator
        ContextMatch(), context=CONTEXTS, reference_contexts=["Marie Curie was born in Warsaw."], at_least=0.9
    )

    assert found["recall"] == 1.0  # RunNonLLMContextRecallEvaluator
