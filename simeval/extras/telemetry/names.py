"""The names that spans bear: of OpenTelemetry's conventions for tests and generative AI, and ours beside them.

Those of generative AI are still in development; these are as of November 2026.
"""

from collections.abc import Mapping

SUITE_RUN, SUITE_NAME, SUITE_STATUS, SUITE_ID = (
    "test_suite_run",
    "test.suite.name",
    "test.suite.run.status",
    "test.suite.run.id",
)
CASE, CASE_NAME, CASE_STATUS, CASE_ID = "test_case", "test.case.name", "test.case.result.status", "test.case.id"

CHAT, INVOKE_AGENT = "chat", "invoke_agent"  # operations
OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
MODEL = "gen_ai.request.model"
AGENT = "gen_ai.agent.name"
CONVERSATION = "gen_ai.conversation.id"
TOKENS_IN, TOKENS_OUT = "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"
FINISH_REASONS = "gen_ai.response.finish_reasons"
MESSAGES_IN, MESSAGES_OUT = "gen_ai.input.messages", "gen_ai.output.messages"
ERROR = "error.type"

EVALUATION = "gen_ai.evaluation.result"  # an event
EVALUATION_NAME = "gen_ai.evaluation.name"
EVALUATION_VALUE = "gen_ai.evaluation.score.value"
EVALUATION_LABEL = "gen_ai.evaluation.score.label"
EVALUATION_WHY = "gen_ai.evaluation.explanation"

TRIAL, TRIAL_INDEX, SEED, ROLE, ENDED = (
    "simeval.trial",
    "simeval.trial.index",
    "simeval.seed",
    "simeval.role",
    "simeval.ended",
)
VERDICT = "simeval.verdict"
CAPTURE_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"  # of the environment
LOGS_EXPORTER = "OTEL_LOGS_EXPORTER"  # of the environment

_PROVIDERS: Mapping[str, str] = {  # LiteLLM's names, and those of the conventions
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "moonshot": "moonshot_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}


def provider_and_model(name: str) -> tuple[str, str]:
    """Return the conventions' name of a model's provider, and the model without it."""
    provider, slash, model = name.partition("/")
    return (_PROVIDERS.get(provider, provider), model) if slash else ("openai", name)
