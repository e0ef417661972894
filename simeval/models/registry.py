"""The models of an engine, one object for each name, so that a limit holds for all its callers together."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import anyio
import anyio.to_thread

from simeval.core.redaction import Redactor, secret_options
from simeval.core.settings import Settings
from simeval.core.usage import Ledger
from simeval.errors import DefinitionError
from simeval.models.caller import Caller
from simeval.models.limits.bounds import Limited, Paced, Timed
from simeval.models.limits.governor import Governed
from simeval.models.limits.pace import Pace, Tokens, Window
from simeval.models.limits.traffic import Traffic
from simeval.models.metering import Metered
from simeval.models.prices import Price, price_of
from simeval.models.protocol.model import Model, ModelKind
from simeval.models.protocol.provider import Provider
from simeval.models.provider_table import is_embedded, maker_of, provider_of
from simeval.models.reply_cache import ReplyCache

OURS = frozenset({"model", "messages", "stream", "timeout", "num_retries", "max_retries", "seed"})
_ADDRESS = ("api_", "base_url", "headers", "extra_headers", "organization", "aws_", "azure_", "vertex_", "region_name")
SPARE_SECONDS = 10.0  # LiteLLM's own time-out is a little later than ours, which says more


class Models:
    """Holds models by name, bounded, and closes them when the last run that used them has ended."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.options: Mapping[str, Any] = settings.model_options or {}
        for name in OURS.intersection(self.options):
            raise DefinitionError(
                f"model option {name!r}", found="simeval sets this itself", do="use the engine's own setting"
            )
        self._bases: dict[Hashable, Model] = {}  # by name, and those of other kinds than chat by their key
        self._bounded: dict[Hashable, Model] = {}
        self._turn = anyio.Lock()
        self._users = 0

    def get(self, named: str | Model | ModelKind) -> Model:
        """Return the model of a name, or bound a Model object. Raises DefinitionError for anything else."""
        if isinstance(named, ModelKind):
            return self._kept(named.key, self._bases.get(named.key) or self._made(named))
        base = self._base(named)
        known = self._bases.setdefault(base.name, base)
        if known is not base and not isinstance(named, str):
            raise DefinitionError(
                "models", found=f"two model objects are named {base.name!r}", do="give each its own name"
            )
        return self._kept(base.name, known)

    def panel(self, named: str | Model | Sequence[str | Model]) -> tuple[Model, ...]:
        """Return one model or several, each once. Raises DefinitionError where none or one twice is named."""
        listed: Sequence[Any] = named if isinstance(named, (list, tuple)) else [named]
        models = tuple(self.get(each) for each in listed)
        names = [model.name for model in models]
        if not names or len(set(names)) < len(names):
            raise DefinitionError(
                "judge_model",
                found=f"found {names!r}",
                do="name one model, or several that differ; judge_repeats asks one model several times",
            )
        return models

    def caller(
        self, model: Model, ledger: Ledger, cache: ReplyCache | None = None, *, redactor: Redactor | None = None
    ) -> Caller:
        """Return what asks a model, retries, and counts in `ledger`; it looks into `cache` first.

        Without a `redactor` it makes one of its own.
        """
        return Caller(Metered(model, ledger), self._settings.retry, redactor or self.redactor(), cache)

    def redactor(self) -> Redactor:
        """Return what takes this engine's secrets, and those of the environment as it is now, out of texts."""
        return Redactor.of(secret_options(self.options), patterns=self._settings.secret_patterns)

    def price(self, name: str) -> Price | None:
        """Return the price of a model, where its provider has prices and one is known; may load LiteLLM."""
        return price_of(name) if any(maker.has_prices for maker in self._makers(name)) else None

    def tells_cost(self, name: str) -> bool:
        """Return whether what a model costs may become known: its price is, or it is an object of the user's own."""
        asked = any(not maker.is_embedded for maker in self._makers(name))
        return not asked or self.price(name) is not None

    def _makers(self, name: str) -> list[Provider]:
        """Return whose the models of a name are: those that chat, embed and moderate may share one."""
        named = [base for base in self._bases.values() if base.name == name]
        return [maker for base in named if (maker := maker_of(base)) is not None]

    async def check(self) -> None:
        """Raise DefinitionError for a name no provider is known for. Makes no call."""
        for base in self._bases.values():
            if callable(check := getattr(base, "check", None)):
                await anyio.to_thread.run_sync(check)

    def open(self) -> None:
        """Say that one more run uses the models."""
        self._users += 1

    async def close(self) -> None:
        """Say that a run has ended; the last one closes every connection."""
        self._users -= 1
        if self._users == 0:
            for base in self._bases.values():
                await base.close()

    def _kept(self, key: Hashable, base: Model) -> Model:
        self._bases[key] = base
        if key not in self._bounded:
            self._bounded[key] = self._bound(base)
        return self._bounded[key]

    def _made(self, kind: ModelKind) -> Model:
        """Make a model with those options that say where it is and who asks, not how a chat is answered."""
        options = {name: value for name, value in self.options.items() if name.startswith(_ADDRESS)}
        return kind.make(options, timeout_seconds=self._settings.model_timeout_seconds + SPARE_SECONDS)

    def _bound(self, base: Model) -> Model:
        settings = self._settings
        timed = Timed(base, seconds=settings.model_timeout_seconds)
        if is_embedded(base.name):
            return Limited(timed, anyio.Semaphore(settings.model_concurrency))
        requests, tokens = settings.requests_per_minute, settings.tokens_per_minute
        traffic = Traffic(
            Window(settings.model_concurrency),
            Pace(requests / 60) if requests else Pace(),
            Tokens(tokens / 60) if tokens else None,
        )
        return Governed(
            Paced(timed, self._turn),
            traffic,
            outage_seconds=settings.outage_seconds,
            clean=lambda text: self.redactor().clean(text),
        )

    def _base(self, named: str | Model) -> Model:
        if isinstance(named, str):
            if not named.strip():
                raise DefinitionError("model", found="found an empty name", do="name a model, such as offline/judge")
            if named in self._bases:
                return self._bases[named]
            seconds = self._settings.model_timeout_seconds + SPARE_SECONDS
            return provider_of(named).chat(named, self.options, seconds)
        if isinstance(named, Model):
            return named
        raise DefinitionError("model", found=f"found {named!r}", do="give a model's name or a Model object")
