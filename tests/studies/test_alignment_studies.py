"""Chapter 6's studies of trained networks at tiny sizes: what they measure, and what must hold of it."""

import numpy as np
import pandas as pd
import pytest
import torch

from companion.data import celeba
from companion.lab import draws, parameters
from companion.papers.alignment.studies import alignment as studies
from regimes.data import datasets
from regimes.measures import matrices
from regimes.validate import InputError
from tests.sizes import computable

BASE = {"n": 40, "d": 8, "k": 12, "rank": 5, "test": 50, "steps": 20, "method": "gd", "rate": 0.05}
BASE |= {"penalty": 0.0, "spectrum": "isotropic", "second": 1.0, "scales": [1.0, 0.01]}


PATHS = BASE | {"every": 10}


def rows_of(**changed):
    return pd.DataFrame(studies.correlations(PATHS | changed, [0, 1, 2]))


def batch_of(seeds, **changed):
    return studies.batch(studies.OnChain.of(BASE | changed), seeds)


def test_a_path_does_not_depend_on_its_batch():
    together = rows_of()
    alone = pd.DataFrame(studies.correlations(PATHS | {"scales": [0.01]}, [1]))
    same = together[(together.seed == 1) & (together["scale"] == 0.01)].reset_index(drop=True)
    assert sorted(set(together.step)) == [0, 5, 10, 20] and len(together) == 4 * 2 * 2 * 3
    for name in ("uc", "c", "double", "ptk", "train_loss", "test_loss"):
        np.testing.assert_allclose(same[name], alone[name], rtol=2e-3, atol=1e-5, err_msg=name)


def test_scales_share_everything_but_the_first_layer():
    data = batch_of([3, 4], second=0.25)
    large, small = (data.model[rows] for rows in (slice(0, 2), slice(2, 4)))
    torch.testing.assert_close(0.1 * large.weights[0], small.weights[0])
    for layer in (1, 2):
        assert torch.equal(large.weights[layer], small.weights[layer])
    assert torch.equal(data.train.x[:2], data.train.x[2:]) and data.seeds == [3, 4, 3, 4]
    network = batch_of([0], k=400, second=0.25).model
    spread = [float(weight[0].var()) * weight.shape[-1] for weight in network.weights]
    assert spread == pytest.approx([1, 0.25, 1], rel=0.15)


def test_the_shrunk_centre_is_what_decay_alone_leaves():
    """Without a gradient the weights are the shrunk ones; with one, ``c_shrunk`` is centred there."""
    changed = {"penalty": 2.0, "scales": [1.0]}
    setting = studies.OnChain.of(BASE | changed)
    data = studies.batch(setting, [0, 1, 2])
    blind = data._replace(train=data.train.__class__(0 * data.train.x, 0 * data.train.y, ""))
    *_, still = studies.states(setting, blind)
    shrunk = (1 - 0.05 * 2.0) ** 20 * data.model.weights[0]
    torch.testing.assert_close(still.model.weights[0], shrunk)
    *_, end = studies.states(setting, data)
    site = matrices.sites(end.model, data.train.x)[0]
    expected = matrices.uc_nfa(site.weights - shrunk, site.delta)
    rows = rows_of(**changed)
    result = rows[(rows.step == 20) & (rows.layer == 1)].c_shrunk
    np.testing.assert_allclose(result, expected, rtol=1e-3)


def test_features_are_read_from_the_trained_network():
    setting = BASE | {"draws": 4, "scales": [0.01]}
    rows = studies.learned_features(setting, [0, 1])
    assert [(row["seed"], row["layer"]) for row in rows] == [(0, 1), (1, 1), (0, 2), (1, 2)]
    first = rows[0]
    nfm, agop = (torch.tensor(first[name]).reshape(8, 8) for name in ("nfm", "agop"))
    assert float(matrices.correlation(nfm, agop)) == pytest.approx(first["uc"], abs=1e-5)
    egop = torch.tensor(first["egop"]).reshape(8, 8)
    ring = torch.zeros(8, 8)
    for j in range(5):
        ring[j, (j + 1) % 5] = ring[(j + 1) % 5, j] = 1
    torch.testing.assert_close(egop, ring @ ring / 5)  # A²/r for labels of unit variance
    assert float(matrices.correlation(egop, nfm)) == pytest.approx(first["egop_nfm"], abs=1e-5)
    assert all(row["spread"] > 0 and row["random"] < 1 for row in rows)


