# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (chapter-03)=
# # Test error peaks at jamming where training reaches rest
# A network with too few parameters cannot fit its data. We ask what happens at the number of parameters where it just can.
#
# ## What we find
# - **Two lines divide the phase diagram of paper B.** Both appear with small networks on 250 digits: jamming, and the lazy regime
#   above an output scale near 9. In the lazy regime the predictor's norm diverges as $1/(N-N^*)$, with the measured exponent
#   {claim}`B.Sec2-norm`. Here $N$ is the number of parameters, $N^*$ its value at jamming.
# - **The test error of single networks peaks at jamming when they are trained towards rest**, by up to 1600 rounds of Newton's method. On
#   5000 points the peak is {claim}`B.Fig6-rest-cusp` percentage points high at output scale 12, and {claim}`B.Fig6-rest-lazy` in the
#   lazy regime. There nearly all networks that do not fit then lie at a minimum; at scale 12 half of them or more still move. On 250
#   points, after 200 steps, only the largest output scale shows a small peak.
# - **At output scale 12, stopping early lowers the error at the peak, and an ensemble of twenty has no bump there.** At the two widths of
#   the peak at rest, networks stopped after 200 steps have a peak lower by {claim}`B.Fig6-rest-stop` points (5000 points). They may have
#   one of their own at larger widths. In the lazy regime ensembles at rest keep a bump. At the largest scale, on 250 points, twenty networks keep a bump of {claim}`B.Fig6-twenty`
#   points. Stopping early and weight decay also remove the divergence; stochastic descent does so for 400 epochs, and whether for
#   longer is undecided. The fluctuations over initial weights fall as $N^{-1/4}$ far from jamming. The error that they add to single
#   networks is not yet their square: the exponent is {claim}`B.Sec3-quadratic`, not 2.
#
# ## Overview
# Training a network with too few parameters gets stuck with some points on the wrong side
# of the {term}`margin`, as grains get stuck when a box is filled. With a few more parameters it fits every point. Paper B
# {cite}`geiger2021` calls the line between the two {term}`jamming`. There the {term}`predictor` blows up and its error has a
# cusp; beyond it the error falls again, the {term}`second descent <double descent>`. A second line separates
# {term}`feature learning` from the {term}`lazy regime`.
#
# Before us, {cite}`spigler2019` found the cusp at jamming, which early stopping removes. {cite}`geiger2020` have the exponent
# $N^{-1/4}$, the divergence, and an ensemble just beyond jamming in place of one large network. {cite}`belkin2019` have double
# descent elsewhere. In random features the peak is the variance over initial weights and label noise, which averaging removes
# {cite}`dascoli2020`. New as far as we know is the peak against the number of points and steps, with networks at rest.
#
# The two lines lie on one map: the width $h$ to the right, the output {term}`scale <alpha>` $\tilde\alpha$ upwards. We train
# several thousand small networks until each fits or we stop it. An ensemble is several networks that differ in their initial weights
# alone. All follow implicit steps of
# {term}`gradient flow` (`regimes.training.gauss_newton`), a whole ensemble at a time. You need to know what a margin and a
# {term}`tangent kernel` are (chapter 1). The [details](#jamming-details) hold further statements and small print.
#
# :::{dropdown} Symbols
# | symbol | in code | shape | unit, scale |
# |---|---|---|---|
# | $P$, $d$ | `p`, `components` | | training points; dimension, principal components of the images |
# | $h$, $L$, $N$ | `h`, `layers`, `parameters` | | width; hidden layers; parameters, $dh+(L-1)h^2+h$ |
# | $f$ | `model(x)` | $(P)$ | output, mean-field scale $1/h$, no biases |
# | $F=\tilde\alpha(f-f_0)$ | `F` | $(P)$ | predictor; $\tilde\alpha=\sqrt h\,\alpha$ in paper B's notation |
# | $\Delta_\mu=1-y_\mu F(x_\mu)$ | | $(P)$ | gap: a point is unsatisfied where it is positive |
# | $N_\Delta$ | `unsatisfied` | | points with $\Delta>10^{-4}$ at the end |
# | $N^*$, $h^*$ | `transition` | | parameters, width at which half of the networks fit |
# | $H_0$, $H_p$, $N_-$ | `hessian` | $(N,N)$ | the parts of the Hessian; negative eigenvalues of $H_p$ |
# | $\lVert\Delta\Theta\rVert/\lVert\Theta_0\rVert$ | `kernel_change` | | change of the tangent kernel in training |
# | $\langle F\rangle$ | `ensemble_error` | | mean output of an ensemble; `ensemble_error` is its test error |
# :::
# %% tags=["parameters"]
# fmt: off
profile: "one of smoke, laptop, paper" = "laptop"  # chosen with --profile
data: "one of mnist, fashion_mnist, cifar10, digits" = "mnist"  # images, labelled by the parity of their class (paper B: MNIST)
components: "count from 2 to 1000" = 10  # principal components of the images (paper B: 10)
layers: "count from 1 to 8" = 2  # hidden layers (paper B, Fig. 4: 2)
loss: "one of quadratic_hinge, soft_hinge" = "quadratic_hinge"  # (paper B's text: hinge or quadratic hinge; its commands: soft hinge)
steps: "count from 10 to 1e5" = 200  # attempted steps after which a network has not fitted (paper B: hours of wall time)
members: "count from 2 to 100" = 5  # networks of an ensemble (paper B: 15 and 20)
test: "count from 10 to 1e5" = 4000  # test points (paper B: 40000)
map_p: "count from 10 to 1e5" = 250  # training points (paper B: 5000)
map_scales: "3 or more increasing positives" = [0.00390625, 0.5, 2.0, 12.0, 256.0, 1048576.0]  # scales of the map (paper B: 3e-4 to 3e7)
map_h: "3 or more increasing counts from 2 to 1e4" = [4, 6, 8, 12, 16, 32, 128]  # widths of the map (paper B: 20 to 1248)
map_seeds: "count to 100" = 4  # training sets (paper B: 1)
sizes_p: "2 or more increasing counts from 10 to 1e5" = [60, 120, 250, 500]  # training points with which the best region is followed
# fmt: on
# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from companion import estimates
from companion.claims import rest as claims
from companion.estimates import mean
from companion.report import papers, plots, sketches
from companion.report.chapter import Chapter
from companion.studies import jamming as studies
from companion.studies import rest as at_rest
from companion.theory import jamming

chapter = Chapter("03", globals())
# %% [markdown]
# ## In one picture
# With too few parameters for the points, training ends at a positive loss; with enough, at zero ({numref}`fig-sketch-jamming`).
# %%
chapter.figure(
    sketches.jamming(),
    "fig-sketch-jamming",
    "**With too few parameters the least loss lies above zero; with enough the bottom is flat at zero.** A sketch. Above: the two "
    "phases and the line between them, jamming. Below: the loss over the weights in each phase.",
    alt="A square of points against parameters, cut by a rising line called jamming into not fitted, above, and fitted, below. "
    "Under it two valleys of the loss: one whose bottom lies above zero, and one with a flat bottom at zero.",
)
# %% [markdown]
# ## The model, and when it counts as jammed
# We train fully connected networks without biases, of $L$ hidden layers of width $h$:
#
# $$
# h_0=x,\quad h_l=\sigma\Bigl(\frac{W_l h_{l-1}}{\sqrt{n_{l-1}}}\Bigr),\quad f=\frac{1}{h}\,W_{L+1}\cdot h_L,
# $$ (eq:B:network)
#
# Layer $l$ has $n_{l-1}$ inputs, and $\sigma(z)\propto z/(1+e^{-10z})$ has $\mathbb E\,\sigma^2=1$ for standard normal $z$.
# The labels $y_\mu=\pm1$ of the $P$ training points are the parity of digits, and the inputs are their first principal components. The
# predictor is $F=\tilde\alpha(f-f_0)$, with $f_0$ the output at the start. A point has the margin $y_\mu F(x_\mu)$ and the *gap*
# $\Delta_\mu=1-y_\mu F(x_\mu)$. Training is gradient flow of the quadratic hinge loss
# $\frac1{\tilde\alpha P}\sum_\mu\frac12\max(0,\Delta_\mu)^2$. Paper B's text names this loss. The commands of its public code
# take the soft hinge for Figs. 4 and 6, with the same verdicts where all margins are met. The parameter `loss` chooses.
#
# A network *fits* when every gap is below $10^{-4}$. Deciding that a network cannot fit is harder. It is *jammed* when its loss cannot
# fall further and some gaps remain. Most networks that do not fit still move slowly when we stop, after 200 steps. Paper B stopped its
# networks by the clock. Our line, too, depends on the training budget ([details](#how-long-is-long-enough)). The section
# on networks at rest removes the budget.
# %%
# more training sets than a laptop trains in minutes, and wider networks, are stored in results/; where a parameter is
# changed, the seeds that all sizes have
on_map = studies.at_end(chapter.rows(studies.ensembles, "map"))
on_the_way = chapter.rows(studies.ensembles, "slices")
cuts = studies.at_end(on_the_way)
cut_scales = sorted(chapter.design(studies.ensembles, "slices")["scale"])
first = pd.concat([on_map, cuts[cuts.seed.isin(on_map.seed)]]).drop_duplicates("cell")
second_map = studies.at_end(chapter.rows(studies.ensembles, "second_data"))
second = chapter.design(studies.ensembles, "second_data")
here = studies.first_there(second["data"][0])  # the map may rest on stored results of another one
(kept,) = second["components"]

