"""Libraries of numbers use one thread in tests: on two cores, those of two workers would wait for one another."""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # read when a library is loaded, so before all imports of tests
