"""People's labels as examples: judges are shown them, and they are left out where the judge is held against people."""

import json
from pathlib import Path
from typing import Any

import pytest

from simeval import Engine, Expectation, ScenarioTest, SuccessRateEvaluator, SuiteResult, agreement
from simeval.analysis import Label
from simeval.analysis.judge_agreement import load_run
from simeval.analysis.labels import draw_sample, transcript_of, write_sample
from simeval.core.feedback import transcript_key
from simeval.core.version import __version__
from simeval.errors import DefinitionError
from simeval.results.suite import encode_suite
from simeval.testing import ScriptedModel, judge_reply, user_reply

pytestmark = pytest.mark.anyio
SUITE = [
    ScenarioTest(
        title="Hours",
        given="A customer",
        when="They ask when the shop opens",
        then=Expectation(expected_behavior="It says <nine>", evaluator=SuccessRateEvaluator(min_proportion=0.5)),
        sample_size=8,
    )
]


async def run(model: ScriptedModel, **options: Any) -> SuiteResult:
    fixed: dict[str, Any] = {"seed": 1, "display": "none", "early_stopping": False, "store": None}
    engine = Engine(model, **{**fixed, "rubric_folder": None, "on_failed_control": "off", **options})
    return await engine.evaluate(SUITE, lambda message, state: "At nine.")


def model() -> ScriptedModel:
    def asks(request: Any) -> Any:  # the same in each run of a seed, and otherwise in each trial
        return user_reply(f"When do you open? {request.seed}")

    return ScriptedModel({"user": asks, "judge": [judge_reply(8)]})


def labelled(result: SuiteResult, path: Path, labels: list[str]) -> Path:
    """Write the file that `simeval people agree --sample` writes, and fill it in."""
    saved = load_run(encode_suite(result.results, result.run, version=__version__))
    rows, _ = draw_sample(saved, len(labels), seed=1)
    filled = [[*row[:4], label, *row[5:]] for row, label in zip(rows, labels, strict=True)]
    write_sample(filled, path)
    return path


async def test_judges_are_shown_them_and_the_run_says_so(tmp_path: Path) -> None:
    examples = labelled(await run(model()), tmp_path / "labels.csv", ["pass", "fail", "pass"])
    judge = model()

    result = await run(judge, judge_examples=examples)

    asked = [str(each.messages()[-1]["content"]) for each in judge.requests if each.role == "judge"]
    assert all(text.count('<example people="pass">') == 2 for text in asked)
    assert all(text.count('<example people="fail">') == 1 for text in asked)
    assert not any("<example" in str(each.messages()) for each in judge.requests if each.role == "user")
    assert len(result.run.definition["judge examples"]) == 3


async def test_they_are_left_out_where_the_judge_is_held_against_people(tmp_path: Path) -> None:
    examples = labelled(await run(model()), tmp_path / "labels.csv", ["pass", "fail"])
    result = await run(model(), judge_examples=examples)
    labels = [Label(scenario="Hours", index=index, value=True) for index in range(8)]

    report = agreement(json.loads(json.dumps(encode_suite(result.results, result.run, version=__version__))), labels)

    assert report.examples == 2
    assert report.entries[0].labelled == 6
    assert "2 labelled conversations are left out" in str(report)


async def test_where_nothing_else_is_labelled_it_is_refused(tmp_path: Path) -> None:
    examples = labelled(await run(model()), tmp_path / "labels.csv", ["pass"])
    result = await run(model(), judge_examples=examples)
    [key] = result.run.definition["judge examples"]
    saved = load_run(encode_suite(result.results, result.run, version=__version__))
    keys = [transcript_key(transcript_of(trial)) for trial in saved.scenarios[0].judgements]

    with pytest.raises(DefinitionError, match="only conversations that are examples of the judge"):
        agreement(result, [Label(scenario="Hours", index=keys.index(key), value=True)])


async def test_other_examples_are_another_run(tmp_path: Path) -> None:
    first = labelled(await run(model()), tmp_path / "labels.csv", ["pass", "fail"])
    store = tmp_path / "runs.db"
    await run(model(), store=store)

    with pytest.raises(DefinitionError, match="judge examples was not set and is "):
        await run(model(), store=store, resume="last", judge_examples=first)
