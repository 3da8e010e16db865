# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (cnfa-details)=
# # The centred ansatz in detail: end of training, formulas, depth, faces
# This page has both layers at the end of training, the formulas of App. E and their corrections, other activations, faces, and other
# optimisers.
# %% tags=["parameters"]
# fmt: off
profile = "laptop"  # chosen with --profile
d = 32  # dimension of the chain monomial's points (paper D: 32)
rank = 5  # its relevant coordinates (paper D: 5)
rate = 0.05  # step of gradient descent on half the mean square (paper D: 0.05)
n = 256  # training points along training (paper D, Fig. 2: 256)
k = 256  # width (paper D, Fig. 2: 256)
scales = [1.0, 0.1, 0.01, 0.001]  # of the first layer's initial variance (paper D, Fig. 2: not stated)
steps = 800  # of gradient descent (paper D: 800)
seeds = 6  # networks with data of their own
reversal_n = 256  # points, dimensions and neurons of the alignment-reversing data (paper D: 1024)
decay_rates = [0.0, 0.5, 0.75, 1.0, 1.5, 2.5, 8.0]  # decay rates of the spectrum (paper D: not stated)
# fmt: on
# %%
import numpy as np
import pandas as pd

from companion.book import plots
from companion.book.chapter import Chapter
from companion.papers.alignment.studies import alignment as studies
from companion.papers.alignment.studies import initial_alignment as initial

