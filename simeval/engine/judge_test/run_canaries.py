"""The canaries of a run: each of its judges is asked once, before the first trial."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from simeval.core.logs import log
from simeval.engine.judge_test.battery import ask_canary, canary_requests, kept_canary
from simeval.engine.judge_test.canary import CanaryFinding
from simeval.engine.plans.budget import Spending
from simeval.engine.run_context import RunContext
from simeval.models.caller import Caller
from simeval.models.protocol.prompt_texts import Prompt
from simeval.models.protocol.prompts import GradeRequest
from simeval.models.provider_table import is_embedded


async def canaries_of(context: RunContext) -> Sequence[CanaryFinding]:
    """Return what is found of each judge of an engine; nothing where no folder of kept answers is set."""
    folder, prompt = context.settings.canary_folder, context.shared.prompts["judge"]
    return [] if folder is None else [await ask_canary(judge, prompt, Path(folder)) for judge in context.judges]


@dataclass(slots=True, kw_only=True)
class RunCanaries:
    """Asks each judge of a run that is no heuristic, where there is a `folder` of kept answers.

    `is_over` says that nothing more is asked.
    """

    judges: Sequence[Caller]
    prompt: Prompt
    folder: Path | None
    is_over: bool = False

    @property
    def _asked_judges(self) -> Sequence[Caller]:
        return [judge for judge in self.judges if not is_embedded(judge.model.name)]

    def requests(self) -> Sequence[GradeRequest]:
        """Return what each judge is asked."""
        return [] if self.folder is None else canary_requests(self.prompt)

    async def check(self) -> None:
        """Raise DefinitionError where what is kept of a judge cannot be used."""
        if self.folder is not None:
            for judge in self._asked_judges:
                await kept_canary(judge, self.prompt, self.folder)

    async def ask(self, spending: Spending) -> list[str]:
        """Return what is found of each judge; nobody is asked where no trial could be paid for after that.

        Raises as `ask_canary`.
        """
        try:
            return [] if self.folder is None else await self._asked(self.folder, spending)
        finally:
            self.is_over = True

    async def _asked(self, folder: Path, spending: Spending) -> list[str]:
        admission = spending.admits(in_flight=0, finished=0)
        if admission != "go":
            return [f"canaries were not asked: {admission}"]
        found = [await ask_canary(judge, self.prompt, folder) for judge in self._asked_judges]
        for each in found:
            if each.has_changed or each.problem:
                log.warning(str(each))
        return [str(each) for each in found]