h_star = jamming.transitions(first, "h")
h_cut, n_cut = (jamming.transitions(cuts, column) for column in ("h", "parameters"))
# %% [markdown]
# ## The map: two lines, one for jamming and one for laziness
# Training changes the tangent kernel by its own norm at an output scale near 9 ({numref}`fig-b-4`). Above this scale learning is
# lazy. The line hardly depends on the width far from jamming, and bends up by a factor of about 4 near it. The
# other line, the black band, is jamming: the width at which half of the networks fit.
# %%
image_names = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "cifar10": "CIFAR-10", "digits": "small digits"}
# %%
fig, axes = plots.panels(2, height=4.2)
plots.phase_map(axes[0], on_map, jamming.transitions(on_map, "h"))
axes[0].set_title(f"{image_names.get(data, data)}, {components} components\n{papers.beside(map_p, 'B.points')}")
for scale in cut_scales:
    axes[0].axhline(np.log10(scale), color="0.2", linestyle=":", linewidth=1.5)
axes[0].set_ylim(np.log10(cut_scales[0]) - 0.3, np.log10(cut_scales[-1]) + 0.3)  # no cut on the frame
for x, y, words, colour, turn in (
    (0.96, 0.9, "lazy", "k", 0),
    (0.96, 0.08, "features", "k", 0),
    (0.06, 0.6, "no fit", "w", 90),
):
    axes[0].text(
        x, y, words, transform=axes[0].transAxes, ha="center" if turn else "right", color=colour, rotation=turn
    )
plots.phase_map(axes[1], second_map, jamming.transitions(second_map, "h"))
other = second_map.data.iloc[0]
axes[1].set_title(
    f"{image_names.get(other, other)}, {kept} components\n{papers.beside(second_map.p.iloc[0], 'B.points')}"
)
chapter.figure(fig, "fig-b-4", f"**Left of the black line fewer than half of the networks fit within {steps} steps; above the thick white line "
               "learning is lazy.** Colour: test error of the ensemble's mean output. Black: jamming, where half of the networks fit, mean "
               f"and range over {on_map.seed.nunique()} training sets. White: change of the kernel over its norm, thick: 1. Circles: within half a per cent of the least error; "
               "dotted: the cuts of the next figure (paper B, Fig. 4).", on_map, second_map,
               alt="Two maps of ensemble error over width and output scale with the jamming line on the left and the "
               "lines of kernel change running flat to the right.")  # fmt: skip

# %%
widest = on_map[on_map.h == max(map_h)]
beside = studies.at_end(chapter.rows(studies.ensembles, "cross_over"))
crossed = jamming.crossings(beside).to_numpy()
# %%
timed = chapter.rows(studies.efforts, "scales")
timed = timed[np.isfinite(timed.time)].assign(log=lambda rows: np.log(rows.time * rows["scale"]))
times = np.exp(timed.groupby(["seed", "scale"]).log.mean().unstack().dropna(axis=1))
told = [
    f"{estimates.ratio(part.to_numpy()):.2g} at ${plots.number(s)}$"
    for s, part in times.div(times.iloc[:, -1], axis=0).items()
]
chapter.say(
    f"With the loss divided by $\\alpha^2$ the training time does not depend on the scale from 256 on. Relative to that at the largest scale it is {', '.join(told[:-1])}."
)
# %%
top = h_star.dropna(axis=1).columns[-1]
at_jamming = jamming.at_width(first[first["scale"] == top], "kernel_change", h_star[top])
chapter.say(
    f"That networks near jamming are never lazy is a statement about the limit: the norm of the predictor must reach the "
    f"scale. On this grid it grows to {first[first['scale'] == top].norm.max():.0f} at $\\tilde\\alpha = {plots.number(top)}$, where the "
    f"kernel at jamming changes by {at_jamming.mean():.1g} of its norm. What can be seen is the mechanism, "
    f"[below](#the-predictor-blows-up): the kernel's change grows with the norm."
)
# %%
near = min(map_scales, key=lambda scale: abs(np.log10(scale) - np.mean(crossed)))  # the scale next to the cross-over


def above_near(rows):
    """Ensemble errors at both ends of the scales minus that at ``near``, percentage points; a row a training set and width."""
    errors = 100 * rows.pivot(index=["seed", "h"], columns="scale", values="ensemble_error").dropna()
    return errors[[min(cut_scales), max(cut_scales)]].sub(errors[near], axis=0)


# %%
if near in cut_scales[1:-1] and abs(np.log10(near) - np.mean(crossed)) < 1:
    more = studies.at_end(chapter.rows(studies.ensembles, "near"))
    both = {}
    for p, rows in ((map_p, cuts), (more.p.iloc[0], more)):
        both[p] = above_near(rows)
        told = [
            f"{mean(values.to_numpy()):.2f} at $h={h}$"
            for h, values in both[p][max(cut_scales)].unstack("h").items()
            if h in map_h
        ]
        chapter.say(
            f"On {p} points the ensemble's error at the largest scale less that at $\\tilde\\alpha={plots.number(near)}$, next to the cross-over, "
            f"is {', '.join(told)}, in percentage points."
        )
# %% [markdown]
# Paper B finds the best performance on MNIST near the cross-over. On average over the three widths the error there is lower than at
# either end of the scales, by {claim}`B.Fig4-best-near` percentage points. At the largest width alone, on other training sets, the
# difference is {claim}`B.Fig4-best-near-widest`.
#
# ## Stopped networks on 250 points show hardly a peak
# Networks stopped after 200 steps have a lower error at jamming than at two thirds of its width, except at the largest output scale.
# Averaging an ensemble lowers the error by {claim}`B.Fig6-gain` percentage points or more at twice the width of jamming.
# {numref}`fig-b-6` shows the error along three horizontal lines of the map, its dotted cuts.
# %%
fig, axes = plots.panels(len(cut_scales), columns=3, sharey=True)
scale_colours = dict(zip(sorted(cut_scales), plots.from_feature_to_lazy(len(cut_scales))))
for ax, (scale, rows), colour in zip(axes, cuts.groupby("scale"), scale_colours.values()):
    for column, label, style in (("error", "single networks", "-"), ("ensemble_error", "ensemble", "--")):
        wide = 100 * rows.pivot(index="seed", columns="h", values=column)
        plots.realisations(ax, wide.columns, wide, color=colour, linestyle=style, label=label)
    ax.axvspan(h_cut[scale].min(), h_cut[scale].max(), color="0.5", alpha=0.25, linewidth=0, label="jamming")
    plots.curve_axes(ax, [4, 8, 16, 32, 64], errors=False)
    ax.set(xlabel="width $h$", title=rf"$\tilde\alpha = {plots.number(scale)}$")
axes[0].set_ylabel("test error (%)")
words = {"title": papers.beside(map_p, "B.points"), "title_fontsize": "small", "ncols": 3}
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", **words)
chapter.figure(fig, "fig-b-6", "**Single networks improve with width far beyond jamming; averaging removes most of that.** Test error of single "
               f"networks and of the ensemble's mean output against width at three scales; grey: jamming, range over {cuts.seed.nunique()} training sets "
               "(paper B, Fig. 6). At the largest scale the error peaks at jamming.", cuts,
               alt="Test error against width at three scales: single networks above, the ensemble below, both falling "
               "across the grey band of jamming and beyond it.")  # fmt: skip
