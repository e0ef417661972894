"""A traits model for a persona, fitted to turns that people labelled on or off brand, and measured on held-out ones."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simeval.cli.output import exit_status, require_writable, show, write_json, write_text
from simeval.core.row_files import json_objects
from simeval.core.terminal import counted_of, printable
from simeval.core.validation import WORDS
from simeval.errors import DefinitionError
from simeval.extras.brand.persona import Persona, load_persona
from simeval.extras.brand.style import style_of
from simeval.extras.brand.traits import TraitsModel, scaled, traits_of
from simeval.scorers.text.phrases import tokens

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FEWEST = 10  # turns of each label
FOLDS = 5
PENALTY = 1.0  # of the squared weights; chosen beforehand, not to suit any data
LEAST_TURNS = 2  # that hold a word or pair, so that it gets a weight
RESAMPLES = 1000
ALPHA = 0.025  # error on each side of the interval
MOST_SHOWN = 5

LABELS: Mapping[str, bool] = {
    **WORDS,
    **dict.fromkeys(("on", "on_brand", "on-brand", "1"), True),
    **dict.fromkeys(("off", "off_brand", "off-brand", "0"), False),
}

LONGEST_SHOWN = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledTurn:
    """A reply of the app, whether it is on brand, and its session: turns of one session stay in one fold."""

    text: str
    on_brand: bool
    session: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Separation:
    """How well scores separate on-brand turns from others: the area under the ROC curve, by chance 0.5.

    The interval resamples whole sessions: 95%, approximate, too narrow with fewer than about 50, NaN with one and if no
    resample differs. It does not know how another fit would have come out. At a score of `threshold` or more a turn is
    called on brand.
    """

    auc: float
    low: float
    high: float
    turns: int
    on_brand: int
    sessions: int
    threshold: float
    precision: float | None  # of the turns called on brand, the share that is; None if none is called so
    recall: float
    accuracy: float

    def __str__(self) -> str:
        precision = "none called so" if self.precision is None else f"{self.precision:.3f}"
        interval = "no interval: no resample differs" if isnan(self.low) else f"{self.low:.3f}, {self.high:.3f}"
        return (
            f"ROC-AUC {self.auc:.3f} [{interval}] on {self.turns} turns of {self.sessions} "
            f"sessions; at {self.threshold:g}: precision {precision}, recall {self.recall:.3f}, "
            f"accuracy {self.accuracy:.3f}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """A model fitted to all turns, its scores out of its folds, and how well these separate the labels."""

    model: TraitsModel
    turns: Sequence[LabelledTurn]
    held_out: Sequence[float]
    cross_validated: Separation
    by_rules: Separation | None  # of the persona's traits without a model; None if it names none

    def misjudged(self) -> Sequence[tuple[float, LabelledTurn]]:
        """Return the turns that were furthest off, each with its held-out probability."""
        off = [(p, turn) for p, turn in zip(self.held_out, self.turns, strict=True) if (p >= 0.5) != turn.on_brand]
        return sorted(off, key=lambda each: -abs(each[0] - 0.5))[:MOST_SHOWN]


def read_turns(path: Path) -> tuple[list[LabelledTurn], int]:
    """Return the labelled turns of a file, one JSON object a line, gzip too, and how many lines have no label.

    A line has `text`, `label` (on or off, 1 or 0) and `session` or `session_id`; without one it is a session of its
    own. Raises DefinitionError with the line that cannot be used.
    """
    found = [_turn(row, where) for where, row in json_objects(path, do="give an object with text, label and session")]
    turns = [turn for turn in found if turn is not None]
    return turns, len(found) - len(turns)


def _turn(row: Mapping[str, Any], where: str) -> LabelledTurn | None:
    label = row.get("label")
    if label is None or label == "":
        return None
    known = f"{label:g}" if isinstance(label, (int, float)) else str(label).strip().lower()
    text = row.get("text")
    if known not in LABELS:
        raise DefinitionError(f"{where}, label", found=f"found {label!r:.80}", do="use on or off, or 1 or 0")
    if not isinstance(text, str) or not text.strip():
        raise DefinitionError(f"{where}, text", found=f"found {text!r:.80}", do="give what the app said")
    session = row.get("session_id") if row.get("session") is None else row["session"]
    return LabelledTurn(text=text, on_brand=LABELS[known], session=where if session is None else str(session))


def calibrate(persona: Persona, turns: Sequence[LabelledTurn], *, seed: int = 0) -> Calibration:
    """Fit a traits model to labelled turns, and measure it by cross-validation that keeps sessions whole.

    Sessions that share a text are held out together. Raises DefinitionError for too few turns or sessions.
    """
    from simeval.stats.logistic import grouped_folds

    labels = _labels(turns)
    groups = _groups(turns)
    n_folds = min(FOLDS, len({*groups}))
    _require_enough(labels, n_folds)
    folds = grouped_folds(groups, labels, n_folds=n_folds, seed=seed)
    held_out = [0.0] * len(turns)
    for fold in range(n_folds):
        model = fit_traits(persona, [turn for turn, its in zip(turns, folds, strict=True) if its != fold])
        for place, turn in enumerate(turns):
            held_out[place] = model.probability(turn.text) if folds[place] == fold else held_out[place]
    cross_validated = separation(turns, held_out, threshold=0.5, seed=seed)
    by_rules = _by_rules(persona, turns, seed)
    report = {
        "turns": len(turns),
        "sessions": len({turn.session for turn in turns}),
        "folds": n_folds,
        "seed": seed,
        "cross_validated_auc": cross_validated.auc,
        "interval": _interval(cross_validated),
    }
    return Calibration(
        model=replace(fit_traits(persona, turns), report=report),
        turns=turns,
        held_out=held_out,
        cross_validated=cross_validated,
        by_rules=by_rules,
    )


def fit_traits(persona: Persona, turns: Sequence[LabelledTurn]) -> TraitsModel:
    """Fit a model to all of these turns. Raises DefinitionError unless both labels occur."""
    import numpy as np

    from simeval.stats.logistic import fit_logistic

    labels = _labels(turns)
    if len({*labels}) < 2:
        do = "give turns of both labels from more sessions"
        raise DefinitionError("labelled turns", found="only one label among those to fit to", do=do)
    words = [tokens(turn.text) for turn in turns]
    pairs = [[f"{one} {other}" for one, other in pairwise(each)] for each in words]
    rates = [style_of(turn.text).rates() for turn in turns]
    style = list(rates[0])
    centres = {name: float(np.mean([each[name] for each in rates])) for name in style}
    scales = {name: float(np.std([each[name] for each in rates])) for name in style}
    table = np.array([[scaled(each[name], centres[name], scales[name]) for name in style] for each in rates])
    known, of_pairs = _frequent(words), _frequent(pairs)
    features = np.hstack([_present(words, known), _present(pairs, of_pairs), table])
    fitted = fit_logistic(features, labels, penalty=PENALTY)
    weights = iter(fitted.weights.tolist())
    return TraitsModel(
        persona=persona.id,
        bias=fitted.bias,
        tokens=dict(zip(known, weights, strict=False)),
        phrases=dict(zip(of_pairs, weights, strict=False)),
        style=dict(zip(style, weights, strict=True)),
        centres=centres,
        scales=scales,
    )


def separation(
    turns: Sequence[LabelledTurn], scores: Sequence[float], *, threshold: float, seed: int = 0
) -> Separation:
    """Measure how well scores separate on-brand turns from others. Raises DefinitionError without both."""
    import numpy as np

    from simeval.stats.agreement import bootstrap_by_cluster
    from simeval.stats.logistic import roc_auc

    labels, given = np.array(_labels(turns), dtype=bool), np.array(scores)
    if labels.all() or not labels.any():
        raise DefinitionError("labelled turns", found="only one label", do="give turns of both")
    sessions = [turn.session for turn in turns]
    found = bootstrap_by_cluster(
        lambda rows: roc_auc(labels[rows], given[rows]), sessions, alpha=ALPHA, n_draws=RESAMPLES, seed=seed
    )
    differs = found.low < found.high
    called = given >= threshold
    hits = int((called & labels).sum())
    return Separation(
        auc=found.estimate,
        low=found.low if differs else nan,
        high=found.high if differs else nan,
        turns=len(turns),
        on_brand=int(labels.sum()),
        sessions=len({*sessions}),
        threshold=threshold,
        precision=hits / int(called.sum()) if called.any() else None,
        recall=hits / int(labels.sum()),
        accuracy=float((called == labels).mean()),
    )


def unseen(turns: Sequence[LabelledTurn], fitted: Sequence[LabelledTurn]) -> Sequence[LabelledTurn]:
    """Return the turns whose text and session were both unknown to a model when it was fitted."""
    texts, sessions = {_key(turn.text) for turn in fitted}, {turn.session for turn in fitted}
    return [turn for turn in turns if _key(turn.text) not in texts and turn.session not in sessions]


def _key(text: str) -> str:
    """Return a text without differences that do not matter: case and white space."""
    return " ".join(text.casefold().split())


def _by_rules(persona: Persona, turns: Sequence[LabelledTurn], seed: int) -> Separation | None:
    found = [traits_of(turn.text, persona) for turn in turns]
    if not found[0]:
        return None
    shares = [sum(each.matched for each in traits) / len(traits) for traits in found]
    return separation(turns, shares, threshold=0.5, seed=seed)


def _labels(turns: Sequence[LabelledTurn]) -> list[int]:
    return [int(turn.on_brand) for turn in turns]


def _require_enough(labels: Sequence[int], n_folds: int) -> None:
    counts = Counter(labels)
    if min(counts[0], counts[1]) < FEWEST or n_folds < 2:
        found = f"{counts[1]} turns on brand, {counts[0]} off, in folds of {n_folds}"
        do = f"label at least {FEWEST} of each, from several sessions; 50 to 100 of each are better"
        raise DefinitionError("labelled turns", found=found, do=do)


def _groups(turns: Sequence[LabelledTurn]) -> list[str]:
    """Return of each turn the name of its group: sessions that share a text, directly or through others, are one."""
    leader: dict[str, str] = {}

    def root(name: str) -> str:
        while leader.setdefault(name, name) != name:
            leader[name] = leader[leader[name]]
            name = leader[name]
        return name

    for turn in turns:
        leader[root(f"session {turn.session}")] = root(f"text {_key(turn.text)}")
    return [root(f"session {turn.session}") for turn in turns]


def _frequent(items: Sequence[Sequence[str]]) -> list[str]:
    counts = Counter(item for each in items for item in {*each})
    return sorted(item for item, count in counts.items() if count >= LEAST_TURNS)


def _present(items: Sequence[Sequence[str]], known: Sequence[str]) -> "NDArray[np.float64]":
    import numpy as np

    places = {item: place for place, item in enumerate(known)}
    table = np.zeros((len(items), len(known)))
    for row, each in enumerate(items):
        table[row, [places[item] for item in {*each} if item in places]] = 1.0
    return table


def _interval(found: Separation) -> list[float | None]:
    """Return the ends of an interval for JSON, which has no NaN."""
    return [None if isnan(end) else end for end in (found.low, found.high)]


def encode_separation(found: Separation) -> dict[str, Any]:
    """Return a separation in the form of the report."""
    others = {name: value for name, value in asdict(found).items() if name not in ("auc", "low", "high")}
    return {"roc_auc": found.auc, "interval": _interval(found), **others}


@exit_status
def calibrate_persona(
    *, persona: Path, labelled: Path, out: Path, test: Path | None, seed: int, json_path: str | None
) -> None:
    """Fit, measure, report and write the model; give the exit status."""
    for path in (str(out), json_path):
        require_writable(path, read=(persona, labelled, test))
    if json_path and Path(json_path).absolute() == out.absolute():
        raise DefinitionError("--json", found="the model is written there (--out)", do="name another file")
    brand = load_persona(persona)
    turns, skipped = read_turns(labelled)
    held_out = read_turns(test)[0] if test else None
    found = calibrate(brand, turns, seed=seed)
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
