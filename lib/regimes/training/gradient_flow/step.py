r"""One step of gradient flow for a batch of one-hidden-layer networks, each with its own step length.

With :math:`\tilde x = (x/\sqrt d, 1)`, :math:`u = (\omega, b)` and the gates
:math:`M_{n\mu} = [u_n\cdot\tilde x_\mu > 0]`, gradient flow reads :math:`\dot u_n = \beta_n G_n`,
:math:`\dot\beta_n = u_n\cdot G_n` with
:math:`G_n = \frac{\sqrt2}{hp}\sum_\mu M_{n\mu} y_\mu q_\mu \tilde x_\mu` and multipliers :math:`q = -\ell'(m)`.
For a fixed :math:`G` this is a hyperbolic rotation of :math:`(u_n, \beta_n)`: exact at any step length, it conserves
:math:`\beta_n^2 - |u_n|^2` to rounding. A step therefore needs only good averages over its length:

* of the gates: half the sum of those at its two ends (the far end predicted by extrapolating :math:`G`), second order;
* of the multipliers: implicit, :math:`q = -\ell'(m)` at the end of the step, so that neither points kept on the margin
  nor a stiff kernel limit the step. A few true forward passes solve it to ``KKT`` times the tolerance, each correcting
  the multipliers of the *band* of points that matter through their Gram matrix (:mod:`regimes.training.implicit`).
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from regimes.models.losses import Loss
from regimes.models.one_hidden import GAIN, Network
from regimes.training.implicit import box_qp, implicit_step

KKT = 0.3  # accepted error of the implicit equations, in margins, as a share of the tolerance
SLACK = 0.1  # the hinge's corner sits this share of the tolerance above 1, so that training ends with m >= 1
ROUNDS = 8  # forward passes to solve the implicit equations before the step is shortened
GROW, SHRINK = 1.5, 0.2  # bounds of the change of a step length
REACH = 3.0  # largest rotation of a step: margins grow at most exp(2 REACH)-fold
BAND = 5.0  # tolerances around the corner within which a point belongs to the band from the first pass
HOPELESS = 50.0  # a violation by this multiple of what margins may err refuses a step unsolved
APART = 1.0  # tolerances: nearer to the corner a point is on it, and its crossings are not timed
GATE_SHARE = 1.0  # the weights may err by this multiple of the tolerance where gates change
MARGIN_SHARE = 15.0  # margins may err by this multiple of the tolerance where multipliers change
EARLY_SHARE = 0.4  # and by this one before a fifth of the points is satisfied: the steps there are few, and hold t*


def rotate(u: Tensor, beta: Tensor, push: Tensor) -> tuple[Tensor, Tensor]:
    """The hyperbolic rotation of ``u (..., h, k)``, ``beta (..., h)`` by ``push = G dt (..., h, k)``."""
    angle = push.square().sum(-1, keepdim=True).sqrt()
    axis = push / angle.clamp(min=torch.finfo(push.dtype).tiny)
    along, last = (u * axis).sum(-1, keepdim=True), beta.unsqueeze(-1)
    half = torch.sinh(angle / 2)
    sinh, cosh_1 = torch.sinh(angle), 2 * half * half
    moved = u + axis * (along * cosh_1 + last * sinh)
    return moved, (last + last * cosh_1 + along * sinh).squeeze(-1)


@dataclass
class Batch:
    """Where a batch of realisations stands; every tensor has the leading axis ``e``.

    Attributes:
        xt: ``(e, p, k)``, inputs with a constant coordinate. y: ``(e, p)``. alpha: the scale.
        u: ``(e, h, k)``, beta: ``(e, h)``, gates: ``(e, h, p)``, m: margins ``(e, p)``, base: ``y f_0 (e, p)``.
        q: multipliers of the last step ``(e, p)``; push: ``G`` at the current point, before: ``G`` one step earlier.
        t, dt, last: time, next step, previous step ``(e,)``.
        u0, beta0, mean: start and mean ``G`` of the last step, for the path inside it.
    """

    xt: Tensor
    y: Tensor
    alpha: float
    loss: Loss
    tolerance: float
    u: Tensor
    beta: Tensor
    gates: Tensor
    m: Tensor
    base: Tensor
    q: Tensor
    push: Tensor
    before: Tensor
    t: Tensor
    dt: Tensor
    last: Tensor
    u0: Tensor
    beta0: Tensor
    mean: Tensor

    @property
    def corner(self) -> float:
        """Where the hinge bends in the step."""
        return 1.0 + SLACK * self.tolerance

    def field(self, gates: Tensor, q: Tensor) -> Tensor:
        """``G (e, h, k)`` for given gates and multipliers."""
        weighted = self.xt * (self.y * q).unsqueeze(-1) * (GAIN / (gates.shape[1] * gates.shape[2]))
        return gates @ weighted.to(gates.dtype)

    def open_gates(self, u: Tensor) -> Tensor:
        """The gates ``(e, h, p)`` of weights ``u``, as numbers 0 and 1."""
        return (u @ self.xt.mT).gt_(0)

    def outputs(self, gates: Tensor, u: Tensor, beta: Tensor) -> Tensor:
        """``y f`` at the training points ``(e, p)``."""
        slopes = (u * beta.unsqueeze(-1)).mT @ gates
        return self.y * (slopes * self.xt.mT).sum(1) * (GAIN / gates.shape[1])

    def margins(self, gates: Tensor, u: Tensor, beta: Tensor) -> Tensor:
        """``m = y F (e, p)``, with ``F = alpha (f - f_0)``."""
        return self.alpha * (self.outputs(gates, u, beta) - self.base)

    def speed(self) -> Tensor:
        """``dm/dt (e, p)`` at the current point, for the current multipliers."""
        along = (self.u * self.push).sum(-1, keepdim=True)
        slopes = (self.beta.square().unsqueeze(-1) * self.push + along * self.u).mT @ self.gates
        return self.alpha * self.y * (slopes * self.xt.mT).sum(1) * (GAIN / self.gates.shape[1])

    def gram(self, e: int, band: Tensor, gates: Tensor, u: Tensor, beta: Tensor) -> Tensor:
        r"""``A``, the change of the margins in ``band`` by multipliers there, over the step of realisation ``e``."""
        x, open_ = self.xt[e, band], gates[e].index_select(1, band)
        hidden = (u[e] @ x.mT) * open_
        opened = open_ * beta[e].unsqueeze(-1)
        kernel = hidden.mT @ hidden + (x @ x.mT) * (opened.mT @ opened)
        kernel = kernel.double() * (2 * self.alpha * float(self.dt[e]) / (len(u[e]) ** 2 * self.y.shape[1]))
        return kernel * self.y[e, band].outer(self.y[e, band])

    def part(self, rows: Tensor) -> "Batch":
        """The realisations ``rows`` (an index tensor), as a batch of their own."""
        tensors = {name: value[rows] for name, value in vars(self).items() if isinstance(value, Tensor)}
        return replace(self, **tensors)


def start(network: Network, x: Tensor, y: Tensor, *, alpha: float, loss: Loss, tolerance: float) -> Batch:
    """A batch at time 0, from networks and the points ``x (e, p, d)``, ``y (e, p)`` of each, in the networks' dtype."""
    xt = x * network.d**-0.5
    u = network.omega
    if network.bias:
        xt, u = torch.cat([xt, torch.ones_like(xt[..., :1])], -1), torch.cat([u, network.b[..., None]], -1)
    xt = xt.mT.contiguous().mT  # the product with the weights is twice as fast for this layout
    zero, time = torch.zeros_like(y), torch.zeros(len(u), dtype=torch.float64, device=u.device)
    fresh = {"before": u, "dt": time, "last": time + math.inf, "t": time, "u0": u, "beta0": network.beta, "mean": u}
    batch = Batch(
        xt, y, alpha, loss, tolerance, u=u, beta=network.beta, gates=u, m=zero, base=zero, q=zero, push=u, **fresh
    )
    batch.gates = batch.open_gates(u)
    batch.base = batch.outputs(batch.gates, u, network.beta)
    batch.q = -loss.slope(zero)
    batch.push = batch.before = batch.mean = batch.field(batch.gates, batch.q)
    largest = batch.push.square().sum(-1).amax(-1).sqrt().double()
    batch.dt = torch.minimum(0.05 / largest, 0.1 / batch.speed().abs().amax(-1).double())
    batch.dt = torch.where(largest > 0, batch.dt, 1.0)
    return batch


