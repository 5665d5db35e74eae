"""Counts cells by frame: summary.py CELLS OUTPUT FIRST STOP."""

import csv
import sys
from collections import Counter

cells, output, first, stop = sys.argv[1:]
with open(cells, newline="") as file:
    counts = Counter(int(row["frame"]) for row in csv.DictReader(file))
with open(output, "w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["frame", "cells"])
    table.writerows([frame, counts[frame]] for frame in range(int(first), int(stop)))
