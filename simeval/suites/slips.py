"""Mistakes in the file of a suite that its form does not refuse: doubled entries, and slips."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from simeval.core.labelled_examples import read_examples
from simeval.core.yaml_files import mistake_at
from simeval.errors import DefinitionError, SuiteFileError
from simeval.models.protocol.prompt_texts import replaced_prompt
from simeval.suites.cast import ESCALATE

_PARTS = frozenset({"title", "given", "when", "then"})


def slips_in(path: Path, node: Any, file: Any, *, skip: int) -> Iterator[SuiteFileError]:
    """Yield the mistakes in a file whatever its form refuses; `skip` is how many parts its places lack."""
    yield from _twins(path, node, file, skip=skip)
    yield from _said_twice(path, node, file)
    yield from _wrong_files(path, node, file)


def torn(file: Any) -> tuple[int, str] | None:
    """Return the place, and a field, of a scenario without a title that only goes on with the one before it."""
    scenarios = file.get("scenarios") if isinstance(file, Mapping) else None
    listed = scenarios if isinstance(scenarios, list) else []
    for place, (before, each) in enumerate(pairwise(listed), start=1):
        if not isinstance(before, Mapping) or not isinstance(each, Mapping) or "title" in each:
            continue
        if _PARTS & before.keys() and _PARTS & each.keys() and not before.keys() & each.keys():
            return place, str(next(iter(each)))
    return None


def has_no_dash(file: Any) -> bool:
    """Return whether a file has a single scenario in place of a list."""
    found = file.get("scenarios") if isinstance(file, Mapping) else None
    return isinstance(found, Mapping) and bool(_PARTS & found.keys())


def from_here(folder: Path, settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a file's settings with their paths taken from its folder; a prompt of several lines is no path."""
    found: dict[str, Any] = {}
    if prompts := settings.get("prompts"):
        found["prompts"] = {n: given if "\n" in given.strip() else folder / given for n, given in prompts.items()}
    if examples := settings.get("judge_examples"):
        found["judge_examples"] = folder / examples
    return {**settings, **found}


def _twins(path: Path, node: Any, file: Any, *, skip: int) -> list[SuiteFileError]:
    """Return a mistake for each title that an earlier scenario of the file has: nobody could distinguish them."""
    scenarios = file.get("scenarios") if isinstance(file, Mapping) else None
    listed = scenarios if isinstance(scenarios, list) else []
    titles = [each.get("title") if isinstance(each, Mapping) else None for each in listed]
    found = []
    for place, title in enumerate(titles):
        if isinstance(title, str) and title in titles[:place]:
            at = ("scenarios", place, "title")[skip:]
            there = f"there is another scenario with the title {title!r}"
            found.append(mistake_at(path, node, at, found=there, do="give each its own: results are told by titles"))
    return found


def _said_twice(path: Path, node: Any, file: Any) -> list[SuiteFileError]:
    """Return a mistake for each field beside `judge` that repeats a part of it."""
    judge = file.get("judge") if isinstance(file, Mapping) else None
    if judge is None:
        return []
    written, escalate = file.get("settings"), judge.get(ESCALATE) if isinstance(judge, Mapping) else None
    settings = written if isinstance(written, Mapping) else {}
    twice = [name for name in ("judge_model",) if file.get(name)] + [name for name in (ESCALATE,) if name in settings]
    if isinstance(escalate, Mapping) and "audit" in escalate and "escalation_audit" in settings:
        twice.append("escalation_audit")
    at = ("judge",)
    return [
        mistake_at(path, node, at, found=f"found {name!r} beside it", do=f"leave {name} out: judge says it")
        for name in twice
    ]


def _wrong_files(path: Path, node: Any, file: Any) -> Iterator[SuiteFileError]:
    """Yield a mistake for each prompt, and the labelled examples, of a file's settings that cannot be used."""
    written = file.get("settings") if isinstance(file, Mapping) else None
    settings = written if isinstance(written, Mapping) else {}
    prompts, examples = settings.get("prompts"), settings.get("judge_examples")
    named = prompts if isinstance(prompts, Mapping) else {}
    texts = {name: given for name, given in named.items() if isinstance(given, str) and given.strip()}
    given = examples if isinstance(examples, str) else ""
    usable = from_here(path.parent, {"prompts": texts, "judge_examples": given})
    reads: dict[tuple[str, ...], Callable[[], object]] = {
        ("settings", "prompts", name): partial(replaced_prompt, name, given)
        for name, given in usable["prompts"].items()
    }
    if usable["judge_examples"]:
        reads["settings", "judge_examples"] = partial(read_examples, usable["judge_examples"])
    for place, read in reads.items():
        try:
            read()
        except DefinitionError as error:
            yield mistake_at(path, node, place, found=error.found, do=error.do)
