"""Runs the migrations on the connection, and inside the transaction, that ovstore.db.migrate hands over."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table=context.config.attributes["version_table"],
)
context.run_migrations()
