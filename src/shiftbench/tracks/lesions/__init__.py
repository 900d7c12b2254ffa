"""Segmentation of multiple sclerosis lesions (Malinin et al. 2022): scans of hospitals that training has not seen."""
