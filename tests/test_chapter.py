"""What a chapter shows: notes that name data, settings and profile; verdicts; errors before any computing."""

import json

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from regimes import chapter as desk
from regimes.chapter import Chapter
from regimes.check import InputError
from regimes.estimates import Estimate
from regimes.sweep import product, study

NAMESPACE = {"profile": "laptop", "size": 3, "scale": 0.5, "sizes": [1, 2]}


@study(version=1, grid=lambda p: product(n=[1, 2, 3, 4, 5], d=7, seeds=range(3)), data="counted")
def counts(setting, seeds):
    """Counts."""
    return [{"seed": s, "x": setting["n"] + s} for s in seeds]


@pytest.fixture
def shown(monkeypatch):
    """What the chapter displays, instead of a notebook."""
    items = []
    monkeypatch.setattr(desk, "display", lambda item, metadata=None: items.append((item, metadata)))
    return items


@pytest.fixture
def opened(mini_book, monkeypatch):
    monkeypatch.setenv("REGIMES_RUN", str(mini_book / "run"))
    monkeypatch.delenv("REGIMES_STORE", raising=False)
    return Chapter("99", NAMESPACE)


def test_caption_ends_with_data_settings_and_profile(opened, shown):
    table = opened.sweep(counts)
    fig, _ = plt.subplots()
    opened.figure(fig, "fig-x", "A line. It rises.", table)
    ((_, metadata),) = shown
    expected = "A line. It rises. Data: counted. Settings: n = 1 … 5 (5), d = 7, 3 seeds. Profile: laptop."
    assert metadata["regimes"] == {"name": "fig-x", "caption": expected, "alt": "A line"}
    assert not plt.fignum_exists(fig.number)


def test_table_carries_label_and_caption(opened, shown):
    opened.table(pd.DataFrame({"x": [0.123456, None]}), "tab-x", "Numbers.", opened.sweep(counts))
    text = shown[0][0].data
    assert 'id="tab-x"' in text and "<caption>Numbers. Data: counted." in text and "0.1235" in text and "—" in text


def test_check_writes_the_record_and_shows_one_line(opened, shown, mini_book):
    opened.check("Z.Fig1-size", Estimate.exact(3), opened.sweep(counts), figure="fig-x")
    (record,) = json.loads((mini_book / "run" / "99.ledger.json").read_text())
    assert record["settings"] == [{"n": [1, 2, 3, 4, 5], "d": 7, "seeds": 3}] and record["data"] == "counted"
    assert record["seconds"] >= 0 and record["device"] and record["versions"]["torch"]
    assert shown[0][0].data.startswith("✔ **reproduced** — `Z.Fig1-size`") and "\n" not in shown[0][0].data


def test_claims_are_declared_and_judged_once(opened, shown):
    with pytest.raises(InputError, match=r"Z\.Fig9-x is not in book/claims\.yml"):
        opened.check("Z.Fig9-x", Estimate.exact(3), figure="fig-x")
    opened.check("Z.Fig1-size", Estimate.exact(3), figure="fig-x")
    with pytest.raises(InputError, match="judged already"):
        opened.check("Z.Fig1-size", Estimate.exact(3), figure="fig-x")


@pytest.mark.parametrize(
    ("given", "said"),
    [({"size": "three"}, "size must be a whole number"), ({"profile": "huge"}, "profile must be one of")],
)
def test_parameters_changed_by_hand_in_jupyter_are_checked_too(mini_book, given, said):
    with pytest.raises(InputError, match=said):
        Chapter("99", NAMESPACE | given)


def test_stored_paper_scale_rows(opened, mini_book):
    assert opened.stored(counts).empty
    (mini_book / "results").mkdir()
    pd.DataFrame({"x": [1]}).to_csv(mini_book / "results" / f"{counts.name}.csv", index=False)
    assert list(opened.stored(counts)["x"]) == [1]
