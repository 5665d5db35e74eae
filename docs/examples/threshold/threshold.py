"""Labels bright objects in frames of a movie: threshold.py MOVIE OUTPUT --frames FIRST:STOP."""

import argparse
import sys

import numpy as np
import tifffile
from skimage.filters import threshold_otsu
from skimage.measure import label

parser = argparse.ArgumentParser()
parser.add_argument("movie")
parser.add_argument("output")
parser.add_argument("--frames", required=True)
asked = parser.parse_args()
first, stop = map(int, asked.frames.split(":"))

frames = tifffile.imread(asked.movie, key=range(first, stop))
frames = frames.reshape(stop - first, *frames.shape[-2:])
labels = [label(frame > threshold_otsu(frame)).astype(np.uint16) for frame in frames]
tifffile.imwrite(asked.output, np.stack(labels), photometric="minisblack")
found = sum(int(frame.max()) for frame in labels)
print(f"::metric objects={found} unit=objects", file=sys.stderr, flush=True)
