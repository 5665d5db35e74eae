"""Blurs one image: blur.py IMAGE OUTPUT RADIUS."""

import sys

from PIL import Image, ImageFilter

source, output, radius = sys.argv[1:]
with Image.open(source) as image:
    image.convert("L").filter(ImageFilter.GaussianBlur(float(radius))).save(output)
