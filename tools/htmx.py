"""Renews the copy of htmx that the server of a challenge brings along: htmx.py [VERSION], from its npm package.

It writes the small bundle of the package, unchanged, its licence, and the version with the hash of the bundle.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "src/shiftbench/challenge/web/static/htmx"
PACKAGE, BUNDLE = "htmx.org", "dist/htmx.min.js"


def main(version: str = "") -> None:
    """Write the bundle, its licence and its origin."""
    with tempfile.TemporaryDirectory() as place:
        wanted = version or json.loads((FOLDER / "origin.json").read_text("utf-8"))["version"]
        command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", place]
        subprocess.run([*command, f"{PACKAGE}@{wanted}"], check=True)
        package = Path(place) / "node_modules" / PACKAGE
        bundle = (package / BUNDLE).read_bytes()
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / "htmx.js").write_bytes(bundle)
        (FOLDER / "LICENSE").write_bytes((package / "LICENSE").read_bytes())
    origin = {"package": PACKAGE, "version": wanted, "file": BUNDLE, "sha256": hashlib.sha256(bundle).hexdigest()}
    (FOLDER / "origin.json").write_text(json.dumps(origin, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