def advance(batch: Batch) -> tuple[Batch, Tensor]:
    """One attempted step: the batch afterwards, and which realisations moved ``(e,)``.

    A realisation whose step was refused keeps its place, with a shorter ``dt``.
    """
    dt = batch.dt.to(batch.u.dtype)[:, None, None]
    ratio = (batch.dt / (2 * batch.last)).to(batch.u.dtype)[:, None, None]
    guess = batch.push + ratio * (batch.push - batch.before)
    far = batch.open_gates(rotate(batch.u, batch.beta, guess * dt)[0])
    push = batch.field(far, batch.q)
    mean = (batch.push + push) / 2
    weight = batch.u.square().sum(-1) + batch.beta.square()
    bent = (weight * (mean - guess).square().sum(-1)).sum(-1) / weight.sum(-1)
    error = batch.dt * bent.double().sqrt() / (GATE_SHARE * batch.tolerance)
    trial = _implicit(batch, far, mean, error <= 1.0)
    # a step beyond the range of the numbers is refused like one beyond the tolerance
    error = torch.maximum(error, trial.error).nan_to_num(nan=1e6)
    moved = error <= 1.0
    factor = (0.9 * error.clamp(min=1e-6).rsqrt()).clamp(SHRINK, GROW)
    if bool(moved.any()):
        after = _land(batch, trial)
        angle = after.push.square().sum(-1).amax(-1).sqrt().double()
        after.dt = torch.minimum(batch.dt * factor, REACH / angle.clamp(min=1e-300))
        if bool(moved.all()):
            return after, moved
    batch = replace(batch, dt=batch.dt * factor.clamp(max=0.7))
    return (_choose(moved, after, batch) if bool(moved.any()) else batch), moved


