"""Read a scorer's result so that nothing of it is lost: numbers, texts as categories, details, or an error.

It may be a number, a boolean, a text, a (nested) dict of them, a dataclass or a pydantic model, a Score, or a result of
LangSmith's evaluators: {"key", "score", "value", "comment"}, a list of these, {"results": a list of these}.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite, nan
from typing import Any, SupportsFloat, TypeGuard, cast

from simeval.core.serialization import not_json, opened
from simeval.core.trial import Score
from simeval.errors import DefinitionError

BARE = "value"  # the detail under which a scorer's bare text is kept
REASONS = ("reasoning", "reason", "comment", "explanation", "why")  # details that give reasons, and are no categories
_UNCOUNTED = (*REASONS, "model", "encoder", "method")  # nor are these, which name the measuring model or method
_FEEDBACK = frozenset(
    ("key", "score", "value", "comment", "correction", "evaluator_info", "feedback_config", "extra")
) | {
    "metadata",  # openevals' own
    "source_run_id",
    "target_run_id",
}
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_FORMS = "return a number, a boolean, a text or a dict of them"


def select(measured: object, path: str | None, *, name: str) -> Score:
    """Take one number out of a scorer's result.

    `path` leads through nested dicts, with dots; without it the only number there is is taken. Raises DefinitionError
    if there is no number at that place.
    """
    if isinstance(measured, Score) and (path is None or path not in metrics_of(measured.details)):
        return _as_stored(measured, name)
    found = measured.kept_details if isinstance(measured, Score) else read_returned(measured, name=name)
    numbers = metrics_of(found)
    details = found if isinstance(found, Mapping) else {}
    key = path if path is not None else (next(iter(numbers)) if len(numbers) == 1 else None)
    if key is None or key not in numbers:
        raise none_there(measured, numbers, path, f"scorer {name}")
    return Score.of(numbers[key], details=details)


def none_there(
    measured: object,
    numbers: Mapping[str, float | bool],
    path: str | None,
    where: str,
    asked: str = "Expectation.score",
) -> DefinitionError:
    """Return the error of a scorer that has no number at a path that was `asked`, or several without one."""
    there, do = ", ".join(repr(each) for each in numbers), f"set {asked} to one of them"
    found = f"it returned numbers called {there}, and which is meant is not said"
    if path is not None:
        found = f"no number at {path!r} in what it returned ({there})"
    if "" in numbers:
        found, do = f"it returned {shown(measured)}, and no number called {path!r}", f"leave {asked} out"
    elif not numbers:
        found, do = f"it returned {shown(measured)}, in which there is no number", "return a number, or one in a dict"
    return DefinitionError(where, found=found, do=do)


def shown(measured: object) -> str:
    """Return a scorer's result as an error shows it: alike for objects that differ by their address alone."""
    return f"{_ADDRESS.sub('', repr(measured)):.99}"


def whole(measured: object, path: str | None, *, name: str, keeps_any: bool = False) -> Score:
    """Take everything out of a scorer's result: its details, and the number at `path`, or the only one.

    Without such a number the value is NaN. A bare boolean stays one; a bare text is the detail "value", and so is any
    other value of a scorer that `keeps_any` for its summary. Raises DefinitionError for a result that cannot be read.
    """
    if isinstance(measured, Score):
        return _as_stored(measured, name)
    if type(measured) in (bool, float, int):  # as most are
        return Score(value=measured if isinstance(measured, bool) else float(cast("float", measured)))
    found = _json_of(measured, name) if keeps_any and not _has_value(measured) else read_returned(measured, name=name)
    numbers = metrics_of(found)
    if not isinstance(found, Mapping):
        return Score(value=numbers[""]) if numbers else Score(value=nan, details={BARE: found})
    only = next(iter(numbers)) if len(numbers) == 1 else path
    return Score.of(float(numbers.get(only or "", nan)), details=found)


def read_returned(measured: object, *, name: str) -> object:
    """Return a scorer's result as a number, a boolean, a text or a dict with names of its own.

    Raises DefinitionError for all else, including None and an empty dict.
    """
    where = f"scorer {name}"
    found = _unfolded(opened(measured), where)
    if found is None:
        raise DefinitionError(where, found="it returned nothing (None)", do=f"{_FORMS}; is a `return` missing?")
    if not _is_readable(found):
        raise DefinitionError(where, found=f"it returned {shown(measured)} ({type(measured).__name__})", do=_FORMS)
    if isinstance(found, Mapping):
        if not _has_value(found):
            what = "a dict without a number, a boolean or a text" if found else "an empty dict"
            raise DefinitionError(where, found=f"it returned {what}", do=_FORMS)
        _json_of(found, name)  # an object in it would be a category by its text
        _require_distinct([path for path, _ in leaves_of(found)], where)
    return found


def _require_distinct(paths: Sequence[str], where: str) -> None:
    twice = [path for path, times in Counter(paths).items() if times > 1]
    do = "give each a name of its own; a dot stands for a dict within"
    if twice:
        raise DefinitionError(where, found=f"two of the values it returned are called {twice[0]!r}", do=do)


