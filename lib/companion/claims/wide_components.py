"""Claims of chapter 4 at paper A's own width: first components of the stripe's kernel with 10,000 neurons."""

from companion.claims.kernel_pca import END, START, first_share, kernel_at, largest_information
from companion.estimates import mean
from companion.report.claims import claim
from companion.studies import kernel_pca as studies

CHAPTER = "04"


@claim(
    {
        "A.Fig10-gain-wide": {
            "given": {"kernel": "full"},
            "short": "gain of largest information, width $10^4$",
            "part_of": "A.Fig10-gain-stripe",
        },
        "A.Fig10-last-layer-wide": {
            "given": {"kernel": "last"},
            "short": "gain in the last layer, width $10^4$",
            "part_of": "A.Fig10-gain-stripe",
            "statement": "At paper A's width learning greatly improves the last layer's information too.",
        },
    },
    "paper A, Fig. 10a",
    accept=(0.2, 1),
    rival=(0, "in the lazy regime the kernel does not change, and wider networks are lazier at a fixed scale"),
    figure="fig-a-10",
    at={"h": 10000},
)
def information_gained_at_width(wide=studies.stripes["wide"], *, kernel):
    """At paper A's width, too, learning greatly improves the mutual information (stripe).

    largest of ten components after training minus largest before, bits
    """
    if wide.seed.nunique() < 2:
        return None
    gained = largest_information(wide, kernel, "end") - largest_information(wide, *START)
    return mean(gained), kernel_at(wide, *START), kernel_at(wide, kernel, "end")


@claim(
    "A.Fig10-centred-first-wide",
    'paper A, Sec. 5.2: "most of the projection occurs along the first mode", if kernel PCA subtracts the mean',
    accept=(0.5, 1),
    rival=(0.1, "equal shares of the ten"),
    figure="fig-a-10",
    short="centred share on the first, width $10^4$",
    part_of="A.Fig10-projection-stripe",
    at={"h": 10000},
)
def share_of_the_first_at_width(wide=studies.stripes["wide"]):
    """At paper A's width, too, most of the label's projection is on the first centred component (stripe).

    the first component's share of the ten
    """
    if wide.seed.nunique() < 2:
        return None
    return mean(first_share(wide, "projections_centred")), kernel_at(wide, *END)


@claim(
    "A.Fig11-last-centred-wide",
    (
        'paper A, Fig. 11 right and caption: "two informative eigenvectors are necessary to linearly separate the '
        'stripe data"; they are "principal components"'
    ),
    accept=(0.95, 1),
    rival=(0.882, "a component along $x_1$, which follows one of the two planes"),
    figure="fig-a-11",
    short="best line in the last layer, width $10^4$",
    part_of="A.Fig11-last-centred-stripe",
    at={"h": 10000},
)
def line_in_last_layer_at_width(wide=studies.stripes["wide"]):
    """At paper A's width, too, two components of the last layer separate the stripe linearly.

    accuracy of the best line in the plane of the first two principal components of its activations, the mean
    subtracted
    """
    if wide.seed.nunique() < 2:
        return None
    last = kernel_at(wide, "last", "end")
    return mean(last.separable_centred), last
