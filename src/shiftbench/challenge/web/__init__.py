"""The server of a challenge: accounts, uploads, pages and the API."""
