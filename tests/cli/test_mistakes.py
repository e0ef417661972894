"""What a new user gets wrong, and the exact words that come of it: short, plain, what was found and what to do."""

import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, cast

import pytest
from click.testing import CliRunner

from simeval import Engine, Expectation, ScenarioTest, SuccessRateEvaluator
from simeval.cli.main import main
from simeval.cli.output import BAD_INPUT
from simeval.errors import DefinitionError

SCENARIO = """\
  - title: First
    given: A user
    when: They ask
    then:
      expected_behavior: It answers
      evaluator: {type: success_rate, min_proportion: 0.9}
"""
SUITE = f"scenarios:\n{SCENARIO}"
RUN = ("run", "suite.yaml", "--app", "mistaken_app:handle", "--store", "none")
SCORED = SUITE.replace("expected_behavior: It answers", "scorer: response_latency")
QUIET: dict[str, tuple[str, tuple[str, ...], str]] = {
    "a title is used twice": (
        SUITE + SCENARIO,
        RUN,
        "suite.yaml, line 8, field scenarios.1.title: there is another scenario with the title 'First'; "
        "give each its own: results are told by titles.",
    ),
    "a rating is asked of a metric": (
        SCORED,
        RUN,
        "suite.yaml, line 6, field scenarios.0.then: Expectation.evaluator: SuccessRateEvaluator: it is for a judge's "
        "ratings from 1 to 10, and response_latency is a metric; use proportion, quantile or mean.",
    ),
    "a share of ratings has no threshold": (
        SUITE.replace("success_rate", "proportion"),
        RUN,
        "suite.yaml, line 6, field scenarios.0.then: Expectation.evaluator: ProportionEvaluator: every score from 1 to "
        "10 meets it; put the bar between 1 and 10: a judge rates from 1 to 10.",
    ),
    "a title is a word that YAML takes for true": (
        SUITE.replace("First", "yes"),
        RUN,
        "suite.yaml, line 2, field scenarios.0.title: found True; YAML reads yes, no, on and off as true and false: "
        "put such a word in quotes.",
    ),
    "a text has a colon": (
        SUITE.replace("A user", "A user: new"),
        RUN,
        "suite.yaml, line 3: this is not YAML (mapping values are not allowed here); "
        "put a text that has a colon in quotes, or begin the line in the right column.",
    ),
    "a line begins with a tab": (
        SUITE.replace("    given", "\tgiven"),
        RUN,
        "suite.yaml, line 3: this is not YAML (found character '\\t' that cannot start any token); "
        "use spaces in place of tabs, and quotes around a text that begins with a sign.",
    ),
    "several fields are misspelt": (
        SUITE.replace("given", "givn").replace("success_rate", "succes_rate"),
        RUN,
        "suite.yaml, line 3, field scenarios.0.givn: there is no field 'givn'; did you mean 'given'?\n"
        "suite.yaml, line 7, field scenarios.0.then.evaluator.type: found the type 'succes_rate'; did you mean "
        "'success_rate'?",
    ),
    "a setting stands at the top": (
        f"concurrency: 4\n{SUITE}",
        RUN,
        "suite.yaml, line 1, field concurrency: there is no field 'concurrency' here; put it under `settings`.",
    ),
    "one judge stands where two are named": (
        f"judge: openai/gpt-4o\n{SUITE}",
        RUN,
        "suite.yaml, line 1, field judge: found 'openai/gpt-4o'; name one judge as judge_model: openai/gpt-4o; two of "
        "them as first and escalate.",
    ),
    "a misspelt field has its value in the lines below": (
        SUITE.replace("then:", "thne:"),
        RUN,
        "suite.yaml, line 5, field scenarios.0.thne: there is no field 'thne'; did you mean 'then'?",
    ),
    "a quarantine ends at no date": (
        SUITE.replace("    when", "    quarantine: {reason: flaky, until: tomorrow}\n    when"),
        RUN,
        "suite.yaml, line 4, field scenarios.0.quarantine.until: found 'tomorrow'; give a date, such as 2027-01-31.",
    ),
    "mistakes are in several scenarios": (
        SUITE.replace("when", "wen") + SCENARIO.replace("First", "Second").replace("0.9", "90"),
        RUN,
        "suite.yaml, line 4, field scenarios.0.wen: there is no field 'wen'; did you mean 'when'?\n"
        "suite.yaml, line 13, field scenarios.1.then.evaluator.min_proportion: found 90.0; use a "
        "share strictly between 0 and 1 (no number of trials can prove 0% or 100%).",
    ),
    "no app is named": (
        SUITE,
        ("run", "suite.yaml"),
        "app: none is named; name yours with --app MODULE:HANDLER, or as app: in the suite; "
        "`simeval demo` shows a run without one.",
    ),
    "the app is a file": (
        SUITE,
        ("run", "suite.yaml", "--app", "mistaken_app.py"),
        "app 'mistaken_app.py': this is a file; name it as a module with its handler, such as mistaken_app:handle.",
    ),
    "the app is a module without its handler": (
        SUITE,
        ("run", "suite.yaml", "--app", "mistaken_app"),
        "app 'mistaken_app': this is a module, without its handler; name it as a module with its handler, such as "
        "mistaken_app:handle.",
    ),
    "the app's address has no http": (
        SUITE,
        ("run", "suite.yaml", "--app", "127.0.0.1:8000/chat"),
        "app '127.0.0.1:8000/chat': this is no address of a known kind; write http://127.0.0.1:8000/chat, or https://.",
    ),
    "a share has a percent sign": (
        SUITE.replace("0.9", "90%"),
        RUN,
        "suite.yaml, line 7, field scenarios.0.then.evaluator.min_proportion: found '90%'; use a number, such as 0.9.",
    ),
    "there are no scenarios": (
        "scenarios: []",
        RUN,
        "suite.yaml, line 1, field scenarios: found []; give at least one.",
    ),
    "a baseline is asked of no store": (
        SUITE,
        (*RUN, "--baseline", "last"),
        "store: none is kept; name the store of a run with --store.",
    ),
    "the app is not there": (
        SUITE,
        ("run", "suite.yaml", "--app", "nowhere:handle"),
        "app 'nowhere:handle': importing it failed (ModuleNotFoundError: No module named 'nowhere'); name the app as "
        "MODULE:OBJECT, which lies in the current folder or beside the suite.",
    ),
    "there is no such scenario": (
        SUITE,
        (*RUN, "--only", "Frist"),
        "--only: no scenario has 'Frist' as a tag or in its title; did you mean 'First'?",
    ),
    "a key is missing": (
        SUITE,
        (*RUN, "--judge-model", "openai/gpt-5-nano"),
        "model 'openai/gpt-5-nano': its key is missing: OPENAI_API_KEY is not set; set it (export OPENAI_API_KEY=...), "
        "or use offline/judge for a first look.",
    ),
    "there is no such provider": (
        SUITE,
        (*RUN, "--judge-model", "nobody/x"),
        "model 'nobody/x': LiteLLM knows no provider of this name; use LiteLLM's form provider/model, such as "
        "openai/gpt-5-nano, or offline/judge.",
    ),
    "there is no suite": (
        SUITE,
        ("run", "siute.yaml", "--app", "mistaken_app:handle"),
        "suite 'siute.yaml': there is no such file or folder; name a YAML file, a folder of them, or module:object.",
    ),
    "an evaluator has another name": (
        SUITE.replace("success_rate", "rating_median"),
        RUN,
        "suite.yaml, line 7, field scenarios.0.then.evaluator.type: found the type 'rating_median'; did you mean "
        "'rating_average'?",
    ),
    "half of a scorer's name is given": (
        SUITE.replace("expected_behavior: It answers", "scorer: json"),
        RUN,
        "suite.yaml, line 6, field scenarios.0.then.scorer: found 'json'; did you mean 'json_match' or 'valid_json'?",
    ),
    "a prompt is misspelt": (
        SUITE,
        (*RUN, "--prompt", "rubrc=suite.yaml"),
        "prompts: there is no prompt 'rubrc'; did you mean 'rubric'?",
    ),
    "the judge is an embedded app": (
        SUITE,
        (*RUN, "--judge-model", "offline/app"),
        "model 'offline/app': it cannot play the judge; use offline/judge, or a model of a provider, such as "
        "openai/gpt-5-nano.",
    ),
    "a run is shown before there is one": (
        SUITE,
        ("show", "last"),
        "store: there is no '.simeval/simeval.db'; hold a run, or name the store of a run with --store.",
    ),
    "an evaluator is a name": (
        SUITE.replace("{type: success_rate, min_proportion: 0.9}", "success_rate"),
        RUN,
        "suite.yaml, line 7, field scenarios.0.then.evaluator: found 'success_rate'; give a mapping, such as {type: "
        "success_rate, min_proportion: 0.9}.",
    ),
    "a field is missing": (
        SUITE.replace("    given: A user\n", ""),
        RUN,
        "suite.yaml, line 2, field scenarios.0.given: the field is missing; add it.",
    ),
    "the judge has half a name": (
        SUITE,
        (*RUN, "--judge-model", "openai/"),
        "model 'openai/': found no model's name; write it behind the slash.",
    ),
    "the part of an app's description is misspelt": (
        "app: {url: 'http://127.0.0.1:9', replay: answer}\n" + SUITE,
        RUN,
        "suite.yaml, line 1, field app.replay: there is no field 'replay'; did you mean 'reply'?",
    ),
    "the report has no folder": (
        SUITE,
        (*RUN, "--json", "nowhere/x.json"),
        "report 'nowhere/x.json': it cannot be written (No such file or directory); check the path, or its "
        "permissions.",
    ),
    "the share of a plan is a percentage": (
        SUITE,
        ("plan", "--bar", "90", "--rate", "97"),
        "plan: bar: found 90.0; use a share strictly between 0 and 1 (no number of trials can prove 0% or 100%).",
    ),
    "a persona is not there": (
        SUITE,
        ("persona", "check", "nothing.yaml"),
        "nothing.yaml, line 1: it cannot be read (No such file or directory); name another file.",
    ),
    "nothing is to be measured": (
        SUITE,
        ("score", "suite.yaml"),
        "--scorers: found no name; name one or more, with commas between them, or a file with --then.",
    ),
    "a run is compared with itself": (
        SUITE,
        ("compare", "run.json", "run.json"),
        "compare: both are run one; give two runs: a run is not better or worse than itself.",
    ),
}

