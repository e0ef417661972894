"""What holds of the built wheel: python -m tests.wheel.check WHEEL PYTHON.

PYTHON is one of an environment with nothing but the wheel and what it requires. The wheel has every module of the tree,
its prompts, its lists of public names, and the mark that it is typed; the command starts; a user's file runs there.
mypy and pyright, both strict, accept that file and the examples; and of each of several misspelt names, and of each
handler that cannot be an app's, and each scorer that cannot be one, both complain, and of nothing else.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from zipfile import ZipFile

from simeval.cli.pages import PAGES
from tests.wheel.typed import clean, mypy_errors, pyright_errors

ROOT = Path(__file__).resolve().parents[2]
USER = Path(__file__).with_name("user.py")
PACKED = (".md", ".py", ".pyi", ".typed")
MISSPELT = {  # what stands in the user's file, and what a slip of the hand makes of it
    "Engine(judge_model=": "Engine(judge_modell=",
    "Engine(judge_model=model, seed=": "Engine(judge_model=model, sede=",
    "ScenarioTest(title=": "ScenarioTest(tittle=",
    "SuccessRateEvaluator(min_proportion=": "SuccessRateEvaluator(min_proportions=",
    "MeanEvaluator(at_most=": "MeanEvaluator(at_must=",
    "Expectation(scorer=is_short, evaluator=": "Expectation(scorer=is_short, evaluators=",
    "dataset_of([": "dataset_off([",
}
EXAMPLES = (
    "README.md",
    "docs/index.md",
    "docs/explanation/statistics.md",
    # one of pytest's goes on with the file before it
    *(f"docs/guides/{page.name}" for page in sorted(ROOT.glob("docs/guides/*.md")) if page.stem != "pytest"),
)
CALL = """\
from simeval import Engine, ScenarioResult, ScenarioTest


async def evaluate(engine: Engine, scenario: ScenarioTest) -> ScenarioResult:
    return await engine.evaluate(scenario, handle)"""
CALL_LINE = len(CALL.splitlines())
WRONG_HANDLERS = (
    "async def handle(message: str) -> int:\n    return len(message)",
    "def handle(message: str) -> None:\n    print(message)",
    "async def handle(message: int, state: dict[str, str]) -> str:\n    return str(message)",
    "def handle() -> str:\n    return 'hello'",
    "async def handle(message: str) -> dict[str, str]:\n    return {'response': message}",
    "handle = 7",
)
SCORED = """\
from simeval import Expectation, MeanEvaluator, scorer

__all__ = ["Expectation", "scorer"]


def is_short(output: str) -> bool:
    return len(output) < 80


REQUIRED = MeanEvaluator(at_least=0.5, bounds=(0, 1))
{wrong}
"""
SCORED_LINE = len(SCORED.splitlines())
WRONG_SCORERS = (
    "Expectation(scorer=7, evaluator=REQUIRED)",
    "Expectation(scorer=[is_short], evaluator=REQUIRED)",
    "Expectation(scorer=is_short('yes'), evaluator=REQUIRED)",
    "short = scorer('short')",
    "short = scorer(is_short, name=7)",
    "short = scorer(is_short, direction='up')",
    "short = scorer(is_short, bounds='wide')",
)


def main() -> None:
    """Check a wheel; raise AssertionError where something does not hold."""
    wheel, python = (Path(argument).absolute() for argument in sys.argv[1:])
    check_files(wheel)
    with tempfile.TemporaryDirectory() as folder:  # where no source tree can stand in for the wheel
        check_program(python, Path(folder))
        check_types(python, Path(folder))
    sys.stdout.write(
        f"{wheel.name}: whole, starts, is typed, and refuses {len(MISSPELT)} slips, {len(WRONG_HANDLERS)} handlers "
        f"and {len(WRONG_SCORERS)} scorers\n"
    )


def check_files(wheel: Path) -> None:
    """Hold the files of the wheel against those of the tree."""
    tree = {path.relative_to(ROOT).as_posix() for path in (ROOT / "simeval").rglob("*") if path.suffix in PACKED}
    docs = (path.relative_to(ROOT / "docs").as_posix() for pattern in PAGES for path in (ROOT / "docs").glob(pattern))
    tree |= {f"simeval/pages/{page}" for page in docs}
    packed = {name for name in ZipFile(wheel).namelist() if name.startswith("simeval/") and name.endswith(PACKED)}
    assert packed == tree, f"{packed ^ tree} differ"
    assert {"simeval/py.typed", "simeval/__init__.pyi", "simeval/scorers/__init__.pyi"} <= packed


def check_program(python: Path, folder: Path) -> None:
    """Start the command, run the user's file, and show what a new user looks at; nothing is left in the folder."""
    version = run([str(python.with_name("simeval")), "--version"], folder)
    assert re.search(r"\d+\.\d+\.\d+", version), version
    assert "site-packages" in run([str(python), "-c", "import simeval; print(simeval.__file__)"], folder)
    assert "# system" in run([str(python.with_name("simeval")), "prompts", "user"], folder)
    assert "# Scorers" in run([str(python.with_name("simeval")), "help", "scorers"], folder)
    run([str(python), str(USER)], folder)
    assert "scenarios" in run([str(python.with_name("simeval")), "demo"], folder)
    assert run([str(python.with_name("simeval")), "doctor"], folder).endswith("is fine\n")
    assert "_SIMEVAL_COMPLETE" in run([str(python.with_name("simeval")), "completion", "zsh"], folder)
    assert not any(folder.iterdir()), "something was left behind"


