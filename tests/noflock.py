"""A filesystem whose flock fails, as Lustre without `-o flock` and NFS without its lock daemon."""

import shutil
import subprocess

SOURCE = """
#include <errno.h>
int flock(int descriptor, int operation) { errno = %d; return -1; }
"""


def without_flock(folder, number, missing):
    """Variables of processes to which every flock fails with an error number."""
    gcc = shutil.which("gcc")
    if gcc is None:
        missing("gcc", "install it, as in apt-get install gcc libc6-dev")
    library = folder / f"noflock{number}.so"
    subprocess.run(
        [str(gcc), "-shared", "-fPIC", "-x", "c", "-o", library, "-"],
        input=SOURCE % number,
        text=True,
        check=True,
    )
    return {"LD_PRELOAD": str(library)}
