"""A suite file and the same suite in Python are one and the same to a run."""

from pathlib import Path

import pytest

from simeval import Engine, Expectation, ProportionEvaluator, ScenarioTest
from simeval.scorers.text.similarity import Contains
from simeval.suites.files import load_file

pytestmark = pytest.mark.anyio
WRITTEN = """
settings: {seed: 3, early_stopping: false, concurrency: 2}
scenarios:
  - title: Returns
    given: A customer
    when: They ask how to return a jacket
    sample_size: 6
    max_turns: 1
    then:
      scorer: {type: contains, texts: [refund, return label], at_least: 1, ignore_case: true}
      evaluator: {type: proportion, min_proportion: 0.5}
"""


async def app(message: str, state: object) -> str:
    return "We send you a Return Label."


def in_python(*texts: str) -> ScenarioTest:
    scorer = Contains(name="contains", texts=texts, at_least=1, ignore_case=True)
    return ScenarioTest(
        title="Returns",
        given="A customer",
        when="They ask how to return a jacket",
        sample_size=6,
        max_turns=1,
        then=Expectation(scorer=scorer, evaluator=ProportionEvaluator(min_proportion=0.5)),
    )


async def test_a_run_of_a_file_is_resumed_by_the_same_suite_in_python(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(WRITTEN, encoding="utf-8")
    store = tmp_path / "runs.db"
    suite = load_file(tmp_path / "suite.yaml")
    first = await Engine(settings=suite.settings, store=store, display="none").evaluate(suite, app)

    engine = Engine(store=store, display="none", resume=first.run.run_id, early_stopping=False)
    again = await engine.evaluate([in_python("refund", "return label")], app)

    assert again.run.run_id == first.run.run_id
    assert again.run.definition == first.run.definition
    assert (again.run.seed, again[0].trials) == (3, 6)


async def test_another_argument_of_a_scorer_is_another_definition(tmp_path: Path) -> None:
    engine = Engine(seed=3, store=None, display="none")

    one, other = [await engine.evaluate([in_python(text)], app) for text in ("refund", "label")]

    assert one.run.definition != other.run.definition
