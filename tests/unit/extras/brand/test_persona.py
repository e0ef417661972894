"""Personas: read from YAML by two sets of names, and checked."""

from pathlib import Path

import pytest

from simeval.errors import DefinitionError, SuiteFileError
from simeval.extras.brand.persona import Persona, Policy, as_persona, load_persona

OURS = """
id: atlas
name: Atlas
examples: [Happy to look into that., Let's fix it.]
lexicon:
  preferred: [baseline, happy to help]
  avoided: [lol]
traits: {formality: business_casual, tone: [friendly, professional], verbosity: concise}
safety:
  policies:
    - {name: competitors, severity: low, phrases: [Acme], patterns: ['acme\\.com']}
  topics: [politics]
"""
DOCUMENTED = """
id: atlas
name: Atlas
description: Friendly and to the point
voice:
  tone: friendly
  formality: business_casual
  lexicon: {preferred: [baseline], avoided: [lol]}
examples: [Happy to look into that.]
"""
ACTUAL = """
qid: atlas
display_name: Atlas
exemplars: [Happy to look into that.]
lexicon: {preferred: [baseline], avoid: [lol]}
safety_rules: {disallowed_topics: [politics]}
brand_notes: for people
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "persona.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def refused(folder: Path, text: str) -> SuiteFileError:
    with pytest.raises(SuiteFileError) as caught:
        load_persona(written(folder, text))
    return caught.value


def test_a_persona_is_read_with_all_it_says(tmp_path: Path) -> None:
    persona = load_persona(written(tmp_path, OURS))

    assert (persona.id, persona.name, list(persona.examples)[1]) == ("atlas", "Atlas", "Let's fix it.")
    assert (list(persona.preferred), list(persona.avoided)) == (["baseline", "happy to help"], ["lol"])
    assert (persona.formality, list(persona.tone), persona.verbosity) == (
        "business_casual",
        ["friendly", "professional"],
        "concise",
    )
    assert persona.policies[0] == Policy(name="competitors", severity="low", phrases=["Acme"], patterns=[r"acme\.com"])
    assert list(persona.topics) == ["politics"]


@pytest.mark.parametrize("text", [DOCUMENTED, ACTUAL])
def test_the_names_of_alignmenters_documents_and_files_are_read_too(text: str, tmp_path: Path) -> None:
    persona = load_persona(written(tmp_path, text))

    assert (persona.id, persona.name, list(persona.examples)) == ("atlas", "Atlas", ["Happy to look into that."])
    assert (list(persona.preferred), list(persona.avoided)) == (["baseline"], ["lol"])


def test_all_mistakes_of_a_file_are_told_and_the_names_it_may_have_once(tmp_path: Path) -> None:
    path = tmp_path / "persona.yaml"
    path.write_text("id: a\nmotto: x\ntraits:\n  tones: [friendly]\ncolour: red\n")

    with pytest.raises(SuiteFileError) as raised:
        load_persona(path)

    told = [each.partition("persona.yaml, ")[2] for each in str(raised.value).splitlines()]
    assert told == [
        "line 2, field motto: there is no field 'motto'; use one of id, name, description, notes, examples, lexicon, "
        "traits, voice, safety.",
        "line 4, field traits.tones: there is no field 'tones'; did you mean 'tone'?",
        "line 5, field colour: there is no field 'colour'; use one of those listed above.",
    ]


def test_a_tone_that_no_detector_has_is_kept_and_named() -> None:
    persona = Persona(id="atlas", tone=["friendly", "helpful"])

    assert persona.unmeasured == ("helpful",)


@pytest.mark.parametrize(
    ("text", "line", "field", "said"),
    [
        ("id: a\nexample: [x]\n", 2, "example", "there is no field 'example'; did you mean 'examples'?"),
        ("id: a\nlexicon:\n  preferred: [x]\n  banned: [y]\n", 4, "lexicon.banned", "there is no field 'banned'"),
        ("name: a\n", 1, "id", "the field is missing"),
        ("id: a\ntraits: {formality: stiff}\n", 2, "traits.formality", "found 'stiff'"),
        ("id: a\nexamples:\n  - x\n  - ''\n", 4, "examples.1", "found ''"),
        ("id: a\nsafety:\n  policies:\n    - {name: p, phrases: ['x'], severity: huge}\n", 4, None, "found 'huge'"),
        ("id: a\nsafety:\n  policies:\n    - {name: p, patterns: ['(']}\n", 4, None, "correct the regular expression"),
        ("id: a\nsafety:\n  policies:\n    - {name: p, patterns: ['x*']}\n", 4, None, "matches some text"),
        ("id: a\nsafety:\n  policies:\n    - {name: p}\n", 4, None, "give phrases or patterns"),
        (
            "id: a\nlexicon: {preferred: [Fresh], avoided: [fresh]}\n",
            2,
            "lexicon.avoided",
            "as preferred or as avoided",
        ),
        ("id: a\ntraits: {tone: [freindly]}\n", 2, "traits.tone.0", "did you mean friendly?"),
        ("id: a\nvoice:\n  tone: freindly\n", 3, "voice.tone", "did you mean friendly?"),
        (
            "id: a\nsafety:\n  policies:\n    - {name: p, phrases: [x]}\n    - {name: p, phrases: [y]}\n",
            4,
            "safety.policies",
            "give each a name of its own",
        ),
        (
            "id: a\nsafety:\n  policies:\n    - {name: p, patterns: ['a{99999999999999}']}\n",
            4,
            None,
            "correct the regular",
        ),
        ("id: !!bool maybe\n", 1, "", "this is not YAML"),
        ("id: !!int ''\n", 1, "", "this is not YAML"),
        ("id: a\ntraits: {tone: [friendly]}\nvoice: {tone: [friendly]}\n", 1, "", "traits and voice"),
        ("id: a\nexamples: [x]\nexemplars: [y]\n", 3, "", "'examples' is written twice"),
        ("", 1, "", "the file is empty"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_field(
    text: str, line: int, field: str | None, said: str, tmp_path: Path
) -> None:
    error = refused(tmp_path, text)

    assert said in str(error)
    assert error.line == line
    assert field is None or error.field == field


def test_an_unknown_field_is_answered_with_those_there_are(tmp_path: Path) -> None:
    error = refused(tmp_path, "id: a\nzzz: 1\n")

    assert all(name in error.do for name in ("examples", "lexicon", "traits", "voice", "safety"))


def test_policies_of_one_name_are_refused() -> None:
    policy = Policy(name="p", severity="low", phrases=["x"])

    with pytest.raises(DefinitionError, match="give each a name of its own"):
        Persona(id="a", policies=[policy, policy])


def test_a_pattern_nested_too_deep_is_refused() -> None:
    with pytest.raises(DefinitionError, match="correct the regular expression"):
        Policy(name="p", severity="low", patterns=[f"{'(' * 3000}a{')' * 3000}"])


def test_what_is_no_policy_is_refused() -> None:
    with pytest.raises(DefinitionError, match="give a list of Policy"):
        Persona(id="a", policies=["x"])  # type: ignore[list-item]


def test_a_persona_is_given_as_itself_or_by_its_path(tmp_path: Path) -> None:
    persona = Persona(id="atlas")

    assert as_persona(persona) is persona
    assert as_persona(str(written(tmp_path, OURS))).id == "atlas"
    with pytest.raises(DefinitionError, match="give a Persona, or the path"):
        as_persona(3)
