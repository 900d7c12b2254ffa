"""Ensembles of small networks whose members are trained together, as one program of batched products."""
