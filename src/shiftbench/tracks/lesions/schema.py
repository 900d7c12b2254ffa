"""Parts, sites and statistics of the lesion data as the paper prints them."""

from __future__ import annotations

TRACK = "lesions"
TASK = "segmentation"
PARTS = ("train", "dev_in", "eval_in", "dev_out", "eval_out")
SHIFTED = ("dev_out", "eval_out")
TABLE_6 = {
    "train": {"lesions": 1_628, "volume_ml": 18.58, "volume_sd_ml": 18.75},
    "dev_in": {"lesions": 435, "volume_ml": 15.49, "volume_sd_ml": 12.42},
    "eval_in": {"lesions": 1_738, "volume_ml": 10.03, "volume_sd_ml": 10.28},
    "dev_out": {"lesions": 3_544, "volume_ml": 17.10, "volume_sd_ml": 15.56},
    "eval_out": {"lesions": 3_826, "volume_ml": 3.34, "volume_sd_ml": 4.13},
}
"""Part → lesions in all, and mean and standard deviation of the volume of a patient's lesions (Shifts 2.0, Table 6)."""
