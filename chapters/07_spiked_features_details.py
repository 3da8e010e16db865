# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (spiked-features-details)=
# # Spiked features in detail: equations, spikes, bounds
#
# Where do the story's formulas come from, and do simulations agree with them? This page derives the spike, gives the equations
# of the test error, and tests paper E's further statements.
#
# (three-formulas)=
# ## Trained networks have the three values of the formulas
#
# At the largest size trained networks have the strength $r$, the alignment $\gamma$ and the bulk variance $c$ of
# {eq}`eq:E:equivalent` within {claim}`E.Res1-r`, {claim}`E.Res1-gamma` and {claim}`E.Res1-c`, relative, at the furthest of four
# targets. To measure them we take the mean row of the trained weights for the spike, and what is left of each row for the bulk.
# The formulas follow in five steps.
#
# 1. For an odd activation the initial output $f^0$ is of order $p^{-1/2}$ and may be left out. So the step moves row $i$ by
#    $\frac{\tilde\eta}{n_0}\sum_\mu y^\mu\sigma'(w_i^0\cdot x^\mu)x^\mu$. Split $\sigma'=h_1+(\sigma'-h_1)$.
# 2. The first part is the same for all rows, $rv=\tilde\eta h_1g$ with $g=\frac1{n_0}\sum_\mu y^\mu x^\mu$.
# 3. The vector $g$ has the mean $\mathbb E[yx]=h_1^\star\theta$, and scatter of squared norm
#    $\frac1{n_0}\mathbb E[y^2]\,d=h_2^\star/\alpha_0$. Hence $\lVert g\rVert^2=h_1^{\star2}+h_2^\star/\alpha_0$ and
#    $\theta\cdot g=h_1^\star$. This gives $r$ and $\gamma$.
# 4. The second part, $\frac{\tilde\eta}{n_0}\sum_\mu y^\mu(\sigma'-h_1)x^\mu$, has mean zero for odd $\sigma$ and differs from
#    row to row. It is noise of squared norm $\frac{\tilde\eta^2}{n_0}\mathbb E[y^2]\,\check h_1\,d$.
# 5. This noise is orthogonal to $w_i^0$ on average. So the squared norms add, $c=1+\tilde\eta^2h_2^\star\check h_1/\alpha_0$.
#
# Why must the activation be odd? Otherwise the noise has a mean along each neuron's own weights, and one spike does not
# describe the step.
# %% tags=["parameters"]
# fmt: off
profile = "laptop"  # chosen with --profile
activation = "tanh"  # odd activation of the network (paper E: odd)
fig1_target = "sin"  # target whose profile is drawn
fig1_step = 8.0  # step size eta / p there
fig2_alphas = [0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0]  # samples for the readout over dimension
loss_bias_target = "tanh(x+1)"  # target with an even part, for a bias
# fmt: on
# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from companion.book import claims, plots
from companion.book.chapter import Chapter
from companion.papers.one_step.claims import reuse, spiked_features
from companion.papers.one_step.studies import spiked as studies
from companion.papers.one_step.theory import bounds, measure
from companion.papers.one_step.theory.conditional_map import channel, equivalent
from companion.papers.one_step.theory.functions import function

chapter = Chapter("07", globals())
# %% [markdown]
# (learned-function)=
# ## The step bends the learned function towards the target
#
# Without a step the learned function is a line. After one on $16d$ samples its non-linear share is {claim}`E.Fig1-nonlinear` of
# the target's ({numref}`fig-e-1`). Here we average the output $f$ over inputs with the same projection $\theta\cdot x=t$ on the
# target's direction. The cosine $\gamma$ depends on the number of samples alone, but the spike's strength $r$ grows with the
# step size, and so does the noise of the bulk. One would therefore expect a best size. Try others below the figure.
# %%
profiles = chapter.rows(studies.profiles, "main")
t = np.linspace(-3, 3, 301)
fig, ax = plt.subplots()
ax.plot(t, function(fig1_target).array(t), color=plots.COLOURS["theory"], linewidth=1, label="target")
for colour, (alpha0, rows) in zip(plots.shades(5), profiles.groupby("alpha0")):
    ax.plot(t, measure.learned(rows.iloc[0], t, beta=1.0), color=colour, label=rf"$\alpha_0={alpha0:g}$")
    plots.means_by_size(ax, rows, "t", "output", color=colour)
