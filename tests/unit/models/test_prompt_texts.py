"""The texts of prompts: one file each, with a version; a user's takes its place where it has the same placeholders."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, get_args

import pytest

from simeval.core.setting_field import UserFormat
from simeval.errors import DefinitionError
from simeval.extras.proposals.proposing import ProposalRequest
from simeval.models.protocol.model import LEVELS, Reply
from simeval.models.protocol.prompt_texts import DATA_NOTICE, Prompt, all_prompts, built_in, prompt_names, source_of
from simeval.models.protocol.prompts import (
    AttackTurn,
    AuditRequest,
    CriteriaRequest,
    GradeRequest,
    LabelGradeRequest,
    LabelRulingRequest,
    RubricRequest,
    UserTurn,
)
from tests.support.records import conversation

Asked = (
    AuditRequest
    | CriteriaRequest
    | GradeRequest
    | LabelGradeRequest
    | LabelRulingRequest
    | ProposalRequest
    | RubricRequest
    | UserTurn
)
USER = source_of("user")

# What models read by each version: where a text or its rendering is changed, raise the version in its file, and then
# write both here.
READ = {
    "attack": ("2", "f469f5774346"),
    "audit": ("4", "7dd42ba0b876"),
    "criteria": ("3", "87be27a29419"),
    "judge": ("5", "b6fdee7135ab"),
    "criterion_label": ("3", "0fe441e5e72b"),
    "judge_label": ("3", "f4b2225f4e50"),
    "proposal": ("1", "6447d48136ee"),
    "rubric": ("3", "8ae73526ccec"),
    "user": ("4", "fe8b31208aa8"),
}


def rendered() -> Mapping[str, str]:
    said = conversation("hi", "a & <b>").messages
    rated: dict[str, Any] = {
        "given": "G",
        "when": "W",
        "expected_behavior": "E",
        "levels": dict.fromkeys(LEVELS, "L"),
        "conversation": said,
        "seed": 1,
    }
    requests: list[Asked] = [
        AuditRequest(given="G", when="W", expected="E", conversation=said, ended="gave_up", seed=1),
        CriteriaRequest(given="G", when="W", criteria={"1": "C"}, reply=Reply, conversation=said, seed=1),
        GradeRequest(**rated),
        LabelGradeRequest(**rated),
        LabelRulingRequest(given="G", when="W", criterion="C", conversation=said, seed=1),
        RubricRequest(given="G", when="W", expected_behavior="E"),
        ProposalRequest(source="S & <b>", count=2, known=("K",)),
        AttackTurn(given="G", when="W", writing_style=None, history=(), seed=1),
        *(
            AttackTurn(given="G", when="W", writing_style=None, history=said, seed=1, refused=("R",), format=format)
            for format in get_args(UserFormat)
        ),
        UserTurn(given="G", when="W", writing_style={"tone": "T"}, history=(), seed=1),
        *(
            UserTurn(given="G", when="W", writing_style=None, history=said, seed=1, is_held=held, format=format)
            for held in (True, False)
            for format in get_args(UserFormat)
        ),
    ]
    found: dict[str, str] = {}
    for each in requests:
        found[each.prompt.name] = found.get(each.prompt.name, "") + repr(each.messages())
    return found


def test_what_models_read_changes_with_the_version_of_a_prompt_only() -> None:
    read = {name: sha256(text.encode()).hexdigest()[:12] for name, text in rendered().items()}

    assert {name: (built_in(name).version, read[name]) for name in prompt_names()} == READ


def test_no_prompt_has_a_placeholder_that_nothing_fills() -> None:
    for text in rendered().values():
        assert not [
            name for name in ("given", "when", "expected", "conversation", "data_notice") if f"{{{name}}}" in text
        ]


def test_a_printed_prompt_that_is_given_back_is_the_same() -> None:
    for name, prompt in all_prompts({name: source_of(name) for name in prompt_names()}).items():
        assert prompt is built_in(name)


def test_a_prompt_of_the_users_is_known_by_its_text(tmp_path: Path) -> None:
    file = tmp_path / "mine.md"
    file.write_text(USER.replace("Write only your", "Write, in French, only your"), encoding="utf-8")

    of_a_file = all_prompts({"user": file})["user"]
    of_a_text = all_prompts({"user": file.read_text(encoding="utf-8")})["user"]
    other = all_prompts({"user": USER.replace("Write only your", "Write, in German, only your")})["user"]

    assert of_a_file == of_a_text
    assert len({of_a_file.identity, other.identity, built_in("user").identity}) == 3
    assert "in French" in of_a_file.parts["system"]


def test_its_head_does_not_count() -> None:
    without_head = USER[USER.index("# system") :]

    assert all_prompts({"user": without_head})["user"] is built_in("user")


def test_a_paragraph_for_which_there_is_nothing_is_left_out_and_other_braces_stay() -> None:
    prompt = Prompt(
        name="p", version="1", purpose="", parts={"user": 'One {a}.\n\nTwo {b}.\n\n{"key": {}} {data_notice}'}
    )

    assert prompt.render("user", a="<a/>", b=None) == f'One <a/>.\n\n{{"key": {{}}}} {DATA_NOTICE}'
    assert prompt.render("user", a="{b}", b="{a}").startswith("One {b}.\n\nTwo {a}.")


def test_an_optional_placeholder_may_be_left_out_and_no_other() -> None:
    assert all_prompts({"user": USER.replace("{writing_style}", "as they like")})["user"].version == ""
    with pytest.raises(DefinitionError, match=r"^prompt user: \{given\} is missing; put it where its text belongs"):
        all_prompts({"user": USER.replace("{given}", "someone")})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            USER + "{goal}",
            r"^prompt user: there is no placeholder \{goal\} in its part 'free'; ",
        ),
        (
            USER.replace("# opener\n", "# opener\n{given}"),
            r"no placeholder \{given\} in its part 'opener'; ",
        ),
        (USER.replace("# opener", "# later"), r"^prompt user: there is no part 'opener'; add a line '# opener'"),
        ("# system\n{given}\n# held\n", r"^prompt user: there is no part 'json'"),
    ],
)
def test_a_text_that_cannot_take_its_place_is_refused(text: str, problem: str) -> None:
    with pytest.raises(DefinitionError, match=problem):
        all_prompts({"user": text})


def test_an_unknown_prompt_and_an_unreadable_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "binary.md").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(DefinitionError, match=r"^prompts: there is no prompt 'usr'; did you mean 'user'"):
        all_prompts({"usr": USER})
    with pytest.raises(DefinitionError, match=r"^prompt user: .*none\.md: it cannot be read \(No such file"):
        all_prompts({"user": tmp_path / "none.md"})
    with pytest.raises(DefinitionError, match=r"it cannot be read \(it is not UTF-8\)"):
        all_prompts({"user": tmp_path / "binary.md"})


def test_every_prompt_stands_in_the_guide() -> None:
    page = (Path(__file__).parents[3] / "docs" / "guides" / "prompts.md").read_text(encoding="utf-8")

    assert not [name for name in prompt_names() if f"`{name}`" not in page]