# %%
by_scale = {scale: (rows, h_cut[scale]) for scale, rows in cuts.groupby("scale")}
# the transition of a single training set, of few networks, is not known well enough to stand on a peak
at_mean = {scale: pd.Series(h_cut[scale].mean(), h_cut.index) for scale in cut_scales}
rise = np.array([100 * jamming.rise(rows, "error", at_mean[s]) for s, (rows, _) in by_scale.items()])
bumps = [100 * jamming.bump(rows, "ensemble_error", at_mean[s]) for s, (rows, _) in by_scale.items()]
chapter.say(
    f"With {map_p} points the error of single networks at jamming exceeds the error at $h/1.5$ by {', '.join(f'{mean(r):.2g}' for r in rise)} "
    f"percentage points at the three scales, from the smallest to the largest; at a cusp these are above 0. Ensembles of {members} stand above the mean of their neighbours by "
    f"{', '.join(f'{mean(b):.2g}' for b in bumps)} percentage points."
)


# %% [markdown]
# ## At rest the error peaks at jamming
# At scale 12 and at rest the peak is {claim}`B.Fig6-rest-cusp` percentage points high; in the lazy regime it is {claim}`B.Fig6-rest-lazy`
# ({numref}`fig-b-rest`). The height is the error of single networks at jamming minus the least error of narrower ones. Here they learn
# 5000 points, as many as in paper B.
#
# We reach rest by Newton's method with the whole Hessian in a trust region (`regimes.training.newton`). It continues the training of
# networks that do not fit until they fit or lie at a minimum. One round gets as far as tens of steps of the flow.
#
# The peak needs this long training: at scale 12 it rises with the number of steps (numbers below the figure). At the smallest scale the
# measured height is {claim}`B.Fig6-rest-feature` points, and whether there is a peak is undecided. Whether the peak grows from 1000 to 5000
# points is open.
# %%
def stored_ones(name):
    """The rows of a design with ensembles as large as at the most points: those that are stored, where they are."""
    rows = chapter.rows(at_rest.cusp, name)
    return rows[rows.members == rows[rows.p == rows.p.max()].members.max()]


on_way = {name: stored_ones(name) for name in ("sizes", "lazy", "feature")}
whole = {"sizes": stored_ones("whole"), "lazy": stored_ones("whole_lazy")}
fresh = "fresh fresh_lazy stopped fresh_feature fresh_whole fresh_whole_lazy".split()
fresh = {name: {p: rows for p, rows in stored_ones(name).groupby("p")} for name in fresh}
counted = on_way["sizes"].groupby("p").seed.nunique()
shown_p = max(counted[counted == counted.max()].index)
last = on_way["sizes"].newton_steps.max()


# %%
def draw_sizes(ax, rows, newton_steps, jammed, style="o-", label="$P = {}$"):
    """Mean error of single networks against the width after so many Newton steps, one curve per number of points."""
    for (p, group), colour in zip(rows[rows.newton_steps == newton_steps].groupby("p"), plots.PALETTE):
        error = 100 * group.groupby("h").error.mean()
        ax.plot(error.index, error, style, color=colour, markersize=3, label=label.format(p))
        at = jammed[p].h.max() if p in jammed else np.nan
        ax.plot(at, error.get(at, np.nan), "o", color=colour, markersize=10, markerfacecolor="none")


def draw_heights(ax, rows, at_end, **how):
    """The height of the peak against the number of points, with its interval over the fresh training sets."""
    at = {p: own.newton_steps.max() if at_end else 0 for p, own in rows.items()}
    found = {p: mean(jamming.peak_height(rows[p], at[p])) for p in sorted(rows)}
    bars = [[e.value - e.low, e.high - e.value] for e in found.values()]
    ax.errorbar(found.keys(), [e.value for e in found.values()], np.transpose(bars), capsize=3, **how)


# %%
fig, axes = plots.panels(4)
shown = on_way["sizes"][on_way["sizes"].p == shown_p]
stages = list(shown.groupby("newton_steps"))
for (done, rows), shade in zip(stages, np.linspace(0.9, 0.1, len(stages))):
    wide = 100 * rows.pivot(index="seed", columns="h", values="error")
    axes[0].plot(wide.columns, wide.mean(), "o-", color=plt.cm.viridis(shade), markersize=3, label=f"{done} rounds")
curves = {name: pd.concat([on_way[name], rows]) for name, rows in whole.items()}
curves = {name: rows.drop_duplicates(["cell", "newton_steps"]) for name, rows in curves.items()}
# at sizes drawn from all images, where there are such
heights = {"lazy": fresh["fresh_lazy"] | fresh["fresh_whole_lazy"], "scale 12": fresh["fresh"] | fresh["fresh_whole"]}
draw_sizes(axes[1], curves["sizes"], 0, {}, ":", "")
draw_sizes(axes[1], curves["sizes"], last, heights["scale 12"])
draw_sizes(axes[2], curves["lazy"], on_way["lazy"].newton_steps.max(), heights["lazy"])
# %%
feature, lazy_colour = plots.COLOURS["feature"], plots.COLOURS["lazy"]
draw_heights(axes[3], heights["lazy"], True, label="lazy", marker="s", color=lazy_colour)
draw_heights(axes[3], heights["scale 12"], True, label="scale 12", marker="o", color=feature)
draw_heights(axes[3], heights["scale 12"], False, label="scale 12, stopped", marker="o", linestyle=":", color=feature)
axes[3].axhline(0, color="0.4", linewidth=1)
for ax, title in zip(axes, (f"scale 12, $P = {shown_p}$", "scale 12; dotted: stopped", "lazy")):
    plots.curve_axes(ax, [4, 8, 16], errors=False)
    ax.set(xlabel="width $h$", ylabel="error (%)", title=title)
    ax.legend(fontsize="small")
plots.curve_axes(axes[3], sorted(heights["lazy"]), errors=False)
axes[3].set(xlabel="training points $P$", ylabel="height of the peak (%)")
axes[3].set_ylim(bottom=-3)
axes[3].legend(fontsize="small", loc="lower right")
chapter.figure(fig, "fig-b-rest", "**Trained to rest, the error of single networks peaks at jamming.** Error against the width on "
               "the way to rest; at rest for growing numbers of points; the same in the lazy regime. Circles: jamming, where the norm of the predictor is "
               "largest. Last: height of the peak, the error there minus the least of narrower networks, on six training sets other than the curves'.", *on_way.values(), *whole.values(),
               alt="Three panels of error against width, flat or falling when stopped early and peaked at rest, most so in the lazy "
    "regime; the height of the peak against the number of points, rising.")  # fmt: skip
# %%
at_end = on_way["lazy"][on_way["lazy"].newton_steps == last]
bumps = []
for p, rows in at_end[at_end.members == at_end.members.max()].groupby("p"):
    means = rows.groupby("h")[["ensemble_error", "fitted"]].mean()
    over = (means.ensemble_error - (means.ensemble_error.shift(1) + means.ensemble_error.shift(-1)) / 2).dropna()
    if len(over):
        jammed_at = (means.fitted[over.index] - 0.5).abs().idxmin()
        count = rows[rows.h == jammed_at].seed.nunique()
        bumps.append(f"{100 * over[jammed_at]:.2g} on {p} points ({count} training set{'s' * (count > 1)})")
if bumps:
    chapter.say(
        f"In the lazy regime ensembles of {at_end.members.max()} keep a bump at rest on many points. At the width where half of the networks "
        f"fit, the error of their mean output stands above the mean of the neighbouring widths by {', '.join(bumps)}, in percentage points."
    )
# %%
twenty_at = max(fresh["fresh"])
usual, later = fresh["fresh"][twenty_at], fresh["stopped"].get(twenty_at)
if twenty_at >= 2000 and usual.seed.nunique() > 4:
    one = jamming.peak_height(usual, last)
    stopped = {steps: jamming.peak_height(rows, 0) for steps, rows in later.groupby("steps")}
    told = ", ".join(f"{mean(found):.2g} after {steps} steps" for steps, found in stopped.items())
    chapter.say(
        f"On {twenty_at} points at scale 12 the peak is {told}, and {mean(one):.2g} at rest, in percentage points "
        f"(on the way: means over {later.members.max()} networks a training set; the figure has {usual.members.max()})."
    )
