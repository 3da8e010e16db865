"""``make data`` against a server on the loopback with small files: checksums, mirrors, a second call, off line."""

import functools
import hashlib
import http.server
import io
import tarfile
import threading
import zipfile

import numpy as np
import pytest

from companion import fetch
from regimes.data import datasets
from regimes.validate import InputError

pytestmark = pytest.mark.filterwarnings("ignore")


def test_every_home_has_a_certificate():
    homes = [home for wanted in fetch.SETS.values() for home in wanted["homes"]]
    assert len(homes) > 5 and [home for home in homes if not home.startswith("https://")] == []


def test_every_file_has_two_checksums_or_its_pixels_have_one():
    files = {name: sums for wanted in fetch.SETS.values() for name, sums in wanted["files"].items()}
    lengths = {name: {method: len(digest) for method, digest in sums.items()} for name, sums in files.items()}
    assert lengths.pop("att_faces.zip") == {"md5": 32} and len(datasets._FACES_SHA256) == 64
    assert len(lengths) == 5 and all(found == {"md5": 32, "sha256": 64} for found in lengths.values())


def sums_of(raw):
    return {"md5": hashlib.md5(raw).hexdigest(), "sha256": hashlib.sha256(raw).hexdigest()}


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
    sums = {path.name: sums_of(path.read_bytes()) for path in served.iterdir()}
    plain = fetch.SETS["mnist"] | {
        "files": {n: sums[n] for n in ("a.gz", "b.gz")},
        "homes": [address],
        "folder": "plain",
    }
    packed = fetch.SETS["cifar10"] | {"files": {"few.tar.gz": sums["few.tar.gz"]}, "homes": [address]}
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


@pytest.mark.parametrize("name", ["mnist", "cifar10"])
@pytest.mark.parametrize("wrong", ["byte", "md5", "sha256"])
def test_one_wrong_byte_or_checksum_is_refused_in_one_line(server, sets, tmp_path, capsys, monkeypatch, name, wrong):
    file = next(iter(sets[name]["files"]))
    if wrong == "byte":
        raw = bytearray((server[0] / file).read_bytes())
        raw[-1] ^= 1
        (server[0] / file).write_bytes(raw)
    else:
        sums = sets[name]["files"][file]
        turned = {wrong: sums[wrong].translate(str.maketrans("0123456789abcdef", "123456789abcdef0"))}
        monkeypatch.setitem(fetch.SETS, name, sets[name] | {"files": {file: sums | turned}})
    assert fetch.main([name]) == 1
    assert not {path.name for path in (tmp_path / "data").rglob("*")} & {file, "batches"}
    said = capsys.readouterr().err
    assert (
        said.count("\n") == 1 and said.startswith(f"missing: {name} ({file} of http") and "is not the published" in said
    )


def tar_of(path, *members):
    with tarfile.open(path, "w:gz") as archive:
        for name, kind, link in members:
            member = tarfile.TarInfo(name)
            member.type, member.linkname, member.mode = kind, link, 0o6777
            member.size = 3 * (kind == tarfile.REGTYPE)
            archive.addfile(member, io.BytesIO(b"one"))


def zip_of(path, *names):
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, b"one")


@pytest.mark.parametrize("leads_out", ["../one", "batches/../../one", "/tmp/of-no-test/one"])
@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_an_archive_writes_nothing_outside_its_folder(tmp_path, leads_out, kind):
    (folder := tmp_path / "folder").mkdir()
    if kind == "tar":
        tar_of(folder / "archive", (leads_out, tarfile.REGTYPE, ""))
    else:
        zip_of(folder / "archive", leads_out)
    with pytest.raises(ValueError):
        fetch._unpack(folder / "archive")
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["archive"]


def test_an_archive_writes_plain_files_only_and_completes_what_is_cut_short(tmp_path):
    links = [
        ("link", tarfile.SYMTYPE, "/etc"),
        ("hard", tarfile.LNKTYPE, "batches/one"),
        ("pipe", tarfile.FIFOTYPE, ""),
    ]
    tar_of(tmp_path / "archive", ("batches", tarfile.DIRTYPE, ""), ("batches/one", tarfile.REGTYPE, ""), *links)
    for there in (b"", b"o", b"one"):
        fetch._unpack(tmp_path / "archive")
        one = tmp_path / "batches" / "one"
        assert one.read_bytes() == b"one" and not one.stat().st_mode & 0o7111
        assert sorted(path.name for path in tmp_path.rglob("*")) == ["archive", "batches", "one"]
        one.write_bytes(there)
    zip_of(tmp_path / "archive", "batches/one", "s1/two")
    fetch._unpack(tmp_path / "archive")
    assert (tmp_path / "s1" / "two").read_bytes() == b"one"


def test_off_line_one_line_says_what_is_missing_and_who_judges_instead(sets, monkeypatch, capsys):
    monkeypatch.setattr(fetch, "SETS", {n: s | {"homes": ["http://127.0.0.1:9"]} for n, s in sets.items()})
    assert "B.Fig9-fc" not in fetch._instead("mnist"), "which Fashion-MNIST judges"
    fetch.SETS["mnist"]["said"], fetch.SETS["cifar10"]["said"] = "Fashion-MNIST", "data of no claim's rows"
    assert fetch.main([]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and said.startswith("missing: mnist (a.gz of http://127.0.0.1:9 could not be fetched")
    assert "the stored results judge B." in said and "B.Fig9-fc" in said
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
