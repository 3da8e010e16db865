# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (chapter-02)=
# # The amplification grows as the square root of the data, until few points are left
# ## Overview
# {term}`Feature learning`, chapter 1 says, makes a network blind to directions of the input that do not matter: it {term}`compresses <compression>`
# them. This chapter finds the mechanism that paper A gives right, on the stripe to its constant, up to the time at which the network
# begins to fit; three of its formulas lack a factor; and what it says of the end of training does not hold.
#
# Paper A {cite}`paccolat2021` explains the compression for the {term}`stripe`, one neuron at a time: before the first {term}`margin` is met
# neurons do not know of each other (a margin is met where $yF$ reaches 1), each is drawn to one of a few *fixed points* on
# the {term}`informative <informative direction>` axis, and only the
# noise of a finite training set keeps it from lying on that axis exactly. Noise is $1/\sqrt p$, hence the {term}`amplification`
# is $\sqrt p$.
#
# Every step of this argument is a closed form, so every step can be held against the network: the equations of motion
# against all neurons at once, the fixed points against where neurons are, time constants and noise against what is
# measured, and at the end the constant in front of $\sqrt p$; for the {term}`cylinder`, where the paper has none, we derive one,
# which the network exceeds. We
# assume that you know the model of chapter 1.
#
# | symbol | in code | shape | unit, scale |
# |---|---|---|---|
# | $p$, $h$, $\alpha$ | `p`, `h`, `alpha` | | training points, width, scale of the predictor |
# | $\omega=(\omega_1,\omega_\perp)$, $b$, $\beta$ | `omega`, `b`, `beta` | $(h,d)$, $(h)$, $(h)$ | weights, $\mathcal N(0,1)$ at the start; $\beta$ is the readout here, no exponent |
# | $\Lambda$, $\Lambda^*$, $\Lambda_{\max}$ | `amplification` | | equation {eq}`eq:A:amplification`; at $t^*$; largest |
# | $\lambda=\omega_1/\vert\omega_\perp\vert$ | | $(h)$ | amplification of one neuron |
# | $z=-\sqrt d\,b\,\omega/\vert\omega\vert^2$ | `neuron_vector` | $(h,d)$ | foot of the neuron's hyperplane |
# | $\zeta=-\sqrt d\,b/\omega_1$ | `zeta` | $(h)$ | where the hyperplane meets the first axis |
# | $\tau=h\sqrt{d/2}$ | `time_unit` | | unit of all times here |
# | $t^*$ | `t_star` | | 10 % of the points have $yF\ge1$ |
# | $\theta$ | | | the step function |
# | $C_1^\pm, C_b^\pm, D_\perp^\pm$ | `Stripe.c_1`, `.c_b`, `.d_perp` | | averages over the active half line; $\pm$ is the sign of $\lambda$ |
# %% tags=["parameters"]
# fmt: off
profile: "one of smoke, laptop, paper" = "laptop"  # chosen with --profile
interfaces: "increasing numbers from -4 to 4" = [-0.3, 1.18549]  # positions of the stripe's planes (paper A: -0.3, 1.18549)
cylinder_radius: "positive to 20" = 1.1774100225154747  # radius of the cylinder (paper A: sqrt(2 ln 2), equiprobable labels)
alpha: "number from 1e-20 to 1e-2" = 1e-6  # network scale (paper A: 1e-6)
tolerance: "number from 1e-3 to 0.2" = 0.05  # of a step of the gradient flow (paper A: not stated)
finer_tolerance: "number from 1e-4 to 0.2" = 0.005  # of runs that go on after t*
growth_p: "3 or more increasing counts from 10 to 1e5" = [128, 256, 512, 1024, 2048, 4096, 8192, 16384]  # sizes trained to t* (paper A, Fig. 6: to 10^4)
growth_h: "count from 10 to 1e5" = 100  # their width (paper A: 10000)
growth_seeds: "count to 1000" = 4  # their realisations (paper A: 20; 49 of the cylinder)
growth_from: "count to 1e5" = 1024  # smallest size of the fitted exponents (paper A, Fig. 6: 411 is the smallest it names)
stop: "positive to 1" = 0.98  # satisfied fraction until which the largest amplification is sought
stop_p: "3 or more increasing counts from 10 to 1e5" = [256, 1024, 4096]  # sizes trained that far
# fmt: on
# %%
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from companion.estimates import Estimate, exponent, local_exponents, mean, proportion, ratio
from companion.report import plots, sketches
from companion.report.chapter import Chapter
from companion.studies import compression as studies
from companion.studies import fitting
from companion.theory.compression import Stripe
from companion.theory.learning_curves import by_size, drift

chapter = Chapter("02", globals())
# %% [markdown]
# ## In two pictures
# What compression is, seen on neurons ({numref}`fig-sketch-compression`), and the argument why it must grow with the number of
# points ({numref}`fig-sketch-chain`).
# %%
paths = chapter.rows(studies.paths, "main")
ends_of = [(np.array(row["z"]), np.array(row["weights"])) for _, row in paths.iterrows()]
first, last = (
    (np.array([z[at] for z, _ in ends_of]), np.array([abs(w[at, 3]) * np.hypot(*w[at, :2]) for _, w in ends_of]))
    for at in (0, -1)
)
chapter.figure(
    sketches.compression(first, last, interfaces),
    "fig-sketch-compression",
    "The planes of a network's neurons before training and when it begins to fit, over the labels of the stripe; the darker, the "
    "larger a neuron's share of the output. A neuron is active on one side of its plane. At first planes lie anyhow; training turns "
    "those that count upright, so that they see $x_1$ alone.",
    paths,
    alt="Two squares with three vertical bands labelled plus, minus, plus, crossed by lines. Before training the lines run in all "
    "directions; after it the dark ones are vertical and bundle at a few places.",
)
# %%
chapter.figure(
    sketches.chain(sketches.COMPRESSION),
    "fig-sketch-chain",
    "The argument of paper A as a chain (a sketch): why more points make a network blinder to what does not matter, and what that "
    "gives its learning curve. This chapter follows the upper half, chapter 1 the lower.",
    alt="Five boxes joined by arrows from top to bottom: p training points; noise across, one over root p; compression, root p; "
    "the kernel's error times the compression to a negative power; the error as a power of p with the sum of both exponents.",
)
# %% [markdown]
# ## What one sees: weights align
# We train on the stripe in $d=2$, where a weight can be drawn as an arrow $\beta_n\omega_n$, its length the neuron's
# share in the output ({numref}`fig-a-2`). The {term}`lazy <lazy regime>` network fits the same points and its arrows stay where they were. At
# small $\alpha$ the outputs start at nothing, weights must grow, and those along $e_1$ do. All these runs go to zero loss,
# at the finer of the two tolerances and in float64, where chapter 1 ({numref}`fig-a-sensitivity`) finds the end to be a number.
# %%
feature, lazy, cylinder = (chapter.rows(studies.frames, name) for name in ("feature", "lazy", "cylinder"))


# %%
def draw_boundary(ax, row, i, j):
    """Where the label changes: the stripe's planes, or the cylinder from above or from the side."""
    if row["shape"] == "cylinder" and (i, j) == (0, 1):
        ax.add_patch(plt.Circle((0, 0), cylinder_radius, fill=False, ls="-.", lw=1.2, ec=plots.COLOURS["theory"]))
    else:
        plots.boundaries(ax, interfaces if row["shape"] == "stripe" else [-cylinder_radius, cylinder_radius])


def draw_arrows(ax, row, i=0, j=1, reach=3.2):
    """The arrows of one frame in the plane of the axes ``i`` and ``j``, over the training points."""
    points, arrows = np.array(row["points"]), np.array(row["arrows"])
    plots.data_points(ax, points[:, [i, j]], row["labels"], markersize=3)
    draw_boundary(ax, row, i, j)
    long = arrows[:, [i, j]] * min(1.0, reach / max(np.abs(arrows).max(), 1e-9))
    ax.quiver(*np.zeros((2, len(long))), *long.T, angles="xy", scale_units="xy", scale=1, width=0.008)
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xlabel=f"$x_{i + 1}$", ylabel=f"$x_{j + 1}$")


def play(rows, axes, number):
    """Frame ``number`` of the rows: one plane of axes a panel."""
    for ax, plane in zip(*axes):
        draw_arrows(ax, rows.iloc[number], *plane)
        ax.set_title(f"$t/\\tau={rows.iloc[number].t:.3g}$, share {rows.iloc[number]['share']:.2f}", fontsize="small")


# %%
def film(rows, planes):
    """A figure for the rows' frames, what draws one, and what the slider says at each."""
    moving, flat = plots.panels(len(planes), width=2.9, height=2.9)
    labels = [f"t/τ = {t:.3g}" for t in rows.t]
    return moving, lambda n: play(rows, (flat, planes), n), labels


