"""Claims of chapter 5 on what the deep kernel predicts: ridge regression, the recipe, operators, Table 2."""

import math

import numpy as np

from companion.book.claims import again, claim
from companion.estimates import exponent, least, mean, slopes
from companion.lab.parameters import PROFILES
from companion.papers.depth.studies import depth as studies
from regimes.validate import InputError

CHAPTER = "05"
CLOUDS = ["sphere", "images"]
DEEPEST = 1_000_000


@claim("C.Thm3-ridge", accept=(0, 0.05), rival=1.5, headline=True, figure="fig-c-laws", at={"depths": 30, "n": 500})
def distance_from_ridge(predictions=studies.deep_prediction["drawn"]):
    """At depth 30 the deep predictor on 500 images is kernel ridge regression with the depthless kernel $c$ and the
    ridge $4(1-a)L$.

    Distance over the predictor's variation, mean over data sets.

    Rival: the closed law, which expands in the offsets over the depth
    Source: derived in this chapter; it replaces the exponents of paper C, Theorem 3
    Short: distance from ridge regression, depth 30
    """
    rows = predictions[predictions.depth == 30]
    return mean(rows["first"]), rows


@claim(
    "C.Thm3-ridge-layers",
    accept=(0, 0.03),
    rival=0.31,
    figure="fig-c-layers",
    at={"depths": 300, "layer": ["ReLU", "tanh"]},
)
def distance_from_ridge_of_layers(predictions=studies.layer_prediction["main"]):
    """Every critical layer acts as a ridge of about $kL$ beside its own offsets ($k=3$ for a non-smooth activation, 2
    for a smooth one).

    Distance of the predictor from that law at depth 300, largest mean over eight layers.

    Rival: the ReLU's offsets and ridge for all layers, at the one that it fits best
    Source: derived in this chapter
    Short: distance from ridge, eight layers
    """
    rows = predictions[predictions.depth == 300]
    distances = rows.pivot_table(index="seed", columns="layer", values="first").to_numpy()
    return -least(-distances), rows


def _accuracy_far_down(predictions):
    """The accuracy at the largest depth that is judged, and the rows."""
    rows = predictions[predictions.depth == DEEPEST]
    return mean(rows.accuracy), rows


@claim(
    "C.Thm3-accuracy-balanced",
    accept=(0.7, 0.9),
    rival=0.1,
    headline=True,
    figure="fig-c-deep",
    at={"depths": 1000000, "classes": "balanced"},
)
def accuracy_with_equal_classes(predictions=studies.deep_prediction["balanced"]):
    """The predicted values tend to a constant, but with ten classes in equal parts their argmax does not.

    Its accuracy on fresh images at depth $10^6$.

    Rival: chance, an argmax independent of the data
    Source: derived in this chapter
    Short: accuracy at depth $10^6$, equal classes
    """
    return _accuracy_far_down(predictions)


@claim(
    "C.Thm3-accuracy-drawn",
    accept=(0, 0.2),
    rival=0.81,
    figure="fig-c-deep",
    at={"depths": 1000000, "classes": "drawn"},
)
def accuracy_with_drawn_classes(predictions=studies.deep_prediction["drawn"]):
    """Too large a depth makes predictions independent of the data.

    Accuracy of the argmax on fresh images at depth $10^6$, classes as they are drawn.

    Rival: the closed law where the means of all classes are equal
    Source: paper C, Sec. 6.4 and Sec. 7
    Short: accuracy at depth $10^6$, as drawn
    """
    return _accuracy_far_down(predictions)


@claim(
    "C.Thm3-collapse-all", accept=(0.9, 1.1), rival=0.7, figure="fig-c-collapse", at={"n": 1000, "ratio": [2.5, 20.0]}
)
def error_at_equal_ratio(shares=studies.size_over_depth["images"]):
    """To within a tenth the squared error on images is a function of $n/L$ alone.

    That of 1000 images over that of the fewest at the same $n/L$, at the ratio where it is largest, of four from 2.5 to
    20.

    Rival: depth without effect: four times the data at one depth, 12
    Source: derived in this chapter
    Short: error at equal $n/L$
    """
    table = shares.pivot_table(index=["seed", "ratio"], columns="n", values="left")
    fewest = table.bfill(axis=1).iloc[:, 0]  # points at that ratio
    growth = (table[table.columns[-1]] / fewest).unstack("ratio")
    return -least(-growth.to_numpy())