def _land(batch: Batch, trial: "_Trial") -> Batch:
    """The batch at the end of an accepted step: gates, margins and field are those of the weights it arrived at."""
    after = replace(batch, u=trial.u, beta=trial.beta, gates=trial.gates, m=trial.m, q=trial.q, last=batch.dt)
    if trial.q is not batch.q:  # the gates are those before the multipliers were corrected
        after.gates = after.open_gates(trial.u)
        after.m = after.margins(after.gates, trial.u, trial.beta)
    after.t = batch.t + batch.dt
    after.u0, after.beta0, after.mean = batch.u, batch.beta, trial.mean
    after.push = after.field(after.gates, trial.q)
    after.before = 2 * trial.mean - after.push
    return after


def _choose(moved: Tensor, new: Batch, old: Batch) -> Batch:
    """Row by row the new batch where it moved, else the old one."""
    mixed = {}
    for name, value in vars(new).items():
        if isinstance(value, Tensor) and value is not getattr(old, name):
            mixed[name] = torch.where(moved.view(-1, *[1] * (value.ndim - 1)), value, getattr(old, name))
    return replace(new, **mixed)


@dataclass
class _Trial:
    """The end of an attempted step: weights, gates, margins, mean multipliers and field, and the error in tolerances.

    The gates are those of the weights before any correction of the multipliers.

    ``low`` and ``high`` bound the mean multipliers of the hinge: a point that reaches the corner after a share of the
    step has been pushed during that share, whatever follows.
    """

    u: Tensor
    beta: Tensor
    gates: Tensor
    m: Tensor
    q: Tensor
    mean: Tensor
    error: Tensor
    low: Tensor
    high: Tensor