def ends(rows):
    """First frame, the one at t*, last frame of the first realisation."""
    first = rows[rows.seed == 0].sort_values("frame")
    return first, [first.iloc[0], first[first.star].iloc[0], first.iloc[-1]]


# %%
first, moments = ends(feature)
fig, flat = plots.panels(4, width=3.4, height=3.3, sharex=True, sharey=True)
for ax, row, title in zip(flat, [*moments, lazy[lazy.seed == 0].iloc[-1]], ["start", "$t^*$", "end", "lazy, end"]):
    draw_arrows(ax, row)
    ax.set_title(title)
fig.legend(*flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
chapter.slider(
    *film(first, [(0, 1)]),
    "fig-a-2",
    "Arrows $\\beta\\omega$ of sixty neurons on the stripe, scaled by their root mean square, over training points and the planes at "
    "which the label changes; at the start, at $t^*$, at the end, and for a lazy network at the end (paper A, Fig. 2; paper B, Fig. 10 left). "
    "Feature learning turns them along the first axis; in the lazy regime they stay isotropic.",
    feature[feature.seed == 0],
    lazy[lazy.seed == 0],
    knob="training time",
    still=fig,
)


# %%
def at_ends(rows, column):
    """``(seeds, 2)``: a column at the first and the last frame."""
    return rows.sort_values("frame").groupby("seed")[column].agg(["first", "last"]).to_numpy()


def ticks(ax, values):
    """The sizes themselves as ticks of a logarithmic axis."""
    ax.set_xticks(values, [str(v) for v in values], rotation=45, fontsize="small")
    ax.minorticks_off()


chapter.check("A.Fig2-feature", mean(at_ends(feature, "share")[:, 1]), feature, figure="fig-a-2")
chapter.say(
    f"The share of $\\sum(\\beta\\omega)^2$ along the first axis is {mean(at_ends(feature, 'share')[:, 0])} at the start, where isotropy "
    f"gives 1/2; in the lazy regime it changes by {mean(np.diff(at_ends(lazy, 'share'))[:, 0])} from start to end."
)
# %% [markdown]
# Nothing here is special to one informative direction: the cylinder's weights collapse onto the plane in which the
# label lives ({numref}`fig-a-7`).
# %%
first, moments = ends(cylinder)
fig, flat = plots.panels(4, columns=2, width=3.2, height=3.2)
for ax, row, plane in zip(flat, [moments[0], moments[2]] * 2, [(0, 1), (0, 1), (0, 2), (0, 2)]):
    draw_arrows(ax, row, *plane)
for ax, title in zip(flat, ["start", "end", "start, from the side", "end, from the side"]):
    ax.set_title(title)
fig.legend(*flat[2].get_legend_handles_labels(), loc="outside lower center", ncols=3)
chapter.slider(
    *film(first, [(0, 1), (0, 2)]),
    "fig-a-7",
    "Arrows $\\beta\\omega$ of the cylinder model ($d=3$, two informative directions) projected on the informative plane (top) and "
    "on the first and the uninformative axis (bottom), at start and end (paper A, Fig. 7). They come to lie in the plane.",
    cylinder[cylinder.seed == 0],
    knob="training time",
    still=fig,
)
# %%
chapter.check("A.Fig7-end", mean(at_ends(cylinder, "share")[:, 1]), cylinder, figure="fig-a-7")
# %% [markdown]
# To multiply all $\omega_\perp$ by $1/\Lambda$ is to divide the data's $x_\perp$ by $\Lambda$, since only the product
# $\omega_\perp\cdot x_\perp$ enters. {numref}`fig-a-1` shows the two sides for the network of {numref}`fig-a-2` at
# $t^*$: an anisotropic network on round data, and the isotropic network on flat data that is the same function.
# %%
row = ends(feature)[1][1]
fig, flat = plots.panels(2, width=3.4, height=3.4)
draw_arrows(flat[0], row)
squeezed = row.copy()
for name, factor in (("points", [1, 1 / row.amplification]), ("arrows", [1, row.amplification])):
    squeezed[name] = np.array(row[name]) * factor
draw_arrows(flat[1], squeezed)
flat[0].set_title(r"weights compressed")
flat[1].set_title(r"data compressed, $\omega_\perp\to\Lambda\,\omega_\perp$")
fig.legend(*flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
chapter.figure(
    fig,
    "fig-a-1",
    "Compression of weights is compression of data: one network at $t^*$ drawn twice (after paper A, Fig. 1). Left: its "
    "arrows and data. Right: uninformative weights times $\\Lambda$, uninformative coordinates over $\\Lambda$; both are one function.",
    feature[feature.star & (feature.seed == 0)],
    alt="Left, a round cloud of points with arrows along the horizontal axis. Right, a cloud flattened onto that axis, with the arrows "
    "turned away from it.",
)
# %%
at_star = feature[feature.star]
chapter.check("A.Fig1-inflation", ratio(at_star.inflation), at_star, figure="fig-a-1")
chapter.say(f"The two functions agree to a relative difference of {feature.deviation.max():.1g} at most.")
# %% [markdown]
# ## How one neuron moves
# Until the first margin is met, every point pulls with its full force and the {term}`flow <gradient flow>` {eq}`eq:A:flow` falls apart into
# neurons that do not know of each other. For $p\to\infty$ sums over points are averages over the Gaussian, the
# uninformative directions can be integrated out, and with $\lambda=\omega_1/|\omega_\perp|$ and
# $g_\lambda(x)$ the normal distribution function of $\lambda x$ there remains
#
# $$
# \tau\dot\omega_1=\beta\,\langle y\,x_1\,g_\lambda(x_1-\zeta)\rangle,\qquad
# \tau\dot b=\sqrt d\,\beta\,\langle y\,g_\lambda(x_1-\zeta)\rangle,\qquad
# \beta^2-|\omega|^2-b^2=\text{const},
# $$ (eq:A:neuron)
#
# with a similar closed form for $\omega_\perp$. A finite training set adds noise, which matters where nothing else is
# left, in the uninformative directions. At a fixed point $z^*$
#
# $$
# \tau\dot\omega_\perp=\beta\Bigl[\frac{e^{-z^{*2}/2}}{\sqrt{2\pi}}\frac{\omega_\perp}{|\omega|}\,y(z^*)
# +N(z^*)\sqrt{\frac{D_\perp^\pm(z^*)}{p}}\Bigr],\qquad
# D_\perp^\pm(\zeta)=\langle\theta(\pm(x_1-\zeta))\rangle,
# $$ (eq:A:noise)
#
# $\theta$ the step function, $y(z^*)$ the label at the fixed point, and the components of $N$ of variance one. The paper has
# $D_\perp$ where the root belongs
# ({ref}`erratum <erratum-a-noise>`). We solve {eq}`eq:A:neuron` at *any* $\lambda$
# (`companion.theory.compression.neuron`), and compare with all neurons that see data: a neuron sees a point where its
# ReLU is active.
# %%
neurons = chapter.rows(studies.neurons, "main")
neurons_p = chapter.design(studies.neurons, "main")["p"]
attractors = Stripe(interfaces, 2).attractors()


# %%
def sits_at(row):
    """Which attractor of its sign the neuron has reached, by the distance stated below; -1 for none."""
    at, sign = np.array(row["z"][-1]), np.sign(row["weights"][-1][0])
    gaps = [np.hypot(at[0] - a.z, at[1]) if a.sign == sign else np.inf for a in attractors]
    return int(np.argmin(gaps)) if min(gaps) < studies.NEAR else -1


def draw_weights(ax, row):
    """The four weights of a neuron against time, network and equations of motion."""
    names = [r"$\omega_1$", r"$\omega_\perp$", "$b$", r"$\beta$"]
    for name, found, said in zip(names, np.array(row["weights"]).T, np.array(row["predicted"]).T):
        ax.plot(row["t"], found, label=name)
        words = "equations of motion" if name == names[-1] else None
        ax.plot(row["t"], said, "--", color="black", linewidth=1, label=words)
    ax.set_yscale("asinh")
    low, high = ax.get_ylim()
    steps = [sign * 10**k for sign in (-1, 1) for k in range(6)]
    ax.set_yticks([tick for tick in sorted([0, *steps]) if low <= tick <= high])
    ax.yaxis.set_major_formatter("{x:g}")


# %%
home = paths.apply(sits_at, axis=1)
drawn = [paths[home == k].iloc[:1] for k in range(len(attractors))]
fig, flat = plots.panels(3, columns=3, width=3.2, height=3.2)
for ax, point, found in zip(flat, attractors, drawn):
    if not found.empty:
        ax.set(xlabel=r"$t/\tau$", title=f"to $z^*={point.z:.2f}$, $\\lambda{'>' if point.sign > 0 else '<'}0$")
        draw_weights(ax, found.iloc[0])
flat[0].set_ylabel("weights of the neuron")
for ax in [ax for ax in flat if ax.lines][:1]:  # few points may leave an attractor without a neuron
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize="small")
chapter.figure(
    fig,
    "fig-a-4a",
    "Weights of the first neuron that falls to each attractor, until $t^*$: network (colour) and equations of motion with "
    "the noise of the training set (dashed), from the same start (paper A, Fig. 4a). They agree within the line width "
    "at first; small errors of the growth rate add up later.",
    pd.concat(drawn) if any(map(len, drawn)) else paths,
    alt="For a neuron of each attractor its four weights against time, with dashed curves of the equations of "
    "motion on top of them.",
)
# %% [markdown]
# One neuron proves little. {numref}`fig-a-4-error` shows the largest error along the path for all that see data: the
# deviation of any of $\omega_1,\omega_\perp,b,\beta$ over the norm of the four.
# %%
fig, flat = plots.panels(2, height=4.4, sharey=True)
series = {"error": "until $t^*$", "error_free": "until the first margin", "error_90": "until $t^*$, quantile 0.9"}
for name, label in series.items():
    plots.realisations(flat[0], *by_size(neurons, name), label=label)
parts = {"omega_1": r"$\omega_1$", "omega_perp": r"$\omega_\perp$", "b": "$b$", "beta": r"$\beta$"}
for name, label in parts.items():
    plots.realisations(flat[1], *by_size(neurons, f"error_{name}"), label=label)
plots.slope_guide(flat[0], (neurons_p[0], neurons_p[-1]), 0.7 * neurons.error_free.median(), -0.5, "-1/2")
for ax in flat:
    ax.set(xscale="log", yscale="log", xlabel="training points $p$")
    ticks(ax, neurons_p)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.28), ncols=2, fontsize="small")
