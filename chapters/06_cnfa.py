# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (chapter-06)=
# # The neural feature ansatz
# ## Overview
# %% tags=["parameters"]
# fmt: off
profile: "one of smoke, laptop, paper" = "laptop"  # chosen with --profile
egop_ranks: "distinct counts from 3 to 100" = [3, 4, 5, 8]  # rings whose outer product is sampled, and 4 (paper D: 5)
egop_points: "count from 100 to 1e7" = 20000  # points a sample
egop_seeds: "count from 2 to 1000" = 8  # samples
mean_draws: "count from 100 to 1e7" = 50000  # networks a mean of Prop. 10
mean_seeds: "count from 2 to 1000" = 20  # means
trace_n: "count from 16 to 8192" = 1024  # points, dimensions and neurons where the traces are taken (paper D: 1024)
trace_seeds: "count from 2 to 1000" = 48  # networks, each with data of its own
reversal_n: "2 or more increasing counts from 16 to 8192" = [128, 256]  # points, dimensions and neurons of the alignment-reversing data (paper D: 1024)
reversal_balances: "2 or more increasing positives to 1" = [0.0078125, 0.015625, 0.03125, 0.0625, 0.125, 0.25, 0.5, 1.0]  # balances of App. F's readings (paper D: not stated)
free_balances: "increasing positives to 0.5" = [0.125, 0.25, 0.5]  # balances of the data without spikes
free_floors: "2 or more increasing numbers from 0.0001 to 1" = [0.01, 0.1, 0.3, 1.0]  # their smallest eigenvalues
reversal_networks: "count from 2 to 1000" = 8  # networks of a seed, the same for all its data without spikes (paper D: 1)
reversal_seeds: "count from 2 to 1000" = 12  # data sets and networks (paper D: 4 and 10 data sets, one network)
decays: "3 or more increasing numbers from 0 to 100" = [0.0, 0.5, 0.75, 1.0, 1.5, 2.5, 8.0]  # decay rates of the spectrum (paper D: not stated)
decay_n: "count from 8 to 4096" = 128  # points and dimensions there (paper D: 128)
decay_rank: "count from 2 to 100" = 5  # rank of the low-rank target (paper D: 5)
decay_widths: "2 or more increasing counts from 8 to 16384" = [128, 1024]  # widths (paper D: 128 and 1024)
decay_seeds: "count from 2 to 1000" = 12  # networks, each with data of its own
# fmt: on
# %%
import numpy as np
import pandas as pd

from regimes import estimates
from regimes.book import plots
from regimes.book.chapter import Chapter
from regimes.estimates import Estimate, least, mean
from regimes.studies import initial_alignment as initial
from regimes.themes.alignment import agreement, free_probability