ax.set(xlabel=r"$t=\theta\cdot x$", ylabel="mean output given $t$", title="Which function does the network learn?")
ax.legend(title="samples for the step")
chapter.figure(fig, "fig-e-1", profiles)
# %% [markdown] tags=["caption"]
# **Without a step the network learns a line; the step bends it towards the target.** Mean output against the projection $t$ on
# the target's direction, one colour for each number of samples for the step. Lines: theory of spiked features. Points:
# networks, with two standard errors.
# %% [markdown]
# (theory-details)=
# ## Theory and simulation agree at 12 settings
#
# Simulated spiked features have {claim}`E.Res3-mean` times the test error of the equations below. Their overlaps agree, too:
# the slopes against theory are within {claim}`E.Res3-overlaps` of 1, and that of the smallest overlap, $\zeta$, is
# {claim}`E.Res3-zeta`. The equations start from the conditional Gaussian features {eq}`eq:E:map`. The test error depends on the
# readout $a$ through five numbers. With $\theta_\perp=(\theta-\gamma v)/\sqrt{1-\gamma^2}$ and $\Omega=W_b(1-vv^\top)W_b^\top$
# they are
#
# $$
# m=\frac{\mathbf 1\cdot a}{\sqrt p},\qquad \zeta=\frac{a\cdot W_bv}{\sqrt p},\qquad
# \psi=\frac{a\cdot W_b\theta_\perp}{\sqrt p},\qquad q_1=\frac{a\cdot\Omega a}p,\qquad q_2=\frac{\lVert a\rVert^2}p .
# $$ (eq:E:overlaps)
#
# Write the target's projection as $\theta\cdot x=\gamma k+\sqrt{1-\gamma^2}\,s$, with $s\sim\mathcal N(0,1)$ independent of
# $k$. Let $H(k)=\mathbb E_s\sigma_*$, $H'=\mathbb E_s[s\,\sigma_*]$, $\overline{H^2}=\mathbb E_s\sigma_*^2$,
# $C=\kappa_0m+k\kappa_1\zeta$ and $V=\kappa_1^2V_1+\kappa_*^2V_2$. The test error $\varepsilon_g$ and the training error
# $\varepsilon_{tr}$ are means over $k$:
#
# $$
# \begin{aligned}
# \mathcal R(k)&=\overline{H^2}-2CH+C^2-2\kappa_1\psi H'+\kappa_1^2q_1+\kappa_*^2q_2 ,\\
# \varepsilon_g&=\mathbb E_k\mathcal R,\qquad \varepsilon_{tr}=\mathbb E_k\frac{\mathcal R}{(1+V)^2}.
# \end{aligned}
# $$ (eq:E:error)
#
# The numbers solve a {term}`saddle point` in three stages, each of which needs only those before it.
#
# **1. Two scalars.** $V_1$ and $V_2$ are the traces of $\Omega S^{-1}$ and $S^{-1}$ over $p$, with
# $S=\lambda+\hat V_2+\hat V_1\Omega$. Let $D=cD_0$, where $D_0$ has the Marchenko–Pastur law of a $p\times p$ matrix $W_0W_0^\top$
# with $p/d=\beta$ and mean 1:
#
# $$
# \hat V_1=\tfrac\alpha\beta\mathbb E\tfrac{\kappa_1^2}{1+V},
# \quad \hat V_2=\tfrac\alpha\beta\mathbb E\tfrac{\kappa_*^2}{1+V},
# \qquad V_1=\mathbb E\tfrac DS,\quad V_2=\mathbb E\tfrac1S .
# $$ (eq:E:saddle)
#
# The last two expectations are closed. With $\hat s=\lambda+\hat V_2$, $V_2=g$ is the positive root of
# $\beta c\hat V_1\hat s\,g^2+(c\hat V_1(1-\beta)+\hat s)\,g=1$, and $V_1=cg/(1+\beta c\hat V_1g)$. The iteration starts from
# $V_1=c/\lambda$, $V_2=1/\lambda$.
#
# **2. A linear system for $(m,\zeta)$**, with $G=\alpha cV_2$. The third overlap $\psi$ is explicit:
#
# $$
# \begin{pmatrix}a_{00}&a_{01}\\ Ga_{01}&1+Ga_{11}\end{pmatrix}\begin{pmatrix}m\\ \zeta\end{pmatrix}
# =\begin{pmatrix}b_0\\ Gb_1\end{pmatrix},\qquad
# \begin{aligned}
# a_{00}&=\mathbb E\tfrac{\kappa_0^2}{1+V},&a_{01}&=\mathbb E\tfrac{k\kappa_0\kappa_1}{1+V},&
# a_{11}&=\mathbb E\tfrac{k^2\kappa_1^2}{1+V},\\
# b_0&=\mathbb E\tfrac{\kappa_0H}{1+V},&b_1&=\mathbb E\tfrac{k\kappa_1H}{1+V},&
# \hat\psi&=\tfrac\alpha\beta\mathbb E\tfrac{\kappa_1H'}{1+V},\quad\psi=\beta V_1\hat\psi.
# \end{aligned}
# $$ (eq:E:overlap-system)
#
# **3. A linear system for $q=(q_1,q_2)$.** Let $\kappa_{(1)}^2=\kappa_1^2$ and $\kappa_{(2)}^2=\kappa_*^2$. Let $\mathcal R_0$
# be the part of $\mathcal R$ without $q$, and $\hat\zeta=\zeta/(\beta cV_2)$:
#
# $$
# \begin{aligned}
# q&=P\,(Aq+B),\qquad
# P=\mathbb E\frac1{S^2}\begin{pmatrix}D^2&D\\D&1\end{pmatrix},\\
# A_{ij}&=\tfrac\alpha\beta\mathbb E\frac{\kappa_{(i)}^2\kappa_{(j)}^2}{(1+V)^2},\quad
# B_i=\tfrac\alpha\beta\mathbb E\frac{\kappa_{(i)}^2\mathcal R_0}{(1+V)^2}
# +\beta\begin{pmatrix}\hat\psi^2\\c\,\hat\zeta^2\end{pmatrix}_{\!i}.
# \end{aligned}
# $$ (eq:E:norm-system)
#
# The product $PA$ is the Jacobian of the first stage. So Newton's method needs nothing else, even at the interpolation peak.
#
# *Finite width.* Where simulations need it we keep one correction, because the direction $\mathbf 1$ has the finite length
# $\sqrt p$: the overlap $m$ has the stiffness $1/(pV_2)$. This adds $\beta/(\alpha pV_2)$ to $a_{00}$ and $m^2/(pV_2^2)$ to $B_2$.
#
# {numref}`fig-e-res3` has twelve settings, which differ in activation, target, both numbers of samples, step, width and penalty. We
# extrapolate the ratio to infinite dimension, assuming a distance of order $1/d$.
# %%
cases = spiked_features.with_theory_of_cases(chapter.rows(studies.agreement, "main"))
ends = cases[cases["d"].isin([cases["d"].min(), cases["d"].max()])]
fig, ax = plt.subplots()
for colour, (target, rows) in zip(plots.PALETTE, ends.groupby("target", sort=False)):
    plots.means_by_size(ax, rows, "test_error_theory", "ratio", color=colour, label=target)
