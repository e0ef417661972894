"""The notes on a run before it begins."""

from collections.abc import Mapping, Sequence

from simeval.engine.plans.scenario_plan import ScenarioPlan
from simeval.models.protocol.prompt_texts import Prompt
from simeval.models.provider_table import is_embedded
from simeval.models.providers.offline import NOTICE


def too_long(longest: Mapping[str, float], contexts: Mapping[str, int]) -> list[str]:
    """Warn of models whose longest prompt may not fit into the context, both in tokens by the model's name."""
    return [
        f"{name} takes {contexts[name]:,} tokens, and its longest prompt may have about {tokens:,.0f}: what does not "
        "fit is refused, and such trials are missing; lower max_turns, or give its server a larger context"
        for name, tokens in longest.items()
        if name in contexts and tokens > contexts[name]
    ]


def embedded_notes(cast: Sequence[tuple[str, str]]) -> list[str]:
    """Say which of the models, each with its role, are embedded heuristics."""
    embedded = [f"{role} {name}" for role, name in cast if is_embedded(name)]
    return [f"{' and '.join(embedded)}: {NOTICE}"] if embedded else []


def replaced_notes(prompts: Mapping[str, Prompt]) -> list[str]:
    """Return the prompts that are the user's, each with its identity."""
    ours = [f"{name} ({prompt.identity})" for name, prompt in prompts.items() if not prompt.version]
    return [f"prompts in place of simeval's: {', '.join(ours)}"] if ours else []


def roles_asked(plans: Sequence[ScenarioPlan], judges: Sequence[str], user: str) -> list[tuple[str, str]]:
    """Return the models that are asked in a run, each with its role: scripts and rules may leave nothing to ask."""
    checks = [step.checks for plan in plans for script in plan.scenario.scripts.values() for step in script]
    is_judged = any(plan.judged for plan in plans) or any(check and check.judged for check in checks)
    is_simulated = any(plan.scenario.is_simulated for plan in plans)
    return [*(("judge", name) for name in judges if is_judged), *([("user", user)] if is_simulated else [])]
