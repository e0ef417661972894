"""Some of the scenarios of a suite: by what is in their titles, or by their tags."""

from collections.abc import Sequence

from simeval.core.validation import nearest, require
from simeval.errors import DefinitionError
from simeval.suites.scenario import ScenarioTest

PROPOSED = "proposed"  # the tag of a scenario that a model wrote and nobody has read


def only(scenarios: Sequence[ScenarioTest], names: Sequence[str]) -> tuple[ScenarioTest, ...]:
    """Return the scenarios that have one of these names as a tag, or in their title; all without names.

    A name that is a whole title means that scenario alone. Raises DefinitionError for a name that none has.
    """
    for name in names:
        require(bool(name.strip()), "--only", found=name, do="name a tag, a title or a part of one")
        if not any(is_named(scenario, name) for scenario in scenarios):
            known = dict.fromkeys([each.title for each in scenarios] + [tag for each in scenarios for tag in each.tags])
            do = nearest(name, list(known))
            raise DefinitionError("--only", found=f"no scenario has {name!r} as a tag or in its title", do=do)
    titles = {scenario.title for scenario in scenarios}
    return tuple(
        scenario
        for scenario in scenarios
        if not names or any(scenario.title == name if name in titles else is_named(scenario, name) for name in names)
    )


def is_named(scenario: ScenarioTest, name: str) -> bool:
    """Return whether a name is a tag of a scenario or, in whatever letters, part of its title."""
    return name in scenario.tags or name.casefold() in scenario.title.casefold()
