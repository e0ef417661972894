"""What a new user gets wrong, and the exact words that come of it: short, plain, what was found and what to do."""

import json
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any, cast

import anyio
import pytest
from click.testing import CliRunner

from simeval import (
    Engine,
    EvaluationLogger,
    Example,
    Expectation,
    MeanEvaluator,
    ProportionEvaluator,
    QuantileEvaluator,
    ScenarioTest,
    SuccessRateEvaluator,
    compare,
    dataset_of,
)
from simeval.cli.main import main
from simeval.cli.output import BAD_INPUT
from simeval.datasets.files import read_dataset
from simeval.errors import DefinitionError
from simeval.models.providers.offline import OfflineModel
from simeval.scorers import Contains, EachTurn, ValidJSON
from simeval.store.runs import Runs
from simeval.suites import HttpApp, load_suite
from tests.support.mistakes import QUIET, SUITE
from tests.support.misused import MISUSED, OF_APPS

ON_THE_COMMAND_LINE = {**QUIET, **OF_APPS, **{name: (SUITE, *wrong) for name, wrong in MISUSED.items()}}
CHECK = Expectation(expected_behavior="It answers", evaluator=SuccessRateEvaluator(min_proportion=0.9))
FIRST = ScenarioTest(title="First", given="A user", when="They ask", then=CHECK)
HAS_OIL = Contains(texts=["oil"])


class Desk:
    """An app with a method."""

    def __init__(self, city: str) -> None:
        self.city = city

    def answer(self, message: str, state: Any) -> str:
        return message


def evaluated(*scenarios: Any, handler: Any = str) -> Any:
    """Return what evaluates scenarios."""
    return lambda: Engine(store=None, display="none").evaluate_sync(list(scenarios), handler)


