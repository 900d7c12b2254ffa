"""Methods that segment volumes: ensembles of networks that give each voxel of a scan the probability of the foreground.

They take a `dataset.VolumeDataset`, N scans of any shape. `fitting` has them as values of `methods.contract.Method`:

- `unet`, the three-dimensional UNet of Shifts 2.0 (Malinin et al. 2022, appendix C; Ronneberger et al., MICCAI 2015).
- `unetr`, a vision transformer as the encoder of such a network (Hatamizadeh et al., WACV 2022).
- `unet_slices`, a UNet of single axial slices, which two cores train within minutes.

What they predict is computed volume by volume when it is asked for (`answers`), and the networks of an ensemble run one
after another: only the running sums of `sums` are kept.
"""
