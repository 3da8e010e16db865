"""What studies declare has no right value, and does not change unseen."""

from tests import references


def test_versions_tolerances_and_ranges_are_those_that_are_kept():
    kept = references.DECLARED.read_text(encoding="utf-8").splitlines()
    now = references.declared()
    assert not sorted({*now} ^ {*kept}), "if this is meant: python -m tests.references studies"
    assert now == kept and len(now) > 400
