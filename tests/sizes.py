"""What the studies of tests are measured at."""

from companion.lab.record import Count, Setting, record


@record
class Size(Setting):
    """One size."""

    n: Count[0, 100_000]