@claim(
    "C.Thm3-recipe-depth",
    accept=(0.02, 0.06),
    rival=0,
    headline=True,
    figure="fig-c-recipe",
    at={"corpus": "mnist", "depths": 30, "n": 500},
)
def gain_of_the_prescribed_depth(tried=studies.recipe["main"]):
    r"""The depth that the paper prescribes predicts better than a depth of 30.

    Accuracy on digits at the least whole $L$ above $\max1/\sqrt{1-h}$ less that at depth 30, 500 digits as they are
    drawn.

    Rival: no effect of depth
    Source: derived in this chapter, for paper C, Sec. 6.4: "the Goldilocks zone"
    Short: accuracy gained over depth 30
    """
    accuracy = tried.pivot_table(index="seed", columns="depth", values="accuracy")
    return mean(accuracy[0] - accuracy[30])


@claim(
    "C.Tab2-accuracy",
    accept=(0.854, 0.894),
    stated=0.874,
    rival=0.9,
    figure="tab-c-tab2",
    given={"score": "accuracy"},
    at={"corpus": "mnist", "depths": 30, "n": 500},
)
@again(
    "C.Tab2-f1",
    accept=(0.85, 0.89),
    stated=0.87,
    rival=0.8995,
    part_of="C.Tab2-accuracy",
    given={"score": "f1"},
    statement="Kernel regression at depth 30 on 500 MNIST digits has F1 score 0.870.",
    short="F1 score on digits, depth 30",
)
def score_at_thirty(scores=studies.mnist_regression["main"], *, score):
    """Kernel regression at depth 30 on 500 MNIST digits classifies with accuracy 0.874.

    Rival: depth 2 on the same splits: no effect of depth
    Source: paper C, Tab. 2
    Short: accuracy on digits, depth 30
    """
    rows = scores[scores.depth == 30]
    return mean(rows[score]), rows


@claim(
    "C.Tab2-error",
    accept=(6.21, 6.66),
    stated=6.435,
    rival=1,
    erratum="c-table-2",
    figure="tab-c-tab2",
    at={"corpus": "mnist", "depths": 30, "n": 500},
)
def squared_error_at_thirty(scores=studies.mnist_regression["main"]):
    """The mean squared error of kernel regression at depth 30 on 500 MNIST digits is 6.435.

    One-hot targets, classes in equal parts; the band is three of the paper's deviations.

    Rival: predicting 0 for one-hot targets
    Source: paper C, App. D: "We report the mean squared error, accuracy and F1 score on MNIST data in Table 2"
    Short: mean squared error, depth 30
    """
    return mean(scores[scores.depth == 30].mse)


@claim(
    "C.Tab2-residual",
    kind="beyond",
    accept=(6.36, 6.51),
    rival=10,
    figure="tab-c-tab2",
    at={"corpus": "mnist", "depths": 30, "n": 500},
)
def ten_residuals_at_thirty(scores=studies.mnist_regression["main"]):
    """Ten times the mean Euclidean norm of the residual of kernel regression at depth 30 on 500 MNIST digits is the
    number that paper C's Table 2 calls an average error, 6.435.

    Classes in equal parts, as for the table's other two numbers.

    Rival: predicting 0 for one-hot targets; ten times the mean squared error is 4.46
    Source: found in this chapter among several readings of paper C, Tab. 2
    Short: ten times the residual, depth 30
    """
    return mean(10 * scores[scores.depth == 30].residual)


@claim("C.Fig6-early", accept=(1.29, math.inf), rival=1, figure="tab-c-checked", at={"cloud": CLOUDS})
def effect_of_stopping(sphere=studies.projection_norm["sphere"], images=studies.projection_norm["images"]):
    """A proper stopping time controls the norm of the operator, on the sphere and on images.

    Norm at infinite time over that at $t=1$, the first of the figure's times, mean over data sizes from 16 to 1024,
    with which it goes up and down; smaller of the two kinds of data.

    Rival: stopping changes nothing
    Source: paper C, Fig. 6 and Sec. 6.4
    Short: stopping lowers the norm
    """
    if sphere.n.nunique() < 2:
        raise InputError("a mean over data sizes needs several")
    ratios = [(rows.forever / rows.early).groupby(rows.seed).mean() for rows in (sphere, images)]
    return least(np.stack(ratios, axis=1)), sphere, images


