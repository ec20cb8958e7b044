"""Attributes and their domains: declare, infer, load, validate, encode."""

from kakuran.schema.attribute import Attribute, Categorical, Dropped, Numeric
from kakuran.schema.schema import Schema
from kakuran.schema.sources import open_source
from kakuran.schema.tree import Tree

__all__ = ["Attribute", "Categorical", "Dropped", "Numeric", "Schema", "Tree", "open_source"]
