"""The canaries of a run: each of its judges is asked once, before the first trial."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio.to_thread

from simeval.core.licences import CanaryFinding
from simeval.core.logs import log
from simeval.engine.parts import RunPart
from simeval.engine.plans.budget import Spending
from simeval.engine.run_context import RunContext
from simeval.extras.judge_test.battery import ask_canary, canary_requests, kept_canary
from simeval.extras.judge_test.licences import change_in, forms_of
from simeval.models.caller import Caller
from simeval.models.protocol.prompt_texts import Prompt
from simeval.models.protocol.prompts import GradeRequest
from simeval.models.provider_table import is_embedded


async def canaries_of(context: RunContext) -> Sequence[CanaryFinding]:
    """Return the finding on each judge of an engine; empty if no folder of stored answers is set."""
    folder, prompt = context.settings.canary_folder, context.shared.prompts["judge"]
    return [] if folder is None else [await ask_canary(judge, prompt, Path(folder)) for judge in context.judges]


class CanaryPart(RunPart):
    """Asks each judge of a run that is no heuristic, and compares with the answers that are kept in a folder."""

    @property
    def _asked_judges(self) -> Sequence[Caller]:
        return [judge for judge in self.context.judges if not is_embedded(judge.model.name)]

    @property
    def _prompt(self) -> Prompt:
        return self.context.shared.prompts["judge"]

    @property
    def _folder(self) -> Path:
        return Path(self.context.settings.canary_folder or "")

    def requests(self) -> Sequence[GradeRequest]:
        """Return the requests to each judge."""
        return canary_requests(self._prompt)

    async def check(self) -> None:
        """Raise DefinitionError if the stored answers of a judge cannot be used."""
        for judge in self._asked_judges:
            await kept_canary(judge, self._prompt, self._folder)

    async def before_trials(self, spending: Spending) -> Sequence[str]:
        """Return the finding on each judge; nobody is asked if no trial could be paid for after that.

        A licence of judges of which one has changed is valid no more. Raises as `ask_canary`.
        """
        admission = spending.admits(in_flight=0, finished=0)
        if admission != "go":
            return [f"canaries were not asked: {admission}"]
        found = [await ask_canary(judge, self._prompt, self._folder) for judge in self._asked_judges]
        for each in found:
            if each.has_changed or each.problem:
                log.warning(str(each))
        if any(each.has_changed for each in found):
            today = f"{datetime.now(UTC):%Y-%m-%d}"
            for form in forms_of(self.plans):
                change = partial(change_in, self.context, form, partial(replace, changed=today))
                await anyio.to_thread.run_sync(change)
        return [str(each) for each in found]
