"""Ensembles of boosted trees, made by CatBoost."""