def test_features_are_read_from_what_training_has_added():
    rows = pd.DataFrame(studies.learned_features(BASE | {"draws": 40}, [0, 1, 2])).set_index(["seed", "scale", "layer"])
    along = rows_of()
    end = along[along.step == 20].set_index(["seed", "scale", "layer"])
    np.testing.assert_allclose(rows.c.sort_index(), end.c.sort_index(), rtol=2e-3)
    assert (rows.c_random > 0).all() and rows.c_random.mean() < rows.c.mean() - 0.02


def test_frames_keep_what_training_has_added():
    setting = BASE | {"frames": [1, 10], "steps": 10, "scales": [0.3]}
    first, tenth = studies.first_layer_snapshots(setting, [0])
    assert (first["step"], tenth["step"]) == (1, 10)
    for row in (first, tenth):
        moved, centred = (torch.tensor(row[name]).reshape(8, 8) for name in ("moved", "centred"))
        assert torch.allclose(moved, moved.T, atol=1e-6 * float(moved.abs().max())) and float(moved.trace()) > 0
        assert 0 < float(matrices.correlation(moved, centred)) <= 1 + 1e-6
    assert sum(first["moved"]) != sum(tenth["moved"])


STRIPE = {"shape": "stripe", "d": 4, "interfaces": [-0.3, 1.18549], "p": 40, "h": 30, "tolerance": 0.03, "test": 100}


def test_the_stripe_has_its_moments_in_order():
    for alpha in (1e-2, 1e3):
        rows = pd.DataFrame(studies.stripes(STRIPE | {"alpha": alpha}, [0]))
        moments = rows[rows.moment != "path"]
        assert list(moments.moment) == ["start", "star", "late", "end"] and moments.t.is_monotonic_increasing
        assert list(moments.satisfied.round(2).iloc[[0, 3]]) == [0, 1] and moments.satisfied.iloc[2] >= 0.98 - 1 / 40
        assert rows[["uc", "c"]].dropna().le(1 + 1e-9).all(axis=None)
        grown = moments["size"].iloc[-1] / moments["size"].iloc[0]
        assert grown > 2 if alpha < 1 else grown == pytest.approx(1, abs=0.05)


def test_the_lazy_start_is_the_limit_of_the_flow():
    rows = pd.DataFrame(studies.stripes(STRIPE | {"alpha": 1e5}, [1])).sort_values("t")
    assert rows.c.iloc[1] == pytest.approx(rows.c.iloc[0], abs=1e-2)


def test_pictures_are_learnt_and_split():
    setting = {"data": "digits", "words": "", "count": 120, "share": 0.75, "k": 16, "scale": 0.02, "rate": 1e-2}
    rows = studies.saliency_maps(setting | {"steps": 60, "draws": 3}, [0, 1])
    assert [row["seed"] for row in rows] == [0, 1] and rows[0]["height"] == 8
    assert len(rows[0]["shown_nfm"]) == 64 and "shown_nfm" not in rows[1]
    assert [seed for seed in (0, 1, draws.RESERVED, draws.RESERVED + 1) if draws.is_first(seed)] == [0, draws.RESERVED]
    for row in rows:
        assert row["train_loss"] < 0.5 and row["error"] < row["chance"] and -1 <= row["random"] <= row["agop"] <= 1


