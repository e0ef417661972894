"""The structure of the package in figures: entries, floors, arrows between packages, and the way of one trial.

    python -m benchmarks.structure

A room is a package or module right below `simeval`; an arrow says that one room imports another (imports for type
checking alone are not counted); the floor of a room is one above the highest that it imports. A chain are modules each
of which imports the next one when it is loaded. Every module and room that runs code of its own in the thread of the
event loop, while one conversation of one turn is simulated, judged, stored and printed, is on the way of a trial; so is
every record (a frozen dataclass) that is made then. The kernel are the rooms that every run needs, without the
catalogue of scorers. Lines are counted by their kind, too: a limit below those of code alone cannot be met by words.
"""

import ast
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import anyio
import grimp

import simeval
from simeval import Engine, Expectation, ScenarioTest, SuccessRateEvaluator

ROOT = Path(simeval.__file__).parent


KERNEL = ("errors", "core", "suites", "datasets", "models", "scorers", "evaluators", "engine", "results")
_OF_MODELS = ("graded", "rag", "preference", "embeddings", "moderation")  # scorers that ask a model, but no judges
CATALOGUE = ("scorers.text.", *(f"scorers.llm.{name}" for name in _OF_MODELS))


def is_record(cls: type) -> bool:
    """Return whether a class is a frozen dataclass."""
    return bool(getattr(getattr(cls, "__dataclass_params__", None), "frozen", False))