CHECK = Expectation(expected_behavior="It answers", evaluator=SuccessRateEvaluator(min_proportion=0.9))
FIRST = ScenarioTest(title="First", given="A user", when="They ask", then=CHECK)


def evaluated(*scenarios: Any, handler: Any = str) -> Any:
    """Return what evaluates scenarios."""
    return lambda: Engine(store=None, display="none").evaluate_sync(list(scenarios), handler)


UNAWAITED = "evaluate was not awaited: write `await engine.evaluate(...)`, or `engine.evaluate_sync(...)`"
IN_PYTHON: dict[str, tuple[Callable[[], Any], str]] = {
    "a title is used twice": (
        evaluated(FIRST, FIRST, handler=lambda message: "hello"),
        "evaluate: 2 scenarios have the title 'First'; give each its own: results are told by titles.",
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
        "Expectation: found none of them; give either expected_behavior, criteria, scorer, tools or state.",
    ),
    "a setting is misspelt": (
        lambda: Engine(**cast("Any", {"concurency": 4})),
        "settings: there is no setting 'concurency'; did you mean 'concurrency'?",
    ),
    "the user's model has the name it has in files": (
        lambda: Engine(**cast("Any", {"user_model": "offline/user"})),
        "settings: there is no setting 'user_model'; did you mean 'user_simulator_model'?",
    ),
    "a share is a percentage": (
        lambda: SuccessRateEvaluator(min_proportion=90),
        "SuccessRateEvaluator.min_proportion: found 90; use a share strictly between 0 and 1 (no number of trials can "
        "prove 0% or 100%).",
    ),
    "the handler takes three arguments": (
        evaluated(FIRST, handler=lambda message, state, more: "hello"),
        "app handler: found the signature (message, state, more); give a function of (message, state) or (messages, "
        "state), sync or async.",
    ),
    "the handler takes tools by their place": (
        evaluated(FIRST, handler=lambda message, tools: "hello"),
        "app handler: found the signature (message, tools); take tools by their name, behind a star: (message, *, "
        "tools).",
    ),
    "the handler is a class": (
        evaluated(FIRST, handler=Path),
        "app handler: found the class Path; give an object of it, such as Path().",
    ),
    "the scenarios are a function": (
        lambda: Engine(store=None).evaluate_sync(cast("Any", len), str),
        "evaluate: found <built-in function len>; give ScenarioTests; simeval.suites.load_suite(PATH) reads a file of "
        "them.",
    ),
    "what is expected is a text": (
        lambda: ScenarioTest(title="t", given="g", when="w", then=cast("Any", "It answers")),
        "ScenarioTest 't': then: found 'It answers'; give one or more Expectations.",
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
    run = {"simeval": "1", "run_id": "one", "seed": 1, "app": "a", "models": {"judge": "j"}, "scenarios": []}
    (tmp_path / "run.json").write_text(json.dumps(run))
    return tmp_path


@pytest.mark.parametrize("mistake", QUIET)
def test_a_mistake_is_told_in_these_words_before_anything_runs(folder: Path, mistake: str) -> None:
    suite, arguments, said = QUIET[mistake]
    (folder / "suite.yaml").write_text(suite)

    done = CliRunner().invoke(main, arguments)

    told = [line for line in done.stderr.splitlines() if " INFO " not in line]
    assert "\n".join(told) == f"simeval: {said}"
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
    messages = [*(f"simeval: {said}" for _, _, said in QUIET.values()), *(said for _, said in IN_PYTHON.values())]

    assert median(-(-len(said) // 80) for said in messages) <= 2
