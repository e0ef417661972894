"""Those who work elsewhere, by what the setting `executor` says."""

from simeval.core.executors import RayExecutor
from simeval.engine.run_context import RemoteWorkers


def workers_of(executor: str | RayExecutor) -> RemoteWorkers | None:
    """Return those whom a setting means; None where trials are run in this process."""
    if executor == "local":
        return None
    from simeval.engine.workers.ray_workers import RayWorkers

    return RayWorkers(executor if isinstance(executor, RayExecutor) else RayExecutor())