plots.plain_numbers(flat[0])
flat[0].set(ylabel="relative error along the path", title="worst of the four weights")
flat[1].set_title("each weight, until $t^*$")
chapter.figure(
    fig,
    "fig-a-4-error",
    "Largest relative error of the equations of motion along the path, median over neurons that see data, against $p$: "
    "medians and quartiles over realisations. Left: of the worst of the four weights; right: of each.",
    neurons,
    alt="Relative errors against training points, all falling. Left, of the worst weight until three moments; "
    "right, of each of the four weights.",
)
# %%
biggest = neurons[neurons.p == neurons_p[-1]]
chapter.check("A.Fig4-ode", ratio(biggest.error), biggest, figure="fig-a-4-error")
chapter.check("A.Fig4-ode-p", drift(lambda rows: exponent(*by_size(rows)), neurons), neurons, figure="fig-a-4-error")
chapter.say(
    f"Before the first margin is met neurons do not know of each other, so that the width has no part in it; between then "
    f"and $t^*$ the median error grows only from {ratio(biggest.error_free)} to {ratio(biggest.error)} at $p={neurons_p[-1]}$. "
    f"That of $\\omega_\\perp$, whose noise the equations know, falls with $p$ with the exponent {exponent(*by_size(neurons, 'error_omega_perp'))}, "
    f"that of $\\omega_1$ with {exponent(*by_size(neurons, 'error_omega_1'))}."
)


# %% [markdown]
# The error comes from the growth *rate*, which a training set changes by a number of order $1/\sqrt p$; over a time of
# many $\tau$ this becomes a factor in the size of the weights, while ratios of weights, which make $\zeta$ and
# $\lambda$, stay right. It scatters by a factor of two between training sets, and falls more slowly than $1/\sqrt p$ at
# these sizes; steps of the flow ten times finer change nothing.
#
# ## Where neurons end
# At large $|\lambda|$ the step function replaces $g_\lambda$, all averages depend on $\zeta$ and the sign of $\lambda$
# only, and
#
# $$
# \dot\zeta=-\frac{\beta}{\tau\,\omega_1}\bigl[d\,C_b^\pm(\zeta)+\zeta\,C_1^\pm(\zeta)\bigr],\qquad
# C_1^\pm=\langle y\,x_1\,\theta(\pm(x_1-\zeta))\rangle,\qquad C_b^\pm=\langle y\,\theta(\pm(x_1-\zeta))\rangle.
# $$ (eq:A:zeta)
#
# Zeros of the bracket are fixed points. A neuron may come to rest at one if it is stable along the axis and if there
# $|\lambda|$ grows, which is the condition $|C_1^\pm|>\pm\,{\rm sgn}(C_1^\pm)\,y\,e^{-\zeta^2/2}/\sqrt{2\pi}$.
# %%
def draw_velocity(ax):
    """Velocity of a grown neuron's intercept for both signs of ``λ``, dashed where ``|λ|`` would fall."""
    zeta, line = np.linspace(-3, 3, 601), Stripe(interfaces, 2)
    for sign, colour in ((1, plots.PALETTE[0]), (-1, plots.PALETTE[1])):
        speed, holds = line.velocity(zeta, sign), line.amplifies(zeta, sign)
        ax.plot(zeta, np.where(holds, speed, np.nan), color=colour, label=rf"$\lambda{'>' if sign > 0 else '<'}0$")
        words = r"where $|\lambda|$ would fall" if sign > 0 else None
        ax.plot(zeta, np.where(holds, np.nan, speed), "--", color=colour, linewidth=1, label=words)
    plots.boundaries(ax, interfaces)
    ax.set(xlabel=r"intercept $\zeta$", ylabel=r"velocity $\tau\,\dot\zeta$", ylim=(-2, 2))


# %%
fig, flat = plots.panels(2, width=4.0, height=3.4)
draw_velocity(flat[0])
plots.boundaries(flat[1], interfaces)
for _, row in paths.iterrows():
    z = np.array(row["z"])
    flat[1].plot(*z.T, linewidth=0.7, color=plots.PALETTE[0 if row["weights"][-1][0] > 0 else 1])
    flat[1].plot(*z[0], "k.", markersize=2)
flat[1].set(xlim=(-3, 3), ylim=(-3, 3), xlabel="$z_1$", ylabel="$z_2$")
for ax in flat:
    ax.plot([a.z for a in attractors], np.zeros(len(attractors)), "ko", label="attractors")
fig.legend(*flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize="small")
chapter.figure(
    fig,
    "fig-a-4",
    "Left: velocity of the intercept of a grown neuron for both signs of $\\lambda$ (dashed: where $\\lambda$ would fall), attractors as "
    "dots, interfaces dash-dotted. Right: paths of sixty neurons until $t^*$ in the plane of $z$; colour: final sign of $\\omega_1$. "
    "Most reach an attractor, some are still under way (paper A, Fig. 4b and c).",
    paths,
    alt="Left, velocity of a neuron's intercept against its place: two curves that cross zero at the attractors. "
    "Right, paths of neurons in a plane that run to dots on the horizontal axis.",
)
# %%
arrivals = chapter.rows(studies.arrivals, "main")
shares = {name: arrivals.pivot(index="seed", columns="alpha", values=name) for name in ("near", "near_seeing", "blind")}
depth = -np.log10(shares["near"].columns.to_numpy())
fig, ax = plt.subplots(figsize=(5.4, 3.6))
for name, label in {
    "near": "near an attractor",
    "near_seeing": "near, of those that still see data",
    "blind": "see no data any more",
}.items():
    plots.realisations(ax, depth, shares[name], label=label)
ax.set(xlabel=r"$\log_{10}(1/\alpha)$", ylabel="share of the neurons", ylim=(0, 1.03))
ax.legend(fontsize="small")
chapter.figure(
    fig,
    "fig-a-4-late",
    "Where the neurons that saw data at the start are at $t^*$, against the scale: the smaller $\\alpha$, the later $t^*$. The share "
    "near an attractor saturates below 1, because some neurons have left all training points behind.",
    arrivals,
    alt="Shares of neurons against the logarithm of the inverse scale. The share near an attractor rises and "
    "levels off below one.",
)
# %%
least = arrivals.alpha.min()
latest, usual = (arrivals[arrivals.alpha == scale] for scale in (least, alpha))
chapter.check("A.Fig4-attractors", mean(latest.near_seeing), latest, figure="fig-a-4-late")
chapter.say(
    f"There are {len(attractors)} attractors. We took 0.2 as the distance before looking. At $\\alpha=10^{{{np.log10(alpha):.3g}}}$, "
    f"{mean(usual.near)} of the neurons that see data at the start are that near at $t^*$; at $\\alpha=10^{{{np.log10(least):.3g}}}$ it is "
    f"{mean(latest.near)}, and {mean(latest.blind)} see no data any more."
)
# %% [markdown]
# The exception that the paper names, neurons that are late, is no small one at $\alpha=10^{-6}$. The
# attractor of the smallest rate takes a time $\tau^*$ several times that of the fastest (see the table below), and $t^*$ comes
# when the *fastest* have grown. Neurons that started with $\beta$ of the wrong sign first shrink before they grow, and
# are later still. There is an exception that it does not name: such a neuron shrinks by moving its plane outwards, and
# in a finite training set it may pass the last point. Then no force is left, and it stays there however long one waits.
# None of this is seen in the output.
# %%
rows, stripe_d = [], chapter.design(studies.growth, "stripe")["d"]
for d in [2, *stripe_d]:
    for a in Stripe(interfaces, d).attractors():
        rows.append({"$d$": d, r"sign of $\lambda$": a.sign, "$z^*$": a.z, r"$\tau^*/\tau$": 1 / a.rate})
        rows[-1] |= {r"rate of $\omega_\perp$": a.rate_perp, "$c$": a.constant}
