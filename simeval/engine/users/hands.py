"""Actions of a simulated user with tools of its own: those the app asks for, by a rule and not by a model.

A tool is used when one sentence of an answer has all the words of its name ("restart_phone": "Please restart your
phone") and denies nothing. The user knows their results from then on.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import isawaitable
from typing import Any

from simeval.core.capture import Caught, capture, place_of
from simeval.core.stems import content_stems
from simeval.errors import WorldError
from simeval.suites.scenario import ScenarioTest

_SENTENCE = re.compile(r"[^.!?\n]+[.!?\n]*")
_DENIED = re.compile(r"\b(?:not|never|no|without)\b|n't\b", re.I)

UserTool = Callable[[], Any]


@dataclass(slots=True)
class Hands:
    """The tools of one trial's user, and their results; `taken` gives the calls since the last time."""

    tools: Mapping[str, UserTool]
    taken: Callable[[], tuple[Mapping[str, Any], ...]]
    _found: list[str] = field(default_factory=list)

    async def follow(self, answer: str) -> None:
        """Do the actions that an answer of the app asks for. Raises WorldError if a tool fails."""
        for name in tools_asked_for(answer, self.tools):
            came = await capture(partial(_used, self.tools[name]))
            if isinstance(came, Caught):
                raise WorldError(
                    f"has the tool {name} for its user, which failed: {came.error!r}{place_of(came.error)}"
                )
            self._found.append(f"You have done this: {name.replace('_', ' ')}. What came of it: {came}")

    def informed(self, scenario: ScenarioTest) -> ScenarioTest:
        """Return the scenario as the user knows it now."""
        return replace(scenario, given="\n".join([scenario.given, *self._found])) if self._found else scenario


async def _used(tool: UserTool) -> Any:
    came = tool()
    return await came if isawaitable(came) else came


def tools_asked_for(answer: str, names: Iterable[str]) -> list[str]:
    """Return the tools that an answer asks its reader to use, in its order."""
    sentences = [each for each in _SENTENCE.findall(answer.replace("’", "'")) if not _DENIED.search(each)]
    wanted = {name: content_stems(name.replace("_", " ")) for name in names}
    found = [
        name for said in map(content_stems, sentences) for name, words in wanted.items() if words and words <= said
    ]
    return list(dict.fromkeys(found))
