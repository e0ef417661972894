"""Fitted users as YAML: the `users` of a suite, with their evidence in comments, for a person to edit."""

from collections.abc import Mapping
from typing import Any

import yaml

from simeval.core.terminal import printable
from simeval.extras.populations.fitting import FittedPersona, FittedUsers

WIDTH = 110
COUNTING_DIGITS = 4  # of a share


def users_text(fitted: FittedUsers) -> str:
    """Return the YAML of a mix, as the first fields of a suite file."""
    head = [
        f"How users write, fitted to {fitted.dialogues:,} logged conversations. Put this at the beginning of a suite,",
        "and name and edit the personas. Shares have exact 95% intervals, as if each conversation had its own person.",
        f"19 of 20 users wrote at most {fitted.messages} messages: max_turns: {fitted.messages} has room for those.",
    ]
    if fitted.goals:
        head += ["What they came for, by words that openings share (`simeval generate` proposes scenarios from logs):"]
        head += [f"  {goal}" for goal in fitted.goals]
    comment = "".join(f"# {printable(line)}\n" for line in head)
    measured = "".join(f"    {name}: [{', '.join(map(_number, of))}]\n" for name, of in fitted.measured.items())
    logs = f"  logs:  # mean, standard deviation, number of conversations: simulated users are held beside\n{measured}"
    return f"{comment}users:\n{logs}  mix:\n{''.join(map(_item, fitted.personas))}"


def _item(fitted: FittedPersona) -> str:
    persona, (lower, upper) = fitted.persona, fitted.interval
    fields: dict[str, Any] = {"name": persona.name, "share": _rounded(persona.share), "persona": persona.persona}
    fields["style"] = {axis: _shares(value) for axis, value in persona.style.items()}
    written = yaml.safe_dump([fields], sort_keys=False, allow_unicode=True, width=WIDTH)
    told = f"{fitted.n:,} users, {lower:.1%} to {upper:.1%}; median words a message {fitted.words:g}"
    told += f", messages a chat {fitted.messages:g}"
    return "".join(f"    {line}\n" for line in (f"# {told}", *written.splitlines()))


def _shares(value: str | Mapping[str, float]) -> str | dict[str, float]:
    return value if isinstance(value, str) else {text: _rounded(share) for text, share in value.items()}


def _number(value: float) -> str:
    return f"{value:.{COUNTING_DIGITS}g}" if isinstance(value, float) else str(value)


def _rounded(share: float) -> float:
    return float(f"{share:.{COUNTING_DIGITS}g}")