def _implicit(batch: Batch, far: Tensor, mean: Tensor, wanted: Tensor) -> _Trial:
    """Solves the implicit equations of one step by correcting the multipliers until the true margins agree."""
    dt = batch.dt.to(batch.u.dtype)[:, None, None]
    u, beta = rotate(batch.u, batch.beta, mean * dt)
    gates = batch.open_gates(u)
    m = batch.margins(gates, u, beta)
    trial = _Trial(u, beta, gates, m, batch.q, mean, torch.zeros_like(batch.dt), *_bounds(batch, m))
    share = _share(batch)
    first, accepted = m, KKT * batch.tolerance
    early = (batch.m >= 1).double().mean(-1) < 0.2
    allowed = torch.where(early, EARLY_SHARE, MARGIN_SHARE) * batch.tolerance
    for rounds in range(ROUNDS + 1):
        wrong = _violation(batch, trial, share)
        trial.error[~torch.isfinite(wrong).all(-1)] = math.nan
        worst = wrong.amax(-1)
        bad = wanted & (worst > accepted)
        if not bool(bad.any()):
            break
        if rounds == ROUNDS:
            trial.error[bad] = 4.0
            break
        hopeless = bad & (worst.double() > HOPELESS * allowed)  # not worth a large linear system
        trial.error[hopeless] = HOPELESS
        wanted, bad = wanted & ~hopeless, bad & ~hopeless
        if not bool(bad.any()):
            break
        q, mean = trial.q.clone(), trial.mean.clone()
        for e in bad.nonzero().flatten().tolist():
            band, change = _correction(batch, trial, e, wrong[e], share)
            q[e, band] += change
            columns = (batch.gates[e].index_select(1, band) + far[e].index_select(1, band)) / 2
            weighted = batch.xt[e, band] * (batch.y[e, band] * change).unsqueeze(-1)
            mean[e] += columns @ weighted * (GAIN / (far.shape[1] * far.shape[2]))
        u, beta = rotate(batch.u, batch.beta, mean * dt)
        trial = replace(trial, u=u, beta=beta, m=batch.margins(gates, u, beta), q=q, mean=mean)
        off = (trial.m - first).abs().amax(-1).double() / (2 * allowed)
        trial.error = torch.where(wanted, off, trial.error)
        wanted = wanted & (off < 4.0)
    return trial


def _bounds(batch: Batch, m: Tensor) -> tuple[Tensor, Tensor]:
    """The shares of the step before (below the corner) and after (above it) a point first reaches the corner."""
    if not batch.loss.corner:
        return torch.zeros_like(m), torch.ones_like(m)
    below, path = batch.corner - batch.m, m - batch.m
    crosses = (below * (batch.corner - m) < 0) & (below.abs() > APART * batch.tolerance)
    share = torch.where(crosses, below / path, 0.0)
    return torch.where(below > 0, share, 0.0), torch.where(below < 0, 1 - share, 1.0)


def _share(batch: Batch) -> Tensor:
    """How much of the multiplier is taken at the end of the step ``(e, 1)``: 1 where stiff, one half where not."""
    if batch.loss.corner:
        return torch.ones_like(batch.y[:, :1])
    stiff = _leverage(batch) * batch.loss.curvature(batch.m).mean(-1, keepdim=True)
    return torch.where(stiff < 1.0, 0.5, 1.0)


