"""Weighted means of parts that may be missing: the weights of the others are scaled to sum to 1."""

from collections.abc import Mapping
from math import fsum, inf

from simeval.core.validation import is_number, require


def require_weights(weights: Mapping[str, float], known: Mapping[str, float], where: str) -> None:
    """Raise a DefinitionError unless each weight is of a known part and 0 or more, and one of them above 0."""
    shown = ", ".join(known)
    listed = isinstance(weights, Mapping) and weights.keys() <= known.keys()
    require(listed, f"{where}: weights", found=weights, do=f"give a number for each of {shown}")
    usable = all(is_number(weight) and 0 <= weight < inf for weight in weights.values())
    require(usable and any(weights.values()), f"{where}: weights", found=weights, do="give 0 or more, not all 0")


def shares_of(weights: Mapping[str, float], measured: Mapping[str, object]) -> dict[str, float]:
    """Return the weights of those parts that were measured, so that they sum to 1; empty where no weight is left."""
    left = {name: weight for name, weight in weights.items() if weight and measured.get(name) is not None}
    total = fsum(left.values())
    return {name: weight / total for name, weight in left.items()}


def weighted(shares: Mapping[str, float], values: Mapping[str, float | None]) -> float:
    """Return the mean of the parts that have a share, which sum to 1."""
    return fsum(share * (values[name] or 0.0) for name, share in shares.items())
