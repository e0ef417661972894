"""The types of arrays, by the names that all who reckon with them use."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = Sequence[float] | NDArray[np.generic]
