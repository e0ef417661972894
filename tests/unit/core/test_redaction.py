"""Secrets are masked wherever they stand, and ordinary words are left alone."""

import json
import re
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.core.redaction import (
    MASK,
    Redactor,
    clean_values,
    is_secret_name,
    read_address,
    secret_options,
    traceback_of,
)
from simeval.errors import DefinitionError

BASE64 = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n{BASE64}\nAb12==\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"

KEYS = {
    "OpenAI": "sk-abcdefT3BlbkFJ0123456789abcdef0123456789",
    "OpenAI, project": "sk-proj-Ab1_cd-Ef2gHijklMnop345qrStuv_wXyz0123456789",
    "Anthropic": "sk-ant-api03-R2D2c3poAbCdEfGhIj-KlMnOpQr_AA",
    "OpenRouter": "sk-or-v1-0123456789abcdef0123456789abcdef",
    "AWS": "AKIAIOSFODNN7EXAMPLE",
    "AWS, for a while": "ASIAIOSFODNN7EXAMPLE",
    "GitHub": "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "GitHub, fine-grained": "github_pat_11ABCDEFG0123456789abc_0123456789abcdefghijklmnopqrstuvwxyz",
    "GitLab": "glpat-Ab12Cd34Ef56Gh78Ij90",
    "Google": "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY",
    "Google, OAuth": "ya29.a0AfH6SMBx-0123456789abcdef",
    "Slack": "xoxb-123456789012-1234567890123-AbCdEfGhIjKl0123MnOpQrSt",
    "Hugging Face": "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH",
    "Groq": "gsk_0123456789abcdefghijklmnop",
    "Mailgun": "key-3ax6xnjp29jd6fds4gc373sgvjxteol0",
    "Stripe": "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
    "JWT": JWT,
    "PEM": PEM,
    "PEM, quoted": json.dumps(PEM)[1:-1],
    "PEM, cut off": f"-----BEGIN PRIVATE KEY-----\n{BASE64}",
}
KEPT = {
    "Authorization: Bearer abcdefghijkl": f"Authorization: Bearer {MASK}",
    "'Authorization': 'Basic dXNlcjpwYXNz'": f"'Authorization': 'Basic {MASK}'",
    "bearer 0123456789abcdef.x/y==": f"bearer {MASK}",
    "postgresql://simeval:hunter2@db.example.com/runs": f"postgresql://simeval:{MASK}@db.example.com/runs",
    "redis://:p@ss%40word@cache:6379/0": f"redis://:{MASK}@cache:6379/0",
    "https://api.example.com/v1?api_key=0123456789abcdef&n=1": f"https://api.example.com/v1?api_key={MASK}&n=1",
    '{"access_token": "abcdefgh01234567"}': f'{{"access_token": "{MASK}"}}',
    "Incorrect API key: 0123456789abcdef0123": f"Incorrect API key: {MASK}",
    '{"user": "me", "password": "plumtree"}': f'{{"user": "me", "password": "{MASK}"}}',
    '{\\"password\\": \\"plumtree\\"}': f'{{\\"password\\": \\"{MASK}\\"}}',
    "connect(user='me', password='plumtree')": f"connect(user='me', password='{MASK}')",
    "no route: /rpc?token=plumtreehouse": f"no route: /rpc?token={MASK}",
}
ORDINARY = [
    "a key-value-storage-system and a task-tracking-system-for-teams",
    "sk-learn-something-else, pk-of-the-table, rk-fourth-order-method",
    "desk-1234567890 risk-assessment-2024-report",
    "key-performance-indicators and key_performance_indicators",
    "the standard bearer carried bearer instruments and bearer certificates",
    "a Basic understanding of authorization: required for everyone",
    "AKIAK is no key, and Asia is a continent; ASIATISCHE KUECHE",
    "https://example.com:8080/path@home?x=1 and mailto:someone@example.com, http://example.com/a:b",
    "ghp_short, hf_model_name_or_path_for_transformers, max_completion_tokens=1024",
    "eyJust a word.with a point, eyJ.a.b",
    "api_key=none, access_token: required, client_secret=undefined",
    """{"password": "required", "token": "Certainly", "password": "field required"}, a password: 'short'""",
    """Your first password: "Welcome-2024". The secret: 'returns-and-refunds', my password is "plumtree".""",
    "see https://shop.example.com/help?key=returns-and-refunds",
    "-----BEGIN PRIVATE KEY----- is how such a file begins. It ends in another line.",
    "0123456789abcdef0123456789abcdef is a checksum, 4111 1111 1111 1111 a card",
    "https://github.com/owner/repository/commit/aba8345d3f0c1e2b4a5d6c7e8f90123456789abc",
]


