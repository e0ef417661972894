"""The providers of models, and the models of an engine: one object a name, so that a limit holds for all its callers.

A new provider is a module and a row of PROVIDERS. One that speaks OpenAI's protocol is a row of ENDPOINTS in
`providers/endpoints`.
"""

from collections.abc import Awaitable, Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import anyio
import anyio.to_thread

from simeval.core.faces import load
from simeval.core.redaction import Redactor, secret_options, secrets_among, secrets_in, shown, shown_name
from simeval.core.run_records import Ledger
from simeval.core.setting_field import ROLES, ModelRole
from simeval.core.settings import Settings
from simeval.core.validation import is_number, require, require_object
from simeval.core.waits import Waits
from simeval.errors import DefinitionError
from simeval.models.caller import Caller, ReplyCache
from simeval.models.limits.bounds import Limited, Metered, OwnModel, Paced, Timed, Turns, close
from simeval.models.limits.governor import Governed
from simeval.models.limits.traffic import Allowances, Allowed, Budget, Traffic
from simeval.models.protocol.model import OFFLINE_PREFIX, Make, Model, ModelKind, Provider, SharedModel, is_embedded
from simeval.models.providers.endpoints import COMPATIBLE, ENDPOINTS, LITELLM, TRANSPORT, Endpoint
from simeval.models.providers.litellm_model import LiteLLMModel
from simeval.models.providers.litellm_table import listed
from simeval.models.providers.offline import OfflineModel
from simeval.models.providers.openai_compatible import CompatibleModel

_OPENAI = "openai/"
AT_URL = "openai:"

_SAME_ANSWERS = frozenset({"api_key", TRANSPORT})  # of an address; calls do not differ by them
STREAM = "stream"  # which an app may be asked for
OURS = frozenset({"model", "messages", STREAM, "timeout", "num_retries", "max_retries", "seed"})
_ADDRESS = (
    "api_",
    "base_url",
    TRANSPORT,
    "headers",
    "extra_headers",
    "organization",
    "aws_",
    "azure_",
    "vertex_",
    "region_name",
)
SPARE_SECONDS = 10.0  # LiteLLM's own time-out is a little later than ours, which is more informative


def _elsewhere(place: str) -> Callable[..., Model]:
    """Return a maker of models of another kind than chat; their module is imported when one is made."""

    def made(*arguments: Any) -> Model:
        model: Model = load(f"simeval.models.providers.{place}")(*arguments)
        return model

    return made


_COMPATIBLE_EMBEDDING = _elsewhere("embedding:CompatibleEmbedding")
_COMPATIBLE_MODERATION = _elsewhere("moderation:CompatibleModeration")
_LITELLM_EMBEDDING = _elsewhere("embedding:LiteLLMEmbedding")
_LITELLM_MODERATION = _elsewhere("moderation:LiteLLMModeration")


def _direct(endpoint: Endpoint) -> Provider:
    """Return the provider behind an endpoint: asked directly, where its options do not need LiteLLM."""

    def needs_litellm(name: str, options: Mapping[str, Any]) -> bool:
        return endpoint.needs_litellm(options) or listed(name).get("mode") == "responses"  # another protocol

    def road(direct: Callable[..., Model], indirect: Make) -> Make:
        def made(name: str, options: Mapping[str, Any], seconds: float) -> Model:
            if needs_litellm(name, options):
                return indirect(name, options, seconds)
            return direct(name, options, endpoint)

        return made

    moderates = endpoint.prefix == _OPENAI
    return Provider(
        prefix=endpoint.prefix,
        model=(CompatibleModel, LiteLLMModel),
        chat=road(CompatibleModel, LiteLLMModel),
        embedding=road(_COMPATIBLE_EMBEDDING, _LITELLM_EMBEDDING) if endpoint.embeds else _LITELLM_EMBEDDING,
        moderation=road(_COMPATIBLE_MODERATION, _LITELLM_MODERATION) if moderates else _LITELLM_MODERATION,
        has_prices=True,
        needs_litellm=needs_litellm,
    )


