"""The architecture as a list: a module imports only modules that stand further down it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import simeval

ROOT = Path(simeval.__file__).parent
FLOORS = [
    ["cli"],
    [
        "agree_command",
        "calibrate_command",
        "compare_command",
        "feedback_command",
        "import_command",
        "plan_command",
        "score_command",
        "starter",
        "store_commands",
    ],
    ["run_command"],
    ["console"],
    ["comparing", "judging"],
    ["comparison", "labels", "matching", "trust"],
    ["changes", "evidence"],
    ["saved_run"],
    ["persona_calibration", "report.junit", "suites"],
    ["scorers.by_name"],
    ["engine", "online"],
    ["experiment", "simulation"],
    ["evaluation", "line"],
    ["resuming"],
    ["definition", "lanes", "meter"],
    ["progress"],
    ["actors.tabulator"],
    ["actors.conversations", "actors.examples", "actors.judge", "actors.statistician", "actors.recorder"],
    ["actors.dialogue", "actors.targets"],
    ["forecast", "actors.schedule", "actors.simulator", "actors.app"],
    ["actors.dataset_plan", "actors.wanted"],
    ["actors.plan"],
    ["scorers.rubric"],
    ["scorers.brand"],
    ["scorers.embeddings", "scorers.moderation", "scorers.preference", "scorers.rag", "scorers.summarization"],
    ["scorers.bias", "scorers.sentiment", "scorers.toxicity"],
    ["scorers.authenticity", "scorers.safety", "scorers.stability"],
    ["scorers.classes", "scorers.sessions"],
    ["scorers.entities", "scorers.graded"],
    ["scorers.checks", "scorers.sentiment_labels"],
    ["scorers.classification", "scorers.formats", "scorers.objects", "scorers.texts", "scorers.trajectories"],
    ["scorers.safety_rules", "scorers.traits"],
    ["scorers.language", "scorers.personal_data", "scorers.readability"],
    ["rubric", "scorers.asking", "scorers.grades", "scorers.metrics", "scorers.style"],
    ["scorers.alignment", "scorers.phrases", "scorers.scorer", "scorers.values", "scorers.weights"],
    ["store.opening"],
    ["store.datasets", "store.feedback", "store.runs"],
    ["store.database"],
    ["store.lifecycle", "store.postgres", "store.sqlite"],
    ["store.backend", "store.reading"],
    ["store.rows"],
    ["store.journal", "models.registry"],
    ["store.schema", "store.texts", "store.owners"],
    ["models.embedding", "models.governor", "models.moderation", "models.prices"],
    ["models.compatible", "models.lite", "models.offline", "models.limits", "models.retries", "models.usage"],
    ["models.cache"],
    ["models.traffic"],
    ["models.breaker", "models.pace"],
    ["models.vectors"],
    ["models.embedded_sentiment", "models.encoder"],
    ["models.local", "models.sentiment_network"],
    ["models.networks"],
    ["models.batching", "models.checkpoints", "models.valence"],
    ["models.hashed", "models.requests", "models.model", "models.wire", "models.lexical", "models.lite_session"],
    ["models.replies"],
    ["pool", "watchdog"],
    ["capture", "interrupts", "order", "logs", "stop"],
    ["encode"],
    ["experiment_results"],
    ["results"],
    ["guarantee", "showing"],
    ["planning"],
    ["ratings", "scenario"],
    ["evaluators"],
    ["evaluator"],
    ["courses"],
    ["budget", "concluding", "estimates", "reliability", "tallies", "turns"],
    ["records"],
    ["importers.logs"],
    ["importers.deepeval", "importers.inspect_logs", "importers.langfuse", "importers.langsmith", "importers.otel"],
    ["importers.botium", "importers.calls", "importers.chatml", "importers.openai_chat", "importers.sharegpt"],
    ["importers.rasa"],
    ["importers.envelopes", "importers.folding"],
    ["importers.messages"],
    ["importers.own", "importers.promptfoo", "importers.values"],
    ["importers.reading"],
    ["dataset_files"],
    ["dataset_rows"],
    ["dataset", "dataset_tables", "feedback"],
    ["outcome", "persona", "tables", "usage", "transcripts"],
    ["conversation"],
    ["stats.reliability", "stats.paired", "stats.planning"],
    ["stats.two_sample", "stats.preference", "stats.repeated"],
    ["stats.calibration", "stats.clusters", "stats.open_ended", "stats.betting", "stats.quantile"],
    ["stats.agreement", "stats.classification", "stats.evalues", "stats.multiple"],
    ["stats.approximate", "stats.logistic"],
    ["stats.binomial", "stats.mean", "stats.sequential", "stats.monitor"],
    ["settings", "models.redact", "yaml_files"],
    ["stamps"],
    ["direction"],
    ["seeds", "errors", "version"],
]
FACADES = {"", "actors", "importers", "models", "report", "scorers", "stats", "store"}
MOST_LINES = 400
HEAVY = ("litellm", "torch", "transformers", "scipy", "sqlalchemy", "numpy", "pydantic", "aiohttp")


def modules() -> dict[str, Path]:
    names = {path: path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".") for path in ROOT.rglob("*.py")}
    return {name.removesuffix("__init__").rstrip("."): path for path, name in names.items()}


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "simeval":
            base = node.module.removeprefix("simeval").lstrip(".")
            inner = {f"{base}.{alias.name}".lstrip(".") for alias in node.names}
            found |= {name if name in modules() else base for name in inner}
    return found


def test_every_module_stands_on_a_floor() -> None:
    listed = [name for floor in FLOORS for name in floor]

    assert sorted(listed) == sorted(set(modules()) - FACADES)


@pytest.mark.parametrize("name", sorted(set(modules()) - FACADES))
def test_a_module_imports_only_what_stands_further_down(name: str) -> None:
    height = {module: number for number, floor in enumerate(FLOORS) for module in floor}

    upward = {other for other in imports(modules()[name]) if height.get(other, -1) <= height[name]}

    assert not upward


def test_packages_inside_hold_no_code_of_their_own() -> None:
    inside = {name for name in FACADES if name and imports(modules()[name])}

    assert not inside


@pytest.mark.parametrize("name", sorted(modules()))
def test_no_module_is_too_long_to_read(name: str) -> None:
    lines = modules()[name].read_text(encoding="utf-8").splitlines()

    assert len(lines) <= MOST_LINES


def test_every_module_opens_with_a_sentence() -> None:
    silent = [name for name, path in modules().items() if not ast.get_docstring(ast.parse(path.read_text("utf-8")))]

    assert not silent


def test_the_face_is_what_it_lists() -> None:
    assert sorted(simeval.__all__) == sorted([*simeval._HOME, "__version__"])
    assert all(getattr(simeval, name).__name__ == name for name in simeval.__all__ if name[0].isupper())


@pytest.mark.parametrize(
    "command", ["import simeval", "from simeval.cli import main; main(['--help'], standalone_mode=False)"]
)
def test_starting_loads_nothing_heavy(command: str) -> None:
    code = f"import sys\n{command}\nprint([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stderr.strip() == "[]"


def test_exception_is_caught_in_one_place_of_the_engine() -> None:
    broad = {
        name
        for name, path in modules().items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler) and isinstance(node.type, ast.Name) and node.type.id == "Exception"
    }

    # LiteLLM and a module of the user's raise whatever they like while called and imported: there it is translated
    # whatever else reaches the command line ends with a status of its own
    assert broad == {"capture", "models.lite", "suites", "run_command"}
