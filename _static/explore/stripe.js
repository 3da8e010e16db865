// Chapter 1's network learns the stripe in the plane: f(x) = (1/h) Σ β √2 max(0, ω·x/√2 + b), F = α (f − f₀), gradient flow of the
// hinge loss, in paper A's time. Tests give the engine the same weights.
(function (explore) {
  "use strict";
  const PLANES = [null, [0], [-0.3, 1.18549], [-0.67449, 0, 0.67449]]; // equally many of either label
  const GAIN = Math.SQRT2, ROOT = Math.SQRT1_2; // 1/√d
  const REACH = 3, SIDE = 61, END = 6;

  function draw(p, h, planes, seed) {
    const normal = explore.normal(seed), numbers = (count) => Float64Array.from({ length: count }, normal);
    const few = numbers(512), weights = numbers(4 * h), x = Float64Array.of(...few, ...numbers(512)).slice(0, 2 * p); // more: the same and others
    return { x, y: Float64Array.from({ length: p }, (_, m) => (planes.filter((z) => x[2 * m] > z).length % 2 ? -1 : 1)), weights };
  }

  // `weights`: ω₁, ω₂, b, β of each neuron. A step turns its (ω, b) and β into each other, exactly while gates and unfitted points
  // stay; it is at most an `angle`, and moves no unfitted margin by more than a `tolerance`.
  function flow({ x, y, weights }, alpha, tolerance, angle = 0.02) {
    const p = y.length, h = weights.length / 4, pull = new Float64Array(3 * h), start = weights;
    const it = { t: 0, steps: 0, weights, F: new Float64Array(p), at, kinks, left, amplification, step };
    const f0 = outputs(start);
    let dt = Infinity;

    function output(w, x1, x2) {
      let sum = 0;
      for (let k = 0; k < 4 * h; k += 4) {
        const z = w[k + 2] + ROOT * (w[k] * x1 + w[k + 1] * x2);
        if (z > 0) sum += w[k + 3] * z;
      }
      return sum * GAIN / h;
    }

    function outputs(w) {
      return Float64Array.from(y, (_, m) => output(w, x[2 * m], x[2 * m + 1]));
    }

    function pulls(w) {
      pull.fill(0);
      for (let m = 0; m < p; m++) {
        if (y[m] * it.F[m] >= 1) continue;
        const x1 = x[2 * m] * ROOT, x2 = x[2 * m + 1] * ROOT, c = y[m] * GAIN / (h * p);
        for (let n = 0; n < h; n++) {
          if (w[4 * n + 2] + w[4 * n] * x1 + w[4 * n + 1] * x2 <= 0) continue;
          pull[3 * n] += c * x1;
          pull[3 * n + 1] += c * x2;
          pull[3 * n + 2] += c;
        }
      }
      return Float64Array.from({ length: h }, (_, n) => Math.hypot(...pull.subarray(3 * n, 3 * n + 3)));
    }

    function turned(w, sizes, dt) {
      const next = w.slice();
      sizes.forEach((size, n) => {
        if (!size) return;
        const sinh = Math.sinh(size * dt), cosh = Math.cosh(size * dt), beta = w[4 * n + 3];
        let along = 0;
        for (let i = 0; i < 3; i++) along += pull[3 * n + i] / size * w[4 * n + i];
        for (let i = 0; i < 3; i++) next[4 * n + i] += pull[3 * n + i] / size * (along * (cosh - 1) + beta * sinh);
        next[4 * n + 3] = beta * cosh + along * sinh;
      });
      return next;
    }

    function step(until = Infinity) {
      const sizes = pulls(it.weights), most = Math.max(...sizes);
      if (!most) return false;
      dt = Math.min(1.5 * dt, angle / most, until - it.t);
      for (;;) {
        const next = turned(it.weights, sizes, dt), F = outputs(next).map((f, m) => alpha * (f - f0[m]));
        const change = F.reduce((most, f, m) => (Math.min(y[m] * f, y[m] * it.F[m]) < 1 ? Math.max(most, Math.abs(f - it.F[m])) : most), 1e-300);
        if (change <= 1.5 * tolerance) {
          Object.assign(it, { weights: next, F, t: it.t + dt, steps: it.steps + 1 });
          dt *= Math.min(1, tolerance / change);
          return true;
        }
        dt *= 0.9 * tolerance / change;
      }
    }

    function at(x1, x2) {
      return alpha * (output(it.weights, x1, x2) - output(start, x1, x2));
    }

    function kinks(x2) {
      const all = [start, it.weights].flatMap((w) => Array.from({ length: h }, (_, n) => -(w[4 * n + 2] / ROOT + w[4 * n + 1] * x2) / w[4 * n]));
      return all.filter((x1) => Math.abs(x1) < END);
    }

    function left(slack = 0) {
      return y.reduce((count, label, m) => count + (label * it.F[m] < 1 - slack), 0);
    }

    function amplification() {
      const square = (i) => it.weights.reduce((sum, w, k) => (k % 4 === i ? sum + w * w : sum), 0);
      return Math.sqrt(square(0) / square(1));
    }
    return it;
  }

  // F on a square of SIDE x SIDE points, row by row
  const GRID = Array.from({ length: SIDE }, (_, i) => REACH * (2 * i / (SIDE - 1) - 1));
  const square = (it) => GRID.map((x2) => GRID.map((x1) => it.at(x1, x2)));

  // the test error: along a row F is linear between kinks; right and wrong change where F or the label changes its sign
  function error(it, planes) {
    let sum = 0, norm = 0;
    GRID.filter((_, j) => j % 2 === 0).forEach((x2) => {
      const weight = Math.exp(-(x2 ** 2) / 2), x = [-END, ...it.kinks(x2), END].sort((a, b) => a - b), places = [...planes, END];
      const F = x.map((x1) => it.at(x1, x2));
      for (let i = 1; i < x.length; i++) {
        if (F[i - 1] > 0 !== F[i] > 0) places.push(x[i - 1] + (x[i] - x[i - 1]) * F[i - 1] / (F[i - 1] - F[i]));
      }
      let wrong = F[0] <= 0, last = 0;
      places.sort((a, b) => a - b).forEach((z) => {
        if (wrong) sum += weight * (explore.below(z) - last);
        [wrong, last] = [!wrong, explore.below(z)];
      });
      norm += weight;
    });
    return sum / norm;
  }

  // m planes while n of p points are left
  const law = (n, p, m) => Math.sqrt(m * n / Math.PI) / p;
  const TOLERANCE = 0.15, FITTED = 0.98, WIDTH = 60, STEPS = 12000, FINE = 0.05, MANY = 30000;
  explore.stripe = { PLANES, REACH, WIDTH, TOLERANCE, FITTED, STEPS, FINE, MANY, draw, flow, square, error, law };

  const MOST = 0.1, EACH = 16; // the law is meant while 2 to 10 % are left, 8 d a plane

  function start({ alpha, points, planes, seed }) {
    const p = 2 ** points, at = PLANES[planes], given = draw(p, WIDTH, at, seed), it = flow(given, 10 ** alpha, FINE);
    const path = [], few = EACH * at.length;
    let F, most = 0, placed = null;

    function look() {
      F = square(it);
      const now = { left: it.left(), error: error(it, at), amplification: it.amplification() };
      path.push(now);
      return now;
    }

    function advance(budget, still) {
      const end = performance.now() + budget, until = still ? Infinity : 1.09 * it.t;
      let more = true;
      while (more && it.t <= until && performance.now() < end) {
        more = it.step() && it.steps < MANY && it.left() > (1 - FITTED) * p;
        most = Math.max(most, it.amplification());
        if (!placed && MOST * p >= few && it.left() <= few) placed = look();
      }
      look();
      return more;
    }

    function paint([map, arrows, curve]) {
      const now = path[path.length - 1], X = (v) => map.width * (v + REACH) / (2 * REACH);
      map.signs(F);
      for (let m = 0; m < p; m++) map.dot(X(given.x[2 * m]), X(-given.x[2 * m + 1]), 3, given.y[m] > 0 ? map.plus : map.minus);
      at.forEach((z) => map.line([[X(z), 0], [X(z), map.width]], map.ink, [7, 3, 2, 3]));

      const w = it.weights, middle = arrows.width / 2;
      const all = Array.from(Array(WIDTH), (_, n) => [w[4 * n + 3] * w[4 * n], -w[4 * n + 3] * w[4 * n + 1]]);
      const root = Math.sqrt(all.reduce((sum, [u, v]) => sum + u * u + v * v, 0) / WIDTH);
      all.forEach(([u, v]) => {
        const size = Math.hypot(u, v), share = 0.95 * middle * Math.tanh(size / root) / size, end = [middle + share * u, middle + share * v];
        arrows.line([[middle, middle], end], arrows.green);
        arrows.dot(...end, 2.5, arrows.green);
      });
      arrows.say(`Λ = ${explore.number(now.amplification)}`, 4, 14);

      const ticks = [256, 64, 16, 4, 1].filter((n) => n <= p).map((n) => [n, n]), placing = (n) => [n, law(n, p, at.length)];
      const axes = explore.plot(curve, { from: p, to: 0.9, log: true, ticks, label: "points left n" },
        { from: 0.005, to: 0.6, log: true, ticks: [0.5, 0.1, 0.05, 0.01].map((e) => [e, `${100 * e} %`]) });
      if (MOST * p >= few) axes.line([MOST * p, few].map(placing), curve.ink, [6, 4]);
      let least = Infinity; // the error each time that fewer points are left than ever
      const lower = path.filter((one) => one === now || (one.left < least && (least = one.left)));
      axes.line(lower.map((one) => [Math.max(1, one.left), one.error]), curve.pink);
      axes.dot(Math.max(1, now.left), now.error, 4, curve.pink);
    }

    function said(milliseconds) {
      const now = path[path.length - 1], share = (x) => `${explore.number(100 * x)} %`;
      const kind = most > 4 ? "it learns features" : most > 1.5 ? "in between" : "lazy";
      return `Trained here in ${(milliseconds / 1000).toFixed(1)} s, ${it.steps < MANY ? "" : "stopped, "}${share(1 - now.left / p)} of the points fitted. The weights along x₁ are ${explore.number(now.amplification)} times those across`
        + (most > 1.3 * now.amplification ? ` (${explore.number(most)} before)` : "") + `: ${kind}. `
        + (placed ? `With ${placed.left} points left it was wrong on ${share(placed.error)}, law ${share(law(placed.left, p, at.length))}. ` : "")
        + `At the end it is wrong on ${share(now.error)}.`;
    }
    return { advance, draw: paint, said };
  }

  explore.add("stripe", {
    knobs: {
      alpha: { label: "output scale α", min: -6, max: 3, value: -4, says: explore.power },
      points: { label: "training points p", min: 5, max: 9, value: 7, says: (v) => String(2 ** v) },
      planes: { label: "planes", min: 1, max: 3, value: 2, says: String },
      seed: { label: "seed", min: 1, max: 20, value: 6, says: String },
    },
    panels: [
      { title: "what it predicts; lines: the label changes", alt: "The predictor over the plane." },
      { title: "its weights βω", alt: "The weights as arrows." },
      { title: "its error; dashed: law (p = 512)", alt: "Test error against the points left.", wide: 0.74 },
    ],
    start,
  });
})(globalThis.Explore = globalThis.Explore || {});
