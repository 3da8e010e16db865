# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (cnfa-details)=
# # The centred ansatz in detail: end of training, formulas, depth, faces
# The story follows the first layer of one network on one task. How far does it carry? This page goes to the second layer, to
# other data, tasks and optimisers, and says which formulas of paper D need a correction.
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

from companion.book import plots, stated
from companion.book.chapter import Chapter
from companion.papers.alignment.studies import alignment as studies
from companion.papers.alignment.studies import initial_alignment as initial

chapter = Chapter("06", globals())
# %% [markdown]
# (end-of-training)=
# ## In the second layer less is lost, and instability hides what features add
# Is the loss of alignment a matter of the first layer alone? From scale 1 and at a quarter of paper D's rate, at which no loss
# rises, the second layer keeps {claim}`D.Fig2-throughout-slow` of what its early C-NFA has beyond 0.53, the paper's value for a
# random matrix, whereas the first keeps {claim}`D.Fig2-throughout-small-step`. At every scale the second layer ends above its
# lazy law, by at least {claim}`D.Fig2-second-excess`. At the paper's rate one would not see this: there
# networks of scale 1 are unstable, and their second layer ends on the law, because the instability lowers the alignment by as
# much as features raise it.
#
# ## In the second layer weights and gradients are not aligned unless it starts small
# Ansatz 1 has a correlation near 1 "for all layers". In the setting of Fig. 2 the second layer's UC-NFA ends at
# {claim}`D.Fig2-all-layers` at most, near its value at the start (table). The reason is that its initial weights remain most of its
# weights. These are isotropic, whereas the gradients have few directions. Where weight decay removes the initial weights, the
# ansatz holds in both layers ([below](#under-weight-decay)).
#
# Sec. 2.3 calls the final value "extremely sensitive" to the scale, "e.g. second row", the second layer. But to which scale? Over
# the first layer's, which the figure varies, the range is {claim}`D.Fig2-ucnfa-layer-2`; over the second layer's own it is
# {claim}`D.Fig2-second-scale`.
#
# Sec. 2.3 centres the weights because the numerator of the UC-NFA "contains the term" of the centred ones. In the first layer this
# term is {claim}`D.Sec23-contained` of the numerator at the end from scale 0.01, but next to nothing from 1, because the weights
# hardly move.
#
# ## What App. G says holds or fails with scale 1
# On two decaying spectra, says App. G, "the C-NFA is more robust to the initialization scale than the UC-NFA", whose values "become
# high through training, while being small at initialization". It does not give its scales.
#
# *More robust:* yes. Over scales from 1 to 0.001 the first layer's UC-NFA varies more than its C-NFA, by at least
# {claim}`D.AppG-robust`. But on the isotropic data of Fig. 2 it varies less: the difference of the ranges is
# {claim}`D.Fig2-robust`. Scale 1 decides this, because without it the UC-NFA varies more there as well (table). In the second
# layer neither varies much.
#
# *Become high:* not from scale 1. There the smallest change of the UC-NFA over layers and both spectra is {claim}`D.Fig7-grows`.
#
# Does the test loss improve "for smaller initializations, where the value of the C-NFA and UC-NFA are higher"? On the flatter
# of the two spectra it does: over scales the rank correlation of test loss and alignment is at most
# {claim}`D.Fig7-loss-alignment`. On the steeper one it does not: the largest scale's test loss less the smallest's is
# {claim}`D.Fig8-test-loss`. But after the paper's 800 steps training is not over there, because directions of little variance
# are learnt slowly.
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
# The C-NFA keeps the kernel $K$ of the moment. How much of it comes from the change $\bar K$ of that kernel since the start? At
# step 5, in the median over networks, at most {claim}`D.Fig4-early` of the centred covariance does; at the end it is up to
# {claim}`D.Fig4-late` ({numref}`fig-d-4`). This *double-centred ratio* is
# $\operatorname{tr}(\bar W^\top\bar W\bar W^\top\bar K\bar W)$ over $\operatorname{tr}(\bar W^\top\bar W\bar W^\top K\bar W)$.
# Paper D has it small "when initialization is large", too, and it is: from scale 1 it ends lower than from 0.001 by
# {claim}`D.AppB-large`, in the layer where this is least.
#
# The *PTK-centred correlation* $\rho(W_0^\top W_0,W_0^\top\bar KW_0)$ is the alignment of the kernel's change with the initial
# weights. Paper D finds that it falls, and states no scales. From scales up to 0.1 it does. But on isotropic data from scale 1 it
# rises in the first layer, by {claim}`D.Fig5-isotropic`.
# %%
rows = chapter.rows(studies.correlations, "isotropic").query("step > 0")
views = {"double": "double-centred ratio", "ptk": "PTK-centred"}
colours = plots.shades(rows["scale"].nunique())
fig, axes = plots.panels(4, height=2.6, sharex=True, sharey=True)
for row, (column, label) in enumerate(views.items()):
    for ax, (layer, networks) in zip(axes[2 * row :], rows.dropna(subset=column).groupby("layer")):
        for (scale, part), colour in zip(networks.groupby("scale", sort=False), colours):
            plots.over_seeds(ax, part, "step", column, color=colour, marker="", label=f"$s_0$ = {scale:g}")
        ax.set(xscale="log", ylim=(0, 1.02), title=f"layer {layer}", xlabel="step", ylabel=label)
        ax.label_outer()
