"""Options by role: a key or an address given to one role is never another's."""

import pytest

from simeval.core.run_records import Ledger, ReplyRecord
from simeval.core.settings import Settings
from simeval.errors import DefinitionError
from simeval.models.caller import ReplyCache
from simeval.models.protocol.prompts import ChatRequest, UserTurn
from simeval.models.registry import Models
from tests.support.chat_server import chat_server, said

pytestmark = pytest.mark.anyio

HELLO = ChatRequest(history=[{"role": "user", "content": "hi"}])
NAME = "openai-compatible/small"


async def test_each_role_asks_at_its_own_address_also_by_one_name() -> None:
    async with chat_server(lambda _: said("judge")) as judges, chat_server(lambda _: said("app")) as apps:
        settings = Settings(
            judge_options={"api_base": judges.base_url, "top_p": 0.1}, app_options={"api_base": apps.base_url}
        )
        models = Models(settings)
        models.open()
        texts = [
            await models.caller(models.get(NAME, role), Ledger(), role=role).text(HELLO) for role in ("judge", "app")
        ]
        await models.close()

    assert texts == ["judge", "app"]
    assert [body.get("top_p") for body in (*judges.bodies, *apps.bodies)] == [0.1, None]


def test_roles_at_one_address_share_one_model_with_its_limits() -> None:
    models = Models(Settings(model_options={"api_base": "http://x/v1"}, judge_options={"max_tokens": 9}))

    assert models.get(NAME, "judge") is models.get(NAME, "user") is models.get(NAME, "app")


class Shelf(dict[str, ReplyRecord]):
    """Replies that are kept by their keys."""

    def reply(self, key: str) -> ReplyRecord | None:
        return self.get(key)

    async def keep(self, reply: ReplyRecord) -> None:
        self[reply.key] = reply


async def test_a_user_at_the_judges_address_is_never_answered_from_the_cache_of_another_server() -> None:
    turn = UserTurn(given="A user", when="They ask", writing_style=None, history=[], seed=1, format="text")
    shelf, texts = Shelf(), []
    async with chat_server(lambda _: said("from A")) as first, chat_server(lambda _: said("from B")) as second:
        for server in (first, second, first):
            models = Models(Settings(judge_options={"api_base": server.base_url}))
            models.open()
            cache = ReplyCache(shelf=shelf, note=shelf.keep, ledger=Ledger(), clean=str)
            texts.append(await models.caller(models.get(NAME, "judge"), Ledger(), cache, role="user").text(turn))
            await models.close()

    assert texts == ["from A", "from B", "from A"]
    assert (len(first.bodies), len(second.bodies)) == (1, 1)


@pytest.mark.parametrize("option", ["api_key", "api_base", "organization", "extra_headers"])
async def test_a_key_or_address_for_all_is_refused_where_two_providers_would_get_it(option: str) -> None:
    models = Models(Settings(model_options={option: "http://x/v1"}))
    models.get("openai/gpt-5-nano", "judge")
    models.get("anthropic/claude-haiku-4-5", "user")

    with pytest.raises(DefinitionError, match=rf"'{option}': it would go to several providers: .*--judge-option"):
        await models.check()


async def test_a_roles_key_is_refused_where_that_role_has_models_of_two_providers() -> None:
    models = Models(Settings(judge_options={"api_key": "k"}))
    models.get("openai/gpt-5-nano", "judge")
    models.get("mistral/mistral-small", "judge")

    with pytest.raises(DefinitionError, match="judge option 'api_key': it would go to several providers: mistral/"):
        await models.check()


@pytest.mark.parametrize(
    "settings",
    [
        Settings(judge_options={"api_key": "k1"}, user_options={"api_key": "k2"}),
        Settings(model_options={"temperature": 1}),
        Settings(model_options={"api_key": "k1"}, user_options={"api_key": "k2"}),
    ],
)
async def test_options_that_reach_one_provider_each_are_taken(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    models = Models(settings)
    models.get("openai/gpt-5-nano", "judge")
    models.get("anthropic/claude-haiku-4-5", "user")
    models.get("offline/app", "app")

    await models.check()


async def test_both_roads_to_openais_protocol_are_one_provider() -> None:
    models = Models(Settings(model_options={"api_base": "http://x/v1"}))
    models.get("openai/small", "judge")
    models.get(NAME, "user")

    await models.check()


@pytest.mark.parametrize("role", ["model", "judge", "user", "app"])
def test_what_simeval_sets_itself_is_refused_for_every_role(role: str) -> None:
    with pytest.raises(DefinitionError, match="'seed': simeval sets this itself"):
        Models(Settings().overridden({f"{role}_options": {"seed": 1}}))


@pytest.mark.parametrize("role", ["model", "judge", "user"])
def test_only_an_app_may_be_asked_for_a_stream(role: str) -> None:
    Models(Settings(app_options={"stream": True}))
    with pytest.raises(DefinitionError, match="'stream': simeval sets this itself"):
        Models(Settings().overridden({f"{role}_options": {"stream": True}}))


@pytest.mark.parametrize("role", ["model", "judge", "user", "app"])
def test_keys_of_every_role_are_kept_out_of_texts(role: str) -> None:
    models = Models(Settings().overridden({f"{role}_options": {"api_key": "K-12345678"}}))

    assert "12345678" not in models.redactor().clean("the key is K-12345678")
