"""The structure of the package in figures: entries, floors, arrows between packages, and the way of one trial.

    python -m benchmarks.structure

A room is a package or module right below `simeval`; an arrow says that one room imports another (imports for type
checking alone are not counted); the floor of a room is one above the highest that it imports. Every module and room
that runs code of its own while one conversation of one turn is simulated, judged, stored and printed is on the way of
a trial.
"""

import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import anyio
import grimp

import simeval
from simeval import Engine, Expectation, ScenarioTest, SuccessRateEvaluator

ROOT = Path(simeval.__file__).parent


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


def way_of_a_trial() -> set[str]:
    """Return the modules that run code while one conversation of one turn is held, judged, stored and printed."""
    files: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            files.add(frame.f_code.co_filename)

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
    sys.setprofile(note)
    try:
        anyio.run(run)
    finally:
        sys.setprofile(None)
    ours = {Path(name) for name in files if Path(name).is_relative_to(ROOT)}
    return {path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".") for path in ours}


def main() -> None:
    rooms = rooms_below(ROOT)
    arrows = arrows_of(rooms)
    floors = floors_of(arrows)
    for height in range(max(floors.values()), 0, -1):
        print(f"floor {height}: {', '.join(room for room in rooms if floors[room] == height)}")
    modules = [path for path in ROOT.rglob("*.py") if path.name != "__init__.py"]
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in modules}
    way = way_of_a_trial()
    figures = {
        "entries at the top": len(rooms),
        "floors": max(floors.values()),
        "arrows": sum(map(len, arrows.values())),
        "kernel to extras": imports_of_extras(),
        "modules": len(modules),
        "modules of extras": sum(ROOT / "extras" in path.parents for path in modules),
        "lines": sum(lengths.values()),
        "lines of extras": sum(length for path, length in lengths.items() if ROOT / "extras" in path.parents),
        "longest module": max(lengths.values()),
        "modules a trial passes": len(way),
        "rooms a trial passes": len({name.split(".")[0] for name in way}),
    }
    for name, figure in figures.items():
        print(f"{name:<24}{figure:>8,}")


if __name__ == "__main__":
    main()