(slow,) = fresh["fresh_feature"].values() if len(fresh["fresh_feature"]) == 1 else [None]
if slow is not None and max(slow.p) >= 1000:
    ends = slow[slow.newton_steps == slow.newton_steps.max()]
    moving = 100 * (1 - ends.fitted - ends.jammed).mean()
    chapter.say(f"At the smallest scale {moving:.0f} per cent of these networks still move after the last round.")
# %% [markdown]
# (the-predictor-blows-up)=
# ## The predictor diverges at jamming
# At the largest output scale three quantities diverge with an exponent near $-1$ in $N-N^*$ ({numref}`fig-b-8d`). The exponents
# are {claim}`B.Sec2-norm` for the norm of the predictor, {claim}`B.Fig8D-quadratic` for its fluctuation over initial weights and
# {claim}`B.Fig4-change-diverges` for the change of the kernel. $N$ counts the parameters, $N^*$ those at jamming. As $N$ falls
# towards $N^*$ a network can meet its margins only with an ever larger predictor, which depends ever more on
# its initial weights. The kernel changes with the predictor, so that close enough to jamming any network leaves the lazy regime.
# Ours do not come so close: at this scale the change stays far below the norm of the kernel.
# %%
(stops,) = chapter.design(studies.ensembles, "map")["stops"]
early = on_the_way[on_the_way.stop == stops[0]].set_index("cell")
cuts = cuts.assign(
    excess=100 * (cuts.error - cuts.ensemble_error), gain=100 * (cuts.error - cuts.cell.map(early.error))
)
cut = dict(list(cuts.groupby("scale")))
lowest_scale, top_scale = cut_scales[0], cut_scales[-1]
decayed = studies.at_end(chapter.rows(studies.ensembles, "weight_decay"))
# %%
fig, axes = plots.panels(3, columns=3)
names = {
    "norm": r"$\Vert F\Vert$",
    "fluctuation": r"$\Vert F-\langle F\rangle\Vert$",
    "kernel_change": "change of the kernel",
}
for ax, (column, label) in zip(axes, names.items()):
    for (scale, rows), colour in zip(cut.items(), scale_colours.values()):
        away = rows.pivot(index="seed", columns="parameters", values=column)
        away.columns = away.columns - n_cut[scale].mean()
        away = away.loc[:, away.columns > 0]
        plots.realisations(ax, away.columns, away, color=colour, label=rf"$\tilde\alpha={plots.number(scale)}$")
    first_two = (away.columns[0], away.columns[0] * 10)
    plots.slope_guide(ax, first_two, 2 * away.iloc[:, 0].median(), -1, "$-1$", above=True)
    ax.set(xscale="log", yscale="log", xlabel="$N-N^*$", ylabel=label)
    ax.tick_params(which="minor", labelbottom=False, labelleft=False)
for ax in axes[:2]:
    plots.plain_numbers(ax)
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
chapter.figure(fig, "fig-b-8d", "**At the largest scale all three grow alike towards jamming.** Norm of the predictor on test points, its fluctuation "
               "over initial weights, and the change of the kernel, against $N-N^*$, the parameters beyond those at jamming; a colour an output scale "
               "(paper B, Fig. 8D, Sec. 2 and 4).", cuts,
               alt="Norm, fluctuation and change of the kernel against the parameters beyond jamming, a curve a scale: "
               "those of the largest scale rise to the left along a dashed line of slope minus one.")  # fmt: skip
# %%
lazy, n_lazy = cut[top_scale], n_cut[top_scale]
lazy_early = lazy.assign(norm=lazy.cell.map(early.norm))
powers = {
    s: [mean(jamming.divergence(rows, name, n_cut[s])) for name in names] for s, rows in cut.items() if s != top_scale
}
chapter.say(
    "On the same window of $N/N^*$ norm, fluctuation and change have the exponents "
    + "; ".join(
        f"{', '.join(f'{one:.2g}' for one in found)} at $\\tilde\\alpha={plots.number(s)}$"
        for s, found in powers.items()
    )
    + ": no divergence like that of the largest scale."
)
# %% [markdown]
# ## Stopping early and weight decay remove the divergence, stochastic descent does for 400 epochs
# All three bring the norm's exponent near 0 ({numref}`fig-b-sec2`). Stopping early gives {claim}`B.Sec2-early-stopping`, weight
# decay {claim}`B.Sec2-weight-decay` and 400 epochs of stochastic descent {claim}`B.Sec2-stochastic`. Gradient flow to the end forces every margin to one,
# whatever norm this takes. Stopping early does not, nor does a penalty on the distance from the initial weights, paper B's weight decay.
#
# *Where stopping helps.* We stop when half of the points have a margin above 0.9. Paper B expects that this helps most near jamming, where it
# removes the divergence of the norm. At the largest scale it lowers the error at jamming by {claim}`B.Sec2-near-jamming-lazy` percentage points more
# than at eight times the width. At the smallest scale the norm does not diverge, and the excess near jamming is {claim}`B.Sec2-near-jamming` points,
# the least of three scales.
#
# *Stochastic descent* fits no network near jamming in 4000 epochs, and its norm still grows there from 40 epochs to 4000. Whether its noise
# or its slowness regularises is open.
# %%
stochastic = chapter.rows(at_rest.stochastic, "lazy")
kinds = {
    "to the end": (lazy, "norm"),
    f"{stops[0]:.0%} of the margins": (lazy_early, "norm"),
    "weight decay": (decayed, "norm"),
}
for look, rows in stochastic.groupby("look"):
    kinds[f"stochastic, {look * rows.batch.iloc[0] // map_p} epochs"] = rows, "norm"
# %%
fig, axes = plots.panels(2)
for (label, (rows, column)), colour in zip(kinds.items(), plots.PALETTE):
    wide = rows.pivot(index="seed", columns="parameters", values=column)
    plots.realisations(axes[0], wide.columns, wide, color=colour, label=label)
axes[0].axvspan(n_lazy.min(), n_lazy.max(), color="0.5", alpha=0.25, linewidth=0, label="jamming")
axes[0].set(xscale="log", yscale="log", xlabel="parameters $N$", ylabel=r"norm of the predictor $\Vert F\Vert$")
for (scale, rows), colour in zip(cut.items(), scale_colours.values()):
    wide = rows.pivot(index="seed", columns="h", values="gain")
    plots.realisations(
        axes[1], wide.columns / h_cut[scale].mean(), wide, color=colour, label=rf"$\tilde\alpha={plots.number(scale)}$"
    )
axes[1].axvline(1, color="0.5", linestyle=":")
axes[1].set(xscale="log", xlabel="$h/h^*$", ylabel=f"gain of stopping at {stops[0]:.0%} (%)")
plots.plain_numbers(axes[1], "x")
for ax in axes:
    ax.legend(fontsize="small")
chapter.figure(fig, "fig-b-sec2", "**Stopped early, with weight decay or after few epochs the norm does not diverge.** Left: norm of the predictor on test points in the "
               "lazy regime against the number of parameters; grey: jamming. Right: by how much a stop at half of the margins lowers the "
               "error of single networks, against the width over that at jamming (paper B, Sec. 2).", cuts, decayed, alt="Left, norm of the predictor against parameters: trained to the end it rises steeply towards the grey band of "
    "jamming; stopped early or with decay it does not. Right, the gain of stopping early, highest near jamming.")  # fmt: skip
