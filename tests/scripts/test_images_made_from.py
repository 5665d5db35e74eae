"""Images are tested again where what they are made from has changed, and not at each commit."""

from dataclasses import replace

import images_made_from
from pyscale.images.catalog import catalog


def told(capsys):
    images_made_from.main()
    return dict(line.split(" ", 1) for line in capsys.readouterr().out.splitlines())


def test_what_a_stage_declares_of_its_image_changes_the_line_of_that_image_alone(
    capsys, monkeypatch
):
    before, known = told(capsys), dict(catalog())
    assert {"stage", "contact", "track"} <= before.keys()
    assert not {"track_trackmate", "loader-cuda"} & before.keys(), "built by name alone"
    contact = known["contact"]
    for changes in ({"debian": ("fio",)}, {"after_code": "true"}):
        known["contact"] = replace(contact, image=replace(contact.image, **changes))
        monkeypatch.setattr(images_made_from, "catalog", lambda: known)
        after = told(capsys)
        assert {name for name in before if before[name] != after[name]} == {"contact"}