def _at_url(name: str, options: Mapping[str, Any], _seconds: float) -> Model:
    """Return the model of openai:URL#MODEL. Raises DefinitionError for another form, and for secrets in the URL."""
    url, sign, model = name.removeprefix(AT_URL).rpartition("#")
    where = f"model {shown(name)!r}"
    if not (sign and model and url.startswith(("http://", "https://"))):
        meant = "" if "/" in name or "#" in name else f"{_OPENAI}{model}, or "
        raise DefinitionError(where, found="this names no URL or no model", do=f"write {meant}{AT_URL}URL#MODEL")
    if secrets_in(url):
        do = f"name {COMPATIBLE.prefix}{model}, and give the address as the option api_base"
        raise DefinitionError(where, found="there is a secret in the address, and names are shown", do=do)
    others = {option: value for option, value in options.items() if option not in ("api_base", "base_url")}
    return CompatibleModel(name, others, replace(COMPATIBLE, prefix=f"{AT_URL}{url}#", base=url, bases=()))


# the first whose prefix a name has; LiteLLM takes all others
PROVIDERS = (
    Provider(
        prefix=OFFLINE_PREFIX,
        model=(OfflineModel,),
        chat=lambda name, _options, _seconds: OfflineModel(name),
    ),
    Provider(
        prefix=COMPATIBLE.prefix,
        model=(CompatibleModel,),
        chat=lambda name, options, _seconds: CompatibleModel(name, options),
        embedding=lambda name, options, _seconds: _COMPATIBLE_EMBEDDING(name, options),
        moderation=lambda name, options, _seconds: _COMPATIBLE_MODERATION(name, options),
    ),
    Provider(prefix=AT_URL, model=(CompatibleModel,), chat=_at_url),
    *map(_direct, ENDPOINTS),
    Provider(
        prefix="",
        model=(LiteLLMModel,),
        chat=LiteLLMModel,
        embedding=_LITELLM_EMBEDDING,
        moderation=_LITELLM_MODERATION,
        has_prices=True,
    ),
)


def provider_of(name: str) -> Provider:
    """Return the provider of the models that have such a name; LiteLLM takes OpenAI's without its own, too."""
    if "/" not in name and listed(name).get("litellm_provider") == "openai":
        name = f"{_OPENAI}{name}"
    return next(provider for provider in PROVIDERS if name.startswith(provider.prefix))


def maker_of(model: Model) -> Provider | None:
    """Return the provider of a model that was made from its name; None for an object of the user's own."""
    provider = provider_of(model.name)
    return provider if isinstance(model, provider.model) else None


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for one token of the prompt and one of the reply."""

    prompt_token_usd: float
    completion_token_usd: float

    def of(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Return the cost of so many tokens, in US dollars."""
        return prompt_tokens * self.prompt_token_usd + completion_tokens * self.completion_token_usd


def price_of(model_name: str) -> Price | None:
    """Return the price of a model by its LiteLLM name, or None if the table has none.

    The table is read as it is, prices registered with LiteLLM included: LiteLLM's own look-up asks a server about
    models it does not know.
    """
    if not provider_of(model_name).has_prices:
        return None
    entry = listed(model_name)
    prompt, completion = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    return Price(prompt, completion) if is_number(prompt) and is_number(completion) else None