chapter.table(
    pd.DataFrame(rows),
    "tab-a-attractors",
    "Attractors of the stripe: place, time constant, growth rate of $\\omega_\\perp$ without noise (in $1/\\tau$), constant of $\\lambda^*$.",
)
chapter.check("A.Fig5-attractors", mean(biggest.off), biggest, figure="tab-a-attractors")
# %% [markdown]
# On an attractor everything grows exponentially,
#
# $$
# \frac{\tau}{\tau^*}=|C_1^\pm|\sqrt{1+\frac{z^{*2}}d},\qquad
# \frac{\tau}{\tau_\perp^*}=\frac{e^{-z^{*2}/2}}{\sqrt{2\pi}}\sqrt{1+\frac{z^{*2}}d}
# $$ (eq:A:rates)
#
# (the paper prints $2\pi$ in the second, {ref}`erratum <erratum-a-perpendicular-time>`).
# %%
across, noises = (chapter.rows(study, "main") for study in (studies.perpendicular, studies.noise))
chapter.check("A.AppC-tau-perp", Estimate.span(across.ratio), across, figure="tab-a-attractors")
chapter.check("A.AppC-noise", mean(noises.exponent), noises, figure="tab-a-attractors")
# %%
slowness = 1 / biggest.filter(regex=r"^rate_\d").astype(float)
slowness = slowness.dropna(how="all").dropna(how="all", axis=1)  # an attractor needs enough neurons to have a rate
if not slowness.empty:  # at the smallest sizes none has
    chapter.check("A.AppC-tau", ratio(np.exp(np.log(slowness).mean(axis=1))), biggest, figure="tab-a-attractors")
    listed = ", ".join(
        f"{ratio(slowness[name].dropna())} at $z^*={attractors[int(name[-1])].z:.2f}$ ({slowness[name].count()} realisations)"
        for name in slowness
    )
    chapter.say(
        f"Time constants of $\\omega_1$ in the network over those predicted: {listed}; the claim is judged on all."
    )


# %% [markdown]
# ## The square root of p
# Near an attractor $|\omega_\perp|$ grows more slowly than $\omega_1$ until the noise of {eq}`eq:A:noise` takes over,
# and then at the same rate. The ratio saturates where both sides of {eq}`eq:A:noise` agree:
#
# $$
# \lambda^*=\frac{c\sqrt p}{|N(z^*)|},\qquad
# c=\frac{|C_1^\pm|\mp{\rm sgn}(C_1^\pm)\,y(z^*)\,e^{-z^{*2}/2}/\sqrt{2\pi}}{\sqrt{D_\perp^\pm}},\qquad
# \Lambda^*\simeq\sqrt{d-1}\,\lambda^* .
# $$ (eq:A:constant)
#
# In units of $|\beta|/(\tau|\omega|)$, $\omega_1$ grows at the rate $|C_1^\pm|$, and $|\omega_\perp|$ at that of its own label,
# $\pm{\rm sgn}(C_1^\pm)\,y\,e^{-z^{*2}/2}/\sqrt{2\pi}$, plus that of the noise, $\lambda|N|\sqrt{D_\perp^\pm/p}$. Where the rates
# are equal, $\lambda$ is $\lambda^*$; the label's term is of the order of the others, and stays in the constant. The last
# relation holds when the neurons of the fastest attractor outweigh all others.
# At small $p$ the curves are steeper: the growth rates themselves change with the training set, and the plateau is not
# that of the constant. We fit all exponents from `growth_from` on, a choice made after a look
# at how the curves bend, and give the exponents over all sizes and over the last three beside. Most of the scatter of $\Lambda^*$ is that of $|N|$, which
# is known for each training set and does not depend on $p$ on average: the exponents judged are those of
# $\Lambda^*|N|$, and those of $\Lambda^*$ itself stand beside.
#
# {numref}`fig-a-6` shows the course of $\Lambda$, {numref}`fig-a-6-p` the growth with $p$: until $t^*$ with many points
# and few neurons, and, for the largest $\Lambda$, until 98 % of the points are {term}`satisfied <satisfied fraction>`. On large sets
# $\Lambda$ falls from there on; on small ones of $d=10$ it may still grow a little (chapter 1 follows such networks to {term}`zero loss`). What is measured at $t^*$ hardly depends on the tolerance of the
# flow; what comes later does, since nearby paths part. Runs to 98 % are therefore trained at a ten times finer
# tolerance, in float64, where chapter 1 ({numref}`fig-a-sensitivity`) finds the end to be a number.
#
# **The ring of the cylinder.** With more than one informative direction a neuron that has shed its uninformative weights
# points along some unit vector $u$ among the informative ones. Nothing tells one $u$ from another. Averaged over the
# other informative coordinates, the label becomes a soft one in $a=u\cdot x_\parallel$ alone,
#
# $$
# \bar y(a)=1-2\,P\bigl(\chi^2_{d_\parallel-1}<R^2-a^2\bigr),
# $$ (eq:A:soft)
#
# and the neuron moves as in a stripe of that label. The zeros of $d\,C_b+\zeta C_1$, with $\bar y$ for $y$, are not points
# but rings. With equiprobable labels $C_b(0)=\langle\bar y\rangle/2=0$: there is one ring, $z^*=0$, of rate
# $\tau/\tau^*=|C_1|=0.167$ and, as in {eq}`eq:A:constant`, $c=(|C_1|-\bar y(0)\,{\rm sgn}(C_1)/\sqrt{2\pi})\sqrt2=0.530$. All
# neurons on it grow alike, each with the noise $N_u$ of its own half plane, and
#
# $$
# \Lambda^*=c\,\sqrt{\frac{d_\perp}{d_\parallel}\,\frac{p}{\langle|N_u|^2\rangle_u}}
# $$ (eq:A:ring)
#
# (`companion.theory.compression.ring`), from the training set alone. Here $R$ is the cylinder's radius, and
# $\langle\cdot\rangle_u$ an average over the directions of the ring.
# %%
def grown(name):
    """Rows of a design, with ``Λ*|N|`` up to a constant (``still``) and what ``Λ`` grows by after ``t*`` (``beyond``)."""
    rows = chapter.rows(studies.growth, name)
    return rows.assign(still=rows.star / rows.predicted * np.sqrt(rows.p), beyond=rows.largest / rows.star)


stripe, stripe_maximum = grown("stripe"), grown("stripe_maximum")
cylinder, cylinder_maximum = grown("cylinder"), grown("cylinder_maximum")
# until t*, and until the largest amplification
tasks = {f"stripe, $d={d}$": [rows[rows.d == d] for rows in (stripe, stripe_maximum)] for d in stripe_d}
tasks["cylinder, $d=3$"] = [cylinder, cylinder_maximum]
courses = chapter.rows(studies.courses, "main")
course_of = chapter.design(studies.courses, "main")


# %%
def course(rows, t):
    """Mean over realisations of ``Λ`` at the times ``t``; a run that has ended keeps its last value."""
    return np.mean([np.interp(t, one, two) for one, two in zip(rows["time"], rows["size"])], axis=0)


fig, flat = plots.panels(len(course_of["d"]), width=4.0, height=3.2, sharey=True)
for ax, d in zip(flat, course_of["d"]):
    for p, colour in zip(course_of["p"], plots.PALETTE):
        rows = courses[(courses.d == d) & (courses.p == p)]
        t = np.geomspace(1, max(map(max, rows["time"])), 300)
        ax.plot(t, course(rows, t), color=colour, label=f"$p={p}$")
        ax.axvline(rows.t_star.mean(), color=colour, linestyle=":", label=f"mean $t^*$, $p={p}$")
    ax.set(xscale="log", yscale="log", xlabel=r"$t/\tau$", title=f"$d={d}$")
flat[0].set_ylabel(r"amplification $\Lambda$")
plots.plain_numbers(flat[0])
fig.legend(*flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize="small")
chapter.figure(
    fig,
    "fig-a-6",
    "Amplification along training until 98 % of the points are satisfied, stripe, mean over realisations; dotted: mean $t^*$ "
    "(paper A, Fig. 6 top). It grows exponentially, rests about $t^*$, goes on to grow as points are satisfied, and falls at the end.",
    courses,
    alt="Amplification against time on logarithmic axes, for two training sizes and in two dimensions: it rises, "
    "rests at a plateau, rises again and falls at the end; larger sets reach higher.",
)


