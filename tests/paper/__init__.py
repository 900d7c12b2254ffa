"""Tests of what papers share."""
