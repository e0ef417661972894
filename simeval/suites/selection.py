"""Some of the scenarios of a suite: by words in their titles, or by their tags."""

from collections.abc import Sequence
from dataclasses import replace

from simeval.core.validation import nearest, require
from simeval.errors import DefinitionError
from simeval.suites.scenario import ScenarioTest

CASE = "case:"  # the prefix of cases: case:nights=5


def only(scenarios: Sequence[ScenarioTest], names: Sequence[str]) -> tuple[ScenarioTest, ...]:
    """Return the scenarios that have one of these names as a tag, or in their title; all without names.

    A name that is a whole title means that scenario alone, and case:nights=5 the cases with that value in that column:
    of several for one column any, of several columns all. Raises DefinitionError for a name that none has.
    """
    scenarios = _with_cases(scenarios, [name.removeprefix(CASE) for name in names if name.startswith(CASE)])
    names = [name for name in names if not name.startswith(CASE)]
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


def _with_cases(scenarios: Sequence[ScenarioTest], named: Sequence[str]) -> Sequence[ScenarioTest]:
    """Return the scenarios that have such cases, with these alone; all without names. Raises DefinitionError."""
    if not named:
        return scenarios
    from simeval.suites.cases import are_wanted

    wanted: dict[str, list[str]] = {}
    for each in named:
        column, equals, value = each.partition("=")
        require(bool(column and equals), "--only", found=f"{CASE}{each}", do="write case:COLUMN=VALUE")
        wanted.setdefault(column.strip(), []).append(value.strip())
    columns = list(dict.fromkeys(name for each in scenarios for row in each.rows for name in row))
    for column in wanted:
        do = nearest(column, columns) if columns else "give a scenario a table of cases"
        require(column in columns, "--only", found=f"{CASE}{column}", do=do)
    chosen = [(each, [row for row in each.rows if are_wanted(row, wanted)]) for each in scenarios]
    found = [replace(each, cases=rows) for each, rows in chosen if rows]
    shown = ", ".join(f"{column}={' or '.join(values)}" for column, values in wanted.items())
    do = "name values that rows have; of several columns they must be in one row"
    require(bool(found), "--only", found=f"no case with {shown}", do=do)
    return found


def is_named(scenario: ScenarioTest, name: str) -> bool:
    """Return whether a name is a tag of a scenario or, in whatever letters, part of its title."""
    return name in scenario.tags or name.casefold() in scenario.title.casefold()
