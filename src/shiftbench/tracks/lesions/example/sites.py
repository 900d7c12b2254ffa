"""The numbers of the example: six made-up sites, their scanners, and the lesions of their patients."""

from __future__ import annotations

from dataclasses import dataclass

IN_DOMAIN = ("site-a", "site-b", "site-c", "site-d")
SHARES = {"train": 0.30, "dev_in": 0.10, "eval_in": 0.20, "dev_out": 0.20, "eval_out": 0.20}
"""Part → its share of the patients."""


@dataclass(frozen=True)
class Scanner:
    """How a site's images look; intensities relative to grey matter.

    white, fluid, lesion: intensities in FLAIR. noise: standard deviation. bias: that of the logarithm of the bias
    field. blur: of the image, as a standard deviation in mm. slice_mm: thickness of slices. gain: of grey matter, in
    the scanner's units.
    """

    white: float
    fluid: float
    lesion: float
    noise: float
    bias: float
    blur: float
    slice_mm: float
    gain: float


SCANNERS = {
    "site-a": Scanner(white=0.82, fluid=0.15, lesion=1.38, noise=0.04, bias=0.05, blur=0.6, slice_mm=1.0, gain=420),
    "site-b": Scanner(white=0.84, fluid=0.18, lesion=1.34, noise=0.05, bias=0.08, blur=0.7, slice_mm=1.2, gain=95),
    "site-c": Scanner(white=0.80, fluid=0.12, lesion=1.40, noise=0.05, bias=0.06, blur=0.5, slice_mm=1.1, gain=1_100),
    "site-d": Scanner(white=0.85, fluid=0.20, lesion=1.32, noise=0.06, bias=0.07, blur=0.8, slice_mm=2.5, gain=240),
    "site-e": Scanner(white=0.88, fluid=0.14, lesion=1.27, noise=0.07, bias=0.12, blur=0.8, slice_mm=3.0, gain=88),
    "site-f": Scanner(white=0.90, fluid=0.25, lesion=1.24, noise=0.09, bias=0.14, blur=0.9, slice_mm=1.5, gain=600),
}


@dataclass(frozen=True)
class Load:
    """The lesions of a part's patients: their volume in all (mean and standard deviation, ml), and how many they are
    compared with those of `COUNT`.
    """

    site: str | None
    mean_ml: float
    sd_ml: float
    number: float


LOADS = {
    "train": Load(None, 18.58, 18.75, 0.5),
    "dev_in": Load(None, 15.49, 12.42, 0.6),
    "eval_in": Load(None, 10.03, 10.28, 0.6),
    "dev_out": Load("site-e", 17.10, 15.56, 1.0),
    "eval_out": Load("site-f", 3.34, 4.13, 1.0),
}
"""Volumes as in Shifts 2.0, Table 6: `site-e` has those of Ljubljana, `site-f` those of Lausanne. Numbers of lesions,
as there, are half as large in-domain.
"""

# Measured on the consensus masks of 30 patients (3D-MR-MS, Lesjak et al. 2017), components of 26 neighbours, 1 mm.
COUNT = (3.23, 0.461, 0.62)  # ln(number) = first + second · ln(ml), give or take the third
SIZE_SD = 1.58  # of ln(volume of a lesion) within a patient
ELONGATION = (0.62, 0.98, 1.64)  # median half-axes of a lesion, of geometric mean 1
NEAR_MM, FAR_MM = 5.0, 25.0  # distances from the ventricles over which the density of large and small lesions falls
LARGE_ML = 0.5
FEMALE = 0.75  # share (Shifts 2.0, Table 7)
AGE = (40.0, 9.5)  # mean and standard deviation
AGES = (20, 66)  # youngest and oldest (Shifts 2.0, Table 12)
