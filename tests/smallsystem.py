"""A system of a shell and a few programs, from which images for tests are made in a moment."""

import gzip
import hashlib
import io
import json
import re
import shutil
import subprocess
import tarfile
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import Request, urlopen

from pyscale.images.catalog import ImageDefinition
from pyscale_stages.declaration import Image

CONTACT = ImageDefinition("contact", "contact", Image(after_code="echo code >/after_code"))
"""An image that is built on the system."""
OCI = "application/vnd.oci.image"


def small_system():
    """Definition of the system, for a container program to build it."""
    lines = "".join(f"    {source} {inside}\n" for inside, source in _files().items())
    return f"Bootstrap: scratch\n\n%files\n{lines}"


def small_system_in(registry, path):
    """Push the system to a registry of plain http as an image of one layer; its digest."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as archive:
        for inside, source in _files().items():
            archive.add(source, inside.lstrip("/"))
    unpacked = layer.getvalue()
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": [_digest(unpacked)]},
    }
    packed, told = gzip.compress(unpacked), json.dumps(config).encode()
    at = f"http://{registry}/v2/{path}"
    for blob in (packed, told):
        with urlopen(Request(f"{at}/blobs/uploads/", method="POST")) as started:
            place = urljoin(at, started.headers["Location"])
        _put(f"{place}&digest={_digest(blob)}", blob, "application/octet-stream")
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": f"{OCI}.manifest.v1+json",
            "config": _described(told, f"{OCI}.config.v1+json"),
            "layers": [_described(packed, f"{OCI}.layer.v1.tar+gzip")],
        }
    ).encode()
    _put(f"{at}/manifests/latest", manifest, f"{OCI}.manifest.v1+json")
    return _digest(manifest)


def _files():
    """Each file of the system by its path inside, with where it is here."""
    files = {}
    for name in ("sh", "sleep", "cat", "touch", "chmod", "ln", "rm"):
        program = shutil.which(name)
        assert program is not None
        files[f"/bin/{name}"] = program
        said = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        files |= {library: library for library in re.findall(r"(/\S+) \(0x", said)}
    return {inside: Path(source).resolve() for inside, source in sorted(files.items())}


def _digest(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _described(content, media_type):
    return {"mediaType": media_type, "size": len(content), "digest": _digest(content)}


def _put(address, content, media_type):
    headers = {"Content-Type": media_type}
    with urlopen(Request(address, data=content, headers=headers, method="PUT")):
        pass