chapter = Chapter("06", globals())
# %% [markdown]
# ## One picture, no formula
# %% [markdown]
# ## What a network has learnt, read twice
# D.Fig1, D.Prop2
# %% [markdown]
# ## Centring
# D.Fig2
# %% [markdown]
# ## What changes: the weights or the kernel?
# D.Fig4, D.Fig5
# %% [markdown]
# ## Other data
# D.Fig7, D.Fig8
# %% [markdown]
# ## The first moments of training
# D.Prop3, D.Prop4
# %% [markdown]
# ## What there is to be learnt
# The chain monomial's gradient is linear: $\nabla y=Ax$ with $A$ the adjacency matrix of a ring of $r$ coordinates. Its
# expected gradient outer product is therefore known without a single sample,
#
# $$
# \mathrm{EGOP}=\mathbb E\,\nabla y\,\nabla y^\top = A^2,\qquad \text{eigenvalues } 4\cos^2\frac{2\pi j}{r},\quad
# j=0,\dots,r-1
# $$ (eq:D:egop)
#
# (over $r$ for labels of unit variance): 2 on the diagonal and 1 at distance two along the ring. That is a matrix of rank
# $r$, as paper D says, unless 4 divides $r$: then two of the cosines vanish.
# %%
outer = chapter.sweep(initial.outer_products)
counted = outer.groupby("rank").agg(found=("found", "mean"), far=("far", "mean")).reset_index()
counted.columns = ["ring r", "rank found", "distance from the closed form"]
chapter.table(
    counted,
    "tab-d-egop",
    "Mean outer product of the gradients of the chain monomial over sampled points: its rank, and how far the closed form "
    "lies from it, relative to its norm. A ring of four coordinates has rank two.",
    outer,
)
# %%
four = outer[outer["rank"] == 4]
chapter.check("D.Fig1-rank", mean(four.found.to_numpy()), four, figure="tab-d-egop")
# %% [markdown]
# (random-matrices)=
# ## Random matrices predict it
# At initialisation the centred NFM and AGOP grow as $t^2\dot W^\top\dot W$ and $t^2\dot W^\top K\dot W$. How well these
# two agree is a property of the data and of random weights. For a quadratic network $f=a^\top(Wx)^2$ of width $k$, with
# $a\sim\mathcal N(0,1)$ and $W\sim\mathcal N(0,1/k)$, paper D computes it. With $n=d=k$ it is a question to random
# matrices:
#
# $$
# \rho=\frac{\operatorname{tr}(ARARBR)}{\sqrt{\operatorname{tr}(ARAR)\,\operatorname{tr}(ARBRARBR)}},\qquad
# R=W^\top\mathrm{diag}(a^2)W,\quad A=(X^\top YX)^2,\quad B=X^\top X .
# $$ (eq:D:correlation)
#
# The three traces are what App. E calculates, from moments of $A$, $B$ and $R$ alone. The text at hand has slips in
# several of these formulas; we derived all of them again, and the table below lets networks decide.
# ### In expectation, at finite width
# Averaging over weights needs no limit. In $\mathbb E[RBR]$ two neurons meet: where they are the same one, Wick's theorem
# gives $\frac3k(\operatorname{tr}B+2B)$; the pairs of different ones, $k(k-1)$ of them, give $(1-\frac1k)B$. Together,
# with $\operatorname{tr}$ the sum of the eigenvalues here,
#
# $$
# \mathbb E[\dot W^\top\dot W]=(X^\top YX)^2,\qquad
# \mathbb E[\dot W^\top K\dot W]=\frac3k\operatorname{tr}(X^\top X)\,(X^\top YX)^2
# +\Bigl(1+\frac5k\Bigr)X^\top YX\;X^\top X\;X^\top YX .
# $$ (eq:D:expectations)
#
# Proposition 10 has 3 and 6 in place of $3/k$ and $1+5/k$, which is the formula for a single neuron, $k=1$. The
# difference matters: with the paper's constants the first term, which is the NFM again, would always win in large
# dimension, and no data could set the AGOP against the NFM.
# ### Free probability
# In the limit, with $\operatorname{tr}$ the *mean* of the eigenvalues from here on, $r_j=\operatorname{tr}R^j$ and
# $\bar A=A-\operatorname{tr}A$, $\bar B=B-\operatorname{tr}B$,
#
# $$
# \begin{aligned}
# \operatorname{tr}(ARARBR)&=\operatorname{tr}[A]^2\operatorname{tr}[B]\,r_3+2\operatorname{tr}[A]\,r_1r_2\operatorname{tr}[\bar A\bar B]
# +\operatorname{tr}[B]\,r_1r_2\operatorname{tr}[\bar A^2]+r_1^3\operatorname{tr}[\bar A^2\bar B],\\
# \operatorname{tr}(ARAR)&=r_1^2\operatorname{tr}[\bar A^2]+r_2\operatorname{tr}[A]^2,\\
# \operatorname{tr}(ARBRARBR)&=r_1^4\operatorname{tr}[(\bar A\bar B)^2]+2r_1^2(r_2-r_1^2)\operatorname{tr}[\bar A\bar B]^2
# +2r_1^2r_2\bigl(\operatorname{tr}[B]\operatorname{tr}[\bar A^2\bar B]+\operatorname{tr}[A]\operatorname{tr}[\bar A\bar B^2]\bigr)\\
# &\quad+4\operatorname{tr}[A]\operatorname{tr}[B]\,r_1r_3\operatorname{tr}[\bar A\bar B]+\operatorname{tr}[A]^2\operatorname{tr}[B]^2r_4
# +r_2^2\bigl(\operatorname{tr}[A]^2\operatorname{tr}[\bar B^2]+\operatorname{tr}[B]^2\operatorname{tr}[\bar A^2]\bigr).
# \end{aligned}
# $$ (eq:D:free)
#
# The last term is the one that Eq. 28 prints as $\operatorname{tr}[\bar A]^2\operatorname{tr}[B^2]r_2^2$, which is zero. The
# moments of $R$ need no networks: $R$ is a sum of $k$ independent rank-one matrices, so that its law is compound free Poisson
# with free cumulants $c^{m-1}\,\mathbb E\,a^{2m}$, $c=d/k$, and
#
# $$
# (r_1,r_2,r_3,r_4)=\bigl(1,\;1+3c,\;1+9c+15c^2,\;1+18c+78c^2+105c^3\bigr).
# $$ (eq:D:moments)
#
# Paper D averages 30 networks instead; $a^8$ has such a tail that these leave several per cent on $r_4$.
# %%
traces, means = chapter.sweep(initial.traces), chapter.sweep(initial.expectations)