# %%
def growing(column):
    """What measures the exponent of a column in ``p``."""
    return lambda rows: exponent(*by_size(rows, column))


def fitted(rows):
    """The rows that an exponent is read from."""
    return rows[rows.p >= growth_from]


green = plots.COLOURS["amplification"]
style = {"color": green, "linestyle": ":", "markerfacecolor": "none", "label": r"$\Lambda_{\max}$"}
# %%
fig, flat = plots.panels(len(tasks), columns=3, width=3.5, height=3.6, sharey=True)
for ax, (name, (rows, most)) in zip(flat, tasks.items()):
    plots.realisations(ax, *by_size(rows, "star"), color=green, label=r"$\Lambda^*$")
    plots.realisations(ax, *by_size(most, "largest"), **style)
    ax.plot(rows.groupby("p").predicted.median(), "--", color=plots.COLOURS["theory"], label="theory")
    plots.slope_guide(ax, (growth_p[0], growth_p[-1]), rows.star.median() / 8, 0.5, "1/2")
    ax.set(xscale="log", yscale="log", xlabel="training points $p$", title=name)
    ticks(ax, growth_p)
plots.plain_numbers(flat[0])
flat[0].set_ylabel("amplification")
flat[0].legend(fontsize="small")
chapter.figure(
    fig,
    "fig-a-6-p",
    "Amplification at $t^*$ and its maximum over time against $p$: medians and quartiles; "
    "dashed: the constants of theory, median over the noise of the training sets (paper A, Fig. 6 bottom and Fig. 8 top).",
    *(rows for both in tasks.values() for rows in both),
    alt="Amplification against training points in three panels, at the characteristic time and at its maximum, "
    "both rising along a slope of one half; a dashed line of theory follows the first.",
)
# %%
for d in stripe_d:
    star, most = map(fitted, tasks[f"stripe, $d={d}$"])
    chapter.check(f"A.Fig6-star-d{d}", drift(growing("still"), star), star, figure="fig-a-6-p")
    chapter.check(f"A.Fig6-largest-d{d}", drift(growing("largest"), most), most, figure="fig-a-6-p")
star, most = map(fitted, tasks["cylinder, $d=3$"])
chapter.check("A.Fig8-star", drift(growing("still"), star), star, figure="fig-a-6-p")
chapter.check("A.Fig8-largest", drift(growing("largest"), most), most, figure="fig-a-6-p")
# %%
for name, (rows, _) in tasks.items():
    plain, whole = growing("star")(fitted(rows)), growing("still")(rows)
    tail = local_exponents(*by_size(rows, "still"), size=3)[-1][1]
    chapter.say(
        f"- {name}: exponent of $\\Lambda^*$ itself from $p={growth_from}$ on {plain}; with the noise divided out over all sizes "
        f"{whole}, over the last three {tail}."
    )
# %%
columns = {
    r"$\Lambda^*$ without its noise": "still",
    r"$\Lambda_{\max}$ over $\Lambda^*$": "beyond",
    r"$\Lambda_{\max}$": "largest",
}
parts = []
for name, (_, most) in tasks.items():
    for low, high in pairwise(sorted(set(most.p))):
        step = most[most.p.isin((low, high))]
        local = {words: str(growing(column)(step)) for words, column in columns.items()}
        parts.append({"task": name, "p": f"{low} to {high}"} | local)
chapter.table(
    pd.DataFrame(parts),
    "tab-a-max",
    "Exponents in $p$, between neighbouring sizes, of the amplification at $t^*$, of what it grows by later, and of the largest.",
    stripe_maximum,
    cylinder_maximum,
)
first = fitted(tasks[f"stripe, $d={stripe_d[0]}$"][0])
means = growing("gap")(first.assign(gap=first.star_code / first.star))
chapter.say(
    f"The public code takes an arithmetic mean over directions where the paper's Eq. 10 has a quadratic one; the ratio of "
    f"the two $\\Lambda^*$ changes with $p$ with the exponent {means}."
)
# %% [markdown]
# **Each attractor for itself.** $\Lambda$ is dominated by the neurons of the fastest attractor. Equation {eq}`eq:A:constant` says more:
# the neurons of *each* have their own $\lambda^*$, with its own constant and its own noise. A scale of $10^{-18}$ leaves the slowest the
# time to come to rest ({numref}`fig-a-lambda`).
# %%
rests = chapter.rows(fitting.plateaus, "main")
rests = rests.assign(still=rests["size"] / rests.predicted * np.sqrt(rests.p))
ranked = sorted(Stripe(interfaces, int(rests.d[0])).attractors(), key=lambda point: -point.rate)
named = dict(zip(("fastest", "outer", "slowest"), ranked))


def complete(rows):
    """The rows of the training sets on which the attractor has neurons at every size."""
    return rows[rows.groupby("seed").p.transform("nunique") == rests.p.nunique()]


homes = {name: complete(rests[np.isclose(rests.attractor, point.z)]) for name, point in named.items()}
homes = {name: rows for name, rows in homes.items() if not rows.empty}
# %%
fig, flat = plots.panels(2, width=3.8, height=3.2)
for (name, rows), colour in zip(homes.items(), plots.PALETTE):
    plots.realisations(flat[0], *by_size(rows, "size"), color=colour, label=f"{name}, $z^*={named[name].z:.2f}$")
    flat[0].plot(rows.groupby("p").predicted.median(), "--", color=colour)
    plots.realisations(flat[1], *by_size(rows.assign(ratio=rows["size"] / rows.predicted), "ratio"), color=colour)
flat[1].axhline(1, color=plots.COLOURS["theory"], linestyle="--", label="theory")
for ax, words in zip(flat, [r"$\lambda^*$ of the neurons there", r"$\lambda^*$ over its prediction"]):
    ax.set(xscale="log", xlabel="training points $p$", ylabel=words)
    ticks(ax, sorted(set(rests.p)))
    ax.legend(fontsize="small")
flat[0].set_yscale("log")
plots.plain_numbers(flat[0])
chapter.figure(
    fig,
    "fig-a-lambda",
    "The amplification $\\lambda^*=\\vert\\omega_1\\vert/\\vert\\omega_\\perp\\vert$ at $t^*$ of the neurons at each attractor (median over neurons; medians and quartiles "
    "over training sets). Dashed: $c\\sqrt p/\\vert N(z^*)\\vert$, each with its own constant and noise.",
    rests,
    alt="Left, amplification against training points at three attractors, three parallel rising lines on their dashed predictions. "
    "Right, measured over predicted, all near one.",
)
# %%
for name, rows in homes.items():
    chapter.check(f"A.Fig4-lambda-{name}", drift(growing("still"), rows), rows, figure="fig-a-lambda")
top = rests[rests.p == rests.p.max()]
off = np.log(top["size"] / top.predicted).groupby(top.seed).mean()
chapter.check("A.AppC-each", ratio(np.exp(off)), top, figure="fig-a-lambda")
listed = (
    f"{ratio(own['size'] / own.predicted)} at $z^*={named[name].z:.2f}$ ({own.neurons.median():.0f} neurons of {own.h.iloc[0]})"
    for name, own in ((name, rows[rows.p == rests.p.max()]) for name, rows in homes.items())
)
chapter.say(f"At $p={rests.p.max()}$, $\\lambda^*$ over its prediction is " + ", ".join(listed) + ".")
# %% [markdown]
# The largest amplification is reached after $t^*$, and the noise of {eq}`eq:A:noise` sets only what it starts from: as points are
# satisfied $\Lambda$ goes on to grow, on the stripe by a factor that itself grows up to some 4096 points, and no more from there to
# 16384 (the table above). Its exponent comes down with the size, towards the $\frac12$ of $\Lambda^*$. On the cylinder the factor
# falls a little with the size, and the exponent comes up. At the coarse tolerance of the runs to $t^*$ the largest $\Lambda$ of many points in
# $d=5$ comes out too small; all of these runs are fine ones.
#
# "Longer time does not alter the picture" is another matter. After its maximum $\Lambda$ falls in the over-fitting
# regime until zero loss (chapter 1, {numref}`fig-a-stop`, says how far): the
# last few points are what still pulls, their noise does not average out, and $\omega_\perp$ serves them. The paper's
# figure is of runs that were perhaps not followed to zero loss.
#
# ## Time and constant
# The {term}`predictor` is quadratic in weights that grow as $e^{t/\tau^*}$, so that $\alpha\,e^{2t^*/\tau^*}\sim1$ and
#
# $$
# t^*\simeq\tfrac12\,\tau^*\log(1/\alpha)+\text{const},
# $$ (eq:A:time)
#
# half of what the paper writes ({ref}`erratum <erratum-a-characteristic-time>`). The plateau of $\Lambda$ must be
# reached before; a smaller $\alpha$ leaves more time and shows whether the constant of {eq}`eq:A:constant` is right.
# %%
times = chapter.rows(studies.characteristic_time, "main")
times = times.assign(scaled=times.t_star * times.rate, ratio=times.star / times.predicted)
scaled = times.pivot(index="seed", columns="alpha", values="scaled")
logs = -np.log(scaled.columns.to_numpy())
# %%
fig, flat = plots.panels(2, width=3.8, height=3.2)
plots.realisations(flat[0], logs, scaled, color=plots.COLOURS["feature"], label="network")
half = scaled.median().iloc[-1] + 0.5 * (logs - logs[-1])
flat[0].plot(logs, half, "--", color=plots.COLOURS["theory"], label="slope 1/2")
flat[0].set(xlabel=r"$\log(1/\alpha)$", ylabel=r"time $t^*/\tau^*$")
flat[0].legend()
for (name, (rows, _)), k in zip(tasks.items(), (4, 5, 9)):
    rows = rows.assign(ratio=rows.star / rows.predicted)
    plots.realisations(flat[1], *by_size(rows, "ratio"), color=plots.PALETTE[k], label=name.replace("$d=3$", "ring"))