chapter = Chapter("06", globals())
# %% [markdown]
# (end-of-training)=
# ## In the second layer less is lost, and instability hides what features add
# At a quarter of paper D's rate no loss rises. From scale 1 the second layer then keeps {claim}`D.Fig2-throughout-slow` of what its early C-NFA
# has beyond 0.53, the paper's value for a random matrix; the first layer keeps {claim}`D.Fig2-throughout-small-step`. At every scale the second layer
# ends above its lazy law, by at least {claim}`D.Fig2-second-excess`. At the paper's rate networks of scale 1 are unstable, and their second layer
# ends on the law: the instability lowers the alignment by as much as features raise it.
#
# ## In the second layer weights and gradients are not aligned unless it starts small
# Ansatz 1 has a correlation near 1 "for all layers". In the setting of Fig. 2 the second layer's UC-NFA ends at {claim}`D.Fig2-all-layers` at
# most, near its value at the start (table). Its initial weights are isotropic and remain most of its weights, whereas the gradients have few
# directions. Where weight decay removes the initial weights the ansatz holds in both layers ([below](#under-weight-decay)). Sec. 2.3 calls the final value "extremely sensitive" to the scale, "e.g. second row", the second layer. The range there is
# {claim}`D.Fig2-ucnfa-layer-2` over the first layer's scale, and {claim}`D.Fig2-second-scale` over its own.
#
# Sec. 2.3 centres the weights because the numerator of the UC-NFA "contains the term" of the centred ones. From scale 0.01 this term is
# {claim}`D.Sec23-contained` of the numerator at the end, in the first layer. From scale 1 it is next to nothing, because the weights hardly move.
#
# ## What App. G says holds or fails with scale 1
# "Similar to Figure 2, we observe that the C-NFA is more robust to the initialization scale than the UC-NFA, and UC-NFA value become high
# through training, while being small at initialization", says App. G of two decaying spectra, without its scales. Over scales from 1 to
# 0.001 the first layer's UC-NFA varies more than its C-NFA on both, by at least {claim}`D.AppG-robust`. On isotropic data it varies less: the
# difference of the ranges is {claim}`D.Fig2-robust`. Without scale 1 it varies more there, too (table). In the second layer neither varies much.
# From scale 1 the UC-NFA does not become high: its smallest change over layers and both spectra is {claim}`D.Fig7-grows`.
#
# "We see that the test loss improves for smaller initializations, where the value of the C-NFA and UC-NFA are higher." On the flatter of the
# two spectra it does: over scales the rank correlation of test loss and alignment is at most {claim}`D.Fig7-loss-alignment`. On the steeper
# one it does not: after the paper's 800 steps the largest scale's test loss less the smallest's is {claim}`D.Fig8-test-loss`. Training is not
# over there, because directions of little variance are learnt slowly.
# %%
rows = pd.concat([chapter.rows(studies.correlations, "isotropic"), chapter.rows(studies.correlations, "decaying")])
ends = rows[rows.step == rows.step.max()].rename(columns={"uc": "UC-NFA", "c": "C-NFA"})
ends["spectrum"] = ends.spectrum.str.replace(r"(1/.*)", r"$\1$", regex=True)
ends = ends.melt(["seed", "spectrum", "layer", "scale"], ["UC-NFA", "C-NFA"], "ansatz")
means = ends.pivot_table("value", ["spectrum", "layer", "ansatz"], "scale", sort=False)
means["range"] = means.max(axis=1) - means.min(axis=1)
chapter.table(
    means.reset_index(),
    "tab-d-end",
    "Over all scales the first layer's C-NFA varies more than the UC-NFA on isotropic data alone. Both ansätze at the end of training on "
    "data of three spectra at the paper's rate, means, one column for each of the first layer's scales, and the range of the means.",
    rows,
    digits=2,
)
# %% [markdown]
# ## Early the weights change, late the kernel does too
# At step 5, in the median over networks, at most {claim}`D.Fig4-early` of the centred covariance comes from the change $\bar K$ of $K$;
# at the end it is up to {claim}`D.Fig4-late` ({numref}`fig-d-4`). Paper D has it small "when initialization is large", too: from scale
# 1 it ends lower than from 0.001 by {claim}`D.AppB-large`, in the layer where this is least. This *double-centred ratio* is
# $\operatorname{tr}(\bar W^\top\bar W\bar W^\top\bar K\bar W)$ over $\operatorname{tr}(\bar W^\top\bar W\bar W^\top K\bar W)$.
#
# The *PTK-centred correlation* $\rho(W_0^\top W_0,W_0^\top\bar KW_0)$ is the alignment of the kernel's change with the initial weights.
# Paper D finds that it falls, and states no scales. In the figure it does from scales up to 0.1. On isotropic data from
# scale 1 it rises in the first layer, by {claim}`D.Fig5-isotropic`.
# %%
rows = pd.concat([chapter.rows(studies.correlations, "isotropic"), chapter.rows(studies.correlations, "decaying")])
rows = rows[rows.step > 0]
views = [("isotropic", "double", "double-centred ratio"), ("isotropic", "ptk", "PTK-centred")]
views += [("1/(1+k^2)", "ptk", "PTK-centred, $1/(1+k^2)$")]
colours = plots.shades(rows["scale"].nunique())
fig, axes = plots.panels(6, height=2.6, sharex=True, sharey=True)
for row, (spectrum, column, label) in enumerate(views):
    on_spectrum = rows[rows.spectrum == spectrum].dropna(subset=column)
    for ax, (layer, networks) in zip(axes[2 * row :], on_spectrum.groupby("layer")):
        for (scale, part), colour in zip(networks.groupby("scale", sort=False), colours):
            plots.over_seeds(ax, part, "step", column, color=colour, marker="", label=f"$s_0$ = {scale:g}")
        ax.set(xscale="log", ylim=(0, 1.02), title=f"layer {layer}", xlabel="step", ylabel=label)
        ax.label_outer()
