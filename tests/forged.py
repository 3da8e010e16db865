"""Files of stored results that somebody has changed."""

import gzip
import json

from companion.lab.store import _checksum


def change_lines(path, change):
    """Rewrites the lines of a file, one per cell, as somebody with an editor would."""
    lines = change(gzip.decompress(path.read_bytes()).decode().splitlines())
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(errors="surrogateescape")))


def sign(path, change):
    """Changes the record of each cell, and signs it with its checksum, as one would who knows how."""

    def signed(line):
        record = json.loads(line)
        record.pop("checksum")
        change(record)
        return json.dumps(record | {"checksum": _checksum(record)})

    change_lines(path, lambda lines: [signed(line) for line in lines])
