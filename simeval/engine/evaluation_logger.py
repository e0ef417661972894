"""For programs with a loop of their own: its questions, answers and scores are logged, and concluded on at the end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from simeval.core.direction import Directions, require_directions
from simeval.core.serialization import opened
from simeval.core.validation import require
from simeval.datasets.dataset import REFERENCE, Dataset, Example, written
from simeval.datasets.files import dataset_of
from simeval.engine.engine import Engine
from simeval.errors import DefinitionError
from simeval.results.experiment import ExperimentResult
from simeval.scorers.base import FunctionScorer
from simeval.suites.scenario import Expectation

LOGGED, ANSWER = "logged_scores", "logged_output"  # columns that no input should be called like


@dataclass(kw_only=True)
class EvaluationLogger:
    """Takes answers and their scores, one by one, and makes an experiment of them.

    `directions` are which way scores are better, as scorers declare it. Logged answers are held in memory until the
    conclusion; any thread may log them.
    """

    name: str = "logged"
    engine: Engine = field(default_factory=Engine)
    directions: Mapping[str, Directions] = field(default_factory=dict)
    _logged: list[Example] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        where = f"EvaluationLogger {self.name!r}"
        do = "give {name of a score: 'higher' or 'lower'}"
        require(isinstance(self.directions, Mapping), f"{where}: directions", found=self.directions, do=do)
        for name, each in self.directions.items():
            require_directions(each, f"{where}: {name}")

    def log(
        self, output: Any, *, inputs: Mapping[str, Any] | str = "", scores: Mapping[str, Any], reference: Any = None
    ) -> None:
        """Log one answer of the app: its text, its inputs, its scores, and the reference.

        A score is anything a scorer may return: a number, a boolean, a text, or a dict of them, with a `comment` too.
        Inputs that others have and this one lacks are null. Raises DefinitionError for an answer that cannot be logged:
        an empty one, one that is neither text nor JSON, or an input with a name that is taken.
        """
        where = f"EvaluationLogger {self.name!r}"
        do = "give what was measured by its names, such as {'helpful': True}"
        require(isinstance(scores, Mapping), f"{where}: scores", found=scores, do=do)
        do = "give a text, or what was asked by its names, such as {'question': '...'}"
        require(isinstance(inputs, (str, Mapping)), f"{where}: inputs", found=inputs, do=do)
        given = {"input": inputs} if isinstance(inputs, str) else dict(inputs)
        if taken := [name for name in (REFERENCE, ANSWER, LOGGED) if name in given]:
            do = "give it another name, or give it as reference="
            raise DefinitionError(where, found=f"an input is called {taken[0]!r}", do=do)
        right = {} if reference is None else {REFERENCE: reference}
        said = {ANSWER: written(opened(output)), LOGGED: opened(dict(scores))}
        example = Example(inputs=given, outputs=right, metadata=said)
        dataset_of([example], name=self.name, recorded=ANSWER)  # an unusable answer is refused when it is logged
        self._logged.append(example)

    async def conclude(
        self,
        then: Expectation | Sequence[Expectation] = (),
        *,
        scorers: Sequence[object] = (),
        metadata: Mapping[str, Any] | None = None,
    ) -> ExperimentResult:
        """Return the logged experiment: each score is a metric by its name, and `then` concludes on them.

        More `scorers` measure the logged answers, too. An answer that was logged without a score that others have is
        missing there. Raises as `Engine.experiment`.
        """
        names = dict.fromkeys(name for each in self._logged for name in each.metadata[LOGGED])
        logged = [FunctionScorer(partial(_logged, name), name, direction=self.directions.get(name)) for name in names]
        return await self.engine.experiment(self._dataset(), scorers=[*logged, *scorers], then=then, metadata=metadata)

    def _dataset(self) -> Dataset:
        if not self._logged:
            do = "call log(output, scores={...}) for each answer first"
            raise DefinitionError(f"EvaluationLogger {self.name!r}", found="nothing was logged", do=do)
        inputs = dict.fromkeys(name for each in self._logged for name in each.inputs)
        right = dict.fromkeys(name for each in self._logged for name in each.outputs)
        return dataset_of(
            [
                replace(each, inputs={**inputs, **each.inputs}, outputs={**right, **each.outputs})
                for each in self._logged
            ],
            name=self.name,
            kind="kv",
            recorded=ANSWER,
        )


def _logged(name: str, *, logged_scores: Mapping[str, Any]) -> Any:
    if name not in logged_scores:
        raise ValueError(f"no score {name!r} was logged for this answer")
    return logged_scores[name]
