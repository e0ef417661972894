"""Calibration of a persona's traits: labelled turns in, a model and what it is worth out."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from simeval.errors import DefinitionError
from simeval.extras.brand.authenticity import Authenticity
from simeval.extras.brand.calibration import (
    LabelledTurn,
    calibrate,
    encode_separation,
    fit_traits,
    read_turns,
    separation,
    unseen,
)
from simeval.extras.brand.persona import Persona
from simeval.extras.brand.traits import load_traits
from tests.support.command_line import simeval
from tests.support.golden import rows_of

pytestmark = pytest.mark.anyio

PERSONA = Persona(id="a", tone=["friendly"], formality="casual")
THINGS = ["order", "parcel", "refund", "table", "flight", "ticket", "room", "invoice", "bike", "lamp", "phone", "sofa"]


def turns(number: int = 12) -> list[LabelledTurn]:
    """Return turns of two a session, whose voice is plain to see but whose subjects differ."""
    chosen = THINGS[:number]
    on = [LabelledTurn(text=f"hey bestie, ur {it} is on its way!! 🔥", on_brand=True, session=it) for it in chosen]
    off = [LabelledTurn(text=f"We regret to inform you of the {it}.", on_brand=False, session=it) for it in chosen]
    return [*on, *off]


def written(folder: Path, name: str, rows: list[Any]) -> Path:
    path = folder / name
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def test_turns_that_can_be_told_apart_are_on_sessions_that_were_held_out() -> None:
    found = calibrate(PERSONA, turns())

    assert found.cross_validated.auc == 1.0
    assert found.cross_validated.accuracy == 1.0
    assert found.misjudged() == []
    assert found.model.report["cross_validated_auc"] == 1.0


def test_labels_that_mean_nothing_are_not_told_apart_on_held_out_sessions() -> None:
    coin = [1, 0, 0, 1, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 1, 0, 1, 0]
    meaningless = [
        LabelledTurn(text=f"Your {turn.session} is ready. {turn.text[:3]}", on_brand=bool(label), session=turn.session)
        for turn, label in zip(turns(), coin, strict=True)
    ]

    found = calibrate(PERSONA, meaningless)

    assert found.cross_validated.auc < 0.75
    assert found.misjudged()


def test_the_same_turns_and_seed_give_the_same_model_and_figures() -> None:
    first, second = calibrate(PERSONA, turns(), seed=4), calibrate(PERSONA, turns(), seed=4)

    assert first == second


def test_what_stands_in_one_turn_alone_gets_no_weight() -> None:
    model = fit_traits(PERSONA, turns())

    assert {"bestie", "regret", *THINGS} <= model.tokens.keys()
    assert "hey bestie" in model.phrases
    assert not {f"the {it}" for it in THINGS} & model.phrases.keys()


def test_sessions_that_share_a_text_are_held_out_together() -> None:
    shared = [LabelledTurn(text="so sweet of you", on_brand=True, session=f"s{place}") for place in range(6)]

    found = calibrate(PERSONA, [*shared, *turns()])

    assert len({*found.held_out[:6]}) == 1  # one model, which none of them was in, has judged them all
    assert "sweet" in found.model.tokens


@pytest.mark.parametrize(
    ("labelled", "said"),
    [(turns(9), "9 turns on brand, 9 off"), (turns()[:12], "12 turns on brand, 0 off")],
)
def test_too_few_turns_are_refused(labelled: list[LabelledTurn], said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        calibrate(PERSONA, labelled)


def test_turns_of_one_session_are_refused() -> None:
    one = [LabelledTurn(text=turn.text, on_brand=turn.on_brand, session="only") for turn in turns()]

    with pytest.raises(DefinitionError, match="from several sessions"):
        calibrate(PERSONA, one)


def test_a_separation_says_what_is_called_on_brand() -> None:
    labelled = turns(2)

    found = separation(labelled, [0.9, 0.2, 0.6, 0.1], threshold=0.5)

    assert found.auc == pytest.approx(0.75)
    assert (found.precision, found.recall, found.accuracy) == (0.5, 0.5, 0.5)
    with pytest.raises(DefinitionError, match="only one label"):
        separation(labelled[:2], [0.1, 0.2], threshold=0.5)


def test_lines_are_read_with_the_labels_people_write(tmp_path: Path) -> None:
    labels = [1, 0, True, False, "on", "Off-brand", "1", None, ""]
    rows = [{"text": f"t{place}", "label": label, "session_id": place // 2} for place, label in enumerate(labels)]
    plain = written(tmp_path, "turns.jsonl", [*rows, {"text": "no label", "role": "user"}])
    packed = tmp_path / "turns.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))

    found, unlabelled = read_turns(plain)

    assert [turn.on_brand for turn in found] == [True, False, True, False, True, False, True]
    assert [turn.session for turn in found][:3] == ["0", "0", "1"]
    assert unlabelled == 3
    assert read_turns(packed) == (found, unlabelled)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2: it is not JSON"),
        ("[1]", "line 2: found"),
        ('{"text": "x", "label": 2}', "line 2, label: found 2"),
        ('{"text": "x", "label": [1]}', "line 2, label"),
        ('{"text": " ", "label": 1}', "line 2, text"),
        ('{"label": 1}', "line 2, text"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(line: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_text(f'{{"text": "x", "label": 1}}\n{line}\n')

    with pytest.raises(DefinitionError, match=said):
        read_turns(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    whole = gzip.compress(b"".join(b'{"text": "%d"}\n' % number for number in range(1000)))
    (tmp_path / "broken.jsonl.gz").write_bytes(whole[:-9])

    with pytest.raises(DefinitionError, match=r"none\.jsonl: it cannot be read"):
        read_turns(tmp_path / "none.jsonl")
    with pytest.raises(DefinitionError, match=r"line \d+: the file is damaged from here on"):
        read_turns(tmp_path / "broken.jsonl.gz")


def test_turns_that_a_model_was_fitted_to_are_no_test_of_it() -> None:
    labelled = turns(3)

    assert unseen(labelled, labelled[:2]) == [labelled[2], labelled[5]]


def test_case_and_white_space_make_no_unseen_turn_of_one_a_model_was_fitted_to() -> None:
    labelled = turns(3)
    again = LabelledTurn(text=f" {labelled[0].text.upper().replace(' ', '  ')}\n", on_brand=True, session="other")

    assert unseen([again], labelled) == []


def test_a_session_that_is_null_gives_way_to_the_session_id(tmp_path: Path) -> None:
    rows = [{"text": text, "label": "on", "session": None, "session_id": "s1"} for text in "ab"]

    found, _ = read_turns(written(tmp_path, "turns.jsonl", rows))

    assert [turn.session for turn in found] == ["s1", "s1"]


def test_lines_and_models_nested_too_deep_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "nested.json"
    path.write_text("[" * 100_000)

    with pytest.raises(DefinitionError, match="line 1: it is nested too deeply"):
        read_turns(path)
    with pytest.raises(DefinitionError, match="name a file that"):
        load_traits(path)


def test_a_weight_no_float_can_hold_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "traits.json"
    path.write_text(json.dumps({"format": "simeval persona traits 1", "persona": "a", "bias": 10**400}))

    with pytest.raises(DefinitionError, match="name a file that"):
        load_traits(path)


def test_one_session_has_no_interval_and_json_says_null() -> None:
    both = [LabelledTurn(text="a", on_brand=True, session="s"), LabelledTurn(text="b", on_brand=False, session="s")]

    found = encode_separation(separation(both, [0.9, 0.1], threshold=0.5))

    assert found["interval"] == [None, None]
    assert json.dumps(found, allow_nan=False)


def test_a_test_file_that_was_seen_whole_keeps_no_model_from_being_written(tmp_path: Path) -> None:
    (tmp_path / "persona.yaml").write_text("id: a\ntraits: {tone: [friendly]}\n")
    rows = [{"text": turn.text, "label": int(turn.on_brand), "session": turn.session} for turn in turns()]
    written(tmp_path, "turns.jsonl", rows)

    arguments = [
        "persona.yaml",
        "turns.jsonl",
        "--out",
        "traits.json",
        "--test",
        "turns.jsonl",
        "--json",
        "report.json",
    ]
    done = simeval(tmp_path, "persona", "calibrate", *arguments)

    assert done.returncode == 0, done.stderr
    assert (
        "not measured, the turns left have not both labels; left out, as their text or session was fitted to: 24 turns"
        in done.stdout
    )
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["test"], report["test_turns_left_out"]) == (None, 24)
    assert load_traits(tmp_path / "traits.json").tokens


async def test_the_command_writes_a_model_that_authenticity_loads(tmp_path: Path) -> None:
    persona = tmp_path / "persona.yaml"
    persona.write_text("id: a\nexamples: [hey]\ntraits: {tone: [friendly], formality: casual}\n")
    rows = [{"text": turn.text, "label": int(turn.on_brand), "session": turn.session} for turn in turns()]
    labelled = written(tmp_path, "turns.jsonl", rows)
    more = [{"text": "hey ur sofa tho 🔥", "label": "on"}, {"text": "We regret the delay.", "label": "off"}, rows[0]]
    test = written(tmp_path, "test.jsonl", more)

    arguments = [str(persona), str(labelled), "--out", "traits.json", "--test", str(test), "--json", "report.json"]
    done = simeval(tmp_path, "persona", "calibrate", *arguments)

    assert done.returncode == 0, done.stderr
    assert "held-out sessions:  ROC-AUC 1.000" in done.stdout
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["test"]["turns"], report["test_turns_left_out"]) == (2, 1)
    model = load_traits(tmp_path / "traits.json")
    found = await Authenticity(persona=persona, traits=model, weights={"traits": 1}).score(output="hey bestie 🔥")
    assert found["authenticity"] == model.probability("hey bestie 🔥")
    assert model.probability("hey bestie 🔥") > 0.5 > model.probability("We regret the delay.")


@pytest.mark.parametrize("taken", ["persona.yaml", "turns.jsonl", "test.jsonl"])
def test_what_people_wrote_is_not_written_over(taken: str, tmp_path: Path) -> None:
    (tmp_path / "persona.yaml").write_text("id: a\nexamples: [hey]\n")
    rows = [{"text": turn.text, "label": int(turn.on_brand), "session": turn.session} for turn in turns()]
    for name in ("turns.jsonl", "test.jsonl"):
        written(tmp_path, name, rows)
    before = (tmp_path / taken).read_text()

    arguments = ["persona", "calibrate", "persona.yaml", "turns.jsonl", "--test", "test.jsonl"]
    done = [simeval(tmp_path, *arguments, *where) for where in (("--out", taken), ("--out", "t.json", "--json", taken))]

    assert [each.returncode for each in done] == [2, 2]
    assert all("this file is read by the same command; name another file" in each.stderr for each in done)
    assert (tmp_path / taken).read_text() == before


def test_turns_that_are_told_apart_whole_have_no_interval() -> None:
    found = [LabelledTurn(text=f"t{n}", on_brand=n % 2 == 0, session=f"s{n}") for n in range(20)]

    whole = separation(found, [1.0 if each.on_brand else 0.0 for each in found], threshold=0.5)

    assert encode_separation(whole)["interval"] == [None, None]
    assert "ROC-AUC 1.000 [no interval: no resample differs] on 20 turns of 20 sessions" in str(whole)


def test_a_mistake_ends_the_command_with_2(tmp_path: Path) -> None:
    done = simeval(tmp_path, "persona", "calibrate", "none.yaml", "none.jsonl", "--out", "traits.json")

    assert done.returncode == 2
    assert "none.yaml, line 1: it cannot be read" in done.stderr
    assert not (tmp_path / "traits.json").exists()


def test_a_real_voice_is_told_apart_on_sessions_that_were_held_out() -> None:
    rows = [row for row in rows_of("public_wendys_voice") if "label" in row]
    labelled = [LabelledTurn(text=row["text"], on_brand=row["label"] == 1, session=row["session_id"]) for row in rows]

    found = calibrate(PERSONA, labelled)

    assert found.by_rules is not None
    assert found.by_rules.auc < 0.75
    assert 0.9 < found.cross_validated.auc < 1.0  # a model measured on what it was fitted to has 1.0