def _leverage(batch: Batch) -> Tensor:
    """How far a margin would move in the step if all multipliers changed by one, and all alike: about ``(e, 1)``."""
    weights = (batch.u.square().sum(-1) + batch.beta.square()).sum(-1, keepdim=True) / batch.gates.shape[1] ** 2
    size = batch.xt.square().sum(-1).mean(-1, keepdim=True)
    return batch.alpha * batch.dt.to(batch.y.dtype)[:, None] * weights * size


def _wanted(batch: Batch, m: Tensor, share: Tensor) -> Tensor:
    """The multipliers of a smooth loss that margins ``m`` at the end of the step ask for."""
    return -(1 - share) * batch.loss.slope(batch.m) - share * batch.loss.slope(m)


def _violation(batch: Batch, trial: _Trial, share: Tensor) -> Tensor:
    """By how much of a margin the implicit equations fail, point by point ``(e, p)``.

    For a smooth loss: what the error of the multipliers does to the margins if all err alike, or the change of the
    point's margin that would undo it, whichever is less.
    """
    if batch.loss.corner:
        above = trial.m - batch.corner
        return torch.where(torch.where(above > 0, trial.q > trial.low, trial.q < trial.high), above.abs(), 0.0)
    leverage = _leverage(batch)
    error = (trial.q - _wanted(batch, trial.m, share)).abs()
    return error * leverage / (1 + share * leverage * batch.loss.curvature(trial.m))


def _correction(batch: Batch, trial: _Trial, e: int, wrong: Tensor, share: Tensor) -> tuple[Tensor, Tensor]:
    """The band of realisation ``e`` and the change of its multipliers."""
    m, q = trial.m[e], trial.q[e]
    if batch.loss.corner:
        in_play = (
            (wrong > 0)
            | ((q > trial.low[e]) & (q < trial.high[e]))
            | ((m - batch.corner).abs() < BAND * batch.tolerance)
        )
    else:
        pull = _leverage(batch)[e] * batch.loss.curvature(m)
        if float(pull.max()) < 0.3:  # not stiff: plain iteration converges
            return torch.arange(len(m), device=m.device), _wanted(batch, trial.m, share)[e] - q
        in_play = (wrong > 0.1 * KKT * batch.tolerance) | (pull > 1e-2)
    band = in_play.nonzero().flatten()
    matrix = batch.gram(e, band, trial.gates, trial.u, trial.beta).cpu().numpy()
    matrix[np.diag_indices_from(matrix)] *= 1.0 + 4 * torch.finfo(m.dtype).eps
    here, old = m[band].double().cpu().numpy(), q[band].double().cpu().numpy()
    if batch.loss.corner:
        low = trial.low[e, band].double().cpu().numpy()
        width = trial.high[e, band].double().cpu().numpy() - low
        right = width * (batch.corner - here + matrix @ (old - low))
        scaled = width[:, None] * matrix * width
        start = (old - low) / np.maximum(width, 1e-12)
        new = low + width * box_qp(scaled, right, start=start, tolerance=0.1 * KKT * batch.tolerance).q
    else:
        new = _smooth(batch, matrix, here, old, batch.m[e, band], float(share[e]))
    return band, torch.from_numpy(new - old).to(m)


def _smooth(
    batch: Batch, matrix: np.ndarray, m: np.ndarray, old: np.ndarray, before: Tensor, share: float
) -> np.ndarray:
    """New multipliers of the band for a smooth loss: ``share`` of them taken at the end of the step."""

    def slope(margins: np.ndarray) -> tuple[np.ndarray, ...]:
        at = torch.from_numpy(margins)
        return batch.loss.value(at).numpy(), batch.loss.slope(at).numpy(), batch.loss.curvature(at).numpy()

    fixed = (1 - share) * -batch.loss.slope(before.double()).cpu().numpy()
    solution = implicit_step(
        share * matrix,
        m + matrix @ (fixed - old),
        slope,
        start=(old - fixed) / share,
        tolerance=1e-3 * KKT * batch.tolerance,
    )
    return fixed + share * solution.q
