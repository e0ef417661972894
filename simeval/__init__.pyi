# The packages, and the names of a first hour: what dir() lists.
from . import analysis as analysis
from . import datasets as datasets
from . import engine as engine
from . import errors as errors
from . import evaluators as evaluators
from . import models as models
from . import results as results
from . import scorers as scorers
from . import stats as stats
from . import store as store
from . import suites as suites
from . import testing as testing

# isort: split
# All other public names live in a package and can be imported from here, too.
from .analysis import *
from .datasets import *
from .engine import *
from .evaluators import *
from .models import *
from .results import *
from .scorers import *
from .store import *
from .suites import *

# isort: split
from .analysis.comparison import compare as compare
from .core.conversation import AppResponse as AppResponse
from .core.conversation import Conversation as Conversation
from .core.conversation import Message as Message
from .core.version import __version__ as __version__
from .datasets.dataset import Dataset as Dataset
from .datasets.files import dataset_of as dataset_of
from .datasets.files import read_dataset as read_dataset
from .engine.engine import Engine as Engine
from .evaluators.scores import MeanEvaluator as MeanEvaluator
from .evaluators.scores import ProportionEvaluator as ProportionEvaluator
from .evaluators.scores import RatingMedianEvaluator as RatingMedianEvaluator
from .evaluators.scores import SuccessRateEvaluator as SuccessRateEvaluator
from .scorers.base import Scorer as Scorer
from .scorers.base import scorer as scorer
from .suites.apps.http_app import HttpApp as HttpApp
from .suites.planning import plan as plan
from .suites.scenario import Expectation as Expectation
from .suites.scenario import ScenarioTest as ScenarioTest
