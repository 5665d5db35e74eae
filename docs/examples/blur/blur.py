"""Blurs one image: blur.py IMAGE OUTPUT RADIUS."""

import sys

import tifffile
from PIL import Image
from skimage.exposure import rescale_intensity
from skimage.filters import gaussian

source, output, radius = sys.argv[1:]
blurred = gaussian(tifffile.imread(source), sigma=float(radius), preserve_range=True)
pixels = rescale_intensity(blurred, out_range=(0, 255)).astype("uint8")
Image.fromarray(pixels.reshape(-1, pixels.shape[-1])).save(output)
