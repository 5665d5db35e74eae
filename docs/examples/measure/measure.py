"""Measures labelled cells: measure.py LABELS MOVIE OUTPUT FIRST STOP."""

import csv
import sys

import tifffile
from skimage.measure import regionprops

labels, movie, output, first, stop = sys.argv[1:]
window = range(int(first), int(stop))

with open(output, "w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["frame", "cell", "area_px", "mean"])
    for number, frame in enumerate(window):
        print("::phase read", file=sys.stderr)
        images = [tifffile.imread(path, key=frame) for path in (labels, movie)]
        print("::phase compute", file=sys.stderr)
        for cell in regionprops(*images):
            table.writerow([number, cell.label, cell.area, cell.mean_intensity])