alt = "Six panels against the training step, one line for each scale: shares that rise late, and alignments that mostly fall."
chapter.figure(fig, "fig-d-4", rows, title="When does the kernel change?", legend=4, alt=alt)
# %% [markdown] tags=["caption"]
# **Early the weights move and the kernel does not; late both have moved.** Above: the part of the centred covariance that is due to change
# of the PTK (paper D, Fig. 4). Middle and below: alignment of the PTK's change with the initial weights, on isotropic data and on data of
# spectrum $1/(1+k^2)$ (paper D, Fig. 5).
# %% [markdown]
# (egop-of-the-task)=
# ## The EGOP of the task has rank $r$ unless 4 divides $r$
# At $r=4$ its rank is {claim}`D.Fig1-rank`. The chain monomial's gradient is linear, $\nabla y=Ax$, with $A$ the adjacency matrix of a
# ring of $r$ coordinates. So its expected gradient outer product needs no sample:
#
# $$
# \begin{aligned}
# \mathrm{EGOP}&=\mathbb E\,\nabla y\,\nabla y^\top = A^2,\\
# \text{eigenvalues }&4\cos^2\frac{2\pi j}{r},\quad j=0,\dots,r-1
# \end{aligned}
# $$ (eq:D:egop)
#
# For labels of unit variance divide by $r$. The matrix has 2 on the diagonal and 1 at distance two along the ring. Paper D says that its
# rank is $r$. Where 4 divides $r$ two of the cosines vanish.
# %% [markdown]
# (random-matrices)=
# ## Two formulas of App. E need a correction
# Networks exceed the trace of Eq. 28 as printed by a factor {claim}`D.Eq28-free`. The AGOP of
# Prop. 10 has a relative error of {claim}`D.Prop10-expectation` as printed. Corrected, both agree with the networks (table below). We derived
# all formulas again; our tests compare them with sums over non-crossing partitions and with sampled matrices, and verify the lemmas (Eqs. 12
# to 15). Eq. 6, of isotropic data, holds: observed over formula is {claim}`D.Eq6-isotropic`.
# Eqs. 10, 19 and 29 have misprints ({ref}`erratum <erratum-d-equation-28>`).
# ### In expectation, at finite width: Prop. 10 lacks $1/k$ and all pairs of different neurons
# In $\mathbb E[RBR]$ two neurons meet. Equal ones give $\frac3k(\operatorname{tr}B+2B)$, by Wick's theorem. Different ones, $k(k-1)$
# pairs, give $(1-\frac1k)B$. In this section $\operatorname{tr}$ is the sum of the eigenvalues. Together
#
# $$
# \begin{aligned}
# \mathbb E[\dot W^\top\dot W]&=(X^\top YX)^2,\\
# \mathbb E[\dot W^\top K\dot W]&=\frac3k\operatorname{tr}(X^\top X)\,(X^\top YX)^2
# +\Bigl(1+\frac5k\Bigr)X^\top YX\;X^\top X\;X^\top YX .
# \end{aligned}
# $$ (eq:D:expectations)
#
# Proposition 10 has 3 and 6 in place of $3/k$ and $1+5/k$, the formula for a single neuron, $k=1$. The
# difference matters. With the paper's constants the first term, again the NFM, would dominate in large dimension. Then no data could
# oppose the NFM to the AGOP.
#
# Both formulas take $\delta=a\odot h$, as Eq. 10 does. The derivative of $a^\top(Wx)^2$ is twice that. This puts factors 4 and 16 in front
# and changes no correlation.
# ### In the limit: the last term of Eq. 28 vanishes as printed
# In the limit let $\operatorname{tr}$ be the *mean* of the eigenvalues, $r_j=\operatorname{tr}R^j$,
# $\bar A=A-\operatorname{tr}A$ and $\bar B=B-\operatorname{tr}B$. Then
#
# $$
# \begin{aligned}
# &\operatorname{tr}(ARARBR)\\
# &\quad=\operatorname{tr}[A]^2\operatorname{tr}[B]\,r_3+2\operatorname{tr}[A]\,r_1r_2\operatorname{tr}[\bar A\bar B]\\
# &\qquad+\operatorname{tr}[B]\,r_1r_2\operatorname{tr}[\bar A^2]+r_1^3\operatorname{tr}[\bar A^2\bar B],\\
# &\operatorname{tr}(ARAR)=r_1^2\operatorname{tr}[\bar A^2]+r_2\operatorname{tr}[A]^2,\\
# &\operatorname{tr}(ARBRARBR)\\
# &\quad=r_1^4\operatorname{tr}[(\bar A\bar B)^2]+2r_1^2(r_2-r_1^2)\operatorname{tr}[\bar A\bar B]^2\\
# &\qquad+2r_1^2r_2\bigl(\operatorname{tr}[B]\operatorname{tr}[\bar A^2\bar B]+\operatorname{tr}[A]\operatorname{tr}[\bar A\bar B^2]\bigr)\\
# &\qquad+4\operatorname{tr}[A]\operatorname{tr}[B]\,r_1r_3\operatorname{tr}[\bar A\bar B]+\operatorname{tr}[A]^2\operatorname{tr}[B]^2r_4\\
# &\qquad+r_2^2\bigl(\operatorname{tr}[A]^2\operatorname{tr}[\bar B^2]+\operatorname{tr}[B]^2\operatorname{tr}[\bar A^2]\bigr).
# \end{aligned}
# $$ (eq:D:free)
#
# Eq. 28 prints the last term as $\operatorname{tr}[\bar A]^2\operatorname{tr}[B^2]r_2^2$, which is zero. The moments of $R$ need no
# networks. $R$ is a sum of $k$ independent rank-one matrices. So its law is compound free Poisson with free cumulants
# $c^{m-1}\,\mathbb E\,a^{2m}$, $c=d/k$, and
#
# $$
# (r_1,r_2,r_3,r_4)=\bigl(1,\;1+3c,\;1+9c+15c^2,\;1+18c+78c^2+105c^3\bigr).
# $$ (eq:D:moments)
#
# Paper D averages 30 networks in place of this. The tail of $a^8$ is so heavy that such a mean is off by several per cent on $r_4$.
# %%
means = chapter.rows(initial.expectations, "main")
traces = chapter.rows(initial.traces, "main")
forms = {
    "nfm_ratio": ("Prop. 10, NFM", "printed"),
    "agop_ratio": ("Prop. 10, AGOP", "corrected"),
    "agop_printed_ratio": ("Prop. 10, AGOP", "printed"),
    "eq20": ("Eq. 20", "printed"),
    "eq19": ("Eq. 20", "with Eq. 19's last term"),
    "eq22": ("Eq. 22", "printed"),
    "eq28": ("Eq. 28", "corrected"),
    "eq28_printed": ("Eq. 28", "printed"),
    "eq28_literal": ("Eq. 28", "trace squared, not the matrix"),
}
ratios = pd.concat([means, traces])[[*forms]].agg(["mean", "sem"]).T
ratios.columns = ["observed / formula", "s.e."]
ratios["from 1, in s.e."] = (ratios["observed / formula"] - 1) / ratios["s.e."]
table = pd.concat([pd.DataFrame(forms, ["formula", "form"]).T, ratios], axis=1)
caption = (
    "Two formulas are rejected as printed, and hold corrected. Observed over formula, its standard error, and the distance from 1 in "
    "standard errors; more than three is rejected. Prop. 10: means over many small networks on the same points. The equations: large "
    "networks, each with data of its own and its own moments of $R$."
)
chapter.table(table, "tab-d-formulas", caption, means, traces)
# %% [markdown]
# ## Half of the overlap is a covariance at equal width and dimension
# Paper D says of Eq. 5 that "the second, covariance term above will tend to 0" as the width grows on given data. At a width equal to
# the dimension it is still half of the whole (first row of the table). Eq. 5 is about the mean over networks of
# $\operatorname{tr}(\dot W^\top\dot W\,\dot W^\top K\dot W)$. It splits this mean into the overlap of the two means and a covariance.
#
# The first term is known at any width, by {eq}`eq:D:expectations`, and the whole in the limit. So free probability gives the
# share of the covariance, $1-[3c\operatorname{tr}B\operatorname{tr}A^2+\operatorname{tr}(A^2B)]/\operatorname{tr}(ARARBR)$, as
# measured. The paper takes means inside ratio and root (Assumption 9), as we do: the one over the other is {claim}`D.Ass9-commutes`.
# %%
rows = chapter.rows(initial.averages, "widths")
means = rows.groupby("k")[["covariance", "free"]].mean().reset_index()
means.columns = ["width $k$", "share of the covariance", "by free probability"]
caption = "The covariance's share of Eq. 5 falls with the width, as free probability predicts. Means over data sets."
chapter.table(means, "tab-d-covariance", caption, rows, digits=2)
# %% [markdown]
# (depth-of-c-nfa)=
# ## The first order suffices for ReLU as well as for quadratic networks
# At width 1024 the first-order prediction has an error of {claim}`D.Fig6-relu` for ReLU networks and of {claim}`D.Fig6-quadratic` for
# quadratic ones ({numref}`fig-d-6`). Paper D finds it worse for ReLU, and asks for further terms. With two hidden layers App. C keeps
# only the first order, $\mathbb E\mathcal K$ for $\mathcal K$, and does not say how $\mathbb E\mathcal K$ is computed. We take
# the kernel of the infinitely wide network, with the ReLU's derivative in full,
#
# $$
# \mathbb E\mathcal K_{ij}=\prod_{l}\mathbb E\,\sigma'(u_l)\sigma'(v_l)\;\propto\;
# \begin{cases}G_{ij}\,(G_{ii}G_{jj}+2G_{ij}^2)&\text{quadratic}\\ (\pi-\phi_1)(\pi-\phi_2)&\text{ReLU}\end{cases}
# $$ (eq:D:expected)
#
# with the activation $\sigma$, the Gram matrix $G=XX^\top$, the angle $\phi_1$ between two inputs and $\phi_2$ one layer later.
# The spectrum of the data sets that of $\mathbb E\mathcal K$, as App. C says: this is further from a projector at intermediate $\alpha$ than at either
# end, by {claim}`D.AppC-spectrum` or more. This distance does not predict the C-NFA, however: over decay rates the correlation of the two
# is up to {claim}`D.Fig6-projector`, because $\mathcal K$ enters the C-NFA only between the labelled inputs, as $X^\top Y\mathcal KYX$.
#
# Paper D sees the C-NFA fall at intermediate $\alpha$. For ReLU it does, by {claim}`D.Fig6-dip-relu` or more, and for quadratic
# networks by {claim}`D.Fig6-dip` with the low-rank target. With the high-rank target the fall is {claim}`D.Fig6-dip-high`.
# Data have covariance eigenvalues $1/(1+k^\alpha)$, $k\ge1$, in a random basis. At $\alpha=0$ they are isotropic. At large $\alpha$
# only one direction is left, where $\mathcal K$ becomes a projector. The target is the chain monomial (low rank) or $|Qx|^2$ with a
# Gaussian $Q$ (high rank).
# %%
rows = chapter.rows(initial.decays, "main")
rows = rows.assign(place=rows.decay.rank(method="dense"))
widest = rows[rows.k == rows.k.max()]
fig, axes = plots.panels(4, height=3.0, sharex=True, sharey=True)
for ax, ((target, sigma), networks) in zip(axes, rows.groupby(["target", "sigma"], sort=False)):
    for k, part in networks.groupby("k"):
        plots.over_seeds(ax, part, "place", "observed", label=f"observed, $k={k}$")
    theory = {"color": plots.COLOURS["theory"], "linestyle": "--", "label": "first order"}
    plots.over_seeds(ax, part, "place", "predicted", **theory)
    ax.set_title(f"{target}, {sigma.replace('relu', 'ReLU')}")
    ax.set_xticks(sorted({*rows.place}), [f"{decay:g}" for decay in sorted({*rows.decay})], fontsize="small")
