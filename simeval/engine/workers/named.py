"""Workers in other places, by the setting `executor`."""

from simeval.core.executors import RayExecutor
from simeval.engine.run_context import RemoteWorkers


def workers_of(executor: str | RayExecutor) -> RemoteWorkers | None:
    """Return the workers of a setting; None if trials run in this process."""
    if executor == "local":
        return None
    from simeval.engine.workers.ray_workers import RayWorkers

    return RayWorkers(executor if isinstance(executor, RayExecutor) else RayExecutor())