@pytest.fixture(autouse=True)
def _no_secrets_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.environ", {})


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS.keys())
@pytest.mark.parametrize("around", ["{}", "my key is {}, is it not?", '{{"key": "{}"}}', "error:\\n{}", "k={};"])
def test_what_has_the_shape_of_a_key_is_masked(key: str, around: str) -> None:
    if key.endswith(BASE64):
        around = around.replace(", is it not?", ".")

    assert Redactor().clean(around.format(key)) == around.format(MASK)


@pytest.mark.parametrize(("text", "masked"), KEPT.items())
def test_of_what_names_its_secret_only_the_secret_is_masked(text: str, masked: str) -> None:
    assert Redactor().clean(text) == masked


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_words_are_left_as_they_are(text: str) -> None:
    assert Redactor().clean(text) == text


@pytest.mark.parametrize("begin", ["sk-", "eyJ", "://a:", "bearer ", "api_key=", "-----BEGIN PRIVATE KEY-----", "a1-"])
def test_no_text_makes_the_search_endless(begin: str) -> None:
    texts = [begin * 100_000, begin + "a- " * 200_000, begin + "- a" * 200_000]

    assert [Redactor().clean(text) for text in texts] == texts


@given(st.lists(st.sampled_from([*KEYS.values(), *KEPT, *ORDINARY]), max_size=4))
def test_a_text_is_cleaned_at_once(parts: list[str]) -> None:
    once = Redactor().clean(" ".join(parts))

    assert Redactor().clean(once) == once


def test_the_query_of_a_models_address_in_the_environment_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = {
        "OPENAI_BASE_URL": "https://models.example/v1?sig=plum-tree-42",
        "OPENAI_API_BASE": "https://models.example/v1?sig=pear-tree-42",
        "AZURE_ENDPOINT": "https://models.example/v1?sig=fig-tree-4242",
        "DOCS_URL": "https://docs.example?page=first-page",
    }
    monkeypatch.setattr("os.environ", addresses)

    cleaned = Redactor.of([]).clean("plum-tree-42 pear-tree-42 fig-tree-4242 first-page")

    assert cleaned == f"{MASK} {MASK} {MASK} first-page"


@pytest.mark.parametrize("query", ["mode=customer", "lang=English", "env=production"])
def test_a_word_in_the_query_of_an_address_is_masked_there_and_not_in_conversations(query: str) -> None:
    name = query.partition("=")[0]

    assert read_address(f"https://bot.example/chat?{query}") == (f"https://bot.example/chat?{name}={MASK}", [])


@pytest.mark.parametrize("query", ["pw=swordfish", "auth=swordfish", "q=plum-tree", "q=aZbYcXdW", "q=letters" * 2])
def test_any_other_value_in_the_query_of_an_address_is_a_secret(query: str) -> None:
    name, _, value = query.partition("=")

    assert read_address(f"https://bot.example/chat?{query}") == (f"https://bot.example/chat?{name}={MASK}", [value])


def test_the_headers_of_a_collector_in_the_environment_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    headers = "x-team=plum%20tree%2042,authorization=Basic%20cGVhci10cmVl"
    monkeypatch.setattr("os.environ", {"OTEL_EXPORTER_OTLP_HEADERS": headers})

    cleaned = Redactor.of([]).clean("plum tree 42, cGVhci10cmVl")

    assert cleaned == f"{MASK}, {MASK}"


def test_a_traceback_shows_code_without_its_texts() -> None:
    def call(*given: object, **named: object) -> None:
        raise ExceptionGroup("refused", [ValueError("no such key")])

    with pytest.raises(ExceptionGroup) as raised:
        call("x", len("y"), 'plum-tree-42', key=f"pear\"tree{1}", place="a/b")  # fmt: skip

    text = traceback_of(raised.value)

    assert 'call("x", len("y"), …, key=f…, place="a/b")' in text
    assert "ValueError: no such key" in text
    assert not any(secret in text for secret in ("plum", "pear", "~~~", "^^^"))


def test_the_values_of_options_and_of_the_environments_secrets_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.environ", {"SHOP_TOKEN": "swordfish!", "API_KEY_2": "open sesame", "HOME": "/home/someone"})

    redactor = Redactor.of(["first secret"])

    assert redactor.clean("first secret, swordfish!, open sesame, /home/someone") == (
        f"{MASK}, {MASK}, {MASK}, /home/someone"
    )


def test_a_longer_secret_is_masked_before_one_that_it_contains() -> None:
    assert Redactor.of(["password1", "password1234"]).clean("password1234") == MASK


