"""Whether an evaluator fits the scores it is to conclude on: a misfit shows before the run."""

from math import inf
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Union, get_args, get_origin

from simeval.core.direction import UNIT, Bounds, Direction
from simeval.core.trial import Score
from simeval.core.validation import nearest, require
from simeval.errors import DefinitionError
from simeval.scorers.base import FunctionScorer, Scorer
from simeval.scorers.each_turn import SUMMARIES, EachTurn
from simeval.scorers.metrics import ConversationMetric, TurnMetric, TurnsWithin, response_latency, time_to_first_token

if TYPE_CHECKING:
    from simeval.evaluators.base import Evaluator
    from simeval.suites.scenario import Expectation


def require_fit(expectation: "Expectation", evaluator: "Evaluator") -> None:
    """Raise DefinitionError if nothing could be concluded on such scores, or the contrary of what is meant."""
    from simeval.evaluators.scores import RATING_BOUNDS, is_of_ratings

    where = f"Expectation.evaluator: {type(evaluator).__name__}"
    if expectation.judged is not None:
        if misfit := evaluator.misfit(*RATING_BOUNDS):
            raise DefinitionError(where, found=misfit, do=_for_ratings(evaluator))
        return
    is_metric = _is_metric(expectation)
    answered = _of_an_answer(expectation.measured_by)
    is_yes_or_no = expectation.score is None and gives_yes_or_no(answered, or_scores=True)
    if is_of_ratings(evaluator) and (is_metric or is_yes_or_no):
        kind, do = ("yes or no", "use proportion") if is_yes_or_no else ("a metric", "use proportion, quantile or mean")
        found = f"it is for a judge's ratings from 1 to 10, and {expectation.title} is {kind}"
        raise DefinitionError(where, found=found, do=do)
    is_nothing_else = is_yes_or_no and gives_yes_or_no(answered)
    _require_between(evaluator, _bounds_of(expectation, is_yes_or_no=is_nothing_else), where, expectation.title)
    _require_direction(expectation, evaluator, where)


def directed(expectation: "Expectation", evaluator: "Evaluator") -> "Evaluator":
    """Return an evaluator on the better side of its threshold for this metric, if it names none itself."""
    from simeval.evaluators.scores import YES, ProportionEvaluator

    if not isinstance(evaluator, ProportionEvaluator) or evaluator.threshold is YES:
        return evaluator
    return evaluator.towards(_direction(expectation))


def worst_turn(expectation: "Expectation") -> str | None:
    """Return the path of the number to conclude on: of turns that only the bar asks to be low, the most.

    Raises DefinitionError if one bar asks for less and another for more.
    """
    measured, signs = expectation.measured_by, {each.cut[0] for each in expectation.evaluators if each.cut}
    is_open = isinstance(measured, EachTurn) and expectation.score is None and _direction(expectation) is None
    if not is_open or signs.isdisjoint(("<", "<=")):
        return expectation.score
    found = f"less of {expectation.title} meets one requirement, and more another"
    do = "make an expectation of each, with score: max and score: min"
    require(signs.isdisjoint((">", ">=")), "Expectation.evaluator", found=found, do=do)
    return str(measured.default_score).removesuffix("min") + "max"


def require_in_time(expectation: "Expectation", evaluator: "Evaluator", timeout_seconds: float) -> None:
    """Raise DefinitionError if every answer that comes before the app's time-out meets the requirement."""
    from simeval.evaluators.base import Evaluator

    measured = _of_an_answer(expectation.measured_by)
    limit = measured.limit if isinstance(measured, TurnsWithin) else None
    metric = measured.metric if isinstance(measured, TurnsWithin) else measured
    if metric not in (response_latency, time_to_first_token):
        return
    meets_all = Evaluator.misfit(evaluator, 0.0, timeout_seconds) if limit is None else limit >= timeout_seconds
    if meets_all:
        found = f"every answer within the app's time-out of {timeout_seconds:g} seconds meets it ({expectation.title})"
        do = "use fewer seconds, or raise the time-out (--app-timeout)"
        raise DefinitionError(f"Expectation.evaluator: {type(evaluator).__name__}", found=found, do=do)


def _require_direction(expectation: "Expectation", evaluator: "Evaluator", where: str) -> None:
    """Raise DefinitionError if an evaluator asks for the worse side of the metric, or for one that is not known."""
    from simeval.evaluators.in_a_row import PassHatKEvaluator
    from simeval.evaluators.scores import YES, ProportionEvaluator

    direction, cut = _direction(expectation), evaluator.cut
    is_metric = isinstance(_of_an_answer(expectation.measured_by), (ConversationMetric, TurnMetric))
    if direction is None and is_metric and isinstance(evaluator, ProportionEvaluator) and evaluator.at_least is None:
        do = "give a threshold, with at_least: false for at most that much, or at_least: true"
        raise DefinitionError(where, found=f"a low or a high {expectation.title} may be meant", do=do)
    if direction is None or cut is None or (cut[0] in (">", ">=")) == (direction == "higher"):
        return
    wanted = direction == "higher"
    asks = f" for {cut[1]:g} or {'less' if wanted else 'more'}"
    found = f"{expectation.title} is better when it is {direction}, and this asks{asks}"
    if isinstance(evaluator, PassHatKEvaluator):
        do = "use proportion, with a threshold and at_least: false"
    elif getattr(evaluator, "threshold", None) is YES:
        do = "give a threshold, and at_least: false"
    elif hasattr(evaluator, "threshold"):
        do = "leave at_least out"
    else:
        do = f"use {'at_least' if wanted else 'at_most'}"
    raise DefinitionError(where, found=found, do=do)


