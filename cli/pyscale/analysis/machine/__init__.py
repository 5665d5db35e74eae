"""What the tests of a machine tell: each by itself, node beside node, and beside the stages."""
