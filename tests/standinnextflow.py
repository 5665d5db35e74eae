"""A stand-in for Nextflow, which no test has: it takes its command line and writes its trace."""

import sys
from pathlib import Path

HEADER = "task_id\thash\tprocess\tname\tstatus\tattempt\texit\trealtime\tstart\tcomplete"
BEGAN_MS = 1_790_000_000_000


def row(number, process, start_s, end_s, status="COMPLETED"):
    """A task of a raw trace; times count from its first."""
    times = [(end_s - start_s) * 1000, BEGAN_MS + start_s * 1000, BEGAN_MS + end_s * 1000]
    cells = [number, f"ab/{number:06d}", process, f"{process} ({number})", status, 1, 0]
    return "\t".join(map(str, [*cells, *map(int, times)]))


def write_nextflow(folder):
    """Write the program: N tasks of 0.1 s each at once, of 4; it fails where N is 3."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "nextflow"
    program.write_text(
        f"#!{sys.executable}\n"
        "import re, sys, time\n"
        "from pathlib import Path\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from standinnextflow import HEADER, row\n"
        "words = sys.argv[1:]\n"
        "assert words[0] == '-c' and words[2] == 'run', words\n"
        "config = Path(words[1]).read_text()\n"
        "n = int(re.search(r'^process.maxForks = (\\d+)$', config, re.M)[1])\n"
        "assert 'trace.raw = true' in config\n"
        "own = words[words.index('-with-trace') + 2:]\n"
        "for word in own:\n"
        "    if Path(word).is_file():\n"
        "        Path(word).read_bytes()\n"
        "if n == 3:\n"
        "    print('ERROR ~ Error executing process > LABEL\\n\\nCommand error:\\n  oh no')\n"
        "    sys.exit(7)\n"
        "ends = [(task, task // n / 10, task // n / 10 + 0.1) for task in range(4)]\n"
        "time.sleep(ends[-1][2])\n"
        "rows = [row(task + 1, 'LABEL', start, end) for task, start, end in ends]\n"
        "trace = Path(words[words.index('-with-trace') + 1])\n"
        "trace.write_text('\\n'.join([HEADER, *rows]) + '\\n')\n"
        "Path('results').mkdir(exist_ok=True)\n"
        "Path('results/out.txt').write_text(' '.join(own))\n"
    )
    program.chmod(0o755)