def rooms_below(root: Path) -> list[str]:
    """Return the names of the packages and modules of a folder; the package's own files are none."""
    named = {path.stem for path in root.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    return sorted(name for name in named if not name.startswith("_"))


def arrows_of(rooms: list[str]) -> Mapping[str, set[str]]:
    """Return for each room those that it imports."""
    graph = grimp.build_graph("simeval", exclude_type_checking_imports=True)
    arrows: dict[str, set[str]] = {room: set() for room in rooms}
    for importer in graph.modules:
        for imported in graph.find_modules_directly_imported_by(importer):
            a, b = (f"{name}.".split(".")[1] for name in (importer, imported))
            if a in arrows and b in arrows and a != b:
                arrows[a].add(b)
    return arrows


def imports_of_extras() -> int:
    """Return how many imports lead from outside to a feature of simeval/extras, those for type checking included."""
    graph = grimp.build_graph("simeval")
    outside = [name for name in graph.modules if not f"{name}.".startswith("simeval.extras.")]
    return sum(
        imported.startswith("simeval.extras.")
        for name in outside
        for imported in graph.find_modules_directly_imported_by(name)
    )


def floors_of(arrows: Mapping[str, set[str]]) -> Mapping[str, int]:
    """Return the floor of each room, 1 for one that imports none. Raises ValueError for a circle."""
    under_way: list[str] = []

    @cache
    def floor(room: str) -> int:
        if room in under_way:
            raise ValueError(f"a circle of imports: {' -> '.join([*under_way, room])}")
        under_way.append(room)
        found = 1 + max((floor(other) for other in arrows[room]), default=0)
        under_way.remove(room)
        return found

    return {room: floor(room) for room in arrows}


def longest_chain() -> Sequence[str]:
    """Return the longest chain of modules, from the one at its top; deferred imports are not counted."""
    names = {".".join(path.relative_to(ROOT.parent).with_suffix("").parts): path for path in ROOT.rglob("*.py")}
    modules = {name.removesuffix(".__init__"): path for name, path in names.items()}

    @cache
    def chain(module: str) -> tuple[str, ...]:
        below: set[str] = set()
        for node in ast.parse(modules[module].read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Import):
                below |= {each.name for each in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                inner = {f"{node.module}.{each.name}" for each in node.names}
                below |= inner & modules.keys() or {node.module}
        return (module, *max(map(chain, (below & modules.keys()) - {module}), key=len, default=()))

    return max(map(chain, modules), key=len)


def is_of_kernel(module: str) -> bool:
    """Return whether a module, by its name below `simeval`, is of the kernel."""
    return module.partition(".")[0] in KERNEL and not module.startswith(CATALOGUE)


def way_of_a_trial(records: set[type] | None = None) -> set[str]:
    """Return the modules that run code while one conversation of one turn is held, judged, stored and printed.

    `records` gets the frozen dataclasses that are made then.
    """
    files: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            files.add(frame.f_code.co_filename)
            if records is not None and frame.f_code.co_name == "__init__":
                made = type(frame.f_locals.get("self"))
                if made.__module__.startswith("simeval.") and is_record(made):
                    records.add(made)

    scenario = ScenarioTest(
        title="One turn",
        given="A new user",
        when="The user asks what the bot can do",
        sample_size=1,
        max_turns=1,
        then=Expectation(expected_behavior="Bot tracks orders", evaluator=SuccessRateEvaluator(min_proportion=0.5)),
    )

    async def app(message: str) -> str:
        return f"I can help with {message}"

    async def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            engine = Engine(seed=1, store=Path(folder) / "runs.db", display="none")
            result = await engine.evaluate(scenario, app)
            str(result)

    anyio.run(run)  # whatever is loaded at first use is loaded now, and not counted
    files.clear()
    (records if records is not None else set()).clear()
    sys.setprofile(note)
    try:
        anyio.run(run)
    finally:
        sys.setprofile(None)
    ours = {Path(name) for name in files if Path(name).is_relative_to(ROOT)}
    return set(map(_named, ours))


def _named(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")


def kinds_of_lines(text: str) -> Counter[str]:
    """Return how many lines of a module are code, imports, constants of the module, docstrings, comments and blank."""
    tree, kinds = ast.parse(text), dict[int, str]()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            kinds |= dict.fromkeys(range(node.lineno, (node.end_lineno or 0) + 1), "imports")
        elif isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and (
            ast.get_docstring(node) is not None
        ):
            kinds |= dict.fromkeys(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1), "docstrings")
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            kinds |= dict.fromkeys(range(node.lineno, (node.end_lineno or 0) + 1), "constants")
    return Counter(
        kinds.get(number) or ("blank" if not line.strip() else "comments" if line.strip()[0] == "#" else "code")
        for number, line in enumerate(text.splitlines(), 1)
    )


def main() -> None:
    rooms = rooms_below(ROOT)
    arrows = arrows_of(rooms)
    floors = floors_of(arrows)
    for height in range(max(floors.values()), 0, -1):
        print(f"floor {height}: {', '.join(room for room in rooms if floors[room] == height)}")
    modules = [path for path in ROOT.rglob("*.py") if path.name != "__init__.py"]
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in modules}
    records: set[type] = set()
    way = way_of_a_trial(records)
    kernel = {path: length for path, length in lengths.items() if is_of_kernel(_named(path))}
    figures = {
        "entries at the top": len(rooms),
        "floors": max(floors.values()),
        "arrows": sum(map(len, arrows.values())),
        "kernel to extras": imports_of_extras(),
        "modules": len(modules),
        "modules of extras": sum(ROOT / "extras" in path.parents for path in modules),
        "lines": sum(lengths.values()),
        "lines of extras": sum(length for path, length in lengths.items() if ROOT / "extras" in path.parents),
        "modules of the kernel": len(kernel),
        "lines of the kernel": sum(kernel.values()),
        "longest module": max(lengths.values()),
        "longest chain": len(longest_chain()),
        "modules a trial passes": len(way),
        "records a trial passes": len(records),
        "rooms a trial passes": len({name.split(".")[0] for name in way}),
    }
    for name, figure in figures.items():
        print(f"{name:<24}{figure:>8,}")
    for name, paths in (("all", [*lengths]), ("kernel", [*kernel])):
        kinds = sum((kinds_of_lines(path.read_text(encoding="utf-8")) for path in paths), Counter())
        print(f"lines, {name}: " + ", ".join(f"{number:,} {kind}" for kind, number in kinds.most_common()))


if __name__ == "__main__":
    main()
