"""Truth from an XML file of TrackMate: its spots, linked by tracks that end where cells divide."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from pyscale_stages.errors import BadInput, said_by

SUFFIX = ".xml"
Cell = tuple[int, int, int, float, float]
"""Frame, track, the track that it divided from or 0, y and x in px."""


def cells_in(file: Path) -> list[Cell]:
    """Visible spots, linked by tracks that passed TrackMate's filters and end where they divide."""
    try:
        root = ElementTree.parse(file).getroot()
        spots = {
            int(spot.attrib["ID"]): spot.attrib
            for spot in root.iterfind("Model/AllSpots/SpotsInFrame/Spot")
            if spot.get("VISIBILITY") != "0"
        }
        kept = {track.attrib["TRACK_ID"] for track in root.iterfind("Model/FilteredTracks/TrackID")}
        links = [
            sorted(
                (int(edge.attrib["SPOT_SOURCE_ID"]), int(edge.attrib["SPOT_TARGET_ID"])),
                key=lambda spot: int(spots[spot]["FRAME"]),
            )
            for track in root.iterfind("Model/AllTracks/Track")
            if track.attrib["TRACK_ID"] in kept
            for edge in track.iterfind("Edge")
        ]
        width_px, height_px = _pixel_size(root)
        places = {
            spot: (
                int(spots[spot]["FRAME"]),
                float(spots[spot]["POSITION_Y"]) / height_px,
                float(spots[spot]["POSITION_X"]) / width_px,
            )
            for spot in spots
        }
    except (OSError, ElementTree.ParseError, KeyError, ValueError, ZeroDivisionError) as error:
        raise BadInput(
            f"{file} is not a readable XML file of TrackMate{said_by(error)}: save it again by "
            "TrackMate's button Save"
        ) from error
    return _numbered(file, places, links)


def _pixel_size(root: ElementTree.Element) -> tuple[float, float]:
    """Width and height of a pixel in the file's unit."""
    image = root.find("Settings/ImageData")
    if image is not None:
        return float(image.attrib["pixelwidth"]), float(image.attrib["pixelheight"])
    unit = root.find("Model[@spatialunits]")
    if unit is None or unit.attrib["spatialunits"] not in {"pixel", "pixels"}:
        raise ValueError("it gives no pixel size")
    return 1.0, 1.0


def _numbered(
    file: Path, places: dict[int, tuple[int, float, float]], links: list[list[int]]
) -> list[Cell]:
    """Give each spot its track, in the order of frames."""
    before: dict[int, int] = {}
    successors = dict.fromkeys(places, 0)
    for earlier, later in links:
        if later in before:
            raise BadInput(
                f"tracks merge in {file} at the spot {later}, but cells only divide: remove one "
                "of the two links"
            )
        before[later] = earlier
        successors[earlier] += 1
    track_of: dict[int, int] = {}
    parent_of: dict[int, int] = {}
    for spot in sorted(places, key=lambda spot: (places[spot][0], spot)):
        mother = before.get(spot)
        if mother is not None and successors[mother] == 1:
            track_of[spot] = track_of[mother]
        else:
            track_of[spot] = len(parent_of) + 1
            parent_of[track_of[spot]] = 0 if mother is None else track_of[mother]
    return [
        (frame, track_of[spot], parent_of[track_of[spot]], y_px, x_px)
        for spot, (frame, y_px, x_px) in places.items()
    ]
