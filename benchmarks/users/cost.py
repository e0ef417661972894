"""The CPU time of the rules about users: of a user's state at a turn, and of the faults of a conversation.

    python -m benchmarks.users.cost DATA

DATA is the folder with the data sets that `transcripts` reads (.jsonl.gz). Each recorded conversation is read once, as
in a run: its state before each of the user's messages, then its faults.
"""

import argparse
from pathlib import Path
from time import process_time

from benchmarks.users.transcripts import load
from simeval.engine.users.faults import find_faults
from simeval.engine.users.state import read_state

PATIENCE = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    talks = [talk for talks in load(parser.parse_args().data).values() for talk in talks]
    find_faults(talks[0].scenario, talks[0].conversation)  # compiles all patterns
    turns, state, faults = 0, 0.0, 0.0
    for talk in talks:
        messages = talk.conversation.messages
        begun = process_time()
        for place, message in enumerate(messages):
            if message.role == "user":
                read_state(talk.scenario, messages[:place], patience=PATIENCE)
                turns += 1
        read = process_time()
        find_faults(talk.scenario, talk.conversation)
        state, faults = state + read - begun, faults + process_time() - read
    print(f"state    {1e3 * state / turns:.3f} ms a turn, {turns} turns")
    print(f"faults   {1e3 * faults / len(talks):.2f} ms a conversation, {len(talks)} conversations")


if __name__ == "__main__":
    main()