def check_types(python: Path, folder: Path) -> None:
    """Let mypy and pyright read what is right, each slip of the hand, and each wrong handler and scorer."""
    source = USER.read_text(encoding="utf-8")
    right = {"user.py": source, **examples(python)}
    slips = {f"slip_{number}.py": slipped(source, *slip) for number, slip in enumerate(MISSPELT.items())}
    wrong = {f"wrong_{number}.py": f"{CALL}\n\n\n{handler}\n" for number, handler in enumerate(WRONG_HANDLERS)}
    unfit = {f"unfit_{number}.py": SCORED.format(wrong=scored) for number, scored in enumerate(WRONG_SCORERS)}
    for errors in (mypy_errors, pyright_errors):
        found = errors({**right, **slips, **wrong, **unfit}, python, folder)
        refused = {name: said for name, said in found.items() if said and name in right}
        assert not refused, refused
        for name, (meant, slip) in zip(slips, MISSPELT.items(), strict=True):
            word = next(each for each in re.findall(r"\w+", slip) if each not in re.findall(r"\w+", meant))
            assert any(word in said for _, said in found[name]), f"{word} was not caught: {found[name]}"
        for name, handler in zip(wrong, WRONG_HANDLERS, strict=True):
            lines = {line for line, _ in found[name]}
            assert lines == {CALL_LINE}, f"{handler!r}: {found[name]}"
        for name, scored in zip(unfit, WRONG_SCORERS, strict=True):
            lines = {line for line, _ in found[name]}
            assert lines == {SCORED_LINE}, f"{scored!r}: {found[name]}"


def slipped(source: str, meant: str, slip: str) -> str:
    """Return the user's file with a slip of the hand."""
    pattern = re.compile(re.escape(meant).replace(r"\(", r"\(\s*"))  # the argument may stand in a line of its own
    found = pattern.search(source)
    assert found, f"{meant!r} is not in {USER.name}"
    return source[: found.start()] + slip + source[found.end() :]


def examples(python: Path) -> dict[str, str]:
    """Return the Python of the documents that show how to begin, and the app of `simeval init`."""
    found = {
        f"{page.stem.lower()}_{number}.py": code
        for page in map(ROOT.joinpath, EXAMPLES)
        for number, code in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.M | re.S))
        if "import pytest" not in code  # which users of the wheel need not have
    }
    with tempfile.TemporaryDirectory() as folder:
        run([str(python.with_name("simeval")), "init", "."], Path(folder))
        return {**found, "app.py": (Path(folder) / "app.py").read_text(encoding="utf-8")}


def run(command: list[str], folder: Path) -> str:
    """Return what a program that ends well writes."""
    done = subprocess.run(command, cwd=folder, env=clean(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


if __name__ == "__main__":
    main()
