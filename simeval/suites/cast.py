"""Who plays whom in a suite, and where that is said: what is wrong with one of them is told with its place."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self

from simeval.errors import DefinitionError
from simeval.suites.apps.http_app import HttpApp
from simeval.suites.apps.socket_app import SocketApp

ROLES = ("app", "judge_model", "user_model")


@dataclass(frozen=True, slots=True)
class Cast:
    """Who plays whom: the app, the judges, the simulated user; each by its name, as the command line takes it.

    A file may also describe the app: a URL with what is sent to it and where its answer is. `places` says for each
    role that stands in a file where that is.
    """

    app: str | HttpApp | SocketApp | None = None
    judge_model: Sequence[str] = ()
    user_model: str | None = None
    places: Mapping[str, str] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, found: Mapping[str, Any], places: Mapping[str, str]) -> Self:
        """Return the cast that a mapping has among other things, which stand at these places."""
        return cls(**{name: found[name] for name in ROLES if name in found}, places=places)

    def over(self, other: "Cast") -> "Cast":
        """Return this cast, with another's where it names nobody."""
        taken = [name for name in ROLES if not getattr(self, name)]
        places = {name: place for name, place in other.places.items() if name in taken}
        found: dict[str, Any] = {name: getattr(other, name) for name in taken}
        return replace(self, **found, places={**self.places, **places})

    @contextmanager
    def placed(self) -> Iterator[None]:
        """Let an error about one of them say where that one stands."""
        try:
            yield
        except DefinitionError as error:
            if (place := self._place_of(error.where)) is None:
                raise
            where = f"{place}: {error.where.removeprefix('app ')}"
            raise DefinitionError(where, found=error.found, do=error.do) from error

    def _place_of(self, what: str) -> str | None:
        """Return where the role stands that an error names as `what`: "app 'shop:handle'", "model 'openai/gpt'"."""
        if what.startswith("app "):
            return self.places.get("app")
        names = {"judge_model": self.judge_model, "user_model": [self.user_model]}
        return next((self.places.get(role) for role, named in names.items() if what in map(_model, named)), None)


def _model(name: str | None) -> str:
    return f"model {name!r}"