ax.axhline(1, color=plots.COLOURS["theory"], linewidth=1)
ax.set(xscale="log", xlabel="test error, theory", ylabel="test error, simulation / theory")
ax.set_title("Does the theory predict simulations?")
ax.legend(title="target")
chapter.figure(fig, "fig-e-res3", cases)
# %% [markdown] tags=["caption"]
# **The theory predicts the test error at all 12 settings.** Test error of simulated spiked features over theory, one point for each
# setting, at the smallest size (hollow) and the largest (filled), two standard errors.
# %% [markdown]
# ## Stronger and better aligned spikes learn more
#
# After a step the strength $r$ and the alignment $\gamma$ come together. In spiked features both can be chosen freely, so one
# can ask which of them matters. Both do: at the most samples the error falls by at least {claim}`E.Fig4-strength` from one
# strength to the next, and by at least {claim}`E.Fig4-alignment` from one alignment to the next ({numref}`fig-e-4`). Even a
# weak spike helps: at $r=\frac12$ the error is {claim}`E.Fig4-small` of that of plain random features, which are at $r=0$.
# %%
panels = {"r": chapter.rows(studies.spikes, "strengths"), "gamma": chapter.rows(studies.spikes, "alignments")}
alphas = np.linspace(min(fig2_alphas) * 0.6, max(fig2_alphas), 60)
fig, axes = plots.panels(2, width=5.0, height=4.2, sharey=True)
for ax, (name, spikes), symbol in zip(axes, panels.items(), ("r", r"\gamma")):
    for colour, (value, rows) in zip(plots.shades(5), spikes.groupby(name)):
        curve = measure.theory(rows.iloc[0], alpha=alphas).test_error
        ax.plot(alphas, curve, color=colour, label=f"${symbol}={value:g}$")
        plots.means_by_size(ax, rows, "alpha", color=colour)
    ax.set_xlabel(r"$\alpha=n/d$")
    ax.legend(ncols=2)
