"""Methods that write sequences: ensembles of networks from source tokens to target tokens.

They take a `dataset.PairDataset`, N pairs of any length with the vocabulary of both sides. `fitting` has them as values
of `methods.contract.Method`:

- `transformer`, the Transformer of Shifts 1.0 (Malinin et al. 2021, section 4; Vaswani et al., NeurIPS 2017).
- `marian`, trained models of the Marian form on disk as members.

What they predict is computed block by block when it is asked for (`answers`): `decoding` searches with one cache of
keys and values a member, and scores what it finds by one pass of each member over given targets.
"""
