"""What holds of the built wheel: python tests/wheel/check.py WHEEL PYTHON.

PYTHON is one of an environment with nothing but the wheel and what it requires. The wheel has every module of the tree,
its prompts, its lists of public names, and the mark that it is typed; the command starts; a user's file runs there and
passes `mypy --strict`; and of each of several misspelt names in it mypy complains, and of nothing else.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from zipfile import ZipFile

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


def main() -> None:
    """Check a wheel; raise AssertionError where something does not hold."""
    wheel, python = (Path(argument).absolute() for argument in sys.argv[1:])
    check_files(wheel)
    with tempfile.TemporaryDirectory() as folder:  # where no source tree can stand in for the wheel
        check_program(python, Path(folder))
        check_types(python, Path(folder))
    sys.stdout.write(f"{wheel.name}: whole, starts, is typed, and catches {len(MISSPELT)} misspelt names\n")


def check_files(wheel: Path) -> None:
    """Hold the files of the wheel against those of the tree."""
    tree = {path.relative_to(ROOT).as_posix() for path in (ROOT / "simeval").rglob("*") if path.suffix in PACKED}
    packed = {name for name in ZipFile(wheel).namelist() if name.startswith("simeval/") and name.endswith(PACKED)}
    assert packed == tree, f"{packed ^ tree} differ"
    assert {"simeval/py.typed", "simeval/__init__.pyi", "simeval/scorers/__init__.pyi"} <= packed


def check_program(python: Path, folder: Path) -> None:
    """Start the command and run the user's file."""
    version = run([str(python.with_name("simeval")), "--version"], folder)
    assert re.search(r"\d+\.\d+\.\d+", version), version
    assert "site-packages" in run([str(python), "-c", "import simeval; print(simeval.__file__)"], folder)
    assert "# system" in run([str(python.with_name("simeval")), "prompts", "user"], folder)
    run([str(python), str(USER)], folder)


def check_types(python: Path, folder: Path) -> None:
    """Let mypy read the user's file as it is, and with each slip."""
    source = USER.read_text(encoding="utf-8")
    assert errors(source, python, folder) == []
    for right, wrong in MISSPELT.items():
        pattern = re.compile(re.escape(right).replace(r"\(", r"\(\s*"))  # the argument may stand in a line of its own
        found = pattern.search(source)
        assert found, f"{right!r} is not in {USER.name}"
        slip = source[: found.start()] + wrong + source[found.end() :]
        told = errors(slip, python, folder)
        word = next(each for each in re.findall(r"\w+", wrong) if each not in re.findall(r"\w+", right))
        assert told, f"{word} was not caught"
        assert all(word in each for each in told), told


def errors(source: str, python: Path, folder: Path) -> list[str]:
    """Return what `mypy --strict` finds in a file of this text.

    Each has a name of its own: of a file that changes within a second and keeps its size mypy believes its cache.
    """
    user = f"user_{len(list(folder.glob('user_*.py')))}.py"
    (folder / user).write_text(source, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--python-executable",
        str(python),
        user,
    ]
    done = subprocess.run(command, cwd=folder, env=clean(), capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if ": error:" in line]


def run(command: list[str], folder: Path) -> str:
    """Return what a program that ends well writes."""
    done = subprocess.run(command, cwd=folder, env=clean(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def clean() -> dict[str, str]:
    """Return the environment without what would lead to the source tree."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}


if __name__ == "__main__":
    main()