def test_faces_of_a_person_stay_on_one_side():
    pool = datasets.Task(torch.arange(20.0).reshape(10, 2).double(), torch.ones(10), "p", classes=torch.arange(10) // 2)
    train, test = datasets.split_classes(pool, 0.6, seed=0)
    assert len(train.y) == 6 and not set(train.classes.tolist()) & set(test.classes.tolist())
    for share in (0.01, 0.99):
        with pytest.raises(InputError, match="share must leave classes on both sides"):
            datasets.split_classes(pool, share, seed=0)


@pytest.mark.parametrize("data", ["faces", "celeba", "digits"])
def test_pictures_of_persons_are_split_by_person_and_others_by_picture(data):
    """Invented groups of two pictures each, of which six tenths are for training."""
    x = torch.arange(40.0, dtype=torch.float64).reshape(20, 2)
    pool = datasets.Task(x, torch.ones(20), "p", classes=torch.arange(20) // 2)
    values = {"data": data, "words": "", "count": 20, "share": 0.6, "k": 4, "scale": 1.0}
    setting = studies.Pictures(**values, rate=1e-2, steps=1, draws=1)
    train, test = studies._split(setting, pool, seed=1)
    other_train, _ = studies._split(setting, pool, seed=2)
    assert len(train.y) == 12 and sorted(torch.cat([train.x, test.x])[:, 0].tolist()) == x[:, 0].tolist()
    assert set(other_train.x[:, 0].tolist()) != set(train.x[:, 0].tolist()), "each seed has its own"
    shared = set(train.classes.tolist()) & set(test.classes.tolist())
    assert bool(shared) == (data == "digits")


def test_balanced_and_coarse():
    y = torch.tensor([1.0, -1, -1, -1, 1, -1], dtype=torch.float64)
    pool = datasets.Task(torch.arange(24.0).reshape(6, 4).double(), y, "p", classes=torch.arange(6))
    result = datasets.balanced(pool, seed=1)
    assert sorted(result.y.tolist()) == [-1, -1, 1, 1] and {0, 4} <= set(result.classes.tolist())
    assert datasets.coarse(pool, (2, 2), 2).x.flatten().tolist() == pool.x.mean(1).tolist()
    image = datasets.Task(torch.arange(16.0).reshape(1, 16).double(), y[:1], "p")
    assert datasets.coarse(image, (4, 4), 2).x.tolist() == [[2.5, 4.5, 10.5, 12.5]]
    with pytest.raises(InputError, match="size must divide images"):
        datasets.coarse(image, (4, 4), 3)


@pytest.fixture
def album(tmp_path, monkeypatch):
    """Six photographs in CelebA's layout: the first two and the last have glasses, three persons."""
    from PIL import Image

    monkeypatch.setenv("REGIMES_DATA", str(tmp_path))
    studies.load_pictures.cache_clear()
    folder = tmp_path / "celeba"
    (folder / "img_align_celeba").mkdir(parents=True)
    names = [f"{i:06d}.jpg" for i in range(1, 7)]
    for i, name in enumerate(names):
        Image.new("RGB", (178, 218), (40 * i, 40 * i, 40 * i)).save(folder / "img_align_celeba" / name)
    has = [1, 1, -1, -1, -1, 1]
    lines = ["6", "Bald Eyeglasses Young", *(f"{name}  -1 {one:2d}  1" for name, one in zip(names, has))]
    (folder / "list_attr_celeba.txt").write_text("\n".join(lines) + "\n")
    (folder / "identity_CelebA.txt").write_text("".join(f"{name} {i // 2}\n" for i, name in enumerate(names)))
    yield folder
    studies.load_pictures.cache_clear()


def test_a_readers_celeba_is_read(album):
    task = celeba.celeba(6, side=4)
    assert task.x.shape == (6, 16) and task.y.tolist() == [1, 1, 1, -1, -1, -1]
    grey = {round(255 * float(row[0]) / 40): (float(y), int(c)) for row, y, c in zip(task.x, task.y, task.classes)}
    assert grey == {0: (1, 0), 1: (1, 0), 2: (-1, 1), 3: (-1, 1), 4: (-1, 2), 5: (1, 2)}
    assert studies.first_there(["celeba", "digits"], studies._identity) == "celeba"
    pool, shape = studies.load_pictures("celeba", 4, str(album.parent))
    assert shape == (studies.CELEBA, studies.CELEBA) and len(pool.y) == 4


@pytest.mark.parametrize(
    ("spoil", "count", "message"),
    [
        (lambda f: None, 8, "count must be even and at most 6"),
        (lambda f: None, 5, "count must be even and at most 6"),
        (lambda f: (f / "identity_CelebA.txt").unlink(), 4, "identity_CelebA.txt cannot be read"),
        (lambda f: (f / "identity_CelebA.txt").write_text("000001.jpg\n"), 4, "number of a person"),
        (lambda f: (f / "list_attr_celeba.txt").write_text("1\nBald\n000001.jpg 1\n"), 4, "Eyeglasses among them"),
        (
            lambda f: (f / "list_attr_celeba.txt").write_text("1\nBald Eyeglasses\n000001.jpg 1\n"),
            4,
            "2 attributes a line",
        ),
        (lambda f: (f / "img_align_celeba" / "000003.jpg").write_bytes(b"x"), 6, "cannot be read as a photograph"),
        (
            lambda f: (f / "identity_CelebA.txt").write_text("000001.jpg 1\n"),
            4,
            r"disagree: .*, 5 of them, .* 000002\.jpg$",
        ),
    ],
)
def test_a_celeba_that_is_not_as_published_is_named_in_one_line(album, spoil, count, message):
    spoil(album)
    with pytest.raises(InputError, match=message) as error:
        celeba.celeba(count, side=4)
    assert "\n" not in str(error.value)


def test_without_a_folder_there_is_no_celeba(monkeypatch):
    monkeypatch.delenv("REGIMES_DATA", raising=False)
    with pytest.raises(InputError, match=r"put its folder celeba/ in \$REGIMES_DATA"):
        celeba.celeba(4)
    assert studies.first_there(["celeba", "digits"], studies._identity) == "digits"
    with pytest.raises(InputError, match="none of celeba is on this machine: data celeba ships with no package"):
        studies.first_there(["celeba"], studies._identity)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rank": 33}, r"rank = \$rank.*\): rank must be at most d = 32, got 33"),
        ({"rank": 1}, "rank must be a whole number from 2"),
        (
            {"06.correlations.second_layer.scales": [0.5]},
            r"06\.correlations\.second_layer\.scales must be one of 1.0, 0.1",
        ),
        (
            {"scales": [1.0, 0.5, 0.01]},
            r"06\.correlations\.second_layer\.scales must be one of 1.0, 0.5, 0.01; got 0.1",
        ),
        ({"06.correlations.adam.scales": [0.1, 0.5]}, r"06\.correlations\.adam\.scales must be one of 1.0, 0.1"),
        (
            {"06.correlations.decaying.spectrum": "1/k"},
            r"06\.correlations\.decaying\.spectrum must be one of isotropic, 1/",
        ),
        (
            {"06.correlations.weight_decay.penalty": -1.0},
            r"06\.correlations\.weight_decay\.penalty must be a number from 0 to 100",
        ),
        ({"k": 1_000_000}, "k must be"),
        ({"k": 10_000, "n": 100_000}, r"n = \$n.*n = 100000 and test = 1000 with k = 10000 would take"),
        (
            {"06.first_layer_snapshots.main.frames": [1, 20]},
            r"06\.first_layer_snapshots\.main .*: frames must end at steps = 800, got 20",
        ),
        ({"06.stripes.main.interfaces": [3.9]}, r"06\.stripes\.main .*: p must give both labels in every draw"),
        (
            {"06": {"saliency_maps": {"main": {"data": ["digits"], "count": 20, "share": 0.99}}}},
            "count = 20 images with share = 0.99 cannot be had",
        ),
    ],
)
def test_parameters_that_make_no_sense_are_named(changed, message):
    with pytest.raises(InputError, match=message):
        computable("06", parameters.resolve("06", "laptop", changed))


def test_a_rate_that_is_too_large_is_said():
    with pytest.raises(InputError, match="rate must be small enough"):
        studies.correlations(PATHS | {"rate": 100.0}, [0])


def test_no_column_of_a_row_is_a_setting():
    """A row's own column would take the place of the setting in captions."""
    face = {"data": "digits", "words": "", "count": 60, "share": 0.7, "k": 8, "scale": 0.1, "rate": 1e-2, "steps": 3}
    runs = [(studies.correlations, PATHS), (studies.first_layer_snapshots, BASE | {"frames": [1, 20]})]
    runs += [
        (studies.learned_features, BASE | {"draws": 2}),
        (studies.stripes, STRIPE | {"alpha": 1.0}),
        (studies.saliency_maps, face | {"draws": 2}),
    ]
    for study, given in runs:
        assert not {name for row in study(given, [0]) for name in row} & set(given), study.name