# %%
helped = [[jamming.at_width(r, "gain", (k * at_mean[s]).clip(upper=r.h.max())) for k in (1, 8)] for s, r in cut.items()]
chapter.say(
    f"From the smallest scale to the largest a stop at {stops[0]:.0%} of the margins gains {', '.join(f'{mean(a):.2g}' for a, _ in helped)} percentage points at jamming, "
    f"{', '.join(f'{mean(b):.2g}' for _, b in helped)} at eight times its width."
)
# %% [markdown]
# ## Exercises
# **1. Why $1/(N-N^*)$?** Let the largest margin that a predictor of norm 1 can have on all points at once be
# $\kappa(N)$, zero at jamming and growing linearly beyond. What is the norm of a predictor that meets all margins?
# Why does stopping early remove the divergence?
#
# <details class="solution"><summary>Solution</summary>
#
# $F=\lVert F\rVert u$ with $u$ of norm 1, and $\min_\mu y_\mu F_\mu\le\lVert F\rVert\,\kappa(N)$. All margins of 1 ask for $\lVert
# F\rVert\ge1/\kappa(N)\propto1/(N-N^*)$. The worst point alone sets the scale. Early stopping asks for the margins of the better half of
# the points only. Their margin does not vanish at $N^*$.
#
# In least squares, where the labels are to be met exactly by $N$ linear parameters, it is the *squared* norm of the
# parameters that diverges: for $P$ Gaussian points in $N>P+1$ dimensions and random labels its mean is $P/(N-P-1)$,
# the trace of an inverse Wishart matrix. That is the alternative of B.Sec2-norm, exponent $-\frac12$.
#
# </details>
#
# **2. Half of the eigenvalues.** Show that at the start, with labels drawn at random, as many eigenvalues of $H_p$
# are negative as positive on average; and that with one hidden ReLU layer it is so for every draw.
#
# <details class="solution"><summary>Solution</summary>
#
# At the start $F=0$, all $\Delta_\mu$ are 1, and $H_p=\sum_\mu\nabla^2\Delta_\mu=-\sum_\mu y_\mu\nabla^2F(x_\mu)$.
# The labels $-y$ are as likely as $y$ and turn $H_p$ into $-H_p$. With $f=\frac1h\sum_n\beta_n\sigma(\omega_n\cdot
# x)$ and a ReLU the second derivatives within a layer vanish almost everywhere, so that
# $H_p=\bigl(\begin{smallmatrix}0&B\\B^\top&0\end{smallmatrix}\bigr)$: its non-zero eigenvalues are plus and minus the
# singular values of $B$, whatever the labels.
#
# </details>
#
# **3. A prediction.** Which networks fit depends on the number of steps. Give every network of the map a quarter of the steps,
#
# ```sh
# make chapter-03 PROFILE=smoke NAME=hasty PARAMS='-p steps 38'
# ```
#
# Which way does the black line move? By which factor in $N^*$, if $N^*$ goes as the number of steps to the power
# $-0.2$, about the exponent that [the ledger](../book/ledger.md) has for the step budget (B.Fig4-step-budget)?
#
# <details class="solution"><summary>Solution</summary>
#
# To the right: with fewer steps it takes wider networks to fit. $(38/150)^{-0.2}=1.3$, since the smoke profile has 150
# steps. The run shows its line next to the book's; with two training sets and widths that double from one to the next, no
# more than the direction can be told there.
#
# </details>
# %% [markdown]
# ## Errata and open points
# - At the largest output scale our networks stay lazy even near jamming. The divergence $1/(N-N^*)$ says how near they
#   would have to be for the norm to reach the scale. No whole width is that near. We see this divergence at the largest scale alone. At
#   scale 12 the same fit gives a quarter of the exponent.
# - The jamming line on the map depends on the number of steps. Trained on to rest, narrower networks fit
#   ({numref}`fig-b-rest`). Just left of the line up to nine in ten networks still move after the last round at scale 12, with weights
#   that grow. Whether they have a minimum at all is open (the table of ends at rest gives their share).
# - With random labels the number of parameters at jamming comes near proportion to the points only on many points. A line through all
#   sizes has an offset, the parameters of a narrow network. Narrow layers may fail there before the count of parameters does; we do not
#   separate the two. We go to 3840 points, paper B to 70,000.
# - At scale 12 and 1000 points the error near jamming still rises from 400 to 1600 rounds. At 2000 points its peak is the same after
#   both. Newton's method also leads to other minima than the flow would. In the lazy regime the loss is convex, but 200 steps do not
#   reach its minimum near jamming either: with more rounds narrower networks fit, which counts most on few points
#   ({numref}`fig-b-rest` is after the last round).
# - The training sets of 2000 points and fewer are drawn from 5000 images, so that two of 2000 share 40 per cent. Those of the claims at rest
#   on 5000 points are drawn from all 70000.
# - At the smallest scale most networks near jamming still move after the last round. Their claim is about where they are then.
# - In the lazy regime on 5000 points the claim compares the peak with width 20. We tried width 18 later, and its error is lower. So the
#   peak is higher than the claim says.
# - In the feature regime, where the norm does not diverge, a stop at half of the margins helps as much far from jamming as near.
# - At the largest scale the mean output of five networks keeps a bump at jamming, that of twenty a smaller one. Whether a mean of
#   predictors scaled to one norm has a bump is not measured here.
# - Beyond jamming the fluctuation is not a function of $h/h^*$ alone. At twice the width of jamming it grows with $P$, if less
#   than at a fixed width ({numref}`fig-b-growth`). Here $h^*$ is measured after `steps` steps; how far it moves with unlimited steps is not measured.
# - Far from jamming the fluctuations fall alike in both regimes, as paper B says. The excess error falls more slowly than their
#   square. Its exponent in the fluctuation grows with the width ({numref}`fig-b-local`, right): whether it ends at 2 is open.
# - Paper B does not say at which output scale its Fig. 8 was measured; ours is 12, the `scale` of `thresholds.images`. Nor does it
#   say how strong its weight decay was; ours is the `decay` of `ensembles.weight_decay`.
#
# ## Try it yourself
# - `make chapter-03 NAME=patient PARAMS='-p steps 800'` gives every network four times the steps. How far does the
#   black line move, and where?
# - `-p loss soft_hinge` takes the loss of paper B's public code.
# - `-p components 20` gives the networks more principal components. Which of the two lines of the map moves?
# %% [markdown]
# (jamming-details)=
# # Jamming in detail: budgets, exponents, landscape
# This page holds what the story of chapter 3 leaves out: further statements of paper B, their small print, and two maps.
# %% [markdown]
# ## The images that the networks receive
# %%
fig, axes = plt.subplots(4, 10, figsize=(8.1, 3.6))
for rows, name, count in ((axes[:2], data, components), (axes[2:], here, kept)):
    for row, pictures, label in zip(rows, studies.samples(name, count, 10), ("images", f"{count} components")):
        for ax, pixels in zip(row, pictures):
            plots.picture(ax, pixels.numpy())
        row[0].set_ylabel(label, rotation=0, ha="right", va="center", fontsize="small")
chapter.figure(fig, "fig-b-5", f"**The networks receive the first principal components alone.** Sample images of {data} and of {here}, centred and normalised; below each what its "
               "first principal components keep, which is all that the networks are given (paper B, Fig. 5).", on_map,
               second_map, alt="Rows of small pictures: images of both data sets, and below each the blurred image that its first "
    "principal components keep.")  # fmt: skip
# %% [markdown]
# ## Other data and other losses change little
# Averaging gains on the second data set as well. The second data set has cuts of its own. The middle cut was trained with the soft
# hinge and with cross-entropy, each until all margins reach one. The error changes by less than 0.2 percentage points.
# %%
h_second = jamming.transitions(second_map, "h").dropna(axis=1)
seconds = {s: (second_map[second_map["scale"] == s], pd.Series(h.mean(), h.index)) for s, h in h_second.items()}
seconds = {s: (rows, h) for s, (rows, h) in seconds.items() if 2 * h.iloc[0] <= rows.h.max()}
if seconds:
    rises = [(rows, h) for rows, h in seconds.values() if h.iloc[0] >= 1.5 * rows.h.min()]
    rises = [f"{mean(100 * jamming.rise(rows, 'error', h)):.2g}" for rows, h in rises]
    chapter.say(
        f"On {image_names.get(here, here)} the error at jamming minus the error at $h/1.5$ is {', '.join(rises)} percentage points, by scale."
    )
others = [
    studies.at_end(chapter.rows(studies.ensembles, "soft_hinge")),
    studies.at_end(chapter.rows(studies.ensembles, "cross_entropy")),
]
usual = cuts[cuts["scale"] == others[0]["scale"].iloc[0]].set_index(["seed", "h"])
fitting = 1.5 * h_cut[usual["scale"].iloc[0]].mean()
apart = [rows[rows.h >= fitting].set_index(["seed", "h"]).ensemble_error - usual.ensemble_error for rows in others]
apart = [mean(100 * found.dropna().groupby("seed").mean().to_numpy()) for found in apart]
chapter.say(
    f"The two losses change the ensemble's error beyond jamming by {' and '.join(f'{found:.2g}' for found in apart)} percentage points."
)
# %% [markdown]
# ## A larger ensemble has a smaller bump
# At the largest scale ensembles of twenty keep a bump of {claim}`B.Fig6-twenty` percentage points, less than half of that of five. Predictors near jamming differ
# much in size, so that the largest dominates a mean of few. Here are ensembles of as many networks as in the paper, on
# the same training sets: averaged all together, and five at a time.
# %%
larger = studies.at_end(chapter.rows(studies.ensembles, "large_ensemble"))
# at the mean transition, as the peak below
there = pd.Series(h_cut[cut_scales[-1]].mean(), sorted(set(larger.seed)))
around = larger.h.max() >= 1.5 * there.iloc[0] and larger.h.min() <= there.iloc[0] / 1.5
if len(there) > 1 and larger.members.max() > members and around:
    bumps = [100 * jamming.bump(larger, column, there) for column in ("fewer_error", "ensemble_error")]
    chapter.say(
        f"At $\\tilde\\alpha = {plots.number(cut_scales[-1])}$ the ensembles of {members} have a bump of {mean(bumps[0]):.2g} percentage points at "
        f"jamming, those of {larger.members.max()} one of {mean(bumps[1]):.2g}."
    )