axes[0].set_ylabel("test error")
chapter.figure(fig, "fig-e-4", *panels.values(), title="Which spikes learn most?")
# %% [markdown] tags=["caption"]
# **Stronger and better aligned spikes learn more.** Test error of spiked features against samples: theory (lines), simulation
# (points, two sizes). Left: spike strengths $r$ at one alignment. Right: alignments $\gamma$ at one strength.
# %% [markdown]
# ## The widest networks are better than the narrowest, even with a weaker spike
#
# Paper E (App. C.8) finds that "large networks result in smaller spike strength" and that "larger networks tend to achieve
# lower overall test error". The first fits steps $\eta=\tilde\eta\,d$, with which the spike shrinks as $1/\beta$. With
# $\eta=\tilde\eta\,p$, as in {eq}`eq:E:equivalent`, the spike does not depend on the width. One would expect the error to rise
# as the spike shrinks. But the widest networks have a smaller error than the narrowest with both rules, by
# {claim}`E.Fig5-step-d` with $\eta=\tilde\eta\,d$ ({numref}`fig-e-5`). The two rules agree at $p=d$, where all other figures
# are.
# %%
networks = chapter.rows(studies.widths, "main")
design = chapter.design(studies.widths, "main")
widths = np.geomspace(min(design["beta"]), max(design["beta"]), 60)
fig, ax = plt.subplots()
for colour, (rule, rows) in zip((plots.PALETTE[0], plots.PALETTE[3]), networks.groupby("rule", sort=False)):
    step = design["step"][0] / (widths if rule == "d" else 1)
    curve = measure.theory(rows.iloc[0], beta=widths, step=step).test_error
    ax.plot(widths, curve, color=colour, label=rf"$\eta=\tilde\eta\,{rule}$")
    plots.means_by_size(ax, rows, "beta", color=colour)
