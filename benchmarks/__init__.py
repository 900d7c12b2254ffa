"""Ratios measured side by side in one run: each module here times ours against a yardstick."""
