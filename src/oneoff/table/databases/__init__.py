"""Databases as sources and targets: tables of DuckDB and SQLite files and of PostgreSQL servers, as Arrow batches.

A URL says where a table is (`url`). A session (`session`) is open on a database until it is closed, in one transaction;
there is a module for each kind of database. `reading` reads a table into memory, `spooling` one that is larger than
memory into files, `writing` makes tables.
"""

from oneoff.table.databases.url import (
    DatabaseUrl,
    database_url,
    is_database,
    is_url,
    keepable,
    name_of_source,
    seen_from,
    without_credentials,
)

__all__ = [
    "DatabaseUrl",
    "database_url",
    "is_database",
    "is_url",
    "keepable",
    "name_of_source",
    "seen_from",
    "without_credentials",
]