def verdict_row(name, printing, ratios):
    """Observed over formula with its standard error, and how many of these it lies from 1."""
    error = ratios.std() / np.sqrt(len(ratios))
    far = (ratios.mean() - 1) / error
    return {"formula": name, "as": printing, "observed / formula": ratios.mean(), "s.e.": error, "from 1, in s.e.": far}


lines = [
    ("Prop. 10, NFM", "printed", means.nfm_ratio),
    ("Prop. 10, AGOP", "corrected", means.agop_ratio),
    ("Prop. 10, AGOP", "printed", means.agop_printed_ratio),
    ("Prop. 10, AGOP", "printed, over k", means.agop_over_k_ratio),
    ("Eq. 20", "printed", traces.eq20),
    ("Eq. 20", "with Eq. 19's last term", traces.eq19),
    ("Eq. 22", "printed", traces.eq22),
    ("Eq. 28", "corrected", traces.eq28),
    ("Eq. 28", "printed", traces.eq28_printed),
    ("Eq. 28", "square out of the trace", traces.eq28_literal),
    *((f"r{j} of R", "closed, own readout", traces[f"r{j}"]) for j in (2, 3, 4)),
]
chapter.table(
    pd.DataFrame([verdict_row(*line) for line in lines]),
    "tab-d-formulas",
    "Each formula against networks: observed over formula, its standard error, and the distance from 1 in standard errors. "
    "Prop. 10: means over many small networks on the same points (the mean's projection on the formula); the equations: "
    "large networks, each with data of its own and its own moments of R. What is more than three standard errors from 1 is "
    "rejected.",
    traces,
    means,
)
# %%
for claim, column in (("nfm", "nfm"), ("corrected", "agop"), ("expectation", "agop_printed")):
    chapter.check(f"D.Prop10-{claim}", mean(means[column].to_numpy()), means, figure="tab-d-formulas")
for claim, column in (
    ("Eq20-free", "eq20"),
    ("Eq22-free", "eq22"),
    ("Eq28-corrected", "eq28"),
    ("Eq28-free", "eq28_printed"),
):
    chapter.check(f"D.{claim}", mean(traces[column].to_numpy()), traces, figure="tab-d-formulas")
