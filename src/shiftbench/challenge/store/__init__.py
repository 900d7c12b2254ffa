"""What a server remembers, in SQLite or PostgreSQL; `ledger` is its only door, `records` what comes out of it."""