flat[1].axhline(1, color=plots.COLOURS["theory"], linestyle="--", label="theory")
flat[1].set(xscale="log", xlabel="training points $p$", ylabel=r"$\Lambda^*$ over its prediction")
ticks(flat[1], growth_p)
flat[1].legend()
chapter.figure(
    fig,
    "fig-a-time",
    "Left: $t^*$ in units of the fastest attractor's time constant, against $\\log(1/\\alpha)$. Right: $\\Lambda^*$ over what its constant and the "
    "training set's own noise predict. Medians and quartiles.",
    times,
    stripe,
    cylinder,
    alt="Left, characteristic time rising linearly in the logarithm of the inverse scale, along a line of slope "
    "one half. Right, measured over predicted amplification, which comes to one as the sets grow.",
)


# %%
slopes = np.polyfit(logs, scaled.to_numpy().T, 1)[0]
chapter.check("A.AppC-time", mean(slopes), times, figure="fig-a-time")


def constant(rows):
    """Measured over predicted ``Λ*``, over the three largest sizes; a realisation is the unit."""
    logs = np.log(rows.star / rows.predicted)
    return ratio(np.exp(logs.groupby(rows.seed).mean()))


top = {name: rows[rows.p.isin(growth_p[-3:])] for name, (rows, _) in tasks.items()}
for claim, name in (("AppC", f"stripe, $d={stripe_d[0]}$"), ("Fig8", "cylinder, $d=3$")):
    chapter.check(f"A.{claim}-constant", constant(top[name]), top[name], figure="fig-a-time")
# %%
for scale in (times.alpha.min(), times.alpha.max()):
    found = ratio(times[times.alpha == scale].ratio)
    chapter.say(
        f"At $\\alpha=10^{{{np.log10(scale):.3g}}}$ and $p={times.p[0]}$, $\\Lambda^*$ is {found} of its prediction in $d={times.d[0]}$."
    )
for name, rows in top.items():
    scatter, left = np.log(rows.star).groupby(rows.p).std().mean(), np.log(rows.star / rows.predicted)
    chapter.say(
        f"{name}, from $p={growth_p[-3]}$ on: $\\Lambda^*$ is {constant(rows)} of its prediction, whose noise takes the scatter of $\\log\\Lambda^*$ "
        f"from {scatter:.2f} to {left.groupby(rows.p).std().mean():.2f}."
    )


# %% [markdown]
# **The scale must fall with the data.** Up to its plateau $\lambda$ grows as $e^{\kappa t}$, where $\kappa=1/\tau^*-1/\tau_\perp^*$ is the
# difference of the rates of $\omega_1$ and of $\omega_\perp$ without noise. It has to grow to $\lambda^*\sim\sqrt p$, and that takes the time
#
# $$
# \tau_\perp\simeq\frac{\log p}{2\kappa}+\text{const},\qquad\text{before $t^*$ if}\qquad
# \alpha\lesssim p^{-x},\quad x=\frac{1}{\kappa\tau^*}
# $$ (eq:A:late)
#
# by {eq}`eq:A:time`. The paper's footnote 3 has both without the factors ($\tau_\perp\sim\tau^*\log p$, and the larger the training set
# the smaller $\alpha$ needs to be). This is for the neurons that grow. $\Lambda$ counts all of them, and that gives a
# stricter condition: neurons that have not grown keep an $\omega_\perp$ of order one, the $\omega_1^2$ of the others is of order $1/\alpha$ at $t^*$, so that
#
# $$
# \frac1{\Lambda^2}=\frac1{\Lambda^{*2}}+B\,\alpha
# $$ (eq:A:idle)
#
# with a $B$ that does not depend on $p$, and the scale must fall about as $1/p$. We measure $\tau_\perp$ as the time at which $\lambda$ is half of $\lambda^*$, and the scale that is needed as
# the one at which $\Lambda^*$ is half of its plateau ({numref}`fig-a-late`). Runs on twelve training sets of up to 16384 points taught us
# {eq}`eq:A:idle`; it is judged on others, of up to 65536 points.
# %%
fastest = homes.get("fastest", rests[:0])
growth = ranked[0].rate - ranked[0].rate_perp  # of λ, in 1/τ
noise = np.log(fastest.predicted / np.sqrt(fastest.p))
fastest = fastest.assign(late=fastest.time * growth, steady=fastest.time * growth - noise)
scales = chapter.rows(studies.growth, "scales")
needed = ranked[0].rate / growth


def half_scale(rows):
    """The scale at which a training set's ``Λ*`` is half of its plateau, by logarithms of ``Λ*²/Λ² - 1`` between scales."""
    rows = rows.sort_values("alpha")
    excess = np.log(np.maximum((rows.predicted / rows.star) ** 2 - 1, 0.1))
    return np.exp(np.interp(np.log(3), np.maximum.accumulate(excess), np.log(rows.alpha)))


halves = scales.groupby(["seed", "p"])[["alpha", "star", "predicted"]].apply(half_scale).rename("half").reset_index()
own = scales.groupby(["seed", "p"]).predicted.first().to_numpy() ** 2 / halves.p
halves = halves.assign(still=halves.half * own, grown=halves.half * own**needed)  # the noise divided out, by either law
span = (halves.p.min(), halves.p.max())
smallest, largest = (halves[halves.p == end].half for end in span)


# %%
def draw_times(ax):
    """The time until half of ``λ*`` against the size, and theory's slope through the middle."""
    if not fastest.empty:  # few points may leave the attractor without neurons
        sizes, late = by_size(fastest, "late")
        plots.realisations(ax, sizes, late, color=plots.COLOURS["feature"])
        theory = np.median(late) + 0.5 * np.log(sizes / np.exp(np.log(sizes).mean()))
        ax.plot(sizes, theory, "--", color=plots.COLOURS["theory"])
    ax.set(xscale="log", xlabel="training points $p$", ylabel=r"time $\kappa\,\tau_\perp$")
    ticks(ax, rests.p.unique())


def draw_scales(ax):
    """``Λ*`` over its plateau against the scale, a curve a size."""
    for (p, rows), colour in zip(scales.assign(ratio=scales.star / scales.predicted).groupby("p"), plots.PALETTE):
        wide = rows.pivot(index="seed", columns="alpha", values="ratio")
        plots.realisations(ax, wide.columns, wide, color=colour, label=f"$p={p}$")
    ax.axhline(0.5, color=plots.COLOURS["theory"], linestyle=":")
    ax.set(xscale="log", xlabel=r"scale $\alpha$", ylabel=r"$\Lambda^*$ over its plateau")
    ax.legend(fontsize="x-small")


# %%
fig, flat = plots.panels(3, columns=3, width=3.2, height=3.2)
draw_times(flat[0])
draw_scales(flat[1])
plots.realisations(flat[2], *by_size(halves, "half"), color=plots.COLOURS["amplification"])
for power, above in ((-needed, True), (-1, False)):  # of the neurons that grow, of all
    plots.slope_guide(flat[2], span, smallest.median(), power, f"{power:.2g}", above=above)
flat[2].set(xscale="log", yscale="log", xlabel="training points $p$", ylabel=r"$\alpha$ for half of it")
ticks(flat[2], halves.p.unique())
chapter.figure(
    fig,
    "fig-a-late",
    "Left: the time at which $\\lambda$ of the fastest attractor's neurons is half of $\\lambda^*$, in units of the rate at which it grows (dashed: slope 1/2 "
    "in $\\log p$). Middle: $\\Lambda^*$ over its prediction against the scale. Right: the scale at which that is one half, with the powers of {eq}`eq:A:late` and {eq}`eq:A:idle`. Stripe, $d=5$; medians and quartiles.",
    rests,
    scales,
    alt="Left, a time that rises with the logarithm of the training points. Middle, curves that fall from one to nothing as the scale grows, "
    "those of larger sets first. Right, the scale needed, falling along a dashed power law.",
)