alt = "Four panels against the training step, one line for each scale: shares that rise late, and alignments that mostly fall."
chapter.figure(fig, "fig-d-4", rows, title="When does the kernel change?", legend=4, alt=alt)
# %% [markdown] tags=["caption"]
# **Early the weights move and the kernel does not; late both have moved.** Above: the part of the centred covariance that is due to
# change of the PTK (paper D, Fig. 4). Below: alignment of the PTK's change with the initial weights (paper D, Fig. 5). Medians and
# quartiles over networks, on isotropic data, one colour for each scale $s_0$.
# %% [markdown]
# (lazy-tasks)=
# ## How much alignment is lost without features depends on the task
# The table has the lazy law of [the story](#lost-and-regained) on six tasks, for networks of one size and the square loss. If the
# target is a single coordinate, hardly anything is lost; on digits most of the alignment is. One would expect the stripe to lose
# little, because lazy training with the hinge ends high there ([the story](#stripe-and-alignment)). But at the end it has less left
# than the chain monomial. Whether the loss or the depth of the network makes the difference is open.
# %%
laws = pd.concat([chapter.rows(studies.lazy_predictions, "tasks"), chapter.rows(studies.lazy_predictions, "digits")])
means = laws.query("layer == 1").pivot_table("c", "task", "remains", sort=False).sort_index(axis=1, ascending=False)
means.columns = ["start"] + [f"{share:g} of the loss" for share in means.columns[1:]]
chapter.table(
    means.rename(lambda task: f"chain monomial, {task}" if task in studies.SPECTRA else task).reset_index(),
    "tab-d-lazy",
    "Lazy training loses much alignment on some tasks and hardly any on others. The C-NFA of the first layer with the kernel of the start, "
    "before training and when so much of the loss is left; means over networks of one size, none of them trained.",
    laws,
    digits=2,
)
# %% [markdown]
# (egop-of-the-task)=
# ## The EGOP of the task has rank $r$ unless 4 divides $r$
# At $r=4$ its rank is {claim}`D.Fig1-rank`. The chain monomial's gradient is linear, $\nabla y=Ax$, with $A$ the adjacency
# matrix of a ring of $r$ coordinates. So its expected gradient outer product needs no sample:
#
# $$
# \begin{aligned}
# \mathrm{EGOP}&=\mathbb E\,\nabla y\,\nabla y^\top = A^2,\\
# \text{eigenvalues }&4\cos^2\frac{2\pi j}{r},\quad j=0,\dots,r-1
# \end{aligned}
# $$ (eq:D:egop)
#
# For labels of unit variance divide by $r$. The matrix has 2 on the diagonal and 1 at distance two along the ring. Paper D says
# that its rank is $r$, which holds for its $r=5$. But where 4 divides $r$ two of the cosines vanish.
# %% [markdown]
# (single-networks)=
# ## Random matrices predict single networks
# At initialisation the C-NFA can be computed without a network: the prediction has a root mean square error of
# {claim}`D.Fig3-well-posed` for single networks ({numref}`fig-d-3`), about as much as these scatter about their own mean,
# {claim}`D.Fig3-self-averaging`. We take a quadratic network $f=a^\top(Wx)^2$ with $a\sim\mathcal N(0,1)$ and
# $W\sim\mathcal N(0,1/k)$, and as many neurons $k$ as points $n$ and dimensions $d$. At step 0 the C-NFA is
#
# $$
# \begin{aligned}
# \rho&=\frac{\operatorname{tr}(ARARBR)}{\sqrt{\operatorname{tr}(ARAR)\,\operatorname{tr}(ARBRARBR)}},\\
# R&=W^\top\mathrm{diag}(a^2)W,\quad A=(X^\top YX)^2,\quad B=X^\top X .
# \end{aligned}
# $$ (eq:D:correlation)
#
# Here $A$ and $B$ are given by the data and $R$ is random, independent of them. So free probability, the calculus of moments of
# such large matrices, gives the three traces from the moments of $A$, $B$ and $R$ (App. E of paper D). We corrected two
# formulas ([below](#random-matrices)).
#
# *The data* are made such that NFM and AGOP differ much, as App. F of paper D intends. A share $\gamma$ of the points, the
# *balance*, has label 1 and the matrix $M=X_1^\top X_1$. Its eigenvalues are spread evenly in their logarithm between a *floor*
# $m_0$ and 1, on $\gamma n$ directions. The other points have label 0, and $X_2^\top X_2=M^{-2}-M$ on these directions. Then
# the part $X^\top YX\,X^\top X\,X^\top YX$ of the AGOP is exactly a projector, while the NFM is $M^2$. App. F's own data cannot
# be built as written, and this part cannot be "close to identity", because its rank is at most $\gamma n$
# ({ref}`erratum <erratum-d-reversing>`). Labels alone would not do: on isotropic data the prediction (Eq. 6) is never below 0.87.
#
# *The first order* (dashed) has $\mathbb E\mathcal K$ in place of $\mathcal K$. At a small floor it lies far below the observed
# values, because with as many neurons as dimensions $\mathcal K$ fluctuates, and the covariance in Eq. 5 keeps the two matrices
# aligned.
# %%
rows = chapter.rows(initial.reversal, "spike_free")
rows = rows[rows.n == rows.n.max()]
styles = {"predicted": ("-", "predicted"), "printed": (":", "Eq. 28 as printed"), "first_order": ("--", "first order")}
fig, axes = plots.panels(rows.balance.nunique() + 1)
for ax, (balance, networks), colour in zip(axes, rows.groupby("balance"), plots.PALETTE):
    for column, (style, label) in styles.items():
        line = networks.groupby("floor")[column].mean()
        ax.plot(line.index, line, style, color=plots.COLOURS["theory"], linewidth=1.2, label=label)
    ax.plot(networks.floor, networks.observed, ".", color=colour, alpha=0.4, label="observed")
    ax.axhline(1, color="0.7", linewidth=0.8)
    ax.set(xscale="log", xlabel="floor $m_0$", ylim=(0.4, 1.5), title=rf"balance $\gamma={balance:g}$")
    axes[-1].plot(networks.predicted, networks.observed, ".", color=colour, alpha=0.4, label=rf"$\gamma={balance:g}$")