@claim(
    "C.Thm3-duplicates", accept=(-0.05, 0.05), rival=-0.5, erratum="c-norm", profiles=PROFILES, figure="tab-c-checked"
)
def norm_with_near_duplicates(doubles=studies.near_duplicates["main"]):
    r"""With near-duplicates among the points the operator stays bounded even without stopping.

    Exponent in their angle of its largest norm at infinite time, depth 2.

    Rival: the bound $\lambda_n^{-1/2}$ attained
    Source: derived in this chapter, for paper C, Theorem 3 b)
    Short: norm with near-duplicates against their angle
    """
    closest = doubles[(doubles.depth == 2) & (doubles.gap <= 0.01)]
    table = closest.pivot_table(index="seed", columns="gap", values="forever")
    return exponent(table.columns.to_numpy(), table.to_numpy()), closest


NOISY = {"n0": 3, "n": [200, 5000], "depth": [2, 3]}


def _powers_of_n(rows, column):
    """The exponents of a column in the number of points, of each data set, the geometric mean over depths."""
    logs = np.log(rows.set_index(["seed", "n", "depth"])[column])
    table = np.exp(logs.groupby(["seed", "n"]).mean()).unstack("n")
    return slopes(table.columns.to_numpy(), table.to_numpy())


@claim(
    "C.Sec6-unstable",
    accept=(0.1, math.inf),
    rival=0,
    erratum="c-unstable",
    figure="fig-c-noise",
    given={"columns": ("norm", "worst")},
    at=NOISY,
)
@again(
    "C.Sec6-eigenvalue",
    accept=(-math.inf, -0.5),
    rival=(0, "the limit of large depth, 3/4 for any number of points"),
    erratum=None,
    given={"columns": ("smallest",)},
    source='paper C, Sec. 6: "the smallest eigenvalue of the NTK will become arbitrarily close to zero"',
    statement="At fixed depth the smallest eigenvalue tends to 0 as $n$ grows.",
    elsewhere="",
    measure="Its power of $n$. Exponent in $n$ from 200 to 5000 points on the 2-sphere, depths 2 and 3.",
    short="smallest eigenvalue against $n$",
)
def effect_of_label_noise(noise=studies.label_noise["main"], *, columns):
    r"""At fixed depth noisy labels make predictions unstable as $n$ grows, if training does not stop.

    Larger of two exponents in $n$, from 200 to 5000 points on the 2-sphere, depths 2 and 3: of the spread of a
    prediction over label noise, and of its largest change where no label changes by more than 1.

    Rival: an eigenvalue spectrum that is a power law, whose ridgeless fits amplify noise by a constant
    Elsewhere: in five dimensions ($n_0=5$) 0.0065
    Source: paper C, Sec. 6: "leading to highly unstable predictions as $t\to+\infty$"
    Short: spread over label noise, no stopping
    """
    return -least(-np.stack([_powers_of_n(noise, column) for column in columns], axis=1)), noise


@claim("C.Sec6-tempered", accept=(0.85, 1.15), rival=1.73, figure="fig-c-noise", at=NOISY | {"n0": [3, 5], "n": 5000})
def spread_over_its_limit(sphere=studies.label_noise["main"], five=studies.label_noise["five"]):
    r"""Fully trained, label noise is passed on by the factor $1/\sqrt{n_0-1}$, in three and in five dimensions.

    Spread of a prediction at 5000 points over that factor, mean over depths, the one further from 1.

    Rival: the kernel of a trained readout alone in three dimensions, whose eigenvalues fall as $\ell^{-(n_0+2)}$
    Elsewhere: $n_0=5$ alone 1.014
    Source: derived in this chapter, with the theory of Mallinar et al. 2022
    Short: spread over $1/\sqrt{n_0-1}$
    """
    largest = [rows[rows.n == 5000] for rows in (sphere, five)]
    spreads = [rows.norm.groupby(rows.seed).mean() * math.sqrt(rows.n0.iloc[0] - 1) for rows in largest]
    return mean(max(spreads, key=lambda spread: abs(spread.mean() - 1))), *largest


@claim(
    "C.Sec6-sensitive",
    accept=(0.3, 0.7),
    rival=0,
    figure="fig-c-noise",
    at={"n0": 3, "n": [200, 1800], "depth": [2, 3]},
)
def sensitivity_to_the_input(noise=studies.label_noise["slope"]):
    r"""At fixed depth noisy labels make predictions sensitive to their input as $n$ grows, if training does not stop:
    they vary over the distance of neighbours.

    Gradient of a prediction over label noise, root mean square. Exponent in $n$ from 200 to 1800 points on the
    2-sphere, depths 2 and 3; by the distance of neighbours, $n^{-1/(n_0-1)}$, it is 1/2.

    Rival: as the spread of the prediction itself, which stays
    Source: paper C, Sec. 6: "leading to highly unstable predictions as $t\to+\infty$"
    Short: gradient of predictions over label noise
    """
    return mean(_powers_of_n(noise, "slope")), noise


