"""``make data`` against a server on the loopback with small files: checksums, mirrors, a second call, off line."""

import functools
import hashlib
import http.server
import io
import tarfile
import threading

import numpy as np
import pytest

from companion import fetch
from regimes.data import datasets
from regimes.validate import InputError

pytestmark = pytest.mark.filterwarnings("ignore")


def test_every_home_has_a_certificate():
    homes = [home for wanted in fetch.SETS.values() for home in wanted["homes"]]
    assert len(homes) > 5 and [home for home in homes if not home.startswith("https://")] == []


@pytest.fixture
def server(tmp_path):
    """A folder that is served, its address, and the paths that were asked for."""
    served, asked = tmp_path / "served", []
    served.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            asked.append(self.path)

    here = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=served))
    thread = threading.Thread(target=here.serve_forever)
    thread.start()
    yield served, f"http://127.0.0.1:{here.server_port}", asked
    here.shutdown()
    thread.join()
    here.server_close()


@pytest.fixture
def sets(server, tmp_path, monkeypatch):
    """Two small data sets in the place of the published ones: files, and an archive of one file."""
    served, address, _ = server
    with tarfile.open(served / "few.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("batches/one")
        member.size = 3
        archive.addfile(member, io.BytesIO(b"one"))
    for name in ("a.gz", "b.gz"):
        (served / name).write_bytes(name.encode() * 9)
    md5 = {path.name: "md5:" + hashlib.md5(path.read_bytes()).hexdigest() for path in served.iterdir()}
    plain = fetch.SETS["mnist"] | {
        "files": {n: md5[n] for n in ("a.gz", "b.gz")},
        "homes": [address],
        "folder": "plain",
    }
    packed = fetch.SETS["cifar10"] | {"files": {"few.tar.gz": md5["few.tar.gz"]}, "homes": [address]}
    monkeypatch.setattr(fetch, "SETS", {"mnist": plain, "cifar10": packed})
    monkeypatch.setenv("REGIMES_DATA", str(tmp_path / "data"))
    return fetch.SETS


def test_all_comes_where_it_is_looked_for_and_only_once(server, sets, tmp_path, capsys):
    assert fetch.main([]) == 0
    assert (tmp_path / "data" / "plain" / "a.gz").read_bytes() == b"a.gz" * 9
    assert (tmp_path / "data" / "batches" / "one").read_bytes() == b"one"
    assert capsys.readouterr().out.count("\n") == 2
    before = len(server[2])
    (tmp_path / "data" / "plain" / "b.gz").unlink()  # a command that was stopped
    assert fetch.main([]) == 0 and server[2][before:] == ["/b.gz"]


def test_a_mirror_stands_in_for_a_home_that_has_other_files_or_none(server, sets, tmp_path, monkeypatch):
    served, address, asked = server
    (served / "forged").mkdir()
    (served / "forged" / "a.gz").write_bytes(b"forged")
    homes = (f"{address}/forged", f"{address}/nothing", address)
    monkeypatch.setitem(fetch.SETS, "mnist", sets["mnist"] | {"homes": homes})
    assert fetch.main(["mnist"]) == 0
    assert (tmp_path / "data" / "plain" / "a.gz").read_bytes() == b"a.gz" * 9 and "/forged/a.gz" in asked


def test_a_forged_file_stays_out(server, sets, tmp_path, capsys):
    (server[0] / "a.gz").write_bytes(b"forged")
    assert fetch.main(["mnist"]) == 1
    assert not (tmp_path / "data" / "plain" / "a.gz").exists()
    assert "a.gz of" in (said := capsys.readouterr().err) and "is not the published one" in said


def test_off_line_one_line_says_what_is_missing_and_who_judges_instead(sets, monkeypatch, capsys):
    monkeypatch.setattr(fetch, "SETS", {n: s | {"homes": ["http://127.0.0.1:9"]} for n, s in sets.items()})
    assert "B.Fig6-gain-second" not in fetch._instead("mnist"), "which Fashion-MNIST judges"
    fetch.SETS["mnist"]["said"], fetch.SETS["cifar10"]["said"] = "Fashion-MNIST", "data of no claim's rows"
    assert fetch.main([]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and said.startswith("missing: mnist (a.gz of http://127.0.0.1:9 could not be fetched")
    assert "the stored results judge B.Fig4-crossover-second, " in said and "B.Fig6-gain-second, B.Fig9-fc" in said
    assert "cifar10 (" in said and "no claim" in said


def test_an_unknown_name_is_one_line(capsys):
    with pytest.raises(SystemExit, match="2"):
        fetch.main(["imagenet"])
    assert capsys.readouterr().err.count("\n") == 1


def test_the_default_folder_is_looked_into_unless_another_is_named(mini_book, monkeypatch):
    monkeypatch.delenv("REGIMES_DATA", raising=False)
    assert datasets._folder() is None
    (mini_book / "data").mkdir()
    assert datasets._folder() == datasets.default_folder() == mini_book / "data"
    monkeypatch.setenv("REGIMES_DATA", "")
    assert datasets._folder() is None
    monkeypatch.setenv("REGIMES_DATA", str(mini_book))
    assert datasets._folder() == mini_book


def test_published_checksums_are_of_the_files_that_are_read():
    for name in ("mnist", "fashion_mnist"):
        assert set(fetch.SETS[name]["files"]) == {f"{file}.gz" for file in datasets._IDX}


def test_faces_as_they_are_published_are_read_in_order_and_checked(tmp_path, monkeypatch):
    monkeypatch.setenv("REGIMES_DATA", str(tmp_path))
    pixels = np.random.default_rng(0).integers(0, 255, (400, 112, 92), dtype=np.uint8)
    for k, image in enumerate(pixels):
        path = tmp_path / "orl_faces" / f"s{k // 10 + 1}" / f"{k % 10 + 1}.pgm"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"P5\n92 112\n255\n" + image.tobytes())
    datasets._images.cache_clear()
    with pytest.raises(InputError, match="orl_faces has checksum"):
        datasets.load("faces")
    monkeypatch.setattr(datasets, "_FACES_SHA256", hashlib.sha256(pixels.tobytes()).hexdigest())
    faces = datasets.load("faces")
    assert np.array_equal(faces.x.numpy(), pixels.reshape(400, -1) / 255) and int((faces.y > 0).sum()) == 119
    assert faces.y[9] == -1 and faces.y[10] == 1 and faces.classes[10] == 2
    datasets._images.cache_clear()
    (path.parent / "10.pgm").unlink()
    with pytest.raises(InputError, match=r"orl_faces lacks s40/10\.pgm"):
        datasets.load("faces")
    datasets._images.cache_clear()