# %% [markdown]
# ## Data that reverse the alignment
# The NFM begins as $(X^\top YX)^2$, and in the expectation {eq}`eq:D:expectations` the AGOP has the part
# $X^\top YX\,X^\top X\,X^\top YX$ of its own. App. F builds data that set the two against each other: points $X_1$ with label 1
# and points $X_2$ with label 0 and $X_2^\top X_2\approx(X_1^\top X_1)^{-2}$, so that this part is near the identity and the
# NFM is not. The smaller the *balance* $\gamma$, the share of $X_1$, the worse the alignment should be.
#
# As written it cannot be built. $X_1$ has $\gamma n<d$ rows, so that $X_1^\top X_1$ has no inverse; $V_2$ has
# $(1-\gamma)n$ columns where $d$ are needed; at $\gamma=1$ nothing is left of $X_2$. We try four readings: the
# pseudo-inverse; an inverse in single precision, in which rounding errors stand in for the zeros; the pseudo-inverse after
# $X_1$ has been scaled to norm 1, without which $X_2$ drowns in the noise; and $X_1$ and $X_2$ of $n$ rows each, of which
# $\gamma n$ and $(1-\gamma)n$ are kept afterwards.
# %%
reversal = chapter.sweep(initial.reversal)
readings = reversal[reversal.reading != initial.FREE]
fig, axes = plots.panels(4, columns=4, width=3.2, sharey=True)
for ax, (reading, rows) in zip(axes, readings.groupby("reading", sort=False)):
    for column, style in (
        ("observed", dict(color=plots.COLOURS["feature"])),
        ("predicted", dict(color=plots.COLOURS["theory"], linestyle="--")),
    ):
        wide = rows.pivot(index="seed", columns="balance", values=column)
        plots.realisations(ax, wide.columns, wide, label=column, **style)
    single = rows[rows.seed == rows.seed.min()]
    ax.plot(rows.balance, rows.observed, ".", color=plots.COLOURS["feature"], alpha=0.35, markersize=4)
    ax.set(xscale="log", xlabel=r"balance $\gamma$", title=reading)
axes[0].set_ylabel("C-NFA at initialisation")
axes[0].legend()
chapter.figure(
    fig,
    "fig-d-3-readings",
    "Four readings of the alignment-reversing data of App. F: observed C-NFA (dots: single networks on single data sets; "
    "line and band: median and quartiles) and its prediction (dashed). Where the data can be reversed, in the last panel, a "
    "few giant directions carry everything: nothing averages itself out, and the prediction does not tell one data set from "
    "another (paper D, Fig. 3).",
    readings,
)


# %%
def fall(rows):
    """The observed C-NFA at the largest balance less that at the smallest, for each seed."""
    wide = rows.pivot(index="seed", columns="balance", values="observed")
    return mean((wide.iloc[:, -1] - wide.iloc[:, 0]).to_numpy())


subsample, pseudo = (readings[readings.reading == name] for name in ("subsample", "pseudo-inverse"))
chapter.check("D.Fig3-reversal", fall(subsample), subsample, figure="fig-d-3-readings")
chapter.check("D.Fig3-agreement", mean(agreement.root_mean_square(subsample)), subsample, figure="fig-d-3-readings")
chapter.check("D.Fig3-pseudo-inverse", fall(pseudo), pseudo, figure="fig-d-3-readings")
# %% [markdown]
# ### The same design without spikes
# What App. F is after needs no inverse that does not exist and no giant directions. Give $M=X_1^\top X_1$ eigenvalues
# spread evenly in their logarithm between a *floor* $m_0$ and 1, on $\gamma n$ directions, and let
# $X_2^\top X_2=M^{-2}-M$ on them, with labels 1 and 0. Then $X^\top X=M^{-2}$ there: the AGOP's own part is a *projector*,
# exactly, while the NFM is $M^2$, spread over $[m_0^2,1]$. The floor sets how far the two disagree.
# %%
free = reversal[reversal.reading == initial.FREE]
big = free[free.n == max(reversal_n)]
fig, axes = plots.panels(len(free_balances) + 1, columns=len(free_balances) + 1, width=3.2)
shades = dict(zip(free_balances, plots.PALETTE))
for ax, (balance, rows) in zip(axes, big.groupby("balance")):
    for column, style, label in (
        ("predicted", "-", "predicted"),
        ("printed", ":", "Eq. 28 as printed"),
        ("first_order", "--", "first order"),
    ):
        line = rows.groupby("floor")[column].mean()
        ax.plot(line.index, line, style, color=plots.COLOURS["theory"], linewidth=1.2, label=label)
    ax.plot(rows.floor, rows.observed, ".", color=shades[balance], alpha=0.4, label="observed")
    ax.axhline(1, color="0.7", linewidth=0.8)
    ax.set(xscale="log", xlabel="floor $m_0$", title=rf"balance $\gamma={balance:g}$", ylim=(0.4, 1.5))
    axes[-1].plot(rows.predicted, rows.observed, ".", color=shades[balance], alpha=0.4, label=rf"$\gamma={balance:g}$")
