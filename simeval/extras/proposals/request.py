"""The request for scenarios of a source, and the reply to it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, StringConstraints

from simeval.core.conversation import ChatMessage
from simeval.models.protocol.model import ModelRequest
from simeval.models.protocol.prompt_texts import Prompt, built_in
from simeval.models.protocol.prompts import chat_of, tagged
from simeval.models.protocol.replies import Reply, Text, json_object

MOST_AT_ONCE = 5  # scenarios that are asked for in one call
TOKENS_EACH = 400  # of a scenario, at the most

Line = Annotated[str, StringConstraints(strict=True, strip_whitespace=True)]


class ProposedScenario(BaseModel):
    """A scenario as a model proposes it; `quote` are the words of the source that it rests on, or ""."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    title: Text
    given: Text
    when: Text
    expected_behavior: Text
    counterexample: Line = ""
    quote: Line = ""


class ProposalReply(Reply):
    """The scenarios that a model proposes from one part of a source; empty if it has no more."""

    scenarios: tuple[ProposedScenario, ...]
    json_schema: ClassVar[Any] = json_object(
        scenarios={
            "type": "array",
            "items": json_object(**{name: {"type": "string"} for name in ProposedScenario.model_fields}),
        }
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalRequest(ModelRequest):
    """Asks for `count` scenarios of a part of a source, other than those whose titles are `known`."""

    source: str
    count: int
    known: Sequence[str] = ()
    temperature: float = 0.5
    prompt: Prompt = field(default_factory=partial(built_in, "proposal"))

    role: ClassVar[str] = "proposal"
    reply: ClassVar[type[Reply]] = ProposalReply

    def first_messages(self) -> list[ChatMessage]:
        user = self.prompt.render(
            "user",
            source=tagged("source", self.source),
            known=tagged("known", "\n".join(self.known)) if self.known else None,
            count=str(self.count),
        )
        return chat_of(self.prompt.render("system"), user)
