"""Plain functions of a whole dataset: `def accuracy(outputs, references)`, each parameter a column of all rows."""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar

from simeval.core.direction import COUNT, BoundsByPath, by_path
from simeval.core.serialization import plain
from simeval.core.trial import Estimate, Scored
from simeval.core.validation import require
from simeval.scorers.base import COLUMNS, ColumnScorer, Scorer
from simeval.scorers.returned import metrics_of, read_returned


class SummaryFunction(Scorer):
    """A scorer made of a function of all rows together, such as `summary_scorer` makes; it can still be called so.

    Rows that were not answered or not measured are in no column, and the method gives their number.
    """

    quick = True

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        super().__init__()
        self._summed, self._name = function, name
        self._parameters = list(inspect.signature(function).parameters)

    @property
    def name(self) -> str:
        return self._name

    def check(self, columns: Collection[str] = COLUMNS) -> None:
        """Raise DefinitionError if a parameter is no column, and no column in the plural."""
        strange = [name for name in self._parameters if _column(name, columns) is None]
        do = f"name columns, in the plural if you like (outputs): {', '.join(columns)}"
        require(bool(self._parameters) and not strange, f"scorer {self.name}", found=f"parameters {strange}", do=do)

    def score(self, **columns: Any) -> object:
        """Return the values of one row for each parameter; none of them is a metric of that row."""
        return [plain(columns[_column(name, columns) or name]) for name in self._parameters]

    def summarize(self, scored: Sequence[Scored]) -> Mapping[str, Estimate]:
        """Return the numbers that the function gives of all rows, without an interval: their nature is unknown.

        Raises DefinitionError for a result that is no number, text or dict of them, and the function's errors.
        """
        rows = [each.measured for each in scored if isinstance(each.measured, list)]
        missing = len(scored) - len(rows)
        how = f"of {len(rows)} rows together" + (f"; {missing} missing" if missing else "")
        if not rows:
            return {self.name: Estimate(value=None, n=0, method=how)}
        columns = zip(*rows, strict=True)
        returned = self._summed(**{name: list(each) for name, each in zip(self._parameters, columns, strict=True)})
        found = metrics_of(read_returned(returned, name=self.name))
        return {
            path or self.name: Estimate(value=float(each) if isfinite(each) else None, n=len(rows), method=how)
            for path, each in found.items()
        }

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._summed(*args, **kwargs)


def summary_scorer(function: Callable[..., Any]) -> SummaryFunction:
    """Make a scorer of a function that gives one number, or a dict of them, for all rows of a dataset together.

    Its parameters are the columns that a scorer may name, as lists in the dataset's order: `outputs` holds each
    `output`, `references` each `reference`, and `inputs` and `reference_outputs` those of each row as a dict.
    """
    return SummaryFunction(function, str(getattr(function, "__name__", type(function).__name__)))


def _column(parameter: str, columns: Collection[str]) -> str | None:
    """Return the column that a parameter means; None if it has none."""
    names = ("output",) if parameter == "outputs" else (parameter, parameter.removesuffix("s"))
    return next((name for name in names if name in columns), None)


@dataclass(kw_only=True, eq=False)
class PeoplesFeedback(ColumnScorer):
    """People's feedback on an answer under `key`: the mean of their scores, of one person's or several.

    It reads the column `feedback` of the answers of a stored run: {key: {"score", "people", "said"}}. Feedback of
    models and programs is not in it.
    """

    key: str

    default_score = "score"
    paths = ("score", "people")
    direction = by_path(higher=["score"], none=["people"])
    bounds: ClassVar[BoundsByPath] = {"people": COUNT}
    quick = True

    def __post_init__(self) -> None:
        super().__post_init__()
        usable = isinstance(self.key, str) and bool(self.key)
        require(usable, f"scorer {self.name}: key", found=self.key, do="name a key of feedback, such as helpful")

    def score(self, feedback: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the `score`, how many `people` gave it, and as `reasoning` each person's feedback.

        Raises ValueError where nobody did.
        """
        if self.key not in feedback:
            raise ValueError(f"no person has said anything of it under {self.key!r}")
        said = feedback[self.key]
        return {"score": said["score"], "people": said["people"], "reasoning": said["said"]}
