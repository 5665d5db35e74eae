"""Smooth a region of a movie by a Gaussian filter.

Usage: smooth.py MOVIE OUTPUT Y0 Y1 X0 X1
"""

import sys

import numpy as np
import tifffile
from scipy.ndimage import gaussian_filter

SIGMA_PX = 4.0

source, output, *ends = sys.argv[1:]
y0, y1, x0, x1 = map(int, ends)
region = tifffile.imread(source)[..., y0:y1, x0:x1]
smooth = gaussian_filter(region.astype(np.float32), (0, SIGMA_PX, SIGMA_PX), truncate=4)
tifffile.imwrite(output, smooth, photometric="minisblack")
