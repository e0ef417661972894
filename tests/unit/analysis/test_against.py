"""A suite held against another run of it: what is taken over, what is left out, what is refused."""

from typing import Any

import pytest

from simeval import Expectation, MeanEvaluator, ProportionEvaluator, ScenarioTest, scorer
from simeval.analysis import against
from simeval.errors import DefinitionError
from simeval.evaluators import NotWorseEvaluator
from tests.support.log_events import logged
from tests.support.results import experiment, mean, run, scenario, share

AT_90 = ProportionEvaluator(min_proportion=0.9)


@scorer
def helps(output: str) -> bool:
    return bool(output)


def suite(*evaluators: Any, title: str = "A scenario") -> ScenarioTest:
    then = Expectation(scorer=helps, label="helps", evaluator=evaluators or AT_90)
    return ScenarioTest(title=title, given="A user", when="They ask", then=then)


def test_a_requirement_has_the_outcomes_of_the_other_run_in_the_order_of_its_trials() -> None:
    document = run(scenario(share([True, False, None, True], excluded=[1])), seed=11)

    [held] = against([suite()], document, margin=0.1)
    [evaluator] = held.expectations[0].evaluators

    assert isinstance(evaluator, NotWorseEvaluator)
    assert (evaluator.before, evaluator.run_id, evaluator.seed, evaluator.margin) == ("+?-?+", "one", 11, 0.1)
    assert (evaluator.judge, evaluator.user, evaluator.requirement) == ("j", "u", AT_90)
    assert not evaluator.stopped_early


def test_a_run_that_stopped_on_its_data_is_known_as_one() -> None:
    [held] = against([suite()], run(scenario(share([True] * 45, stop="gate", n_max=100))))
    [evaluator] = held.expectations[0].evaluators

    assert isinstance(evaluator, NotWorseEvaluator)
    assert evaluator.stopped_early
    assert len(evaluator.before) == 45


def test_what_the_other_run_does_not_have_is_left_out_and_named() -> None:
    also, average = ProportionEvaluator(min_proportion=0.5), MeanEvaluator(at_least=0.5)
    old = run(scenario(share([True]), mean(average.describe(), label="helps")))

    with logged(f"helps: {also.describe()}: it is not there") as absent, logged("no yes or no") as averaged:
        held = against([suite(AT_90, also, average), suite(title="Another")], old)

    assert absent.is_set()
    assert averaged.is_set()
    assert [each.title for each in held] == ["A scenario"]
    assert len(held[0].expectations[0].evaluators) == 1


@pytest.mark.parametrize(
    ("baseline", "said"),
    [
        (run(scenario(share([True]), title="Another")), "no requirement of this suite"),
        (experiment({"helps": [1.0]}), "experiment"),
        (run({**scenario(share([True])), "given": "Somebody else"}), "A scenario: given"),
        (run({**scenario(share([True])), "when": "They complain"}), "A scenario: when"),
    ],
)
def test_what_cannot_be_held_against_it_is_refused(baseline: dict[str, Any], said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        against([suite()], baseline)