# %%
def slope(rows):
    """The slope of the time in ``log p``, averaged over training sets."""
    sizes, late = by_size(rows, "steady")
    return mean(np.polyfit(np.log(sizes), late.T, 1)[0])


if not fastest.empty:
    chapter.check("A.Fig4-perpendicular", drift(slope, fastest), fastest, figure="fig-a-late")
chapter.check("A.Fig6-scale", drift(growing("grown"), halves), scales, figure="fig-a-late")
chapter.check("A.Fig6-idle-scale", drift(growing("still"), halves), scales, figure="fig-a-late")
largest_sets = scales[(scales.p == span[1]) & (scales.alpha >= 1e-4)]
idle = largest_sets.assign(idle=largest_sets.star**-2 - largest_sets.predicted**-2)
idle = idle.pivot(index="seed", columns="alpha", values="idle")
if (idle > 0).all(axis=None):  # few points have no plateau
    chapter.check("A.Fig6-idle", exponent(idle.columns, idle), largest_sets, figure="fig-a-late")
chapter.say(
    f"At $p={span[0]}$ half of the plateau is reached at $\\alpha={plots.number(ratio(smallest).value)}$, at "
    f"$p={span[1]}$ at $\\alpha={plots.number(ratio(largest).value)}$; without the noise taken out the exponent is "
    f"{growing('half')(halves)}."
)
# %%
fixed = scales[scales.alpha == 0.01]
fixed = fixed.assign(idle=fixed.star**-2 - fixed.predicted**-2)
if len(fixed) and (fixed.idle > 0).all():
    chapter.say(
        f"$B$ does not depend on the number of points: at $\\alpha=0.01$ its exponent in $p$ is {growing('idle')(fixed)}. It falls a little "
        f"with $\\alpha$, because a longer time lets more neurons grow. The scale that is needed therefore falls a little more slowly than $1/p$: "
        f"with the exponent {growing('still')(halves)} over all sizes, {local_exponents(*by_size(halves, 'still'), size=2)[-1][1]} between the "
        f"two largest. The paper is right that it falls with the data; that of neurons which all grow, {-needed:.2f}, is too slow."
    )


# %% [markdown]
# ## The fit
# After $t^*$ points far from the interfaces are satisfied and drop out of the sum, and the fixed points move
# ({numref}`fig-a-5`). We stop when 1 % of the points remain below the margin, as the paper's figure may have: there the test
# error is still falling or at its lowest. Chapter 1 judges the networks at zero loss, where the amplification has fallen and, in
# $d=5$, the error is higher again. The two ends belong to one course.
# %%
def draw_predictor(parts, row):
    """The predictor on the first axis at three times, and the neurons' intercepts below it."""
    for k, (colour, words) in enumerate(zip(shades, ("$t^*$", "half-way", "end"))):
        curve, at = np.array(row["profile"][k]), np.array(row["zeta"][k])
        parts["predictor"].plot(np.linspace(-3, 3, len(curve)), curve / max(np.abs(curve)), color=colour, label=words)
        parts["neurons"].plot(at[abs(at) < 3], np.full((abs(at) < 3).sum(), -k), "|", color=colour, alpha=0.5)
    parts["neurons"].plot([a.z for a in attractors], np.full(len(attractors), 1), "kx")
    for name in ("predictor", "neurons"):
        plots.boundaries(parts[name], interfaces, label=None)
    parts["neurons"].set(xlabel="$x_1$", ylim=(-2.7, 1.7), yticks=[1, 0, -1, -2])
    parts["neurons"].set_yticklabels(["predicted", "$t^*$", "half-way", "end"], fontsize="small")
    parts["predictor"].set_ylabel("predictor / maximum")
    parts["predictor"].tick_params(labelbottom=False)
    parts["predictor"].legend(fontsize="small")


fits = chapter.rows(studies.fit, "main")
row = fits.iloc[0]
shades = plt.get_cmap("viridis")([0, 0.4, 0.75])
# %%
layout = [["predictor", "course"], ["neurons", "course"]]
fig, parts = plt.subplot_mosaic(layout, figsize=(8.1, 4.4), height_ratios=(3, 1))
parts["predictor"].sharex(parts["neurons"])
draw_predictor(parts, row)
for colour, words, t in zip(shades, ("$t^*$", "half-way", "end"), row["profile_t"]):
    parts["course"].axvline(t, color=colour, linestyle=":", label=words)
parts["course"].plot(row["t"][1:], row["loss"][1:], color="black", label="training loss")
parts["course"].plot(row["t"][1:], row["error"][1:], color=plots.COLOURS["feature"], label="test error")
parts["course"].set(xscale="log", yscale="log", xlabel=r"$t/\tau$", ylabel="loss, error", ylim=(0.7 / row["test"], 2))
plots.plain_numbers(parts["course"])
parts["course"].legend(fontsize="small")
chapter.figure(
    fig,
    "fig-a-5",
    "Left: predictor on the first axis at $t^*$, half-way and at the end, over its maximum; below it the intercepts $\\zeta$ of the "
    "neurons (ticks) and the predicted attractors (crosses). Right: loss and test error; dotted: these times (paper A, Fig. 5). The error "
    "leaves the plot where none of the test points is wrong.",
    fits.iloc[:1],
    alt="Left, three curves along the first axis, of which the later two change sign at both planes, over rows of ticks that "
    "bundle near three crosses. Right, loss and test error falling together with time.",
)
# %%
low = min(row["error"])
chapter.say(
    f"The fit takes the test error from {row['error_star']:.3g} at $t^*$ to {row['error_end']:.2g} where {row['until']:.0%} of the "
    f"points are satisfied; its lowest on the way is {low:.2g}."
)
# %% [markdown]
# Paper A says of this regime which points go first (those furthest from the interfaces) and what becomes of the fixed points (as many
# as before, at other places). {numref}`fig-a-order` has the first. For the second we give a neuron's plane its angle
# $\phi={\rm atan2}(\sqrt d\,b,\omega_1)$, so that $\zeta=-\tan\phi$: an angle goes on smoothly where $\omega_1$ changes its sign and the
# intercept passes through infinity. The bundle that starts outside the stripe takes this way: in two dimensions it leaves to the left and comes
# back from the right with the other sign of $\omega_1$, to the second interface.
# %%
orders = {name: chapter.rows(fitting.exclusion, name) for name in ("stripe", "cylinder")}
groups = chapter.rows(fitting.clusters, "main")
own = groups[groups.seed == 0].sort_values("share")
turned = np.unwrap(np.array(own.angles.tolist()), axis=0)


# %%
def draw_angles(ax):
    """The angles of one network's planes against the share of satisfied points, over the interfaces and attractors."""
    ax.plot(own.share, turned, color=plots.COLOURS["feature"], alpha=0.3, linewidth=1)
    for sign in (1, -1):
        for at in interfaces:
            ax.axhline(np.arctan2(-at * sign, sign), color=plots.COLOURS["theory"], linestyle="-.", linewidth=0.8)
    home = [np.arctan2(-a.z * a.sign, a.sign) for a in attractors]
    ax.plot([own.share.iloc[0]] * len(home), home, "kx", label="attractors before $t^*$")
    right = ax.secondary_yaxis("right")
    right.set_yticks(
        [np.pi, np.pi / 2, 0, -np.pi / 2, -np.pi], ["0", r"$\pm\infty$", "0", r"$\pm\infty$", "0"], fontsize="small"
    )
    right.set_ylabel(r"intercept $\zeta$")
    ax.set(xlabel="share of satisfied points", ylabel=r"angle $\phi$ of a neuron's plane", ylim=(-4.2, 4.2))
    ax.set_yticks([-np.pi, 0, np.pi], [r"$-\pi$", "0", r"$\pi$"])
    ax.legend(fontsize="small")


# %%
fig, flat = plots.panels(2, width=3.9, height=3.6)
for (name, rows), colour in zip(orders.items(), plots.PALETTE):
    before = np.array(rows.before.tolist())
    tenth = (np.arange(before.shape[1]) + 0.5) / before.shape[1]
    plots.realisations(flat[0], tenth, before, color=colour, label=f"{name}, $d={rows.d.iloc[0]}$")
flat[0].axhline(0.5, color=plots.COLOURS["theory"], linestyle=":", label="no order")
flat[0].set(xlabel="rank by distance from the interface", ylabel="share satisfied before", ylim=(0, 1))
flat[0].legend(fontsize="small")
draw_angles(flat[1])
chapter.figure(
    fig,
    "fig-a-order",
    "Left: the share of the training points that are satisfied before a point, by the point's rank in the distance from the nearest interface "
    "(tenths, 0 the nearest; medians and quartiles). Right: angles of the planes of one network's neurons during the fit, stripe, $d=2$, from "
    "$t^*$ on; crosses: the attractors before it; dash-dotted: planes that lie at an interface.",
    *orders.values(),
    groups,
    alt="Left, two falling curves: the further a point is from the interface, the fewer points are satisfied before it. Right, lines of many "
    "neurons that run together in three bundles from three crosses and end at other angles.",
)
# %%
for claim, name in (("order", "stripe"), ("order-cylinder", "cylinder")):
    chapter.check(f"A.Fig5-{claim}", mean(orders[name]["rank"]), orders[name], figure="fig-a-order")
