"""All SQL of ovstore: engines, tables, statements that read, statements that write, migrations.

Nothing outside this package imports SQLAlchemy or a driver. Its functions take a connection first and return plain
values or frozen rows; transactions belong to their callers, through `Database.read` and `Database.write`.
"""

from sqlalchemy import Connection

__all__ = ["Connection"]
