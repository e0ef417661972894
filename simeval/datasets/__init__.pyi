from .dataset import Dataset as Dataset
from .dataset import Example as Example
from .files import dataset_of as dataset_of
from .files import read_dataset as read_dataset
from .files import write_dataset as write_dataset
from .importers.records import Unreadable as Unreadable
from .importers.registry import ImportedLog as ImportedLog
from .importers.registry import import_log as import_log
