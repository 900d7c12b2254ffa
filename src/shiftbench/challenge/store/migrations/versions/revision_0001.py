"""The first version of all tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables, and the one row of the clock."""
    op.create_table(
        "announcements",
        sa.Column("id", WHOLE, sa.Identity(always=False), nullable=False),
        sa.Column("at", WHOLE, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_announcements")),
    )
    op.create_table(
        "clock",
        sa.Column("one", WHOLE, autoincrement=False, nullable=False),
        sa.Column("seen", WHOLE, nullable=False),
        sa.Column("resets", WHOLE, nullable=False),
        sa.Column("changes", WHOLE, nullable=False),
        sa.PrimaryKeyConstraint("one", name=op.f("pk_clock")),
    )
    op.create_table(
        "finals",
        sa.Column("id", WHOLE, sa.Identity(always=False), nullable=False),
        sa.Column("board", sa.Text(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("at", WHOLE, nullable=False),
        sa.Column("ranking", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_finals")),
    )
    op.create_table(
        "log",
        sa.Column("number", WHOLE, autoincrement=False, nullable=False),
        sa.Column("entry", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_log")),
    )
    op.create_table(
        "releases",
        sa.Column("id", WHOLE, sa.Identity(always=False), nullable=False),
        sa.Column("board", sa.Text(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("at", WHOLE, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_releases")),
        sa.UniqueConstraint("board", "phase", name=op.f("uq_releases_board")),
    )
    op.create_table(
        "teams",
        sa.Column("id", WHOLE, sa.Identity(always=False), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("reference", sa.Boolean(), nullable=False),
        sa.Column("disqualified", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_teams")),
        sa.UniqueConstraint("code", name=op.f("uq_teams_code")),
        sa.UniqueConstraint("name", name=op.f("uq_teams_name")),
    )
    op.create_table(
        "users",
        sa.Column("id", WHOLE, sa.Identity(always=False), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("password", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("made", WHOLE, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("email", name=op.f("uq_users_email")),
    )
    op.create_table(
        "audit",
        sa.Column("id", WHOLE, sa.Identity(always=False), nullable=False),
        sa.Column("at", WHOLE, nullable=False),
        sa.Column("user", WHOLE, nullable=True),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["user"], ["users.id"], name=op.f("fk_audit_user")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_table(
        "members",
        sa.Column("user", WHOLE, nullable=False),
        sa.Column("team", WHOLE, nullable=False),
        sa.ForeignKeyConstraint(["team"], ["teams.id"], name=op.f("fk_members_team")),
        sa.ForeignKeyConstraint(["user"], ["users.id"], name=op.f("fk_members_user")),
        sa.PrimaryKeyConstraint("user", name=op.f("pk_members")),
    )
    op.create_table(
        "secrets",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("user", WHOLE, nullable=True),
        sa.Column("ends", WHOLE, nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("number", WHOLE, nullable=False),
        sa.Column("role", sa.Text(), nullable=True),
        sa.Column("email", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["user"], ["users.id"], name=op.f("fk_secrets_user")),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_secrets")),
    )
    op.create_table(
        "submissions",
        sa.Column("id", WHOLE, sa.Identity(always=False), nullable=False),
        sa.Column("board", sa.Text(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("hidden", sa.Boolean(), nullable=False),
        sa.Column("team", WHOLE, nullable=False),
        sa.Column("user", WHOLE, nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("size", WHOLE, nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("begun", WHOLE, nullable=False),
        sa.Column("queued", WHOLE, nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("fault", sa.Text(), nullable=True),
        sa.Column("problems", sa.Text(), nullable=False),
        sa.Column("score", WHOLE, nullable=True),
        sa.Column("chosen", sa.Boolean(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("lease", WHOLE, nullable=True),
        sa.Column("tries", WHOLE, nullable=False),
        sa.ForeignKeyConstraint(["team"], ["teams.id"], name=op.f("fk_submissions_team")),
        sa.ForeignKeyConstraint(["user"], ["users.id"], name=op.f("fk_submissions_user")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_submissions")),
    )
    op.create_index("ix_submissions_board", "submissions", ["board", "phase", "team"], unique=False)
    op.create_index("ix_submissions_state", "submissions", ["state", "queued"], unique=False)
    op.create_table(
        "scores",
        sa.Column("id", WHOLE, sa.Identity(always=False), nullable=False),
        sa.Column("submission", WHOLE, nullable=False),
        sa.Column("labels", sa.Text(), nullable=False),
        sa.Column("scorer", sa.Text(), nullable=False),
        sa.Column("value", sa.Float(53), nullable=True),
        sa.Column("low", sa.Float(53), nullable=True),
        sa.Column("high", sa.Float(53), nullable=True),
        sa.Column("shown", sa.Float(53), nullable=True),
        sa.Column("climbed", sa.Boolean(), nullable=False),
        sa.Column("notes", sa.Text(), nullable=False),
        sa.Column("at", WHOLE, nullable=False),
        sa.Column("receipt", WHOLE, nullable=False),
        sa.Column("obsolete", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["submission"], ["submissions.id"], name=op.f("fk_scores_submission")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_scores")),
        sa.UniqueConstraint("receipt", name=op.f("uq_scores_receipt")),
    )
    op.create_index("ix_scores_submission", "scores", ["submission"], unique=False)
    op.create_table(
        "uploads",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("board", sa.Text(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("hidden", sa.Boolean(), nullable=False),
        sa.Column("team", WHOLE, nullable=False),
        sa.Column("user", WHOLE, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("size", WHOLE, nullable=False),
        sa.Column("received", WHOLE, nullable=False),
        sa.Column("begun", WHOLE, nullable=False),
        sa.Column("touched", WHOLE, nullable=False),
        sa.Column("submission", WHOLE, nullable=True),
        sa.ForeignKeyConstraint(["submission"], ["submissions.id"], name=op.f("fk_uploads_submission")),
        sa.ForeignKeyConstraint(["team"], ["teams.id"], name=op.f("fk_uploads_team")),
        sa.ForeignKeyConstraint(["user"], ["users.id"], name=op.f("fk_uploads_user")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_uploads")),
    )
    op.create_index("ix_uploads_team", "uploads", ["team", "board", "phase"], unique=False)
    op.execute("INSERT INTO clock (one, seen, resets, changes) VALUES (1, 0, 0, 0)")
