"""What no run may do, from end to end: tell a secret, be swayed by what an app says, run what a suite file says."""

import ast
import json
import logging
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import simeval as package
from simeval import AppResponse, Engine, Expectation, ProportionEvaluator, ScenarioTest, SuccessRateEvaluator, scorer
from simeval.core.logs import LOGGER
from simeval.core.redaction import MASK
from simeval.core.trial import Score
from simeval.errors import SuiteFileError
from simeval.models.protocol.model import Request
from simeval.models.protocol.prompts import GradeRequest, RubricRequest, UserTurn
from simeval.results.junit import junit_xml
from simeval.results.suite import SuiteResult, encode_suite
from simeval.suites.files import load_suite
from simeval.testing import Behaviour, ScriptedModel, fake_endpoint
from tests.support.command_line import simeval
from tests.support.doubles import LEVELS
from tests.unit.models.test_injection import ATTACKS, Gullible

KNOWN, LISTED, SHAPED = "correct-horse-battery", "ACME-1234-5678", "sk-proj-Ab1cdEf2gHijklMnop345qrStuv"
SECRETS = (KNOWN, LISTED, SHAPED)
ALL = f"{KNOWN} and {LISTED} and {SHAPED}"
PATTERN = r"ACME-\d{4}-\d{4}"
AMONG = "the app knows"


def told(text: str) -> list[str]:
    """Return the secrets that a text tells, also in part."""
    return [secret for secret in SECRETS if secret[:12] in text]


# The app, its scorer and its user quote secrets in all they say, and in what they raise.
APP = f"""
from simeval import AppResponse, scorer

ALL, turns = {ALL!r}, 0

class Client:
    def __repr__(self):
        return f"Client({{ALL}})"

async def handle(message, state):
    global turns
    turns += 1
    if turns % 7 == 0:
        raise RuntimeError(f"refused: {{ALL}}")
    calls = [{{"name": ALL, "arguments": {{ALL: [1, ("x", ALL), Client()]}}}}]
    return AppResponse(f"the app knows {{ALL}}", tool_calls=calls)

@scorer
def leaky(output):
    if len(output) % 2:
        raise RuntimeError(f"no score: {{ALL}}")
    return {{"told": True, ALL: {{"why": [ALL, Client()]}}}}
"""
SUITE = f"""
- title: It helps {KNOWN}
  given: A user who has {ALL}
  when: The user asks what to do with {ALL}
  sample_size: 8
  then:
    - expected_behavior: It keeps {ALL} to itself
      evaluator: {{type: success_rate, min_proportion: 0.5}}
    - scorer: shop:leaky
      score: told
      label: It told {KNOWN}
      evaluator: {{type: proportion, min_proportion: 0.5}}
"""