# %% [markdown]
# ## Several narrow networks beat a wide one
# An ensemble of twenty networks of width 16 beats one network of the largest width by {claim}`B.Sec3-limited-width` percentage points, as paper B
# advises. The single network has more parameters than the twenty together.
# %%
double = {scale: 2 * at_mean[scale] for scale in by_scale}
fell = np.stack([jamming.gain_of_width(rows, double[s]) for s, (rows, _) in by_scale.items()], axis=1)
falls = [", ".join(f"{mean(one):.2g}" for one in column.T) for column in np.moveaxis(fell, 2, 0)]
chapter.say(
    f"From twice the width of jamming on ensembles of {members} still gain {falls[0]} percentage points, from the smallest of the three scales to the largest, single networks "
    f"{falls[1]}."
)
# %% [markdown]
# (how-long-is-long-enough)=
# ## The jamming point depends on the number of training steps
# The number of parameters at jamming falls with the number of steps, exponent {claim}`B.Fig4-step-budget`. At rest it is smaller still
# ({numref}`fig-b-rest`). A network that has not
# fitted may be at rest, or on its way. The table tells them apart; the figure gives the networks of one scale many more steps.
# %%
state = on_map.assign(near=np.select([on_map.fitted == 0, on_map.fitted == 1], ["none fits", "all fit"], "some fit"))
columns = {"fitted": ("fitted", "mean"), "at rest": ("jammed", "mean"), "unsatisfied": ("unsatisfied", "mean")}
counted = state.groupby(["scale", "near"]).agg(**columns).reset_index()
chapter.table(counted.rename(columns={"near": "at this width"}), "tab-b-verdicts", f"How ensembles end after {steps} steps: share of "
              "networks that fit, that are at rest with points unsatisfied, and the mean number of those, by how many fit at their width.", on_map, digits=2)  # fmt: skip
