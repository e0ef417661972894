"""The types of arrays, under the names that all code that computes with them uses."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = Sequence[float] | NDArray[np.generic]
