"""How users write: length, politeness, questions and faults of people, other simulators' users and the embedded one.

    python -m benchmarks.users.conduct DATA [--scenarios 60]

DATA is the folder with the data sets that `transcripts` reads (.jsonl.gz). The embedded user is given scenarios of
tau2-bench, and the embedded app to talk to; another model is named by --user, with the app's by --app.
"""

import argparse
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import mean, median

import anyio

from benchmarks.users.transcripts import HUMAN, Recorded, load
from simeval import Engine, Expectation, ProportionEvaluator, ScenarioTest, SuiteResult
from simeval.core.conversation import Conversation
from simeval.core.wording import words
from simeval.engine.users.faults import find_faults

SEED = 7
SHORT = 3  # words of a message, at most
COURTESY = re.compile(r"\b(?:please|thanks?|thank you|appreciate|sorry|kindly|cheers)\b", re.IGNORECASE)
HEADER = ("", "users", "talks", "messages", "median words", "mean", "short", "polite", "asking", "questions", "faulty")
FORM = "{:<20} {:<8} {:>6} {:>8} {:>12} {:>6} {:>6} {:>6} {:>6} {:>9} {:>6}"
TRIALS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--scenarios", type=int, default=60)
    parser.add_argument("--user", default="offline/user")
    parser.add_argument("--app", default="offline/app")
    options = parser.parse_args()
    recorded = load(options.data)
    print(FORM.format(*HEADER))
    for source, talks in recorded.items():
        faulty = mean(bool(find_faults(talk.scenario, talk.conversation)) for talk in talks)
        print(row(source, "people" if source in HUMAN else "models", [talk.conversation for talk in talks], faulty))
    candidates = [talk for source in ("tau2_ab_sft", "tau2_policy_trials") for talk in recorded[source]]
    chosen = scenarios_of(candidates, options.scenarios)
    results = anyio.run(simulate, chosen, options.user, options.app)
    simulated = [conversation for result in results for conversation in result.conversations]
    faulty = sum(result.users.faulty for result in results) / len(simulated)
    print(row(options.user, "simeval", simulated, faulty))


def scenarios_of(talks: Sequence[Recorded], count: int) -> list[ScenarioTest]:
    """Return so many scenarios, each once, with nothing to judge."""
    expectation = Expectation(scorer=lambda output: bool(output), label="says something", evaluator=ANYTHING)
    found = {talk.scenario.when: talk.scenario for talk in talks if len(talk.scenario.when) > 40}
    chosen = Random(SEED).sample(sorted(found), min(count, len(found)))
    return [replace(found[when], title=str(n), then=expectation, sample_size=TRIALS) for n, when in enumerate(chosen)]


ANYTHING = ProportionEvaluator(min_proportion=0.5)


async def simulate(scenarios: Sequence[ScenarioTest], user: str, app: str) -> SuiteResult:
    """Hold some conversations of each scenario."""
    engine = Engine(
        user_simulator_model=user, seed=SEED, store=None, display="none", early_stopping=False, max_user_fault_rate=1.0
    )
    return await engine.evaluate(scenarios, app)


def row(source: str, users: str, talks: Sequence[Conversation], faulty: float) -> str:
    said = [message.content for talk in talks for message in talk.messages if message.role == "user"]
    lengths = [len(words(text)) for text in said]
    questions = [text.count("?") for text in said]
    return FORM.format(
        source,
        users,
        len(talks),
        len(said),
        f"{median(lengths):g}",
        f"{mean(lengths):.1f}",
        f"{mean(length <= SHORT for length in lengths):.0%}",
        f"{mean(bool(COURTESY.search(text)) for text in said):.0%}",
        f"{mean(count > 0 for count in questions):.0%}",
        f"{mean(questions):.2f}",
        f"{faulty:.1%}",
    )


if __name__ == "__main__":
    main()
