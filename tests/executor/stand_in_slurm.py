"""A stand-in for the commands of Slurm: what is submitted runs here, one task after another."""

from __future__ import annotations

from pathlib import Path

SBATCH = """#!/bin/bash
# Does what sbatch --parsable --wait does, here: the tasks one after another.
echo "$@" > "{folder}/asked"
echo "42;here"
script="${{@: -1}}"
tasks=$(sed -n 's/^#SBATCH --array=0-//p' "$script")
log=$(sed -n 's/^#SBATCH --output=//p' "$script")
worst=0
for task in $(seq 0 "$tasks"); do
    SLURM_ARRAY_TASK_ID=$task bash "$script" > "${{log/\\%a/$task}}" 2>&1 || worst=1
done
exit $worst
"""
SCANCEL = '#!/bin/bash\necho "$@" > "{folder}/cancelled"\n'


def install(folder: Path) -> Path:
    """Write the commands into a new folder, for PATH."""
    folder.mkdir()
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (folder / name).write_text(text.format(folder=folder))
        (folder / name).chmod(0o755)
    return folder
