"""The rubrics that a suite will be judged by: given, kept, or written now."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import anyio

from simeval.core.trial import RubricRecord
from simeval.engine.run_context import RunContext
from simeval.errors import ModelError, ModelUnusable
from simeval.models.protocol.model import is_embedded
from simeval.suites.scenario import Expectation, ScenarioTest

NOT_WRITTEN = "it is not written yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectationRubric:
    """The rubric of an expectation of a scenario; `problem` is why there is none."""

    scenario: str
    expectation: str
    expected_behavior: str
    rubric: RubricRecord | None = None
    problem: str = NOT_WRITTEN


async def rubrics_of(
    context: RunContext, suite: Sequence[ScenarioTest], *, write: bool
) -> tuple[ExpectationRubric, ...]:
    """Return the rubric of each expectation that a judge rates, in the suite's order.

    Those that are neither given nor stored are written, all at once, if `write` is set; those of an embedded judge
    always, because they cost nothing. Raises ModelUnusable if the judge cannot be asked, and DefinitionError if some
    are missing and its name is no model's.
    """
    writes = write or is_embedded(context.judge_names[0])
    if writes:
        await context.models.check()
    listed = [
        (scenario, label, expectation)
        for scenario in (each.dated(context.today).cleaned(context.clean) for each in suite)
        for label, expectation in zip(scenario.labels, scenario.expectations, strict=True)
        if expectation.behaviour is not None
    ]
    found: dict[int, ExpectationRubric] = {}

    async def find(place: int, scenario: ScenarioTest, label: str, expectation: Expectation) -> None:
        behaviour = expectation.behaviour or ""
        request = context.book.request(given=scenario.given, when=scenario.when, expected_behavior=behaviour)
        asked = ExpectationRubric(scenario=scenario.title, expectation=label, expected_behavior=behaviour)
        try:
            is_there = writes or expectation.levels is not None
            book = context.book
            rubric = await (book.rubric(request, expectation.levels) if is_there else book.kept(request))
            found[place] = replace(asked, rubric=rubric, problem=NOT_WRITTEN if rubric is None else "")
        except ModelUnusable:
            raise
        except ModelError as error:
            found[place] = replace(asked, problem=str(error))

    async with anyio.create_task_group() as finding:
        for place, each in enumerate(listed):
            finding.start_soon(find, place, *each)
    if any(each.rubric is None for each in found.values()):  # a name that is misspelt has none that are kept, either
        await context.models.check(keys=False)
    return tuple(found[place] for place in range(len(listed)))