counts = groups.pivot(index="seed", columns="share", values="count")
same = counts[[0.5, 0.9]].eq(counts.iloc[:, 0], axis=0).all(axis=1)
chapter.check("A.Fig5-number", proportion(same), groups, figure="fig-a-order")
halfway = groups[groups.share == 0.5]
chapter.check("A.Fig5-moved", mean(halfway.moved), halfway, figure="fig-a-order")
flips = []
for _, rows in groups.sort_values("share").groupby("seed"):
    signs = np.sign(np.cos(np.array(rows.angles.tolist())))
    flips.append((signs != signs[0]).any(axis=0).mean())
chapter.say(
    f"The clusters hold {mean(groups[groups.share == counts.columns[0]].held)} of the neurons at $t^*$ and "
    f"{mean(groups[groups.share == counts.columns[-1]].held)} at the end; there are {mean(counts.iloc[:, 0])} and {mean(counts.iloc[:, -1])} of them. "
    f"On the way $\\omega_1$ of {mean(flips)} of the neurons changes its sign."
)
# %% [markdown]
# ## Other tasks: three planes, three informative directions
# The argument asks for neither two planes nor one direction, and paper A expects compression in all linear invariant models.
# {numref}`fig-a-more` has other planes in the first dimension of the stripe above, and a sphere in three informative directions with one
# uninformative direction.
# %%
planes, sphere = map(grown, ("planes", "sphere"))
others = {f"{len(planes.interfaces[0])} planes": planes, "three informative directions": sphere}
fig, flat = plots.panels(2, width=3.8, height=3.2)
for ax, (name, rows) in zip(flat, others.items()):
    plots.realisations(ax, *by_size(rows, "star"), color=plots.COLOURS["amplification"], label=r"$\Lambda^*$")
    first = rows[rows.p == rows.p.min()].star.median()
    plots.slope_guide(ax, (rows.p.min(), rows.p.max()), 0.6 * first, 0.5, "1/2")
    said = rows.groupby("p").predicted.median()
    ax.plot(said, "--", color=plots.COLOURS["theory"], label="theory")
    ax.set(xscale="log", yscale="log", xlabel="training points $p$", ylabel=r"$\Lambda^*$", title=name)
    ticks(ax, sorted(set(rows.p)))
    plots.plain_numbers(ax)
flat[0].legend(fontsize="small")
chapter.figure(
    fig,
    "fig-a-more",
    "Amplification at $t^*$ on a task with other planes and on one with three informative directions: medians and "
    "quartiles, with theory's constants for an attractor and for a ring, and the slope 1/2 as a guide.",
    planes,
    sphere,
    alt="Amplification against training points for three planes and for three informative directions, along a "
    "slope of one half and near dashed lines of theory.",
)
# %%
for claim, rows in (("planes", planes), ("sphere", sphere)):
    chapter.check(f"A.Fig8-{claim}", drift(growing("still"), rows), rows, figure="fig-a-more")
chapter.say(
    "; ".join(f"{name}: exponent of $\\Lambda^*$ itself {growing('star')(rows)}" for name, rows in others.items())
)
# %% [markdown]
# ## Exercises
# **1. The balance.** Derive {eq}`eq:A:constant` from {eq}`eq:A:neuron` and {eq}`eq:A:noise`.
#
# <details class="solution"><summary>Solution</summary>
#
# At large $|\lambda|$ one has $|\omega|\simeq|\omega_1|$ and $\tau\dot\omega_1=\beta C_1^\pm$. A neuron that grows
# has ${\rm sgn}\,\beta\,{\rm sgn}\,C_1^\pm={\rm sgn}\,\omega_1=\pm1$, so that $|\omega_1|$ grows at the rate
# $\frac{|\beta|}{\tau|\omega|}|C_1^\pm|$. Multiply {eq}`eq:A:noise` by $\omega_\perp/|\omega_\perp|^2$, with
# $\omega_\perp$ along $\beta N$, where the noise ends up pushing it: $|\omega_\perp|$ grows at the rate
#
# $$
# \frac{|\beta|}{\tau|\omega|}\Bigl[\pm{\rm sgn}(C_1^\pm)\,y(z^*)\frac{e^{-z^{*2}/2}}{\sqrt{2\pi}}
# +\frac{|\omega|}{|\omega_\perp|}\,|N|\sqrt{\frac{D_\perp^\pm}p}\Bigr].
# $$
#
# The ratio rests where the rates are equal, and $|\omega|/|\omega_\perp|=\lambda^*$ is what {eq}`eq:A:constant` says.
# It is stable: a larger $\lambda$ makes the second term larger. Without the first term the constant would be
# $|C_1^\pm|/\sqrt{D_\perp^\pm}$.
#
# </details>
#
# **2. The ring's constants.** For $d_\parallel=2$ and equiprobable labels, $R^2=2\ln2$, find $|C_1|=0.167$ and
# $c=0.530$ by hand.
#
# <details class="solution"><summary>Solution</summary>
#
# $\bar y$ averages the label over the other informative coordinate, so that $C_1=\langle y\,a\,\theta(a)\rangle$ is
# an average over the plane of label $+1$ outside the circle and $-1$ inside. In polar coordinates the half disk has
# $\langle a\,\theta(a)\rangle_{r<R}=\frac1\pi\int_0^Rr^2e^{-r^2/2}dr$, and
#
# $$
# C_1=\frac1{\sqrt{2\pi}}-\frac2\pi\int_0^Rr^2e^{-r^2/2}dr
# =\frac1{\sqrt{2\pi}}-\frac2\pi\Bigl[\sqrt{\tfrac\pi2}\,{\rm erf}\tfrac R{\sqrt2}-R\,e^{-R^2/2}\Bigr]=0.1666 .
# $$
#
# On the ring $\bar y(0)=1-2\,{\rm erf}(R/\sqrt2)=-0.522$ and $D_\perp=\frac12$: the own label *brakes*
# $\omega_\perp$, and $c=(0.1666+0.522/\sqrt{2\pi})\sqrt2=0.530$; without it $c$ would be $0.1666\sqrt2=0.236$, which
# is the ledger's alternative to A.Fig8-constant.
#
# </details>
#
# **3. A prediction.** Leave one plane, at 0.4. How many attractors are there, and where?
#
# ```sh
# make chapter-02 PROFILE=smoke NAME=one PARAMS='-p interfaces "[0.4]"'
# ```
#
# <details class="solution"><summary>Solution</summary>
#
# Two, one on either side of the plane, and each with the plane in its active half line. By the zeros of
# {eq}`eq:A:zeta` they are, in $d=2$, at $z^*=-0.331$ for $\lambda>0$ and at $z^*=1.368$ for $\lambda<0$; the far one
# is the fast one ($\tau/\tau^*$ is 0.807 against 0.369). With the plane at 0 a reflection turns one into the other,
# and they are at $\mp0.814$. How far from these the neurons' intercepts lie at $t^*$ the run says under
# A.Fig5-attractors.
#
# </details>
# %% [markdown]
# ## Errata and open points
# {ref}`The noise <erratum-a-noise>` has the amplitude $\sqrt{D_\perp}$; {ref}`a root is missing
# <erratum-a-perpendicular-time>` in the perpendicular time constant; {ref}`the characteristic time
# <erratum-a-characteristic-time>` lacks a factor 2. The constant of the paper's App. C.3 leaves out the first term of
# {eq}`eq:A:noise`, which is of the same order.
#
# What was changed after a first run at the laptop {term}`profile` had been seen stands with each claim in the ledger: the
# smallest sizes of the fits (`growth_from`), the noise divided out of $\Lambda^*$, the mean of slopes of $t^*$ in place
# of the slope of medians, the constant at the largest $p$ and not at the smallest $\alpha$, $t^*$ at 2048 points and not at 512,
# and the neurons that are counted at the attractors. Closed forms of App. C that are algebra
# (averages, their limits, the number of attractors and the condition at them) are held by the tests and not judged here.
#
# Open: what the places are at which the fixed points end (we measure them, and have no formula); why $\Lambda^*$ of the cylinder exceeds the constant of its ring at all sizes from
# 512 on (growth rates at finite $p$ differ around the ring: whether that is the cause we have not measured); and the end of training, where the last few points and not the noise of all decide on $\Lambda$.
#
# ## Try it yourself
# - `make chapter-02 NAME=mine PARAMS='-p alpha 1e-12'`: how many neurons have arrived at $t^*$ now?
# - `-p growth_h 3000` widens the networks of {numref}`fig-a-6-p`. Is the scatter at small $p$ from width or data?