plots.curve_axes(ax, design["beta"], errors=False)
ax.set(xlabel=r"width $\beta=p/d$", ylabel="test error", title="Do wider networks learn more?")
ax.legend()
alt = "Test error against width for two rules of the step size, which cross at width one."
chapter.figure(fig, "fig-e-5", networks, alt=alt)
# %% [markdown] tags=["caption"]
# **The widest networks have a smaller error than the narrowest, with both rules of the step.** Between them the error need not
# fall. Test error against width at fixed numbers of samples: theory (lines), networks (points, two sizes).
# %% [markdown]
# ## The step size decides which functions can be learned
#
# For perfect alignment paper E bounds the error at the best penalty from both sides. Both bounds are distances of the target from
# functions of $k$, with $\lVert f\rVert^2=\mathbb E_kf^2$:
#
# $$
# \min_{m,\zeta}\lVert\sigma_*-m\kappa_0-\zeta\,k\kappa_1\rVert^2\;\le\;\varepsilon_g,\qquad
# \min_\lambda\varepsilon_g\;\le\;\min_m\lVert\sigma_*-m\kappa_0\rVert^2 .
# $$ (eq:E:bounds)
#
# The left bound (Eq. 27) holds for every penalty. The right one (Eq. 26) is reached at $\lambda\to\infty$, where only $m$ is
# left. For a uniform readout it is Lemma 6 of {cite}`ba2022`, as paper E says in Sec. 4; the perfect step is discussed there,
# too. {numref}`fig-e-3` shows the functions that reach the bounds, with networks at a large and a small penalty.
# {numref}`fig-e-7` shows how the functions, and with them the upper bound, change with the step.
# %%
pools = {bound: chapter.rows(studies.learned_function_bounds, bound) for bound in ("upper", "lower")}
(strength,) = chapter.design(studies.learned_function_bounds, "upper")["step"]
t = np.linspace(-3, 3, 301)
fig, axes = plots.panels(2, width=4.8, height=3.6)
for ax, target in zip(axes, pools["upper"]["target"].unique()):
    theory = bounds.bounds(activation, target, r=strength)
    order = np.argsort(theory.k)
    ax.plot(t, function(target).array(t), color=plots.COLOURS["theory"], linewidth=1, label="target")
    for colour, line, (bound, rows) in zip(plots.PALETTE, ("-", "--"), pools.items()):
        plots.means_by_size(ax, rows[rows["target"] == target], "t", "output", color=colour)
        reached = getattr(theory, f"{bound}_function")[order]
        ax.plot(theory.k[order], reached, line, color=colour, label=f"{bound} bound, {getattr(theory, bound):.3f}")
    ax.set(xlim=(-3, 3), ylim=(-3.2, 3.2), xlabel="projection $k$", title=f"target {target}, $r={strength:g}$")
    ax.legend(fontsize="small")
axes[0].set_ylabel("output")
chapter.figure(
    fig,
    "fig-e-3",
    *pools.values(),
    title="Which functions reach the bounds?",
    alt="Two targets, a step and a cubic, beside the functions that reach the upper and the lower bound and points "
    "of networks on them.",
)
# %% [markdown] tags=["caption"]
# **At a large penalty networks learn the function of the upper bound, at a small one nearly that of the lower.** The function
# of the upper bound is a multiple of $\kappa_0$; that of the lower one has $k\kappa_1$ added, which matters for the cubic
# target. Points: mean outputs of networks. The legend gives the bounds.
# %%
networks = chapter.rows(studies.widths, "perfect")
strengths = np.linspace(0.1, 6, 60)
fig, axes = plots.panels(3, columns=3, width=3.7, height=3.4)
for colour, r in zip(plots.shades(4), (0.5, 1.0, 2.0, 5.0)):
    e = channel(function(activation), function("identity"), r=r, c=1.0, gamma=1.0)
    axes[0].plot(e.k[0], e.kappa0[0], color=colour, label=f"$r={r:g}$")
    axes[1].plot(e.k[0], e.k[0] * e.kappa1[0], color=colour)