for ax in axes[:-1:2]:
    ax.set_ylabel("C-NFA at initialisation")
ends = [rows.predicted.min(), rows.predicted.max()]
axes[-1].plot(ends, ends, color=plots.COLOURS["theory"], linewidth=1)
axes[-1].set(xlabel="predicted", ylabel="observed", title=stated.both_sizes(int(rows.n.iloc[0]), "D.reversal"))
axes[-1].legend(fontsize="small")
alt = "Observed alignment as dots against the floor, on the predicted line and below a dotted line that exceeds one."
chapter.figure(fig, "fig-d-3", rows, title="Do random matrices predict single networks?", legend=4, alt=alt)
# %% [markdown] tags=["caption"]
# **Free probability predicts single networks; Eq. 28 as printed exceeds 1, and the first order is too low.** Data without dominant
# directions, at the largest size: each dot is a network on a data set. Lines: free probability with closed moments (full), the same
# with Eq. 28 as printed (dotted), and the first order, with the expected kernel alone (dashed). Last panel: observed against
# predicted (paper D, Fig. 3).
# %% [markdown]
# (random-matrices)=
# ## Two formulas of App. E need a correction
# We derived all formulas of App. E again. Two do not agree with networks as printed: the trace of Eq. 28 is
# {claim}`D.Eq28-free` times its printed value, and the AGOP of Prop. 10 has a relative error of {claim}`D.Prop10-expectation`.
# Corrected, both agree (table below). Eqs. 20 and 22 hold as printed. So does Eq. 6, of isotropic data, where observed over
# formula is {claim}`D.Eq6-isotropic`. Our tests compare the formulas with sums over non-crossing partitions and with sampled
# matrices, and verify the lemmas (Eqs. 12 to 15). Eqs. 10, 19 and 29 have misprints ({ref}`erratum <erratum-d-equation-28>`).
# ### In expectation, at finite width: Prop. 10 lacks $1/k$ and all pairs of different neurons
# In $\mathbb E[RBR]$ two neurons meet. Equal ones give $\frac3k(\operatorname{tr}B+2B)$, by Wick's theorem; different ones,
# $k(k-1)$ pairs, give $(1-\frac1k)B$. With $\operatorname{tr}$ for the sum of the eigenvalues, in this section alone,
#
# $$
# \begin{aligned}
# \mathbb E[\dot W^\top\dot W]&=(X^\top YX)^2,\\
# \mathbb E[\dot W^\top K\dot W]&=\frac3k\operatorname{tr}(X^\top X)\,(X^\top YX)^2
# +\Bigl(1+\frac5k\Bigr)X^\top YX\;X^\top X\;X^\top YX .
# \end{aligned}
# $$ (eq:D:expectations)
#
# Proposition 10 has 3 and 6 in place of $3/k$ and $1+5/k$: it is the formula for a single neuron, $k=1$. The difference
# matters. With the paper's constants the first term, which is the NFM once more, would dominate in large dimension, and no data
# could oppose the NFM to the AGOP.
#
# Both formulas take $\delta=a\odot h$, as Eq. 10 does, although the derivative of $a^\top(Wx)^2$ is twice that. This puts
# factors 4 and 16 in front and changes no correlation.
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
# Eq. 28 prints the last term as $\operatorname{tr}[\bar A]^2\operatorname{tr}[B^2]r_2^2$, which is zero. The moments of $R$ need no
# networks, because $R$ is a sum of $k$ independent rank-one matrices: its law is compound free Poisson with free cumulants
# $c^{m-1}\,\mathbb E\,a^{2m}$, $c=d/k$, and
#
# $$
# (r_1,r_2,r_3,r_4)=\bigl(1,\;1+3c,\;1+9c+15c^2,\;1+18c+78c^2+105c^3\bigr).
# $$ (eq:D:moments)
#
# Paper D averages 30 networks in place of this. But the tail of $a^8$ is so heavy that such a mean is off by several per cent
# on $r_4$.
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
# Eq. 5 is about the mean over networks of $\operatorname{tr}(\dot W^\top\dot W\,\dot W^\top K\dot W)$. It splits this mean into the
# overlap of the two means and a covariance, and paper D says that "the second, covariance term above will tend to 0" as the width
# grows on given data. It does (table). But at a width equal to the dimension, as in Fig. 3, it is still half of the whole.
#
# The first term is known at any width, by {eq}`eq:D:expectations`, and the whole in the limit. So free probability gives the
# share of the covariance, $1-[3c\operatorname{tr}B\operatorname{tr}A^2+\operatorname{tr}(A^2B)]/\operatorname{tr}(ARARBR)$, as
# measured. The paper takes means inside ratio and root (Assumption 9), as we do. This changes little: the one over the other is
# {claim}`D.Ass9-commutes`.
# %%
rows = chapter.rows(initial.averages, "widths")
means = rows.groupby("k")[["covariance", "free"]].mean().reset_index()
means.columns = ["width $k$", "share of the covariance", "by free probability"]
caption = "The covariance's share of Eq. 5 falls with the width, as free probability predicts. Means over data sets."
chapter.table(means, "tab-d-covariance", caption, rows, digits=2)
# %% [markdown]
# (depth-of-c-nfa)=
# ## The first order suffices for ReLU as well as for quadratic networks
# With two hidden layers App. C keeps only the first order, $\mathbb E\mathcal K$ for $\mathcal K$. Paper D finds this worse for
# ReLU, and asks for further terms. We do not find it: at width 1024 the error is {claim}`D.Fig6-relu` for ReLU networks and
# {claim}`D.Fig6-quadratic` for quadratic ones ({numref}`fig-d-6`). The paper does not say how it computes
# $\mathbb E\mathcal K$. We take the kernel of the infinitely wide network, which has the ReLU's derivative in full,
#
# $$
# \mathbb E\mathcal K_{ij}=\prod_{l}\mathbb E\,\sigma'(u_l)\sigma'(v_l)\;\propto\;
# \begin{cases}G_{ij}\,(G_{ii}G_{jj}+2G_{ij}^2)&\text{quadratic}\\ (\pi-\phi_1)(\pi-\phi_2)&\text{ReLU}\end{cases}
# $$ (eq:D:expected)
#
# with the activation $\sigma$, the Gram matrix $G=XX^\top$, the angle $\phi_1$ between two inputs and $\phi_2$ one layer later.
# The data have covariance eigenvalues $1/(1+k^\alpha)$, $k\ge1$, in a random basis: isotropic at $\alpha=0$, and nearly one
# direction at large $\alpha$, where $\mathcal K$ becomes a projector. The target is the chain monomial (low rank) or $|Qx|^2$
# with a Gaussian $Q$ (high rank).
#
# *Does the C-NFA fall at intermediate $\alpha$*, as paper D sees? For ReLU it does, by {claim}`D.Fig6-dip-relu` or more. For
# quadratic networks with the low-rank target the fall is {interval}`D.Fig6-dip`, but with the high-rank one it is
# {claim}`D.Fig6-dip-high`.
#
# *Is the distance from a projector the reason?* The spectrum of the data sets that of $\mathbb E\mathcal K$, as App. C says: it
# is further from a projector at intermediate $\alpha$ than at either end, by {claim}`D.AppC-spectrum` or more. But this
# distance does not predict the C-NFA. Over decay rates the correlation of the two is up to {claim}`D.Fig6-projector`, where it
# would have to be near $-1$: $\mathcal K$ enters the C-NFA only between the labelled inputs, as $X^\top Y\mathcal KYX$.
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
# **The first-order prediction follows the wider networks in all four panels.** C-NFA of the first of two hidden layers at
# initialisation against the decay of the data's spectrum, observed at two widths and predicted to first order. Median and quartiles
# over data sets and networks (paper D, Fig. 6). Observed with labels in place of the residuals, as in Eq. 4; with the networks' own
# residuals the error over all panels is {glue:text}`error-with-residuals` at the larger width.
# %% [markdown]
# ## Faces: weights and gradients pick the same pixels
# Does the ansatz hold on real images? On faces with and without glasses the diagonals of the two matrices have Pearson correlation
# {claim}`D.Fig9-agop`; paper D prints 0.91 on celebrities {cite:p}`liu2015`, which cannot be shipped. With the network's own $K$ it
# is larger by {claim}`D.Fig9-contrast` than with random matrices. The paper shows one draw of these. But since $K$ has a few large
# eigenvalues, a draw picks a few directions, and single draws differ much (table).
#
# Ours are stored results on images of 40 people {cite:p}`samaria1994`, split by person, so that no one is in both parts.
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
# Weight decay changes the second layer's C-NFA by {claim}`D.Descent-penalty` at the stronger penalty (table). The ansatz is not
# at fault, but its centre: under decay $\bar W$ contains what decay has taken away from $W_0$, which does not depend on the
# data. With the rate $\eta$, the penalty $\lambda$ and the step $t$, decay alone leaves $(1-\eta\lambda)^tW_0$. Centred at
# this, the second layer's C-NFA is at least {claim}`D.Descent-decayed-weights` at the end.
#
# Decay also brings back Ansatz 1 in the second layer. When the weights are at rest, after three times as many steps, its UC-NFA
# is {claim}`D.Descent-converged`, because nothing is left of the initial weights. Then
# $W=\frac1{n\lambda}\sum_i r_i\,\delta_i x_i^\top$ with the residuals $r_i$, and the features at convergence theorem
# {cite}`boixadsera2025` follows: $W^\top W\propto\sum_i r_i\,\frac{\partial f}{\partial x_i}x_i^\top$. Is this matrix nearer to
# the NFM than the AGOP is? Its correlation is higher by {claim}`D.Descent-fact`, where the difference is least, which
# does not decide it. Without decay there is no such fixed point:
# $\bar W$ holds the residuals of all times, as in the lazy law.
#
# Under Adam the first layer's C-NFA is lower, since the first steps follow the signs of $\dot W$ and not $\dot W$ itself.
# %%
designs = ("isotropic", "adam", "adam_decay", "weight_decay")
rows = pd.concat([chapter.rows(studies.correlations, design) for design in designs])
decayed_scale = chapter.rows(studies.correlations, "weight_decay")["scale"].iloc[0]
rows = rows[(rows["scale"] == decayed_scale) & (rows.spectrum == "isotropic")]
ends = rows[rows.step == rows.groupby(["method", "penalty"]).step.transform("max")]
ends = ends.assign(c_shrunk=ends.c_shrunk.where((ends.method == "gd") & (ends.penalty > 0)))
ends = ends.sort_values(["layer", "method", "penalty"], ascending=[True, False, True])
means = ends.groupby(["layer", "method", "penalty"], sort=False)[["c", "c_shrunk", "uc"]].median()
means = means.rename(index={"gd": "descent", "adam": "Adam"}, level="method")
means.columns = ["C-NFA", "C-NFA, decay centred out", "UC-NFA"]
chapter.table(
    means.reset_index(),
    "tab-d-descent",
    "In the second layer weight decay breaks the ansatz that is centred at the initial weights, not that centred at what decay "
    "leaves of them. Ansätze at the end of training under gradient descent and under Adam, with and without weight decay; medians.",
    rows,
    digits=2,
)
