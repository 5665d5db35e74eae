"""The kernels stage: how fast this machine computes, kernel by kernel, and whether rightly.

`catalog` names every test; each family of tests has a module of its own.
"""
