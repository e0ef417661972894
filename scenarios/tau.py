"""Turn tau-bench's task definitions into a suite: one scenario a task, one sentence for its expected actions.

    python scenarios/tau.py TASKS.jsonl.gz OUT.yaml --samples 10

Each line of the file is a task: id, given, when, instruction, expected_actions [{name, kwargs}] and
expected_outputs. tau-bench is (c) 2024 Sierra, under the MIT licence; its data is not part of this project.
"""

import gzip
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import yaml
from pydantic import AliasChoices, BaseModel, Field, ValidationError

HEAD = """\
# Made by scenarios/tau.py from the task definitions of tau-bench (github.com/sierra-research/tau-bench).
# The tasks are (c) 2024 Sierra, under the MIT licence.
"""
MIN_PROPORTION = 0.5
REFUSAL = "The agent explains that the request cannot be carried out"
CODED = ("one_way", "round_trip", "basic_economy")

# What the agent does, by the name of the call; the braces name its arguments.
DEEDS: Mapping[str, str] = {
    "book_reservation": "books a {flight_type} {cabin} trip from {origin} to {destination} on {flights}",
    "calculate": "works out {expression}",
    "cancel_pending_order": "cancels order {order_id} ({reason})",
    "cancel_reservation": "cancels reservation {reservation_id}",
    "exchange_delivered_order_items": "exchanges {item_ids} of order {order_id} for {new_item_ids}",
    "find_user_id_by_email": "finds the customer by the e-mail address {email}",
    "find_user_id_by_name_zip": "finds the customer {first_name} {last_name} by the zip code {zip}",
    "get_order_details": "looks up order {order_id}",
    "get_product_details": "looks up product {product_id}",
    "get_reservation_details": "looks up reservation {reservation_id}",
    "get_user_details": "looks up the customer {user_id}",
    "list_all_product_types": "lists the product types",
    "modify_pending_order_address": "changes the address of order {order_id} to {address1} {address2} {city} {zip}",
    "modify_pending_order_items": "changes {item_ids} of order {order_id} to {new_item_ids}",
    "modify_pending_order_payment": "changes the payment of order {order_id} to {payment_method_id}",
    "modify_user_address": "changes the address of {user_id} to {address1} {address2} {city} {zip}",
    "return_delivered_order_items": "returns {item_ids} of order {order_id}, refunded to {payment_method_id}",
    "search_direct_flight": "searches direct flights from {origin} to {destination} on {date}",
    "send_certificate": "sends {user_id} a certificate of {amount} dollars",
    "transfer_to_human_agents": "hands over to a person: {summary}",
    "update_reservation_baggages": "changes reservation {reservation_id} to {total_baggages} bags, "
    "{nonfree_baggages} of them paid for",
    "update_reservation_flights": "changes reservation {reservation_id} to {cabin} on {flights}",
    "update_reservation_passengers": "changes the passengers of reservation {reservation_id} to {passengers}",
}


class Action(BaseModel):
    """A call the agent is expected to make."""

    name: str = Field(min_length=1)
    arguments: dict[str, Any] = Field(default={}, validation_alias=AliasChoices("kwargs"))


class Task(BaseModel):
    """One line of the file."""

    id: str = Field(min_length=1)
    given: str = ""
    when: str = ""
    instruction: str = Field(min_length=1)
    expected_actions: list[Action] = []
    expected_outputs: list[str] = []


def read_tasks(path: Path) -> Iterator[Task]:
    """Read the tasks, one a line. Raises ClickException with the line's number."""
    for number, line in _lines(path):
        try:
            yield Task.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"]))
            problem = f"field {field}: {first['msg']}" if field else first["msg"]
            raise click.ClickException(f"{path}, line {number}: this is not a task ({problem}); mend it.") from error


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Return the lines that are not empty, with their numbers."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield from ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise click.ClickException(f"{path}: it cannot be read as compressed text ({error}).") from error


def suite_of(tasks: Sequence[Task], *, samples: int, max_turns: int) -> dict[str, Any]:
    """Return the suite as the mapping that the YAML file holds."""
    return {"sample_size": samples, "max_turns": max_turns, "scenarios": [scenario_of(task) for task in tasks]}


def scenario_of(task: Task) -> dict[str, Any]:
    """Return one task as a scenario."""
    return {
        "title": task.id,
        "given": task.given.strip() or task.instruction.strip(),
        "when": task.when.strip() or task.instruction.strip(),
        "then": {
            "expected_behavior": expected_behavior(task),
            "evaluator": {"type": "success_rate", "min_proportion": MIN_PROPORTION},
        },
    }


def expected_behavior(task: Task) -> str:
    """Say in one sentence what the agent should do and tell; each deed once, in the order of the task."""
    deeds = dict.fromkeys(f"the agent {deed(action)}" for action in task.expected_actions)
    told = [f"the agent tells the user: {', '.join(task.expected_outputs)}"] if task.expected_outputs else []
    clauses = [*deeds, *told]
    if not clauses:
        return f"{REFUSAL}."
    sentence = "; ".join(clauses).rstrip(".")
    return f"{sentence[0].upper()}{sentence[1:]}."


def deed(action: Action) -> str:
    """Say an action in plain words; one that is not in the table by its name and arguments."""
    words = {name: _in_words(value) for name, value in action.arguments.items()}
    template = DEEDS.get(action.name)
    if template is not None:
        try:
            return " ".join(template.format_map(words).split())
        except KeyError:
            pass
    listed = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in words.items())
    return f"carries out {action.name.replace('_', ' ')}" + (f" with {listed}" if listed else "")


def _in_words(value: object) -> str:
    if isinstance(value, Mapping):
        return " ".join(_in_words(part) for part in value.values())
    if isinstance(value, list):
        noun = "items " if len(value) > 1 else "item "
        only_ids = all(isinstance(part, str) for part in value)
        return (noun if only_ids else "") + " and ".join(map(_in_words, value))
    return str(value).replace("_", " ") if value in CODED else str(value)


@click.command()
@click.argument("tasks", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--samples", type=click.IntRange(min=1), default=10, show_default=True, help="Trials of each scenario.")
@click.option("--max-turns", type=click.IntRange(min=1), default=6, show_default=True, help="Turns of each trial.")
def main(tasks: Path, out: Path, samples: int, max_turns: int) -> None:
    """Write the suite OUT (YAML) from the tau-bench tasks in TASKS (.jsonl.gz)."""
    found = list(read_tasks(tasks))
    if not found:
        raise click.ClickException(f"{tasks}: it holds no task.")
    suite = suite_of(found, samples=samples, max_turns=max_turns)
    try:
        out.write_text(HEAD + yaml.safe_dump(suite, allow_unicode=True, sort_keys=False, width=110), encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{out}: it cannot be written ({error.strerror}).") from error
    click.echo(f"{len(found)} scenarios written to {out}")


if __name__ == "__main__":
    main()
