package ij.process;

public abstract class ImageProcessor {}
