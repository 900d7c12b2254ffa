"""The official archives of the weather data: addresses and licence.

Their publishers give neither exact sizes nor hashes, so both are recorded on first use.
"""

from __future__ import annotations

from shiftbench.io.fetch import Archive, share_alike

BASE = "https://storage.yandexcloud.net/yandex-research/shifts/weather/"
LICENCE = share_alike("Malinin et al., Shifts, 2021")


def _archive(name: str, file: str, about: str, then: str | None) -> Archive:
    return Archive(name, BASE + file, file, LICENCE, about, then=then)


_ONE = "shiftbench prepare weather {path}"
_BOTH = "shiftbench prepare weather {folder}"
ARCHIVES: tuple[Archive, ...] = (
    _archive("canonical", "canonical-partitioned-dataset.tar", "all five partitions, about 7.5 GB", _ONE),
    _archive("train-dev", "canonical-trn-dev-data.tar", "train, dev_in and dev_out; `eval` has the rest", _BOTH),
    _archive("eval", "canonical-eval-data.tar", "eval_in and eval_out; `train-dev` has the rest", _BOTH),
    _archive(
        "full", "full-dataset.tar", "all 10 million rows before they were divided; this address is less certain", _ONE
    ),
    _archive("baseline-models", "baseline-models.tar", "the paper's ten CatBoost models", None),
)
"""The archives that can be fetched, the default first."""
