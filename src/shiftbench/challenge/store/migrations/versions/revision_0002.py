"""Tries of passwords, and from where an act of the audit came."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the table of tries, and the column of the audit."""
    op.add_column("audit", sa.Column("via", sa.Text(), nullable=True))
    op.create_table(
        "tries",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("rest", sa.Float(53), nullable=False),
        sa.Column("at", WHOLE, nullable=False),
        sa.Column("whole", WHOLE, nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_tries")),
    )
    op.create_index("ix_tries_whole", "tries", ["whole"], unique=False)