DATASET = dataset_of([Example(inputs={"message": "hi"})], name="greetings")
UNAWAITED = "evaluate was not awaited: write `await engine.evaluate(...)`, or `engine.evaluate_sync(...)`"
IN_PYTHON: dict[str, tuple[Callable[[], Any], str]] = {
    "a title is used twice": (
        evaluated(FIRST, FIRST, handler=lambda message: "hello"),
        "evaluate: 2 scenarios have the title 'First'; give each its own: results are told by titles.",
    ),
    "there is no app": (
        lambda: Engine(store=None, display="none").evaluate_sync(cast("Any", FIRST), cast("Any", None)),
        "evaluate: no app is given; give it behind the scenarios: evaluate(scenarios, app_handler).",
    ),
    "there is no scenario": (
        evaluated(),
        "evaluate: found no scenario; give one or more ScenarioTests.",
    ),
    "the suite is the name of a file": (
        lambda: Engine(store=None, display="none").evaluate_sync(cast("Any", "suite.yaml"), str),
        "evaluate: found 'suite.yaml'; give ScenarioTests; simeval.suites.load_suite(PATH) reads a file of them.",
    ),
    "an expectation expects nothing": (
        lambda: Expectation(evaluator=CHECK.evaluator),
        "Expectation: found nothing to measure; give one of expected_behavior, criteria, scorer, tools or state.",
    ),
    "a setting is misspelt": (
        lambda: Engine(**cast("Any", {"concurency": 4})),
        "settings: there is no setting 'concurency'; did you mean 'concurrency'?",
    ),
    "a share is a percentage": (
        lambda: SuccessRateEvaluator(min_proportion=90),
        "SuccessRateEvaluator.min_proportion: found 90; use a share strictly between 0 and 1, such as 0.9.",
    ),
    "the handler takes three arguments": (
        evaluated(FIRST, handler=lambda message, state, more: "hello"),
        "app handler: found the signature (message, state, more), in which more is no known name; name it state "
        "(your own, from turn to turn), history (what was said before), session_id (an id of the conversation) or, "
        "behind a star, tools; or give it a default.",
    ),
    "the handler takes tools by their place": (
        evaluated(FIRST, handler=lambda message, tools: "hello"),
        "app handler: found the signature (message, tools); take tools by their name, behind a star: (message, *, "
        "tools).",
    ),
    "the handler is the class of an app": (
        evaluated(FIRST, handler=HttpApp),
        "app handler: found the class HttpApp; make an object of it, such as app = HttpApp(), and give that.",
    ),
    "the handler is a class": (
        evaluated(FIRST, handler=Path),
        "app handler: found the class Path, whose objects cannot be called; give the method of it that answers, such "
        "as Path.reply; each conversation gets an object of its own.",
    ),
    "the scenarios are a function": (
        lambda: Engine(store=None).evaluate_sync(cast("Any", len), str),
        "evaluate: found <built-in function len>; give ScenarioTests; simeval.suites.load_suite(PATH) reads a file of "
        "them.",
    ),
    "the app is named as on the command line": (
        evaluated(FIRST, handler="mistaken_app:handle"),
        "app 'mistaken_app:handle': in Python a text is the name of a model; give the function itself: from "
        "mistaken_app import handle.",
    ),
    "the app is an address": (
        evaluated(FIRST, handler="http://127.0.0.1:9/chat"),
        "app 'http://127.0.0.1:9/chat': in Python a text is the name of a model; give the app itself, such as "
        "HttpApp(url='http://...').",
    ),
    "the state stands before the message": (
        evaluated(FIRST, handler=lambda state, message: "hello"),
        "app handler: found the signature (state, message); put the message first: (message, state).",
    ),
    "the app is a module": (
        evaluated(FIRST, handler=textwrap),
        "app handler: found the module textwrap; give a function of it, such as textwrap.handle.",
    ),
    "the app stands before the scenarios": (
        lambda: Engine(store=None).evaluate_sync(cast("Any", str), cast("Any", FIRST)),
        "evaluate: the app stands before the scenarios; give the scenarios first.",
    ),
    "a setting is given with the scenarios": (
        lambda: Engine(store=None).evaluate_sync([FIRST], str, **cast("Any", {"samples": 5})),
        "evaluate: found the argument 'samples'; give it to the engine: Engine(sample_size=...).",
    ),
    "a list of scenarios is in a list": (
        lambda: Engine(store=None).evaluate_sync(cast("Any", [[FIRST]]), str),
        "evaluate: found a list of scenarios in a list; give ScenarioTests; simeval.suites.load_suite(PATH) reads a "
        "file of them.",
    ),
    "two expectations have one label": (
        lambda: replace(FIRST, then=[replace(CHECK, label="tone"), replace(CHECK, label="tone")]),
        "ScenarioTest 'First': then: there are two expectations with the label 'tone'; give each its own label.",
    ),
    "the dataset is a path": (
        lambda: Engine(store=None).experiment_sync(cast("Any", "rows.csv"), str),
        "experiment: found 'rows.csv'; give a Dataset, or a list of mappings; simeval.read_dataset(PATH) reads one.",
    ),
    "the settings are a dict": (
        lambda: Engine(settings=cast("Any", {"concurrency": 3})),
        "Engine.settings: found {'concurrency': 3}; give Settings, such as suite.settings, or each setting by its "
        "name.",
    ),
    "the scorer is a name": (
        lambda: ScenarioTest(
            title="t",
            given="g",
            when="w",
            then=Expectation(scorer="response_latency", evaluator=QuantileEvaluator(quantile=0.9, at_most=1)),
        ),
        "ScenarioTest 't': scorer: found 'response_latency'; give a Scorer instance or a function, such as "
        "ValidJSON(); only suite files and expectations of experiments take names.",
    ),
    "a quantile is a percentage": (
        lambda: QuantileEvaluator(quantile=90, at_most=3),
        "QuantileEvaluator.quantile: found 90; use a number strictly between 0 and 1, such as 0.9.",
    ),
    "a yes or no is a text": (
        lambda: ProportionEvaluator(threshold=1, min_proportion=0.9, at_least=cast("Any", "no")),
        "ProportionEvaluator.at_least: found 'no'; use True, False or None.",
    ),
    "a label is a list": (
        lambda: Expectation(expected_behavior="It answers", label=cast("Any", ["a"]), evaluator=CHECK.evaluator),
        "Expectation.label: found ['a']; give a text that is not empty.",
    ),
    "the store is a number": (
        lambda: Engine(store=cast("Any", 5)),
        'store: found 5; name a file or a URL; for no store use "none", in Python None.',
    ),
    "the store is the word none": (
        lambda: Engine(store="none"),
        "store: found 'none'; use None for no store.",
    ),
    "the bounds are one number": (
        lambda: MeanEvaluator(at_least=1, bounds=cast("Any", 5)),
        "MeanEvaluator.bounds: found 5; give the lowest and the highest score, as in (0, 1).",
    ),
    "the bounds are texts": (
        lambda: QuantileEvaluator(at_least=1, bounds=cast("Any", ("0", "5"))),
        "QuantileEvaluator.bounds: found ('0', '5'); give the lowest and the highest score, as in (0, 1).",
    ),
    "the options of calls are a text": (
        lambda: Engine(model_options=cast("Any", "temperature=0")),
        "model_options: found 'temperature=0'; give options by their names, such as {\"temperature\": 0}.",
    ),
    "a column is a number": (
        lambda: Engine(store=None).experiment_sync(
            DATASET, str, scorers=[ValidJSON(column_map=cast("Any", {"output": 3}))]
        ),
        "scorer ValidJSON: column_map: found {'output': 3}; give the column of each parameter that is called "
        "otherwise, such as {'output': 'answer'}.",
    ),
    "a scorer of an experiment is a name": (
        lambda: Engine(store=None).experiment_sync(DATASET, str, scorers=["exact_match"]),
        "experiment: scorers: found 'exact_match'; give a Scorer instance or a function, such as ValidJSON().",
    ),
    "what was measured has no name": (
        lambda: EvaluationLogger(engine=Engine(store=None), name="n").log("a", inputs="q", scores=cast("Any", [True])),
        "EvaluationLogger 'n': scores: found [True]; give what was measured by its names, such as {'helpful': True}.",
    ),
    "a result is the path of no file": (
        lambda: compare("before.json", "after.json"),
        "baseline 'before.json': it cannot be read (No such file or directory); give what `--json PATH` writes, made "
        "by this version of simeval.",
    ),
    "a result is the name of a run": (
        lambda: compare(cast("Any", "last"), cast("Any", "last")),
        "baseline: found a text, 'last'; give a result; `simeval show last --json PATH` writes that of a stored run, "
        "for json.loads.",
    ),
    "secret patterns are one text": (
        lambda: Engine(secret_patterns="sk-[a-z]+"),
        "secret_patterns: found 'sk-[a-z]+'; give a list, such as ['sk-[a-z]+'].",
    ),
    "the run to resume is no name": (
        lambda: Engine(resume=cast("Any", True)),
        "resume: found True; give a text.",
    ),
    "the judge is a class": (
        lambda: Engine(cast("Any", OfflineModel)),
        "model: found the class OfflineModel; make an object of it, such as OfflineModel(), and give that.",
    ),
    "every score meets the bar": (
        lambda: Expectation(scorer=HAS_OIL, evaluator=ProportionEvaluator(threshold=0, min_proportion=0.8)),
        "Expectation.evaluator: ProportionEvaluator: every score from 0 to 1 meets it (Contains); put the bar between "
        "them; yes is 1 and no is 0.",
    ),
    "a threshold is a percentage": (
        lambda: Expectation(scorer=HAS_OIL, evaluator=ProportionEvaluator(threshold=90, min_proportion=0.8)),
        "Expectation.evaluator: ProportionEvaluator: every score from 0 to 1 misses it (Contains); put the bar between "
        "them; yes is 1 and no is 0.",
    ),
    "the scorer of each turn is a class": (
        lambda: EachTurn(scorer=cast("Any", Contains)),
        "EachTurn.scorer: found the class Contains; make an object of it, such as Contains(), and give that.",
    ),
    "the handler is a method of a class that needs something": (
        evaluated(FIRST, handler=Desk.answer),
        "app handler: found the class Desk, which needs city; name answer __call__ and give functools.partial(Desk, "
        "city=...); each conversation gets an object of its own.",
    ),
    "a message has a role that none has": (
        lambda: dataset_of([{"messages": [{"role": "usr", "content": "Hi"}]}]),
        "dataset 'dataset', example 1, field messages[0].role: found 'usr'; did you mean 'user'?",
    ),
    "a message says nothing": (
        lambda: dataset_of([{"messages": [{"role": "user", "text": "Hi"}]}]),
        "dataset 'dataset', example 1, field messages[0]: found {'content': None, 'role': 'user', 'text': 'Hi'}, "
        "without content; give role and content.",
    ),
    "a list of apps is one": (
        lambda: anyio.run(Engine(store=None).select, FIRST, cast("Any", [str])),
        "select: apps: found [<class 'str'>]; give two or more apps, in a list.",
    ),
    "the rubrics of a file are asked for": (
        lambda: anyio.run(Engine(store=None).rubrics, cast("Any", "suite.yaml")),
        "rubrics: found 'suite.yaml'; give ScenarioTests; simeval.suites.load_suite(PATH) reads a file of them.",
    ),
    "the app's module is misspelt": (
        evaluated(FIRST, handler="mistakenapp:handle"),
        "app 'mistakenapp:handle': in Python a text is the name of a model; give the function itself: from "
        "mistakenapp import handle.",
    ),
    "a share is a text": (
        lambda: SuccessRateEvaluator(min_proportion=cast("Any", "0.9")),
        "SuccessRateEvaluator.min_proportion: found '0.9'; use a number, such as 0.9.",
    ),
    "no bar is given": (
        lambda: QuantileEvaluator(quantile=0.9),
        "QuantileEvaluator: found neither at_least nor at_most; give one of the two.",
    ),
    "what is expected is a text": (
        lambda: ScenarioTest(title="t", given="g", when="w", then=cast("Any", "It answers")),
        "ScenarioTest 't': then: found 'It answers'; give one or more Expectations.",
    ),
    "a suite is a list": (
        lambda: load_suite(cast("Any", ["suite.yaml"])),
        "suite: found ['suite.yaml']; give the path of a file.",
    ),
    "a dataset is rows": (
        lambda: read_dataset(cast("Any", [{"question": "a"}])),
        "dataset: found [{'question': 'a'}]; give the path of a file.",
    ),
    "a recorded conversation is a list": (
        lambda: dataset_of([Example(inputs={"q": "a"}, conversation=cast("Any", [{"role": "user"}]))]),
        "dataset 'dataset', example 1, conversation: found [{'role': 'user'}]; give a "
        "Conversation(messages=(Message(...), ...)).",
    ),
    "a recorded column is a list": (
        lambda: dataset_of([{"q": "a", "a": "b"}], recorded=cast("Any", ["a"])),
        "recorded: found ['a']; name one column.",
    ),
    "runs are those of an address": (
        lambda: Runs(cast("Any", "runs.db")),
        "Runs: found 'runs.db'; give an open database: simeval.store.open_database(PATH).",
    ),
    "metadata is given with scenarios": (
        lambda: Engine(store=None).evaluate_sync([FIRST], str, **cast("Any", {"metadata": {}})),
        "evaluate: found the argument 'metadata'; leave it out: it is for a Dataset.",
    ),
    "a setting has the name of another tool": (
        lambda: Engine(**cast("Any", {"n_trials": 5})),
        "settings: there is no setting 'n_trials'; did you mean 'sample_size'?",
    ),
    "a dataset is not there": (
        lambda: list(read_dataset(Path("no.csv"))),
        "no.csv: it cannot be read (No such file or directory); check the path, or its permissions.",
    ),
    "the handler is called already": (
        evaluated(FIRST, handler={"response": "hello"}),
        "app handler: found {'response': 'hello'}; give a function of (message, state) or (messages, state), sync or "
        "async.",
    ),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "mistaken_app.py").write_text("def handle(message): return 'It answers.'\n")
    (tmp_path / "broken_app.py").write_text("# an import that fails\n\nfrom json import dum\n")
    (tmp_path / "needy_app.py").write_text("import flaskk\n")
    (tmp_path / "needless_app.py").write_text("NUMBER = 3\n")
    (tmp_path / "log.jsonl").write_text('{"messages": [{"role": "user", "content": "Hi"}]}\n')
    run = {"simeval": "1", "run_id": "one", "seed": 1, "app": "a", "models": {"judge": "j"}, "scenarios": []}
    (tmp_path / "run.json").write_text(json.dumps(run))
    return tmp_path


