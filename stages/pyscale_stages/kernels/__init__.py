"""The kernels stage: how fast this machine computes, kernel by kernel, and whether rightly."""