axes[0].set(xlim=(-4, 4), xlabel="projection $k$", ylabel=r"$\kappa_0(k;r)$")
axes[0].legend(fontsize="small", loc="upper left")
axes[1].set(xlim=(-4, 4), ylim=(-2, 2), xlabel="projection $k$", ylabel=r"$k\,\kappa_1(k;r)$")
for colour, target in zip(plots.PALETTE, ("erf", "sign", "He1+He3")):
    upper = [bounds.bounds("erf", target, r=r).upper for r in strengths]
    axes[2].plot(strengths, upper, color=colour, label=f"target {target}")
    axes[2].axhline(bounds.best_linear(target), color=colour, linestyle=":", linewidth=1)
for mark, (alpha0, rows) in zip("^so", spiked_features.largest_size(networks).groupby("alpha0")):
    errors = rows.groupby("step")["test_error"].mean()
    reached = [equivalent("erf", "erf", alpha0=np.inf, step=step).r for step in errors.index]
    axes[2].plot(reached, errors, mark, color=plots.PALETTE[0], label=f"networks, erf, $n_0={alpha0:g}\\,d$")
axes[2].set(xlabel="spike strength $r$", ylabel="upper bound", yscale="log", ylim=(1e-4, 3))
fig.legend(*axes[2].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
alt = "Sigmoids that steepen and bumps that narrow; an upper bound that drops to zero at one strength, marks of networks above it."
chapter.glue("bound-of-networks", reuse.largest_distance_of_bounds(activation))
chapter.figure(fig, "fig-e-7", networks, title="What can each spike strength learn?", alt=alt)
# %% [markdown] tags=["caption"]
# **For activation and target erf one strength learns perfectly; for the sign every increase helps.** Left and middle: the two
# functions at four strengths $r$. Right: the upper bound of an erf network for three targets, and the best linear error
# (dotted). Marks: networks with target erf, which approach the bound with more samples for the step.
# %% [markdown]
# *The perfect step.* Can a network learn its target completely? For activation and target $\mathrm{erf}$ one has
# $\kappa_0(k)=\mathrm{erf}(rk/\sqrt3)$. So at $r=\sqrt3$, the step size $\tilde\eta=r/(h_1h_1^\star)=3\sqrt3\pi/4$, the bound
# of Eq. 26 vanishes. There networks have {claim}`E.Bounds-perfect` of the best linear estimator's error, and it falls towards 0
# as $\alpha_0^{-x}$ with $x={}${claim}`E.Bounds-perfect-order`. For the sign no finite step is best, because $\kappa_0$
# approaches the sign as $r\to\infty$. At the cubic target the error of wide networks with many samples and a small penalty
# stands at {claim}`E.Bounds-26` on the way from the lower bound, 0, to the upper one, 1.
#
# *Bound (27) serves networks*, as paper E expects "at least qualitatively" (Sec. 4.3). Their rows' norms add
# $2\frac{h_3}{h_1}r\,\partial_c\kappa_0$ to $k\kappa_1$. But for tanh, three targets and strengths from ½ to 3 this moves the
# bound by at most {glue:text}`bound-of-networks` of it. For error functions and the sine it does not move at all: there
# $\partial_c\kappa_0$ is a multiple of $k\kappa_1$ or of $\kappa_0$.
#
# *The network stays in the pool of its own step.* Paper E calls $\kappa_0$ and $k\kappa_1$ at all step sizes the pool of
# functions that can approximate the target (App. E, Fig. 7). Averaged over inputs with $\theta\cdot x=t$, the functions that
# networks learn after steps of three sizes have at most {claim}`E.Fig7-pool` of their square outside the two of their own step.
#
# ## Single statements
#
# *Gaussian rows.* App. C.4 expects an equivalent problem from rows drawn from a normal distribution, whose norms fluctuate, "to
# ease the discussion" of the density. The density stays, but the error changes, by {claim}`E.Net-norms` times what theory
# predicts.
#
# *Spectrum.* With the features $\Phi$, the Stieltjes transform of $\Phi^\top\Phi/p$ is $V_2$ at the penalty $\lambda=-z$, that is
# {eq}`eq:E:saddle` at a complex argument. The spike moves one eigenvalue far out, to leading order to $n\,\mathbb E\kappa_0^2$.
#
# *Losses.* For a convex loss the three stages become one fixed point over all order parameters, through the proximal map of the
# loss, which is closed for the hinge. Noise on the labels adds its variance to $\overline{H^2}$.
#
# *Bias.* A uniform bias $b$ shifts the argument of the features to $rk+b+\sqrt cz$. So the network learns even parts, and the
# activation need not be odd. Training chooses the bias at the minimum of its objective, which differs from theory's by
# {claim}`E.Loss-bias`. This bias is about 1.9, although the target's own shift is 1.
#
# *Digits.* The theory's inputs are normal. Are real ones like them? White principal components of handwritten digits have the
# mean and the covariance of normal inputs. For the digits' parity the test error over that on normal inputs is
# {claim}`E.Real-parity` away from 1. The labels of the normal inputs have noise there, so that both tasks have the same linear
# part.
# %%
checked = [claim for claim in claims.claims_of("07") if claim.figure == "tab-e-checked"]
chapter.table(
    pd.DataFrame([{"statement": claim.statement, "of": claim.source} for claim in checked]),
    "tab-e-checked",
    "Statements that need no picture. The number and the verdict of each are below.",
    *(chapter.rows(studies.losses, design) for design in ("logistic", "hinge", "noisy", "biased")),
)
# %% [markdown]
# ## More exercises
#
# **1. The perfect step.** Show that for $\sigma=\mathrm{erf}$ one has
# $\kappa_0(k)=\mathrm{erf}\bigl(rk/\sqrt{1+2c}\bigr)$, and find the step size that makes it the target $\mathrm{erf}$
# as $\alpha_0\to\infty$.
#
# <details class="solution"><summary>Solution</summary>
#
# $\mathrm{erf}(t)=2P(\nu<\sqrt2\,t)-1$ for a standard normal $\nu$. So $\mathbb E_z\,\mathrm{erf}(rk+\sqrt
# cz)=2P(\nu-\sqrt{2c}\,z<\sqrt2\,rk)-1$, and $\nu-\sqrt{2c}\,z$ has the variance $1+2c$. As $\alpha_0\to\infty$,
# $c\to1$ and $r\to\tilde\eta h_1h_1^\star$ with $h_1=h_1^\star=\mathbb E\,\frac2{\sqrt\pi}e^{-z^2}=2/\sqrt{3\pi}$:
# $r=\sqrt3$ is the step $\tilde\eta=3\sqrt3\,\pi/4$, about 4.08.
#
# </details>
#
# **2. No spike.** At $r=0$ the direction $v$ is a mere name. Where does $\gamma$ drop out of the equations, for an
# odd activation?
#
# <details class="solution"><summary>Solution</summary>
#
# $\kappa_0=0$, $\kappa_1$, $\kappa_*$ and $V$ do not depend on $k$. Then $m$ plays no part, and with $\mathbb
# E_k[kH]=\gamma h_1^\star$ and $\mathbb E_kH'=\sqrt{1-\gamma^2}\,h_1^\star$ the linear system gives $\zeta=\gamma w$
# and, by $V_1=cV_2/(1+\beta c\hat V_1V_2)$, $\psi=\sqrt{1-\gamma^2}\,w$ with the same
# $w=G\kappa_1h_1^\star/(1+V+G\kappa_1^2)$, $G=\alpha cV_2$. The error's two terms linear in them,
# $-2\kappa_1(\zeta\,\mathbb E[kH]+\psi\,\mathbb EH')=-2\kappa_1wh_1^\star$, do not contain $\gamma$; nor does the
# sum $\zeta^2+q_1$, the weight of the whole linear part, of which $\gamma$ only says how it is shared between $v$ and
# the rest.
#
# </details>
