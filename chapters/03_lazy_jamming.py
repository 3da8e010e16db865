# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (lazy-jamming)=
# # When lazy, jamming is Cover's theorem
# A lazy network is linear in its $N$ parameters. So it fits if and only if some direction $w$ gives every point a positive margin
# $y_\mu\,w\cdot\nabla f(x_\mu)$: its tangent features must be linearly separable. For random labels Cover {cite}`cover1965` counted how
# often that is so, whatever the features, as long as any $N$ of them are linearly independent:
#
# $$
# P(\text{fit})=2^{1-P}\sum_{k<N}\binom{P-1}{k}.
# $$ (eq:B:cover)
#
# It is one half at $P=2N$. A lazy network thus jams at $N^*=P/2$ with random labels, without a fitted number, at every depth, and on
# images as on random points. A linear program decides it for each network, of one to three hidden layers ({numref}`fig-b-cover`):
# $2N^*/P$ is {claim}`B.Sec2-cover` on random points and {claim}`B.Sec2-cover-images` on images. Labels that follow the data are
# another matter, for then the signs of the features are not random, and fewer parameters are enough.
#
# The theorem also says how far training is from its end. Where the loss is convex nothing but the number of steps can move the line. After
# 200 steps, the budget of the map, $2N^*/P$ is {claim}`B.Fig4-cover-stopped`: the line of the map lies at too many parameters even there.
# After 3200 steps it is {claim}`B.Fig4-cover-trained`, on eight training sets too few to say so within three per cent.
# %% tags=["parameters"]
# fmt: off
profile: "one of smoke, laptop, paper" = "laptop"  # chosen with --profile
data: "one of mnist, fashion_mnist, cifar10, digits" = "mnist"  # images, labelled by the parity of their class (paper B: MNIST)
components: "count from 2 to 1000" = 10  # principal components of the images (paper B: 10)
layers: "count from 1 to 8" = 2  # hidden layers (paper B, Fig. 4: 2)
loss: "one of quadratic_hinge, soft_hinge" = "quadratic_hinge"  # (paper B's text: hinge or quadratic hinge; its commands: soft hinge)
steps: "count from 10 to 1e5" = 200  # attempted steps after which a network has not fitted (paper B: hours of wall time)
# fmt: on
# %%
import numpy as np

from companion.claims.separability import trained_over_half
from companion.report import plots
from companion.report.chapter import Chapter
from companion.studies import jamming as studies
from companion.studies import separability
from companion.theory.separability import separable_share

chapter = Chapter("03", globals())
# %%
programs = chapter.rows(separability.separable)
trained = chapter.rows(studies.thresholds, "lazy")
fig, axes = plots.panels(2)
loads = np.linspace(1.6, 2.4, 81)
parameters = int(programs.parameters.max())
theory = separable_share(np.round(loads * parameters), parameters)
axes[0].plot(loads, theory, color=plots.COLOURS["theory"], label=f"Cover, $N={parameters}$")
for (layers, data), rows in programs.groupby(["layers", "data"]):
    axes[0].plot(rows.groupby("ratio").separable.mean(), "o", label=f"{layers} hidden, {data}")
axes[0].set(xlabel="points over parameters, $P/N$", ylabel="share of networks that can fit")
axes[0].legend(fontsize="small")
budgets = sorted(set(trained.steps))
for p, rows in trained.groupby("p"):
    found = [trained_over_half(rows, steps) for steps in budgets]
    ends = [[one.value - one.low for one in found], [one.high - one.value for one in found]]
    axes[1].errorbar(budgets, [one.value for one in found], ends, fmt="o-", capsize=3, label=f"$P={p}$")
axes[1].axhline(1, color=plots.COLOURS["theory"], linewidth=1)
axes[1].set(xscale="log", xlabel="steps", ylabel="$2N^*/P$ of trained networks")
plots.plain_numbers(axes[1], "x")
axes[1].legend()
chapter.figure(
    fig,
    "fig-b-cover",
    programs,
    trained,
    alt="Left, the share of networks that can fit falls from one to nothing around two points a parameter, along Cover's curve. "
    "Right, parameters at jamming over half of the points, falling towards one with more steps.",
)
# %% [markdown] tags=["caption"]
# **Lazy networks fit random labels up to two points a parameter.** Left: share whose tangent features a linear program can separate; line:
# Cover's theorem. Right: parameters at jamming of trained networks at the largest output scale over half of the points, against the
# budget of steps; line: the theorem (paper B, Fig. 4).