@pytest.mark.parametrize("value", ["", None, "short", "postgres", "CHANGEME", "not-needed"])
def test_short_values_and_placeholders_are_no_secrets(value: str | None) -> None:
    assert Redactor.of([value]).clean(f"it is {value} here") == f"it is {value} here"


def test_a_secret_is_found_as_json_and_urls_write_it() -> None:
    secret = 'p@ss/"wörd"\\1'
    redactor = Redactor.of([secret])

    texts = [secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], quote(secret, safe="")]

    assert [redactor.clean(text) for text in texts] == [MASK] * 4


def test_a_redactor_does_not_show_what_it_knows() -> None:
    assert "correct-horse" not in repr(Redactor.of(["correct-horse-battery"]))


def test_secret_options_are_those_with_a_secret_name_and_headers_with_what_stands_behind_their_scheme() -> None:
    options = {
        "api_key": "k1",
        "max_tokens": 100,
        "extra_body": {"client_secret": "k2", "n": 1},
        "extra_headers": {"Authorization": "Bearer k3", "Content-Type": "application/json"},
        "extra_query": {"team": "k4"},
    }

    assert secret_options(options) == ["k1", "k2", "Bearer k3", "k3", "k4"]


def test_a_word_that_a_variable_of_the_environment_sets_is_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {
        "REQUIRE_AUTH": "required",
        "LICENSE": "accepted",
        "DB_PASS": "plumtree",
        "SHOP_AUTH": "me:plum-tree",
    }
    monkeypatch.setattr("os.environ", environment)

    cleaned = Redactor.of([]).clean("It is required and accepted, me:plum-tree by plumtree.")

    assert cleaned == f"It is required and accepted, {MASK} by {MASK}."


@pytest.mark.parametrize("name", ["DB_PASS", "dbPass", "GITHUB_PAT", "DB_PWD", "SHOP_AUTH", "SENTRY_DSN", "api_key_2"])
def test_the_last_word_of_a_name_marks_a_secret(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["PWD", "OLDPWD", "COMPASS", "bypass", "format", "author", "max_tokens", "keyboard"])
def test_a_name_that_only_ends_like_a_secret_is_none(name: str) -> None:
    assert not is_secret_name(name)


class TestPatterns:
    """Secrets that only the user knows the shape of."""

    @pytest.mark.parametrize("pattern", [r"ACME-\d{4}", re.compile(r"acme-\d{4}", re.IGNORECASE)])
    def test_what_matches_a_pattern_is_masked(self, pattern: str | re.Pattern[str]) -> None:
        redactor = Redactor.of([], patterns=[r"badge \w+", pattern])

        assert redactor.clean("badge 7a, ACME-1234 and ACME-12") == f"{MASK}, {MASK} and ACME-12"

    def test_a_pattern_that_matches_nothing_but_a_place_masks_nothing(self) -> None:
        assert Redactor.of([], patterns=[r"\b"]).clean("one two") == "one two"

    @pytest.mark.parametrize("pattern", ["(", "[a-", "*", "(?P<x>a)(?P<x>b)", "a{99999999999}"])
    def test_what_is_no_regular_expression_is_refused_by_name(self, pattern: str) -> None:
        with pytest.raises(DefinitionError, match=re.escape(f"secret pattern {pattern!r}: it is no regular")):
            Redactor.of([], patterns=[pattern])

    @pytest.mark.parametrize("pattern", ["", "x*", "(a|)", "$"])
    def test_a_pattern_that_matches_the_empty_text_is_refused(self, pattern: str) -> None:
        with pytest.raises(DefinitionError, match="matches the empty text"):
            Redactor.of([], patterns=[pattern])

    def test_a_pattern_of_bytes_is_refused(self) -> None:
        pattern: Any = re.compile(b"x")

        with pytest.raises(DefinitionError, match="found bytes"):
            Redactor.of([], patterns=[pattern])


class TestValues:
    """Values that hold texts at any depth."""

    CLEAN = staticmethod(Redactor.of(["correct-horse-battery"]).clean)

    def test_every_text_is_masked_names_too(self) -> None:
        value = {"a": ["correct-horse-battery", ("x", {"correct-horse-battery": 1})]}

        assert clean_values(value, self.CLEAN) == {"a": [MASK, ["x", {MASK: 1}]]}

    def test_numbers_stay_numbers(self) -> None:
        assert clean_values([1, 2.5, True, None, Decimal(1)], self.CLEAN) == [1, 2.5, True, None, Decimal(1)]

    def test_what_is_neither_text_nor_number_becomes_a_clean_text(self) -> None:
        class Client:
            def __repr__(self) -> str:
                return "Client(correct-horse-battery)"

        assert clean_values({"client": Client()}, self.CLEAN) == {"client": f"Client({MASK})"}
