"""The official archives of the motion data: where they were, and on what terms they may be used.

Their publishers give neither sizes to the byte nor hashes, so both are recorded on first use. The archives hold
further archives, a part of the data in each; `prepare` takes them as they are.
"""

from __future__ import annotations

from shiftbench.io.fetch import Archive, share_alike

MODELS = "baseline-models.tar"
BASE = "https://storage.yandexcloud.net/yandex-research/shifts/sdc/"
LICENCE = share_alike("Malinin et al., Shifts, 2021")


def _archive(name: str, file: str, about: str, then: str | None) -> Archive:
    return Archive(name, BASE + file, file, LICENCE, about, then=then)


_BOTH = "shiftbench prepare motion {folder}"
ARCHIVES: tuple[Archive, ...] = (
    _archive("train-dev", "canonical-trn-dev-data.tar", "the scenes of train and dev; `eval` has the rest", _BOTH),
    _archive("eval", "canonical-eval-data.tar", "the scenes of eval; `train-dev` has the rest", _BOTH),
    _archive("full", "full-unpartitioned-data.tar", "all scenes, not divided into train, dev and eval", None),
    _archive("baseline-models", MODELS, "the paper's trained RIP ensembles", None),
)
"""What can be fetched, the usual choice first."""