def leaves_of(measured: object, path: str = "") -> Iterator[tuple[str, Any]]:
    """Return all leaves of nested dicts, each with its path; a bare value has an empty path."""
    if not isinstance(measured, Mapping):
        yield path, measured
        return
    for key, found in measured.items():
        yield from leaves_of(found, f"{path}.{key}" if path else str(key))


def metrics_of(measured: object) -> dict[str, float | bool]:
    """Return the numbers and booleans in a scorer's result, by their paths; a bare one has an empty path."""
    found = {}
    for path, leaf in leaves_of(measured):
        if (number := _number(leaf)) is not None:
            found[path] = number
    return found


def parts_of(score: Score) -> Iterator[tuple[str, float | bool | str | None]]:
    """Return the parts of a score, by path: numbers, categories, and None for a missing value.

    Reasons, lists and other details are not among it. If they hold no number, its own value is one.
    """
    if not score.details:
        yield "", score.value
        return
    has_own = isfinite(score.value) and not metrics_of(score.details)
    if has_own:
        yield "", score.value
    for path, leaf in leaves_of(score.details):
        is_bare = path == BARE and len(score.details) == 1 and isinstance(leaf, str) and not has_own
        at = "" if is_bare else path
        if (number := _number(leaf)) is not None:
            yield at, number
        elif _is_category(path, leaf):
            yield at, leaf


def _as_stored(score: Score, name: str) -> Score:
    """Return a scorer's own Score as a store would give it back."""
    if not score.details:
        return score
    return Score.of(score.value, reasoning=score.reasoning, details=_json_of(score.kept_details, name))


def _json_of(measured: object, name: str) -> Any:
    """Return a measurement in JSON's form. Raises DefinitionError for an object whose text would be a category."""
    found = opened(measured)
    if strange := not_json(found):
        raise DefinitionError(f"scorer {name}", found=f"it returned an object that is no JSON ({strange})", do=_FORMS)
    return found


def measured_of(score: Score) -> object:
    """Return a scorer's result, from its score."""
    if found := score.kept_details:
        return found[BARE] if set(found) == {BARE} else found
    return score.value


def reason_at(details: Mapping[str, object], path: str) -> str:
    """Return the reason among details beside the value at a path, or nearest above it; empty without."""
    texts = {at: leaf for at, leaf in leaves_of(details) if isinstance(leaf, str) and _is_reason(at)}
    within, parents = path.split("."), [path] if path else []
    parents += [".".join(within[:depth]) for depth in range(len(within) - 1, -1, -1)]
    for parent in parents:
        for word in REASONS:
            for at in (f"{parent}.{word}", f"{parent}.{word}.{within[-1]}") if parent else (word, f"{word}.{path}"):
                if at in texts:
                    return texts[at]
    return ""


def _is_reason(path: str) -> bool:
    return any(part in REASONS for part in path.split("."))


def _number(leaf: object) -> float | bool | None:
    if type(leaf) in (bool, float, int):  # the code below takes ten times as long
        return leaf if isinstance(leaf, bool) else float(cast("float", leaf))
    if isinstance(leaf, SupportsFloat) and not isinstance(leaf, type) and getattr(leaf, "shape", ()) == ():
        is_flag = type(leaf).__name__ in ("bool", "bool_")  # numpy's own is not bool
        return bool(leaf) if is_flag else float(leaf)
    return None


def _is_category(path: str, leaf: object) -> bool:
    """Return whether something is a category, or a missing one."""
    return (leaf is None or isinstance(leaf, str)) and not any(part in _UNCOUNTED for part in path.split("."))


def _is_readable(measured: object) -> bool:
    return isinstance(measured, (str, Mapping)) or bool(metrics_of(measured))


def _has_value(measured: object) -> bool:
    if not isinstance(measured, Mapping):
        return _is_readable(measured)
    return any(_number(leaf) is not None or _is_category(path, leaf) for path, leaf in leaves_of(measured))


def _unfolded(measured: object, where: str) -> object:
    """Return feedback in LangSmith's forms as a dict by its keys, and all else as it is."""
    found = measured
    if isinstance(found, Mapping) and found.keys() == {"results"}:
        found = found["results"]
    listed = [found] if _is_feedback(found) else found
    if not isinstance(listed, list) or not listed or not all(map(_is_feedback, listed)):
        return measured
    named = [pair for each in listed for pair in _of_feedback(each)]
    _require_distinct([name for name, _ in named], where)
    return dict(named)


def _is_feedback(found: object) -> TypeGuard[Mapping[str, Any]]:
    if not isinstance(found, Mapping) or not isinstance(found.get("key"), str):
        return False
    return found.keys() <= _FEEDBACK and not found.keys().isdisjoint({"score", "value"})


def _of_feedback(found: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Return the score under the key, or the value if there is no score; all else under its own name below."""
    key, score, value = found["key"], found.get("score"), found.get("value")
    yield key, value if score is None else score
    rest = {name: each for name, each in found.items() if name not in ("key", "score", "value") and each is not None}
    if score is not None and value is not None:
        rest["value"] = value
    yield from ((f"{key}.{name}", each) for name, each in rest.items())
