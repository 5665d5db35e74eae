from dataclasses import asdict

import pytest

from pyscale_stages.errors import BadInput
from pyscale_stages.register_denoise.ants_calls import Correction
from pyscale_stages.register_denoise.transforms import (
    TRANSFORMS_FILE,
    LinearTransform,
    is_doubtful,
    read_transforms,
    table_of,
)
from refusals import refused

ROW = {"frame": 0, "status": "registered", **asdict(LinearTransform())}
ROW |= {"warp_max_px": 0.0, "warp_mean_px": 0.0, "correlation": 1.0}


@pytest.mark.parametrize("content", [None, b"", b"PAR1 and no more", table_of([ROW]).drop("m01")])
def test_a_table_that_cannot_be_read_is_named(tmp_path, content):
    if isinstance(content, bytes):
        (tmp_path / TRANSFORMS_FILE).write_bytes(content)
    elif content is not None:
        content.write_parquet(tmp_path / TRANSFORMS_FILE)
    with refused(BadInput):
        read_transforms(tmp_path, (0, 1))


SHAPE = (100, 200)


def found(correlation=0.9, unmoved=0.6, **linear):
    return Correction(
        LinearTransform(**linear), correlation=correlation, correlation_unmoved=unmoved
    )


@pytest.mark.parametrize(
    ("correction", "doubtful"),
    [
        (found(ty_px=3.0, tx_px=-60.0), False),
        # Unlike the reference, and more alike unmoved.
        (found(correlation=0.49, unmoved=0.1), True),
        (found(correlation=0.7, unmoved=0.8), True),
        # No drift explains such a transform.
        (found(ty_px=-51.0), True),
        (found(tx_px=101.0), True),
        (found(m00=1.5, m11=1.5), True),
        (found(m11=0.4), True),
    ],
)
def test_only_a_plausible_drift_that_makes_frames_alike_is_believed(correction, doubtful):
    assert is_doubtful(correction, SHAPE) == doubtful
