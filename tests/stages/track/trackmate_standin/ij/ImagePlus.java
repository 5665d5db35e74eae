package ij;

import ij.process.ImageProcessor;

public class ImagePlus {
	public ImagePlus(final String title, final ImageProcessor ip) {}
}
