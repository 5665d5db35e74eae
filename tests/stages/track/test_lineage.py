import numpy as np
import pytest

from pyscale_stages.track.lineage import Detections, links_of, tracks_of


def detections(*frame_and_label):
    table = np.array(frame_and_label, dtype=np.int64).reshape(-1, 2)
    nowhere = np.zeros(len(table))
    return Detections(table[:, 0], table[:, 1], nowhere, nowhere)


def links(*pairs):
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


@pytest.mark.parametrize(
    ("cells", "pairs", "track_ids", "splits"),
    [
        ([(0, 1), (0, 2), (5, 1)], [], [1, 2, 3], []),
        # By first frame, then label.
        ([(0, 1), (0, 2), (1, 1), (1, 2), (1, 3)], [(1, 2), (0, 4)], [1, 2, 2, 3, 1], []),
        (
            [(0, 1), (1, 1), (2, 1), (2, 2), (3, 1)],
            [(0, 1), (1, 2), (1, 3), (2, 4)],
            [1, 1, 2, 3, 2],
            [[1, 2], [1, 3]],
        ),
        ([], [], [], []),
    ],
    ids=["without links", "numbers", "a division ends the parent", "no detections"],
)
def test_links_make_tracks(cells, pairs, track_ids, splits):
    tracks = tracks_of(detections(*cells), links(*pairs))
    assert tracks.track_id.tolist() == track_ids
    assert tracks.splits.tolist() == splits
    assert len(links_of(tracks)) == len(pairs)


def test_tracks_that_merge_are_refused():
    with pytest.raises(ValueError, match="two predecessors"):
        tracks_of(detections((0, 1), (0, 2), (1, 1)), links((0, 2), (1, 2)))