def _require_between(evaluator: "Evaluator", bounds: Bounds | None, where: str, title: str) -> None:
    """Raise DefinitionError if every possible score meets the requirement, or none does."""
    from simeval.evaluators.base import Evaluator

    if bounds is not None and (misfit := Evaluator.misfit(evaluator, *bounds)):
        do = f"put the bar between them{'; yes is 1 and no is 0' if bounds == UNIT else ''}"
        raise DefinitionError(where, found=f"{misfit} ({title})", do=do)


def _bounds_of(expectation: "Expectation", *, is_yes_or_no: bool) -> Bounds | None:
    """Return the bounds of the scores, if a scorer gives them or its type does."""
    measured = expectation.measured_by
    declared = measured.bounds_of(_path_of(expectation, measured)) if isinstance(measured, Scorer) else None
    return UNIT if is_yes_or_no and declared is None else declared


def _for_ratings(evaluator: "Evaluator") -> str:
    """Return advice on an evaluator that every rating meets, or misses."""
    if getattr(evaluator, "bounds", (-inf, inf)) == UNIT:
        return "a judge rates from 1 to 10: add bounds: [1, 10] and a bar between them, or use rating_average"
    if hasattr(evaluator, "threshold"):
        return "use success_rate, or a threshold between 1 and 10: a judge rates from 1 to 10"
    return "put the bar between 1 and 10: a judge rates from 1 to 10"


def _path_of(expectation: "Expectation", measured: Scorer) -> str:
    """Return the path of the number that is concluded on, as far as it is known."""
    return expectation.score or measured.default_score or ""


def _direction(expectation: "Expectation") -> Direction | None:
    """Return which way the deciding number is better; None if that is unknown, or neither."""
    measured = expectation.measured_by
    found = measured.direction_of(_path_of(expectation, measured)) if isinstance(measured, Scorer) else None
    return None if found == "none" else found


def _is_metric(expectation: "Expectation") -> bool:
    """Return whether a scorer is known to give no ratings, or its bounds end at 1."""
    bounds = _bounds_of(expectation, is_yes_or_no=False)
    gives_ratings = getattr(_of_an_answer(expectation.measured_by), "gives_ratings", True)
    return not gives_ratings or (bounds is not None and bounds[1] <= 1)


def _of_an_answer(measured: object) -> object:
    """Return the scorer of each answer, for one that measures every turn by another; any other as it is."""
    return _of_an_answer(measured.scorer) if isinstance(measured, EachTurn) else measured


def wrong_path(measured: object, path: str) -> tuple[str, str] | None:
    """Return the finding and the advice if a scorer is known to give nothing at a path; else None."""
    name = getattr(measured, "name", "")
    if isinstance(measured, EachTurn):
        inner, _, summary = path.rpartition(".")
        if path in ("turns", "not_measured"):
            return None
        known = [*SUMMARIES, "turns", "not_measured"] if _gives_one(measured.scorer) else list(measured.paths)
        is_there = summary in SUMMARIES and not inner if _gives_one(measured.scorer) else path in measured.paths
        return None if is_there or not known else (f"{name} gives no {path!r}", nearest(path, known))
    paths = measured.paths if isinstance(measured, Scorer) else ()
    if paths:
        return None if path in paths else (f"{name} gives no {path!r}", nearest(path, paths))
    if _gives_one(measured):
        kind = "yes or no" if gives_yes_or_no(measured, or_scores=True) else "one number"
        return f"{name} gives {kind}, and no {path!r}", "leave it out"
    return None


def _gives_one(measured: object) -> bool:
    """Return whether a scorer's type promises one value; of simeval's own, also as a Score."""
    is_own = type(measured).__module__.startswith("simeval.") and type(measured) is not FunctionScorer
    return gives_yes_or_no(measured, or_scores=is_own) or isinstance(measured, ConversationMetric)


def gives_yes_or_no(measured: object, *, or_scores: bool = False) -> bool:
    """Return whether a scorer's type promises yes or no, and nothing else but, perhaps, Scores."""
    function = measured.function if isinstance(measured, FunctionScorer) else getattr(type(measured), "score", measured)
    returned = getattr(function, "__annotations__", {}).get("return")
    kinds = get_args(returned) if get_origin(returned) in (Union, UnionType) else (returned,)
    yes_or_no = [kind for kind in kinds if kind in (bool, "bool")]
    others = (Score, NoneType) if or_scores else (NoneType,)
    return bool(yes_or_no) and all(kind in (bool, "bool", *others) for kind in kinds)
