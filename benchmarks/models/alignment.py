"""Authenticity, safety and throughput on public data, beside what was measured of the original.

    HF_HUB_OFFLINE=1 OPENBLAS_NUM_THREADS=1 python -m benchmarks.models.alignment DATA [hashed|minilm ...]

DATA is the folder with public_wendys_voice, public_moderation and public_dices_safety (.jsonl.gz). Authenticity: how
well a turn's score tells on-brand from off-brand ones, before calibration, and after it with a traits model fitted to
other sessions (five folds). Safety: precision and recall of the rules, as they are, on prompts labelled by people and
on responses rated by crowds. Throughput: sessions scored with all three parts.
"""

import gzip
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import anyio

from simeval.core.conversation import Conversation, Message
from simeval.extras.brand.alignment import Alignment
from simeval.extras.brand.authenticity import Authenticity
from simeval.extras.brand.calibration import LabelledTurn, fit_traits, separation
from simeval.extras.brand.persona import Persona, load_persona
from simeval.extras.brand.safety_rules import Rules, built_in
from simeval.extras.brand.traits import TraitsModel
from simeval.stats.binomial import clopper_pearson
from simeval.stats.logistic import grouped_folds

PERSONA = Path(__file__).with_name("wendys.yaml")
FOLDS, SEED, ROUNDS = 5, 0, 3
CALIBRATED = {"style": 0.0, "traits": 1.0}
ORIGINALS = {"hashed": "1,213 sessions/s (1,119 a CPU-second)", "minilm": "26 sessions a CPU-second"}
SEVERE = ("critical", "high")
LABELS: Sequence[tuple[str, Sequence[str], Sequence[str]]] = (  # what it is, its labels, the policies that are about it
    ("anything unsafe", ("S", "H", "V", "HR", "SH", "S3", "H2", "V2"), ()),
    ("self-harm", ("SH",), ("self_harm",)),
    ("violence", ("V", "V2"), ("violence",)),
    ("hate or harassment", ("H", "HR", "H2"), ("offensive",)),
)


def rows_of(folder: Path, name: str) -> list[dict[str, Any]]:
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def sessions_of(rows: Sequence[Mapping[str, Any]]) -> list[Conversation]:
    """Return the conversations of rows that each hold one message."""
    found: dict[str, list[Message]] = {}
    for row in rows:
        found.setdefault(row["session_id"], []).append(Message(role=row["role"], content=row["text"]))
    return [Conversation(messages=tuple(messages)) for messages in found.values()]


async def scores_of(scorer: Authenticity, turns: Sequence[LabelledTurn], part: str = "authenticity") -> list[float]:
    texts = [turn.text for turn in turns]
    found: Any = await scorer.measured(texts, await scorer.vectors(texts))
    return [each[part] for each in found["each"]]


async def authenticity(persona: Persona, turns: Sequence[LabelledTurn], encoder: str) -> None:
    """Print how well each part, and all together, tell on-brand turns from others."""
    before = Authenticity(persona=persona, encoder=encoder)
    labels, sessions = [turn.on_brand for turn in turns], [turn.session for turn in turns]
    folds = grouped_folds(sessions, labels, n_folds=FOLDS, seed=SEED)
    models = [fit_traits(persona, [t for t, its in zip(turns, folds, strict=True) if its != k]) for k in range(FOLDS)]
    after = [0.0] * len(turns)
    alone = [0.0] * len(turns)
    for fold, model in enumerate(models):
        places = [place for place in range(len(turns)) if folds[place] == fold]
        chosen = [turns[place] for place in places]
        for into, weights in ((after, before.weights), (alone, CALIBRATED)):
            scorer = Authenticity(persona=persona, encoder=encoder, traits=model, weights=weights)
            for place, score in zip(places, await scores_of(scorer, chosen), strict=True):
                into[place] = score
    print(f"\nauthenticity, {encoder}")
    for part in ("style", "traits", "lexicon", "authenticity"):
        report(f"before: {part}", turns, await scores_of(before, turns, part))
    report("after, held out: authenticity, weights .6/.25/.15", turns, after)
    report("after, held out: traits alone", turns, alone)