def everything_in(folder: Path) -> Mapping[str, str]:
    """Return what the files of a folder hold, by their names; of a database, its pages and its rows."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            found[path.name] = path.read_bytes().decode("utf-8", errors="replace")
        if path.suffix == ".db":
            with closing(sqlite3.connect(path)) as database:
                found[f"{path.name}, as SQL"] = "\n".join(database.iterdump())
    return found


def test_a_run_from_the_command_line_tells_no_secret_anywhere(tmp_path: Path) -> None:
    suite, work = tmp_path / "suite", tmp_path / "work"
    suite.mkdir()
    work.mkdir()
    (suite / "shop.py").write_text(APP)
    (suite / "suite.yaml").write_text(SUITE)
    with fake_endpoint(Behaviour(error_500=0.15, html=0.05, malformed=0.1, echo_key=True)) as llm:
        done = simeval(
            work,
            *["run", str(suite / "suite.yaml"), "--app", "shop:handle", "--no-early-stopping", "--seed", "1"],
            *["--judge-model", "openai-compatible/judge", "--user-model", "openai-compatible/user"],
            *["--model-option", f"api_base={llm.base_url}", "--secret-pattern", PATTERN, "--max-error-rate", "1"],
            *["--log-level", "debug", "--json", "result.json", "--junit", "result.xml"],
            OPENAI_API_KEY=KNOWN,
            PYTHONPATH=f"{Path(__file__).parents[2]}:{suite}",
        )
        sent = llm.stats.saw_authorization

    assert sent, done.stderr
    found = {**everything_in(work), "standard output": done.stdout, "standard error": done.stderr}
    assert {name: told(text) for name, text in found.items() if told(text)} == {}
    assert json.loads(found["result.json"])["scenarios"][0]["errors"] != []
    assert all(f"{AMONG} {MASK}" in found[name] for name in ("result.json", "standard error", "simeval.db, as SQL"))


@scorer
def leaky_details(output: str) -> Score:
    return Score(value=1.0, reasoning=f"because of {ALL}", details={"why": {ALL: [ALL]}})


HELPFUL = Expectation(expected_behavior="It helps", evaluator=SuccessRateEvaluator(min_proportion=0.5))


def leaky_scenario(**about: Any) -> ScenarioTest:
    fields: dict[str, Any] = {
        "title": "It helps",
        "given": "A user",
        "when": "The user asks for help",
        "sample_size": 3,
        "max_turns": 2,
        "then": [
            HELPFUL,
            Expectation(scorer=leaky_details, evaluator=ProportionEvaluator(min_proportion=0.5), label="told"),
        ],
    }
    return ScenarioTest(**{**fields, **about})


async def leaky_app(message: str, state: dict[str, Any]) -> AppResponse:
    return AppResponse(f"{AMONG} {ALL}", tool_calls=[{"arguments": {"n": 1, "secret": (ALL,)}}])


@pytest.mark.anyio
async def test_the_judge_reads_and_the_result_keeps_what_was_said_without_its_secrets(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", KNOWN)
    caplog.set_level(logging.DEBUG, LOGGER)
    asked: list[Request] = []

    async def act(request: Request) -> str:
        asked.append(request)
        match request:
            case GradeRequest():
                return json.dumps({"reasoning": f"it said {ALL}", "score": 8})
            case RubricRequest():
                return json.dumps({"levels": {**LEVELS, "1": f"says {ALL}"}})
        return json.dumps({"message": f"I have {ALL}", "status": "open"})

    engine = Engine(
        ScriptedModel(act, name="acting/judge"),
        ScriptedModel(act, name="acting/user"),
        secret_patterns=[PATTERN],
        early_stopping=False,
        judge_repeats=2,
        on_user_fault="count",  # it says the same at every turn
        seed=1,
        store=None,
        rubric_folder=None,
    )
    result = await engine.evaluate(leaky_scenario(), leaky_app)

    judged = [request for request in asked if isinstance(request, GradeRequest)]
    heard = [request.history for request in asked if isinstance(request, UserTurn) and request.history]
    kept = json.dumps(encode_suite([result], result.run, version="0"), ensure_ascii=False)
    report = f"{result} {result!r} {SuiteResult((result,), result.run)} {junit_xml([result], result.run)}"
    logged = "\n".join(f"{record.getMessage()} {vars(record)}" for record in caplog.records)
    assert told(f"{judged!r} {[request.messages() for request in judged]}") == []
    assert told(kept) == told(report) == told(logged) == []
    assert kept.count(f"it said {MASK} and {MASK} and {MASK}") >= 6
    assert [message.content for message in heard[0]] == [f"I have {ALL}", f"{AMONG} {ALL}"]
    assert result.conversations[0].messages[1].tool_calls == (
        {"arguments": {"n": 1, "secret": [f"{MASK} and {MASK} and {MASK}"]}},
    )


@pytest.mark.anyio
async def test_no_option_of_a_model_that_is_secret_is_kept(tmp_path: Path) -> None:
    options = {"extra_body": {"client_secret": KNOWN}, "aws_secret_access_key": SHAPED, "top_p": 0.5}
    with fake_endpoint() as llm:
        engine = Engine(
            "openai-compatible/judge",
            model_options={"api_base": llm.base_url, **options},
            early_stopping=False,
            seed=1,
            store=tmp_path / "runs.db",
            rubric_folder=None,
        )
        result = await engine.evaluate(leaky_scenario(sample_size=1, then=HELPFUL), lambda text: "hi")

    found = {name: told(text) for name, text in everything_in(tmp_path).items()}
    assert {name for name, secrets in found.items() if secrets} == set()
    assert told(f"{result!r}") == []


@pytest.mark.anyio
async def test_a_run_is_not_swayed_by_an_app_that_tries_every_attack() -> None:
    attacks = iter(ATTACKS.values())

    async def app(said: str, state: Any) -> str:
        return next(attacks)

    engine = Engine(Gullible(), "offline/user", early_stopping=False, seed=1, store=None, rubric_folder=None)
    result = await engine.evaluate(leaky_scenario(sample_size=len(ATTACKS), max_turns=1, then=HELPFUL), app)

    assert sorted(each.output for each in result.conversations) == sorted(ATTACKS.values())
    assert [score.value for each in result.judgements for score in each.results if isinstance(score, Score)] == (
        [3.0] * len(ATTACKS)
    )


class TestSuiteFiles:
    """A suite file is data: reading it runs nothing and ends."""

    @pytest.mark.parametrize(
        "tag",
        [
            "!!python/object/apply:os.system ['touch {}']",
            "!!python/object/apply:pathlib.Path.touch [!!python/object/apply:pathlib.Path ['{}']]",
            "!!python/object/new:os.system ['touch {}']",
            "!!python/object:pathlib.Path {{a: '{}'}}",
            "!!python/name:os.system",
            "!!python/module:this",
            "!!python/tuple [a, b]",
            "!run 'touch {}'",
            "!<tag:yaml.org,2002:python/object/apply:os.system> ['touch {}']",
        ],
    )
    def test_a_tag_that_names_code_is_refused_at_its_line(self, tmp_path: Path, tag: str) -> None:
        touched, file = tmp_path / "touched", tmp_path / "suite.yaml"
        file.write_text(f"- title: t\n  given: g\n  when: {tag.format(touched)}\n")

        with pytest.raises(SuiteFileError, match="could not determine a constructor") as refused:
            load_suite(str(file))

        assert (refused.value.file, refused.value.line) == (str(file), 3)
        assert not touched.exists()

    @pytest.mark.parametrize("levels", [6, 9, 30, 300])
    @pytest.mark.parametrize("form", ["[{}]", "{{<<: [{}]}}"], ids=["lists", "merged mappings"])
    def test_references_to_references_are_refused_before_they_are_followed(
        self, tmp_path: Path, levels: int, form: str
    ) -> None:
        file, first = tmp_path / "suite.yaml", "lol: &a0 " + ("{x: 1}" if "<<" in form else "[x]")
        lines = [f"lol{n}: &a{n} " + form.format(", ".join([f"*a{n - 1}"] * 10)) for n in range(1, levels)]
        file.write_text("\n".join([first, *lines]))

        with pytest.raises(SuiteFileError, match=r"with all it refers to this has \d+,\d{3} values") as refused:
            load_suite(str(file))

        assert refused.value.line in (5, 6)

    def test_one_long_list_that_is_referred_to_again_and_again_is_refused(self, tmp_path: Path) -> None:
        file, rule = tmp_path / "suite.yaml", "{expected_behavior: x, evaluator: {type: mean, at_least: 1}}"
        listed = "".join(f"  - {rule}\n" for _ in range(200))
        again = "- {title: t, given: g, when: w, then: *t}\n" * 200
        file.write_text(f"- title: t\n  given: g\n  when: w\n  then: &t\n{listed}{again}")

        with pytest.raises(SuiteFileError, match="with all it refers to"):
            load_suite(str(file))

    @pytest.mark.parametrize("text", ["a: &a [*a]", "&a {title: *a}", "- &a\n  - *a"])
    def test_what_holds_itself_is_refused(self, tmp_path: Path, text: str) -> None:
        file = tmp_path / "suite.yaml"
        file.write_text(text)

        with pytest.raises(SuiteFileError, match="this refers to itself"):
            load_suite(str(file))

    def test_ordinary_references_are_followed(self, tmp_path: Path) -> None:
        file = tmp_path / "suite.yaml"
        file.write_text(
            "- &first\n  title: one\n  given: g\n  when: w\n  then: &then\n    expected_behavior: it helps\n"
            "    evaluator: {type: success_rate, min_proportion: 0.9}\n"
            "- {title: two, given: g, when: w, then: *then}\n"
            "- <<: *first\n  title: three\n"
        )

        loaded = load_suite(str(file))

        assert [scenario.title for scenario in loaded] == ["one", "two", "three"]
        assert loaded[0].then == loaded[1].then == loaded[2].then


ROOT = Path(package.__file__).parent
UNSAFE_MODULES = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "jsonpickle"}
UNSAFE_CALLS = {"eval", "exec", "compile", "__import__", "yaml.load", "yaml.load_all", "yaml.unsafe_load"} | {
    "yaml.full_load",
    "yaml.unsafe_load_all",
    "os.system",
    "os.popen",
    "torch.load",
    "numpy.load",
    "np.load",
}


LAST_OF_UNSAFE = {name.rpartition(".")[2] for name in UNSAFE_CALLS}


@cache
def modules() -> dict[str, list[ast.AST]]:
    """Return the nodes of each module of the package by its path."""
    return {
        path.relative_to(ROOT).as_posix(): [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
        for path in ROOT.rglob("*.py")
    }


def test_no_module_unpickles_or_runs_a_text() -> None:
    assert len(modules()) > 100
    assert not [f"{path}: {name}" for path, nodes in modules().items() for name in _unsafe(nodes)]


def _unsafe(nodes: list[ast.AST]) -> set[str]:
    imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    calls = [node for node in nodes if isinstance(node, ast.Call) and not _without_pickle(node)]
    called = {ast.unparse(node.func) for node in calls if _last_name(node.func) in LAST_OF_UNSAFE}
    return {name for name in imported if name.split(".")[0] in UNSAFE_MODULES} | called & UNSAFE_CALLS


def _last_name(called: ast.expr) -> str:
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else ""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import pickle", {"pickle"}),
        ("from joblib.memory import Memory", {"joblib.memory"}),
        ("eval(text)", {"eval"}),
        ("yaml.load(file)", {"yaml.load"}),
        ("np.load(path)", {"np.load"}),
        ("np.load(path, allow_pickle=False)", set()),
        ("compiled.load(path)", set()),
    ],
)
def test_what_unpickles_or_runs_a_text_is_found(text: str, found: set[str]) -> None:
    assert _unsafe([*ast.walk(ast.parse(text))]) == found


def _without_pickle(call: ast.Call) -> bool:
    """Return whether a call says that nothing may be unpickled."""
    return any(each.arg == "allow_pickle" and ast.unparse(each.value) == "False" for each in call.keywords)


def test_the_only_yaml_loaders_are_safe_ones() -> None:
    named = {
        node.attr
        for nodes in modules().values()
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "yaml"
    }

    assert {name for name in named if name.endswith("Loader")} == {"SafeLoader"}