@pytest.mark.parametrize("mistake", ON_THE_COMMAND_LINE)
def test_a_mistake_is_told_in_these_words_before_anything_runs(folder: Path, mistake: str) -> None:
    suite, arguments, said = ON_THE_COMMAND_LINE[mistake]
    (folder / "suite.yaml").write_text(suite)

    done = CliRunner().invoke(main, arguments)

    told = [line for line in done.stderr.splitlines() if " INFO " not in line]
    assert "\n".join(told) == f"simeval: {said}".replace("{json}", str(json.__file__))
    assert (done.exit_code, done.stdout) == (BAD_INPUT, "")


@pytest.mark.parametrize("mistake", IN_PYTHON)
def test_a_mistake_in_python_is_told_in_these_words(mistake: str) -> None:
    make, said = IN_PYTHON[mistake]

    with pytest.raises(DefinitionError) as raised:
        make()

    assert str(raised.value) == said


def test_the_result_of_an_evaluation_that_was_not_awaited_says_so() -> None:
    pending: Any = Engine(store=None, display="none").evaluate(FIRST, str)

    with pytest.raises(AttributeError) as raised:
        _ = pending.passed
    pending.close()

    assert str(raised.value) == f"there is no 'passed' yet: {UNAWAITED}"
    assert repr(pending) == f"<{UNAWAITED}>"


def test_an_evaluation_that_was_not_awaited_warns() -> None:
    with pytest.warns(RuntimeWarning) as warned:
        _forget(Engine(store=None, display="none"))

    assert [str(each.message) for each in warned] == [UNAWAITED]


def _forget(engine: Engine) -> None:
    engine.evaluate(FIRST, str)  # type: ignore[unused-coroutine]


def test_the_usual_message_has_at_most_two_lines() -> None:
    messages = [
        *(f"simeval: {said}" for _, _, said in ON_THE_COMMAND_LINE.values()),
        *(said for _, said in IN_PYTHON.values()),
    ]

    assert median(-(-len(said) // 80) for said in messages) <= 2