axes[0].set_ylabel("C-NFA at initialisation")
axes[0].legend(fontsize="small")
ends = [big.predicted.min(), big.predicted.max()]
axes[-1].plot(ends, ends, color=plots.COLOURS["theory"], linewidth=1)
axes[-1].set(xlabel="predicted", ylabel="observed", title="point by point")
axes[-1].legend(fontsize="small")
chapter.figure(
    fig,
    "fig-d-3",
    "Data without spikes: each dot a network on a data set, at the larger of the two sizes; lines: free probability with "
    "closed moments, the same with Eq. 28 as printed, which exceeds 1, and the first order, which knows the expected kernel "
    "alone. Right: observed against predicted (paper D, Fig. 3).",
    big,
)
# %%
keys = ["balance", "floor", "network"]
chapter.check("D.Fig3-well-posed", mean(agreement.root_mean_square(big)), big, figure="fig-d-3")
chapter.check("D.Fig3-slope", agreement.slope(big, keys), big, figure="fig-d-3")
per_point = big.groupby(["seed", "balance", "floor"])[["observed", "predicted"]].mean().reset_index()
chapter.check("D.Fig3-furthest", agreement.furthest(per_point, ["balance", "floor"]), big, figure="fig-d-3")
ends = big.groupby(["seed", "balance", "floor"])["observed"].mean().unstack()
drop = (ends.iloc[:, -1] - ends.iloc[:, 0]).unstack("balance")
chapter.check("D.Fig3-floor", least(drop.to_numpy()), big, figure="fig-d-3")
largest = big.loc[[big.printed.idxmax()]]
chapter.check("D.Eq28-bounded", Estimate.exact(float(largest.printed.iloc[0])), largest, figure="fig-d-3")
# %%
scatter = free.groupby(["seed", "n", "balance", "floor"])["observed"].std().rename("sd").reset_index()
reversed_most = scatter[scatter["floor"] == min(free_floors)]
spread = np.log(reversed_most.sd).groupby([reversed_most.seed, reversed_most.n]).mean().unstack()
chapter.check(
    "D.Fig3-scatter",
    estimates.exponent(spread.columns.to_numpy(float), np.exp(spread.to_numpy())),
    free,
    figure="fig-d-3",
)
at_largest = scatter[scatter.n == max(reversal_n)].groupby("seed").sd.mean()
chapter.check("D.Fig3-self-averaging", mean(at_largest.to_numpy()), big, figure="fig-d-3")
shown = agreement.root_mean_square
by_size = ", ".join(f"{shown(rows).mean():.3f} at N = {n}" for n, rows in free.groupby("n"))
lowest = min(free_probability.isotropic(spread, 1.0) for spread in np.linspace(0, 5, 501))
chapter.say(
    f"The root mean square difference of single networks from their prediction is {by_size}. Labels alone reverse nothing: "
    f"on isotropic data, $X^\\top X=1$, the prediction is at least {lowest:.3f} for every law of the labels."
)
# %% [markdown]
# (depth-of-c-nfa)=
# ## Depth and other activations
# With two hidden layers App. C keeps the first order alone: $\mathbb E\mathcal K$ for $\mathcal K$. The text does not say
# what $\mathbb E\mathcal K$ is; we take the kernel of the infinitely wide network,
#
# $$
# \mathbb E\mathcal K_{ij}=\prod_{l}\mathbb E\,\sigma'(u_l)\sigma'(v_l)\;\propto\;
# \begin{cases}G_{ij}\,(G_{ii}G_{jj}+2G_{ij}^2)&\text{quadratic}\\ (\pi-\phi_1)(\pi-\phi_2)&\text{ReLU}\end{cases}
# $$ (eq:D:expected)
#
# with the Gram matrix $G=XX^\top$ and the angles $\phi_1$ between two inputs and $\phi_2$ one layer further on. Data have covariance
# eigenvalues $1/(1+k^\alpha)$, $k\ge1$, in a random basis; the target is the chain monomial (low rank) or $|Qx|^2$ with a
# Gaussian $Q$ (high rank).
# %%
decays_found = chapter.sweep(initial.decays)
widest = decays_found[decays_found.k == max(decay_widths)]
NAMES = {"quadratic": "quadratic", "relu": "ReLU"}
fig, axes = plots.panels(4, columns=4, width=3.2, sharey=True)
places = np.arange(len(decays))
for ax, ((target, sigma), rows) in zip(axes, decays_found.groupby(["target", "sigma"], sort=False)):
    for (k, part), colour in zip(rows.groupby("k"), plots.PALETTE):
        wide = part.pivot(index="seed", columns="decay", values="observed")
        plots.realisations(ax, places, wide, color=colour, label=f"observed, $k={k}$")
    wide = rows[rows.k == max(decay_widths)].pivot(index="seed", columns="decay", values="predicted")
    plots.realisations(ax, places, wide, color=plots.COLOURS["theory"], linestyle="--", label="first order")
    ax.set_xticks(places, [f"{decay:g}" for decay in decays], fontsize="small")
    ax.set(xlabel=r"decay rate $\alpha$", title=f"{target}, {NAMES[sigma]}")
