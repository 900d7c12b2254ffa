"""Challenges that anyone can host: hidden labels, submissions, honest ranks and receipts that can be verified."""
