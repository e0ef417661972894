"""Simulated users beside people: the numbers that are shipped, and how often people are told from themselves.

    python -m benchmarks.users.fidelity DATA [--star STAR] [--draws 1000]

DATA is the folder with the data sets that `transcripts` reads (.jsonl.gz), STAR a clone of github.com/RasaHQ/STAR (MIT,
(c) 2020 Rasa Technologies). Of each data set one half of the dialogues are the logs that users are fitted to, and
dialogues drawn from the other half are a run; of STAR all are beside the shipped numbers, some people in some tasks.
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import sqrt
from pathlib import Path
from random import Random
from statistics import fmean

from benchmarks.users.transcripts import HUMAN, conversation_of, load
from simeval.core.conversation import Conversation
from simeval.core.user_measures import measure_user, spreads_of
from simeval.results.guarantee import fidelity_of

SEED = 20261126
LEAST = 60  # dialogues of a data set that is halved
RUNS = ((1, 20), (3, 10), (5, 6), (10, 5), (20, 4))  # scenarios, and conversations of each
ROW = "{:<28}{:>10}{:>10}{:>12}{:>12}"
Star = tuple[str, str, Conversation]  # the task, the person, the dialogue


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--star", type=Path)
    parser.add_argument("--draws", type=int, default=1_000)
    options = parser.parse_args()
    print(ROW.format("people beside themselves", "scenarios", "each", "told apart", "of runs"))
    for source, talks in load(options.data).items():
        if source in HUMAN and len(talks) >= LEAST:
            show_halves(source, [talk.conversation for talk in talks], options.draws)
    if options.star:
        dialogues = [*read_star(options.star)]
        for scenarios, each in RUNS:
            told = sum(
                is_told_apart(draw_people(dialogues, scenarios, each, Random(f"{SEED} {draw}")), {})
                for draw in range(options.draws)
            )
            print(ROW.format("STAR, shipped numbers", scenarios, each, told, options.draws))
        show_reference(dialogues)


def show_halves(source: str, talks: Sequence[Conversation], draws: int) -> None:
    """Print how often runs drawn from one half of the dialogues are told from the other half."""
    for size in (20, 50):
        told = 0
        for draw in range(draws):
            mixed = Random(f"{SEED} {source} {draw}").sample(talks, len(talks))
            logs, others = mixed[: len(mixed) // 2], mixed[len(mixed) // 2 :]
            told += is_told_apart([[each] for each in others[:size]], fitted(logs))
        print(ROW.format(source, size, 1, told, draws))


def fitted(logs: Iterable[Conversation]) -> Mapping[str, Sequence[float]]:
    """Return what `fit_users` keeps of logs to hold users beside."""
    return {name: (of.mean, of.deviation, of.n) for name, of in spreads_of(map(measure_user, logs)).items()}


def is_told_apart(scenarios: Sequence[Sequence[Conversation]], logs: Mapping[str, Sequence[float]]) -> bool:
    """Return whether the line at the end of a run with these conversations would name a difference."""
    simulated = [[Conversation(messages=each.messages, ended="goal_satisfied") for each in one] for one in scenarios]
    found = fidelity_of(simulated, logs)
    return found is not None and any(each.differs for each in found.measures.values())


def draw_people(dialogues: Sequence[Star], scenarios: int, each: int, random: Random) -> list[list[Conversation]]:
    """Draw so many tasks, with so many dialogues of each, no two of one person as far as there are enough people."""
    by_task: dict[str, list[tuple[str, Conversation]]] = defaultdict(list)
    for task, person, talk in dialogues:
        by_task[task].append((person, talk))
    drawn: list[list[Conversation]] = []
    met = Counter[str]()
    for task in random.sample(sorted(by_task), scenarios):
        mixed = random.sample(by_task[task], len(by_task[task]))
        chosen: list[Conversation] = []
        while mixed and len(chosen) < each:
            person, talk = min(mixed, key=lambda one: met[one[0]])
            mixed.remove((person, talk))
            met[person] += 1
            chosen.append(talk)
        drawn.append(chosen)
    return drawn


def read_star(folder: Path) -> Iterable[Star]:
    """Yield the complete dialogues with one task that went as planned, of users who were not told to chat or stray."""
    for path in sorted((folder / "dialogues").glob("*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        told, events = found["Scenario"], found["Events"]
        is_plain = told["Happy"] and not told["MultiTask"] and found["CompletionLevel"] == "Complete"
        if not is_plain or any(each["Agent"] == "UserGuide" and each["Action"] == "instruct" for each in events):
            continue
        talk = conversation_of([*filter(None, map(_turn, events))])
        if talk.input:
            yield told["WizardCapabilities"][0]["Task"], found["AnonymizedUserWorkerID"], talk


def _turn(event: Mapping[str, str]) -> Mapping[str, str] | None:
    match event["Agent"], event["Action"]:
        case "User", "utter":
            return {"role": "user", "content": event["Text"]}
        case "Wizard", "utter" | "pick_suggestion":
            return {"role": "assistant", "content": event["Text"]}
    return None


def show_reference(dialogues: Sequence[Star]) -> None:
    """Print the numbers that are shipped of these dialogues."""
    measured = [(task, person, measure_user(talk)) for task, person, talk in dialogues]
    tasks, people = (len({each[place] for each in measured}) for place in (0, 1))
    print(f"\n{len(measured)} dialogues, {tasks} tasks, {people} people: mean, deviation, n, error, shared")
    for name, of in spreads_of(found for *_, found in measured).items():
        rows = [(task, person, found[name] - of.mean) for task, person, found in measured if name in found]
        by_task, by_person, by_both = (
            _variance(rows, key) for key in (lambda row: row[0], lambda row: row[1], lambda row: row[:2])
        )
        error, shared = sqrt(by_task + by_person - by_both), _shared(rows)
        print(f"{name:<14} {of.mean:.3f} {of.deviation:.3f} {of.n} {error:.4f} {shared:.3f}")


Row = tuple[str, str, float]  # the task, the person, how far from the mean


def _variance(rows: Sequence[Row], key: Callable[[Row], object]) -> float:
    """Return the variance of the mean where rows with one key belong together."""
    sums: dict[object, float] = defaultdict(float)
    for row in rows:
        sums[key(row)] += row[2]
    return sum(each**2 for each in sums.values()) / len(rows) ** 2 * len(sums) / (len(sums) - 1)


def _shared(rows: Sequence[Row]) -> float:
    """Return the share of the variance that lies between tasks (one-way analysis of variance)."""
    by_task: dict[str, list[float]] = defaultdict(list)
    for task, _, value in rows:
        by_task[task].append(value)
    groups = [each for each in by_task.values() if len(each) > 1]
    n, mean = sum(map(len, groups)), fmean(value for each in groups for value in each)
    between = sum(len(each) * (fmean(each) - mean) ** 2 for each in groups) / (len(groups) - 1)
    within = sum((value - fmean(each)) ** 2 for each in groups for value in each) / (n - len(groups))
    size = (n - sum(len(each) ** 2 for each in groups) / n) / (len(groups) - 1)
    own = max(0.0, (between - within) / size)
    return own / (own + within)


if __name__ == "__main__":
    main()