class Models:
    """Holds models by name, bounded, and closes them when the last run that used them has ended."""

    def __init__(self, settings: Settings, allowances: Allowances | None = None) -> None:
        """Raise DefinitionError for invalid options; limits are those of `allowances` if they are shared."""
        self._settings, self._allowances, self.waits = settings, allowances, Waits()
        given = {name for role in ROLES for name in settings.options_of(role)}
        for name in sorted((OURS & given) - ({STREAM} if _streams_the_app(settings) else set())):
            raise DefinitionError(
                f"model option {name!r}", found="simeval sets this itself", do="use the engine's own setting"
            )
        self._families: dict[str, dict[str, str]] = {}  # gets an option's address: first names, by family
        self._bases: dict[Hashable, Model] = {}  # by name, and those of other kinds than chat by their key
        self._bounded: dict[Hashable, SharedModel] = {}
        self._addresses: dict[Hashable, Mapping[str, Any]] = {}  # of the ones made from a name
        self._refused: set[Hashable] = set()  # models of a run that could not begin
        self._turns = Turns()
        self._users = 0

    def get(self, named: str | Model | ModelKind, role: ModelRole | None = None) -> SharedModel:
        """Return the model of a name as one role asks it, or bound a Model object.

        Roles that ask it at one address share one object. Raises DefinitionError for anything else.
        """
        if isinstance(named, ModelKind):
            return self._kept(named.key, self._bases.get(named.key) or self._made(named))
        options = self._settings.options_of(role)
        address = {**address_of(options), **road_of(named, options)}
        base = self._base(named, address)
        if isinstance(named, str) and not is_embedded(named):
            self._note_family(named, role, address)
        elif isinstance(named, str) and role and named != f"{OFFLINE_PREFIX}{role}":
            do = f"use {OFFLINE_PREFIX}{role}, or a model of a provider, such as openai/gpt-5-nano"
            raise DefinitionError(f"model {named!r}", found=f"it cannot play the {role}", do=do)
        address = address if isinstance(named, str) else {}
        key = _key(base.name, address)
        endpoint = getattr(base, "endpoint", None)
        elsewhere = endpoint.given(address) if isinstance(endpoint, Endpoint) else None  # or the environment's
        self._addresses[key] = {**({"api_base": elsewhere} if elsewhere else {}), **address}
        known = self._bases.setdefault(key, base)
        if known is not base and not isinstance(named, str):
            raise DefinitionError(
                "models", found=f"two model objects are named {base.name!r}", do="give each its own name"
            )
        return self._kept(key, known)

    def panel(self, named: str | Model | Sequence[str | Model]) -> tuple[SharedModel, ...]:
        """Return one judge or several, each once. Raises DefinitionError if none or one twice is named."""
        listed: Sequence[Any] = named if isinstance(named, (list, tuple)) else [named]
        models = tuple(self.get(each, "judge") for each in listed)
        names = [model.name for model in models]
        if not names or len(set(names)) < len(names):
            raise DefinitionError(
                "judge_model",
                found=f"found {names!r}",
                do="name one model, or several that differ; judge_repeats asks one model several times",
            )
        return models

    def caller(
        self,
        model: SharedModel,
        ledger: Ledger,
        cache: ReplyCache | None = None,
        *,
        role: ModelRole | None = None,
        redactor: Redactor | None = None,
    ) -> Caller:
        """Return a caller that asks a model in a role, retries, and counts in `ledger`; it looks into `cache` first.

        The cache distinguishes answers by the model's own address: the user may be at the judge's address. Without a
        `redactor` it makes one of its own.
        """
        options = self._settings.options_of(role)
        address = address_of(options)
        asked_at = next((self._addresses.get(key, {}) for key, kept in self._bounded.items() if kept is model), {})
        return Caller(
            Metered(model, ledger),
            self._settings.retry,
            redactor or self.redactor(),
            cache
            and replace(cache, address={name: str(asked_at[name]) for name in asked_at if name not in _SAME_ANSWERS}),
            {name: value for name, value in options.items() if name not in address},
            ledger,
            self.waits,
        )

    def redactor(self) -> Redactor:
        """Return a redactor of this engine's secrets, and of those in the environment as it is now."""
        return redactor_of(self._settings)

    def price(self, name: str) -> Price | None:
        """Return the price of a model, where its provider has prices and one is known."""
        return price_of(name) if any(maker.has_prices for maker in self._makers(name)) else None

    def tells_cost(self, name: str) -> bool:
        """Return whether a model's cost may become known: its price is, or it is an object of the user's own."""
        asked = bool(self._makers(name)) and not is_embedded(name)
        return not asked or self.price(name) is not None

    def _makers(self, name: str) -> list[Provider]:
        """Return the providers of models with a name: models that chat, embed and moderate may share one."""
        named = [base for base in self._bases.values() if base.name == name]
        return [maker for base in named if (maker := maker_of(base)) is not None]

    async def check(self, *, keys: bool = True) -> None:
        """Raise DefinitionError for a name no provider is known for, and for a key that two would get or none has.

        Makes no call. Without `keys` it is not looked for any that are missing.
        """
        for source, named in self._families.items():
            if len(named) > 1:
                option = min(address_of(getattr(self._settings, source)))
                do = "give it to one role, as with --judge-option, --user-option or --app-option"
                if source != "model_options":
                    do = "leave keys to the environment, or give a Model object for one of them"
                raise DefinitionError(
                    f"{source.replace('_options', ' option')} {option!r}",
                    found=f"it would go to several providers: {', '.join(sorted(named.values()))}",
                    do=do,
                )
        for base in self._bases.values():
            if callable(check := getattr(base, "check", None)):
                await anyio.to_thread.run_sync(check)
            if keys and callable(check_key := getattr(base, "check_key", None)) and not self._settings.cache:
                await anyio.to_thread.run_sync(check_key)  # where replies are kept it may not be needed

    async def contexts(self, names: Collection[str]) -> Mapping[str, int]:
        """Return the tokens that a prompt with its reply may have, for the models that report it."""
        found: dict[str, int] = {}

        async def look_up(name: str, context_tokens: Callable[[], Awaitable[int | None]]) -> None:
            known = await context_tokens()
            if known is not None:
                found[name] = min(known, found.get(name, known))

        async with anyio.create_task_group() as looking:
            for base in self._bases.values():
                if base.name in names and callable(asks := getattr(base, "context_tokens", None)):
                    looking.start_soon(look_up, base.name, asks)
        return found

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Forget the models of a refused attempt: the next one may name others."""
        known = frozenset(self._bases)
        try:
            yield
        except DefinitionError:
            self._refused |= self._bases.keys() - known
            self._forget()
            raise

    def _forget(self) -> None:
        """Forget refused models, once nobody uses a model: later callers find them made again."""
        if self._users:
            return
        names = {self._bases[key].name for key in self._refused if key in self._bases}
        for kept in (self._bases, self._bounded, self._addresses):
            for key in self._refused:
                kept.pop(key, None)
        for named in self._families.values():
            for family in [each for each, name in named.items() if name in names]:
                del named[family]
        self._refused.clear()

    def open(self) -> None:
        """Say that one more run uses the models."""
        self._users += 1

    async def close(self) -> None:
        """Say that a run has ended; the last one closes every connection."""
        self._users -= 1
        if self._users == 0:
            for base in self._bases.values():
                await close(base)
            self._forget()

    def _kept(self, key: Hashable, base: Model) -> SharedModel:
        self._bases[key] = base
        if key not in self._bounded:
            self._bounded[key] = self._bound(base, key)
        return self._bounded[key]

    def _made(self, kind: ModelKind) -> Model:
        """Make a model with the options for address and key, not those for chats."""
        options = address_of(self._settings.options_of(None))
        return kind.make(options, timeout_seconds=self._settings.model_timeout_seconds + SPARE_SECONDS)

    def _bound(self, base: Model, key: Hashable) -> SharedModel:
        settings = self._settings
        asked = OwnModel(base) if maker_of(base) is None else base
        timed = Timed(asked, seconds=settings.model_timeout_seconds)
        if is_embedded(base.name):
            return Limited(timed, anyio.Semaphore(settings.model_concurrency, fast_acquire=True))
        requests, tokens = settings.requests_per_minute, settings.tokens_per_minute
        if self._allowances is not None:
            requests = tokens = None
        traffic = Traffic(
            settings.model_concurrency,
            Budget(requests / 60) if requests else None,
            Budget(tokens / 60, saved=1.0) if tokens else None,
        )
        governed = Governed(
            Paced(timed, self._turns),
            traffic,
            outage_seconds=settings.outage_seconds,
            clean=lambda text: self.redactor().clean(text),
            waits=self.waits,
        )
        if self._allowances is None:
            return governed
        return Allowed(governed, _account(base.name, self._addresses.get(key, {})), self._allowances)

    def given(self, model: SharedModel) -> str | Model:
        """Return the user's name for a model, or the object of the user's own."""
        key = next(key for key, kept in self._bounded.items() if kept is model)
        base = self._bases[key]
        return base if maker_of(base) is None else base.name

    def _base(self, named: str | Model, address: Mapping[str, Any]) -> Model:
        if isinstance(named, str):
            if not named.strip():
                raise DefinitionError("model", found="found an empty name", do="name a model, such as offline/judge")
            if (known := self._bases.get(_key(named, address))) is not None:
                return known
            seconds = self._settings.model_timeout_seconds + SPARE_SECONDS
            return provider_of(named).chat(named, address, seconds)
        require_object(named, "model")
        if isinstance(named, Model):
            do = "give it a name that is a text; of a method, write @property above it"
            require(isinstance(named.name, str), f"model {type(named).__name__}: name", found=named.name, do=do)
            return named
        do = "give a model's name, or an object with name, complete and close (simeval.models.Model)"
        raise DefinitionError("model", found=f"found {named!r:.80}", do=do)

    def _note_family(self, name: str, role: ModelRole | None, address: Mapping[str, Any]) -> None:
        """Record which provider gets addresses and keys, by the name they were given for."""
        for source in ("model_options", *([f"{role}_options"] if role else [])):
            given = address_of(getattr(self._settings, source) or {})
            if any(option != TRANSPORT and address.get(option) == value for option, value in given.items()):
                self._families.setdefault(source, {}).setdefault(_family(name), name)


def _streams_the_app(settings: Settings) -> bool:
    """Return whether streaming is set for the app alone: other answers are read as a whole."""
    return not any(STREAM in settings.options_of(role) for role in (None, *ROLES) if role != "app")


def redactor_of(settings: Settings) -> Redactor:
    """Return a redactor of the secrets among the options of all roles, and of those in the environment."""
    options = [settings.options_of(role) for role in (None, *ROLES)]
    secrets = [secret for each in options for secret in (*secret_options(each), *secrets_among(each))]
    return Redactor.of(secrets, patterns=settings.secret_patterns)


def address_of(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options for the address and key of a model, not those for its answers."""
    return {name: value for name, value in options.items() if name.startswith(_ADDRESS)}


def road_of(named: str | Model, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the option to ask a model through LiteLLM, if one of its options requires it or only LiteLLM knows it."""
    provider = provider_of(named) if isinstance(named, str) else None
    return {TRANSPORT: LITELLM} if provider and provider.needs_litellm(str(named), options) else {}


def _key(name: str, address: Mapping[str, Any]) -> Hashable:
    return (name, repr(sorted(address.items()))) if address else name


def _account(name: str, address: Mapping[str, Any]) -> str:
    """Return the key of a model's limits: its name and, without its secrets, its address."""
    secrets = [str(secret) for secret in secret_options(address)]
    told = [(option, str(value)) for option, value in sorted(address.items()) if str(value) not in secrets]
    said = [f"{option}={shown_name(value)}" for option, value in told]
    return " ".join([name, *(each for each in said if "headers" not in each)])


def _family(name: str) -> str:
    """Return whose a model of this name is: those of one family may get one key."""
    if name.startswith(AT_URL):
        return name.rpartition("#")[0]
    family = name.partition("/")[0] if "/" in name else "openai"
    return "openai" if family == COMPATIBLE.prefix.rstrip("/") else family