fig.supxlabel(r"decay rate $\alpha$", fontsize="medium")
fig.supylabel("C-NFA at initialisation", fontsize="medium")
axes[0].legend(loc="lower right", fontsize="small")
chapter.glue("error-with-residuals", float(np.sqrt(((widest.residual - widest.predicted) ** 2).mean())))
alt = "Alignment against the decay rate of the spectrum in four panels: in three it dips and then rises to one, in one it hardly dips."
chapter.figure(fig, "fig-d-6", rows, title="Does the first order suffice?", alt=alt)
# %% [markdown] tags=["caption"]
# **The first-order prediction follows the wider networks in all four panels.** C-NFA of the first of two hidden layers at initialisation
# against the decay of the data's spectrum, observed at two widths and predicted to first order. Median and quartiles over data sets and
# networks (paper D, Fig. 6). Observed with labels in place of the residuals, as in Eq. 4; with the networks' own residuals the error over
# all panels is {glue:text}`error-with-residuals` at the larger width.
# %% [markdown]
# ## Faces: weights and gradients pick the same pixels
# The diagonals of the two matrices have Pearson correlation {claim}`D.Fig9-agop` on faces with and without glasses; paper D prints 0.91 on
# celebrities {cite:p}`liu2015`, which cannot be shipped. With the network's own $K$ it is larger by {claim}`D.Fig9-contrast` than with
# random matrices. A draw of these picks a few directions, because $K$ has a few large eigenvalues. So single draws differ much (table);
# paper D shows one. Ours are stored results on 400 images of 40 people {cite:p}`samaria1994`, split by person, because on a random split
# the same person may be in both parts.
# %%
rows = chapter.rows(studies.saliency_maps)
draws = rows.single.explode().astype(float)
correlations = {"AGOP": rows.agop.mean(), "random, mean": draws.mean(), "least": draws.min(), "largest": draws.max()}
errors = {"test error": rows.error.mean(), "always the commoner label": rows.chance.mean()}
chapter.table(
    pd.DataFrame([correlations | errors]),
    "tab-d-9",
    "On faces, too, the eigenvectors of $K$ make the agreement. Pearson correlation of the diagonal of the NFM with that of the AGOP, and "
    "with a random matrix in place of $K$: its mean, and the least and the largest of single draws (paper D, Fig. 9).",
    rows,
    digits=2,
)
# %% [markdown]
# (under-weight-decay)=
# ## Beyond the paper: weight decay breaks the ansatz that is centred at the initial weights
# At the stronger penalty weight decay changes the second layer's C-NFA by {claim}`D.Descent-penalty` ({numref}`fig-d-descent`). Under
# weight decay $\bar W$ contains what decay has taken away from $W_0$, which does not depend on the data. Let $\eta$ be the rate, $\lambda$
# the penalty and $t$ the step. Centred at $W-(1-\eta\lambda)^tW_0$ the second layer's C-NFA is at least
# {claim}`D.Descent-decayed-weights` at the end.
#
# Decay also brings back Ansatz 1 in the second layer. When the weights are at rest, after three times as many steps, its UC-NFA is
# {claim}`D.Descent-converged`, because nothing is left of the initial weights. Then $W=\frac1{n\lambda}\sum_i r_i\,\delta_i x_i^\top$ with the residuals
# $r_i$, and the features at convergence theorem {cite}`boixadsera2025` follows: $W^\top W\propto\sum_i r_i\,\frac{\partial f}{\partial x_i}x_i^\top$. This matrix is
# nearer to the NFM than the AGOP is, in correlation by {claim}`D.Descent-fact` or more. Without decay there is no such fixed point, and
# $\bar W$ holds the residuals of all times, as in the lazy law.
#
# Under Adam the first steps follow the signs of $\dot W$, and the first layer's C-NFA is lower.
# %%
designs = ("isotropic", "adam", "adam_decay", "weight_decay")
rows = pd.concat([chapter.rows(studies.correlations, design) for design in designs])
decayed_scale = chapter.rows(studies.correlations, "weight_decay")["scale"].iloc[0]
rows = rows[(rows["scale"] == decayed_scale) & (rows.step > 0)]
names = {"gd": "descent", "adam": "Adam"}
colours = dict(zip(rows.groupby(["method", "penalty"], sort=False).groups, plots.PALETTE))
fig, axes = plots.panels(2, sharey=True)
for ax, (layer, networks) in zip(axes, rows.groupby("layer")):
    for (method, penalty), part in networks.groupby(["method", "penalty"], sort=False):
        style = {"color": colours[method, penalty], "marker": "", "label": rf"{names[method]}, $\lambda$ = {penalty:g}"}
        plots.over_seeds(ax, part, "step", "c", **style)
        if method == "gd" and penalty:
            style["label"] += ", decay centred out"
            plots.over_seeds(ax, part, "step", "c_shrunk", **style, linestyle="--")
    ax.set(xscale="log", xlabel="step", title=f"layer {layer}", ylim=(0, 1.02))
axes[0].set_ylabel("C-NFA")
chapter.figure(fig, "fig-d-descent", rows, title="Which centring does weight decay break?", legend=3)
# %% [markdown] tags=["caption"]
# **In the second layer weight decay breaks the ansatz that is centred at the initial weights, not that centred at what decay leaves of
# them.** C-NFA against the step under gradient descent, under Adam, and with weight decay of penalty $\lambda$. Dashed: centred at what
# decay alone leaves of the initial weights.
