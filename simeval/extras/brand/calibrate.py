"""The work of `simeval persona calibrate`: fit a persona's traits model to labelled turns, and report its quality."""

import json
from functools import partial
from pathlib import Path
from typing import Any

from simeval.cli.output import require_writable, show, status_of, write_json, write_text
from simeval.core.terminal import counted_of, printable
from simeval.errors import DefinitionError
from simeval.extras.brand.calibration import (
    Calibration,
    Separation,
    calibrate,
    encode_separation,
    read_turns,
    separation,
    unseen,
)
from simeval.extras.brand.persona import load_persona

LONGEST_SHOWN = 90


def calibrate_persona(
    *, persona: Path, labelled: Path, out: Path, test: Path | None, seed: int, json_path: str | None
) -> int:
    """Fit, measure, report and write the model; give the exit status."""
    return status_of(partial(_calibrate, persona, labelled, out, test, seed, json_path))


def _calibrate(
    persona_path: Path, labelled: Path, out: Path, test: Path | None, seed: int, json_path: str | None
) -> None:
    for path in (str(out), json_path):
        require_writable(path, read=(persona_path, labelled, test))
    if json_path and Path(json_path).absolute() == out.absolute():
        raise DefinitionError("--json", found="the model is written there (--out)", do="name another file")
    persona = load_persona(persona_path)
    turns, skipped = read_turns(labelled)
    held_out = read_turns(test)[0] if test else None
    found = calibrate(persona, turns, seed=seed)
    on_test, seen = None, None
    if held_out is not None:
        left = unseen(held_out, turns)
        seen = len(held_out) - len(left)
        if len({turn.on_brand for turn in left}) == 2:
            on_test = separation(left, [found.model.probability(turn.text) for turn in left], threshold=0.5, seed=seed)
    write_text(str(out), f"{json.dumps(found.model.as_dict(), ensure_ascii=False, indent=1)}\n")
    show(_shown(found, skipped, on_test, seen, out), json_path)
    write_json(json_path, _encoded(found, skipped, on_test, seen or 0))


def _shown(found: Calibration, skipped: int, on_test: Separation | None, seen: int | None, out: Path) -> str:
    off = len(found.turns) - found.cross_validated.on_brand
    lines = [
        f"{found.cross_validated.on_brand} turns on brand, {off} off; without a label: {counted_of(skipped, 'line')}",
        f"traits by rules (before):  {found.by_rules or 'the persona names none'}",
        f"model, held-out sessions:  {found.cross_validated}",
    ]
    if seen is not None:
        measured = on_test or "not measured, the turns left have not both labels"
        left_out = f"left out, as their text or session was fitted to: {counted_of(seen, 'turn')}"
        lines.append(f"model, on the test file:   {measured}; {left_out}")
    for probability, turn in found.misjudged():
        label = "on" if turn.on_brand else "off"
        lines.append(f"  misjudged: {label} brand, {probability:.2f}: {printable(turn.text)[:LONGEST_SHOWN]}")
    return "\n".join([*lines, f"the model, fitted to all turns, is in {out}"])


def _encoded(found: Calibration, skipped: int, on_test: Separation | None, seen: int) -> dict[str, Any]:
    return {
        "persona": found.model.persona,
        "turns": len(found.turns),
        "without_label": skipped,
        "by_rules": encode_separation(found.by_rules) if found.by_rules else None,
        "cross_validated": encode_separation(found.cross_validated),
        "test": encode_separation(on_test) if on_test else None,
        "test_turns_left_out": seen,
        "misjudged": [
            {"text": turn.text, "on_brand": turn.on_brand, "probability": probability}
            for probability, turn in found.misjudged()
        ],
    }
