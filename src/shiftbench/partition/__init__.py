"""The partition engine: rules over columns, the partitions they define, their manifest, and leakage between them."""

from shiftbench.partition.engine import Partition, partition
from shiftbench.partition.leakage import Leakage, leakage
from shiftbench.partition.manifest import Manifest, read_manifest, verify, write_manifest
from shiftbench.partition.rules import Rules
from shiftbench.partition.settings import IN_DOMAIN, PARTITIONS, SHIFTED

__all__ = [
    "IN_DOMAIN",
    "PARTITIONS",
    "SHIFTED",
    "Leakage",
    "Manifest",
    "Partition",
    "Rules",
    "leakage",
    "partition",
    "read_manifest",
    "verify",
    "write_manifest",
]
