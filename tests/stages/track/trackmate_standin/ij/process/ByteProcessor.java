package ij.process;

public class ByteProcessor extends ImageProcessor {
	public ByteProcessor(final int width, final int height) {}
}
