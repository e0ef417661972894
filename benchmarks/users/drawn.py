"""Whether users drawn from a fitted mix write as they are told.

    python -m benchmarks.users.drawn DATA [--user offline/user] [--trials 400]

DATA is the folder with the data sets that `transcripts` reads (.jsonl.gz). A mix is fitted to each, so many users are
drawn from it and let talk to an app that repeats them, and what they write is read by the rules that read the logs.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import anyio

from benchmarks.users.conduct import ANYTHING
from benchmarks.users.fit_users import LEAST, distance, rates
from benchmarks.users.transcripts import load
from simeval import Engine, Expectation, ScenarioTest
from simeval.core.conversation import Conversation
from simeval.extras.populations.axes import AXES, UNKNOWN
from simeval.extras.populations.fitting import fit_users, read_habits
from simeval.extras.populations.habits import Habits
from simeval.suites.script import UserMix

SEED = 7
HEADER = f"{'':<20}{'':<9}" + "".join(f"{axis.name:>12}" for axis in AXES)
ROW = "{:<20}{:<9}" + "{:>12}" * len(AXES)
GIVEN = "A customer of a shop whose order F1001 has not arrived"
WHEN = (
    "The user asks where order F1001 is. The user asks when it comes. The user wants to know who brings it. "
    "The user asks whether somebody has to be at home. The user asks for a message before it comes."
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--user", default="offline/user")
    parser.add_argument("--trials", type=int, default=400)
    options = parser.parse_args()
    print(HEADER)
    for source, talks in load(options.data).items():
        if len(talks) >= LEAST:
            mix = fit_users(each.conversation for each in talks).mix
            held = anyio.run(conversations, mix, options.user, options.trials)
            print(ROW.format(source, "obeyed", *map("{:.0%}".format, obeyed(held))))
            print(ROW.format("", "apart", *map("{:.2f}".format, apart(held))))


async def conversations(mix: UserMix, user: str, trials: int) -> Sequence[Conversation]:
    """Hold so many conversations of users who are drawn from a mix with an app that repeats what it is told."""
    expectation = Expectation(scorer=lambda output: bool(output), label="says something", evaluator=ANYTHING)
    scenario = ScenarioTest(
        title="An order", given=GIVEN, when=WHEN, then=expectation, users=mix, sample_size=trials, max_turns=12
    )
    engine = Engine(
        user_simulator_model=user, seed=SEED, store=None, display="none", early_stopping=False, on_user_fault="count"
    )
    return (await engine.evaluate(scenario, repeat)).conversations


def repeat(message: str, _: object) -> str:
    return f"You wrote: {message}"


def obeyed(held: Sequence[Conversation]) -> list[float]:
    """Return, for each axis, the share of users who write as they were told there."""
    found = [
        [axis.told(habits.traits[place]) == told for habits, told in told_on(held, axis.name)]
        for place, axis in enumerate(AXES)
    ]
    return [sum(each) / len(each) if each else float("nan") for each in found]


def apart(held: Sequence[Conversation]) -> list[float]:
    """Return, for each axis, how far what users do is apart from what they were told (total variation)."""
    found = []
    for place, axis in enumerate(AXES):
        pairs = told_on(held, axis.name)
        done = [axis.told(habits.traits[place]) for habits, _ in pairs if habits.traits[place] != UNKNOWN]
        found.append(distance(rates([told for _, told in pairs]), rates(done)))
    return found


def told_on(held: Sequence[Conversation], axis: str) -> list[tuple[Habits, str]]:
    """Return how each user writes who was told something on an axis, and what."""
    pairs = zip(read_habits(held), held, strict=True)
    return [(habits, style[axis]) for habits, talk in pairs if axis in (style := talk.writing_style or {})]


if __name__ == "__main__":
    main()
