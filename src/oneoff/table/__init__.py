"""WHAT COMES IN: a table about people, with the role of every column.

Here belong the schema, hierarchies, the frozen integer-coded `Table`, the readers at the door, the profile of a
table before anything is done to it, and the generated sample. Nothing here knows a promise or a method. Dataframe
libraries appear only in `read`.
"""

from oneoff.table.hierarchy import Hierarchy
from oneoff.table.schema import Schema
from oneoff.table.table import Attribute, Table

__all__ = ["Attribute", "Hierarchy", "Schema", "Table"]