@claim("C.Thm3-stopped", accept=(-0.5, -0.1), rival=0, figure="fig-c-noise", at=NOISY | {"n": [200, 1800], "time": 1})
def effect_of_label_noise_stopped(noise=studies.label_noise["stopped"]):
    r"""Stopped in $o(1/\lambda_n)$ the operator's norm is in $O(n)$: at a fixed time it falls as $n$ grows.

    Exponent in $n$ of its norm at $t=1$, the spread over label noise, from 200 to 1800 points on the 2-sphere, depths 2
    and 3.

    Rival: the norm without stopping, which stays
    Elsewhere: depth 3 alone -0.218
    Source: paper C, Theorem 3 b): "by setting $t\in o(1/\lambda_n)$ […] the norm […] remains in $O(n)$"
    Short: norm of the operator at $t=1$
    """
    return mean(_powers_of_n(noise, "norm")), noise


@claim("C.Thm3-nontrivial", accept=(0.1, math.inf), rival=0.011, profiles=PROFILES, figure="tab-c-checked")
def least_difference_of_operators(operators=studies.operator_distances["main"]):
    r"""Operators of two inputs differ by at least the order $1/L$.

    $L$-fold difference of the closest of 20 pairs, smallest mean over $n$ and $L$.

    Rival: the chain of eq. (5) as printed: $L\,|k_x-k_{x'}|/n$, about $0.3/\sqrt n$, at $n=800$
    Elsewhere: $n=800$ alone 2.9
    Source: paper C, eq. (5)
    Short: operators of two inputs differ
    """
    return least(operators.pivot_table(index="seed", columns=["n", "depth"], values="least").to_numpy())


@claim(
    "C.Thm3-perturbation",
    accept=(-0.05, 0.05),
    stated=0,
    corrected=(0.3, 0.45),
    rival=0.375,
    erratum="c-projector",
    profiles=PROFILES,
    figure="tab-c-checked",
)
def logarithm_of_the_matrix(matrices=studies.projectors["images"]):
    r"""The kernel matrix is within $O(n/L)$ of its limit in spectral norm.

    Slope in $\ln L$ of $L$ times the distance over $n$, on images.

    Rival: the rate $n\log L/L$ with the constant 3/8, derived in the chapter
    Source: paper C, proof of Theorem 3, eq. (4)
    Short: matrix within $O(n/L)$ of its limit
    """
    *_, before, last = sorted(set(matrices.depth))
    scaled = matrices.assign(scaled=matrices.depth * matrices.matrix)
    table = scaled.pivot_table(index="seed", columns="depth", values="scaled")
    rise = (table[last] - table[before]) / np.log(last / before)
    return mean(rise.to_numpy()), matrices[matrices.depth.isin([before, last])]


@claim("C.Thm3-projector", accept=(-1.1, -0.9), stated=-1, rival=-0.862, profiles=PROFILES, figure="tab-c-checked")
def exponent_of_the_projectors(matrices=studies.projectors["images"]):
    r"""The projectors converge like $1/L$.

    Exponent in $L$ of their distance on images.

    Rival: $\log L/L$ over the same depths: Davis and Kahan with the matrix's true distance
    Source: paper C, Theorem 3 a)
    Short: projectors converge as $1/L$
    """
    table = matrices.pivot_table(index="seed", columns="depth", values="projectors")
    late = table.columns[1:]
    return exponent(late.to_numpy(), table[late].to_numpy()), matrices[matrices.depth.isin(late)]


@claim("C.Thm3-constant", accept=(0, 12.566371), rival=21.8, profiles=PROFILES, figure="tab-c-checked")
def distance_of_the_projectors(matrices=studies.projectors):
    r"""The distance of the projectors is at most $4\pi/L$.

    $L$ times it, largest mean over depths and data.

    Rival: $4(\frac38\ln L+\frac c4-\frac18)$ at $L=300000$, $c=3.39$: the matrix's true distance over the gap $n/4$
    Source: paper C, eq. (4)
    Short: projectors' distance, bound $4\pi/L$
    """
    scaled = matrices.assign(scaled=matrices.depth * matrices.projectors)
    table = scaled.pivot_table(index="seed", columns=["cloud", "n0", "depth"], values="scaled")
    return -least(-table.to_numpy())
