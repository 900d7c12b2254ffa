"""Shared intake of track data: find tables in folders and archives, read and check them, write a prepared folder."""
