"""What alembic runs to apply or to write a revision; the connection comes from `bring_up_to_date`."""

from alembic import context

from shiftbench.challenge.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