axes[0].set_ylabel("C-NFA at initialisation")
axes[0].legend(fontsize="small")
chapter.figure(
    fig,
    "fig-d-6",
    "C-NFA of the first of two hidden layers at initialisation against the decay of the data's spectrum, observed at two "
    "widths and predicted to first order; median and quartiles over data sets and networks (paper D, Fig. 6).",
    decays_found,
)
# %%
fig, axes = plots.panels(2, columns=2, sharex=True, sharey=True)
for ax, (k, rows) in zip(axes, decays_found.groupby("k")):
    for ((sigma, target), part), colour in zip(rows.groupby(["sigma", "target"]), plots.PALETTE):
        ax.plot(part.predicted, part.observed, ".", color=colour, alpha=0.6, label=f"{NAMES[sigma]}, {target}")
    ends = [rows.predicted.min(), 1]
    ax.plot(ends, ends, color=plots.COLOURS["theory"], linewidth=1)
    ax.set(xlabel="first order", title=f"width {k}")
axes[0].set_ylabel("observed")
axes[0].legend(fontsize="small")
chapter.figure(
    fig,
    "fig-d-6-points",
    "The same, point by point: each dot a network on a data set of its own. In wide networks the first order tells data sets "
    "of one decay rate apart.",
    decays_found,
)


# %%
def off(sigma, k):
    """Root mean square difference of each seed, over targets and decay rates."""
    return agreement.root_mean_square(decays_found[(decays_found.sigma == sigma) & (decays_found.k == k)])


narrow, wide_k = min(decay_widths), max(decay_widths)
quadratic, relu = (decays_found[decays_found.sigma == sigma] for sigma in ("quadratic", "relu"))
chapter.check("D.Fig6-quadratic", mean(off("quadratic", wide_k)), quadratic[quadratic.k == wide_k], figure="fig-d-6")
chapter.check("D.Fig6-width", mean(off("quadratic", narrow) - off("quadratic", wide_k)), quadratic, figure="fig-d-6")
chapter.check("D.Fig6-relu", mean(off("relu", wide_k)), relu[relu.k == wide_k], figure="fig-d-6")
points = ["sigma", "target", "decay"]
chapter.check("D.Fig6-data-sets", agreement.slope(widest, points, within=True), widest, figure="fig-d-6-points")
for sigma, claim in (("quadratic", "D.Fig6-dip"), ("relu", "D.Fig6-dip-relu")):
    rows = widest[widest.sigma == sigma]
    dips = [
        agreement.dip(part.pivot(index="seed", columns="decay", values="observed"))
        for _, part in rows.groupby("target")
    ]
    chapter.check(claim, least(np.stack(dips, axis=1)), rows, figure="fig-d-6")
chapter.say(
    f"These are with the labels for the residuals, as in Eq. 4. With the networks' own residuals, which at scale 1 are far "
    f"from the labels, the root mean square difference from the prediction is "
    f"{np.sqrt(((widest.residual - widest.predicted) ** 2).mean()):.3f} at the larger width, against "
    f"{np.sqrt(((widest.observed - widest.predicted) ** 2).mean()):.3f}."
)
# %% [markdown]
# ## Faces
# D.Fig9
# %% [markdown]
# ## Beyond the paper: does it hold exactly where compression happens?
# %% [markdown]
# ## Beyond the paper: other ways to descend
# %% [markdown]
# ## What holds
