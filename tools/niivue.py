"""Renews the viewer's copy of niivue: niivue.py [VERSION], from its npm package, with the licences of what is inside.

It writes the bundle that the package brings, unchanged but packed, the licences, and the version with the hash of the
bundle, which the pages of `shiftbench show lesions --viewer` name in their content security policy.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "src/shiftbench/tracks/lesions/picture/niivue"
PACKAGE, BUNDLE = "@niivue/niivue", "dist/niivue.umd.js"
TOOLS = ("@rollup/", "reference-spec-reader")  # installed beside, but in no bundle that a browser loads


def main(version: str = "") -> None:
    """Write the bundle, its licences and its origin."""
    with tempfile.TemporaryDirectory() as place:
        wanted = version or json.loads((FOLDER / "origin.json").read_text("utf-8"))["version"]
        command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", place]
        subprocess.run([*command, f"{PACKAGE}@{wanted}"], check=True)
        modules = Path(place) / "node_modules"
        bundle = (modules / PACKAGE / BUNDLE).read_bytes()
        (FOLDER / "niivue.js.gz").write_bytes(gzip.compress(bundle, 9, mtime=0))
        (FOLDER / "LICENSES").write_text("\n\n".join(licences(modules)), "utf-8")
    origin = {"package": PACKAGE, "version": wanted, "file": BUNDLE, "sha256": hashlib.sha256(bundle).hexdigest()}
    (FOLDER / "origin.json").write_text(json.dumps(origin, indent=1) + "\n", "utf-8")


def licences(modules: Path) -> Iterator[str]:
    """niivue's own licence, which its npm package lacks, then those of the packages that it is bundled with."""
    yield NIIVUE
    for file in sorted([*modules.glob("[!@]*/package.json"), *modules.glob("@*/*/package.json")]):
        told = json.loads(file.read_text("utf-8"))
        name = told["name"]
        if name == PACKAGE or name.startswith(TOOLS):
            continue
        texts = [each for each in sorted(file.parent.iterdir()) if each.stem.lower() in ("license", "licence")]
        if not texts:
            raise SystemExit(f"{name}: expected a file with its licence, found none.")
        yield f"--- {name} {told['version']} ({told['license']})\n\n{texts[0].read_text('utf-8').strip()}\n"
    yield FONT


NIIVUE = """\
--- @niivue/niivue (BSD-2-Clause), https://github.com/niivue/niivue

BSD 2-Clause License

Copyright (c) 2021, Niivue
All rights reserved.

Redistribution and use in source and binary forms, with or without
modification, are permitted provided that the following conditions are met:

1. Redistributions of source code must retain the above copyright notice, this
   list of conditions and the following disclaimer.

2. Redistributions in binary form must reproduce the above copyright notice,
   this list of conditions and the following disclaimer in the documentation
   and/or other materials provided with the distribution.

THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS"
AND ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE
IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE
DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR CONTRIBUTORS BE LIABLE
FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL
DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR
SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER
CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY,
OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE
OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.
"""
FONT = """\
--- Roboto (Apache License 2.0), as a sheet of glyphs in the bundle: Copyright Google. The text of this licence is that
of the file LICENSE of shiftbench itself.
"""

if __name__ == "__main__":
    main(*sys.argv[1:])
