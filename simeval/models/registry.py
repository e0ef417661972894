"""The models of an engine, one object for each name, so that a limit holds for all its callers together."""

from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import anyio.to_thread

from simeval.errors import DefinitionError
from simeval.models.compatible import COMPATIBLE_PREFIX, CompatibleModel
from simeval.models.limits import Limited, Paced, Timed
from simeval.models.lite import LiteLLMModel
from simeval.models.model import Model
from simeval.models.offline import PREFIX, OfflineModel
from simeval.models.redact import Redactor, secret_options
from simeval.models.retries import Caller
from simeval.models.usage import Metered
from simeval.settings import Settings
from simeval.usage import Ledger

OURS = frozenset({"model", "messages", "stream", "timeout", "num_retries", "max_retries", "seed"})
SPARE_SECONDS = 10.0  # LiteLLM's own time-out is a little later than ours, which says more


class Models:
    """Gives models by name, bounded, and closes them when the last run that used them has ended."""

    def __init__(self, settings: Settings, options: Mapping[str, Any]) -> None:
        self._settings, self._options = settings, options
        for name in OURS.intersection(options):
            raise DefinitionError(
                f"model option {name!r}", found="simeval sets this itself", do="use the engine's own setting"
            )
        self._bases: dict[str, Model] = {}
        self._bounded: dict[str, Model] = {}
        self._turn = anyio.Lock()
        self._users = 0

    def get(self, named: str | Model) -> Model:
        """Give the model of a name, or bound a Model object. Raises DefinitionError for anything else."""
        base = self._base(named)
        known = self._bases.setdefault(base.name, base)
        if known is not base and not isinstance(named, str):
            raise DefinitionError(
                "models", found=f"two model objects are named {base.name!r}", do="give each its own name"
            )
        if base.name not in self._bounded:
            slots = anyio.Semaphore(self._settings.model_concurrency)
            timed = Timed(known, seconds=self._settings.model_timeout_seconds)
            embedded = base.name.startswith(PREFIX)
            self._bounded[base.name] = Limited(timed if embedded else Paced(timed, self._turn), slots)
        return self._bounded[base.name]

    def panel(self, named: str | Model | Sequence[str | Model]) -> tuple[Model, ...]:
        """Give one model or several, each once. Raises DefinitionError where none or one twice is named."""
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

    def caller(self, model: Model, ledger: Ledger) -> Caller:
        """Give what asks a model, retries, and counts in `ledger`."""
        return Caller(Metered(model, ledger), self._settings.retry, self.redactor())

    def redactor(self) -> Redactor:
        """Give what takes this engine's secrets, and those of the environment as it is now, out of texts."""
        return Redactor.of(secret_options(self._options))

    async def check(self) -> None:
        """Raise DefinitionError for a name no provider is known for. Makes no call."""
        for base in self._bases.values():
            if isinstance(base, (LiteLLMModel, CompatibleModel)):
                await anyio.to_thread.run_sync(base.check)

    def open(self) -> None:
        """Say that one more run uses the models."""
        self._users += 1

    async def close(self) -> None:
        """Say that a run has ended; the last one closes every connection."""
        self._users -= 1
        if self._users == 0:
            for base in self._bases.values():
                await base.close()

    def _base(self, named: str | Model) -> Model:
        if isinstance(named, str):
            if not named.strip():
                raise DefinitionError("model", found="found an empty name", do="name a model, such as offline/judge")
            if named in self._bases:
                return self._bases[named]
            if named.startswith(PREFIX):
                return OfflineModel(named)
            if named.startswith(COMPATIBLE_PREFIX):
                return CompatibleModel(named, self._options)
            return LiteLLMModel(named, self._options, self._settings.model_timeout_seconds + SPARE_SECONDS)
        if isinstance(named, Model):
            return named
        raise DefinitionError("model", found=f"found {named!r}", do="give a model's name or a Model object")
