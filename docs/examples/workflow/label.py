"""Labels what is brighter than Otsu's threshold: label.py IMAGE OUTPUT."""

import sys

import tifffile
from skimage.filters import gaussian, threshold_otsu
from skimage.measure import label

source, output = sys.argv[1:]
image = tifffile.imread(source)
smooth = gaussian(image.max(axis=-1) if image.ndim == 3 else image, sigma=2)
tifffile.imwrite(output, label(smooth > threshold_otsu(smooth)).astype("uint16"))
