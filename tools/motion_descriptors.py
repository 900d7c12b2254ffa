"""Make the descriptor set of the motion track from its .proto files: `python tools/motion_descriptors.py`.

It needs `grpcio-tools` (for its `protoc`); whoever reads scenes needs only the protobuf runtime and the finished set.
"""

from __future__ import annotations

import sys
from pathlib import Path

PROTO = Path(__file__).resolve().parent.parent / "src/shiftbench/tracks/motion/scenes/proto"


def write(target: Path, source: Path = PROTO) -> None:
    """Write the descriptors of all .proto files in `source`, imports before their users, to `target`."""
    from grpc_tools import protoc

    names = sorted(path.name for path in source.glob("*.proto"))
    code = protoc.main(["protoc", f"--proto_path={source}", f"--descriptor_set_out={target}", *names])
    if code:
        raise SystemExit(f"protoc ended with {code}: see what it printed above")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else PROTO / "motion.descriptors")