def report(what: str, turns: Sequence[LabelledTurn], scores: Sequence[float]) -> None:
    found = separation(turns, scores, threshold=0.5, seed=SEED)
    on = [score for score, turn in zip(scores, turns, strict=True) if turn.on_brand]
    off = [score for score, turn in zip(scores, turns, strict=True) if not turn.on_brand]
    means = f"means {sum(on) / len(on):.3f} / {sum(off) / len(off):.3f}"
    print(f"{what:52s} AUC {found.auc:.3f} [{found.low:.3f}, {found.high:.3f}]  {means}")


def shares(what: str, flagged: Sequence[bool], unsafe: Sequence[bool]) -> None:
    """Print precision and recall with exact intervals."""
    hits = sum(f and u for f, u in zip(flagged, unsafe, strict=True))
    said = []
    for name, n in (("precision", sum(flagged)), ("recall", sum(unsafe))):
        low, high = clopper_pearson(hits, n, 0.025)
        said.append(f"{name} {hits / n if n else float('nan'):.3f} [{low:.3f}, {high:.3f}] ({hits}/{n})")
    print(f"{what:40s} {'; '.join(said)}")


def safety(folder: Path) -> None:
    """Print how the rules fare, at any severity and at the severe ones."""
    rules = Rules(built_in())
    prompts = rows_of(folder, "public_moderation")
    found = [rules.violations([row["prompt"]]) for row in prompts]
    print(
        f"\nsafety rules on {len(prompts)} prompts labelled by people (sexual, hate, violence, harassment, self-harm)"
    )
    for name, labels, policies in LABELS:
        unsafe = [any(row["labels"].get(label) == 1 for label in labels) for row in prompts]
        by = [[each for each in violations if not policies or each.policy in policies] for violations in found]
        shares(f"{name}: any rule of it", [bool(each) for each in by], unsafe)
        shares(f"{name}: severe ones", [any(each.severity in SEVERE for each in hits) for hits in by], unsafe)
    rated = rows_of(folder, "public_dices_safety")
    flagged = [bool(rules.violations([row["response"]])) for row in rated]
    print(f"\nsafety rules on {len(rated)} responses of a model to adversarial users")
    # Y is unsafe, whatever the file's note says of the question: to greetings ("Hey") 97% of the raters say N
    shares("most raters say unsafe", flagged, [row["crowd"].count("Y") > row["crowd"].count("N") for row in rated])
    gold = [place for place, row in enumerate(rated) if row.get("expert_gold")]
    shares("an expert says unsafe", [flagged[i] for i in gold], [rated[i]["expert_gold"] == "Yes" for i in gold])


async def throughput(persona: Persona, model: TraitsModel, sessions: Sequence[Conversation], encoder: str) -> None:
    """Print how many sessions a second are scored, after the encoder is loaded; the best of some rounds."""
    scorer = Alignment(persona=persona, encoder=encoder, traits=model)
    await scorer.score(conversation=sessions[0])
    walls, cpus = [], []
    for _ in range(ROUNDS):
        wall, cpu = perf_counter(), process_time()
        async with anyio.create_task_group() as tasks:
            for session in sessions:
                tasks.start_soon(score, scorer, session)
        walls.append(perf_counter() - wall)
        cpus.append(process_time() - cpu)
    n = len(sessions)
    print(
        f"{encoder}: {n / min(walls):.0f} sessions/s, {n / min(cpus):.0f} a CPU-second; original {ORIGINALS[encoder]}"
    )


async def score(scorer: Alignment, session: Conversation) -> None:
    await scorer.score(conversation=session)


async def main(folder: Path, encoders: Sequence[str]) -> None:
    persona = load_persona(PERSONA)
    rows = rows_of(folder, "public_wendys_voice")
    turns = [
        LabelledTurn(text=row["text"], on_brand=row["label"] == 1, session=row["session_id"])
        for row in rows
        if "label" in row
    ]
    for encoder in encoders:
        await authenticity(persona, turns, encoder)
    safety(folder)
    sessions = sessions_of(rows)
    print(f"\nthroughput: authenticity, safety and stability of {len(sessions)} sessions")
    for encoder in encoders:
        await throughput(persona, fit_traits(persona, turns), sessions, encoder)


if __name__ == "__main__":
    if len(sys.argv) < 2 or not {*sys.argv[2:]} <= ORIGINALS.keys():
        sys.exit(__doc__)
    anyio.run(main, Path(sys.argv[1]), sys.argv[2:] or ["hashed"])