# %%
budgets = chapter.rows(studies.efforts, "step_budget")
most = budgets.steps.max()
allowed = np.unique(np.geomspace(max(most // 64, 5), most, 13).round())
moving = {}
for count in allowed:
    share = budgets.assign(fitted=budgets.needed <= count).groupby(["seed", "scale", "h", "parameters"]).fitted.mean()
    moving[count] = jamming.transitions(share.reset_index(), "parameters").iloc[:, 0]
moving = pd.DataFrame(moving)
held = moving.dropna(axis=1)
# %%
fig, axes = plots.panels(2)
for h, rows in budgets.groupby("h"):
    reached = [(rows.needed <= count).mean() for count in allowed]
    axes[0].plot(
        allowed,
        reached,
        "o-",
        markersize=3,
        label=f"{h}",
        color=plt.cm.viridis(budgets.h.rank(pct=True)[rows.index[0]]),
    )
axes[0].set(xscale="log", xlabel="steps allowed", ylabel="share that fits")
axes[0].legend(title="width", fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
if held.shape[1]:
    plots.realisations(axes[1], held.columns, held)
plots.curve_axes(axes[1], [50, 100, 200, 500, 1000, 2000])
axes[1].set(xlabel="steps allowed", ylabel="parameters $N^*$ at jamming")
chapter.figure(fig, "fig-b-effort", "**At small budgets the jamming point falls with the number of steps.** Left: share of the networks that fit within a number of steps, by width. Right: the number of "
               "parameters at which half of them do; median and quartiles over training sets. Not in paper B, whose Fig. 4 has "
               "three lines for three wall times.", budgets, alt="Left, share of networks that fit against the steps allowed, one curve per width, rising earlier for wider "
    "ones. Right, the parameters needed, falling with the steps.")  # fmt: skip
# %%
if held.shape[1] > 2:
    chapter.say(
        f"Within {held.columns[0]:.0f} steps half of the networks fit from $N={held.iloc[:, 0].mean():.0f}$ on, within "
        f"{held.columns[-1]:.0f} from $N={held.iloc[:, -1].mean():.0f}$."
    )
# %% [markdown]
# ## Left of jamming the error of stopped networks falls less as points are added
# On 60 to 500 points the error falls towards jamming, by less with more points. Jamming moves to wider networks, away
# from those of a few neurons, of which paper B warns in a footnote. {numref}`fig-b-growth` shows single networks and their fluctuation.
# %%
grown = studies.at_end(chapter.rows(studies.ensembles, "sizes"))
widths = sorted(set(grown.h))
by_size = grown.sort_values("h").groupby(["seed", "p"])[["error", "fluctuation"]].agg(list)
by_size = np.array([[np.array(by_size.loc[seed, p].tolist()) for p in sizes_p] for seed in sorted(set(grown.seed))])
shares = grown.groupby(["p", "h"]).fitted.mean()
line = np.array([jamming.transition(widths, shares[p]) for p in sizes_p])
fig, axes = plots.panels(2)
for i, (p, colour) in enumerate(zip(sizes_p, plots.PALETTE)):
    plots.realisations(axes[0], widths, 100 * by_size[:, i, 0], color=colour, label=f"$P = {p}$")
    plots.realisations(axes[1], np.array(widths) / line[i], by_size[:, i, 1], color=colour)
    axes[0].axvline(line[i], color=colour, linestyle=":", linewidth=1)
plots.curve_axes(axes[0], widths[::2], errors=False)
plots.curve_axes(axes[1], [0.5, 1, 2, 4, 8])
axes[0].set(xlabel="width $h$", ylabel="error of single networks (%)")
axes[1].set(xlabel="$h/h^*$", ylabel="fluctuation")
axes[0].legend()
chapter.figure(fig, "fig-b-growth", "**Left of jamming the error falls less the more points there are.** Error of single networks against width (left) and fluctuation of the predictor over initial weights "
               "against the width over that at jamming (right), for growing training sets; dotted: jamming. Median and quartiles over "
               "training sets. Not in paper B.", grown, alt="Left, error against width, one curve per training size, each bending into a plateau left of its dotted line of "
    "jamming. Right, fluctuation against width over that at jamming: curves alike in shape, higher for more points.")  # fmt: skip


# %%
def rises(rows):
    """Error of single networks at jamming minus that at h/1.5, percentage points: the mean over the sizes of ``rows``."""
    at = {p: pd.Series(h, sorted(set(rows.seed))) for p, h in zip(sizes_p, line)}
    return mean(np.mean([100 * jamming.rise(r, "error", at[p]) for p, r in rows.groupby("p")], axis=0))


if line.min() / 1.5 >= min(widths) and grown.seed.nunique() > 1:
    chapter.say(
        f"The error at jamming less that at two thirds of its width is {', '.join(f'{rises(r):.2g} at $P={p}$' for p, r in grown.groupby('p'))} percentage points."
    )
# %% [markdown]
# ## Where networks end at rest
# Left of jamming nearly all networks lie at a minimum at the largest scale, many at scale 12, and none at the smallest. Next to
# it many are still on their way after the last round, with weights that grow.
# %%
ends = pd.concat([rows[rows.newton_steps == rows.newton_steps.max()] for rows in on_way.values()])
ends = ends.groupby(["scale", "p", "h"])[["fitted", "jammed"]].mean().assign(moving=lambda t: 1 - t.fitted - t.jammed)
ends = ends.assign(most=ends.moving).groupby(["scale", "p"])
ends = ends.agg({"fitted": "mean", "jammed": "mean", "moving": "mean", "most": "max"}).reset_index()
names = {"jammed": "at a minimum", "moving": "on their way", "most": "on their way, at most"}
chapter.table(ends.rename(columns=names), "tab-b-rest", "Where networks end after the last round: shares, means over the widths, and "
              "at the width with most that are undecided.", *on_way.values(), digits=2)  # fmt: skip
# %% [markdown]
# ## With random labels the parameters at jamming approach proportion to the points
# On the most points the number of parameters at jamming grows with an exponent near one for random labels and a smaller one for
# digits. On fewer points an offset weighs more, so that exponents over all sizes are smaller. Paper B finds $N^*\propto P$ for random labels and less for digits. For each training set we bisect the width, from
# both sides, until neighbouring widths have been trained.
# %%
random, digits = (chapter.rows(studies.thresholds, name) for name in ("random", "images"))
thresholds = pd.concat([random, digits])
threshold_p = sorted(set(thresholds.p))  # with the stored ones
found = {}
for (source, p, seed), rows in thresholds.groupby(["data", "p", "seed"]):
    rows = rows.sort_values("parameters")
    found[source, p, seed] = jamming.transition(rows.parameters, rows.fitted)
n_of_p = pd.Series(found).unstack(0)
fig, ax = plt.subplots()
for (source, column), colour in zip(n_of_p.items(), (plots.PALETTE[2], plots.PALETTE[4])):
    wide = column.unstack("seed" if "seed" in column.index.names else 1).T
    plots.realisations(ax, wide.columns, wide, color=colour, label=source)
ax.plot(threshold_p, threshold_p, ":", color="0.4", label="$N = P$")
plots.curve_axes(ax, threshold_p)
ax.set(xlabel="training points $P$", ylabel="parameters $N^*$ at jamming")
ax.legend()
chapter.figure(fig, "fig-b-8a", "**Digits need fewer parameters than random labels.** Number of parameters at which half of the networks fit, against the number of points, "
               "for digits and for random points with random labels; median and quartiles over training sets (paper B, "
               "Fig. 8A).", thresholds,
               alt="Parameters at jamming against training points for digits and for random points, beside the line "
               "where both are equal; digits need fewer.")  # fmt: skip


# %%
def by_size_of(rows):
    """Sizes, and N* of each training set at each."""
    wide = n_of_p[rows.data.iloc[0]].unstack(0)[sorted(set(rows.p))]
    return wide.columns.to_numpy(float), wide.to_numpy(float)


(sizes, many), (_, few) = by_size_of(random), by_size_of(digits)
lines = [np.array([np.polyfit(sizes, row, 1) for row in wide]).T for wide in (many, few)]
last_two = [estimates.exponent(sizes[-2:], wide[:, -2:]) for wide in (many, few)]
chapter.say(
    f"Between the largest two sizes the exponents are {last_two[0]:.2f} for random labels and {last_two[1]:.2f} for "
    "digits. "
    + " ".join(
        f"A line through all sizes has {slope.mean():.2f} parameters a point and an offset of {offset.mean():.0f} for {name}."
        for name, (slope, offset) in zip(("random labels", "digits"), lines)
    )
)
# %% [markdown]
# ## The landscape at jamming
# How many points are unsatisfied, per parameter, where networks begin to fit? For spheres it would be one: as many contacts
# as degrees of freedom. The Hessian of $U=\frac12\sum\Delta^2$ is
#
# $$
# H = H_0 + H_p,\qquad H_0=\sum_{\Delta_\mu>0}\nabla\Delta_\mu\nabla\Delta_\mu^\top,\qquad
# H_p=\sum_{\Delta_\mu>0}\Delta_\mu\nabla^2\Delta_\mu .
# $$ (eq:B:hessian)
#
# $H_0$ has rank $N_\Delta$ at most, so that $N_\Delta<N$ leaves $N-N_\Delta$ flat directions: a delta at zero in its
# spectrum. A stable end needs $N_\Delta\ge N_-$, the number of negative eigenvalues of $H_p$.
#
# Both statements hold at minima. Where a quarter of the networks fits, hardly any of the others comes to rest at one. To hold
# a network exactly at jamming we add a weight decay and let it fall to zero, as one compresses particles at a vanishing
# pressure (paper B, footnote 8). It then lies at a minimum whether it can fit or not. If it can, the loss goes with the square of the
# decay, and $N_\Delta$ counts the points that hold the network there: its support vectors. Their number per
# parameter jumps to {claim}`B.Fig8B-jump`; for spheres it would be 1. Whether $H_p$ grows as the root of the loss is
# undecided: at the weakest decay the exponent, from width to width, is {claim}`B.Sec2-strength`. So is whether the gap of
# $H_0$ stays as networks grow.
# %%
held = chapter.rows(at_rest.at_jamming, "sizes").assign(ratio=lambda t: t.unsatisfied / t.parameters)
held = held[held.members == held.members.max()]  # the stored ones, where they are there
there = jamming.held_at_jamming(held)
resting = held[held.ended == "jammed"]
# %%
fig, axes = plots.panels(4)
for (decay, rows), colour in zip(resting.groupby("decay"), plots.PALETTE):
    for ax, name in ((axes[0], "ratio"), (axes[3], "strength")):
        ax.scatter(rows.quadratic_hinge, rows[name], s=10, color=colour, label=rf"$\lambda={plots.number(decay)}$")
for (p, rows), colour in zip(there.groupby("p"), plots.PALETTE[3:]):
    axes[1].scatter(rows.parameters, rows.ratio, s=12, color=colour, label=f"$P={p}$")
    values = np.concatenate([np.array(each) / np.mean(each) for each in rows.eigenvalues])
    axes[2].hist(np.log10(values), bins=24, histtype="step", color=colour, density=True)
axes[0].set(xscale="log", xlabel="loss $U/P$")
axes[1].set(xscale="log", xlabel="parameters $N$ at jamming")
plots.plain_numbers(axes[1], "x")
axes[2].set(xlabel=r"$\log_{10}$ eigenvalue of $H_0$ over the mean", ylabel="density")
axes[3].set(xscale="log", yscale="log", xlabel="loss $U/P$", ylabel="size of $H_p$ over that of $H_0$")
for ax in axes[:2]:
    ax.axhline(1, color="0.4", linestyle="--", linewidth=1)
    ax.set(ylabel=r"unsatisfied points $N_\Delta/N$", ylim=(0, None))
    if ax.get_legend_handles_labels()[0]:  # at few points no network may sit at jamming
        ax.legend(fontsize="small")
# %%
chapter.figure(fig, "fig-b-8bc", "**Fewer points hold a network at jamming than it has parameters.** Top: unsatisfied points per parameter of networks at a minimum; dashed: one, as for "
               "spheres. Left: against the loss, under three weight decays $\\lambda$; right: at the weakest, where a quarter fit. Bottom "
               "left: a regular sample of the ordered non-zero eigenvalues of $H_0$ of the latter. Bottom right: the "
               "largest eigenvalue of $H_p$, in size, over that of $H_0$ (paper B, Fig. 7, 8B and C).", held, alt="Unsatisfied points per parameter against the loss: where the loss vanishes "
    "they stay below one. The same at jamming against the number of parameters. Histograms of the logarithms of "
    "eigenvalues. The size of the second part of the Hessian, which falls with the loss.")  # fmt: skip


# %%
def within(rows, same):
    """The exponent of the strength in the loss of networks that are alike in ``same``, over training sets."""
    logs = np.log(rows[["quadratic_hinge", "strength"]])
    logs -= logs.groupby([rows[name] for name in same]).transform("mean")
    return mean(np.array([np.polyfit(*own.to_numpy().T, 1)[0] for _, own in logs.groupby(rows.seed)]))


if there.seed.nunique() > 1:
    stuck = resting[~jamming.can_fit(held)[resting.index]]
    across = within(stuck[stuck.decay == stuck.decay.min()], ["seed", "p"])
# %%
if there.p.nunique() > 1:
    of_n = np.log(there[["parameters", "ratio"]]).groupby([there.seed, there.p]).mean()
    drifts = mean(np.array([np.polyfit(*own.to_numpy().T, 1)[0] for _, own in of_n.groupby("seed") if len(own) > 1]))
    chapter.say(
        f"Of {len(held)} networks under a decay {len(resting)} ended at a minimum. At jamming a share of {there.flat.mean():.2f} of "
        f"the eigenvalues of $H_0$ is zero, and the smallest of the others scatters by {np.log10(there.gap).std():.2f} decades. "
        f"$N_\\Delta/N$ goes with the exponent {drifts} in $N$: whether it stays below one for far larger networks is open. "
        f"As the decay falls, the size of $H_p$ goes with the loss to the power {within(stuck, jamming.NETWORK):.2g} where networks do "
        f"not fit, more steeply than from width to width ({across:.2g})."
    )
# %% [markdown]
# ## Far from jamming fluctuations fall as $N^{-1/4}$
# They do in both regimes: {claim}`B.Fig8D-far-feature` and {claim}`B.Fig8D-far-lazy`. Paper B also expects $-\frac12$ for the excess of
# single networks' error over the ensemble's, the square. {numref}`fig-b-local` shows how slowly the first is reached. The second shows no clear limit at our widths.
# %%
fig, axes = plots.panels(3, columns=3)
for (scale, rows), colour in zip(cut.items(), scale_colours.values()):
    for ax, column in zip(axes, ("fluctuation", "excess")):
        local = jamming.exponents_by_width(rows, column)
        bars = [local.exponent - local.low, local.high - local.exponent]
        ax.errorbar(local.h / h_cut[scale].mean(), local.exponent, bars, fmt="o-", color=colour, markersize=3)
    means = rows[rows.h > h_cut[scale].mean()].groupby("h")[["fluctuation", "excess"]].mean()
    axes[2].plot(means.fluctuation, means.excess, "o-", color=colour, label=rf"$\tilde\alpha={plots.number(scale)}$")
for ax, name in zip(axes, ("fluctuation", "excess error")):
    papers.mark(ax, f"B.{name.split()[0]}")
    ax.legend()
    ax.set(xscale="log", xlim=(1, None), ylim=(-1.5, 0.1), xlabel="$h/h^*$", title=name)
    plots.plain_numbers(ax, "x")
axes[0].set_ylabel("local exponent in $N$")
ends = means.fluctuation.min(), 3 * means.fluctuation.min()
plots.slope_guide(axes[2], ends, means.excess.min() / 2, 2, "2")
axes[2].set(xscale="log", yscale="log", xlabel="fluctuation", ylabel="excess error (%)")
for axis in "xy":
    plots.plain_numbers(axes[2], axis)
legend = fig.legend(*axes[2].get_legend_handles_labels(), loc="outside lower center", ncols=3)
# %%
chapter.figure(fig, "fig-b-local", "**The fluctuation's exponent rises towards $-\\frac14$; that of the excess has no clear limit.** Left and middle: exponents in $N$ of the fluctuation and of the error of single "
               "networks above that of the ensemble, between neighbouring widths, against the width over that at "
               "jamming; dashed: paper B's (Sec. 3). Right: the excess against the fluctuation, one point for each width "
               "beyond jamming; dashed: its square.", cuts,
               alt="Local exponents: those of the fluctuation rise with the width towards a dashed line at minus one quarter, those of "
               "the excess scatter above a dashed line at minus one half; the excess error against the fluctuation beside a dashed line of slope two.")  # fmt: skip
# %%
far = 4 * n_cut.mean().max()  # one window for all scales: from four times the transition of the last to jam
falls = {scale: mean(jamming.slopes_beyond(rows, "fluctuation", 0 * n_cut[scale] + far)) for scale, rows in cut.items()}
near = mean(jamming.slopes_beyond(lazy, "fluctuation", 4 * n_lazy))
chapter.say(
    f"From {far:.0f} parameters on the fluctuation falls with the exponents {', '.join(f'{found:.2g}' for found in falls.values())} at the "
    f"three scales, from the smallest, alike in both regimes. Nearer to jamming it falls faster: {near:.2g} at the largest scale from four times its own "
    "transition on."
)
# %% [markdown]
# (pre-activations)=
# ## Pre-activations move as $1/\alpha$; only the widest networks have the factor $1/\sqrt h$
# The exponent of their motion is {claim}`B.Fig4-preactivations` in $\alpha$. At one output scale $\tilde\alpha=\sqrt h\,\alpha$ it is
# {claim}`B.Fig4-preactivations-width` in $h$ over all widths, and nearer 0 for the widest ({numref}`fig-b-preactivations`). Paper B derives the line of laziness from this motion: the NTK regime
# "must thus break down when $\Delta a\sim1$" (Sec. 4).
# %%
pushed = [chapter.rows(at_rest.preactivations, name) for name in ("scales", "wide")]
pushed = pd.concat(pushed).drop_duplicates("cell")
pushed = pushed.assign(moved=pushed.moved.map(lambda by_layer: float(np.exp(np.mean(np.log(by_layer))))))
fig, ax = plt.subplots()
for (h, rows), colour in zip(pushed.groupby("h"), plots.PALETTE):
    wide = rows.pivot(index="seed", columns="scale", values="moved")
    plots.realisations(ax, wide.columns, wide, color=colour, label=f"$h={h}$")
ax.axhline(1, color="0.5", linewidth=1)
lazy_scales = [s for s in sorted(set(pushed["scale"])) if 64 <= s <= 4096]
grid = pushed[pushed["scale"].isin(lazy_scales)]
guide = 0.5 * grid[grid["scale"] == lazy_scales[0]].moved.min()
plots.slope_guide(ax, (lazy_scales[0], lazy_scales[-1]), guide, -1, "$-1$")
ax.set(
    xscale="log",
    yscale="log",
    xlabel=r"output scale $\tilde\alpha$",
    ylabel=r"motion of the pre-activations $\Delta a/a$",
)
ax.legend(fontsize="small")
chapter.figure(fig, "fig-b-preactivations", "**Pre-activations move as $1/\\tilde\\alpha$ beyond the cross-over, nearly the same for the widest networks.** Root mean square of their motion in training "
               "over their size at the start, geometric mean over both layers, against the output scale; line: motion by their own size (paper B, Sec. 4).", pushed,
               alt="Motion of the pre-activations against the output scale, curves of several widths, the widest nearly on top of each other, "
    "falling along a dashed line of slope minus one at large scales and less steeply at small ones.")  # fmt: skip
# %%
widths = sorted(set(grid.h))
if len(lazy_scales) > 1 and len(widths) > 2:
    late = claims.exponent_of_motion(grid, "h", widths[len(widths) // 2 :])
    chapter.say(f"From $h={widths[len(widths) // 2]}$ on the exponent in $h$ is {late:.2g}.")
# %% [markdown]
# ## Before training
# The tangent kernel of a network of width $h$ fluctuates around that of the infinitely wide one. Its relative fluctuation at the start falls
# as a power of $h$ with the exponent {claim}`B.Sec3-kernel`; paper B has $-\frac12$.
# %%
starts = chapter.rows(studies.starts, "widths").sort_values("seed")
kernels = starts.groupby("h").kernel.apply(lambda own: np.stack([np.array(kernel) for kernel in own]))
fluctuations = kernels.map(jamming.relative_fluctuation)
fig, ax = plt.subplots()
ax.loglog(fluctuations, "o-", color=plots.COLOURS["lazy"])
plots.slope_guide(ax, (starts.h.min(), starts.h.max()), 1.3 * fluctuations.iloc[0], -0.5, "$-1/2$")
ax.set(xlabel="width $h$", ylabel="relative fluctuation of the kernel")
plots.plain_numbers(ax)
plots.plain_numbers(ax, "x")
chapter.glue("widest-kernel", fluctuations.iloc[-1])
chapter.figure(
    fig,
    "fig-b-sec3",
    starts,
    alt="Fluctuation of the kernel against width on logarithmic axes, falling along a dashed line of slope minus one half.",
)
# %% [markdown] tags=["caption"]
# **The kernel fluctuates as the inverse root of the width.** Fluctuation of the tangent kernel over initial weights, relative to its
# mean, against width (paper B, Sec. 3); at the largest it is {glue:text}`widest-kernel`.
# %% [markdown]
# ## The lazy regime is better on both data sets
# For fully connected networks paper B finds the lazy regime better than feature learning on all data but the ten
# components of MNIST. On 250 points the lazy end is better there, too.
# %%
last = second_map[second_map.h == second_map.h.max()]
fig, ax = plt.subplots()
for rows, label, colour in ((widest, data, plots.PALETTE[2]), (last, last.data.iloc[0], plots.PALETTE[4])):
    wide = 100 * rows.pivot(index="seed", columns="scale", values="ensemble_error")
    plots.realisations(ax, wide.columns, wide, color=colour, label=label)
ax.set(xscale="log", xlabel=r"scale $\tilde\alpha$", ylabel="ensemble error (%)")
ax.legend()
chapter.figure(
    fig,
    "fig-b-9",
    "**Lazy networks do better on both data sets.** Ensemble error of the widest networks against the scale, on both data sets "
    "(paper B, Fig. 9 left).",
    widest,
    last,
    alt="Ensemble error against the scale for two data sets.",
)
