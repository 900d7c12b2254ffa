"""The registers of the example: how often sentences have each feature and each anomaly (all made up)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Register:
    """Probabilities of parts of a phrase, of parts of a sentence, and of its mood; whether "you" is polite."""

    adjective: float
    owner: float
    relative: float
    pronoun: float
    place: float
    time: float
    second: float
    question: float
    command: float
    polite: bool


REGISTERS = {
    "news": Register(0.40, 0.20, 0.20, 0.10, 0.50, 0.50, 0.35, 0.02, 0.00, polite=True),
    "voices": Register(0.45, 0.20, 0.25, 0.20, 0.45, 0.40, 0.30, 0.05, 0.01, polite=True),
    "chat": Register(0.25, 0.05, 0.05, 0.65, 0.25, 0.30, 0.20, 0.25, 0.15, polite=False),
}
"""Domain → its register: news and reports of citizens are formal, chats are colloquial."""

RATES = {
    "punctuation": {"news": 0.010, "voices": 0.020, "chat": 0.30},
    "spelling": {"news": 0.005, "voices": 0.010, "chat": 0.20},
    "capitalization": {"news": 0.005, "voices": 0.010, "chat": 0.25},
    "fluency": {"news": 0.005, "voices": 0.010, "chat": 0.12},
    "slang": {"news": 0.002, "voices": 0.005, "chat": 0.30},
    "emoji": {"news": 0.000, "voices": 0.001, "chat": 0.08},
    "tags": {"news": 0.001, "voices": 0.001, "chat": 0.06},
}
"""Anomaly → domain → the share of its sentences that have it. No paper prints such rates: these are of the example."""

PARTS = {
    "train": (0.80, {"news": 0.97, "chat": 0.03}),
    "dev_in": (0.05, {"news": 1.0}),
    "dev_out": (0.05, {"chat": 1.0}),
    "eval_in": (0.05, {"voices": 1.0}),
    "eval_out": (0.05, {"chat": 1.0}),
}
"""Part → its share of all sentences, and the shares of its domains."""
